import { realpathSync } from 'node:fs';
import { resolve } from 'node:path';
import { displayUrl } from '../chain/rpc.js';
import { UsageError, displayName, oneLine, withoutKeys } from '../errors.js';
import { claimFile, isDevice, isWorkloadFile } from '../files.js';
import { figureOf } from '../stats/metrics.js';
import { WORKLOADS, isCallWorkload } from '../workloads/table.js';
import { OF_THE_STUDY, OPTIONS, optionsOf } from './options.js';

/**
 * @import { Config } from '../types.d.ts'
 * @import { Command, Option } from './options.js'
 */

/** The last index of a wallet (BIP-32). */
const LAST_WALLET = 2 ** 31 - 1;

/** The slices of all instances must exist. @param {Config} config */
export function checkSlices({ firstOffset, threads, instances }) {
  const all = instances === null ? '' : `, --instances ${instances}`;
  if (firstOffset + (instances ?? 1) * threads - 1 > LAST_WALLET)
    throw new UsageError(
      `-o ${firstOffset}${all} and -t ${threads} go beyond wallet ${LAST_WALLET}, the last index of BIP-32`,
    );
}

/** Of a run. @param {Config} config @param {number} nowMs */
export function checkInstance(config, nowMs) {
  const { index, runId, startAtMs, barrier, startTimeoutMs, results } = config;
  if (barrier !== null && startAtMs !== null)
    throw new UsageError('--barrier and --start-at exclude each other: both say when the load of all instances begins');
  if (barrier !== null && index === null)
    throw new UsageError(
      '--barrier needs the number of instances and the own index: --instances N, and --index I or a scheduler',
    );
  if (barrier !== null && runId === null)
    throw new UsageError('--barrier needs a name that all instances share: --run-id NAME');
  if (results !== null && index === null)
    throw new UsageError('--results names run files by their index: give --instances N, and --index I or a scheduler');
  if (startAtMs !== null && startAtMs - nowMs > startTimeoutMs)
    throw new UsageError(
      `--start-at is ${Math.round((startAtMs - nowMs) / 1000)} s from now, and --start-timeout waits for ${startTimeoutMs / 1000} s: raise it, or start later`,
    );
  if (index !== null) checkDistributed(config);
}

/** An instance does not know the others. @param {Config} config */
function checkDistributed({ index, instances, rpc, chainId, fundFrom }) {
  const what = instances === 1 ? 'this is an instance of a distributed run' : `this is instance ${index} of several`;
  if (rpc.length === 0) throw new UsageError(`${what}, and instances need a chain that they share: --rpc URL`);
  if (chainId === null)
    throw new UsageError(`${what}, and all must use one chain: --chain-id N, checked before anything is sent`);
  if (fundFrom !== null && instances !== 1)
    throw new UsageError(
      `${what}, and all would use the same nonces of the funder: leave out --fund-from (STRESS_FUNDER_KEY), and fund all wallets before the run: stress fund --instances N, with the same --duration`,
    );
}

/** Of one page of logs, in characters. */
const LARGEST_PAGE = 200_000_000;

/** @param {Command} command @param {readonly string[]} files */
function checkFiles(command, files) {
  if (files.length === 0) throw new UsageError(`stress ${command} needs a file: stress ${command} FILE...`);
  if (files.includes('')) throw new UsageError(`stress ${command}: the name of a file is empty`);
}

/**
 * Files, or two endpoints to make them with.
 * @param {Config} config
 * @returns {boolean} whether runs are to be made
 */
