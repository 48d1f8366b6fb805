import { payloadSize } from '../workloads/payload.js';
import { header, literalHeader, literalUrl } from '../transport/headers.js';
import { WORKLOADS } from '../workloads/table.js';
import { CONTRACT, contractRows, parseNamedCalls } from './contract-options.js';
import { VERIFY, evidenceRows } from './evidence-options.js';
import * as parse from './parse.js';
import { pushRows } from './push-options.js';

/**
 * @import { Config } from '../contracts/config.d.ts'
 * @import { Output, OutputConfig, OutputOptions } from '../contracts/output.d.ts'
 */

/**
 * The table of options, and the commands they are for. An option is one row: parsing, --help, the environment, the
 * config file and its JSON Schema, completion, redaction, and every list of options follow from the rows.
 *
 * @typedef {'run' | 'node' | 'fund' | 'reclaim' | 'new-workload' | 'learn' | 'report' | 'sweep' | 'compare' | 'trend' | 'merge' | 'verify' | 'find' | 'bisect' | 'completion' | 'help' | 'version'} Command
 * @typedef {Exclude<Command, 'completion' | 'help' | 'version'>} WorkCommand a command that is more than text
 *
 * @typedef {keyof Config} Group of Config. Only options of the groups load, workload and network shape the load or its
 *   measurement.
 *
 * @typedef {{noun: string, behind: string, short: string, range?: readonly [number, number]}} Search words for its
 *   values: behind one in a sentence, and in a table; range: of the search, where it is no integer
 *
 * @typedef {object} Row an option as the table has it
 * @property {string} name on the command line
 * @property {string} [alias] one letter
 * @property {readonly string[]} [synonyms] other names, as other tools have them
 * @property {string} [localName] another name that it has in its commands only, because other commands have an option of
 *   that name
 * @property {boolean} [usual] --help shows it; without it, only --help-all does
 * @property {string} [key] in its group of Config, and in the run file; without it, the name in camel case
 * @property {string} [env] in the environment; without it, STRESS_NAME
 * @property {string} [argument] what --help calls the value; none for a flag
 * @property {boolean} [isFlag]
 * @property {boolean} [isList] it may be given several times, and a comma separates values; parse is given one of them
 * @property {RegExp | '\n'} [separator] of the values of a list which may have commas in them; '\n': only a variable of
 *   the environment has several values
 * @property {(text: string) => void} [literal] throws for a value that must not be on the command line, where `ps` shows
 *   it; a secret with this check is not warned about
 * @property {boolean} [isJson] the config file and the library take its value as JSON, too
 * @property {boolean} [isRest] it takes all words behind it
 * @property {readonly Command[]} [neededBy] commands that are refused without it
 * @property {readonly Command[]} [noDefaultIn] commands that can do without it
 * @property {readonly string[]} [needs] it is refused without one of these options, where the command has one of them
 * @property {readonly string[]} [excludes] it is refused with any of these options
 * @property {boolean} [isAxis] stress sweep also takes several values
 * @property {boolean} [isChosenByFind] stress find chooses its value for each of its runs
 * @property {Search} [search] --find can search for its highest value
 * @property {readonly [number, number]} [integer] lowest and highest value of a whole number
 * @property {(text: string) => unknown} [parse] text to value, or a promise of it; default: an integer, a choice, or any
 *   text but an empty one
 * @property {readonly string[]} [choices] all values; with parse or integer, the named ones beside other values
 * @property {Readonly<Record<string, string>>} [removed] choices of earlier versions, and what to give instead
 * @property {string} [fallback] the default, as text; false for a flag
 * @property {string} [defaultText] the default in words, if there is none or it needs an explanation
 * @property {readonly Command[]} commands
 * @property {Group} [group] default: the group of its heading
 * @property {(value: any) => string} [shown] a value without its secrets
 * @property {boolean} [isSecret] it is never shown, and on the command line, where `ps` shows it, it is warned about
 * @property {string | readonly string[]} [workload] the only one, or the only ones, that the option is for
 * @property {'written' | 'kept' | 'log' | 'read' | 'secret' | 'folder'} [file] the value names a file: that the command
 *   writes anew, that it reads and writes, that it appends to, that it reads, that it reads and that holds secrets, or
 *   a folder
 * @property {'runs' | 'instances' | 'both'} [mayDiffer] what may differ in it although it is of a group that
 *   shapes the load: runs that are compared, instances of one run, or both
 * @property {OutputRow} [output] the output that it selects
 * @property {string} help
 *
 * @typedef {object} OutputRow
 * @property {() => Promise<(options: OutputOptions) => Output>} load
 * @property {(config: OutputConfig) => boolean} [wanted] without it, where the option has a value
 *
 * @typedef {Row & {key: string, group: Group, argument: string, heading: string, variable: string, isOpen: boolean, parse:
 *   (text: string) => unknown}} Option a row with its heading in --help and with everything that follows from its other
 *   members; isOpen: there are values beside the choices
 */

const NAMES = Object.keys(WORKLOADS);
const DETECTORS = Object.freeze(['auto', 'heads', 'blocks', 'sync']);

const ALL = commandList('run', 'node', 'fund', 'reclaim', 'find', 'sweep', 'compare', 'bisect');
const ANY = commandList(...ALL, 'new-workload', 'learn', 'report', 'trend', 'merge', 'verify');
const REMOTE = commandList('run', 'fund', 'reclaim', 'find', 'sweep', 'compare', 'bisect');
const ONE_ENDPOINT = commandList('run', 'fund', 'reclaim', 'find', 'sweep', 'bisect');
/** Options of requests, of commands that send no transactions too. */
const READING = commandList(...REMOTE, 'learn', 'verify');
/** Options of each run of a study. */
const LOAD = commandList('run', 'find', 'sweep', 'compare', 'bisect');
/** A search has no runs of a given shape or number of operations. */
const SHAPED = commandList('run', 'sweep', 'compare', 'bisect');
/** Commands whose load decides how much the wallets need. */
const NEEDED = commandList('run', 'fund', 'find', 'sweep', 'compare', 'bisect');
const RUN = commandList('run');
/** Commands that make several runs. */
export const STUDIES = commandList('find', 'sweep', 'compare', 'bisect');
const COMPARE = commandList('compare');
const MEASURED = commandList('compare', 'bisect');
const BISECT = commandList('bisect');

/** @param {...Command} names */
function commandList(...names) {
  return Object.freeze(names);
}

/**
 * @typedef {object} CommandRow
 * @property {string} help
 * @property {string} [usage] the words after the command; default: -t N [-o N]
 * @property {readonly string[]} [examples] without the name of the program
 * @property {'files' | readonly string[] | 'words'} [takes] arguments: files to read, one of these words, or other words
 */

