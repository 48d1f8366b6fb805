import { DEFAULT_HD_PATH } from '../chain/wallets.js';
import { detectors } from '../inclusion/index.js';
import { arrivals } from '../pacer/arrivals.js';
import { parseThreshold } from '../metrics/thresholds.js';
import { transports } from '../transport/index.js';
import { comparedMetric, parseFailIf } from '../study/fail-if.js';
import { presets } from '../study/presets.js';
import { workloads } from '../workload/index.js';
import { fileName, pathName, rowFile } from './file-names.js';
import {
  address,
  amount,
  anyText,
  duration,
  endpoint,
  flag,
  hdPath,
  jsonArray,
  listenAddress,
  methodName,
  metricNames,
  oneOf,
  rate,
  stages,
  pageUrl,
  wholeNumber,
  workerCount,
} from './values.js';

/**
 * Every option, once: its name, where it may be given, what it means, how its text becomes a value.
 *
 * @typedef {'run' | 'node' | 'fund' | 'reclaim' | 'report' | 'sweep' | 'compare' | 'trend'} Command
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
 * @property {string} [workload] the only one that it is for
 * @property {boolean} [isSecret] never shown, and warned about on the command line, where `ps` shows it
 * @property {(text: string) => unknown} parse
 * @property {string} [fallback] the default, as text
 * @property {string} [defaultText] the default in words, where it is none or has to be explained
 * @property {string} argument what --help calls the value
 * @property {string} describe
 * @property {readonly Command[]} commands
 */

const ANY = commandList('run', 'node', 'fund', 'reclaim', 'report', 'sweep', 'compare', 'trend');
const ALL = commandList('run', 'node', 'fund', 'reclaim', 'sweep', 'compare');
const REMOTE = commandList('run', 'fund', 'reclaim', 'sweep', 'compare');
const ONE_ENDPOINT = commandList('run', 'fund', 'reclaim', 'sweep');
const FUNDED = commandList('run', 'fund', 'sweep', 'compare');
/** What every run of a study has as well. */
const LOAD = commandList('run', 'sweep', 'compare');
const JUDGED = commandList('run', 'sweep');
const RUN = commandList('run');
const SUMMARY = commandList('run', 'report');
const PAGE = commandList('run', 'report', 'sweep', 'compare');
const RESULT = commandList('run', 'compare', 'trend');
const STUDY = commandList('sweep', 'compare');
const SWEEP = commandList('sweep');
const COMPARE = commandList('compare');
const TREND = commandList('trend');
const NODE = commandList('node');
const RECLAIM = commandList('reclaim');

/** @param {...Command} names */
function commandList(...names) {
  return Object.freeze(names);
}

/** @type {Record<Command, string>} */
export const COMMANDS = {
  run: 'load an endpoint, or an embedded development chain when no --rpc is given',
  node: 'run the embedded development chain alone, so that several instances can share it',
  fund: 'top up the wallets of a slice from one funder (--fund-from)',
  reclaim: 'send what is left in the wallets of a slice back to the funder (--fund-from) or to --to',
  report:
    'print the summary of run files (--out), also of one that a run which was killed has left, or make a page of them (--html)',
  sweep:
    'run every combination of options that are given as lists or ranges, or search for the highest load that holds',
  compare: 'say whether one node, build or setting is faster than another, from run files or from runs made for it',
  trend: 'fit how each figure grows with an option that was swept',
};

