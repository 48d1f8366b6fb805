import { presets } from '../studies/plan.js';
import { payloadSize } from '../workloads/payload.js';
import {
  MOST_INSTANCES,
  address,
  amount,
  anyText,
  comparedMetric,
  duration,
  durationOrAuto,
  endpoint,
  failIf,
  fileName,
  flag,
  hdPath,
  instanceIndex,
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
  threshold,
  wholeNumber,
  workerCount,
} from './parse.js';

/**
 * @import { OutputOptions } from '../outputs/output.js'
 * @import { Config, Output } from '../types.d.ts'
 */

/**
 * The table of options, and the commands they are for. An option is one row: parsing, --help, the environment, the
 * config file and its JSON Schema, completion, redaction, and every list of options follow from the rows.
 *
 * @typedef {'run' | 'node' | 'fund' | 'reclaim' | 'prepare' | 'new-workload' | 'report' | 'sweep' | 'compare' | 'trend' | 'merge' | 'completion'} Command
 *
 * @typedef {'load' | 'wallets' | 'chain' | 'network' | 'output' | 'study' | 'instance' | 'secret'} Role what an option
 *   decides. Only options of the roles load and network shape the load or its measurement. A secret is never shown, and
 *   on the command line, where `ps` shows it, it is warned about.
 *
 * @typedef {object} Row an option as the table has it
 * @property {string} name on the command line
 * @property {string} [alias]
 * @property {string} [key] in Config; without it, the name in camel case
 * @property {string} [env] in the environment; without it, STRESS_NAME
 * @property {string} [argument] what --help calls the value; none for a flag
 * @property {boolean} [isFlag]
 * @property {boolean} [isList] it may be given several times, and a comma separates values; parse is given one of them
 * @property {boolean} [isRest] it takes all names of files behind it
 * @property {boolean} [isAxis] stress sweep also takes several values
 * @property {(text: string) => unknown} [parse] text to value, or a promise of it; without it, one of the choices
 * @property {readonly string[]} [choices] the values there are; with a parser of its own, those that have a name
 * @property {string} [fallback] the default, as text; false for a flag
 * @property {string} [defaultText] the default in words, where there is none or it needs an explanation
 * @property {readonly Command[]} commands
 * @property {Role} role
 * @property {string | readonly string[]} [workload] the only one, or the only ones, that the option is for
 * @property {'written' | 'kept' | 'log' | 'read' | 'secret' | 'folder'} [file] the value names a file: that the command
 *   writes anew, that it reads and writes, that it appends to, that it reads, that it reads and that holds secrets, or
 *   a folder
 * @property {'runs' | 'instances' | 'both'} [mayDiffer] what may differ in it although it is of the role load or
 *   network: runs that are compared, instances of one run, or both
 * @property {boolean} [isRepeated] part of the command line that repeats a run although it is of the role instance
 * @property {OutputRow} [output] the output that it selects
 * @property {string} help
 *
 * @typedef {object} OutputRow
 * @property {() => Promise<(options: OutputOptions) => Output>} load
 * @property {(config: Config) => boolean} [wanted] without it, where the option has a value
 *
 * @typedef {Row & {key: string, argument: string, group: string, variable: string, parse: (text: string) => unknown}} Option
 *   a row with its heading in --help and with everything that follows from its other members
 */

