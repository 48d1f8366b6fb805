import { existsSync, realpathSync } from 'node:fs';
import { resolve } from 'node:path';
import { UsageError, displayName, oneLine } from '../errors.js';
import { claimFile, isDevice, isWorkloadFile } from '../files.js';
import { figureOf } from '../stats/figures.js';
import { OPTIONAL_FIGURES } from '../stats/figures.js';
import { transportsOf } from '../transport/choose.js';
import { similarNames } from '../similar-names.js';
import { quote } from '../text.js';
import {
  CALLS,
  MEMBERS,
  MIX,
  WORKLOADS,
  contractCalls,
  isCallWorkload,
  labelOf,
  setOfMember,
  setProblem,
  sidesOf,
} from '../workloads/table.js';
import { dashed } from './help.js';
import { COMMANDS, OF_THE_STUDY, OPTIONS, optionNamed, optionsOf } from './options.js';

/**
 * @import { Config } from '../contracts/config.d.ts'
 * @import { LoadConfig } from '../contracts/load.d.ts'
 * @import { StudyConfig } from '../contracts/study.d.ts'
 * @import { Groups } from './config.js'
 * @import { Command, Option } from './options.js'
 */

/**
 * What stands beside Config in the checks.
 *
 * @typedef {object} RunContext
 * @property {ReadonlySet<string>} given names of options with another value than the default
 * @property {NodeJS.ProcessEnv} env
 * @property {number} nowMs since 1970
 */

/**
 * Options that exclude or need each other. Each rule yields its message, and the first message ends the command.
 * @param {Command} command
 * @param {Config} config
 * @param {RunContext} surroundings
 * @throws {UsageError}
 */
export function checkTogether(command, config, surroundings) {
  const [problem] = problemsOf(command, config, surroundings);
  if (problem !== undefined) throw new UsageError(problem);
}

/** @param {Config} config */
function* nodeProblems({ chain: { nodeProfile, nodeMetrics, nodePid, rpc }, study }) {
  const { nodeProfileA, nodeProfileB, nodeMetricsA, nodeMetricsB } = study;
  const isPerf = (/** @type {{url: URL | null}} */ { url }) => url === null;
  // The process of the embedded chain is known.
  if (nodeProfile.some(isPerf) && nodePid === null && rpc.length > 0)
    yield '--node-profile perf needs --node-pid: the process of the node on this machine';
  const lists = Object.entries({
    ...{ 'node-profile': nodeProfile, 'node-profile-a': nodeProfileA, 'node-profile-b': nodeProfileB },
    ...{ 'node-metrics': nodeMetrics, 'node-metrics-a': nodeMetricsA, 'node-metrics-b': nodeMetricsB },
  });
  for (const [option, sources] of lists) {
    const names = sources.map(({ name }) => name);
    const twice = names.find((name, i) => names.indexOf(name) < i);
    const isUnnamed = names.length > 1 && names.includes(null);
    if (isUnnamed) yield `--${option} with several pages needs a name for each, such as --${option} one=URL,two=URL`;
    if (twice !== undefined) yield `--${option} has two sources named ${twice}: put NAME= before one of them`;
  }
}

