import { existsSync, realpathSync } from 'node:fs';
import { resolve } from 'node:path';
import { displayUrl } from '../chain/rpc.js';
import { UsageError, displayName, oneLine, withoutKeys } from '../errors.js';
import { claimFile, isDevice, isWorkloadFile } from '../files.js';
import { figureOf } from '../stats/figures.js';
import { CALLS, WORKLOADS, isCallWorkload, labelOf, setOfMember, setProblem } from '../workloads/table.js';
import { OF_THE_STUDY, OPTIONS, optionsOf } from './options.js';

/**
 * @import { Config } from '../types.d.ts'
 * @import { Command, Option } from './options.js'
 */

/** The last index of a wallet (BIP-32). */
const LAST_WALLET = 2 ** 31 - 1;

/**
 * Options that exclude or need each other. Each rule yields its message, and the first message ends the command.
 * @param {Command} command
 * @param {Config} config
 * @param {NodeJS.ProcessEnv} env
 * @param {number} nowMs since 1970
 * @throws {UsageError}
 */
export function checkTogether(command, config, env, nowMs) {
  const [problem] = problemsOf(command, config, env, nowMs);
  if (problem !== undefined) throw new UsageError(problem);
}

/** @param {Command} command @param {Config} config @param {NodeJS.ProcessEnv} env @param {number} nowMs */
function* problemsOf(command, config, env, nowMs) {
  if (command === 'new-workload') return yield* templateProblems(config);
  if (command === 'report' || command === 'trend') return yield* fileProblems(command, config.files);
  if (command === 'merge') return yield* mergeProblems(config);
  if (command === 'compare') {
    yield* sideProblems(config);
    if (config.rpcA === null) return;
  }
  if (command === 'sweep') yield* sweepProblems(config);
  if (command === 'bisect') yield* bisectProblems(config);
  if (command === 'find' && isCallWorkload(config.workload) && config.rpc.length === 0)
    yield 'stress find needs the endpoint of the calls: --rpc URL';
  if (config.threads === null) yield '-t (--threads) is missing: how many wallets? For instance: stress -t 200 -o 0';
  yield* walletProblems(config);
  yield* workloadProblems(command, config);
  yield* connectionProblems(command, config);
  if (config.study.flags.includes('header') && (env.STRESS_HEADER ?? '') !== '')
    yield '--header and STRESS_HEADER are given: put all headers into STRESS_HEADER or --header-file';
  if (command === 'run') yield* instanceProblems(config, nowMs);
  if (config.out === '-' && config.intervals === '-')
    yield '--out - and --intervals - both write to standard output: give one of them a file';
  yield* fundsProblems(command, config);
  const isEndless = config.durationMs === null && config.iterations === null;
  if ((command === 'sweep' || command === 'compare' || command === 'bisect') && isEndless)
    yield `stress ${command} needs the length of a run: --duration, such as -d 30s`;
  if (command === 'run' && isEndless && /^(true|1)$/i.test(env.CI ?? ''))
    yield 'CI is set and there is no --duration: the job would not end; give one, for instance -d 30s';
}

/** @param {Config} config */
function* walletProblems({ firstOffset, threads, instances, keys, mnemonic, gasPriceWei, maxFeeWei }) {
  const all = instances === null ? '' : `, --instances ${instances}`;
  if (firstOffset + (instances ?? 1) * threads - 1 > LAST_WALLET)
    yield `-o ${firstOffset}${all} and -t ${threads} go beyond wallet ${LAST_WALLET}, the last index of BIP-32`;
  if (keys !== null && mnemonic !== null)
    yield '--keys and --mnemonic exclude each other (look into the environment, too)';
  if (gasPriceWei !== null && maxFeeWei !== null) yield '--gas-price and --max-fee exclude each other';
}

/** @param {Config} config @param {number} nowMs */
function* instanceProblems({ index, runId, startAtMs, barrier, startTimeoutMs, results, ...config }, nowMs) {
  if (barrier !== null && startAtMs !== null)
    yield '--barrier and --start-at exclude each other: both say when the load of all instances begins';
  if (barrier !== null && index === null)
    yield '--barrier needs the number of instances and the own index: --instances N, and --index I or a scheduler';
  if (barrier !== null && runId === null) yield '--barrier needs a name that all instances share: --run-id NAME';
  if (results !== null && index === null)
    yield '--results names run files by their index: give --instances N, and --index I or a scheduler';
  if (startAtMs !== null && startAtMs - nowMs > startTimeoutMs)
    yield `--start-at is ${Math.round((startAtMs - nowMs) / 1000)} s from now, and --start-timeout waits for ${startTimeoutMs / 1000} s: raise it, or start later`;
  if (index === null) return;
  // An instance does not know the others.
  const { instances, rpc, chainId, fundFrom } = config;
  const what = instances === 1 ? 'this is an instance of a distributed run' : `this is instance ${index} of several`;
  if (rpc.length === 0) yield `${what}, and instances need a chain that they share: --rpc URL`;
  if (chainId === null) yield `${what}, and all must use one chain: --chain-id N, checked before anything is sent`;
  if (fundFrom !== null && instances !== 1)
    yield `${what}, and all would use the same nonces of the funder: leave out --fund-from (STRESS_FUNDER_KEY), and fund all wallets before the run: stress fund --instances N, with the same --duration`;
}