const ALL = commandList('run', 'node', 'fund', 'reclaim', 'prepare', 'sweep', 'compare');
const ANY = commandList(...ALL, 'new-workload', 'report', 'trend', 'merge');
const REMOTE = commandList('run', 'fund', 'reclaim', 'prepare', 'sweep', 'compare');
const ONE_ENDPOINT = commandList('run', 'fund', 'reclaim', 'prepare', 'sweep');
const FUNDED = commandList('run', 'fund', 'prepare', 'sweep', 'compare');
/** Options of each run of a study. */
const LOAD = commandList('run', 'sweep', 'compare');
/** Commands whose load decides how much the wallets need. */
const NEEDED = commandList('run', 'fund', 'sweep', 'compare');
const SWEPT = commandList('run', 'sweep');
const JUDGED = commandList('run', 'sweep', 'merge');
const RUN = commandList('run');
const SUMMARY = commandList('run', 'report', 'merge');
const PAGE = commandList('run', 'report', 'sweep', 'compare', 'merge');
const RESULT = commandList('run', 'prepare', 'compare', 'trend', 'merge');
const STUDY = commandList('sweep', 'compare');
const SWEEP = commandList('sweep');
const COMPARE = commandList('compare');
const TREND = commandList('trend');
const MERGE = commandList('merge');
/** The wallets of all instances. */
const FUNDED_SLICES = commandList('run', 'fund', 'reclaim');
const SHARED_NAME = commandList('run', 'merge');
const NODE = commandList('node');
const RECLAIM = commandList('reclaim');
const PREPARE = commandList('prepare');

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
  completion: 'print a script that lets bash, zsh or fish complete commands and options',
};

/** Names from tables whose modules are too large to load for --help. A test compares them. */
const WORKLOADS = Object.freeze(['counter', 'transfer', 'rpc']);
const CALL_PRESETS = Object.freeze(['light', 'wallet', 'indexer', 'pages']);
const PRESETS = Object.keys(presets);

