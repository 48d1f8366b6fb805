import { existsSync, readFileSync } from 'node:fs';
import { displayUrl } from '../chain/rpc.js';
import { EXIT, InputError, UsageError, displayName, oneLine, unreadableWords, withoutKeys } from '../errors.js';
import { modeForOthers } from '../files.js';
import { similarNames } from '../similar-names.js';
import { shellWord } from '../text.js';
import { MIX } from '../workloads/table.js';
import { completionText } from './completion.js';
import { splitCommandLine } from './command-line.js';
import { checkVariables } from './environment.js';
import { helpText } from './help.js';
import { instanceOf } from '../scale-out/scheduler.js';
import { COMMANDS, COMMAND_NAMES, GENERAL_OPTIONS, OPTIONS, SYNONYMS, optionsOf } from './options.js';
import { quote } from './parse.js';
import { StudyBuilder } from './study-config.js';

/**
 * @import { Config } from '../types.d.ts'
 * @import { Command, Option, WorkCommand } from './options.js'
 */

/**
 * A given value and its source: a flag overrides the environment, the environment the file.
 *
 * @typedef {'flag' | 'environment' | 'file' | 'default'} Source
 * @typedef {{text: string, where: Source, label: string, parts: string[]}} Found parts: as they were given; text: all
 *   of them
 */

/** @param {Option} option @param {Record<string, unknown>} parsed @param {NodeJS.ProcessEnv} env @param {Record<string, unknown>} fromFile @returns {Found | null} */
export function find(option, parsed, env, fromFile) {
  const { name, alias, variable, isFlag, argument, fallback, separator } = option;
  const label = alias === undefined ? `--${name}` : `-${alias} (--${name})`;
  const fromEth = (/** @type {string} */ part) => (name === 'rpc' && part === 'env' ? endpointIn(env, label) : part);
  /** @param {Source} where @param {unknown} values @param {string} [source] @returns {Found} */
  const found = (where, values, source = label) => {
    const parts = [values].flat().map(String).map(fromEth);
    return { text: parts.join(separator === '\n' ? '\n' : ','), where, label: source, parts };
  };
  if (parsed[name] !== undefined) {
    const { parts } = found('flag', parsed[name]);
    if (parts.includes('')) throw new UsageError(`${label} needs a value${argument === '' ? '' : ` (${argument})`}`);
    if (isFlag) return found('flag', parts.at(-1));
    if (parts.length > 1 && !isSeveral(option))
      throw new UsageError(`${label} is given ${parts.length} times: once is enough`);
    return found('flag', parts);
  }
  const { [variable]: inEnvironment = '' } = env;
  const lines = separator === '\n' ? inEnvironment.trim().split('\n') : inEnvironment;
  if (inEnvironment !== '') return found('environment', lines, variable);
  if ([fromFile[name]].flat().includes(MASK))
    throw new InputError(
      `"${name}" in the config file is masked (${MASK}): write the value there, or set ${variable} in the environment`,
    );
  if (fromFile[name] !== undefined) return found('file', fromFile[name], `"${name}" in the config file`);
  return fallback === undefined ? null : found('default', fallback);
}

/** The endpoint of other Ethereum tools. @param {NodeJS.ProcessEnv} env @param {string} label */
function endpointIn({ ETH_RPC_URL = '' }, label) {
  if (ETH_RPC_URL === '') throw new UsageError(`${label} env: ETH_RPC_URL is not set in the environment`);
  return ETH_RPC_URL;
}

/** @param {Option} option @param {Found} found */
async function parseValue(option, { where, label, text, parts }) {
  try {
    if (!isSeveral(option)) return await option.parse(text);
    return Object.freeze(await Promise.all(textsOf(option, parts).map((one) => option.parse(one))));
  } catch (error) {
    const [best] = similarNames(text, option.choices ?? []);
    const { message } = /** @type {Error} */ (error);
    const hint = message.startsWith('must be one of') && best !== undefined ? `: did you mean ${best}?` : '';
    const words = `${label} ${message}${hint}`;
    throw where === 'file' ? new InputError(words) : new UsageError(words);
  }
}

/** @param {Option} option */
function isSeveral({ isList, isRest }) {
  return isList === true || isRest === true;
}

/** The values of a list. Names of files may have commas in them. @param {Option} option @param {string[]} parts each of one or several */
function textsOf({ isRest, separator = /,/ }, parts) {
  if (isRest || separator === '\n') return parts;
  return parts.flatMap((part) => (part === '' ? [] : part.split(separator).map((one) => one.trim())));
}

