import { DEFAULT_HD_PATH } from '../chain/keys.js';
import { SPREADS } from '../core/endpoints.js';
import { arrivals } from '../core/pacer.js';
import { detectors } from '../inclusion/index.js';
import { parseThreshold } from '../stats/thresholds.js';
import { comparedMetric, parseFailIf } from '../studies/compare-text.js';
import { presets } from '../studies/plan.js';
import { transports } from '../transport/index.js';
import { CALL_PRESETS } from '../workloads/calls-file.js';
import { workloads } from '../workloads/index.js';
import { payloadSize } from '../workloads/payload.js';
import {
  address,
  amount,
  anyText,
  duration,
  durationOrAuto,
  endpoint,
  fileName,
  flag,
  hdPath,
  instant,
  jsonArray,
  listenAddress,
  methodName,
  metricNames,
  nameOrFile,
  oneOf,
  pageUrl,
  pathName,
  rate,
  rowFile,
  runName,
  setting,
  stages,
  wholeNumber,
  workerCount,
} from './parse.js';

/**
 * The commands, and the sets of them that options are for.
 *
 * @typedef {'run' | 'node' | 'fund' | 'reclaim' | 'prepare' | 'new-workload' | 'report' | 'sweep' | 'compare' | 'trend' | 'merge'} Command
 */

export const ALL = commandList('run', 'node', 'fund', 'reclaim', 'prepare', 'sweep', 'compare');
export const ANY = commandList(...ALL, 'new-workload', 'report', 'trend', 'merge');
export const REMOTE = commandList('run', 'fund', 'reclaim', 'prepare', 'sweep', 'compare');
export const ONE_ENDPOINT = commandList('run', 'fund', 'reclaim', 'prepare', 'sweep');
export const FUNDED = commandList('run', 'fund', 'prepare', 'sweep', 'compare');
/** What every run of a study has as well. */
export const LOAD = commandList('run', 'sweep', 'compare');
/** What is asked for also decides how much wallets need. */
export const NEEDED = commandList('run', 'fund', 'sweep', 'compare');
export const SWEPT = commandList('run', 'sweep');
export const JUDGED = commandList('run', 'sweep', 'merge');
export const RUN = commandList('run');
export const SUMMARY = commandList('run', 'report', 'merge');
export const PAGE = commandList('run', 'report', 'sweep', 'compare', 'merge');
export const RESULT = commandList('run', 'prepare', 'compare', 'trend', 'merge');
export const STUDY = commandList('sweep', 'compare');
export const SWEEP = commandList('sweep');
export const COMPARE = commandList('compare');
export const TREND = commandList('trend');
export const MERGE = commandList('merge');
/** The wallets of all instances. */
export const FUNDED_SLICES = commandList('run', 'fund', 'reclaim');
export const SHARED_NAME = commandList('run', 'merge');
export const NODE = commandList('node');
export const RECLAIM = commandList('reclaim');
export const PREPARE = commandList('prepare');

/** @param {...Command} names */
function commandList(...names) {
  return Object.freeze(names);
}

/** @type {Record<Command, string>} */
export const COMMANDS = {
  run: 'load an endpoint, or an embedded development chain when no --rpc is given',
  node: 'run the embedded development chain alone, so that several instances can share it',
  fund: 'top up the wallets of a slice, or of all --instances, from one funder (--fund-from)',
  reclaim:
    'send what is left in the wallets of a slice, or of all --instances, back to the funder (--fund-from) or to --to',
  prepare: 'put logs on a chain that --workload rpc can list page by page, and say in a file where they are',
  'new-workload': 'write a workload of your own to begin with, commented and ready to run',
  report:
    'print the summary of run files (--out), also of one that a run which was killed has left, or make a page of them (--html)',
  sweep:
    'run every combination of options that are given as lists or ranges, or search for the highest load that holds',
  compare: 'say whether one node, build or setting is faster than another, from run files or from runs made for it',
  trend: 'fit how each figure grows with an option that was swept',
  merge: 'add up the run files of all instances of one run, exactly: from a folder, files, or logs (-)',
};

