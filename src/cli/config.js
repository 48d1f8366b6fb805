import { existsSync, readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { displayUrl } from '../chain/rpc.js';
import { EXIT, InputError, UsageError, displayName, oneLine, errnoWords, withoutKeys } from '../errors.js';
import { isWorkloadFile, modeForOthers } from '../files.js';
import { instanceOf } from '../scale-out/scheduler.js';
import { mostSimilar } from '../similar-names.js';
import { quote, shellWord } from '../text.js';
import { headersOf } from '../transport/headers.js';
import { MAX_BODY_BYTES, MAX_CALL_BODY_BYTES } from '../transport/http.js';
import { MIX, WORKLOADS, isCallWorkload, sidesOf } from '../workloads/table.js';
import { isOption, splitCommandLine } from './command-line.js';
import { checkVariables } from './environment.js';
import { dashed, helpText } from './help.js';
import {
  COMMANDS,
  COMMAND_NAMES,
  GENERAL_OPTIONS,
  OPTIONS,
  STUDIES,
  isOfCommandLine,
  namesOf,
  optionNamed,
  optionsOf,
} from './options.js';
import { StudyBuilder } from './study-config.js';

/**
 * @import { Config } from '../contracts/config.d.ts'
 * @import { InstanceConfig, RateStage, WorkloadConfig } from '../contracts/load.d.ts'
 * @import { FindCommand } from '../contracts/run-file.d.ts'
 * @import { Command, Group, Option, WorkCommand } from './options.js'
 */

/**
 * Command line, environment and --config file become one frozen Config.
 *
 * @typedef {{kind: 'command', command: WorkCommand, config: Config, warnings: string[], notices: string[], workloadFiles: string[]} | {kind: 'text', text: string, exitCode?: number}} Invocation
 *
 * @typedef {{parsed: Record<string, unknown>, env: NodeJS.ProcessEnv, fromFile: Record<string, unknown>}} Sources of values
 *   by the names of options; a flag overrides the environment, the environment the file
 *
 * @typedef {Record<Group, Record<string, any>>} Groups of Config, while they are made
 *
 * @typedef {'flag' | 'environment' | 'file' | 'default'} Source
 * @typedef {{text: string, where: Source, label: string, parts: string[]}} OptionValue parts: as they were given; text: all
 *   of them
 */

/** @param {Option} option @param {Sources} sources @returns {OptionValue | null} */
function find(option, { parsed, env, fromFile }) {
  const { name, alias, localName = name, variable, isFlag, isList, argument, fallback, separator } = option;
  const label = alias === undefined ? `--${localName}` : `-${alias} (--${name})`;
  const fromEth = (/** @type {string} */ part) => (name === 'rpc' && part === 'env' ? endpointIn(env, label) : part);
  /** @param {Source} where @param {unknown} values @param {string} [source] @returns {OptionValue} */
  const found = (where, values, source = label) => {
    const parts = [values].flat().map(String).map(fromEth);
    return { text: parts.join(separator === '\n' ? '\n' : ','), where, label: source, parts };
  };
  const { [variable]: inEnvironment = '' } = env;
  if (parsed[name] !== undefined) {
    // Headers: only a server that refuses the credentials would show that one source hides the other.
    if (option.isSecret && isList && inEnvironment !== '')
      throw new UsageError(`${label} and ${variable} are both given: give all headers in ${variable}`);
    const { parts } = found('flag', parsed[name]);
    if (parts.includes('')) throw new UsageError(`${label} needs a value${argument === '' ? '' : ` (${argument})`}`);
    if (isFlag) return found('flag', parts.at(-1));
    if (parts.length > 1 && !isList) throw new UsageError(`${label} is given ${parts.length} times: once is enough`);
    return found('flag', parts);
  }
  const lines = separator === '\n' ? inEnvironment.trim().split('\n') : inEnvironment;
  if (inEnvironment !== '') return found('environment', lines, variable);
  const inFile = option.isJson && typeof fromFile[name] === 'object' ? JSON.stringify(fromFile[name]) : fromFile[name];
  if (String(inFile ?? '').includes(MASK))
    throw new InputError(
      `"${name}" in the config file is masked (${MASK}): write the value there, or set ${variable} in the environment`,
    );
  if (inFile !== undefined) return found('file', inFile, `"${name}" in the config file`);
  return fallback === undefined ? null : found('default', fallback);
}

/** The endpoint of other Ethereum tools. @param {NodeJS.ProcessEnv} env @param {string} label */
function endpointIn({ ETH_RPC_URL = '' }, label) {
  if (ETH_RPC_URL === '') throw new UsageError(`${label} env: ETH_RPC_URL is not set in the environment`);
  return ETH_RPC_URL;
}

/** @param {Option} option @param {OptionValue} found */
async function parseValue(option, { where, label, text, parts }) {
  try {
    if (where === 'flag') parts.forEach((part) => option.literal?.(part));
    if (!option.isList) return await option.parse(text);
    return Object.freeze(await Promise.all(textsOf(option, parts).map((one) => option.parse(one))));
  } catch (error) {
    const words = `${label} ${/** @type {Error} */ (error).message}`;
    throw where === 'file' ? new InputError(words) : new UsageError(words);
  }
}

/** The values of a list. @param {Option} option @param {string[]} parts each of one or several */
function textsOf({ separator = /,/ }, parts) {
  if (separator === '\n') return parts;
  return parts.flatMap((part) => (part === '' ? [] : part.split(separator).map((one) => one.trim())));
}

/** It is used without being asked for. */
const USUAL_CONFIG = 'stress.config.json';

/** The value of --config that excludes that file. */
const NO_CONFIG = 'none';

/** In place of a secret in --print-config; a config file with it is refused. */
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
  const split = await splitCommandLine(argv);
  const { command, files } = commandOf(split._);
  const parsed = withoutLocalNames(split, command);
  checkNames(parsed, command);
  const { env, unknown } = checkVariables(given);
  const file = await configFileOf({ command, parsed, env, hasUsualConfig });
  if (argv.length === 0 && file === null && !env.STRESS_THREADS)
    return { kind: 'text', text: helpText('run', { isBrief: true, columns }), exitCode: EXIT.usage };
  const sources = { command, parsed, env, file };
  if (parsed['print-config'] !== undefined) {
    const { shown } = await collectOptions(sources);
    return { kind: 'text', text: JSON.stringify(shown, null, 2) };
  }
  const read = await readOptions({ ...sources, files, nowMs });
  const notices = file?.isFound ? [`the options in ${USUAL_CONFIG} are used`] : [];
  if (unknown.length > 0)
    notices.push(`not an option of stress, and ignored: ${unknown.join(', ')} in the environment`);
  return { kind: 'command', command, ...read, notices, workloadFiles: workloadFiles(read.config.workload) };
}