/** @param {Command} command @param {readonly string[]} files */
function* fileProblems(command, files) {
  if (files.length === 0) yield `stress ${command} needs a file: stress ${command} FILE...`;
  if (files.includes('')) yield `stress ${command}: the name of a file is empty`;
}

/** Commands whose common options say what is made of the runs. */
const OF_FILES = Object.freeze(['compare', 'bisect']);

/** Files, or two endpoints to make them with. @param {Config} config */
function* sideProblems({ files, candidates, rpcA, rpcB, study, ...config }) {
  const isLive = rpcA !== null || rpcB !== null;
  for (const [start, rpc, side] of /** @type {const} */ ([
    [config.startA, rpcA, 'a'],
    [config.startB, rpcB, 'b'],
  ]))
    if (start !== null && rpc === null)
      yield `--start-${side} needs the URL at which the node that it starts answers: --rpc-${side} URL`;
  if (isLive && (files.length > 0 || candidates.length > 0))
    yield 'stress compare takes run files, or --rpc-a and --rpc-b: not both';
  if (isLive && (rpcA === null || rpcB === null))
    yield `stress compare needs the other endpoint, too: --rpc-${rpcA === null ? 'a' : 'b'} URL`;
  yield* sequenceProblems(isLive, { study, ...config });
  if (isLive) return;
  if (files.length === 0 || candidates.length === 0)
    yield 'stress compare needs two sides: run files (BASELINE... --with CANDIDATE...) or endpoints (--rpc-a URL --rpc-b URL)';
  yield* fileProblems('compare', [...files, ...candidates]);
  // Options that compare shares with other commands are for new runs, but for --metric, which bisect has too.
  const ofRuns = optionsOf('compare').find(
    ({ name, key, commands }) =>
      study.flags.includes(name) && commands.some((one) => !OF_FILES.includes(one)) && !OF_THE_STUDY.has(key),
  );
  if (ofRuns !== undefined)
    yield `--${ofRuns.name} is for new runs, and the runs of these files have ended: leave it out, or give --rpc-a and --rpc-b`;
}

/** @param {Pick<Config, 'timeLimitMs' | 'durationMs' | 'restMs'>} config */
function* timeLimitProblems({ timeLimitMs, durationMs, restMs }) {
  const pairMs = 2 * (durationMs ?? 0) + restMs;
  if (timeLimitMs !== null && timeLimitMs < pairMs)
    yield `--time-limit ${timeLimitMs / 1000}s is shorter than one pair of runs, which takes at least ${pairMs / 1000}s: raise it, or lower --duration`;
}

/** @param {boolean} isLive @param {Pick<Config, 'untilSure' | 'repeat' | 'timeLimitMs' | 'durationMs' | 'restMs' | 'study'>} config */
function* sequenceProblems(isLive, { untilSure, repeat, timeLimitMs, durationMs, restMs, study }) {
  const [its] = ['equivalent', 'seed', 'time-limit'].filter((name) => study.flags.includes(name));
  if (!untilSure && its !== undefined) yield `--${its} is an option of --until-sure: add it, or leave --${its} out`;
  if (!untilSure) return;
  if (!isLive)
    yield '--until-sure makes new runs, and the runs of these files have ended: leave it out, or give --rpc-a and --rpc-b';
  if (repeat !== null) yield '--repeat and --until-sure exclude each other: one fixes the number of pairs';
  yield* timeLimitProblems({ timeLimitMs, durationMs, restMs });
}

/** @param {Config} config */
function* sweepProblems({ find, until, study: { axes, alike }, thresholds }) {
  if (find === null && until.length > 0) yield '--until is the condition of a search: give --find too';
  if (find === null && axes.length === 0 && alike !== null)
    yield `${alike}: the values are equal, and a sweep needs different ones`;
  if (find === null && axes.length === 0)
    yield 'stress sweep needs an option with several values, such as -t 10,40,100 or --rate 100..250/10; for one run: stress';
  if (find === null) return;
  if (until.length === 0) yield `--find ${find} needs a condition, such as --until 'p99<2s'`;
  if (axes.length > 0) yield `--find ${find} varies one option only: give --${axes[0].name} one value`;
  if (thresholds.length > 0)
    yield `--find ${find} takes its conditions from --until: give --until instead of --threshold`;
}