// One option, one paragraph: a table is easier to read than what the formatter would make of it.
// prettier-ignore
/** The options by their headings in --help. @type {Readonly<Record<string, readonly Row[]>>} */
const TABLE = {
  Load: [
    { name: 'threads', alias: 't', isAxis: true, argument: 'N', parse: wholeNumber(1, 100_000), commands: ALL,
      role: 'load', mayDiffer: 'instances',
      help: 'how many wallets, each with one contract and one increment in flight' },
    { name: 'users', workload: 'rpc', argument: 'N', parse: wholeNumber(1, 100_000), commands: LOAD,
      role: 'load', mayDiffer: 'both',
      help: 'another word for -t where nothing is signed' },
    { name: 'workers', isAxis: true, argument: 'N', parse: workerCount, fallback: '1', commands: LOAD,
      role: 'load', mayDiffer: 'instances',
      help: "threads that share the slice; 'auto' for one for every two cores" },
    { name: 'duration', alias: 'd', key: 'durationMs', argument: 'TIME', parse: duration(100), commands: NEEDED,
      role: 'load', mayDiffer: 'runs', defaultText: 'until interrupted',
      help: 'how long to load, such as 30s, 5m, 1h' },
    { name: 'warmup', key: 'warmupMs', argument: 'TIME|auto', parse: durationOrAuto, fallback: '0s', commands: NEEDED,
      role: 'load',
      help: "warm-up before measuring starts; not counted in --duration; 'auto', the default of a sweep and a comparison, ends it when the pipeline is full" },
    { name: 'iterations', isAxis: true, argument: 'N', parse: wholeNumber(1, 1_000_000_000), commands: LOAD,
      role: 'load', defaultText: 'as many as there is time for',
      help: 'operations per wallet, or iterations per user; the run ends when all are done, or with --duration' },
    { name: 'think-time', key: 'thinkTimeMs', isAxis: true, argument: 'TIME', parse: duration(0), fallback: '0s', commands: LOAD,
      role: 'load',
      help: 'pause of each wallet, or user, after each iteration; not with a rate' },
    { name: 'rate', key: 'ratePerSecond', isAxis: true, argument: 'N', parse: rate, commands: LOAD,
      role: 'load', defaultText: 'as fast as the wallets allow',
      help: 'operations per second of this instance, due at fixed instants; those that find no idle wallet are dropped' },
    { name: 'stages', argument: 'LIST', parse: stages, commands: LOAD,
      role: 'load',
      help: 'rates that change: FROM:TO/TIME or RATE/TIME, one after the other, such as 0:100/30s,100/5m' },
    { name: 'arrival', argument: 'NAME', choices: ['uniform', 'poisson'], commands: LOAD,
      role: 'load', defaultText: 'uniform',
      help: 'how operations of a rate arrive: evenly, or independent of each other' },
    { name: 'in-flight', isAxis: true, argument: 'N', parse: wholeNumber(1, 1000), fallback: '1', commands: NEEDED,
      role: 'load',
      help: 'most operations of one wallet at once, with nonces in a row' },
    { name: 'interval', key: 'intervalMs', argument: 'TIME', parse: duration(100), fallback: '5s', commands: LOAD,
      role: 'load', mayDiffer: 'both',
      help: 'time between reports' },
    { name: 'drain-timeout', key: 'drainTimeoutMs', argument: 'TIME', parse: duration(0), fallback: '30s', commands: LOAD,
      role: 'load', mayDiffer: 'runs',
      help: 'longest wait for operations in flight at the end, and for pending transactions in the audit' },
    { name: 'repeat', argument: 'N', parse: wholeNumber(1, 1000), commands: STUDY,
      role: 'study', defaultText: '1 in a sweep, 8 in a comparison',
      help: 'how often each setting runs, or each endpoint of a comparison' },
    { name: 'rest', key: 'restMs', argument: 'TIME', parse: duration(0), fallback: '1s', commands: STUDY,
      role: 'study',
      help: 'time between two runs' },
    { name: 'before-cell', argument: 'COMMAND', parse: anyText, commands: SWEEP,
      role: 'study',
      help: 'a program to start before each run of a sweep, with its arguments; no shell reads them' },
    { name: 'preset', argument: 'NAME', choices: PRESETS, commands: SWEEP,
      role: 'study',
      help: `a sweep with a name, whose options can still be given: ${PRESETS.join(', ')}; flare rests 61s, as long as sockets wait` },
    { name: 'find', argument: 'OPTION', choices: ['rate', 'threads', 'in-flight', 'connections'], commands: SWEEP,
      role: 'study',
      help: 'search for the highest value of this option for which --until holds, within its range if one is given' },
  ],
  'Wallets and funds': [
    { name: 'offset', alias: 'o', argument: 'N', parse: wholeNumber(0, 2 ** 31 - 1), fallback: '0', commands: ALL,
      role: 'wallets',
      help: 'index of the first wallet; give instances disjoint slices' },
    { name: 'keys', argument: 'FILE', parse: pathName, commands: REMOTE,
      role: 'wallets', file: 'secret',
      help: 'private keys: a JSON array of strings or of objects with privateKey, or one key a line' },
    { name: 'mnemonic', argument: 'WORDS', parse: anyText, commands: REMOTE,
      role: 'secret', defaultText: 'the well-known test mnemonic, on local development chains only',
      help: 'BIP-39 mnemonic; better given in STRESS_MNEMONIC' },
    { name: 'hd-path', argument: 'PATH', parse: hdPath, fallback: "m/44'/60'/0'/0", commands: REMOTE,
      role: 'wallets',
      help: "derivation path; the wallet's index is appended" },
    { name: 'fund-from', env: 'STRESS_FUNDER_KEY', argument: 'FILE', parse: anyText, commands: REMOTE,
      role: 'secret', file: 'secret',
      help: 'file with the key that pays what wallets lack; or the key itself, better given in STRESS_FUNDER_KEY' },
    { name: 'fund-amount', key: 'fundAmountWei', argument: 'AMOUNT', parse: amount('ether'), commands: FUNDED,
      role: 'wallets', defaultText: 'an estimate from the duration and the fees, and twice that for stress fund',
      help: 'what each wallet must have before the run, in ether' },
    { name: 'max-spend', key: 'maxSpendWei', argument: 'AMOUNT', parse: amount('ether'), commands: FUNDED,
      role: 'wallets', defaultText: 'no cap',
      help: 'most that may be spent on fees, set-up included, in ether: estimated before, enforced during; value that transactions send away is not in it' },
    { name: 'to', argument: 'ADDRESS', parse: address, commands: RECLAIM,
      role: 'wallets', defaultText: "the funder's address",
      help: 'where reclaimed funds go' },
    { name: 'legacy', isFlag: true, commands: REMOTE,
      role: 'wallets',
      help: 'legacy transactions even where blocks have a base fee' },
    { name: 'gas-price', key: 'gasPriceWei', argument: 'PRICE', parse: amount('gwei'), commands: REMOTE,
      role: 'wallets',
      help: 'fixed gas price in gwei; implies --legacy' },
    { name: 'max-fee', key: 'maxFeeWei', argument: 'PRICE', parse: amount('gwei'), commands: REMOTE,
      role: 'wallets',
      help: 'never offer more than this for a gas, in gwei' },
  ],
  'Endpoint and chain': [
    { name: 'rpc', isList: true, argument: 'URL', parse: endpoint, commands: ONE_ENDPOINT,
      role: 'chain', defaultText: 'an embedded chain',
      help: 'JSON-RPC endpoint; with ws:// or wss:// new heads are subscribed to, with http:// or https:// polled; may be repeated for several nodes of one chain' },
    { name: 'rpc-a', argument: 'URL', parse: endpoint, commands: COMPARE,
      role: 'study',
      help: 'endpoint to compare with: runs are made on both in turn, A B B A' },
    { name: 'rpc-b', argument: 'URL', parse: endpoint, commands: COMPARE,
      role: 'study',
      help: 'endpoint to be compared with it' },
    { name: 'spread', isAxis: true, argument: 'HOW', choices: ['sticky', 'round-robin', 'apart'], fallback: 'sticky', commands: SWEPT,
      role: 'network',
      help: 'how the load is spread over several --rpc: each wallet keeps one, they take turns, or effects are read back from the next one' },
    { name: 'chain-id', argument: 'ID', parse: wholeNumber(1, Number.MAX_SAFE_INTEGER), commands: REMOTE,
      role: 'chain',
      help: 'refuse any other chain; required unless the chain is local or a known development chain' },
    { name: 'allow-chain', argument: 'ID', parse: wholeNumber(1, Number.MAX_SAFE_INTEGER), commands: REMOTE,
      role: 'chain',
      help: 'allow this public mainnet' },
    { name: 'port', env: 'STRESS_NODE_PORT', argument: 'N', parse: wholeNumber(1, 65_535), commands: NODE,
      role: 'chain', defaultText: '8545, or any free one if it is taken',
      help: 'port of the chain, on loopback' },
    { name: 'inclusion', isAxis: true, argument: 'NAME', choices: ['auto', 'heads', 'blocks', 'sync', 'receipts'], fallback: 'auto', commands: LOAD,
      role: 'network',
      help: 'how a transaction is found in a block' },
    { name: 'confirmations', isAxis: true, argument: 'N', parse: wholeNumber(0, 64), fallback: '0', commands: LOAD,
      role: 'network',
      help: 'blocks on top of its own before an operation counts as included; with 0 its own is enough' },
    { name: 'tx-timeout', key: 'txTimeoutMs', argument: 'TIME', parse: duration(100), fallback: '60s', commands: REMOTE,
      role: 'network',
      help: 'longest wait for one transaction' },
  ],
  Workload: [
    { name: 'workload', argument: 'NAME|FILE', choices: WORKLOADS, parse: nameOrFile(WORKLOADS), fallback: 'counter', commands: NEEDED,
      role: 'load', file: 'read',
      help: `what one operation is: ${WORKLOADS.join(', ')}, or a file of your own, see stress new-workload` },
    { name: 'set', isList: true, argument: 'NAME=VALUE', parse: setting, commands: NEEDED,
      role: 'load',
      help: 'a setting of a workload of your own, such as slots=20; may be repeated' },
    { name: 'method', workload: 'rpc', argument: 'NAME', parse: methodName, commands: LOAD,
      role: 'load',
      help: 'JSON-RPC method that --workload rpc calls' },
    { name: 'params', workload: 'rpc', argument: 'JSON', parse: jsonArray, commands: LOAD,
      role: 'load', defaultText: '[]',
      help: 'its parameters, a JSON array' },
    { name: 'calls', workload: 'rpc', argument: 'FILE', choices: CALL_PRESETS, parse: pathName, commands: LOAD,
      role: 'load', file: 'read',
      help: `several calls in place of one: a file of them, or ${CALL_PRESETS.join(', ')}; see docs/calls.md` },
    { name: 'data', workload: 'rpc', argument: 'FILE', parse: pathName, commands: LOAD,
      role: 'load', file: 'read', mayDiffer: 'both',
      help: 'the logs that --calls pages lists: a file of stress prepare logs' },
    { name: 'check-rpc', workload: 'rpc', argument: 'URL', parse: endpoint, commands: LOAD,
      role: 'load',
      help: 'a second endpoint of the same chain, which must answer as the first one where a call says so' },
    { name: 'fixed-id', workload: 'rpc', argument: 'N', parse: wholeNumber(0, Number.MAX_SAFE_INTEGER), commands: LOAD,
      role: 'load', defaultText: 'a new id for each request',
      help: 'the id of every request of --workload rpc, for servers that answer a constant; it is still checked' },
    { name: 'receivers', workload: 'transfer', isAxis: true, argument: 'N', parse: wholeNumber(1, 10_000_000), commands: NEEDED,
      role: 'load', defaultText: 'the wallets pay each other',
      help: 'how many addresses --workload transfer pays, made for the run' },
    { name: 'create-receivers', workload: 'transfer', argument: 'WHEN', choices: ['before', 'during'], commands: NEEDED,
      role: 'load', defaultText: 'during',
      help: 'when they come to be on the chain: before the load, by a wei for each, or during it, by their first payment' },
    { name: 'payload', workload: ['counter', 'transfer'], isAxis: true, argument: 'BYTES', parse: payloadSize, commands: NEEDED,
      role: 'load', defaultText: 'no more than it takes',
      help: 'calldata of each transaction: so many bytes, other ones in each' },
    { name: 'contracts', workload: 'counter', argument: 'FILE', parse: pathName, commands: SWEPT,
      role: 'load', file: 'kept', mayDiffer: 'both',
      help: 'keep the addresses of the contracts there, and use them again if they are still on the chain' },
    { name: 'count', key: 'logCount', argument: 'N', parse: wholeNumber(1, 10_000_000), commands: PREPARE,
      role: 'load',
      help: 'how many logs to prepare' },
    { name: 'bytes', key: 'logBytes', argument: 'N', parse: wholeNumber(1, 262_144), fallback: '10240', commands: PREPARE,
      role: 'load',
      help: 'bytes of data in each log' },
    { name: 'page-size', argument: 'N', parse: wholeNumber(1, 100_000), fallback: '100', commands: PREPARE,
      role: 'load',
      help: 'logs of a page' },
  ],
  Results: [
    { name: 'verbose', alias: 'v', isFlag: true, commands: RUN,
      role: 'output',
      output: { wanted: ({ quiet }) => !quiet, load: async () => (await import('../outputs/console.js')).createTextOutput },
      help: 'a line for each verified increment: wallet index, contract address, count' },
    { name: 'explain', isFlag: true, commands: SUMMARY,
      role: 'output',
      help: 'the definition of each figure after the summary' },
    { name: 'out', argument: 'FILE', parse: pathName, commands: RESULT,
      role: 'output', file: 'written',
      output: { load: async () => (await import('../outputs/json.js')).createJsonOutput },
      help: "write the run file (JSON) there, what a comparison or a trend found, or where the prepared logs are; '-' for standard output" },
    { name: 'html', argument: 'FILE', parse: fileName, commands: PAGE,
      role: 'output', file: 'written',
      output: { load: async () => (await import('../report/output.js')).createReportOutput },
      help: 'write a page with plots there, one file that opens anywhere' },
    { name: 'dashboard', argument: '[HOST:]PORT', parse: listenAddress, commands: RUN,
      role: 'output',
      output: { load: async () => (await import('../report/live.js')).createDashboardOutput },
      help: 'show the same page there while the run goes on; on 127.0.0.1 unless a host is given' },
    { name: 'samples', argument: 'FILE', parse: rowFile, commands: RUN,
      role: 'output', file: 'written',
      output: { load: async () => (await import('../outputs/rows.js')).createSamplesOutput },
      help: 'a row for each operation: FILE.csv or FILE.ndjson, compressed with .gz behind it' },
    { name: 'blocks', argument: 'FILE', parse: rowFile, commands: RUN,
      role: 'output', file: 'written',
      output: { load: async () => (await import('../outputs/rows.js')).createBlocksOutput },
      help: 'a row for each block, in the same formats' },
    { name: 'hlog', argument: 'FILE', parse: fileName, commands: RUN,
      role: 'output', file: 'written',
      output: { load: async () => (await import('../outputs/hlog.js')).createHlogOutput },
      help: "the latencies of each interval in HdrHistogram's log format" },
    { name: 'prometheus', argument: '[HOST:]PORT', parse: listenAddress, commands: RUN,
      role: 'output',
      output: { load: async () => (await import('../outputs/prometheus.js')).createPrometheusOutput },
      help: 'serve the figures to Prometheus there, at /metrics; on 127.0.0.1 unless a host is given' },
    { name: 'dir', argument: 'FOLDER', parse: fileName, commands: STUDY,
      role: 'study', file: 'folder', defaultText: 'the name of the command',
      help: 'where the run files and the results are kept; a sweep that was interrupted goes on there' },
    { name: 'with', key: 'candidates', isRest: true, argument: 'FILE...', parse: pathName, commands: COMPARE,
      role: 'study',
      help: 'the run files of the other side' },
    { name: 'over', argument: 'OPTION', parse: anyText, commands: TREND,
      role: 'study', defaultText: 'the only one that was swept',
      help: 'the option that the figures are fitted against' },
  ],
  'Thresholds and CI': [
    { name: 'threshold', key: 'thresholds', isList: true, argument: 'EXPR', parse: threshold, commands: JUDGED,
      role: 'study',
      help: "a figure of the summary and its limit, such as 'p99<2s'; exit code 99 if it does not hold; may be repeated" },
    { name: 'junit', argument: 'FILE', parse: fileName, commands: RUN,
      role: 'output', file: 'written',
      output: { load: async () => (await import('../outputs/junit.js')).createJunitOutput },
      help: 'write thresholds and audit there as test cases (JUnit XML), for CI servers' },
    { name: 'until', isList: true, argument: 'EXPR', parse: threshold, commands: SWEEP,
      role: 'study',
      help: "what has to hold, as for --threshold, such as 'p99<2s'; may be repeated" },
    { name: 'metric', argument: 'NAME', parse: comparedMetric, fallback: 'tps', commands: COMPARE,
      role: 'study',
      help: 'the figure that decides' },
    { name: 'fail-if', isList: true, argument: 'EXPR', parse: failIf, commands: COMPARE,
      role: 'study',
      help: "a change that must not be shown, such as 'tps<-10%'; exit code 99 if it is, or if there are too few runs to tell; may be repeated" },
    { name: 'allow-different', isFlag: true, commands: COMPARE,
      role: 'study',
      help: 'compare runs although they asked for different things' },
  ],
  Connections: [
    { name: 'transport', isAxis: true, argument: 'NAME', choices: ['auto', 'undici', 'tcp', 'ws'], fallback: 'auto', commands: LOAD,
      role: 'network',
      help: 'how requests travel; auto: ws for a WebSocket endpoint, undici otherwise' },
    { name: 'connections', isAxis: true, argument: 'N', parse: wholeNumber(1, 10_000), fallback: '64', commands: REMOTE,
      role: 'network',
      help: 'most keep-alive connections to the endpoint' },
    { name: 'no-keep-alive', isAxis: true, isFlag: true, commands: LOAD,
      role: 'network',
      help: 'a connection for each request, closed by us after the answer' },
    { name: 'insecure', isFlag: true, commands: REMOTE,
      role: 'chain',
      help: 'accept any certificate of an https endpoint' },
    { name: 'request-timeout', key: 'requestTimeoutMs', argument: 'TIME', parse: duration(100), fallback: '10s', commands: REMOTE,
      role: 'network',
      help: 'longest wait for one answer of the endpoint' },
  ],
  'Observing the node': [
    { name: 'node-pid', argument: 'PID', parse: wholeNumber(1, 4_194_304), commands: LOAD,
      role: 'network', mayDiffer: 'both',
      help: 'watch this process of the machine, a local node: CPU, memory, threads, descriptors' },
    { name: 'node-metrics', argument: 'URL', parse: pageUrl, commands: LOAD,
      role: 'network', mayDiffer: 'both',
      help: "read the node's Prometheus page in each interval" },
    { name: 'node-series', argument: 'NAMES', parse: metricNames, commands: LOAD,
      role: 'network', mayDiffer: 'both', defaultText: 'what is known of geth and AvalancheGo',
      help: 'the metrics of that page to keep, by name, separated by commas' },
  ],
  Instances: [
    { name: 'instances', argument: 'N', parse: wholeNumber(1, MOST_INSTANCES), commands: FUNDED_SLICES,
      role: 'instance', isRepeated: true, defaultText: 'one, or as many as Slurm has started',
      help: 'how many instances a run has, each with -t wallets of its own' },
    { name: 'index', argument: 'I|auto', parse: instanceIndex, commands: RUN,
      role: 'instance', isRepeated: true,
      output: { load: async () => (await import('../outputs/json.js')).createResultLineOutput },
      defaultText: 'auto where --instances is given',
      help: 'which instance of a run this is, counted from 0: its wallets begin at -o + I x -t, and {index} in the names of --out, --samples, --blocks, --hlog, --html and --junit is I; auto: as Kubernetes or Slurm numbers it' },
    { name: 'attempt', argument: 'N', parse: wholeNumber(0, 1_000_000), commands: RUN,
      role: 'instance', defaultText: '0; under --index auto what Slurm says',
      help: 'how often this index was started before' },
    { name: 'run-id', argument: 'NAME', parse: runName, commands: SHARED_NAME,
      role: 'instance',
      help: 'the name that all instances of one run have in common, on Slurm slurm-JOB unless it is given; a merge takes no others' },
    { name: 'start-at', key: 'startAtMs', argument: 'TIME', parse: instant, commands: RUN,
      role: 'instance',
      help: 'when the load of all instances begins: 2030-01-31T12:00:00Z, or Unix seconds' },
    { name: 'barrier', argument: 'FOLDER', parse: fileName, commands: RUN,
      role: 'instance', file: 'folder',
      help: 'a folder that all instances share, where they wait for each other before the load' },
    { name: 'start-timeout', key: 'startTimeoutMs', argument: 'TIME', parse: duration(100), fallback: '10m', commands: RUN,
      role: 'instance',
      help: 'longest wait for the common start; exit code 75 if it is not reached' },
    { name: 'results', argument: 'FOLDER', parse: fileName, commands: RUN,
      role: 'instance', file: 'folder',
      output: { load: async () => (await import('../outputs/json.js')).createResultsOutput },
      help: 'write the run file there, under the name of the run, the index and the attempt' },
    { name: 'expect', argument: 'N', parse: wholeNumber(1, MOST_INSTANCES), commands: MERGE,
      role: 'instance', defaultText: 'what the run files say',
      help: 'how many instances there must be; exit code 75 if some are missing' },
    { name: 'partial', key: 'allowPartial', isFlag: true, commands: MERGE,
      role: 'instance',
      help: 'merge also when instances are missing or incomplete' },
  ],
  General: [
    { name: 'quiet', alias: 'q', isFlag: true, commands: ANY,
      role: 'output',
      help: 'print nothing but errors' },
    { name: 'log-level', argument: 'LEVEL', choices: ['debug', 'info', 'warn', 'error', 'silent'], fallback: 'warn', commands: ANY,
      role: 'output',
      help: 'least level of messages on standard error' },
    { name: 'log-file', argument: 'FILE', parse: pathName, commands: ANY,
      role: 'output', file: 'log',
      help: 'log there as well, as JSON' },
  ],
};