/** @type {Readonly<Record<Command, CommandRow>>} */
export const COMMANDS = Object.freeze({
  run: {
    usage: '-t N [-o N] [-d TIME] [--rpc URL]',
    help: 'load an EVM JSON-RPC chain and print what it did, audited on the chain',
    examples: ['-t 200 -d 15s', '-t 50 -d 1m --rpc URL --rate 500', "-t 50 -d 30s --threshold 'p99<2s' --out run.json"],
  },
  node: { help: 'run the embedded development chain alone, for several instances', examples: ['node -t 500'] },
  fund: {
    usage: '-t N [-o N] [--instances N] --rpc URL',
    help: 'top up the wallets of a slice, or of all --instances, from one funder (--fund-from)',
    examples: ['fund -t 200 -d 10m --rpc URL --keys keys.txt --fund-from funder.key'],
  },
  reclaim: {
    usage: '-t N [-o N] [--instances N] --rpc URL [--to ADDRESS]',
    help: 'send the balances of a slice, or of all --instances, back to the funder (--fund-from) or to --to',
    examples: ['reclaim -t 200 --rpc URL --keys keys.txt --fund-from funder.key'],
  },
  'new-workload': {
    usage: 'FILE.mjs|FILE.sol[:NAME]',
    takes: 'words',
    help: 'write a commented workload file, ready to run or from a contract',
    examples: ['new-workload mine.mjs', 'new-workload Vault.sol'],
  },
  learn: {
    usage: '--rpc URL [--blocks N] [--out FILE]',
    help: 'read the newest blocks of a chain, and fit a mix of workloads to their transactions, as a config file',
    examples: ['learn --rpc URL --blocks 500 --out load.json'],
  },
  report: {
    usage: 'FILE...',
    takes: 'files',
    help: 'print the summary of run files (--out), also of interrupted runs, or make a page of them (--html)',
    examples: ['report run.json --html run.html'],
  },
  find: {
    usage: '--rpc URL [--until CONDITION] [--time-limit TIME]',
    help: 'find the highest rate that an endpoint can take: the load is raised until the node, a limit of the endpoint or this generator is named',
    examples: ['find --rpc URL', "find --rpc URL --until 'p99<2s' --time-limit 10m --html find.html"],
  },
  sweep: {
    usage: '-t LIST [--rate LIST] -d TIME [options of a run]',
    help: 'run every combination of options with several values, or search for the highest load that holds',
    examples: ['sweep -t 50,100,200 -d 10s --rpc URL', 'sweep -t 200 --rate 100..500/100 -d 10s --rpc URL'],
  },
  compare: {
    usage:
      'BASELINE... --with CANDIDATE...\n       stress compare --rpc-a URL --rpc-b URL -t N -d TIME [options of a run]',
    takes: 'files',
    help: 'decide whether one node, build or setting is faster than another, from run files or from new runs',
    examples: ['compare --rpc-a URL --rpc-b URL -t 50 -d 10s', 'compare old-*.json --with new-*.json'],
  },
  bisect: {
    usage:
      '--good COMMIT --bad COMMIT --start COMMAND --rpc URL\n       [--build COMMAND] -t N -d TIME [options of a run]',
    help: 'find the commit that made a figure worse, from pairs of noisy runs',
  },
  trend: {
    usage: 'SWEEP|FILE... [--over OPTION]',
    takes: 'files',
    help: 'fit how each figure grows with a swept option',
    examples: ['trend sweep --over threads'],
  },
  merge: {
    usage: 'FOLDER|FILE...|- [--expect N] [--partial]',
    takes: 'files',
    help: 'add up the run files of all instances of one run, exactly: from a folder, files, or logs (-)',
    examples: ['merge results --expect 4 --out all.json'],
  },
  verify: VERIFY,
  completion: {
    usage: 'bash|zsh|fish',
    takes: Object.freeze(['bash', 'zsh', 'fish']),
    help: 'print a script that lets a shell complete commands and options',
    examples: ['completion bash >> ~/.bashrc'],
  },
  help: { usage: '[COMMAND]', takes: 'words', help: 'show the options of a command', examples: ['help sweep'] },
  version: { usage: '', help: 'show the version' },
});

/** `stress run` is stress without a command. */
export const COMMAND_NAMES = Object.freeze(/** @type {Command[]} */ (Object.keys(COMMANDS)));

/** The most instances of one run. */
const MOST_INSTANCES = 100_000;

/** Names from tables whose modules are too large to load for --help. A test compares them. */
const CALL_PRESETS = Object.freeze(['light', 'wallet', 'indexer', 'pages']);