/** The unparsed value of an option. @param {string} name @param {Record<string, unknown>} parsed @param {NodeJS.ProcessEnv} env @param {Record<string, unknown>} fromFile */
export function textOf(name, parsed, env, fromFile) {
  const option = OPTIONS.find((one) => one.name === name);
  return option === undefined ? null : (find(option, parsed, env, fromFile)?.text ?? null);
}

/**
 * Command line, environment and --config file become one frozen Config.
 *
 * @typedef {{kind: 'command', command: WorkCommand, config: Config, warnings: string[], notices: string[]} | {kind: 'text', text: string, exitCode?: number}} Invocation
 */

/** Where other options come from; no part of Config. */
const [CONFIG_OPTION] = GENERAL_OPTIONS;

/** It is used without being asked for. */
const USUAL_CONFIG = 'stress.config.json';

/** The value of --config that excludes that file. */
const NO_CONFIG = 'none';

/** The value of a secret in --print-config; in a config file it counts as not given. */
const MASK = '***';

/**
 * @param {string[]} argv
 * @param {NodeJS.ProcessEnv} given environment
 * @param {string} version
 * @param {{nowMs?: number, columns?: number, hasUsualConfig?: boolean}} [surroundings] nowMs: since 1970; columns: of the
 *   terminal; hasUsualConfig: whether there is a stress.config.json in this folder
 * @returns {Promise<Invocation>}
 * @throws {UsageError | InputError}
 */
export async function readInvocation(argv, given, version, surroundings = {}) {
  const { nowMs = Date.now(), columns, hasUsualConfig = existsSync(USUAL_CONFIG) } = surroundings;
  const parsed = await splitCommandLine(argv);
  const { command, files } = commandOf(parsed._);
  const isHelp = parsed.help !== undefined || parsed['help-all'] !== undefined;
  if (isHelp) return { kind: 'text', text: helpText(command, { all: parsed['help-all'] !== undefined, columns }) };
  if (command === 'help') return { kind: 'text', text: helpText(commandOf([...files]).command, { columns }) };
  if (parsed.version !== undefined || command === 'version') return { kind: 'text', text: version };
  checkNames(parsed, command);
  checkLiterals(parsed);
  if (command === 'completion') return { kind: 'text', text: completionText(files) };

  const { env, unknown } = checkVariables(given);
  const config = configFileOf({ command, parsed, env, hasUsualConfig });
  const isBare = argv.length === 0 && config === null && [env.STRESS_THREADS, env.STRESS_USERS].every((text) => !text);
  if (isBare) return { kind: 'text', text: helpText('run', { isBrief: true, columns }), exitCode: EXIT.usage };
  if (parsed['print-config'] !== undefined)
    return { kind: 'text', text: await configText({ command, parsed, env, config }) };
  const read = await readOptions({ command, files, parsed, env, config, nowMs });
  const notices = config?.isFound ? [`the options in ${USUAL_CONFIG} are used`] : [];
  if (unknown.length > 0)
    notices.push(`not an option of stress, and ignored: ${unknown.join(', ')} in the environment`);
  return { kind: 'command', command, ...read, notices };
}

/**
 * @typedef {{name: string, label: string, isFound: boolean}} ConfigFile isFound: without being asked for
 * @param {{command: Command, parsed: Record<string, unknown>, env: NodeJS.ProcessEnv, hasUsualConfig: boolean}} given
 * @returns {ConfigFile | null}
 */
function configFileOf({ command, parsed, env, hasUsualConfig }) {
  const found = find(CONFIG_OPTION, parsed, env, {});
  if (found !== null) return found.text === NO_CONFIG ? null : { name: found.text, label: found.label, isFound: false };
  const isOfRuns = COMMANDS[command].takes === undefined || parsed['rpc-a'] !== undefined;
  return hasUsualConfig && isOfRuns ? { name: USUAL_CONFIG, label: CONFIG_OPTION.name, isFound: true } : null;
}

/** @param {ConfigFile | null} config @param {Command} command @returns {Record<string, unknown>} */
function optionsInFile(config, command) {
  if (config === null) return {};
  const { name, label, isFound } = config;
  try {
    CONFIG_OPTION.parse(name);
  } catch (error) {
    throw new UsageError(`${label} ${/** @type {Error} */ (error).message}`);
  }
  return readConfigFile(name, command, isFound);
}

/**
 * --print-config: what is given, in the form of a config file.
 * @param {{command: Command, parsed: Record<string, unknown>, env: NodeJS.ProcessEnv, config: ConfigFile | null}} given
 */