/** @param {Command} command @param {Config} config @param {RunContext} surroundings */
function* problemsOf(command, config, { given, env, nowMs }) {
  yield* relationProblems(command, given);
  const { takes, usage } = COMMANDS[command];
  const { load, network, outputs, study, workload } = config;
  if (command === 'compare') yield* sideProblems(study);
  else if (takes === 'files' && study.files.length === 0)
    yield `stress ${command} needs files: stress ${command} ${usage}`;
  else if (command === 'new-workload') yield* templateProblems(study);
  if (takes !== undefined && study.rpcA === null) return;
  if (command === 'sweep') yield* sweepProblems(study);
  if (command === 'bisect' && study.metrics.length > 1) yield 'stress bisect follows one figure: give one --metric';
  if (command === 'compare' || command === 'bisect') yield* timeLimitProblems(study, load.durationMs);
  yield* missingOptions(command, given);
  if (isCallWorkload(workload.workload)) yield* callProblems(command, config, given);
  yield* workloadProblems(command, config);
  yield* connectionProblems(command, config, given);
  transportsOf(network, config.chain);
  if (study.flags.includes('header') && (env.STRESS_HEADER ?? '') !== '')
    yield '--header and STRESS_HEADER are given: put all headers into STRESS_HEADER or --header-file';
  if (command === 'run') yield* instanceProblems(config, nowMs);
  yield* paceProblems(load);
  yield* nodeProblems(config);
  const isLimited = (/** @type {string} */ name) =>
    command !== 'merge' && study.thresholds.some(({ figure }) => figure === name);
  for (const { name, option = '', needs } of OPTIONAL_FIGURES)
    if (isLimited(name) && !given.has(option)) yield `--threshold on ${name} needs ${needs}`;
  if (outputs.out === '-' && outputs.intervals === '-')
    yield '--out - and --intervals - both write to standard output: give one of them a file';
  yield* fundsProblems(command, config);
  const isEndless = load.durationMs === null && load.iterations === null;
  if ((command === 'sweep' || command === 'compare' || command === 'bisect') && isEndless)
    yield `stress ${command} needs the length of a run: --duration, such as -d 30s`;
  if (command === 'run' && isEndless && /^(true|1)$/i.test(env.CI ?? ''))
    yield 'CI is set and there is no --duration: the job would not end; give one, for instance -d 30s';
}

/** Options without one that they need, or with one that they exclude. @param {Command} command @param {ReadonlySet<string>} given */
function* relationProblems(command, given) {
  for (const { name, needs = [], excludes = [] } of optionsOf(command).filter((option) => given.has(option.name))) {
    const other = excludes.find((one) => given.has(one));
    if (other !== undefined) yield `--${name} and --${other} exclude each other: leave one of them out`;
    const there = needs.flatMap((one) => optionNamed(one) ?? []).filter(({ commands }) => commands.includes(command));
    if (there.length > 0 && !there.some((one) => given.has(one.name)))
      yield `--${name} needs ${there.flatMap((one) => (one.isSecret ? [usageOf(one), one.variable] : usageOf(one))).join(' or ')}`;
  }
}

/** @param {Command} command @param {ReadonlySet<string>} given */
function* missingOptions(command, given) {
  const missing = OPTIONS.find(({ name, neededBy = [] }) => neededBy.includes(command) && !given.has(name));
  if (missing !== undefined)
    yield `stress${command === 'run' ? '' : ` ${command}`} needs ${usageOf(missing)}, or ${missing.variable} in the environment`;
  if (command === 'reclaim' && !given.has('to') && !given.has('fund-from'))
    yield 'stress reclaim needs --to ADDRESS or --fund-from FILE';
}

/** @param {Option} option */
function usageOf({ name, alias, argument }) {
  return `${dashed(alias ?? name)} ${argument}`;
}

/** @param {Config} config @param {number} nowMs */
function* instanceProblems({ instance, chain: { rpc, chainId }, wallets: { fundFrom } }, nowMs) {
  const { index, instances, runId, startAtMs, barrier, startTimeoutMs } = instance;
  if (barrier !== null && runId === null) yield '--barrier needs a name that all instances share: --run-id NAME';
  if (startAtMs !== null && startAtMs - nowMs > startTimeoutMs)
    yield `--start-at is ${Math.round((startAtMs - nowMs) / 1000)} s from now, and --start-timeout waits for ${startTimeoutMs / 1000} s: raise it, or start later`;
  if (index === null) return;
  // An instance does not know the others.
  const what = instances === 1 ? 'this is an instance of a distributed run' : `this is instance ${index} of several`;
  if (rpc.length === 0) yield `${what}, and instances need a chain that they share: --rpc URL`;
  if (chainId === null) yield `${what}, and all must use one chain: --chain-id N, checked before anything is sent`;
  if (fundFrom !== null && instances !== 1)
    yield `${what}, and all would use the same nonces of the funder: leave out --fund-from (STRESS_FUNDER_KEY), and fund all wallets before the run: stress fund --instances N, with the same --duration`;
}

