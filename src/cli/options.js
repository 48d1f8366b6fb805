import { DEFAULT_HD_PATH } from '../chain/wallets.js';
import { detectors } from '../inclusion/index.js';
import { parseThreshold } from '../metrics/thresholds.js';
import { arrivals } from '../pacer/arrivals.js';
import { SPREADS } from '../run/route.js';
import { transports } from '../transport/index.js';
import {
  ALL,
  ANY,
  REMOTE,
  ONE_ENDPOINT,
  FUNDED,
  LOAD,
  NEEDED,
  SWEPT,
  JUDGED,
  RUN,
  SUMMARY,
  PAGE,
  RESULT,
  NODE,
  RECLAIM,
} from './command-names.js';
import { fileName, pathName, rowFile } from './file-names.js';
import { INSTANCE_OPTIONS } from './instance-options.js';
import { STUDY_OPTIONS } from './study-options.js';
import {
  address,
  amount,
  anyText,
  duration,
  durationOrAuto,
  endpoint,
  flag,
  hdPath,
  listenAddress,
  metricNames,
  oneOf,
  rate,
  stages,
  pageUrl,
  wholeNumber,
  workerCount,
} from './values.js';
import { WORKLOAD_OPTIONS } from './workload-options.js';

/** @import { Command } from './command-names.js' */

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