/** What instances on many machines are told, and their merge. See src/cli/options.js. */

/** The most instances of one run. */
const MOST_INSTANCES = 100_000;

// prettier-ignore
/** @type {readonly Option[]} */
export const INSTANCE_OPTIONS = Object.freeze([
  { name: 'index', key: 'index', argument: 'I|auto', parse: instanceIndex, commands: RUN,
    defaultText: 'auto where --instances is given',
    describe: 'which instance of a run this is, counted from 0: its wallets begin at -o + I x -t, and {index} in the names of --out, --samples, --blocks, --hlog, --html and --junit is I; auto: as Kubernetes or Slurm numbers it' },
  { name: 'instances', key: 'instances', argument: 'N', parse: wholeNumber(1, MOST_INSTANCES), commands: FUNDED_SLICES,
    defaultText: 'one, or as many as Slurm has started',
    describe: 'how many instances a run has, each with -t wallets of its own' },
  { name: 'attempt', key: 'attempt', argument: 'N', parse: wholeNumber(0, 1_000_000), commands: RUN,
    defaultText: '0; under --index auto what Slurm says',
    describe: 'how often this index was started before' },
  { name: 'run-id', key: 'runId', argument: 'NAME', parse: runName, commands: SHARED_NAME,
    describe: 'the name that all instances of one run have in common, on Slurm slurm-JOB unless it is given; a merge takes no others' },
  { name: 'start-at', key: 'startAtMs', argument: 'TIME', parse: instant, commands: RUN,
    describe: 'when the load of all instances begins: 2030-01-31T12:00:00Z, or Unix seconds' },
  { name: 'barrier', key: 'barrier', argument: 'FOLDER', parse: fileName, commands: RUN,
    describe: 'a folder that all instances share, where they wait for each other before the load' },
  { name: 'start-timeout', key: 'startTimeoutMs', argument: 'TIME', parse: duration(100), fallback: '10m', commands: RUN,
    describe: 'longest wait for the common start; exit code 75 if it is not reached' },
  { name: 'results', key: 'results', argument: 'FOLDER', parse: fileName, commands: RUN,
    describe: 'write the run file there, under the name of the run, the index and the attempt' },
  { name: 'expect', key: 'expect', argument: 'N', parse: wholeNumber(1, MOST_INSTANCES), commands: MERGE,
    defaultText: 'what the run files say',
    describe: 'how many instances there must be; exit code 75 if some are missing' },
  { name: 'partial', key: 'allowPartial', argument: '', isFlag: true, parse: flag, fallback: 'false', commands: MERGE,
    describe: 'merge what is there, although instances are missing or did not come to their end' },
]);

/** @param {string} text @returns {number | 'auto'} */
function instanceIndex(text) {
  return text === 'auto' ? text : wholeNumber(0, MOST_INSTANCES - 1)(text);
}

/** What studies are asked. See src/cli/options.js. */