/** Gives options their first names, where the command has others for them. @param {Record<string, unknown>} parsed @param {WorkCommand} command @throws {UsageError} */
function withoutLocalNames(parsed, command) {
  const named = { ...parsed };
  for (const { name, localName } of optionsOf(command)) {
    if (localName === undefined || parsed[localName] === undefined) continue;
    if (parsed[name] !== undefined)
      throw new UsageError(`--${localName} and --${name} are one option: give one of them`);
    named[name] = parsed[localName];
    delete named[localName];
  }
  return named;
}

/**
 * @typedef {{name: string, isFound: boolean}} ConfigFile isFound: without being asked for
 *
 * @typedef {object} Inputs
 * @property {WorkCommand} command
 * @property {Record<string, unknown>} parsed text by name of option
 * @property {NodeJS.ProcessEnv} [env]
 * @property {ConfigFile | null} [file] with options
 *
 * @param {Inputs & {env: NodeJS.ProcessEnv, hasUsualConfig: boolean}} given
 * @returns {Promise<ConfigFile | null>}
 */
async function configFileOf({ command, parsed, env, hasUsualConfig }) {
  const [option] = GENERAL_OPTIONS;
  const found = find(option, { parsed, env, fromFile: {} });
  if (found?.text === NO_CONFIG) return null;
  if (found !== null) return { name: String(await parseValue(option, found)), isFound: false };
  const isOfRuns = COMMANDS[command].takes === undefined || parsed['rpc-a'] !== undefined;
  return hasUsualConfig && isOfRuns ? { name: USUAL_CONFIG, isFound: true } : null;
}