/** Commands whose common options say what is made of the runs. */
const OF_FILES = Object.freeze(['compare', 'bisect']);

/** Files, or two endpoints to make them with. @param {StudyConfig} study */
function* sideProblems({ files, candidates, rpcA, flags }) {
  if (rpcA !== null && (files.length > 0 || candidates.length > 0))
    yield 'stress compare takes run files, or --rpc-a and --rpc-b: not both';
  if (rpcA !== null) return;
  if (files.length === 0 || candidates.length === 0)
    yield 'stress compare needs two sides: run files (BASELINE... --with CANDIDATE...) or endpoints (--rpc-a URL --rpc-b URL)';
  // Options that compare shares with other commands are for new runs, but for --metric, which bisect has too.
  const ofRuns = optionsOf('compare').find(
    ({ name, key, commands }) =>
      flags.includes(name) && commands.some((one) => !OF_FILES.includes(one)) && !OF_THE_STUDY.has(key),
  );
  if (ofRuns !== undefined)
    yield `--${ofRuns.name} is for new runs, and the runs of these files have ended: leave it out, or give --rpc-a and --rpc-b`;
}

/** @param {StudyConfig} study @param {number | null} durationMs */
function* timeLimitProblems({ timeLimitMs, restMs }, durationMs) {
  const pairMs = 2 * (durationMs ?? 0) + restMs;
  if (timeLimitMs !== null && timeLimitMs < pairMs)
    yield `--time-limit ${timeLimitMs / 1000}s is shorter than one pair of runs, which takes at least ${pairMs / 1000}s: raise it, or lower --duration`;
}

/** @param {StudyConfig} study */
function* sweepProblems({ find, axes, alike }) {
  if (find === null && axes.length === 0 && alike !== null)
    yield `${alike}: the values are equal, and a sweep needs different ones`;
  if (find === null && axes.length === 0)
    yield 'stress sweep needs an option with several values, such as -t 10,40,100 or --rate 100..250/10; for one run: stress';
  if (find !== null && axes.length > 0) yield `--find ${find} varies one option only: give --${axes[0].name} one value`;
}

/** @param {LoadConfig} load */
function* paceProblems({ gasPerSecond, maxBaseFeeWei, stages, warmupMs, iterations, nonceOrder, inFlight }) {
  if (nonceOrder !== null && inFlight === 1)
    yield `--nonce-order ${nonceOrder} needs several transactions of a wallet at once: give --in-flight N`;
  if (gasPerSecond !== null && maxBaseFeeWei !== null)
    yield '--rate in gas and --max-base-fee exclude each other: the gas of an operation is measured in a warm-up without pauses';
  if (gasPerSecond !== null && iterations !== null)
    yield '--rate in gas and --iterations exclude each other: the warm-up, which measures the gas of an operation, has no iterations';
  if (gasPerSecond !== null && warmupMs !== 'auto')
    yield '--rate in gas and a --warmup with a length exclude each other: the warm-up lasts until the gas of an operation is measured';
  if (stages !== null && Number(warmupMs) > 0 && stages[0].fromPerSecond === 0)
    yield '--warmup uses the first rate of --stages, which is 0: begin with a higher rate, or leave --warmup out';
}

/** Options of submissions. */
const SENDING = Object.freeze([
  'batch',
  'send-rpc',
  'send-method',
  'pool-target',
  'max-base-fee',
  'nonce-order',
  'duplicate-share',
  'replace-share',
]);

/** @param {StudyConfig} study */
function* templateProblems({ files }) {
  if (files.length !== 1 || !/\.(m?js|sol(:\w+)?)$/.test(files[0]))
    yield 'stress new-workload needs the name of one file, which ends in .mjs or .js, or a contract, which ends in .sol: stress new-workload FILE.mjs';
}

