import { isDeepStrictEqual } from 'node:util';
import { shellWord } from '../text.js';

/**
 * The command line that repeats a run, from the configuration in its run file.
 *
 * @typedef {object} OptionFacts as src/cli/options.js declares them
 * @property {string} name
 * @property {string} key
 * @property {string} [alias]
 * @property {boolean} [isFlag]
 * @property {boolean} [isList]
 * @property {string} variable in the environment
 * @property {string} role
 * @property {boolean} [isRepeated] part of the command line whatever its role
 * @property {string} [fallback]
 * @property {(text: string) => unknown} parse
 *
 * @typedef {object} Setting
 * @property {string} name
 * @property {string} text its value on the command line
 * @property {boolean} isDefault
 * @property {string | null} variable environment variable of a secret
 */

/** Options for outputs and for the start of instances are not needed to repeat a run. @param {OptionFacts} option */
function isOfTheRun({ role, isRepeated = false }) {
  return isRepeated || (role !== 'output' && role !== 'instance');
}

/** In run files instead of a secret. */
const SECRET = '[redacted]';

/**
 * @param {Record<string, unknown>} config of a run file
 * @param {readonly OptionFacts[]} options all of them
 * @returns {Setting[]} options with a value
 */
export function settingsOf(config, options) {
  return options.flatMap((option) => {
    const value = config[option.key] ?? null;
    if (value === null || (Array.isArray(value) && value.length === 0)) return [];
    const text = textOf(value, option);
    const isDefault = option.fallback !== undefined && isSame(option, option.fallback, value);
    return [{ name: option.name, text, isDefault, variable: value === SECRET ? option.variable : null }];
  });
}

/** @param {Record<string, unknown>} config @param {readonly OptionFacts[]} options @returns {string} for a POSIX shell, without secrets */
export function commandLine(config, options) {
  const settings = new Map(settingsOf(config, options).map((setting) => [setting.name, setting]));
  const words = options.flatMap((option) => {
    const { isDefault = true, variable = null } = settings.get(option.name) ?? {};
    return isDefault || variable !== null || !isOfTheRun(option) ? [] : wordsOf(config[option.key], option);
  });
  return ['stress', ...words].join(' ');
}

/** @param {unknown} value @param {OptionFacts} option @returns {string[]} */
function wordsOf(value, option) {
  const dashed = option.alias === undefined ? `--${option.name}` : `-${option.alias}`;
  if (option.isFlag) return value === true ? [dashed] : [];
  const values = option.isList && Array.isArray(value) ? value : [value];
  return values.flatMap((one) => [dashed, shellWord(textOf(one, option))]);
}

/** The shortest text that parses to this value, otherwise the value itself. @param {unknown} value @param {OptionFacts} option */
function textOf(value, option) {
  if (Array.isArray(value)) return value.join(', ');
  return candidates(value).find((text) => isSame(option, text, value)) ?? candidates(value).at(-1) ?? '';
}

/** @param {unknown} value @returns {string[]} possible spellings */
function candidates(value) {
  const texts = [typeof value === 'string' ? value : JSON.stringify(value)];
  const number = Number(value);
  if (typeof value === 'number') {
    if (number >= 1e12 && number < 1e13) texts.unshift(new Date(number).toISOString());
    for (const [unit, length] of UNITS) if (number % length === 0) texts.unshift(`${number / length}${unit}`);
  }
  if (typeof value === 'string' && /^\d+$/.test(value)) texts.unshift(units(value, 18), units(value, 9));
  return texts;
}

/** Ascending, so that the largest unit that fits comes first. */
const UNITS = /** @type {const} */ ([
  ['ms', 1],
  ['s', 1000],
  ['m', 60_000],
  ['h', 3_600_000],
]);

/** An amount of wei in a larger unit. @param {string} wei @param {number} digits */
function units(wei, digits) {
  const padded = wei.padStart(digits + 1, '0');
  const fraction = padded.slice(-digits).replace(/0+$/, '');
  return `${padded.slice(0, -digits)}${fraction === '' ? '' : `.${fraction}`}`;
}

/** @param {OptionFacts} option @param {string} text @param {unknown} value */
function isSame({ parse, isFlag }, text, value) {
  if (isFlag && typeof value === 'boolean') return text === String(value);
  try {
    const parsed = parse(text);
    // Parsers that load a module; their values are stated as text.
    if (parsed instanceof Promise) {
      parsed.catch(() => {});
      return text === value;
    }
    return isDeepStrictEqual(typeof parsed === 'bigint' ? String(parsed) : plain(parsed), plain(value));
  } catch {
    return false;
  }
}

/** @param {unknown} value */
function plain(value) {
  return JSON.parse(JSON.stringify(value, (_, one) => (typeof one === 'bigint' ? String(one) : one)) ?? 'null');
}