/** @param {ConfigFile | null} file @param {Command} command @returns {Record<string, unknown>} */
function readConfigFile(file, command) {
  if (file === null) return {};
  const name = displayName(file.name);
  let json;
  try {
    const text = readFileSync(file.name, 'utf8');
    // The shell has just made the file of `stress --print-config > stress.config.json`.
    json = file.isFound && text === '' ? {} : JSON.parse(text);
  } catch (error) {
    const why = error instanceof SyntaxError ? 'it is not valid JSON' : errnoWords(error);
    throw new InputError(`cannot use the config file ${name}: ${why}`);
  }
  if (json === null || typeof json !== 'object' || Array.isArray(json))
    throw new InputError(`the config file ${name} is not a JSON object of options`);
  /** @type {Record<string, unknown>} */
  const given = {};
  for (const [key, value] of Object.entries(json)) {
    // Editors read which schema the file follows, and people what stress learn has found.
    if (key === '$schema' || key === '$learned') continue;
    const option = optionNamed(key);
    if (option?.commands.includes(command)) given[option.name] = value;
    // A file that is used without being asked for may have options of other commands.
    else if (option === undefined || !file.isFound)
      throw new InputError(`${name}: ${nameProblem(key, quote(key), command)}`);
    if (typeof value === 'object' && !Array.isArray(value) && !(option?.isJson && value !== null))
      throw new InputError(`${name}: ${quote(key)} must be a string, a number, a boolean or an array of strings`);
  }
  return given;
}

/** Values of the options of a command, from all sources. @param {Inputs} given */
async function collectOptions({ command, parsed, env = {}, file = null }) {
  const inFile = readConfigFile(file, command);
  // The runs of a study warm up until the pipeline is full.
  const sources = { parsed, env, fromFile: STUDIES.includes(command) ? { warmup: 'auto', ...inFile } : inFile };
  const options = optionsOf(command);
  const found = new Map(options.map((option) => [option.name, find(option, sources)]));
  const searched = command === 'find' ? 'rate' : (found.get('find')?.text ?? null);
  const study = new StudyBuilder(env, searched);
  const config = /** @type {Groups} */ ({});
  for (const { group, key, isList } of OPTIONS) (config[group] ??= {})[key] = isList ? [] : null;
  /** @type {Record<string, unknown>} */
  const redacted = { command };
  /** For --print-config. @type {Record<string, unknown>} */
  const shown = {};
  /** @type {PrintedOption[]} */
  const printed = [];
  /** Names of options with another value than the default. @type {Set<string>} */
  const given = new Set();
  const isExposed = options.some((option) => option.name in inFile && isSecret(option, String(inFile[option.name])));
  const warnings = file !== null && isExposed ? exposureOf(file.name) : [];
  for (const option of options) {
    const one = found.get(option.name) ?? null;
    redacted[option.key] = option.argument === 'URL' ? null : config[option.group][option.key];
    if (one === null) continue;
    const texts = command === 'sweep' || option.name === searched ? study.textsOf(option, one, searched) : [one.text];
    /** @param {string} text */
    const withText = (text) => (text === one.text ? one : { ...one, text, parts: [text] });
    const values = await Promise.all(texts.map((text) => parseValue(option, withText(text))));
    // The checks here see the first of several values: each run is checked again when it starts.
    const [value] = values;
    const first = withText(texts[0]);
    const words = shownTexts(option, value, first);
    config[option.group][option.key] = value;
    redacted[option.key] = redact(option, value, words);
    study.add(option, first, words.join());
    warnings.push(...warningsOf(option, one));
    if (one.text !== option.fallback && value !== false) given.add(option.name);
    if (one.where === 'default') continue;
    printed.push(printedOption(option, value, one));
    shown[option.name] = isSecret(option, one.text)
      ? MASK
      : texts.length > 1
        ? one.text
        : option.isList
          ? words
          : words[0];
  }
  // All options are in the printed commands: a config file would add others.
  const last = find(GENERAL_OPTIONS[0], { parsed, env, fromFile: {} }) === null ? [] : [`--config ${NO_CONFIG}`];
  const commandLine = commandText(command, printed, last);
  const findCommand = command === 'run' ? findCommandOf(printed, config, last) : null;
  return { config, redacted, shown, given, study, warnings, commands: { commandLine, findCommand } };
}