async function configText({ command, parsed, env, config }) {
  const fromFile = optionsInFile(config, command);
  // The endpoint of ETH_RPC_URL stays env.
  const unresolved = env.ETH_RPC_URL ? { ...env, ETH_RPC_URL: 'env' } : env;
  const isStudy = command === 'sweep' || command === 'find';
  /** @type {Record<string, unknown>} */
  const shown = {};
  for (const option of optionsOf(command)) {
    const found = find(option, parsed, env, fromFile);
    if (found === null || found.where === 'default') continue;
    if (!isStudy || (option.isAxis !== true && option.search === undefined)) await parseValue(option, found);
    shown[option.name] = await shownValue(option, /** @type {Found} */ (find(option, parsed, unresolved, fromFile)));
  }
  return JSON.stringify(shown, null, 2);
}

/** @param {Option} option @param {Found} found @returns {Promise<unknown>} as in a config file; masked if any part of it is secret */
async function shownValue(option, { text, parts }) {
  if (option.role === 'secret' && !(option.file === 'secret' && existsSync(text))) return MASK;
  const texts = isSeveral(option) ? textsOf(option, parts) : [text];
  for (const one of texts) {
    if (withoutPrivateKeys(one) !== one) return MASK;
    if (option.argument === 'URL' && one !== 'env') {
      const { href } = /** @type {URL} */ (await option.parse(one));
      if (displayUrl(new URL(href)).replace(/\/$/, '') !== href.replace(/\/$/, '')) return MASK;
    }
  }
  if (isSeveral(option)) return texts;
  if (option.isFlag && !text.includes(',')) return text === 'true' || text === '1';
  return option.integer !== undefined && /^\d+$/.test(text) ? Number(text) : text;
}

/**
 * @param {object} given
 * @param {WorkCommand} given.command
 * @param {readonly string[]} [given.files] named behind the command
 * @param {Record<string, unknown>} given.parsed text by name of option
 * @param {NodeJS.ProcessEnv} [given.env]
 * @param {ConfigFile | null} [given.config] file with options
 * @param {number} [given.nowMs] since 1970
 * @returns {Promise<{config: Config, warnings: string[]}>}
 */
export async function readOptions({ command, files = [], parsed, env = {}, config: file = null, nowMs = Date.now() }) {
  const inFile = optionsInFile(file, command);
  const fromFile = { ...studyOptions(command, parsed, env, inFile), ...inFile };
  /** @type {Record<string, unknown>} */
  const config = Object.fromEntries(OPTIONS.map((option) => [option.key, isSeveral(option) ? [] : null]));
  /** @type {Record<string, unknown>} */
  const redacted = { command };
  /** @type {string[]} */
  const typed = command === 'run' ? [] : [command];
  /** @type {string[]} */
  const warnings = [];
  const searched = command === 'find' ? 'rate' : command === 'sweep' ? textOf('find', parsed, env, fromFile) : null;
  const study = new StudyBuilder(env, searched);
  for (const option of optionsOf(command)) {
    const found = find(option, parsed, env, fromFile);
    const isVaried = command === 'sweep' || option.name === searched;
    const texts = found !== null && isVaried ? study.textsOf(option, found, searched) : [found?.text ?? ''];
    const values =
      found === null
        ? [config[option.key]]
        : await Promise.all(texts.map((text) => parseValue(option, { ...found, text })));
    // The checks here see the first of several values: each run is checked again when it starts.
    const [value] = values;
    config[option.key] = value;
    redacted[option.key] = redact(option, value, { text: texts[0], parts: found?.parts ?? [] });
    const shown = urlsIn(value).map(displayUrl).join() || texts[0];
    if (found !== null) study.add(option, { ...found, text: texts[0] }, shown);
    if (found !== null) warnings.push(...warningsOf(option, found));
    if (found !== null && found.where !== 'default') typed.push(...typedWords(option, value, found));
    const carried = String(fromFile[option.name] ?? '');
    if (file !== null && option.role === 'secret' && carried !== '' && !isSecretFile(option, carried))
      warnings.push(...exposureOf(file.name));
  }
  if (command === 'find')
    Object.assign(config, { find: searched, threads: config.threads ?? config.users ?? FIRST_WALLETS });
  splitRate(config, redacted);
  chooseMix(config, redacted);
  const { checkFilesDiffer, checkPace, checkTogether, instanceFiles } = await import('./checks.js');
  config.threads = redacted.threads = threadsOf(config);
  if (command === 'run' && config.instances !== null) redacted.index = config.index ?? 'auto';
  const given = /** @type {Config} */ (/** @type {unknown} */ (config));
  checkPace(given);
  // Stages have their own times.
  const durationMs = given.durationMs ?? stagesMs(given);
  const place = placeOf(command, given, env);
  const complete = {
    ...given,
    ...place,
    ...instanceFiles(given, place.index),
    durationMs,
    files,
    study: study.build(),
    redacted: Object.freeze(redacted),
    commandLine: ['stress', ...typed].join(' '),
  };
  checkTogether(command, complete, env, nowMs);
  checkFilesDiffer(complete, [...(COMMANDS[command].takes === 'files' ? files : []), file?.name ?? null]);
  return { config: Object.freeze(complete), warnings: [...new Set(warnings)] };
}