/** They say what to do in place of a command, or where options come from. @type {readonly Option[]} */
export const GENERAL_OPTIONS = Object.freeze([
  option({
    name: 'config',
    argument: 'FILE',
    parse: pathName,
    commands: [],
    role: 'output',
    file: 'read',
    help: 'take options from a JSON file; flags and environment win',
  }),
  option({ name: 'help', alias: 'h', isFlag: true, commands: [], role: 'output', help: 'show this' }),
  option({ name: 'version', isFlag: true, commands: [], role: 'output', help: 'show the version' }),
]);

/** @type {readonly Option[]} */
export const OPTIONS = Object.freeze(
  Object.entries(TABLE).flatMap(([group, rows]) => rows.map((row) => option(row, group))),
);

/** @param {Row} row @param {string} [group] @returns {Option} */
function option(row, group = 'General') {
  const { name, isFlag = false, choices = [] } = row;
  return Object.freeze({
    ...row,
    group,
    key: row.key ?? name.replace(/-(\w)/g, (_, letter) => letter.toUpperCase()),
    variable: row.env ?? `STRESS_${name.toUpperCase().replaceAll('-', '_')}`,
    argument: row.argument ?? '',
    parse: row.parse ?? (isFlag ? flag : oneOf(choices)),
    fallback: isFlag ? 'false' : row.fallback,
  });
}