// One option, one paragraph: a table is easier to read than what the formatter would make of it.
// prettier-ignore
/** @type {readonly Option[]} */
export const OPTIONS = Object.freeze([
  { name: 'threads', alias: 't', key: 'threads', isAxis: true, argument: 'N', parse: wholeNumber(1, 100_000), commands: ALL,
    describe: 'how many wallets, each with one contract and one increment in flight' },
  { name: 'offset', alias: 'o', key: 'offset', argument: 'N', parse: wholeNumber(0, 2 ** 31 - 1), fallback: '0', commands: ALL,
    describe: 'index of the first wallet; give instances disjoint slices' },
  { name: 'rpc', key: 'rpc', argument: 'URL', parse: endpoint, commands: ONE_ENDPOINT,
    defaultText: 'an embedded chain',
    describe: 'JSON-RPC endpoint; with ws:// or wss:// new heads are subscribed to, with http:// or https:// polled' },
  { name: 'chain-id', key: 'chainId', argument: 'ID', parse: wholeNumber(1, Number.MAX_SAFE_INTEGER), commands: REMOTE,
    describe: 'refuse any other chain; required unless the chain is local or a known development chain' },
  { name: 'allow-chain', key: 'allowChain', argument: 'ID', parse: wholeNumber(1, Number.MAX_SAFE_INTEGER), commands: REMOTE,
    describe: 'allow this public mainnet' },
  { name: 'duration', alias: 'd', key: 'durationMs', argument: 'TIME', parse: duration(100), commands: LOAD,
    defaultText: 'until interrupted',
    describe: 'how long to load, such as 30s, 5m, 1h' },
  { name: 'warmup', key: 'warmupMs', argument: 'TIME', parse: duration(0), fallback: '0s', commands: LOAD,
    describe: 'load for so long before the measured window begins; with --duration the window still has all of it' },
  { name: 'rate', key: 'ratePerSecond', isAxis: true, argument: 'N', parse: rate, commands: LOAD,
    defaultText: 'as fast as the wallets allow',
    describe: 'operations per second of this instance, due at fixed instants; those that find no idle wallet are dropped' },
  { name: 'stages', key: 'stages', argument: 'LIST', parse: stages, commands: LOAD,
    describe: 'rates that change: FROM:TO/TIME or RATE/TIME, one after the other, such as 0:100/30s,100/5m' },
  { name: 'arrival', key: 'arrival', argument: 'NAME', parse: oneOf(Object.keys(arrivals)), commands: LOAD,
    defaultText: 'uniform',
    describe: 'how operations of a rate arrive: evenly, or independent of each other' },
  { name: 'in-flight', key: 'inFlight', isAxis: true, argument: 'N', parse: wholeNumber(1, 1000), fallback: '1', commands: LOAD,
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
    defaultText: 'an estimate from the duration and the fees',
    describe: 'what each wallet must have before the run, in ether' },
  { name: 'max-spend', key: 'maxSpendWei', argument: 'AMOUNT', parse: amount('ether'), commands: FUNDED,
    defaultText: 'no cap',
    describe: 'most that may be spent on fees, set-up included, in ether: estimated before, enforced during' },
  { name: 'to', key: 'to', argument: 'ADDRESS', parse: address, commands: RECLAIM,
    defaultText: "the funder's address",
    describe: 'where reclaimed funds go' },
  { name: 'workload', key: 'workload', argument: 'NAME', parse: oneOf(Object.keys(workloads)), fallback: 'counter', commands: LOAD,
    describe: 'what one operation is' },
  { name: 'method', key: 'method', workload: 'rpc', argument: 'NAME', parse: methodName, commands: LOAD,
    describe: 'JSON-RPC method that --workload rpc calls' },
  { name: 'params', key: 'params', workload: 'rpc', argument: 'JSON', parse: jsonArray, commands: LOAD,
    defaultText: '[]',
    describe: 'its parameters, a JSON array' },
  { name: 'fixed-id', key: 'fixedId', workload: 'rpc', argument: 'N', parse: wholeNumber(0, Number.MAX_SAFE_INTEGER), commands: LOAD,
    defaultText: 'a new id for each request',
    describe: 'the id of every request of --workload rpc, for servers that answer a constant; it is still checked' },
  { name: 'contracts', key: 'contracts', argument: 'FILE', parse: pathName, commands: JUDGED,
    describe: 'keep the addresses of the contracts there, and use them again if they are still on the chain' },
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
    describe: "write the run file (JSON) there, or what a comparison or a trend found; '-' for standard output" },
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