/** A workload without transactions. @param {Command} command @param {Config} config @param {ReadonlySet<string>} given */
function* callProblems(command, { chain: { rpc }, network: { check }, workload: { workload } }, given) {
  if (given.has('evidence')) yield `--evidence shows transactions, and --workload ${workload} sends none`;
  if (check.length > 0) yield `--check ${check[0]} needs transactions: --workload ${workload} leaves nothing to check`;
  const [sending] = SENDING.filter((name) => given.has(name));
  if (sending !== undefined) yield `--${sending} is for submissions, and --workload ${workload} sends none`;
  if (given.has('ladder')) yield `--ladder follows transactions, and --workload ${workload} sends none`;
  if (command === 'fund') yield `--workload ${workload} sends no transactions: there is nothing to fund`;
  if (command === 'find' && rpc.length === 0) yield 'stress find needs the endpoint of the calls: --rpc URL';
}

/** @param {Command} command @param {Config} config */
function* workloadProblems(command, config) {
  const { workload, set, mix } = config.workload;
  const chosen = mix.length > 0 ? mix.map(({ name }) => (name === CALLS ? 'rpc' : name)) : [workload];
  for (const option of OPTIONS) {
    const its = [option.workload ?? chosen].flat();
    if (!its.some((one) => chosen.includes(one)) && valueOf(config, option) !== null)
      yield `--${option.name} is an option of --workload ${its.join(' and ')}`;
  }
  yield* mixProblems(config);
  yield* contractProblems(config.workload);
  for (const name of chosen.filter((one) => Object.hasOwn(WORKLOADS, one))) {
    const own = mix.length > 0 ? setOfMember(name, set) : set;
    const wrong = setProblem(name, own, mix.length > 0 ? `${name}.` : '');
    if (wrong !== null) yield wrong;
    const lacking =
      command === 'fund' && isCallWorkload(name)
        ? null
        : WORKLOADS[name].lacks?.({ ...config.workload, set: own, threads: config.load.threads });
    if (lacking) yield `${mix.length > 0 ? '--mix with calls' : `--workload ${name}`} ${lacking}`;
  }
}

/** @param {Config['workload']} config */
function* contractProblems(config) {
  const { mix, workloads, maxValueWei } = config;
  const reserved = Object.keys(workloads ?? {}).find(
    (name) => Object.hasOwn(WORKLOADS, name) || [CALLS, MIX].includes(name),
  );
  if (reserved !== undefined)
    yield `workloads names a call ${reserved}, which is the name of a built-in workload: give it another one`;
  const calls = contractCalls(config);
  for (const { name, call } of calls.filter((one) => one.name !== 'contract')) {
    const lacking = WORKLOADS.contract.lacks?.(call);
    if (lacking) yield `workloads: ${name} ${lacking}`;
    const { contractAddress: owner } = call;
    if (owner === null || owner.startsWith('0x')) continue;
    const before = mix.slice(
      0,
      mix.findIndex((one) => one.name === name),
    );
    if ((workloads?.[owner].deploy ?? null) === null || !before.some((one) => one.name === owner))
      yield `workloads: ${name} calls the contract of ${owner}, which needs deploy, and a place before it in --mix`;
  }
  if (maxValueWei !== null && !calls.some(({ call }) => call.callValueWei))
    yield '--max-value limits what --call-value transfers, and no call of this load has one';
}