// One option, one paragraph: a table is easier to read than what the formatter would make of it.
// prettier-ignore
/** The options by their headings in --help. @type {Readonly<Record<string, readonly Row[]>>} */
const TABLE = {
  Load: [
    { name: 'threads', usual: true, synonyms: ['wallets', 'concurrency', 'users', 'vus', 'accounts'], alias: 't', isAxis: true, argument: 'N', integer: [1, 100_000], commands: ALL,
      isChosenByFind: true, mayDiffer: 'instances', neededBy: ALL.filter((command) => command !== 'find'),
      search: { noun: 'number of wallets', behind: '', short: ' threads' },
      help: 'number of wallets, each with its own contract and one operation in flight; with plain calls, number of users; stress find starts with 100 and adds more' },
    { name: 'workers', isAxis: true, argument: 'N|auto', choices: ['auto'], integer: [1, 256], fallback: '1', commands: LOAD,
      mayDiffer: 'instances',
      help: 'number of threads that share the wallets; auto: one for every two cores' },
    { name: 'duration', usual: true, synonyms: ['z'], alias: 'd', key: 'durationMs', argument: 'TIME', parse: parse.duration(100), commands: NEEDED,
      isChosenByFind: true, mayDiffer: 'runs', defaultText: 'until interrupted; in stress find 8s or 10 blocks',
      help: 'length of the load, such as 30s, 5m, 1h' },
    { name: 'warmup', usual: true, key: 'warmupMs', argument: 'TIME|auto', choices: ['auto'], parse: parse.duration(0), fallback: '0s', commands: NEEDED,
      isChosenByFind: true,
      help: 'warm-up before the measured window; it is not part of --duration; auto (default of find, sweep and compare) ends it when as many operations have ended as can be in flight' },
    { name: 'iterations', isAxis: true, argument: 'N', integer: [1, 1_000_000_000], commands: SHAPED,
      defaultText: 'no limit',
      help: 'operations per wallet, or per user; the run ends when all are done, or at the end of --duration' },
    { name: 'think-time', key: 'thinkTimeMs', isAxis: true, argument: 'TIME', parse: parse.duration(0), fallback: '0s', commands: SHAPED,
      help: 'pause of each wallet, or user, after each operation; closed loop only' },
    { name: 'rate', usual: true, synonyms: ['rps', 'qps', 'rate-limit'], key: 'ratePerSecond', isAxis: true, argument: 'N|chain', choices: ['chain'], parse: parse.rate, commands: LOAD,
      isChosenByFind: true, defaultText: 'closed loop', excludes: ['stages', 'think-time'],
      search: { noun: 'rate', behind: ' per second', short: '/s', range: [0.01, 1_000_000] },
      help: 'operations per second of this instance, at fixed instants; an operation that is due without an idle wallet is dropped. With a unit, such as 30Mgas: gas per second, by the gas of an operation in the warm-up (--warmup auto); chain: the rate that stress learn has found' },
    { name: 'chain-rate', key: 'chainRatePerSecond', argument: 'N', parse: parse.chainRate, commands: NEEDED, isChosenByFind: true, mayDiffer: 'both', defaultText: 'none',
      help: 'transactions per second of a chain, for --rate chain; stress learn writes it into its config file' },
    { name: 'stages', argument: 'LIST', parse: parse.stages, commands: SHAPED, excludes: ['duration', 'think-time'],
      help: 'rates over time: FROM:TO/TIME or RATE/TIME, separated by commas, such as 0:100/30s,100/5m' },
    { name: 'arrival', argument: 'NAME', choices: ['uniform', 'poisson'], commands: LOAD,
      isChosenByFind: true, defaultText: 'uniform', needs: ['rate', 'stages'],
      help: 'arrival of the operations of a rate: at equal distances, or independent of each other' },
    { name: 'pool-target', isAxis: true, argument: 'N|Nblocks', parse: parse.poolTarget, commands: SHAPED,
      defaultText: 'none', excludes: ['rate', 'stages', 'think-time'],
      help: 'number of transactions to keep in the pool of the node, or as many as fill N blocks: operations are started when it has fewer (txpool_status)' },
    { name: 'max-base-fee', key: 'maxBaseFeeWei', isAxis: true, argument: 'PRICE', parse: parse.amount('gwei'), commands: SHAPED,
      defaultText: 'none', excludes: ['stages'],
      help: 'base fee, in gwei, above which no operation is started; a pause delays the schedule of --rate' },
    { name: 'nonce-order', isAxis: true, argument: 'ORDER', choices: ['reversed', 'shuffled'], commands: SHAPED,
      defaultText: 'ascending', excludes: ['rate', 'stages'],
      help: 'order in which the transactions of a wallet that start together are sent; with --in-flight above 1' },
    { name: 'duplicate-share', isAxis: true, argument: 'PERCENT', parse: parse.share('10%', 0, 100), commands: SHAPED,
      defaultText: '0%',
      help: 'share of the transactions that are sent twice' },
    { name: 'replace-share', isAxis: true, argument: 'PERCENT', parse: parse.share('10%', 0, 100), commands: SHAPED,
      defaultText: '0%',
      help: 'share of the transactions that are sent again with a higher fee as soon as the node has them; one of both gets into a block' },
    { name: 'in-flight', usual: true, isAxis: true, argument: 'N', integer: [1, 1000], fallback: '1', commands: NEEDED,
      isChosenByFind: true, search: { noun: 'number of operations in flight per wallet', behind: '', short: ' in flight' },
      help: 'most operations in flight per wallet, with consecutive nonces' },
    { name: 'interval', key: 'intervalMs', argument: 'TIME', parse: parse.duration(100), fallback: '5s', commands: LOAD,
      mayDiffer: 'both',
      help: 'time between reports' },
    { name: 'drain-timeout', key: 'drainTimeoutMs', argument: 'TIME', parse: parse.duration(0), fallback: '30s', commands: LOAD,
      mayDiffer: 'runs',
      help: 'longest wait at the end for operations in flight, and in the audit for pending transactions' },
    { name: 'repeat', argument: 'N', integer: [1, 1000], commands: ['sweep', 'compare'],
      defaultText: '1 in a sweep, 8 in a comparison', excludes: ['until-sure'],
      help: 'number of runs of each setting of a sweep, or of each endpoint of a comparison' },
    { name: 'rest', key: 'restMs', argument: 'TIME', parse: parse.duration(0), fallback: '1s', commands: STUDIES,
      help: 'pause between two runs' },
    { name: 'time-limit', key: 'timeLimitMs', argument: 'TIME', parse: parse.duration(1000), commands: ['find', 'compare', 'bisect'], needs: ['until-sure'],
      defaultText: 'in stress find the longer of 3m and 240 blocks; 20m in a comparison',
      help: 'longest time for a search, for pairs until a decision, or for a bisection; a run that has begun is finished' },
    { name: 'until-sure', isFlag: true, commands: COMPARE, needs: ['rpc-a'],
      help: 'make pairs of runs until a difference or --equivalent is shown at 95 %, or --time-limit is over' },
    { name: 'equivalent', argument: 'PERCENT', parse: parse.share('2%', 0.1, 50), fallback: '2%', commands: MEASURED, needs: ['until-sure'],
      help: 'largest change that counts as no difference, where pairs are made until a decision' },
    { name: 'precision', argument: 'PERCENT', parse: parse.share('2%', 0.1, 100), commands: COMPARE, needs: ['until-sure'],
      help: 'also make pairs until the interval of each deciding figure is at most this wide, such as 2% for -9 % to -7 %' },
    { name: 'seed', argument: 'N', integer: [0, 2 ** 32 - 1], commands: MEASURED, needs: ['until-sure'],
      defaultText: 'random, kept in --dir',
      help: 'seed of the order of both runs in each pair, where pairs are made until a decision' },
    { name: 'before-cell', argument: 'COMMAND', commands: ['find', 'sweep'],
      help: 'shell command to run before each run of a sweep or a search' },
    { name: 'good', argument: 'COMMIT', commands: BISECT, neededBy: BISECT,
      help: 'a commit that is not slow yet; all pairs are compared with it' },
    { name: 'bad', argument: 'COMMIT', commands: BISECT, neededBy: BISECT,
      help: 'a later commit that is slow' },
    { name: 'repository', argument: 'DIR', parse: parse.fileName, fallback: '.', defaultText: 'the current folder', commands: BISECT,
      help: 'folder of the git repository whose commits are searched; it is only read' },
    { name: 'build', argument: 'COMMAND', commands: BISECT,
      defaultText: 'nothing is built',
      help: 'shell command that builds a commit in its checkout, once; a commit that it fails for is skipped' },
    { name: 'start', argument: 'COMMAND', commands: BISECT, neededBy: BISECT,
      help: 'shell command that starts the node of a checkout at --rpc before each run; it is ended after the run' },
    { name: 'find', argument: 'OPTION', choices: ['rate', 'threads', 'in-flight', 'connections'], commands: ['sweep'], needs: ['until'], excludes: ['threshold'],
      help: 'search for the highest value of this option at which --until holds; its range limits the search' },
  ],
  'Wallets and funds': [
    { name: 'offset', usual: true, alias: 'o', argument: 'N', integer: [0, 2 ** 31 - 1], fallback: '0', commands: ALL,
      help: 'index of the first wallet; instances need disjoint slices' },
    { name: 'keys', usual: true, argument: 'FILE', parse: parse.pathName, commands: REMOTE, excludes: ['mnemonic'],
      file: 'secret',
      help: 'file with private keys: a JSON array of strings, or of objects with privateKey, or one key per line' },
    { name: 'mnemonic', argument: 'WORDS', commands: REMOTE,
      isSecret: true, defaultText: 'the public test mnemonic, on local development chains only',
      help: 'BIP-39 mnemonic; safer in STRESS_MNEMONIC' },
    { name: 'hd-path', argument: 'PATH', parse: parse.hdPath, fallback: "m/44'/60'/0'/0", commands: REMOTE,
      help: "derivation path; the wallet's index is appended" },
    { name: 'fund-from', usual: true, synonyms: ['private-key'], env: 'STRESS_FUNDER_KEY', argument: 'FILE', commands: REMOTE, neededBy: ['fund'],
      isSecret: true, file: 'secret',
      help: 'file with the private key of the funder, which tops up the wallets; or the key itself, safer in STRESS_FUNDER_KEY' },
    { name: 'fund-amount', key: 'fundAmountWei', argument: 'AMOUNT', parse: parse.amount('ether'), commands: NEEDED,
      defaultText: 'estimated from duration and fees; twice that for stress fund',
      help: 'balance that each wallet needs before the run, in ether' },
    { name: 'refill-below', key: 'refillBelowWei', argument: 'AMOUNT', parse: parse.amount('ether'), commands: LOAD, needs: ['fund-from'],
      defaultText: 'wallets are paid before the load only',
      help: 'balance, in ether, below which a wallet is topped up to --fund-amount again during the load, by the funder' },
    { name: 'max-spend', key: 'maxSpendWei', argument: 'AMOUNT', parse: parse.amount('ether'), commands: NEEDED,
      defaultText: 'no limit',
      help: 'limit of fees, set-up included, in ether: estimated before the run, enforced during it; in a study for all runs together; transferred value does not count' },
    { name: 'to', argument: 'ADDRESS', parse: parse.address, commands: ['reclaim'],
      defaultText: 'the funder',
      help: 'receiver of the reclaimed funds' },
    { name: 'legacy', isFlag: true, commands: REMOTE,
      help: 'send legacy transactions even if blocks have a base fee' },
    { name: 'gas-price', key: 'gasPriceWei', argument: 'PRICE', parse: parse.amount('gwei'), commands: REMOTE, excludes: ['max-fee', 'tip'],
      help: 'fixed gas price in gwei; implies --legacy' },
    { name: 'tip', key: 'tipWei', synonyms: ['priority-gas-price', 'priority-fee', 'tip-fee', 'tipfee'], argument: 'PRICE', parse: parse.amount('gwei'), commands: REMOTE,
      defaultText: 'what the node suggests, raised to a minimum that it states',
      help: 'fixed priority fee per gas, in gwei' },
    { name: 'max-fee', key: 'maxFeeWei', argument: 'PRICE', parse: parse.amount('gwei'), commands: REMOTE,
      help: 'highest fee per gas to offer, in gwei' },
  ],
  'Endpoint and chain': [
    { name: 'rpc', usual: true, synonyms: ['rpc-url', 'url', 'u'], isList: true, separator: /,(?=\s*(?:\w+:\/\/|[\w.-]+:\d+))/, argument: 'URL', parse: parse.endpoint, commands: [...ONE_ENDPOINT, 'learn', 'verify'], neededBy: ['fund', 'reclaim', 'bisect', 'learn'], noDefaultIn: ['verify'],
      defaultText: 'an embedded chain',
      help: 'JSON-RPC endpoint: http://, https://, ws:// or wss:// (new blocks by subscription); may be repeated for several nodes of one chain' },
    { name: 'rpc-a', argument: 'URL', parse: parse.endpoint, commands: COMPARE, needs: ['rpc-b'],
      help: 'endpoint of the baseline; runs alternate between both endpoints: A B B A' },
    { name: 'rpc-b', argument: 'URL', parse: parse.endpoint, commands: COMPARE, needs: ['rpc-a'],
      help: 'endpoint of the candidate' },
    { name: 'start-a', argument: 'COMMAND', commands: COMPARE, needs: ['rpc-a'],
      help: 'shell command that starts the baseline at --rpc-a before each of its runs, and is ended after the run' },
    { name: 'start-b', argument: 'COMMAND', commands: COMPARE, needs: ['rpc-b'],
      help: 'the same for the candidate at --rpc-b, which may be the URL of --rpc-a' },
    { name: 'spread', isAxis: true, argument: 'HOW', choices: ['sticky', 'round-robin', 'apart'], fallback: 'sticky', commands: ['run', 'find', 'sweep'],
      group: 'network',
      help: 'use of several --rpc: one per wallet (sticky), in turn (round-robin), or submit at one and read at the next (apart)' },
    { name: 'send-rpc', argument: 'URL', parse: parse.endpoint, commands: ONE_ENDPOINT, needs: ['rpc'],
      help: 'endpoint of the same chain for submissions (eth_sendRawTransaction); everything else goes to --rpc' },
    { name: 'send-method', group: 'network', argument: 'METHOD', parse: parse.methodName, fallback: 'eth_sendRawTransaction', commands: REMOTE, needs: ['rpc'],
      help: 'JSON-RPC method of all submissions, those of the set-up included, such as eth_sendPrivateTransaction' },
    { name: 'send-params', group: 'network', argument: 'JSON', isJson: true, parse: parse.sendParams, fallback: '["{{raw}}"]', commands: REMOTE, needs: ['send-method'],
      help: 'parameters of --send-method: a JSON array with {{raw}} in place of the signed transaction' },
    { name: 'last-blocks', localName: 'blocks', usual: true, argument: 'N', integer: [1, 100_000], fallback: '500', commands: ['learn'],
      help: 'number of newest blocks to read' },
    { name: 'wait-for', key: 'waitForMs', argument: 'TIME', parse: parse.duration(0), fallback: '0s', commands: [...REMOTE, 'learn'],
      help: 'longest wait for endpoints whose node is still starting; exit code 69 if one does not answer' },
    { name: 'chain-id', usual: true, argument: 'ID', parse: parse.chainId, commands: REMOTE,
      help: 'refuse any other chain; required with --instances, and unless the chain is local or a known development chain' },
    { name: 'allow-chain', argument: 'ID', parse: parse.chainId, commands: REMOTE,
      help: 'permit the load on this public mainnet' },
    { name: 'port', env: 'STRESS_NODE_PORT', argument: 'N', integer: [1, 65_535], commands: ['node'],
      defaultText: '8545, or any free port',
      help: 'port of the chain, on loopback' },
    { name: 'inclusion', isAxis: true, argument: 'NAME', choices: DETECTORS, fallback: 'auto', commands: LOAD,
      removed: { receipts: 'give blocks, or auto, which find transactions in the lists of the blocks' },
      group: 'network',
      help: 'how inclusion in a block is detected: new heads are pushed or polled, or eth_sendRawTransactionSync answers' },
    { name: 'ladder', isList: true, argument: 'LEVELS', choices: ['auto', 'pending', 'safe', 'finalized'], commands: LOAD,
      group: 'network', defaultText: 'off',
      help: 'measure the latency to each finality level: pending, safe, finalized, or all that the chain has (auto); operations that reached a level and are not in the chain at the end count as broken' },
    { name: 'flashblocks', env: 'STRESS_FLASHBLOCKS_URL', argument: 'URL', parse: parse.webSocket, commands: LOAD, needs: ['ladder'],
      literal: (text) => literalUrl(text, 'STRESS_FLASHBLOCKS_URL'),
      group: 'chain',
      help: 'web socket of preconfirmations, measured as a finality level: a feed of flashblocks, or a node with the subscription newFlashblockTransactions' },
    { name: 'confirmations', isAxis: true, argument: 'N', integer: [0, 64], fallback: '0', commands: LOAD,
      group: 'network',
      help: 'blocks required on top of a block before its operations count as included' },
    { name: 'tx-timeout', key: 'txTimeoutMs', argument: 'TIME', parse: parse.duration(100), fallback: '60s', commands: REMOTE,
      group: 'network',
      help: 'time limit for the inclusion of a transaction' },
  ],
  Workload: [
    { name: 'workload', usual: true, synonyms: ['mode'], argument: 'NAME|FILE', choices: NAMES, parse: parse.nameOrFile(NAMES), fallback: 'counter', commands: NEEDED,
      file: 'read',
      help: 'what an operation does; a file is your own workload, see stress new-workload' },
    { name: 'mix', usual: true, isList: true, argument: 'NAME:WEIGHT', parse: parse.member, commands: NEEDED, excludes: ['workload'],
      help: 'several workloads in one load, by weight, such as counter:50,erc20:30,./mine.mjs:20; settings as --set storage.slots=5' },
    { name: 'workloads', argument: 'JSON', isJson: true, parse: (text) => parseNamedCalls(text, CALL_OPTIONS), commands: NEEDED,
      help: 'calls of contracts by name, for --mix: in the config file an object, whose members are the options of --workload contract' },
    { name: 'set', isList: true, separator: /,(?=\s*[a-z_][\w.]*=)/i, argument: 'NAME=VALUE', parse: parse.setting, commands: NEEDED,
      help: 'setting of the workload, such as slots=20; may be repeated' },
    { name: 'method', workload: 'rpc', argument: 'NAME', parse: parse.methodName, commands: LOAD,
      help: 'JSON-RPC method of --workload rpc' },
    { name: 'params', workload: 'rpc', argument: 'JSON', isJson: true, parse: parse.jsonArray, commands: LOAD,
      defaultText: '[]',
      help: 'parameters of --method: a JSON array' },
    { name: 'calls', workload: 'rpc', argument: 'FILE', choices: CALL_PRESETS, parse: parse.pathName, commands: LOAD,
      file: 'read', excludes: ['method', 'params'],
      help: 'calls in place of --method: a preset, or a file as in docs/workloads.md, such as recorded requests, one a line' },
    { name: 'calls-order', workload: 'rpc', argument: 'ORDER', choices: ['file', 'random'], commands: LOAD,
      defaultText: 'file', needs: ['calls'],
      help: 'order of recorded requests; in both, each is sent once before one is sent again' },
    { name: 'allow-writes', isFlag: true, commands: LOAD, needs: ['calls'],
      help: 'send recorded requests that may change the chain or the node, such as eth_sendRawTransaction' },
    { name: 'data', workload: 'rpc', argument: 'FILE', parse: parse.pathName, commands: LOAD,
      file: 'read', mayDiffer: 'both', needs: ['calls'],
      help: 'logs for --calls pages: a file of --logs' },
    { name: 'check-rpc', workload: 'rpc', argument: 'URL', parse: parse.endpoint, commands: LOAD, needs: ['calls'],
      help: 'second endpoint of the same chain, for calls whose answers are compared' },
    { name: 'fixed-id', workload: 'rpc', argument: 'N', integer: [0, Number.MAX_SAFE_INTEGER], commands: LOAD,
      group: 'network', defaultText: 'a new id per request',
      help: 'id of every request of --workload rpc, for servers with a constant answer; it is still checked' },
    { name: 'receivers', workload: ['transfer', 'erc20'], isAxis: true, argument: 'N', integer: [1, 10_000_000], commands: NEEDED,
      defaultText: 'the wallets pay each other',
      help: 'number of addresses that --workload transfer or erc20 pays, made for the run' },
    { name: 'create-receivers', workload: 'transfer', argument: 'WHEN', choices: ['before', 'during'], commands: NEEDED,
      defaultText: 'during', needs: ['receivers'],
      help: 'when receivers are created on the chain: before the load, by a payment of 1 wei each, or during it, by their first payment' },
    { name: 'payload', workload: ['counter', 'transfer'], isAxis: true, argument: 'BYTES', parse: payloadSize, commands: NEEDED,
      defaultText: 'as small as possible',
      help: 'bytes of calldata of each transaction, different in each' },
    { name: 'contracts', workload: 'counter', argument: 'FILE', parse: parse.pathName, commands: ['run', 'find', 'sweep'],
      file: 'kept', mayDiffer: 'both',
      help: 'file for the addresses of the contracts; contracts that still exist are used again' },
    { name: 'bytes', key: 'logBytes', workload: 'logs', isAxis: true, argument: 'N', integer: [1, 262_144], commands: NEEDED,
      defaultText: '10240',
      help: 'bytes of data of each log of --workload logs' },
    { name: 'page-size', workload: 'logs', isAxis: true, argument: 'N', integer: [1, 100_000], commands: NEEDED,
      defaultText: '100',
      help: 'logs of each operation of --workload logs' },
    { name: 'logs', workload: 'logs', argument: 'FILE', parse: parse.fileName, commands: RUN,
      file: 'written', mayDiffer: 'both',
      help: 'file for the positions of the logs of --workload logs, for --data' },
  ],
  'Contract calls': contractRows(NEEDED),
  Results: [
    { name: 'verbose', alias: 'v', isFlag: true, commands: RUN,
      output: { wanted: ({ quiet }) => !quiet, load: async () => (await import('../outputs/console.js')).createTextOutput },
      help: 'print a line for each verified increment: wallet index, contract address, count; for messages see --log-level' },
    { name: 'wide', isFlag: true, commands: RUN,
      help: 'print all columns of the intervals, also on a narrow terminal' },
    { name: 'explain', isFlag: true, commands: ['run', 'report', 'merge'],
      help: 'print the definition of each figure after the summary' },
    { name: 'out', usual: true, argument: 'FILE', parse: parse.pathName, commands: ['run', 'learn', 'compare', 'trend', 'merge'],
      file: 'written',
      output: { load: async () => (await import('../outputs/json.js')).createJsonOutput },
      help: "file for the run file (JSON), for the config file of stress learn, or for the result of a comparison or a trend; '-' for standard output, as --json" },
    { name: 'html', usual: true, argument: 'FILE', parse: parse.fileName, commands: ['run', 'report', 'find', 'sweep', 'compare', 'merge'],
      file: 'written',
      output: { load: async () => (await import('../report/run-page.js')).createReportOutput },
      help: 'file for the report page: plots and tables in one file' },
    { name: 'dashboard', argument: '[HOST:]PORT', parse: parse.listenAddress, commands: RUN,
      output: { load: async () => (await import('../report/live.js')).createDashboardOutput },
      help: 'serve the report page, updated during the run; host 127.0.0.1 unless given' },
    ...evidenceRows,
    { name: 'samples', argument: 'FILE', parse: parse.rowFile, commands: RUN,
      file: 'written',
      output: { load: async () => (await import('../outputs/rows.js')).createSamplesOutput },
      help: 'file with a row per operation: .csv or .ndjson; with .gz after it the file is compressed' },
    { name: 'blocks', argument: 'FILE', parse: parse.rowFile, commands: RUN,
      file: 'written',
      output: { load: async () => (await import('../outputs/rows.js')).createBlocksOutput },
      help: 'file with a row per block, in the same formats' },
    { name: 'hlog', argument: 'FILE', parse: parse.fileName, commands: RUN,
      file: 'written',
      output: { load: async () => (await import('../outputs/hlog.js')).createHlogOutput },
      help: 'file with the latencies of each interval, in the log format of HdrHistogram' },
    { name: 'intervals', argument: 'FILE', parse: parse.pathName, commands: RUN,
      file: 'written',
      output: { load: async () => (await import('../outputs/rows.js')).createIntervalsOutput },
      help: "file with each interval as a line of JSON (.ndjson); '-' for standard output" },
    { name: 'prometheus', argument: '[HOST:]PORT', parse: parse.listenAddress, commands: RUN,
      output: { load: async () => (await import('../outputs/prometheus.js')).createPrometheusOutput },
      help: 'serve the figures to Prometheus at /metrics; host 127.0.0.1 unless given' },
    ...pushRows(RUN),
    { name: 'dir', argument: 'FOLDER', parse: parse.fileName, commands: STUDIES,
      file: 'folder', defaultText: 'the name of the command; find for a search',
      help: 'folder for run files and results; an interrupted sweep continues there' },
    { name: 'fresh', isFlag: true, commands: ['find', 'sweep'],
      help: 'do not resume: make all runs of the study in --dir anew' },
    { name: 'with', key: 'candidates', isList: true, isRest: true, separator: '\n', argument: 'FILE...', parse: parse.pathName, commands: COMPARE,
      help: 'run files of the candidate' },
    { name: 'label-a', argument: 'NAME', commands: COMPARE,
      help: 'name of the baseline in the result' },
    { name: 'label-b', argument: 'NAME', commands: COMPARE,
      help: 'name of the candidate' },
    { name: 'over', argument: 'OPTION', commands: ['trend'],
      defaultText: 'the only swept option',
      help: 'the swept option that figures are fitted against' },
  ],
  'Thresholds and CI': [
    { name: 'threshold', usual: true, key: 'thresholds', isList: true, argument: 'EXPR', parse: parse.threshold, commands: ['run', 'sweep', 'merge'],
      help: "conditions on figures, such as 'p99<2s,tps>=100'; exit code 99 if one fails; may be repeated" },
    { name: 'markdown', argument: 'FILE', choices: ['auto'], parse: parse.fileName, commands: ['run', 'find', 'sweep', 'compare', 'bisect', 'merge'],
      group: 'outputs', file: 'written',
      output: { load: async () => (await import('../outputs/markdown.js')).createMarkdownOutput },
      help: "file for the result as Markdown, verdict first; 'auto' appends it to $GITHUB_STEP_SUMMARY, if that is set" },
    { name: 'junit', argument: 'FILE', parse: parse.fileName, commands: ['run', 'compare'],
      group: 'outputs', file: 'written',
      output: { load: async () => (await import('../outputs/junit.js')).createJunitOutput },
      help: 'file for thresholds, --fail-if and audit as test cases (JUnit XML)' },
    { name: 'until', isList: true, argument: 'EXPR', parse: parse.threshold, commands: ['find', 'sweep'], needs: ['find'],
      help: "condition that must hold at the value that is searched, as in --threshold, such as 'p99<2s'; a rate must also be held (held>=98%); may be repeated" },
    { name: 'metric', key: 'metrics', isList: true, argument: 'NAME', fallback: 'tps', commands: MEASURED,
      parse: async (text) => (await import('../studies/metrics.js')).metricOf(text.trim()).name,
      help: 'figure of the verdict; with --until-sure it may be repeated, and all are decided' },
    { name: 'fail-if', isList: true, argument: 'EXPR', commands: COMPARE,
      parse: async (text) => (await import('../studies/compare-text.js')).parseFailIf(text),
      help: "change that fails the comparison, such as 'tps<-10%'; exit code 99 if it is shown, or if there are too few runs or pairs to tell; may be repeated" },
    { name: 'allow-different', isFlag: true, commands: COMPARE,
      help: 'compare runs with different options' },
  ],
  Connections: [
    { name: 'transport', isAxis: true, argument: 'NAME', choices: ['auto', 'undici', 'tcp', 'ws'], fallback: 'auto', commands: LOAD,
      help: 'transport of requests; auto: ws for a WebSocket endpoint, tcp with --no-keep-alive, undici otherwise' },
    { name: 'connections', isAxis: true, argument: 'N', integer: [1, 10_000], fallback: '64', commands: READING,
      search: { noun: 'number of connections', behind: '', short: ' connections' },
      help: 'most keep-alive connections to the endpoint' },
    { name: 'no-keep-alive', isAxis: true, isFlag: true, commands: LOAD,
      help: 'one connection per request, closed by this client after the response; http:// and --transport tcp only' },
    { name: 'header', synonyms: ['H'], isList: true, separator: '\n', argument: "'NAME: VALUE'", parse: header, literal: literalHeader, commands: READING,
      group: 'chain', isSecret: true,
      help: 'header of each request to --rpc and --send-rpc, such as X-Team: load; may be repeated; secret ones, one a line, in STRESS_HEADER or in --header-file' },
    { name: 'header-file', argument: 'FILE', parse: parse.pathName, commands: READING,
      group: 'chain', file: 'secret',
      help: "file with such headers, one a line; '#' starts a comment" },
    { name: 'batch', isAxis: true, argument: 'N', integer: [1, 1000], fallback: '1', commands: LOAD,
      help: 'highest number of submissions in one JSON-RPC batch; a batch has submissions that are due at the same time; not with --inclusion sync' },
    { name: 'insecure', isFlag: true, commands: READING,
      mayDiffer: 'both',
      help: 'accept any certificate of an https endpoint' },
    { name: 'request-timeout', key: 'requestTimeoutMs', argument: 'TIME', parse: parse.duration(100), fallback: '10s', commands: READING,
      help: 'time limit of a request' },
  ],
  'Observing the node': [
    { name: 'check', isList: true, argument: 'KIND', choices: ['consistency'], commands: LOAD,
      help: 'compare answers of each --rpc with each other and with verified operations, beside the load; contradictions are counted (--threshold violations=0)' },
    { name: 'check-share', argument: 'PERCENT', parse: parse.share('1%', 0.01, 100), fallback: '1%', commands: LOAD, needs: ['check'],
      help: 'requests of --check, as a share of those of the load; 4 per second are added' },
    { name: 'node-pid', argument: 'PID', integer: [1, 4_194_304], commands: LOAD,
      group: 'chain',
      help: 'process id of a node on this machine: its CPU, memory and threads are recorded' },
    { name: 'node-profile', isList: true, argument: '[NAME=]URL', parse: parse.profileSource, commands: LOAD,
      group: 'chain', shown: parse.sourceText,
      help: 'CPU profiles of the node over the window: a URL of pprof such as http://127.0.0.1:6060/debug/pprof/profile, or perf for the process of --node-pid' },
    { name: 'node-profile-a', isList: true, argument: '[NAME=]URL', parse: parse.profileSource, commands: COMPARE, needs: ['rpc-a'],
      group: 'study', shown: parse.sourceText,
      help: 'CPU profiles of the baseline: the comparison tests what its functions are for, too' },
    { name: 'node-profile-b', isList: true, argument: '[NAME=]URL', parse: parse.profileSource, commands: COMPARE, needs: ['rpc-b'],
      group: 'study', shown: parse.sourceText,
      help: 'CPU profiles of the candidate' },
    { name: 'node-metrics', isList: true, argument: '[NAME=]URL', parse: parse.metricsSource, commands: LOAD,
      group: 'chain', shown: parse.sourceText,
      help: "the node's Prometheus page, read in each interval; several nodes have a NAME, which becomes the label node of their series" },
    { name: 'node-metrics-a', isList: true, argument: '[NAME=]URL', parse: parse.metricsSource, commands: COMPARE, needs: ['rpc-a'],
      group: 'study', shown: parse.sourceText,
      help: 'Prometheus pages of the baseline: the series that differ most between the sides are listed' },
    { name: 'node-metrics-b', isList: true, argument: '[NAME=]URL', parse: parse.metricsSource, commands: COMPARE, needs: ['rpc-b'],
      group: 'study', shown: parse.sourceText,
      help: 'Prometheus pages of the candidate' },
    { name: 'node-series', argument: 'NAMES', parse: parse.metricNames, commands: LOAD,
      group: 'chain', defaultText: 'metrics known of geth and AvalancheGo', needs: ['node-metrics', 'node-metrics-a', 'node-metrics-b'],
      help: 'metrics to record from these pages, separated by commas' },
  ],
  Instances: [
    { name: 'instances', argument: 'N', integer: [1, MOST_INSTANCES], commands: ['run', 'fund', 'reclaim'],
      defaultText: '1, or the number that Slurm started',
      help: 'number of instances of the run, each with -t wallets' },
    { name: 'index', argument: 'I|auto', choices: ['auto'], integer: [0, MOST_INSTANCES - 1], commands: RUN,
      output: { load: async () => (await import('../outputs/json.js')).createResultLineOutput },
      defaultText: 'auto with --instances',
      help: 'index of this instance, from 0: its wallets begin at -o + I x -t, and {index} in names of files to write becomes I; auto: as Kubernetes or Slurm numbers it' },
    { name: 'attempt', argument: 'N', integer: [0, 1_000_000], commands: RUN,
      defaultText: '0, or as Slurm counts',
      help: 'number of earlier starts of this index' },
    { name: 'run-id', argument: 'NAME', parse: parse.runName, commands: ['run', 'merge'],
      defaultText: 'slurm-JOB on Slurm',
      help: 'name of the run, the same for all its instances; stress merge then ignores other runs' },
    { name: 'start-at', key: 'startAtMs', argument: 'TIME', parse: parse.instant, commands: RUN,
      help: 'start of the load of all instances: 2030-01-31T12:00:00Z, or Unix seconds' },
    { name: 'barrier', argument: 'FOLDER', parse: parse.fileName, commands: RUN,
      file: 'folder', needs: ['instances', 'index'], excludes: ['start-at'],
      help: 'shared folder in which the instances wait for each other before the load' },
    { name: 'start-timeout', key: 'startTimeoutMs', argument: 'TIME', parse: parse.duration(100), fallback: '10m', commands: RUN,
      help: 'longest wait for the common start; exit code 75 if it is missed' },
    { name: 'results', argument: 'FOLDER', parse: parse.fileName, commands: RUN,
      file: 'folder', needs: ['instances', 'index'],
      output: { load: async () => (await import('../outputs/json.js')).createResultsOutput },
      help: 'folder for the run file, named by run, index and attempt' },
    { name: 'expect', argument: 'N', integer: [1, MOST_INSTANCES], commands: ['merge'],
      defaultText: 'as the run files state',
      help: 'number of instances; exit code 75 if some are missing' },
    { name: 'partial', key: 'allowPartial', isFlag: true, commands: ['merge'],
      help: 'merge even if instances are missing or incomplete' },
  ],
  General: [
    { name: 'quiet', alias: 'q', isFlag: true, commands: ANY,
      help: 'print errors only' },
    { name: 'log-level', argument: 'LEVEL', choices: ['debug', 'info', 'warn', 'error', 'silent'], fallback: 'warn', commands: ANY,
      help: 'lowest level of messages on standard error' },
    { name: 'log-format', argument: 'NAME', choices: ['text', 'json'], fallback: 'text', commands: ANY,
      help: 'format of messages on standard error' },
    { name: 'log-file', argument: 'FILE', parse: parse.pathName, commands: ANY,
      file: 'log',
      help: 'file to append messages to, as JSON' },
    { name: 'config', argument: 'FILE', parse: parse.pathName, commands: [], file: 'read',
      defaultText: './stress.config.json, if there is one',
      help: "JSON file with options; the command line and the environment override it; 'none': not even ./stress.config.json" },
    { name: 'print-config', isFlag: true, commands: [],
      help: 'print the options that are given, wherever they come from, as a file for --config; secrets are masked' },
    { name: 'help', alias: 'h', isFlag: true, commands: [],
      help: 'show the usual options' },
    { name: 'help-all', usual: true, isFlag: true, commands: [],
      help: 'show all options' },
    { name: 'version', alias: 'V', isFlag: true, commands: [],
      help: 'show the version' },
  ],
};