/** @param {Command} command */
export function optionsOf(command) {
  return OPTIONS.filter(({ commands }) => commands.includes(command));
}

/** All names that the environment may hold. */
export const VARIABLES = Object.freeze([...GENERAL_OPTIONS, ...OPTIONS].map(({ variable }) => variable));

/** @param {(option: Option) => boolean} test @returns {ReadonlySet<string>} keys in Config */
function keysOf(test) {
  return new Set(OPTIONS.filter(test).map(({ key }) => key));
}

/** @param {Option} option @param {'runs' | 'instances'} what */
function mayDiffer({ role, mayDiffer: of }, what) {
  return (role !== 'load' && role !== 'network') || of === what || of === 'both';
}

/** Comparable runs may differ in these: who paid, where the load went, what was written and shown. */
export const RUNS_MAY_DIFFER_IN = keysOf((one) => mayDiffer(one, 'runs'));

/** Instances of one run may differ in these. */
export const INSTANCES_MAY_DIFFER_IN = keysOf((one) => mayDiffer(one, 'instances'));

/** These make a run one of several instances, or are its own files and pages: the merged run has none of them. */
export const OF_ONE_INSTANCE = keysOf(
  ({ role, file, fallback, isList }) =>
    fallback === undefined && !isList && (role === 'instance' || role === 'output' || file === 'kept'),
);

/** The values are secrets, or files that hold secrets. */
export const SECRET_KEYS = keysOf(({ role, file }) => role === 'secret' || file === 'secret');

/** A study shows or writes these itself, so that its runs do not. */
export const OF_THE_STUDY = keysOf(({ role, commands }) => role === 'output' && commands.includes('compare'));