// prettier-ignore
/** @type {readonly Option[]} */
export const STUDY_OPTIONS = Object.freeze([
  { name: 'repeat', key: 'repeat', argument: 'N', parse: wholeNumber(1, 1000), commands: STUDY,
    defaultText: '1 in a sweep, 8 in a comparison',
    describe: 'how often each setting runs, or each endpoint of a comparison' },
  { name: 'rest', key: 'restMs', argument: 'TIME', parse: duration(0), fallback: '1s', commands: STUDY,
    describe: 'time between two runs' },
  { name: 'before-cell', key: 'beforeCell', argument: 'COMMAND', parse: anyText, commands: SWEEP,
    describe: 'a program to start before each run of a sweep, with its arguments; no shell reads them' },
  { name: 'dir', key: 'dir', argument: 'FOLDER', parse: fileName, commands: STUDY,
    defaultText: 'the name of the command',
    describe: 'where the run files and the results are kept; a sweep that was interrupted goes on there' },
  { name: 'preset', key: 'preset', argument: 'NAME', parse: oneOf(Object.keys(presets)), commands: SWEEP,
    describe: `a sweep with a name, whose options can still be given: ${Object.keys(presets).join(', ')}; flare rests 61s, as long as sockets wait` },
  { name: 'find', key: 'find', argument: 'OPTION', parse: oneOf(['rate', 'threads', 'in-flight', 'connections']), commands: SWEEP,
    describe: 'search for the highest value of this option for which --until holds, within its range if one is given' },
  { name: 'until', key: 'until', isList: true, argument: 'EXPR', parse: parseThreshold, commands: SWEEP,
    describe: "what has to hold, as for --threshold, such as 'p99<2s'; may be repeated" },
  { name: 'with', key: 'candidates', isRest: true, argument: 'FILE...', parse: pathName, commands: COMPARE,
    describe: 'the run files of the other side' },
  { name: 'rpc-a', key: 'rpcA', argument: 'URL', parse: endpoint, commands: COMPARE,
    describe: 'endpoint to compare with: runs are made on both in turn, A B B A' },
  { name: 'rpc-b', key: 'rpcB', argument: 'URL', parse: endpoint, commands: COMPARE,
    describe: 'endpoint to be compared with it' },
  { name: 'metric', key: 'metric', argument: 'NAME', parse: comparedMetric, fallback: 'tps', commands: COMPARE,
    describe: 'the figure that decides' },
  { name: 'fail-if', key: 'failIf', isList: true, argument: 'EXPR', parse: parseFailIf, commands: COMPARE,
    describe: "a change that must not be shown, such as 'tps<-10%'; exit code 99 if it is, or if there are too few runs to tell; may be repeated" },
  { name: 'allow-different', key: 'allowDifferent', argument: '', isFlag: true, parse: flag, fallback: 'false', commands: COMPARE,
    describe: 'compare runs although they asked for different things' },
  { name: 'over', key: 'over', argument: 'OPTION', parse: anyText, commands: TREND,
    defaultText: 'the only one that was swept',
    describe: 'the option that the figures are fitted against' },
]);

/** What one operation is, and what is prepared for it. See src/cli/options.js. */