/** Wallets of the first run of stress find, which raises them. */
const FIRST_WALLETS = 100;

/** @param {Inputs & {files?: readonly string[], nowMs?: number}} given files: named behind the command; nowMs: since 1970 @returns {Promise<{config: Config, warnings: string[]}>} */
export async function readOptions({ files = [], nowMs = Date.now(), ...sources }) {
  const { command, env = {}, file = null } = sources;
  const { config, redacted, given, study, warnings, commands } = await collectOptions(sources);
  const { load, chain, workload, instance } = config;
  if (command === 'find') config.study.find = 'rate';
  if (command === 'find') load.threads ??= FIRST_WALLETS;
  if (command === 'run' && instance.instances !== null) redacted.index = instance.index ?? 'auto';
  derive(config, redacted, file);
  placeInstance(command, config, env);
  Object.assign(config.outputs, { redacted: Object.freeze(redacted), ...commands });
  Object.assign(config.study, { ...study.build(), files });
  const complete = /** @type {Config} */ (/** @type {unknown} */ (config));
  const { checkFilesDiffer, checkTogether, nameInstanceFiles } = await import('./checks.js');
  nameInstanceFiles(config);
  checkTogether(command, complete, { given, env, nowMs });
  checkFilesDiffer(complete, [...(COMMANDS[command].takes === 'files' ? files : []), file?.name ?? null]);
  const mayCall = workload.calls !== null || workload.method !== null || workloadFiles(complete.workload).length > 0;
  Object.assign(config.network, {
    maxBodyBytes: mayCall ? MAX_CALL_BODY_BYTES : MAX_BODY_BYTES,
    // The embedded chain is no endpoint of the user.
    headers: chain.rpc.length === 0 ? {} : headersOf(complete.chain),
  });
  Object.values(config).forEach(Object.freeze);
  return { config: Object.freeze(complete), warnings: [...new Set(warnings)] };
}

/** Why the file that stress learn has written has no rate; empty: it was not asked, or is another file. @param {ConfigFile | null} file */
function whyWithoutRate(file) {
  if (file === null) return '';
  const { $learned: facts } = JSON.parse(readFileSync(file.name, 'utf8') || '{}');
  const why = facts?.unmeasured?.['/chain/transactionsPerSecond'];
  return why === undefined ? '' : `, which ${displayName(file.name)} does not have: ${oneLine(String(why), 200)}`;
}

/** What follows from several options. @param {Groups} config @param {Record<string, unknown>} redacted @param {ConfigFile | null} file */
function derive(config, redacted, file) {
  const { load, workload } = config;
  const { warmupMs, stages } = load;
  const ratePerSecond = load.ratePerSecond === 'chain' ? load.chainRatePerSecond : load.ratePerSecond;
  if (load.ratePerSecond === 'chain' && ratePerSecond === null)
    throw new UsageError(
      `--rate chain needs the rate of a chain${whyWithoutRate(file)}; give the file that stress learn has written (--config FILE), or --chain-rate N`,
    );
  const { gasPerSecond = null } = ratePerSecond ?? {};
  const isCounted = stages !== null || load.iterations !== null;
  const derived = {
    gasPerSecond,
    ratePerSecond: gasPerSecond === null ? ratePerSecond : null,
    // The warm-up measures the gas of an operation.
    warmupMs: warmupMs === 0 && gasPerSecond !== null ? 'auto' : warmupMs === 'auto' && isCounted ? 0 : warmupMs,
  };
  if (workload.mix.length > 0) workload.workload = MIX;
  Object.assign(load, derived, { workers: workersOf(config) });
  Object.assign(redacted, derived, { workload: workload.workload });
  const ofStagesUs = /** @type {RateStage[] | null} */ (stages)?.reduce((sum, one) => sum + one.durationUs, 0);
  // Stages have their own times.
  load.durationMs ??= ofStagesUs === undefined ? null : ofStagesUs / 1000;
  // Worker threads are given plain data.
  workload.checkRpc &&= workload.checkRpc.href;
}

/**
 * A multiple of the number of endpoints, so that each endpoint gets as many wallets. Each side of a mix has as many.
 * @param {Groups} config
 */