function checkSides({ files, candidates, rpcA, rpcB, study }) {
  const isLive = rpcA !== null || rpcB !== null;
  if (isLive && (files.length > 0 || candidates.length > 0))
    throw new UsageError('stress compare takes run files, or --rpc-a and --rpc-b: not both');
  if (isLive && (rpcA === null || rpcB === null))
    throw new UsageError(`stress compare needs the other endpoint, too: --rpc-${rpcA === null ? 'a' : 'b'} URL`);
  if (isLive) return true;
  checkFiles('compare', [...files, ...candidates]);
  if (files.length === 0 || candidates.length === 0)
    throw new UsageError('stress compare needs run files of two sides: stress compare BASE... --with CANDIDATE...');
  // Options that compare shares with other commands are for new runs.
  const ofRuns = optionsOf('compare').find(
    ({ name, key, commands }) => study.flags.includes(name) && commands.length > 1 && !OF_THE_STUDY.has(key),
  );
  if (ofRuns !== undefined)
    throw new UsageError(
      `--${ofRuns.name} is for new runs, and the runs of these files have ended: leave it out, or give --rpc-a and --rpc-b`,
    );
  return false;
}

/** @param {Config} config */
function checkSweep({ find, until, study, thresholds }) {
  if (find === null && until.length > 0) throw new UsageError('--until is the condition of a search: give --find too');
  if (find !== null && until.length === 0)
    throw new UsageError(`--find ${find} needs a condition, such as --until 'p99<2s'`);
  if (find !== null && study.axes.length > 0)
    throw new UsageError(`--find ${find} varies one option only: give --${study.axes[0].name} one value`);
  if (find !== null && thresholds.length > 0)
    throw new UsageError(`--find ${find} takes its conditions from --until: give --until instead of --threshold`);
  if (find === null && study.axes.length === 0 && study.alike !== null)
    throw new UsageError(`${study.alike}: the values are equal, and a sweep needs different ones`);
  if (find === null && study.axes.length === 0)
    throw new UsageError(
      'stress sweep needs an option with several values, such as -t 10,40,100 or --rate 100..250/10; for one run: stress',
    );
}

/** Options of pace that exclude or need each other. @param {Config} config as it was given */
export function checkPace({ ratePerSecond, stages, arrival, warmupMs, durationMs, iterations, thinkTimeMs }) {
  if (ratePerSecond !== null && stages !== null) throw new UsageError('--rate and --stages exclude each other');
  if (stages !== null && durationMs !== null)
    throw new UsageError('--stages and --duration exclude each other: each stage has its own time');
  if (thinkTimeMs > 0 && (ratePerSecond !== null || stages !== null))
    throw new UsageError(
      '--think-time is for a closed loop, and --rate and --stages make an open loop: leave one of them out',
    );
  if (arrival !== null && ratePerSecond === null && stages === null)
    throw new UsageError(`--arrival ${arrival} needs a rate to arrive at: give --rate or --stages`);
  if (warmupMs === 'auto' && (stages !== null || iterations !== null))
    throw new UsageError(
      `--warmup auto and --${stages === null ? 'iterations' : 'stages'} exclude each other: give a warm-up with a length, such as --warmup 10s`,
    );
  if (stages !== null && warmupMs !== 'auto' && warmupMs > 0 && stages[0].fromPerSecond === 0)
    throw new UsageError(
      '--warmup uses the first rate of --stages, which is 0: begin with a higher rate, or leave --warmup out',
    );
}

/** @param {Config} config */
function checkMerge({ files }) {
  if (files.length === 0)
    throw new UsageError(
      "stress merge needs run files: their folder, their names, logs that have them, or '-' for standard input",
    );
  if (files.includes('')) throw new UsageError('stress merge: the name of a file is empty');
  if (files.filter((file) => file === '-').length > 1)
    throw new UsageError("stress merge: '-', standard input, is given twice: it can be read once");
}

/** @param {Config} config */
function checkNewWorkload({ files }) {
  const usage = 'stress new-workload FILE.js';
  if (files.length !== 1) throw new UsageError(`stress new-workload needs the name of one file to write: ${usage}`);
  if (withoutKeys(files[0]) !== files[0])
    throw new UsageError(`the name of the workload file looks like a key: give another name: ${usage}`);
  if (!/\.m?js$/.test(files[0]))
    throw new UsageError(`a workload is a JavaScript module, whose name ends in .js or .mjs: ${usage}`);
}

