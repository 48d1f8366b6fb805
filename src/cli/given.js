import { InputError, UsageError } from '../errors.js';
import { OPTIONS, envName } from './options.js';

/** @import { Option } from './options.js' */

/**
 * What is given of an option, and where: a flag wins over the environment, the environment over the file.
 *
 * @typedef {{text: string, where: 'flag' | 'environment' | 'file' | 'default', label: string}} Found
 */

/**
 * @param {Option} option
 * @param {Record<string, unknown>} parsed
 * @param {NodeJS.ProcessEnv} env
 * @param {Record<string, unknown>} fromFile
 * @returns {Found | null}
 */
export function find(option, parsed, env, fromFile) {
  const given = parsed[option.name];
  const flagValue = Array.isArray(given) ? oneOfSeveral(option, given) : given;
  const label = option.alias === undefined ? `--${option.name}` : `-${option.alias} (--${option.name})`;
  if (Array.isArray(flagValue)) throw new UsageError(`${label} is given ${flagValue.length} times: once is enough`);
  if (flagValue !== undefined) {
    if (flagValue === '')
      throw new UsageError(`${label} needs a value${option.argument === '' ? '' : ` (${option.argument})`}`);
    return { text: String(flagValue), where: 'flag', label };
  }
  const name = envName(option);
  const envValue = env[name];
  if (envValue !== undefined && envValue !== '') return { text: envValue, where: 'environment', label: name };
  if (fromFile[option.name] !== undefined)
    return { text: String(fromFile[option.name]), where: 'file', label: `"${option.name}" in the config file` };
  return option.fallback === undefined ? null : { text: option.fallback, where: 'default', label };
}

/** @param {Option} option @param {Found} found */
export function parseValue(option, { text, where, label }) {
  try {
    return isSeveral(option) ? Object.freeze(textsOf(option, text).map(option.parse)) : option.parse(text);
  } catch (error) {
    const words = `${label} ${/** @type {Error} */ (error).message}`;
    throw where === 'file' ? new InputError(words) : new UsageError(words);
  }
}

/** All of a list, the last of flags; of anything else there are too many. @param {Option} option @param {string[]} given */
function oneOfSeveral(option, given) {
  if (isSeveral(option)) return given.join(separatorOf(option));
  return option.isFlag ? given.at(-1) : given;
}

/** @param {Option} option */
export function isSeveral({ isList, isRest }) {
  return isList === true || isRest === true;
}

/** @param {Option} option @param {string} text of several values */
export function textsOf(option, text) {
  // A URL may have commas in it, but none before the scheme of another one.
  const separator = /^\s*\w+:\/\//.test(text) ? /,(?=\s*\w+:\/\/)/ : separatorOf(option);
  return text === '' ? [] : text.split(separator).map((one) => one.trim());
}

/** The name of a file may have a comma in it. @param {Option} option */
function separatorOf({ isRest }) {
  return isRest ? '\0' : ',';
}

/** What is given of an option, before anything is made of it. @param {string} name @param {Record<string, unknown>} parsed @param {NodeJS.ProcessEnv} env @param {Record<string, unknown>} fromFile */
export function textOf(name, parsed, env, fromFile) {
  const option = OPTIONS.find((one) => one.name === name);
  return option === undefined ? null : (find(option, parsed, env, fromFile)?.text ?? null);
}