function workersOf({ load: { workers, threads }, network: { connections }, chain: { rpc }, workload: { mix } }) {
  const endpoints = Math.max(1, rpc.length);
  // Half of the CPUs are left for a node on the same machine.
  const wanted = workers === 'auto' ? Math.floor(availableParallelism() / 2) : workers;
  const least = Math.min(...sidesOf(threads, mix), ...sidesOf(connections, mix));
  const most = Math.floor(least / endpoints);
  return endpoints * Math.max(1, Math.min(Math.ceil(wanted / endpoints), most));
}

/** The index of this instance, and its slice. @param {Command} command @param {Groups} config @param {NodeJS.ProcessEnv} env */
function placeInstance(command, { load, wallets, instance }, env) {
  const given = /** @type {InstanceConfig} */ (instance);
  const own = command === 'run' ? instanceOf(given, env) : { index: null, scheduler: null };
  Object.assign(instance, own, { firstOffset: wallets.offset });
  wallets.offset += (own.index ?? 0) * load.threads;
}

/** Warns of secrets that other users of the machine can read: on the command line, or in a file by its mode. @param {Option} option @param {OptionValue} found @returns {string[]} */
function warningsOf(option, { text, where }) {
  if (isSecretFile(option, text)) return exposureOf(text);
  if (!option.isSecret || option.literal !== undefined || where !== 'flag') return [];
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

/** @param {Option} option @param {string} text */
function isSecret(option, text) {
  return option.isSecret === true && !isSecretFile(option, text);
}

/** The option may also take the key itself, perhaps a mistyped one. @param {Option} option @param {string} text */
function isSecretFile({ file }, text) {
  return file === 'secret' && (existsSync(text) || withoutKeys(text) === text);
}

/** What a setting, a member of JSON or a parameter of a URL is called if it is a secret. */
const SECRET_NAME =
  '[\\w-]*(?:token|secret|passw(?:or)?d|passphrase|\\bpass|pwd|credentials?|jwt|bearer|auth|authorization|mnemonic|seed_?phrase|key)';

/** Private keys; user, password and long parts of the path of a URL; and what is a secret by its name. */
const SECRETS = new RegExp(
  [
    '\\b(?:0x)?[0-9a-f]{64}\\b',
    '(?<=://)[^\\s/?#@]+(?=@)',
    '(?<=://[^\\s"\']{1,1000}/)[^\\s/?#"\']{20,}',
    `(?<=^\\s*${SECRET_NAME}=).+`,
    `(?<=[?&]${SECRET_NAME}=)[^&#\\s"']+`,
    `(?<="${SECRET_NAME}"\\s*:\\s*")[^"]+`,
  ].join('|'),
  'gis',
);

/** The values of an option without secrets. @param {Option} option @param {unknown} value @param {OptionValue} found @returns {string[]} */
function shownTexts(option, value, { text, parts }) {
  if (option.shown !== undefined) return /** @type {unknown[]} */ ([value].flat()).map(option.shown);
  const urls = [value].flat().filter((one) => one instanceof URL);
  if (urls.length > 0) return urls.map(displayUrl);
  const texts = option.isList ? textsOf(option, parts) : [text];
  return texts.map((one) => one.replace(SECRETS, MASK));
}

/** For the run file. @param {Option} option @param {unknown} value @param {string[]} words */
function redact({ isSecret: isHidden, argument, isList }, value, words) {
  if (isHidden) return '[redacted]';
  // Run files of one endpoint have a string.
  if (argument === 'URL') return words.length > 1 ? words : words[0];
  if (isList) return words;
  // A value with parts is stated as text, in the form of the command line.
  if (typeof value === 'object' || typeof value === 'string') return words[0];
  return typeof value === 'bigint' ? String(value) : value;
}

/**
 * An option in a printed command. A value with a secret is replaced by the variable of the option, which is set in front
 * of the command: `ps` shows command lines to other users.
 *
 * @typedef {object} PrintedOption
 * @property {Option} option
 * @property {string[]} words
 * @property {boolean} isSecret the words set the variable
 * @property {OptionValue} found
 */

/** @param {Option} option @param {unknown} value @param {OptionValue} found @returns {PrintedOption} */
function printedOption(option, value, found) {
  const { name, alias, argument, isFlag, variable } = option;
  const dash = alias === undefined ? `--${name}` : `-${alias}`;
  const parts = { option, found, isSecret: false };
  if (isFlag) {
    const [, ...others] = found.text.split(',');
    const isPlain = value === true && others.length === 0;
    return { ...parts, words: [isPlain ? dash : `--${name}=${[value, ...others].join()}`] };
  }
  const texts = shownTexts(option, value, found);
  // Shell commands may have secrets in them.
  const isHidden = isSecret(option, found.text) || argument === 'COMMAND' || texts.some((text) => text.includes(MASK));
  if (!isHidden)
    return { ...parts, words: texts.map((text) => `${dash}${isOption(text) ? '=' : ' '}${shellWord(text)}`) };
  return { ...parts, words: [`${variable}="$${variable}"`], isSecret: true };
}

/** @param {Command} command @param {readonly PrintedOption[]} printed @param {readonly string[]} last words */
function commandText(command, printed, last) {
  const secrets = printed.filter(({ isSecret: isHidden }) => isHidden);
  const others = printed.filter(({ isSecret: isHidden }) => !isHidden);
  const wordsOf = (/** @type {PrintedOption[]} */ options) => options.flatMap(({ words }) => words);
  return [...wordsOf(secrets), nameOf(command), ...wordsOf(others), ...last].join(' ');
}

/**
 * The search for the highest rate with the load of a run: with all of its options that say what an operation is, where
 * it goes, who pays and how much.
 * @param {readonly PrintedOption[]} printed of the run
 * @param {Groups} config
 * @param {readonly string[]} last words
 * @returns {FindCommand}
 */
function findCommandOf(printed, { chain, workload }, last) {
  const ofLoad = printed.filter(
    ({ option }) => !isOfCommandLine(option) && option.group !== 'study' && !option.isChosenByFind,
  );
  const has = (/** @type {PrintedOption} */ { option }) => option.commands.includes('find');
  const kept = ofLoad.filter(has);
  // A search with plain calls does not start a chain.
  const place = chain.rpc.length === 0 && isCallWorkload(workload.workload) ? ['--rpc URL'] : [];
  const lost = ofLoad.filter((one) => !has(one) && one.found.text !== one.option.fallback);
  const unset = kept.filter(({ isSecret: isHidden, found }) => isHidden && found.where !== 'environment');
  return Object.freeze({
    command: commandText('find', kept, [...place, ...last]),
    without: lost.map(({ option }) => `--${option.name}`),
    variables: unset.map(({ option }) => option.variable),
  });
}

/** What other load generators and earlier versions call it, and what it is here. @type {ReadonlyArray<readonly [RegExp, string]>} */
const HINTS = Object.freeze([
  [/^(attack|loadtest|load|send)$/, 'the load is stress -t N -d TIME --rate N --rpc URL'],
  [/^prepare$/, 'use stress --workload logs --iterations N --logs FILE'],
  [/^init$/, 'wallets are topped up by stress fund, or in the run by --fund-from FILE'],
  [/^(count|number|clients|(wallet|account|user)s?-count)$/, 'the number of wallets is -t N'],
  [/^c$/, 'the number of wallets is -t N, that of connections --connections N'],
  [/^(n|requests)$/, 'operations per wallet are --iterations N, and the length of the run is -d TIME'],
  [/^live$/, 'the live page is --dashboard PORT'],
  [/^targets$/, 'the endpoint is --rpc URL, and the calls are --workload rpc --calls FILE'],
  [/\.([cm]?js|sol)$/, 'a workload of your own is --workload FILE'],
  [/:[\d.]{1,3},/, 'several workloads are --mix NAME:WEIGHT,NAME:WEIGHT'],
  [/^audit$/, 'each run is audited at its end'],
  [/^(j|output(-format)?|summary-export|format)$/, 'the result as JSON is --json, or --out FILE'],
  [/^latency-correction$/, 'latency counts from the scheduled start if a rate is given: --rate N'],
  [/^(no-tui|no-progress|s|silent)$/, 'to print errors only is --quiet'],
  [/^(disable-keepalive|no-connection-reuse)$/, 'one connection per request is --no-keep-alive'],
  [/^time-limit$/, 'the length of a run is -d TIME'],
  [/^function-args?$/, 'the values of --function are --args LIST'],
  [/^contract-call-payable$/, 'the value of a call is --call-value AMOUNT'],
  [/^(gas-limit|adaptive-rate-limit|send-only)$/, 'an operation is what --workload NAME|FILE says'],
  [/^eth-amount(-in-wei)?$/, 'the balance that each wallet needs is --fund-amount AMOUNT'],
  [/^timeout$/, 'time limits are --tx-timeout and --request-timeout'],
  [/^verbosity$/, 'the level of messages is --log-level LEVEL'],
  [/^with-gas-price$/, 'fees are --max-fee PRICE, --tip PRICE, or --gas-price PRICE'],
  [/^threshold$/, "conditions of a search are --until, such as 'p99<2s'"],
  // The value of an option that has none here, such as -q 100.
  [/^\d/, 'the number of wallets is -t N, operations per second are --rate N'],
  [/^(https?|wss?):\/\//, 'the endpoint is --rpc URL'],
]);

/** Most of equally similar names that are suggested. */
const SUGGESTIONS = 2;

/** @param {string} word @param {readonly string[]} names that may be meant */
function hintFor(word, names) {
  const [, words] = HINTS.find(([pattern]) => pattern.test(word)) ?? [];
  if (words !== undefined) return `: ${words}`;
  const best = mostSimilar(word, names).slice(0, SUGGESTIONS);
  if (best.length === 0) return '';
  return `: did you mean ${best.map((name) => (Object.hasOwn(COMMANDS, name) ? name : dashed(name))).join(' or ')}?`;
}

/** @param {string[]} positional @returns {{command: WorkCommand, files: readonly string[]}} */
function commandOf(positional) {
  const [word = 'run', ...rest] = positional.map(String);
  const command = COMMAND_NAMES.find((name) => name === word);
  if (command === undefined) {
    const isOption = (optionNamed(word)?.commands ?? []).length > 0;
    const hint = Object.hasOwn(WORKLOADS, word)
      ? `: give --workload ${word}`
      : isOption
        ? `: did you mean ${dashed(word)}?`
        : hintFor(word, COMMAND_NAMES);
    throw new UsageError(`unknown command ${quote(word)}${hint}; see stress --help`);
  }
  if (rest.length > 0 && COMMANDS[command].takes === undefined)
    throw new UsageError(`unexpected argument ${quote(rest[0])}${hintFor(rest[0], [])}`);
  if (command === 'help') commandOf(rest);
  if (command === 'help' || command === 'version' || command === 'completion')
    throw new UsageError(`stress ${command} takes no options before it`);
  return { command, files: Object.freeze(rest) };
}

/** @param {Record<string, unknown>} parsed @param {Command} command */
function checkNames(parsed, command) {
  for (const name of Object.keys(parsed)) {
    const option = optionNamed(name);
    const isKnown =
      name === '_' || name === '$0' || option?.commands.length === 0 || option?.commands.includes(command);
    if (!isKnown && parsed[name] !== undefined) throw new UsageError(nameProblem(name, dashed(name), command));
  }
}

/** Why a command has no option of this name. @param {string} name @param {string} shown @param {Command} command */
function nameProblem(name, shown, command) {
  const options = [...optionsOf(command), ...GENERAL_OPTIONS];
  // The usual options first: of equally similar names the first is suggested.
  options.sort((a, b) => Number(b.usual ?? false) - Number(a.usual ?? false));
  const names = options.flatMap(namesOf).filter(({ length }) => length > 1);
  const { commands = [] } = optionNamed(name) ?? {};
  if (commands.length === 0)
    return `unknown option ${oneLine(withoutKeys(shown), 60)}${hintFor(name, names)}; see stress --help-all`;
  return `${shown} is an option of ${commands.map(nameOf).join(', ')}, not of ${nameOf(command)}${hintFor(name, [])}`;
}

/** On the command line. @param {Command} command */
function nameOf(command) {
  return command === 'run' ? 'stress' : `stress ${command}`;
}

/** Files of the user's own workloads. @param {WorkloadConfig} config */
export function workloadFiles({ workload, mix }) {
  return [workload, ...mix.map(({ name }) => name)].filter(isWorkloadFile);
}