/** @param {Config} config */
function checkPrepare({ files, rpc, out, logCount, logBytes, pageSize }) {
  const usage = 'stress prepare logs --rpc URL --count N --out FILE';
  if (files.length !== 1 || files[0] !== 'logs') throw new UsageError(`stress prepare prepares logs only: ${usage}`);
  if (logCount === null) throw new UsageError(`stress prepare logs needs --count: ${usage}`);
  if (rpc.length === 0)
    throw new UsageError(
      `stress prepare logs needs an endpoint, because the embedded chain ends with the command: ${usage}`,
    );
  if (out === null || out === '-')
    throw new UsageError(`stress prepare logs needs a file for the positions of the logs: ${usage}`);
  // Each byte is two digits of an answer.
  const answer = 2 * Math.min(logCount, pageSize) * logBytes;
  if (answer > LARGEST_PAGE)
    throw new UsageError(
      `--page-size ${pageSize} with --bytes ${logBytes} makes responses of ${Math.round(answer / 1e6)} MB, and the limit is ${LARGEST_PAGE / 1e6} MB: make one of them smaller`,
    );
}

/** @param {Command} command @param {Config} config */
function checkEndpoints(command, { rpc, spread, threads, connections }) {
  const names = rpc.map(({ href }) => href);
  const twice = rpc.find(({ href }, i) => names.indexOf(href) < i);
  if (twice !== undefined) throw new UsageError(`--rpc ${displayUrl(twice)} is given twice: once is enough`);
  if (rpc.length > 1 && !optionsOf(command).some(({ name }) => name === 'spread'))
    throw new UsageError(`stress ${command} takes one endpoint, and --rpc gives ${rpc.length}`);
  if (rpc.length < 2 && (spread ?? 'sticky') !== 'sticky')
    throw new UsageError(`--spread ${spread} needs several endpoints: give --rpc more than once`);
  if (rpc.length > 1 && threads < rpc.length)
    throw new UsageError(
      `-t ${threads} is less than the number of endpoints (--rpc gives ${rpc.length}): each needs a wallet`,
    );
  if (rpc.length > 1 && connections < rpc.length)
    throw new UsageError(
      `--connections ${connections} is less than the number of endpoints (--rpc gives ${rpc.length})`,
    );
}

/** Options of plain calls that exclude or need each other. @param {Config} config */
function checkCalls({ calls, method, params, data, checkRpc }) {
  if (calls !== null && (method !== null || params !== null))
    throw new UsageError(
      `--calls and --${method === null ? 'params' : 'method'} exclude each other: a calls file has both`,
    );
  if (calls !== null) return;
  if (/\{\{[^{}]*\}\}/.test(JSON.stringify(params ?? [])))
    throw new UsageError('{{templates}} work in calls files, not in --params: use --calls FILE');
  if (data !== null) throw new UsageError('--data is for --calls pages, or for a calls file that lists it');
  if (checkRpc !== null) throw new UsageError('--check-rpc is for --calls whose answers are compared');
}

/**
 * Which calls have figures of their own is known before they are made.
 * @param {Pick<Config, 'thresholds' | 'workload'>} config
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

/** --set is for a workload of the user. @param {Config} config */
function checkOwn({ workload, set }) {
  const isOwn = isWorkloadFile(workload ?? '');
  if (!isOwn && set.length > 0)
    throw new UsageError(`--set ${set[0][0]}=... is a setting of a workload of your own: --workload ./FILE.js`);
  const names = set.map(([name]) => name);
  const twice = names.find((name, i) => names.indexOf(name) < i);
  if (twice !== undefined) throw new UsageError(`--set ${twice}=... is given twice: once is enough`);
}

/** Visibility is measured between two endpoints. @param {Config} config */
function checkVisibility({ thresholds, until, spread, workload, study }) {
  const figure = [...thresholds, ...until].find((threshold) => threshold.figure.startsWith('visibility.'));
  if (figure === undefined) return;
  const what = `${figure.expression} is the wait for a block at the read-back endpoint`;
  if (isCallWorkload(workload)) throw new UsageError(`${what}, and --workload ${workload} reads nothing back`);
  if ((spread ?? 'sticky') !== 'apart' && !study.axes.some(({ name }) => name === 'spread'))
    throw new UsageError(`${what}: it needs --rpc twice and --spread apart`);
}