/** Groups by headings: see option(). @type {Readonly<Record<string, Group>>} */
const GROUPS = Object.freeze({
  Load: 'load',
  'Wallets and funds': 'wallets',
  'Endpoint and chain': 'chain',
  Workload: 'workload',
  'Contract calls': 'workload',
  Results: 'outputs',
  'Thresholds and CI': 'study',
  Connections: 'network',
  'Observing the node': 'network',
  Instances: 'instance',
  General: 'outputs',
});

/** @param {Row} row @param {string} heading @returns {Option} */
function option(row, heading) {
  const { name, commands, isFlag = false, choices, integer, removed } = row;
  const isOfStudies =
    commands.length > 0 && commands.every((command) => STUDIES.includes(command) || command === 'trend');
  const other = row.parse ?? (integer && parse.wholeNumber(...integer));
  return Object.freeze({
    ...row,
    heading,
    group: row.group ?? (isOfStudies ? 'study' : GROUPS[heading]),
    isOpen: choices !== undefined && other !== undefined,
    key: row.key ?? name.replace(/-(\w)/g, (_, letter) => letter.toUpperCase()),
    variable: row.env ?? `STRESS_${name.toUpperCase().replaceAll('-', '_')}`,
    argument: row.argument ?? '',
    parse: isFlag ? parse.flag : choices ? parse.oneOf(choices, other, removed) : (other ?? parse.anyText),
    fallback: isFlag ? 'false' : row.fallback,
  });
}