// prettier-ignore
/** @type {readonly Option[]} */
export const WORKLOAD_OPTIONS = Object.freeze([
  { name: 'workload', key: 'workload', argument: 'NAME|FILE', parse: nameOrFile(Object.keys(workloads)), fallback: 'counter', commands: NEEDED,
    describe: `what one operation is: ${Object.keys(workloads).join(', ')}, or a file of your own, see stress new-workload` },
  { name: 'set', key: 'set', isList: true, argument: 'NAME=VALUE', parse: setting, commands: NEEDED,
    describe: 'a setting of a workload of your own, such as slots=20; may be repeated' },
  { name: 'method', key: 'method', workload: 'rpc', argument: 'NAME', parse: methodName, commands: LOAD,
    describe: 'JSON-RPC method that --workload rpc calls' },
  { name: 'params', key: 'params', workload: 'rpc', argument: 'JSON', parse: jsonArray, commands: LOAD,
    defaultText: '[]',
    describe: 'its parameters, a JSON array' },
  { name: 'calls', key: 'calls', workload: 'rpc', argument: 'FILE', parse: pathName, commands: LOAD,
    describe: `several calls in place of one: a file of them, or ${Object.keys(CALL_PRESETS).join(', ')}; see docs/calls.md` },
  { name: 'data', key: 'data', workload: 'rpc', argument: 'FILE', parse: pathName, commands: LOAD,
    describe: 'the logs that --calls pages lists: a file of stress prepare logs' },
  { name: 'check-rpc', key: 'checkRpc', workload: 'rpc', argument: 'URL', parse: endpoint, commands: LOAD,
    describe: 'a second endpoint of the same chain, which must answer as the first one where a call says so' },
  { name: 'users', key: 'users', workload: 'rpc', argument: 'N', parse: wholeNumber(1, 100_000), commands: LOAD,
    describe: 'another word for -t where nothing is signed' },
  { name: 'fixed-id', key: 'fixedId', workload: 'rpc', argument: 'N', parse: wholeNumber(0, Number.MAX_SAFE_INTEGER), commands: LOAD,
    defaultText: 'a new id for each request',
    describe: 'the id of every request of --workload rpc, for servers that answer a constant; it is still checked' },
  { name: 'receivers', key: 'receivers', workload: 'transfer', isAxis: true, argument: 'N', parse: wholeNumber(1, 10_000_000), commands: NEEDED,
    defaultText: 'the wallets pay each other',
    describe: 'how many addresses --workload transfer pays, made for the run' },
  { name: 'create-receivers', key: 'createReceivers', workload: 'transfer', argument: 'WHEN', parse: oneOf(['before', 'during']), commands: NEEDED,
    defaultText: 'during',
    describe: 'when they come to be on the chain: before the load, by a wei for each, or during it, by their first payment' },
  { name: 'payload', key: 'payload', workload: ['counter', 'transfer'], isAxis: true, argument: 'BYTES', parse: payloadSize, commands: NEEDED,
    defaultText: 'no more than it takes',
    describe: 'calldata of each transaction: so many bytes, other ones in each' },
  { name: 'contracts', key: 'contracts', workload: 'counter', argument: 'FILE', parse: pathName, commands: SWEPT,
    describe: 'keep the addresses of the contracts there, and use them again if they are still on the chain' },
  { name: 'count', key: 'logCount', argument: 'N', parse: wholeNumber(1, 10_000_000), commands: PREPARE,
    describe: 'how many logs to prepare' },
  { name: 'bytes', key: 'logBytes', argument: 'N', parse: wholeNumber(1, 262_144), fallback: '10240', commands: PREPARE,
    describe: 'bytes of data in each log' },
  { name: 'page-size', key: 'pageSize', argument: 'N', parse: wholeNumber(1, 100_000), fallback: '100', commands: PREPARE,
    describe: 'logs of a page' },
]);

/**
 * Every option, once: its name, where it may be given, what it means, how its text becomes a value.
 *
 * @typedef {object} Option
 * @property {string} name on the command line; STRESS_NAME in the environment
 * @property {string} key in Config
 * @property {string} [alias]
 * @property {string} [env] where the environment knows it by another name
 * @property {boolean} [isFlag]
 * @property {boolean} [isList] it may be given several times, and a comma separates values; parse is given one of them
 * @property {boolean} [isAxis] stress sweep takes several values of it, too
 * @property {boolean} [isRest] it takes all names of files behind it
 * @property {string | readonly string[]} [workload] the only one that it is for, or the only ones
 * @property {boolean} [isSecret] never shown, and warned about on the command line, where `ps` shows it
 * @property {(text: string) => unknown} parse
 * @property {string} [fallback] the default, as text
 * @property {string} [defaultText] the default in words, where it is none or has to be explained
 * @property {string} argument what --help calls the value
 * @property {string} describe
 * @property {readonly Command[]} commands
 */