/** @param {Command} command @param {Config} config @param {NodeJS.ProcessEnv} env @param {number} nowMs since 1970 */
export function checkTogether(command, config, env, nowMs) {
  if (command === 'new-workload') return checkNewWorkload(config);
  if (command === 'report' || command === 'trend') return checkFiles(command, config.files);
  if (command === 'merge') return checkMerge(config);
  if (command === 'compare' && !checkSides(config)) return;
  if (command === 'sweep') checkSweep(config);
  if (command === 'prepare') checkPrepare(config);
  // One wallet is enough for that.
  else if (config.threads === null)
    throw new UsageError('-t (--threads) is missing: how many wallets? For instance: stress -t 200 -o 0');
  checkSlices(config);
  if (config.keys !== null && config.mnemonic !== null)
    throw new UsageError('--keys and --mnemonic exclude each other (look into the environment, too)');
  for (const { name, key, workload } of OPTIONS) {
    const its = [workload ?? config.workload].flat();
    if (!its.includes(config.workload) && config[/** @type {keyof Config} */ (key)] !== null)
      throw new UsageError(`--${name} is an option of --workload ${its.join(' and ')}`);
  }
  const lacking = command === 'prepare' ? null : WORKLOADS[config.workload]?.lacks?.(config);
  if (lacking && !(command === 'fund' && isCallWorkload(config.workload)))
    throw new UsageError(`--workload ${config.workload} ${lacking}`);
  if (config.createReceivers !== null && config.receivers === null)
    throw new UsageError(`--create-receivers ${config.createReceivers} needs --receivers N`);
  checkCalls(config);
  checkOwn(config);
  if (typeof config.workers === 'number' && config.workers > config.threads)
    throw new UsageError(`--workers ${config.workers} is more than the number of wallets (-t ${config.threads})`);
  if (typeof config.workers === 'number' && config.workers > config.connections)
    throw new UsageError(`--workers ${config.workers} needs at least as many --connections (${config.connections})`);
  if (config.gasPriceWei !== null && config.maxFeeWei !== null)
    throw new UsageError('--gas-price and --max-fee exclude each other');
  if (config.allowChain !== null && config.chainId !== null && config.allowChain !== config.chainId)
    throw new UsageError('--allow-chain and --chain-id name different chains');
  if (config.nodeSeries !== null && config.nodeMetrics === null)
    throw new UsageError('--node-series needs the page of the metrics: --node-metrics URL');
  checkEndpoints(command, config);
  if (command === 'run') checkInstance(config, nowMs);
  checkVisibility(config);
  if ((command === 'fund' || command === 'reclaim') && config.rpc.length === 0)
    throw new UsageError(`stress ${command} needs an endpoint: --rpc URL`);
  if (command === 'fund' && isCallWorkload(config.workload))
    throw new UsageError(`--workload ${config.workload} sends no transactions: there is nothing to fund`);
  if (command === 'fund' && config.fundFrom === null)
    throw new UsageError('stress fund needs a funder: --fund-from FILE, or its key in STRESS_FUNDER_KEY');
  if (command === 'reclaim' && config.to === null && config.fundFrom === null)
    throw new UsageError('stress reclaim needs a receiver: --to ADDRESS or --fund-from');
  const isEndless = config.durationMs === null && config.iterations === null;
  if ((command === 'sweep' || command === 'compare') && isEndless)
    throw new UsageError(`stress ${command} needs the length of a run: --duration, such as -d 30s`);
  if (command === 'run' && isEndless && /^(true|1)$/i.test(env.CI ?? '')) {
    throw new UsageError('CI is set and there is no --duration: the job would not end; give one, for instance -d 30s');
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