/** @type {readonly Option[]} */
export const ALL_OPTIONS = Object.freeze(
  Object.entries(TABLE).flatMap(([heading, rows]) => rows.map((row) => option(row, heading))),
);

/** Members of a call in `workloads`. */
export const CALL_OPTIONS = Object.freeze(ALL_OPTIONS.filter(({ workload }) => workload === CONTRACT));

/** They say what to do in place of a command, or where options come from. */
export const GENERAL_OPTIONS = Object.freeze(ALL_OPTIONS.filter(({ commands }) => commands.length === 0));

/** Options of commands. */
export const OPTIONS = Object.freeze(ALL_OPTIONS.filter(({ commands }) => commands.length > 0));

/** @param {Option} option */
export function namesOf({ name, alias, synonyms = [] }) {
  return alias === undefined ? [name, ...synonyms] : [name, alias, ...synonyms];
}

/** Options by each of their names. @type {ReadonlyMap<string, Option>} */
const BY_NAME = new Map(ALL_OPTIONS.flatMap((option) => namesOf(option).map((name) => [name, option])));

/** @param {string} name without dashes */
export function optionNamed(name) {
  return BY_NAME.get(name);
}

/** @param {Command} command */
export function optionsOf(command) {
  return OPTIONS.filter(({ commands }) => commands.includes(command));
}