/** Wallets of the first run of stress find, which raises them. */
const FIRST_WALLETS = 100;

/** The index of this instance, and its slice. @param {Command} command @param {Config} given @param {NodeJS.ProcessEnv} env */
function placeOf(command, given, env) {
  const { offset: firstOffset, threads } = given;
  if (command !== 'run') return { firstOffset, scheduler: null, index: null };
  const instance = instanceOf(given, env);
  return { ...instance, firstOffset, offset: firstOffset + (instance.index ?? 0) * threads };
}

/**
 * Defaults of a study: every other source overrides them.
 * @param {Command} command
 * @param {Record<string, unknown>} parsed
 * @param {NodeJS.ProcessEnv} env
 * @param {Record<string, unknown>} fromFile
 * @returns {Record<string, string>}
 */
function studyOptions(command, parsed, env, fromFile) {
  if (!['sweep', 'compare', 'find', 'bisect'].includes(command)) return {};
  const isGiven = (/** @type {string} */ name) => textOf(name, parsed, env, fromFile) !== null;
  // An automatic warm-up excludes stages and iterations.
  return isGiven('stages') || isGiven('iterations') ? {} : { warmup: 'auto' };
}

/** Warns of secrets that other users of the machine can read: on the command line, or in a file by its mode. @param {Option} option @param {Found} found @returns {string[]} */
function warningsOf(option, { text, where }) {
  if (isSecretFile(option, text)) return exposureOf(text);
  if (option.role !== 'secret' || option.literal !== undefined || where !== 'flag') return [];
  return [
    `--${option.name} on the command line can be read by every user of this machine: use ${option.variable} instead`,
  ];
}

/** @param {string} file @returns {string[]} */
function exposureOf(file) {
  const mode = modeForOthers(file);
  const name = displayName(file);
  return mode === null ? [] : [`${name} holds secrets and its mode ${mode} lets others read it: chmod 600 ${name}`];
}

/** The option also takes the key itself. @param {Option} option @param {string} text */
function isSecretFile({ file }, text) {
  return file === 'secret' && !/^(0x)?[0-9a-f]{40,}$/i.test(text.trim());
}

/** What replaces commands of earlier versions. @type {Readonly<Record<string, string>>} */
const REPLACED = Object.freeze({
  prepare: 'use stress --workload logs --iterations N --logs FILE',
  attack: 'the load is stress -t N -d TIME --rate N --rpc URL',
  loadtest: 'the load is stress -t N -d TIME --rpc URL',
  load: 'the load is stress -t N -d TIME --rpc URL',
  send: 'the load is stress -t N -d TIME --rpc URL',
  init: 'the accounts are topped up by stress fund, or in the run by --fund-from FILE',
});

/** Options of other load generators. @type {Readonly<Record<string, string>>} */
const OF_OTHERS = Object.freeze({
  vus: 'the number of wallets is -t N',
  accounts: 'the number of wallets is -t N',
  c: 'the number of wallets is -t N, that of connections --connections N',
  n: 'operations per wallet are --iterations N, and the length of the run is -d TIME',
  requests: 'operations per wallet are --iterations N, and the length of the run is -d TIME',
  z: 'the length of the run is -d TIME',
  'rate-limit': 'operations per second are --rate N',
  live: 'the live page is --dashboard PORT',
  rps: 'operations per second are --rate N',
  qps: 'operations per second are --rate N',
  mode: 'what is sent is --workload NAME',
  targets: 'the endpoint is --rpc URL, and the calls are --workload rpc --calls FILE',
  url: 'the endpoint is --rpc URL',
  u: 'the endpoint is --rpc URL',
  timeout: 'time limits are --tx-timeout and --request-timeout',
  verbosity: 'the level of messages is --log-level LEVEL',
  'priority-gas-price': 'fees are --max-fee PRICE, or --gas-price PRICE',
  'with-gas-price': 'fees are --gas-price PRICE',
  H: "headers are --header 'NAME: VALUE'",
});