/** @param {Config} config */
function* bisectProblems({ good, bad, start, rpc, metrics, ...config }) {
  for (const [name, value] of Object.entries({ good, bad, start }))
    if (value === null)
      yield `stress bisect needs --${name}: stress bisect --good COMMIT --bad COMMIT --start COMMAND --rpc URL`;
  if (rpc.length !== 1) yield 'stress bisect needs the one URL at which the node of --start answers: --rpc URL';
  if (metrics.length > 1) yield 'stress bisect follows one figure: give one --metric';
  yield* timeLimitProblems(config);
}

/** Options of pace, before the length of the stages counts as the duration. @param {Config} given */
export function checkPace(given) {
  const [problem] = paceProblems(given);
  if (problem !== undefined) throw new UsageError(problem);
}

/** @param {Config} given */
function* paceProblems({
  ratePerSecond: perSecond,
  gasPerSecond,
  stages,
  arrival,
  warmupMs,
  durationMs,
  iterations,
  thinkTimeMs,
}) {
  const ratePerSecond = perSecond ?? gasPerSecond;
  if (ratePerSecond !== null && stages !== null) yield '--rate and --stages exclude each other';
  if (stages !== null && durationMs !== null)
    yield '--stages and --duration exclude each other: each stage has its own time';
  if (thinkTimeMs > 0 && (ratePerSecond !== null || stages !== null))
    yield '--think-time is for a closed loop, and --rate and --stages make an open loop: leave one of them out';
  if (arrival !== null && ratePerSecond === null && stages === null)
    yield `--arrival ${arrival} needs a rate to arrive at: give --rate or --stages`;
  if (gasPerSecond !== null && iterations !== null)
    yield '--rate in gas and --iterations exclude each other: the warm-up, which measures the gas of an operation, has no iterations';
  if (gasPerSecond !== null && warmupMs !== 'auto')
    yield '--rate in gas and a --warmup with a length exclude each other: the warm-up lasts until the gas of an operation is measured';
  if (warmupMs === 'auto' && (stages !== null || iterations !== null))
    yield `--warmup auto and --${stages === null ? 'iterations' : 'stages'} exclude each other: give a warm-up with a length, such as --warmup 10s`;
  if (stages !== null && warmupMs !== 'auto' && warmupMs > 0 && stages[0].fromPerSecond === 0)
    yield '--warmup uses the first rate of --stages, which is 0: begin with a higher rate, or leave --warmup out';
}

/** @param {Config} config */
function* mergeProblems({ files }) {
  if (files.length === 0)
    yield "stress merge needs run files: their folder, their names, logs that have them, or '-' for standard input";
  if (files.includes('')) yield 'stress merge: the name of a file is empty';
  if (files.filter((file) => file === '-').length > 1)
    yield "stress merge: '-', standard input, is given twice: it can be read once";
}

/** @param {Config} config */
function* templateProblems({ files }) {
  const usage = 'stress new-workload FILE.js';
  if (files.length !== 1) yield `stress new-workload needs the name of one file to write: ${usage}`;
  if (withoutKeys(files[0]) !== files[0])
    yield `the name of the workload file looks like a key: give another name: ${usage}`;
  if (!/\.m?js$/.test(files[0])) yield `a workload is a JavaScript module, whose name ends in .js or .mjs: ${usage}`;
}

/** @param {Command} command @param {Config} config */
function* workloadProblems(command, config) {
  const { workload, set, mix, createReceivers, receivers } = config;
  const chosen = mix.length > 0 ? mix.map(({ name }) => (name === CALLS ? 'rpc' : name)) : [workload];
  for (const { name, key, workload: only } of OPTIONS) {
    const its = [only ?? chosen].flat();
    if (!its.some((one) => chosen.includes(one)) && config[/** @type {keyof Config} */ (key)] !== null)
      yield `--${name} is an option of --workload ${its.join(' and ')}`;
  }
  yield* mixProblems(config);
  for (const name of chosen.filter((one) => WORKLOADS[one] !== undefined)) {
    const own = mix.length > 0 ? setOfMember(name, set) : set;
    const wrong = setProblem(name, own, mix.length > 0 ? `${name}.` : '');
    if (wrong !== null) yield wrong;
    const lacking =
      command === 'fund' && isCallWorkload(name) ? null : WORKLOADS[name].lacks?.({ ...config, set: own });
    if (lacking) yield `${mix.length > 0 ? '--mix with calls' : `--workload ${name}`} ${lacking}`;
  }
  if (createReceivers !== null && receivers === null) yield `--create-receivers ${createReceivers} needs --receivers N`;
  yield* callProblems(config);
  const names = set.map(([name]) => name);
  const twice = names.find((name, i) => names.indexOf(name) < i);
  if (twice !== undefined) yield `--set ${twice}=... is given twice: once is enough`;
}