/** All names that the environment may hold. */
export const VARIABLES = Object.freeze(ALL_OPTIONS.map(({ variable }) => variable));

/** @param {(option: Option) => boolean} test @returns {ReadonlySet<string>} keys in the run file */
function keysOf(test) {
  return new Set(OPTIONS.filter(test).map(({ key }) => key));
}

/** @param {Option} option @param {'runs' | 'instances'} what */
function mayDiffer({ group, mayDiffer: of }, what) {
  return !['load', 'workload', 'network'].includes(group) || of === what || of === 'both';
}

/** Comparable runs may differ in these: who paid, where the load went, what was written and shown. */
export const RUNS_MAY_DIFFER_IN = keysOf((one) => mayDiffer(one, 'runs'));

/** Instances of one run may differ in these. */
export const INSTANCES_MAY_DIFFER_IN = keysOf((one) => mayDiffer(one, 'instances'));

/** What is printed or written, and the place among several instances. @param {Pick<Option, 'group' | 'file'>} option */
export function isOfCommandLine({ group, file }) {
  return group === 'instance' || group === 'outputs' || file === 'written';
}

/** These make a run one of several instances, or are its own files and pages: the merged run has none of them. */
export const OF_ONE_INSTANCE = keysOf(
  ({ group, file, fallback, isList }) =>
    fallback === undefined && !isList && (isOfCommandLine({ group, file }) || file === 'kept'),
);

/** A study shows or writes these itself, so that its runs do not. */
export const OF_THE_STUDY = keysOf(({ group, commands }) => group === 'outputs' && commands.includes('compare'));