/** @param {string[]} positional @returns {{command: Command, files: readonly string[]}} */
function commandOf(positional) {
  if (positional.length === 0) return { command: 'run', files: [] };
  const [word, ...rest] = positional.map(String);
  const command = COMMAND_NAMES.find((name) => name === word);
  if (command === undefined) {
    // The value of an option that has none here, such as -q 100.
    if (/^\d/.test(word))
      throw new UsageError(
        `${quote(word)} belongs to no option: the number of wallets is -t N, operations per second are --rate N`,
      );
    if (URL_START.test(word)) throw new UsageError('the endpoint is an option: --rpc URL');
    const hint = Object.hasOwn(REPLACED, word) ? `: ${REPLACED[word]}` : didYouMean(word, COMMAND_NAMES);
    throw new UsageError(`unknown command ${quote(word)}${hint}; see stress --help`);
  }
  if (rest.length > 0 && COMMANDS[command].takes === undefined)
    throw new UsageError(
      `unexpected argument ${quote(rest[0])}${URL_START.test(rest[0]) ? ': the endpoint is an option, --rpc URL' : ''}`,
    );
  return { command, files: Object.freeze(rest) };
}

const URL_START = /^(https?|wss?):\/\//;

/** @param {Record<string, unknown>} parsed @param {Command} command */
function checkNames(parsed, command) {
  const options = optionsOf(command);
  const known = new Set([
    ...[...options, ...GENERAL_OPTIONS].flatMap(({ name, alias }) => (alias === undefined ? [name] : [name, alias])),
    ...['_', '$0'],
  ]);
  for (const name of Object.keys(parsed)) {
    if (known.has(name) || parsed[name] === undefined) continue;
    const dashed = name.length === 1 ? `-${name}` : `--${name}`;
    const elsewhere = OPTIONS.find((option) => option.name === name || option.alias === name);
    if (elsewhere !== undefined)
      throw new UsageError(
        `${dashed} is an option of ${elsewhere.commands.map(nameOf).join(', ')}, not of ${nameOf(command)}${name === 'threshold' && options.some((option) => option.name === 'until') ? ', which has --until' : ''}`,
      );
    const names = [...[...options, ...GENERAL_OPTIONS].map((option) => option.name), ...SYNONYMS.keys()];
    const hint = Object.hasOwn(OF_OTHERS, name) ? `: ${OF_OTHERS[name]}` : didYouMean(name, names);
    throw new UsageError(`unknown option ${oneLine(withoutKeys(dashed), 60)}${hint}; see stress --help-all`);
  }
}

/** Values that must not be on the command line. @param {Record<string, unknown>} parsed */
function checkLiterals(parsed) {
  for (const { name, literal } of OPTIONS) {
    try {
      if (literal !== undefined) [parsed[name] ?? []].flat().map(String).forEach(literal);
    } catch (error) {
      throw new UsageError(`--${name} ${/** @type {Error} */ (error).message}`);
    }
  }
}

/** On the command line. @param {Command} command */
function nameOf(command) {
  return command === 'run' ? 'stress' : `stress ${command}`;
}

/** @param {string} word @param {readonly string[]} names */
function didYouMean(word, names) {
  const [best] = similarNames(word, names);
  if (best === undefined) return '';
  return `: did you mean ${COMMANDS[/** @type {Command} */ (best)] ? '' : '--'}${best}?`;
}

/** @param {Option} option @param {unknown} value @param {Pick<Found, 'text' | 'parts'>} found */
function redact(option, value, { text, parts }) {
  if (value === null) return null;
  if (option.role === 'secret') return isSeveral(option) && parts.length === 0 ? [] : '[redacted]';
  // Run files of one endpoint have a string.
  const urls = urlsIn(value).map(displayUrl);
  if (option.argument === 'URL') return urls.length > 1 ? urls : (urls[0] ?? null);
  if (isSeveral(option)) return textsOf(option, parts).map(withoutPrivateKeys);
  // A value with parts is stated as text, in the form of the command line.
  if (typeof value === 'object') return text;
  if (typeof value === 'string') return withoutPrivateKeys(value);
  return typeof value === 'bigint' ? String(value) : value;
}