/** @param {Config} config */
function* mixProblems({ load, network: { connections }, workload: { mix, set, workloads } }) {
  const { threads, iterations, gasPerSecond } = load;
  if (mix.length === 0) return;
  const known = [...MEMBERS, ...Object.keys(workloads ?? {})];
  const stranger = mix.find(({ name }) => !isWorkloadFile(name) && !known.includes(name));
  if (stranger !== undefined) {
    const [best] = similarNames(stranger.name, known);
    const hint = best === undefined ? '' : `: did you mean ${best}?`;
    yield `--mix must be one of ${known.join(', ')}, ./FILE.mjs, not ${quote(stranger.name)}${hint}`;
  }
  const names = mix.map(({ name }) => labelOf(name));
  const twice = names.find((name, i) => names.indexOf(name) < i);
  if (twice !== undefined) yield `--mix has ${twice} twice: give each workload once`;
  if (mix.some(({ name }) => name === CALLS)) {
    if (mix.length === 1) yield '--mix has calls only: give --workload rpc instead';
    if (threads < 2 || connections < 2)
      yield '--mix with calls needs two wallets (-t) and --connections: one for each side';
    if (iterations !== null)
      yield '--iterations and calls in --mix exclude each other: their users are not the wallets';
    if (gasPerSecond !== null) yield '--rate in gas and calls in --mix exclude each other: calls use no gas';
  }
  const hasFile = mix.some(({ name }) => isWorkloadFile(name));
  const [stray] = set.find(([key]) => !(key.includes('.') ? names.includes(key.split('.')[0]) : hasFile)) ?? [];
  if (stray !== undefined)
    yield `--set ${stray}=... is for no member of --mix: give the name of one before it, such as ${names[0]}.${stray.split('.').at(-1)}`;
}

/** @param {Command} command @param {Config} config @param {ReadonlySet<string>} given */
function* connectionProblems(command, { load: { threads }, chain: { rpc, sendRpc }, network, workload }, given) {
  const { spread, connections, inclusion, fixedId } = network;
  if (rpc.length > 1 && !optionsOf(command).some(({ name }) => name === 'spread'))
    yield `stress ${command} takes one endpoint, and --rpc gives ${rpc.length}`;
  if (rpc.length < 2 && (spread ?? 'sticky') !== 'sticky')
    yield `--spread ${spread} needs several endpoints: give --rpc more than once`;
  if (fixedId !== null && rpc.some(({ protocol }) => protocol.startsWith('ws')))
    yield '--fixed-id needs an http:// or https:// endpoint: over a WebSocket, answers are matched by their ids';
  if (rpc.length > 1 && sendRpc !== null)
    yield '--send-rpc takes one --rpc: with several, --spread says where submissions go';
  const [sending] = SENDING.filter((name) => given.has(name));
  if (sending !== undefined && inclusion === 'sync')
    yield `--${sending} and --inclusion sync exclude each other: leave one of them out`;
  for (const [label, count] of Object.entries({ '-t': threads, '--connections': connections }))
    if (rpc.length > 1 && Math.min(...sidesOf(count, workload.mix)) < rpc.length)
      yield `${label} ${count} is less than the number of endpoints${sidesOf(count, workload.mix).length > 1 ? ' for one side of --mix' : ''} (--rpc gives ${rpc.length})`;
}

/** All of them are in memory. */
const MOST_FUNDED = 200_000;

/** @param {Command} command @param {Config} config */
function* fundsProblems(command, { load, wallets: funds, chain, workload, instance }) {
  const wallets = load.threads * (instance.instances ?? 1);
  if ((command === 'fund' || command === 'reclaim') && wallets > MOST_FUNDED)
    yield `stress ${command} takes at most ${MOST_FUNDED} wallets at a time, not ${wallets}: use -t and -o, or fewer --instances, in several commands`;
  const { refillBelowWei = null, fundAmountWei } = funds;
  if (refillBelowWei === null) return;
  if (chain.rpc.length === 0 && command === 'run')
    yield '--refill-below needs a chain with a funder: give --rpc; the wallets of the embedded chain have enough';
  if (isCallWorkload(workload.workload))
    yield `--workload ${workload.workload} sends no transactions: leave out --refill-below`;
  if (fundAmountWei !== null && refillBelowWei >= fundAmountWei)
    yield '--refill-below must be less than --fund-amount, which wallets are topped up to';
}

/**
 * Which calls have figures of their own is known before they are made.
 * @param {StudyConfig['thresholds']} thresholds
 * @param {string} workload
 * @param {readonly string[]} names of the calls
 */
export function checkCallNames(thresholds, workload, names) {
  for (const { expression, figure } of thresholds) {
    const name = figureOf(figure)?.ofCall;
    if (name === undefined || names.includes(name)) continue;
    const there = [...new Set(names)].join(', ');
    const words =
      there === ''
        ? `operations of --workload ${workload} have no names, those of --calls FILE have`
        : `there are ${oneLine(there)}`;
    throw new UsageError(
      `--threshold ${oneLine(expression, 80)}: there is no operation "${oneLine(name, 60)}"; ${words}`,
    );
  }
}