/** @param {Config} config */
function* mixProblems({ mix, set, threads, iterations, gasPerSecond, connections }) {
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
  const of = (/** @type {string} */ key) => key.slice(0, key.indexOf('.'));
  const [other] = set.find(([key]) => key.includes('.') && !names.includes(of(key))) ?? [];
  if (other !== undefined)
    yield `--set ${other}=... is for the member ${of(other)} of --mix, ${names.length === 0 ? 'which is not given' : `which has ${names.join(', ')}`}`;
  const hasFile = mix.some(({ name }) => isWorkloadFile(name));
  const [plain] = (mix.length > 0 && !hasFile && set.find(([key]) => !key.includes('.'))) || [];
  if (plain !== undefined)
    yield `--set ${plain}=... needs the name of the member before it, such as ${names[0]}.${plain}`;
}

/** Options of plain calls. @param {Config} config */
function* callProblems({ calls, method, params, data, checkRpc }) {
  if (calls !== null && (method !== null || params !== null))
    yield `--calls and --${method === null ? 'params' : 'method'} exclude each other: a calls file has both`;
  if (calls !== null) return;
  if (/\{\{[^{}]*\}\}/.test(JSON.stringify(params ?? [])))
    yield '{{templates}} work in calls files, not in --params: use --calls FILE';
  if (data !== null) yield '--data is for --calls pages, or for a calls file that lists it';
  if (checkRpc !== null) yield '--check-rpc is for --calls whose answers are compared';
}

/** @param {Command} command @param {Config} config */
function* connectionProblems(command, { rpc, spread, threads, connections, workers, ...config }) {
  if (typeof workers === 'number' && workers > threads)
    yield `--workers ${workers} is more than the number of wallets (-t ${threads})`;
  if (typeof workers === 'number' && workers > connections)
    yield `--workers ${workers} needs at least as many --connections (${connections})`;
  if (config.allowChain !== null && config.chainId !== null && config.allowChain !== config.chainId)
    yield '--allow-chain and --chain-id name different chains';
  if (config.nodeSeries !== null && config.nodeMetrics === null)
    yield '--node-series needs the page of the metrics: --node-metrics URL';
  const names = rpc.map(({ href }) => href);
  const twice = rpc.find(({ href }, i) => names.indexOf(href) < i);
  if (twice !== undefined) yield `--rpc ${displayUrl(twice)} is given twice: once is enough`;
  if (rpc.length > 1 && !optionsOf(command).some(({ name }) => name === 'spread'))
    yield `stress ${command} takes one endpoint, and --rpc gives ${rpc.length}`;
  if (rpc.length < 2 && (spread ?? 'sticky') !== 'sticky')
    yield `--spread ${spread} needs several endpoints: give --rpc more than once`;
  if ((config.batch ?? 1) > 1) yield* batchProblems(config);
  if (config.sendRpc !== null) yield* sendProblems({ rpc, ...config, sendRpc: config.sendRpc });
  if (rpc.length > 1 && threads < rpc.length)
    yield `-t ${threads} is less than the number of endpoints (--rpc gives ${rpc.length}): each needs a wallet`;
  if (rpc.length > 1 && connections < rpc.length)
    yield `--connections ${connections} is less than the number of endpoints (--rpc gives ${rpc.length})`;
}

/** @param {Pick<Config, 'batch' | 'inclusion' | 'workload'>} config */
function* batchProblems({ batch, inclusion, workload }) {
  if (isCallWorkload(workload)) yield `--batch ${batch} is for submissions, and --workload ${workload} sends none`;
  if (inclusion === 'sync')
    yield `--batch ${batch} and --inclusion sync exclude each other: a batch would wait for the block of its last transaction`;
}