/**
 * An option as it was given, wherever it came from, for the run file; nothing of a secret.
 * @param {Option} option
 * @param {unknown} value
 * @param {Pick<Found, 'text' | 'parts'>} found
 * @returns {string[]}
 */
function typedWords(option, value, { text, parts }) {
  const { name, alias, isFlag, role } = option;
  const dashed = alias === undefined ? `--${name}` : `-${alias}`;
  if (role === 'secret') return [];
  if (isFlag) return [value === true ? dashed : `--${name}=false`];
  const urls = urlsIn(value).map(displayUrl);
  const texts = urls.length > 0 ? urls : isSeveral(option) ? textsOf(option, parts) : [text];
  return texts.map((one) => `${dashed} ${shellWord(withoutPrivateKeys(one))}`);
}

/** A private key may be in a setting of the user's workload. @param {string} text */
function withoutPrivateKeys(text) {
  return text.replace(/\b(0x)?[0-9a-f]{64}\b/gi, '***');
}

/** @param {unknown} value of an option @returns {URL[]} */
function urlsIn(value) {
  return [value].flat().filter((one) => one instanceof URL);
}

/** @param {string} file @param {Command} command @param {boolean} isForAll whether options of other commands are left out @returns {Record<string, unknown>} */
function readConfigFile(file, command, isForAll) {
  let json;
  try {
    json = JSON.parse(readFileSync(file, 'utf8'));
  } catch (error) {
    const why = error instanceof SyntaxError ? 'it is not valid JSON' : unreadableWords(error);
    throw new InputError(`cannot use the config file ${displayName(file)}: ${why}`);
  }
  if (json === null || typeof json !== 'object' || Array.isArray(json))
    throw new InputError(`the config file ${displayName(file)} is not a JSON object of options`);
  const options = optionsOf(command);
  const names = options.map(({ name }) => name);
  /** @type {Record<string, unknown>} */
  const given = {};
  for (const [key, value] of Object.entries(json)) {
    // Editors read which schema the file follows.
    if (key === '$schema') continue;
    const [name, fixed] = (SYNONYMS.get(key) ?? key).split('=');
    const elsewhere = OPTIONS.find((option) => option.name === name);
    if (isForAll && !names.includes(name) && elsewhere !== undefined) continue;
    if (!names.includes(name) && elsewhere !== undefined)
      throw new InputError(
        `${displayName(file)}: ${quote(name)} is an option of ${elsewhere.commands.map(nameOf).join(', ')}, not of ${nameOf(command)}`,
      );
    if (!names.includes(name))
      throw new InputError(`${displayName(file)}: unknown option ${quote(name)}${didYouMean(name, names)}`);
    const isList = options.some((option) => option.name === name && isSeveral(option));
    if (isList && [value].flat().some((one) => typeof one !== 'string'))
      throw new InputError(`${displayName(file)}: ${quote(name)} must be a string or an array of strings`);
    if (!isList && !['string', 'number', 'boolean'].includes(typeof value))
      throw new InputError(`${displayName(file)}: ${quote(name)} must be a string, a number or a boolean`);
    given[name] = fixed ?? value;
  }
  return given;
}

/** -t and --users are one figure. @param {Record<string, unknown>} config */
function threadsOf({ threads, users }) {
  if (threads !== null && users !== null && threads !== users)
    throw new UsageError(`-t ${threads} and --users ${users} are two names of one option: give one of them`);
  return threads ?? users;
}

/**
 * --rate takes operations or gas per second. A rate in gas needs a warm-up, in which the gas of an operation is measured.
 * @param {Record<string, any>} config
 * @param {Record<string, unknown>} redacted
 */
function splitRate(config, redacted) {
  const { gasPerSecond = null } = config.ratePerSecond ?? {};
  config.gasPerSecond = redacted.gasPerSecond = gasPerSecond;
  if (gasPerSecond === null) return;
  config.ratePerSecond = redacted.ratePerSecond = null;
  if (config.warmupMs === 0) config.warmupMs = redacted.warmupMs = 'auto';
}

/** @param {Record<string, any>} config @param {Record<string, unknown>} redacted */
function chooseMix(config, redacted) {
  if (config.mix.length === 0) return;
  if (config.workload !== 'counter') throw new UsageError('--mix and --workload exclude each other');
  config.workload = redacted.workload = MIX;
}

/** @param {Config} config @returns {number | null} */
function stagesMs({ stages }) {
  return stages === null ? null : stages.reduce((sum, { durationUs }) => sum + durationUs / 1000, 0);
}