/**
 * The files of one of several instances, which are given the same command line and may share a folder.
 */

/** Placeholder of the index in names of files. */
const INDEX = '{index}';

/** Puts the index, if there is one, into their names. @param {Groups} config */
export function nameInstanceFiles(config) {
  const { index } = config.instance;
  if (index === null) return;
  for (const { group, key, file } of ownFiles(config)) config[group][key] = file.replaceAll(INDEX, String(index));
}

/**
 * Takes their names, so that no instance overwrites what another one writes, or has written.
 * @param {Config} config
 * @returns {() => void} gives back the names of those that nothing was written into
 */
export function claimInstanceFiles(config) {
  /** @type {Array<() => void>} */
  const claims = [];
  const giveBack = () => claims.forEach((release) => release());
  if (config.instance.index === null) return giveBack;
  try {
    for (const { key, file } of ownFiles(config)) {
      if (file === '-' || isDevice(file)) continue;
      const isOwn = String(config.outputs.redacted[key]).includes(INDEX);
      const cure = isOwn ? 'another instance has this index, or it ran before' : `put ${INDEX} into its name`;
      claims.push(
        claimFile(file, `${displayName(file)} exists: instances do not overwrite each other's files; ${cure}`),
      );
    }
  } catch (error) {
    giveBack();
    throw error;
  }
  return giveBack;
}

/** The files that a run writes anew. @param {Config | Groups} config */
function ownFiles(config) {
  return filesNamed(config).filter(({ use }) => use === 'written');
}

/** What a command has written, in the order of the options: files, and the folder of --results. @param {Config} config */
export function writtenBy(config) {
  return OPTIONS.flatMap((option) => {
    const { file, output } = option;
    const name = valueOf(config, option);
    const isOutput = file === 'written' || (file === 'folder' && output !== undefined);
    return isOutput && typeof name === 'string' && existsSync(name) && !isDevice(name) ? [displayName(name)] : [];
  });
}

/** @param {Config | Groups} config @param {Option} option @returns {unknown} */
export function valueOf(config, { group, key }) {
  return /** @type {Groups} */ (config)[group][key];
}

/**
 * @param {Config | Groups} config
 * @returns {Array<Pick<Option, 'name' | 'group' | 'key'> & {use: Option['file'], file: string}>} the files that options
 *   name, '-' for standard output
 */
export function filesNamed(config) {
  return OPTIONS.flatMap((option) => {
    const { name, group, key, file: use, choices = [] } = option;
    const value = valueOf(config, option);
    const isFile = use !== undefined && use !== 'folder' && typeof value === 'string' && !choices.includes(value);
    return isFile ? [{ name, group, key, use, file: value }] : [];
  });
}

/**
 * No file is read and written by one command, or written twice: a run file must not replace the keys, or its own input.
 * @param {Config} config
 * @param {Array<string | null>} inputs files without an option of their own: behind the command, and the config file
 */
export function checkFilesDiffer(config, inputs) {
  const read = [...inputs, ...config.study.candidates].flatMap((file) =>
    file === null ? [] : [{ label: displayName(file), isRead: true, file }],
  );
  const named = filesNamed(config).map(({ name, use, file }) => {
    return { label: `--${name}`, isRead: use === 'read' || use === 'secret', file };
  });
  /** @type {Map<string, {label: string, isRead: boolean}>} */
  const known = new Map();
  for (const one of [...read, ...named].filter(({ file }) => file !== '-')) {
    // Without symbolic links.
    const path = existsSync(one.file) ? realpathSync(one.file) : resolve(one.file);
    const first = known.get(path);
    if (first !== undefined && !(first.isRead && one.isRead))
      throw new UsageError(`${first.label} and ${one.label} name the same file`);
    known.set(path, one);
  }
}