/** @param {Pick<Config, 'rpc' | 'inclusion' | 'workload'> & {sendRpc: URL}} config */
function* sendProblems({ rpc, sendRpc, inclusion, workload }) {
  const [first] = rpc;
  if (first === undefined) yield '--send-rpc needs the endpoint for everything else: --rpc URL';
  if (rpc.length > 1) yield '--send-rpc takes one --rpc: with several, --spread says where submissions go';
  if (first?.href === sendRpc.href) yield `--send-rpc ${displayUrl(sendRpc)} is the endpoint of --rpc: leave it out`;
  if (isCallWorkload(workload)) yield `--send-rpc is for submissions, and --workload ${workload} sends none`;
  if (inclusion === 'sync')
    yield '--send-rpc and --inclusion sync exclude each other: the endpoint of the submissions would answer with receipts';
}

/** All of them are in memory. */
const MOST_FUNDED = 200_000;

/** @param {Command} command @param {Config} config */
function* fundsProblems(command, { rpc, workload, fundFrom, to, threads, instances }) {
  const wallets = threads * (instances ?? 1);
  if (command === 'fund' || command === 'reclaim') {
    if (rpc.length === 0) yield `stress ${command} needs an endpoint: --rpc URL`;
    if (wallets > MOST_FUNDED)
      yield `stress ${command} takes at most ${MOST_FUNDED} wallets at a time, not ${wallets}: use -t and -o, or fewer --instances, in several commands`;
  }
  if (command === 'fund' && isCallWorkload(workload))
    yield `--workload ${workload} sends no transactions: there is nothing to fund`;
  if (command === 'fund' && fundFrom === null)
    yield 'stress fund needs a funder: --fund-from FILE, or its key in STRESS_FUNDER_KEY';
  if (command === 'reclaim' && to === null && fundFrom === null)
    yield 'stress reclaim needs a receiver: --to ADDRESS or --fund-from';
}

/**
 * Which calls have figures of their own is known before they are made.
 * @param {Config} config
 * @param {readonly string[]} names of the calls
 */
export function checkCallNames({ thresholds, workload }, names) {
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

/**
 * Their names with the index in its place.
 * @param {Config} given
 * @param {number | null} index null: they are what was given
 * @returns {Partial<Config>}
 */
export function instanceFiles(given, index) {
  if (index === null) return {};
  return Object.fromEntries(ownFiles(given).map(({ key, file }) => [key, file.replaceAll(INDEX, String(index))]));
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
  if (config.index === null) return giveBack;
  try {
    for (const { key, file } of ownFiles(config)) {
      if (file === '-' || isDevice(file)) continue;
      const isOwn = String(config.redacted[key]).includes(INDEX);
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

/** The files that a run writes anew. @param {Config} config */
function ownFiles(config) {
  return filesNamed(config).filter(({ use }) => use === 'written');
}

/** What a command has written, in the order of the options: files, and the folder of --results. @param {Config} config */
export function writtenBy(config) {
  return OPTIONS.flatMap(({ key, file, output }) => {
    const name = config[/** @type {keyof Config} */ (key)];
    const isOutput = file === 'written' || (file === 'folder' && output !== undefined);
    return isOutput && typeof name === 'string' && existsSync(name) && !isDevice(name) ? [displayName(name)] : [];
  });
}

/**
 * @param {Config} config
 * @returns {Array<{name: string, key: string, use: Option['file'], file: string}>} the files that options name, '-' for
 *   standard output
 */
export function filesNamed(config) {
  return OPTIONS.flatMap(({ name, key, file: use, choices = [] }) => {
    const value = config[/** @type {keyof Config} */ (key)];
    const isFile = use !== undefined && use !== 'folder' && typeof value === 'string' && !choices.includes(value);
    return isFile ? [{ name, key, use, file: value }] : [];
  });
}

/**
 * No file is read and written by one command, or written twice: a run file must not replace the keys, or its own input.
 * @param {Config} config
 * @param {Array<string | null>} inputs files without an option of their own: behind the command, and the config file
 */
export function checkFilesDiffer(config, inputs) {
  const read = [...inputs, ...config.candidates].flatMap((file) =>
    file === null ? [] : [{ label: displayName(file), isRead: true, file }],
  );
  const named = filesNamed(config).map(({ name, use, file }) => {
    return { label: `--${name}`, isRead: use === 'read' || use === 'secret', file };
  });
  /** @type {Map<string, {label: string, isRead: boolean}>} */
  const known = new Map();
  for (const one of [...read, ...named].filter(({ file }) => file !== '-')) {
    const path = realPath(one.file);
    const first = known.get(path);
    if (first !== undefined && !(first.isRead && one.isRead))
      throw new UsageError(`${first.label} and ${one.label} name the same file`);
    known.set(path, one);
  }
}

/** @param {string} file @returns {string} without symbolic links, as far as the file exists */
function realPath(file) {
  try {
    return realpathSync(file);
  } catch {
    return resolve(file);
  }
}