// One option, one paragraph: a table is easier to read than what the formatter would make of it.
// prettier-ignore
/** @type {readonly Option[]} */
export const OPTIONS = Object.freeze([
  { name: 'threads', alias: 't', key: 'threads', isAxis: true, argument: 'N', parse: wholeNumber(1, 100_000), commands: ALL,
    describe: 'how many wallets, each with one contract and one increment in flight' },
  { name: 'offset', alias: 'o', key: 'offset', argument: 'N', parse: wholeNumber(0, 2 ** 31 - 1), fallback: '0', commands: ALL,
    describe: 'index of the first wallet; give instances disjoint slices' },
  { name: 'rpc', key: 'rpc', isList: true, argument: 'URL', parse: endpoint, commands: ONE_ENDPOINT,
    defaultText: 'an embedded chain',
    describe: 'JSON-RPC endpoint; with ws:// or wss:// new heads are subscribed to, with http:// or https:// polled; may be repeated for several nodes of one chain' },
  { name: 'spread', key: 'spread', isAxis: true, argument: 'HOW', parse: oneOf(SPREADS), fallback: 'sticky', commands: SWEPT,
    describe: 'how the load is spread over several --rpc: each wallet keeps one, they take turns, or effects are read back from the next one' },
  { name: 'chain-id', key: 'chainId', argument: 'ID', parse: wholeNumber(1, Number.MAX_SAFE_INTEGER), commands: REMOTE,
    describe: 'refuse any other chain; required unless the chain is local or a known development chain' },
  { name: 'allow-chain', key: 'allowChain', argument: 'ID', parse: wholeNumber(1, Number.MAX_SAFE_INTEGER), commands: REMOTE,
    describe: 'allow this public mainnet' },
  { name: 'duration', alias: 'd', key: 'durationMs', argument: 'TIME', parse: duration(100), commands: NEEDED,
    defaultText: 'until interrupted',
    describe: 'how long to load, such as 30s, 5m, 1h' },
  { name: 'warmup', key: 'warmupMs', argument: 'TIME|auto', parse: durationOrAuto, fallback: '0s', commands: NEEDED,
    describe: "warm-up before measuring starts; not counted in --duration; 'auto', the default of a sweep and a comparison, ends it when the pipeline is full" },
  { name: 'iterations', key: 'iterations', isAxis: true, argument: 'N', parse: wholeNumber(1, 1_000_000_000), commands: LOAD,
    defaultText: 'as many as there is time for',
    describe: 'how often each wallet, or user, does what it does; the run ends when all have, or with --duration' },
  { name: 'think-time', key: 'thinkTimeMs', isAxis: true, argument: 'TIME', parse: duration(0), fallback: '0s', commands: LOAD,
    describe: 'pause of each wallet, or user, after each iteration; not with a rate' },
  { name: 'rate', key: 'ratePerSecond', isAxis: true, argument: 'N', parse: rate, commands: LOAD,
    defaultText: 'as fast as the wallets allow',
    describe: 'operations per second of this instance, due at fixed instants; those that find no idle wallet are dropped' },
  { name: 'stages', key: 'stages', argument: 'LIST', parse: stages, commands: LOAD,
    describe: 'rates that change: FROM:TO/TIME or RATE/TIME, one after the other, such as 0:100/30s,100/5m' },
  { name: 'arrival', key: 'arrival', argument: 'NAME', parse: oneOf(Object.keys(arrivals)), commands: LOAD,
    defaultText: 'uniform',
    describe: 'how operations of a rate arrive: evenly, or independent of each other' },
  { name: 'in-flight', key: 'inFlight', isAxis: true, argument: 'N', parse: wholeNumber(1, 1000), fallback: '1', commands: NEEDED,
    describe: 'most operations of one wallet at once, with nonces in a row' },
  { name: 'interval', key: 'intervalMs', argument: 'TIME', parse: duration(100), fallback: '5s', commands: LOAD,
    describe: 'time between reports' },
  { name: 'drain-timeout', key: 'drainTimeoutMs', argument: 'TIME', parse: duration(0), fallback: '30s', commands: LOAD,
    describe: 'longest wait for what is in flight at the end, and for pending transactions in the audit' },
  { name: 'tx-timeout', key: 'txTimeoutMs', argument: 'TIME', parse: duration(100), fallback: '60s', commands: REMOTE,
    describe: 'longest wait for one transaction' },
  { name: 'keys', key: 'keys', argument: 'FILE', parse: pathName, commands: REMOTE,
    describe: 'private keys: a JSON array of strings or of objects with privateKey, or one key a line' },
  { name: 'mnemonic', key: 'mnemonic', argument: 'WORDS', parse: anyText, isSecret: true, commands: REMOTE,
    defaultText: 'the well-known test mnemonic, on local development chains only',
    describe: 'BIP-39 mnemonic; better given in STRESS_MNEMONIC' },
  { name: 'hd-path', key: 'hdPath', argument: 'PATH', parse: hdPath, fallback: DEFAULT_HD_PATH, commands: REMOTE,
    describe: "derivation path; the wallet's index is appended" },
  { name: 'fund-from', key: 'fundFrom', env: 'STRESS_FUNDER_KEY', argument: 'FILE', parse: anyText, isSecret: true, commands: REMOTE,
    describe: 'file with the key that pays what wallets lack; or the key itself, better given in STRESS_FUNDER_KEY' },
  { name: 'fund-amount', key: 'fundAmountWei', argument: 'AMOUNT', parse: amount('ether'), commands: FUNDED,
    defaultText: 'an estimate from the duration and the fees, and twice that for stress fund',
    describe: 'what each wallet must have before the run, in ether' },
  { name: 'max-spend', key: 'maxSpendWei', argument: 'AMOUNT', parse: amount('ether'), commands: FUNDED,
    defaultText: 'no cap',
    describe: 'most that may be spent on fees, set-up included, in ether: estimated before, enforced during; value that transactions send away is not in it' },
  { name: 'to', key: 'to', argument: 'ADDRESS', parse: address, commands: RECLAIM,
    defaultText: "the funder's address",
    describe: 'where reclaimed funds go' },
  ...WORKLOAD_OPTIONS,
  { name: 'inclusion', key: 'inclusion', isAxis: true, argument: 'NAME', parse: oneOf(['auto', ...Object.keys(detectors)]), fallback: 'auto', commands: LOAD,
    describe: 'how a transaction is found in a block' },
  { name: 'confirmations', key: 'confirmations', isAxis: true, argument: 'N', parse: wholeNumber(0, 64), fallback: '0', commands: LOAD,
    describe: 'blocks on top of its own before an operation counts as included; with 0 its own is enough' },
  { name: 'transport', key: 'transport', isAxis: true, argument: 'NAME', parse: oneOf(['auto', ...Object.keys(transports)]), fallback: 'auto', commands: LOAD,
    describe: 'how requests travel; auto: ws for a WebSocket endpoint, undici otherwise' },
  { name: 'connections', key: 'connections', isAxis: true, argument: 'N', parse: wholeNumber(1, 10_000), fallback: '64', commands: REMOTE,
    describe: 'most keep-alive connections to the endpoint' },
  { name: 'no-keep-alive', key: 'noKeepAlive', isAxis: true, argument: '', isFlag: true, parse: flag, fallback: 'false', commands: LOAD,
    describe: 'a connection for each request, closed by us after the answer' },
  { name: 'insecure', key: 'insecure', argument: '', isFlag: true, parse: flag, fallback: 'false', commands: REMOTE,
    describe: 'accept any certificate of an https endpoint' },
  { name: 'workers', key: 'workers', isAxis: true, argument: 'N', parse: workerCount, fallback: '1', commands: LOAD,
    describe: "threads that share the slice; 'auto' for one for every two cores" },
  { name: 'request-timeout', key: 'requestTimeoutMs', argument: 'TIME', parse: duration(100), fallback: '10s', commands: REMOTE,
    describe: 'longest wait for one answer of the endpoint' },
  { name: 'legacy', key: 'legacy', argument: '', isFlag: true, parse: flag, fallback: 'false', commands: REMOTE,
    describe: 'legacy transactions even where blocks have a base fee' },
  { name: 'gas-price', key: 'gasPriceWei', argument: 'PRICE', parse: amount('gwei'), commands: REMOTE,
    describe: 'fixed gas price in gwei; implies --legacy' },
  { name: 'max-fee', key: 'maxFeeWei', argument: 'PRICE', parse: amount('gwei'), commands: REMOTE,
    describe: 'never offer more than this for a gas, in gwei' },
  { name: 'out', key: 'out', argument: 'FILE', parse: pathName, commands: RESULT,
    describe: "write the run file (JSON) there, what a comparison or a trend found, or where the prepared logs are; '-' for standard output" },
  { name: 'prometheus', key: 'prometheus', argument: '[HOST:]PORT', parse: listenAddress, commands: RUN,
    describe: 'serve the figures to Prometheus there, at /metrics; on 127.0.0.1 unless a host is given' },
  { name: 'samples', key: 'samples', argument: 'FILE', parse: rowFile, commands: RUN,
    describe: 'a row for each operation: FILE.csv or FILE.ndjson, compressed with .gz behind it' },
  { name: 'blocks', key: 'blocks', argument: 'FILE', parse: rowFile, commands: RUN,
    describe: 'a row for each block, in the same formats' },
  { name: 'hlog', key: 'hlog', argument: 'FILE', parse: pathName, commands: RUN,
    describe: "the latencies of each interval in HdrHistogram's log format" },
  { name: 'threshold', key: 'thresholds', isList: true, argument: 'EXPR', parse: parseThreshold, commands: JUDGED,
    describe: "a figure of the summary and its limit, such as 'p99<2s'; exit code 99 if it does not hold; may be repeated" },
  { name: 'junit', key: 'junit', argument: 'FILE', parse: fileName, commands: RUN,
    describe: 'write thresholds and audit there as test cases (JUnit XML), for CI servers' },
  { name: 'verbose', alias: 'v', key: 'verbose', argument: '', isFlag: true, parse: flag, fallback: 'false', commands: RUN,
    describe: 'a line for each verified increment: wallet index, contract address, count' },
  { name: 'explain', key: 'explain', argument: '', isFlag: true, parse: flag, fallback: 'false', commands: SUMMARY,
    describe: 'the definition of each figure after the summary' },
  { name: 'node-pid', key: 'nodePid', argument: 'PID', parse: wholeNumber(1, 4_194_304), commands: LOAD,
    describe: 'watch this process of the machine, a local node: CPU, memory, threads, descriptors' },
  { name: 'node-metrics', key: 'nodeMetrics', argument: 'URL', parse: pageUrl, commands: LOAD,
    describe: "read the node's Prometheus page in each interval" },
  { name: 'node-series', key: 'nodeSeries', argument: 'NAMES', parse: metricNames, commands: LOAD,
    defaultText: 'what is known of geth and AvalancheGo',
    describe: 'the metrics of that page to keep, by name, separated by commas' },
  { name: 'port', key: 'port', env: 'STRESS_NODE_PORT', argument: 'N', parse: wholeNumber(1, 65_535), commands: NODE,
    defaultText: '8545, or any free one if it is taken',
    describe: 'port of the chain, on loopback' },
  { name: 'html', key: 'html', argument: 'FILE', parse: fileName, commands: PAGE,
    describe: 'write a page with plots there, one file that opens anywhere' },
  { name: 'dashboard', key: 'dashboard', argument: '[HOST:]PORT', parse: listenAddress, commands: RUN,
    describe: 'show the same page there while the run goes on; on 127.0.0.1 unless a host is given' },
  ...INSTANCE_OPTIONS,
  ...STUDY_OPTIONS,
  { name: 'quiet', alias: 'q', key: 'quiet', argument: '', isFlag: true, parse: flag, fallback: 'false', commands: ANY,
    describe: 'print nothing but errors' },
  { name: 'log-level', key: 'logLevel', argument: 'LEVEL', parse: oneOf(['debug', 'info', 'warn', 'error', 'silent']), fallback: 'warn', commands: ANY,
    describe: 'what is logged on standard error' },
  { name: 'log-file', key: 'logFile', argument: 'FILE', parse: pathName, commands: ANY,
    describe: 'log there as well, as JSON' },
]);

/** @param {Command} command */
export function optionsOf(command) {
  return OPTIONS.filter(({ commands }) => commands.includes(command));
}

/** The name of an option in the environment. @param {Option} option */
export function envName({ name, env }) {
  return env ?? `STRESS_${name.toUpperCase().replaceAll('-', '_')}`;
}
