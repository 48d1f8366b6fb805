/**
 * Bad input, as a table: what is typed, and the one line and the exit code that come back. Nothing is started:
 * no chain, no transaction, no file. The names of the tests are the command lines; each prints its line.
 */
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { freePort } from '../helpers/anvil.js';
import { runStress } from '../helpers/cli.js';
import { HANG_UP, SILENCE, serve, serveMethods } from '../helpers/endpoint.js';
import { runTable } from '../helpers/table.js';

/**
 * @import { Answer } from '../helpers/endpoint.js'
 * @import { StressResult } from '../helpers/cli.js'
 */

/**
 * @typedef {object} Row
 * @property {string} args words; 'one word with spaces' in quotes. In them and in env, URL stands for the endpoint, DIR
 *   for an empty folder of the test
 * @property {RegExp} says the line on standard error, behind 'stress: '
 * @property {number} [exit] 64 unless stated
 * @property {string} [given] what args do not show, for the name of the test
 * @property {Record<string, string>} [env]
 * @property {Record<string, string>} [files] made in DIR before, by name
 * @property {() => Promise<string | {url: string, methods: string[]}>} [endpoint]
 * @property {string[]} [asks] what the endpoint was asked for, and nothing else
 * @property {RegExp} [warns] a warning above the line
 */

/** Well-known keys of the test mnemonic's first wallets. @type {readonly string[]} */
const KEYS = [
  '0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80',
  '0x59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d',
  '0x5de4111afa1a4b94908f83103eb1f1706367c2e68ca870fc3fb9a804cdab365a',
];
const NOT_A_KEY = `0x${'zz'.repeat(32)}`;
const LAST_WORDS = 'test test test test test test test test test test test';

/** What a chain without anything on it answers. */
const EMPTY_CHAIN = Object.freeze({
  eth_getBlockByNumber: { number: '0x0', hash: `0x${'1'.repeat(64)}`, gasLimit: '0x1c9c380', baseFeePerGas: '0x7' },
});

/** @type {Record<string, Row[]>} */
const TABLE = {
  'which run files': [
    { args: 'report', says: /^stress report needs a file: stress report FILE\.\.\.$/ },
    { args: "report ''", says: /^stress report: the name of a file is empty$/ },
    { args: 'report -t 5 run.json', says: /^-t is an option of .*, not of stress report$/ },
    { args: 'report --html DIR run.json', exit: 73, says: /^cannot write \S+: it is a folder$/ },
    { args: 'report DIR/none.json', exit: 65, says: /^cannot read .*none\.json: there is no such file$/ },
    { args: 'report DIR', exit: 65, says: /^\S+ is a folder without sweep\.json or compare\.json: give a file$/ },
    {
      args: 'report DIR/run.json',
      given: 'half a file',
      exit: 65,
      files: { 'run.json': '{"schema": "evm-' },
      says: /^\S+run\.json is not valid JSON: give a file that --out has written$/,
    },
    {
      args: 'report DIR/run.json',
      given: 'of another version',
      exit: 65,
      files: { 'run.json': '{"schema": "evm-stress/run@2"}' },
      says: /^\S+run\.json is a run file of another version, "evm-stress\/run@2": this stress reads evm-stress\/run@1$/,
    },
  ],
  studies: [
    { args: 'sweep -t 5 -d 1s', says: /^stress sweep needs an option with several values, such as -t 10,40,100 / },
    { args: 'sweep -t 5,, -d 1s', says: /^-t \(--threads\) has an axis with an empty value/ },
    { args: 'sweep -t 10..5 -d 1s', says: /^-t \(--threads\) has "10\.\.5", which is not a range: FROM\.\.TO\/STEP/ },
    { args: 'sweep -t 1..5/0 -d 1s', says: /^-t \(--threads\) has "1\.\.5\/0", which is not a range/ },
    {
      args: 'sweep -t 1..2000 -d 1s',
      says: /^-t \(--threads\) has 2000 values in "1\.\.2000": at most 1000 are swept$/,
    },
    { args: 'sweep -t 1,x -d 1s', says: /^-t \(--threads\) must be a whole number, not "x"$/ },
    { args: '-t 1,2 -d 1s', says: /^-t \(--threads\) must be a whole number, not "1,2"$/ },
    { args: 'sweep -t 1,2 -d 1s --until p99<1s', says: /^--until is the condition of a search: give --find too$/ },
    { args: 'sweep --find rate -t 5 -d 1s', says: /^--find rate needs a condition/ },
    { args: 'sweep -t 1,2 -d 1s --repeat 0', says: /^--repeat must be at least 1, not "0"$/ },
    { args: 'compare', says: /^stress compare needs a file/ },
    { args: 'compare a.json', says: /^stress compare needs run files of two sides/ },
    { args: 'compare a.json --with', says: /^--with needs a value/ },
    {
      args: 'compare --rpc-a http://127.0.0.1:1 -t 1 -d 1s',
      says: /^stress compare needs the other endpoint, too: --rpc-b URL$/,
    },
    {
      args: 'compare a.json --with b.json --rpc-a http://127.0.0.1:1',
      says: /^stress compare takes run files, or --rpc-a and --rpc-b/,
    },
    { args: 'compare a.json --with b.json --metric speed', says: /^--metric names "speed", which is no figure/ },
    {
      args: 'compare a.json --with b.json --fail-if tps<10',
      says: /^--fail-if must be a figure, < or >, and a change in percent/,
    },
    {
      args: 'compare DIR/none.json --with DIR/none.json',
      exit: 65,
      says: /^cannot read \S+none\.json: there is no such file$/,
    },
    { args: 'trend', says: /^stress trend needs a file/ },
    { args: 'trend DIR/none', exit: 65, says: /^cannot read \S+none: there is no such file$/ },
    { args: '-t 1 -d 1s --dashboard 99999999', says: /^--dashboard must be a port/ },
    {
      args: '-t 1 -d 1s --html DIR/none/x.html',
      exit: 73,
      says: /^cannot write \S+x\.html: its folder does not exist$/,
    },
  ],
  'several instances': [
    {
      args: '-t 5 --instances 4',
      says: /^--index auto finds no index: there is no JOB_COMPLETION_INDEX .*, or give --index I --instances N$/,
    },
    { args: '-t 5 --index 4 --instances 4', says: /^--index 4 is not below --instances 4: indexes go from 0 to 3$/ },
    { args: '-t 5 --index -1 --instances 4', says: /^--index must be at least 0, not "-1"$/ },
    { args: '-t 5 --index first --instances 4', says: /^--index must be a whole number, not "first"$/ },
    { args: '-t 5 --instances 0', says: /^--instances must be at least 1, not "0"$/ },
    { args: '-t 5 --instances 100001', says: /^--instances must be at most 100000, not "100001"$/ },
    {
      args: '-t 5 --instances 4',
      env: { JOB_COMPLETION_INDEX: 'x' },
      says: /^JOB_COMPLETION_INDEX must be a whole number, not "x": or give --index I /,
    },
    {
      args: '-t 5 --index auto',
      given: 'an array that begins at 1',
      env: {
        SLURM_ARRAY_TASK_ID: '1',
        SLURM_ARRAY_TASK_COUNT: '4',
        SLURM_ARRAY_TASK_MIN: '1',
        SLURM_ARRAY_TASK_MAX: '4',
        SLURM_ARRAY_TASK_STEP: '1',
        SLURM_PROCID: '0',
      },
      says: /^the array begins at 1, and indexes at 0: sbatch --array=0-3, or give --index I /,
    },
    {
      args: '-t 5 --index 0 --instances 2',
      says: /^this is instance 0 of several, and instances need a chain that they share: --rpc URL$/,
    },
    {
      args: '-t 5 --index 0 --instances 2 --rpc http://127.0.0.1:1',
      says: /^this is instance 0 of several, and all must use one chain: --chain-id N, /,
    },
    {
      args: '-t 5 --index 0 --instances 2 --rpc http://127.0.0.1:1 --chain-id 1337',
      given: 'and a funder',
      env: { STRESS_FUNDER_KEY: KEYS[0] },
      says: /^this is instance 0 of several, and all would use the same nonces of the funder: .*: stress fund --instances N, with the same --duration$/,
    },
    { args: '-t 5 --attempt 1', says: /^--attempt 1 says how often an index was started before: give --index, too$/ },
    { args: "-t 5 --run-id 'a b'", says: /^--run-id must be a name of up to 63 letters, .*, not "a b"$/ },
    { args: '-t 5 --run-id ../x', says: /^--run-id must be a name of up to 63 letters, .*, not "\.\.\/x"$/ },
    {
      args: '-t 5 --start-at tomorrow',
      says: /^--start-at must be an instant with its zone such as .*, not "tomorrow"$/,
    },
    { args: '-t 5 --start-at 2030-01-31T12:00:00', says: /^--start-at must be an instant with its zone such as / },
    {
      args: '-t 5 --start-at 2999-01-31T12:00:00Z',
      says: /^--start-at is \d+ s from now, and --start-timeout waits for 600 s: /,
    },
    { args: '-t 5 --start-timeout 5', says: /^--start-timeout must be a duration with its unit/ },
    { args: '-t 5 --barrier DIR', says: /^--barrier needs the number of instances and the own index: --instances N, / },
    { args: '-t 5 --barrier -', says: /^--barrier must be a file: / },
    { args: '-t 5 --results DIR', says: /^--results names run files by their index: give --instances N, / },
    { args: '-t 5 --instanecs 4', says: /^unknown option --instanecs: did you mean --instances\?; see stress --help$/ },
    { args: '-t 5 --expect 4', says: /^--expect is an option of stress merge, not of stress$/ },
    {
      args: 'sweep -t 5,6 -d 1s --instances 4',
      says: /^--instances is an option of stress, stress fund, stress reclaim, not /,
    },
    {
      args: 'fund -t 100000 --instances 21475 --rpc http://127.0.0.1:1',
      says: /^-o 0, --instances 21475 and -t 100000 go beyond wallet 2147483647, the last index of BIP-32$/,
    },
    {
      args: 'fund -t 2 --instances 2 --keys DIR/keys --rpc http://127.0.0.1:1',
      files: { keys: JSON.stringify(KEYS) },
      env: { STRESS_FUNDER_KEY: KEYS[0] },
      says: /^wallets 0\.\.3 do not exist: \S+\/keys has 3 \(0\.\.2\); use a smaller -t or -o$/,
    },
    {
      args: '-t 2 --index 1 --instances 2 --keys DIR/keys --rpc http://127.0.0.1:1 --chain-id 1337',
      files: { keys: JSON.stringify(KEYS) },
      says: /^wallets 2\.\.3 do not exist: \S+\/keys has 3 \(0\.\.2\); use a smaller -t or -o$/,
    },
    {
      args: '-t 1 --index 1 --instances 2 --rpc URL --chain-id 1337',
      exit: 77,
      endpoint: () => serveMethods({ eth_chainId: '0x7a69' }),
      asks: ['eth_chainId'],
      says: /^http:\S+ is chain 31337, not 1337 as --chain-id says$/,
    },
    {
      args: 'merge',
      says: /^stress merge needs run files: their folder, their names, logs that have them, or '-' for /,
    },
    { args: "merge ''", says: /^stress merge: the name of a file is empty$/ },
    { args: 'merge - -', says: /^stress merge: '-', standard input, is given twice: it can be read once$/ },
    { args: 'merge x --expect many', says: /^--expect must be a whole number, not "many"$/ },
    { args: 'merge x -t 5', says: /^-t is an option of .*, not of stress merge$/ },
    { args: 'merg x', says: /^unknown command "merg": did you mean merge\?; see stress --help$/ },
  ],
  'how many wallets, and from which on': [
    { args: '', says: /^-t \(--threads\) is missing: how many wallets\? For instance: stress -t 200 -o 0$/ },
    { args: '-o 0 -d 5s', says: /^-t \(--threads\) is missing/ },
    { args: '-t', says: /^-t \(--threads\) needs a value \(N\)$/ },
    { args: "-t ''", says: /^-t \(--threads\) needs a value/ },
    { args: '-t -o 0', says: /^-t \(--threads\) needs a value/ },
    { args: '-t 0', says: /^-t \(--threads\) must be at least 1, not "0"$/ },
    { args: '-t -5', says: /^-t \(--threads\) must be at least 1, not "-5"$/ },
    { args: '-t 1.5', says: /^-t \(--threads\) must be a whole number, not "1.5"$/ },
    { args: '-t abc', says: /^-t \(--threads\) must be a whole number, not "abc"$/ },
    { args: '-t 1e3', says: /^-t \(--threads\) must be a whole number, not "1e3"$/ },
    { args: '-t 0x10', says: /^-t \(--threads\) must be a whole number, not "0x10"$/ },
    { args: '-t NaN', says: /^-t \(--threads\) must be a whole number, not "NaN"$/ },
    { args: "-t '1 2'", says: /^-t \(--threads\) must be a whole number, not "1 2"$/ },
    { args: '-t 5 -t 6', says: /^-t \(--threads\) is given 2 times: once is enough$/ },
    { args: '-t 5 --threads 5', says: /^-t \(--threads\) is given 2 times: once is enough$/ },
    { args: '-t 100001', says: /^-t \(--threads\) must be at most 100000, not "100001"$/ },
    { args: '-t 99999999999999999999', says: /^-t \(--threads\) must be at most 100000, not "9{20}"$/ },
    { args: '-t 1 -o', says: /^-o \(--offset\) needs a value \(N\)$/ },
    { args: "-t 1 -o ''", says: /^-o \(--offset\) needs a value/ },
    { args: '-t 1 -o -1', says: /^-o \(--offset\) must be at least 0, not "-1"$/ },
    { args: '-t 1 -o 0.5', says: /^-o \(--offset\) must be a whole number, not "0.5"$/ },
    { args: '-t 1 -o first', says: /^-o \(--offset\) must be a whole number, not "first"$/ },
    { args: '-t 1 -o 0 -o 1', says: /^-o \(--offset\) is given 2 times: once is enough$/ },
    { args: '-t 1 -o 2147483648', says: /^-o \(--offset\) must be at most 2147483647, not "2147483648"$/ },
    {
      args: '-t 2 -o 2147483647',
      says: /^-o 2147483647 and -t 2 go beyond wallet 2147483647, the last index of BIP-32$/,
    },
  ],

  keys: [
    {
      args: '-t 4 --keys DIR/keys',
      files: { keys: JSON.stringify(KEYS) },
      says: /^wallets 0\.\.3 do not exist: \S+\/keys has 3 \(0\.\.2\); use a smaller -t or -o$/,
    },
    {
      args: '-t 1 -o 3 --keys DIR/keys',
      files: { keys: KEYS.join('\n') },
      says: /^wallets 3\.\.3 do not exist: \S+\/keys has 3 \(0\.\.2\); use a smaller -t or -o$/,
    },
    {
      args: '-t 1 --keys DIR/none',
      exit: 65,
      says: /^cannot read the key file \S+\/none: no such file$/,
    },
    { args: '-t 1 --keys DIR', exit: 65, says: /^cannot read the key file \S+: it is a folder$/ },
    {
      args: '-t 1 --keys DIR/keys',
      given: 'empty',
      files: { keys: '\n# none\n' },
      exit: 65,
      says: /keys holds no key$/,
    },
    {
      args: '-t 1 --keys DIR/keys',
      given: '[]',
      files: { keys: '[]' },
      exit: 65,
      says: /keys holds no key$/,
    },
    {
      args: '-t 1 --keys DIR/keys',
      given: 'a line that is no key',
      files: { keys: `${KEYS[0]}\n# two\n${NOT_A_KEY}\n` },
      exit: 65,
      says: /keys, line 3: not a private key: expected 64 hexadecimal digits, with or without 0x$/,
    },
    {
      args: '-t 1 --keys DIR/keys',
      given: 'a key that is too short',
      files: { keys: KEYS[0].slice(0, -1) },
      exit: 65,
      says: /keys, line 1: not a private key/,
    },
    {
      args: '-t 1 --keys DIR/keys',
      given: 'a key of zero',
      files: { keys: '0'.repeat(64) },
      exit: 65,
      says: /keys, line 1: not a private key/,
    },
    {
      args: '-t 1 --keys DIR/keys',
      given: 'a key beyond the order of the curve',
      files: { keys: 'f'.repeat(64) },
      exit: 65,
      says: /keys, line 1: not a private key/,
    },
    {
      args: '-t 1 --keys DIR/keys',
      given: 'JSON that breaks off within a key',
      files: { keys: `["${KEYS[0]}", "${KEYS[1].slice(0, 40)}` },
      exit: 65,
      says: /keys starts like a JSON array but is not valid JSON$/,
    },
    {
      args: '-t 1 --keys DIR/keys',
      given: 'an object without privateKey',
      files: { keys: JSON.stringify([{ privateKey: KEYS[0] }, { key: KEYS[1] }]) },
      exit: 65,
      says: /keys, entry 2: not a private key/,
    },
    {
      args: '-t 1 --keys DIR/keys',
      given: 'a number and null for keys',
      files: { keys: '[1, null]' },
      exit: 65,
      says: /keys, entry 1: not a private key/,
    },
    {
      args: '-t 1 --keys DIR/keys',
      given: 'an object in place of the array',
      files: { keys: JSON.stringify({ privateKey: KEYS[0] }) },
      exit: 65,
      says: /keys, line 1: not a private key/,
    },
    {
      args: '-t 1 --keys DIR/keys',
      given: 'a key twice',
      files: { keys: `${KEYS[0]}\n${KEYS[1]}\n${KEYS[0].slice(2).toUpperCase()}\n` },
      exit: 65,
      says: /keys, line 3: the same key as line 1$/,
    },
    {
      args: '-t 1 --keys DIR/keys',
      given: 'a key twice, in JSON',
      files: { keys: JSON.stringify([KEYS[0], { privateKey: KEYS[0] }]) },
      exit: 65,
      says: /keys, entry 2: the same key as entry 1$/,
    },
    {
      args: `-t 1 --keys ${KEYS[2]}`,
      given: 'a key in place of a file',
      exit: 64,
      says: /^--keys must be the name of a file; the value looks like a key or a mnemonic$/,
    },
    { args: '-t 1 --keys', says: /^--keys needs a value \(FILE\)$/ },
    {
      args: '-t 1 --rpc mainnet.invalid/v3/0123456789abcdef0123456789abcdef',
      given: 'http:// forgotten before an endpoint with a key of its own',
      says: /^--rpc must be a URL such as http:\/\/127\.0\.0\.1:8545(?!.*0123456789abcdef)/,
    },
    { args: "-t 1 --keys ' '", says: /^--keys must not be empty$/ },
    {
      args: '-t 1 --keys DIR/keys',
      given: 'and a mnemonic',
      files: { keys: KEYS[0] },
      env: { STRESS_MNEMONIC: `${LAST_WORDS} junk` },
      says: /^--keys and --mnemonic exclude each other \(look into the environment, too\)$/,
    },
  ],

  mnemonics: [
    {
      args: '-t 1',
      env: { STRESS_MNEMONIC: 'test' },
      says: /^the mnemonic has 1 words: give 12, 15, 18, 21 or 24$/,
    },
    {
      args: '-t 1',
      given: '13 words',
      env: { STRESS_MNEMONIC: `${LAST_WORDS} test junk` },
      says: /^the mnemonic has 13 words/,
    },
    {
      args: '-t 1',
      given: 'a wrong checksum',
      env: { STRESS_MNEMONIC: `${LAST_WORDS} test` },
      says: /^the mnemonic is not valid: a word is not in the English BIP-39 list, or the checksum does not match$/,
    },
    {
      args: '-t 1',
      given: 'a wrong last word',
      env: { STRESS_MNEMONIC: `${LAST_WORDS} kettle` },
      says: /^the mnemonic is not valid/,
    },
    {
      args: `-t 1 --mnemonic '${LAST_WORDS} kettle'`,
      says: /^the mnemonic is not valid/,
      warns: /--mnemonic on the command line can be read by every user of this machine: use STRESS_MNEMONIC instead/,
    },
    { args: '-t 1 --mnemonic', says: /^--mnemonic needs a value \(WORDS\)$/ },
    {
      args: '-t 1 --hd-path 44/60',
      says: /^--hd-path must be a derivation path such as m\/44'\/60'\/0'\/0 .*not "44\/60"$/,
    },
    { args: '-t 1 --hd-path m/2147483648', says: /^--hd-path has an index of 2147483648 or more$/ },
  ],

  options: [
    { args: '-t 1 --thread 5', says: /^unknown option --thread: did you mean --threads\?; see stress --help$/ },
    { args: '-t 1 --ofset 5', says: /^unknown option --ofset: did you mean --offset\?/ },
    { args: '-t 1 --drain-timout=5s', says: /^unknown option --drain-timout: did you mean --drain-timeout\?/ },
    { args: '-t 1 --no-quiet', says: /^unknown option --no-quiet/ },
    { args: '-t 1 --frobnicate', says: /^unknown option --frobnicate; see stress --help$/ },
    { args: '-t 1 -z', says: /^unknown option -z; see stress --help$/ },
    { args: '-t 1 --constructor x', says: /^unknown option --constructor/ },
    { args: '-t 1 --__proto__ x', says: /^unknown option --_+proto_+; see stress --help$/ },
    { args: '-t 1 --fund-from.x 5', says: /^unknown option --fund-from\.x/ },
    { args: '-t 1 --requestTimeout 5s', says: /^unknown option --requestTimeout: did you mean --request-timeout\?/ },
    {
      args: '-t 1 --to 0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266',
      says: /^--to is an option of stress reclaim, not of stress$/,
    },
    { args: '-t 1 --port 8545', says: /^--port is an option of stress node, not of stress$/ },
    {
      args: 'node -t 1 --rpc http://127.0.0.1:1',
      says: /^--rpc is an option of stress, stress fund, stress reclaim, stress sweep, not of stress node$/,
    },
    {
      args: 'fund -t 1 --rpc http://127.0.0.1:1 --iterations 5',
      says: /^--iterations is an option of stress, stress sweep, stress compare, not of stress fund$/,
    },
    {
      args: 'fund -t 1 --rpc http://127.0.0.1:1 -v',
      says: /^-v is an option of stress, not of stress fund$/,
    },
    {
      args: '-t 1 --inclusion magic',
      says: /^--inclusion must be one of auto, heads, blocks, sync, receipts, not "magic"$/,
    },
    {
      args: '-t 1 --workload magic',
      says: /^--workload must be one of counter, transfer, erc20, logs, rpc, \.\/FILE\.js, not "magic"$/,
    },
    {
      args: '-t 1 --set a=1',
      says: /^--set a=\.\.\. is a setting of a workload of your own: --workload \.\/FILE\.js$/,
    },
    { args: '-t 1 --workload ./x.js --set a', says: /^--set must be a name and a value such as slots=20, not "a"$/ },
    { args: '-t 1 --workload ./x.js --set a=1,a=2', says: /^--set a=\.\.\. is given twice: once is enough$/ },
    { args: '-t 1 --workload ./x.js --contracts c', says: /^--contracts is an option of --workload counter$/ },
    {
      args: '-t 1 --workload DIR/x.js',
      given: 'no such file',
      exit: 65,
      says: /^there is no workload file \S+x\.js; stress new-workload \S+x\.js makes one$/,
    },
    {
      args: '-t 1 --workload DIR/x.mjs',
      given: 'broken',
      exit: 65,
      files: { 'x.mjs': '\nconst 5;' },
      says: /^\S*x\.mjs: SyntaxError: .*; node \S*x\.mjs shows the line$/,
    },
    {
      args: '-t 1 --workload DIR/x.mjs',
      given: 'of another version',
      exit: 65,
      files: { 'x.mjs': "export const contract = 'evm-stress/workload@2';" },
      says: /^\S+x\.mjs is written for 'evm-stress\/workload@2': this version supports evm-stress\/workload@1$/,
    },
    {
      args: 'new-workload',
      says: /^stress new-workload needs the name of one file to write: stress new-workload FILE\.js$/,
    },
    { args: 'new-workload mine.json', says: /^a workload is a JavaScript module, whose name ends in \.js or \.mjs/ },
    { args: 'new-workload DIR/none/mine.js', exit: 73, says: /^cannot write \S+: its folder does not exist$/ },
    { args: '-t 1 --transport magic', says: /^--transport must be one of auto, undici, tcp, ws, not "magic"$/ },
    {
      args: '-t 1 --log-level loud',
      says: /^--log-level must be one of debug, info, warn, error, silent, not "loud"$/,
    },
    { args: '-t 1 --connections 0', says: /^--connections must be at least 1, not "0"$/ },
    {
      args: '-t 1 --gas-price cheap',
      says: /^--gas-price must be an amount such as 0\.5, 2gwei or 1000wei .*not "cheap"$/,
    },
    { args: '-t 1 --gas-price -1', says: /^--gas-price must be an amount/ },
    {
      args: '-t 1 --max-fee 0.0000000001',
      says: /^--max-fee has more decimals than its unit, gwei, has: "0\.0000000001"$/,
    },
    { args: '-t 1 --gas-price 2 --max-fee 2', says: /^--gas-price and --max-fee exclude each other$/ },
    { args: '-t 1 --fund-amount lots', says: /^--fund-amount must be an amount such as 0\.5, 2ether/ },
    {
      args: '-t 1 --legacy=perhaps',
      says: /^--legacy must be true or false, not "perhaps"$/,
    },
    { args: '-t 1 --chain-id x', says: /^--chain-id must be a whole number, not "x"$/ },
    { args: '-t 1 --chain-id 0', says: /^--chain-id must be at least 1, not "0"$/ },
    { args: '-t 1 --chain-id 5 --allow-chain 1', says: /^--allow-chain and --chain-id name different chains$/ },
  ],

  commands: [
    { args: 'nodes -t 1', says: /^unknown command "nodes": did you mean node\?; see stress --help$/ },
    { args: 'frobnicate', says: /^unknown command "frobnicate"; see stress --help$/ },
    { args: 'run -t 1', says: /^unknown command "run"/ },
    { args: '5', says: /^unknown command "5"/ },
    { args: 'node extra -t 1', says: /^unexpected argument "extra"$/ },
    { args: 'node', says: /^-t \(--threads\) is missing/ },
    { args: 'node -t 1 --port 65536', says: /^--port must be at most 65535, not "65536"$/ },
    { args: 'fund -t 1', says: /^stress fund needs an endpoint: --rpc URL$/ },
    {
      args: 'fund -t 1 --rpc http://127.0.0.1:1',
      says: /^stress fund needs a funder: --fund-from FILE, or its key in STRESS_FUNDER_KEY$/,
    },
    { args: 'reclaim -t 1', says: /^stress reclaim needs an endpoint: --rpc URL$/ },
    {
      args: 'reclaim -t 1 --rpc http://127.0.0.1:1',
      says: /^stress reclaim needs a receiver: --to ADDRESS or --fund-from$/,
    },
    { args: 'reclaim -t 1 --rpc http://127.0.0.1:1 --to 0x12', says: /^--to must be an address .*not "0x12"$/ },
    {
      args: 'reclaim -t 1 --rpc http://127.0.0.1:1 --to 0xF39Fd6e51aad88F6F4ce6aB8827279cffFb92266',
      given: 'a wrong checksum',
      says: /^--to must be an address .*with a valid checksum/,
    },
  ],

  payments: [
    {
      args: '-t 1 --workload transfer',
      says: /^--workload transfer pays from wallet to wallet and has only one: use at least two \(-t 2\), or --receivers N$/,
    },
    { args: '-t 5 --receivers 10', says: /^--receivers is an option of --workload transfer and erc20$/ },
    {
      args: '-t 5 --workload transfer --receivers 10000001',
      says: /^--receivers must be at most 10000000, not "10000001"$/,
    },
    { args: '-t 5 --workload transfer --receivers 0', says: /^--receivers must be at least 1, not "0"$/ },
    {
      args: '-t 5 --workload transfer --create-receivers before',
      says: /^--create-receivers before needs --receivers N$/,
    },
    {
      args: '-t 5 --workload transfer --receivers 5 --create-receivers later',
      says: /^--create-receivers must be one of before, during, not "later"$/,
    },
    {
      args: '-t 5 --payload 200000',
      says: /^--payload must be a whole number of bytes from 16 to 100000 \(nodes take transactions of up to 128 KiB\), not "200000"$/,
    },
    { args: '-t 5 --payload 1kB', says: /^--payload must be a whole number of bytes from 16 to 100000 .*, not "1kB"$/ },
    {
      args: '-t 5 --workload rpc --method eth_blockNumber --payload 100',
      says: /^--payload is an option of --workload counter and transfer$/,
    },
    {
      args: 'fund -t 5 --rpc http://127.0.0.1:1 --workload rpc',
      env: { STRESS_FUNDER_KEY: KEYS[0] },
      says: /^--workload rpc sends no transactions: there is nothing to fund$/,
    },
  ],

  calls: [
    {
      args: '-t 1 --workload rpc --calls light --threshold calls.eth_getLogs.p99<1s',
      says: /^--threshold calls\.eth_getLogs\.p99<1s: there is no operation "eth_getLogs"; there are eth_blockNumber, /,
    },
    {
      args: '-t 1 --workload rpc --method eth_chainId --threshold calls.eth_chainId.p99<1s',
      says: /: there is no operation "eth_chainId"; operations of --workload rpc have no names, those of --calls FILE have$/,
    },
    {
      args: '-t 1 --threshold calls.constructor.failed=0',
      says: /^--threshold calls\.constructor\.failed=0: there is no operation "constructor"; operations of --workload counter have no names, those of --calls FILE have$/,
    },
    { args: '-t 2 --workload transfer --contracts c', says: /^--contracts is an option of --workload counter$/ },
    {
      args: '-t 1 --workload rpc --method eth_getBalance --params ["{{address}}","latest"]',
      says: /^\{\{templates\}\} work in calls files, not in --params: use --calls FILE$/,
    },
    { args: '-t 1 --workload rpc', says: /^--workload rpc needs --method, for instance eth_blockNumber, or --calls$/ },
    { args: '-t 1 --calls light', says: /^--calls is an option of --workload rpc$/ },
    {
      args: '-t 1 --workload rpc --calls light --method eth_chainId',
      says: /^--calls and --method exclude each other: a calls file has both$/,
    },
    {
      args: '-t 1 --workload rpc --calls DIR/no.json',
      exit: 65,
      says: /^cannot read the calls file .*no\.json: there is no such file; .*; presets: light, wallet, indexer, pages$/,
    },
    {
      args: '-t 1 --workload rpc --calls DIR/c.json',
      files: { 'c.json': '{"schema":"evm-stress/calls@1","calls":[{"method":"a","params":["{{block.newest}}"]}]}' },
      exit: 65,
      says: /^.*c\.json, call 1: \{\{block\.newest\}\} is no template: did you mean \{\{block\.latest\}\}\?$/,
    },
    {
      args: '-t 1 --workload rpc --calls DIR/c.json',
      files: { 'c.json': '{"schema":"evm-stress/calls@1","calls":[{"method":"a","weight":0}]}' },
      exit: 65,
      says: /^.*c\.json, call 1: "weight" must be > 0; see docs\/calls\.md$/,
    },
    {
      args: '-t 1 --workload rpc --calls DIR/c.json',
      files: { 'c.json': '{"schema":"evm-stress/calls@1","calls":[{"method":"a","check":"same"}]}' },
      says: /^.*c\.json compares answers with a second endpoint \("check": "same"\): give --check-rpc URL$/,
    },
    {
      args: '-t 1 --workload rpc --calls pages',
      says: /^the preset pages lists a data set: give --data FILE, written by --workload logs$/,
    },
    {
      args: '-t 1 --workload rpc --calls light --data DIR/logs.json',
      says: /^--data is for calls with \{\{data\.\.\.\}\} or \{\{page\.\.\.\}\} in them, and the preset light has none$/,
    },
    {
      args: '-t 1 --workload rpc --calls indexer --check-rpc http://127.0.0.1:1',
      says: /^--check-rpc is for calls with "check": "same", and the preset indexer has none$/,
    },
    {
      args: '-t 1 --users 2 --workload rpc --calls light',
      says: /^-t 1 and --users 2 are two names of one option: give one of them$/,
    },
    { args: '-t 1 --iterations 0', says: /^--iterations must be at least 1, not "0"$/ },
    {
      args: '-t 1 --rate 10 --think-time 1s',
      says: /^--think-time is for a closed loop, and --rate and --stages make an open loop: /,
    },
  ],

  durations: [
    {
      args: '-t 1 -d 5',
      says: /^-d \(--duration\) must be a duration with its unit such as 250ms, 30s, 5m or 1h, not "5"$/,
    },
    { args: '-t 1 -d forever', says: /^-d \(--duration\) must be a duration .*not "forever"$/ },
    { args: '-t 1 -d 5d', says: /^-d \(--duration\) must be a duration .*not "5d"$/ },
    { args: '-t 1 -d -5s', says: /^-d \(--duration\) must be a duration .*not "-5s"$/ },
    { args: "-t 1 -d '5 s'", says: /^-d \(--duration\) must be a duration .*not "5 s"$/ },
    { args: '-t 1 -d 1h30m', says: /^-d \(--duration\) must be a duration/ },
    { args: '-t 1 -d 0s', says: /^-d \(--duration\) must be at least 100ms, not "0s"$/ },
    { args: '-t 1 -d 99999h', says: /^-d \(--duration\) must be at most 24 days, not "99999h"$/ },
    { args: '-t 1 -d', says: /^-d \(--duration\) needs a value \(TIME\)$/ },
    { args: '-t 1 -d200ms -o', given: 'the duration is fine', says: /^-o \(--offset\) needs a value/ },
    { args: '-t 1 -d 5s -d 6s', says: /^-d \(--duration\) is given 2 times/ },
    { args: '-t 1 --interval 0s', says: /^--interval must be at least 100ms, not "0s"$/ },
    { args: '-t 1 --drain-timeout 5', says: /^--drain-timeout must be a duration/ },
    { args: '-t 1 --tx-timeout 0s', says: /^--tx-timeout must be at least 100ms, not "0s"$/ },
    { args: '-t 1 --request-timeout 1us', says: /^--request-timeout must be a duration/ },
    {
      args: '-t 1',
      env: { CI: 'true' },
      says: /^CI is set and there is no --duration: .*give one, for instance -d 30s$/,
    },
    { args: '-t 1', env: { CI: '1' }, says: /^CI is set and there is no --duration/ },
  ],

  endpoints: [
    { args: '-t 1 --rpc', says: /^--rpc needs a value \(URL\)$/ },
    {
      args: '-t 1 --rpc nonsense',
      says: /^--rpc must be a URL such as http:\/\/127\.0\.0\.1:8545, with http:\/\/, .* or wss:\/\/ before it$/,
    },
    { args: '-t 1 --rpc 127.0.0.1:8545', says: /^--rpc must be a URL such as/ },
    { args: '-t 1 --rpc localhost:8545', says: /^--rpc must start with http:\/\/, .* or wss:\/\/, not "localhost:"$/ },
    { args: '-t 1 --rpc http://127.0.0.1:99999', says: /^--rpc must be a URL such as/ },
    { args: '-t 1 --rpc ftp://127.0.0.1', says: /^--rpc must start with http:\/\/, .* or wss:\/\/, not "ftp:"$/ },
    {
      args: '-t 1 --rpc ws://127.0.0.1:8546 --transport undici',
      says: /^--transport undici does not speak ws:\/\/: leave it out, or give another URL with --rpc$/,
    },
    {
      args: '-t 1 --rpc http://127.0.0.1:8546 --transport ws',
      says: /^--transport ws does not speak http:\/\/: leave it out, or give another URL with --rpc$/,
    },
    {
      args: '-t 1 --rpc http://127.0.0.1:1 --rpc http://127.0.0.1:2',
      says: /^-t 1 is less than the number of endpoints/,
    },
    {
      args: '-t 1 --rpc http://user:%zz@127.0.0.1:1',
      given: 'a password that is no percent-encoding',
      says: /^--rpc/,
    },
    {
      args: '-t 1 --rpc URL',
      given: 'nothing listens',
      endpoint: async () => `http://127.0.0.1:${await freePort()}`,
      exit: 69,
      says: /^http:\/\/127\.0\.0\.1:\d+: connection refused$/,
    },
    {
      args: '-t 1 --rpc URL',
      given: 'no such host',
      endpoint: async () => 'http://stress.invalid:8545',
      exit: 69,
      says: /^http:\/\/stress\.invalid:8545: host name not found$/,
    },
    {
      args: '-t 1 --rpc URL --request-timeout 500ms',
      given: 'no answer',
      endpoint: () => serve(() => SILENCE),
      exit: 69,
      says: /^http:\/\/127\.0\.0\.1:\d+: no answer in time$/,
      asks: ['eth_chainId'],
    },
    {
      args: '-t 1 --rpc URL',
      given: 'it hangs up',
      endpoint: () => serve(() => HANG_UP),
      exit: 69,
      says: /^http:\/\/127\.0\.0\.1:\d+: connection lost$/,
      asks: ['eth_chainId', 'eth_chainId', 'eth_chainId'],
    },
    {
      args: '-t 1 --rpc URL',
      given: 'TLS where there is none',
      endpoint: async () => (await serve(() => SILENCE)).url.replace('http:', 'https:'),
      exit: 69,
      says: /^https:\/\/127\.0\.0\.1:\d+: .*(SSL|TLS|wrong version number)/i,
    },
    ...answers({
      'a web page': [
        { body: '<!doctype html><title>Welcome</title>' },
        /does not speak JSON-RPC: it answered "<!doctype html><title>Welcome<\/title>"$/,
      ],
      'an empty body': [{ body: '' }, /does not speak JSON-RPC: it answered an empty body$/],
      'HTTP 401': [{ status: 401, body: 'Unauthorized' }, /refused the request with HTTP 401: check its credentials$/],
      'HTTP 401 with JSON': [
        { status: 401, body: '{"message":"Unauthorized"}' },
        /refused the request with HTTP 401: check its credentials$/,
      ],
      'HTTP 403': [
        { status: 403, body: '<h1>Forbidden</h1>' },
        /refused the request with HTTP 403: check its credentials$/,
      ],
      'HTTP 404': [
        { status: 404, body: '404 page not found' },
        /answered HTTP 404 \(not found\): check the path of the URL$/,
      ],
      'HTTP 404 with JSON': [
        { status: 404, body: '{"statusCode":404}' },
        /answered HTTP 404 \(not found\): check the path of the URL$/,
      ],
      'HTTP 502': [{ status: 502, body: '<h1>Bad Gateway</h1>' }, /answered HTTP 502 without JSON-RPC$/],
      'HTTP 502 with JSON': [{ status: 502, body: '{}' }, /answered HTTP 502 without JSON-RPC$/],
      'a redirection': [
        { status: 301, headers: { location: 'http://127.0.0.1:1/' }, body: '' },
        /answered HTTP 301 without JSON-RPC$/,
      ],
      'JSON that is not JSON-RPC': [
        { body: '{"hello":"world"}' },
        /answered eth_chainId (without JSON-RPC|with a foreign id)$/,
      ],
      'JSON null': [{ body: 'null' }, /answered eth_chainId without JSON-RPC$/],
      'a JSON string': [{ body: '"0x1"' }, /answered eth_chainId without JSON-RPC$/],
      'an array': [{ body: '[]' }, /answered eth_chainId (without JSON-RPC|with a foreign id)$/],
      'another id': [{ body: '{"jsonrpc":"2.0","id":99,"result":"0x1"}' }, /answered eth_chainId with a foreign id$/],
      'no result': [{ body: '{"id":1,"jsonrpc":"2.0"}' }, /answered eth_chainId without a result$/],
      'a result of another kind': [
        { body: '{"jsonrpc":"2.0","id":1,"result":{"chain":1}}' },
        /expected a quantity such as 0x1b4, got/,
      ],
      'an error': [
        { body: '{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no such\\nmethod"}}' },
        /eth_chainId: no such method \(-32601\)$/,
      ],
      'an error that echoes a terminal escape': [
        { body: '{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"\\u001b[31mred"}}' },
        /eth_chainId: \[31mred \(-1\)$/,
      ],
    }),
  ],

  chains: [
    {
      args: '-t 1 --rpc URL --chain-id 1337',
      given: 'chain 31337',
      endpoint: () => serveMethods({ eth_chainId: '0x7a69' }),
      exit: 77,
      says: /^http:\S+ is chain 31337, not 1337 as --chain-id says$/,
      asks: ['eth_chainId'],
    },
    {
      args: '-t 1 --rpc URL',
      given: 'chain 424242, which has no wallets of its own',
      endpoint: () => serveMethods({ eth_chainId: '0x67932', ...EMPTY_CHAIN }),
      says: /^no wallets for chain 424242: neither keys nor a mnemonic are given; give --keys FILE, or a mnemonic in STRESS_MNEMONIC \(the well-known test mnemonic is used on local development chains only\)$/,
    },
    ...Object.entries({
      Ethereum: 1,
      Polygon: 137,
      BNB: 56,
      Avalanche: 43114,
      Flare: 14,
      Songbird: 19,
      Arbitrum: 42161,
      OP: 10,
      Base: 8453,
      Gnosis: 100,
    }).map(([name, id]) => mainnet(name, id, '-t 1 --rpc URL')),
    mainnet('Ethereum', 1, '-t 1 --rpc URL --chain-id 1'),
    mainnet('Ethereum', 1, '-t 1 --rpc URL --allow-chain 137'),
    mainnet('Ethereum', 1, 'reclaim -t 1 --rpc URL --to 0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266'),
    { ...mainnet('Ethereum', 1, 'fund -t 1 --rpc URL'), env: { STRESS_FUNDER_KEY: KEYS[0] } },
  ],

  funders: [
    {
      args: '-t 1 --rpc http://127.0.0.1:1',
      env: { STRESS_FUNDER_KEY: KEYS[0].slice(0, -1) },
      says: /^--fund-from is neither a private key/,
    },
    {
      args: '-t 1 --rpc http://127.0.0.1:1',
      given: 'a key in quotes',
      env: { STRESS_FUNDER_KEY: `"${KEYS[0]}"` },
      says: /^--fund-from is neither a private key \(64 hexadecimal digits\) nor the name of a file with one$/,
    },
    {
      args: '-t 1 --rpc http://127.0.0.1:1 --fund-from DIR/none',
      exit: 65,
      says: /^cannot read the key file \S+\/none: no such file$/,
    },
    {
      args: '-t 1 --rpc http://127.0.0.1:1 --fund-from DIR/two',
      files: { two: KEYS.slice(0, 2).join('\n') },
      exit: 65,
      says: /two has 2 keys: give a file with one key$/,
    },
  ],

  files: [
    {
      args: '-t 1 --out DIR/none/run.json',
      exit: 73,
      says: /^cannot write \S+\/none\/run\.json: its folder does not exist$/,
    },
    { args: '-t 1 --out DIR', exit: 73, says: /^cannot write \S+: it is a folder$/ },
    {
      args: '-t 1 --out DIR/file/run.json',
      files: { file: '' },
      exit: 73,
      says: /^cannot write \S+\/file\/run\.json: its folder is a file$/,
    },
    { args: '-t 1 --out', says: /^--out needs a value \(FILE\)$/ },
    {
      args: '-t 1 --contracts DIR/none/contracts.json',
      exit: 73,
      says: /^cannot write \S+: its folder does not exist$/,
    },
    { args: '-t 1 --contracts DIR', exit: 73, says: /^cannot write \S+: it is a folder$/ },
    {
      args: '-t 1 --contracts DIR/file',
      given: 'not JSON',
      files: { file: 'x' },
      exit: 65,
      says: /file is not valid JSON: give --contracts a file that stress wrote, or a new name$/,
    },
    {
      args: '-t 1 --contracts DIR/file',
      given: 'other JSON',
      files: { file: '{}' },
      exit: 65,
      says: /file is not a contracts file/,
    },
    { args: '-t 1 --log-file DIR/none/log', exit: 73, says: /^cannot write the log file \S+\/none\/log: / },
    { args: '-t 1 --log-file DIR', exit: 73, says: /^cannot write the log file / },
  ],

  '--config FILE': [
    { args: '--config DIR/none', exit: 65, says: /^cannot use the config file \S+\/none: no such file$/ },
    { args: '--config DIR', exit: 65, says: /^cannot use the config file \S+: / },
    {
      args: '--config DIR/c',
      given: 'not JSON',
      files: { c: 'threads: 5' },
      exit: 65,
      says: /: it is not valid JSON$/,
    },
    {
      args: '--config DIR/c',
      given: 'an array',
      files: { c: '[]' },
      exit: 65,
      says: /is not a JSON object of options$/,
    },
    {
      args: '--config DIR/c',
      given: 'an unknown name',
      files: { c: '{"thread": 5}' },
      exit: 65,
      says: /c: unknown option "thread": did you mean --threads\?$/,
    },
    {
      args: '--config DIR/c',
      given: 'a value of the wrong type',
      files: { c: '{"threads": [5]}' },
      exit: 65,
      says: /c: "threads" must be a string, a number or a boolean$/,
    },
    {
      args: '--config DIR/c',
      given: 'null',
      files: { c: '{"threads": null}' },
      exit: 65,
      says: /c: "threads" must be a string, a number or a boolean$/,
    },
    {
      args: '--config DIR/c',
      given: 'a value without sense',
      files: { c: '{"threads": "many"}' },
      exit: 65,
      says: /"threads" .*must be a whole number, not "many"$/,
    },
    {
      given: 'a flag wins over it',
      args: '-t 0 --config DIR/c',
      files: { c: '{"threads": 5}' },
      says: /^-t \(--threads\) must be at least 1, not "0"$/,
    },
    { args: '-t 1 --config', says: /^--config needs a value/ },
    {
      args: '-t 1 --config DIR/c --config DIR/c',
      files: { c: '{}' },
      says: /^--config is given 2 times/,
    },
  ],

  'the environment': [
    { args: '', env: { STRESS_THREADS: '0' }, says: /^STRESS_THREADS must be at least 1, not "0"$/ },
    { args: '-t 1', env: { STRESS_OFFSET: 'x' }, says: /^STRESS_OFFSET must be a whole number, not "x"$/ },
    { args: '-t 1', env: { STRESS_RPC: 'nonsense' }, says: /^STRESS_RPC must be a URL such as/ },
    { args: '-t 1', env: { STRESS_TX_TIMEOUT: '5' }, says: /^STRESS_TX_TIMEOUT must be a duration/ },
    { args: '-t 1', env: { STRESS_QUIET: 'perhaps' }, says: /^STRESS_QUIET must be true or false, not "perhaps"$/ },
    {
      args: '-t 0',
      env: { STRESS_THREADS: '5' },
      given: 'a flag wins over it',
      says: /^-t \(--threads\) must be at least 1, not "0"$/,
    },
    {
      args: '-o 0',
      env: {
        STRESS_SERVICE_HOST: '10.0.0.1',
        STRESS_PORT: 'tcp://10.0.0.1:80',
        STRESS_PORT_80_TCP: 'x',
        STRESS_NONSENSE: '1',
      },
      given: 'names of others are ignored',
      says: /^-t \(--threads\) is missing/,
    },
    {
      args: 'node -o 0',
      env: { STRESS_PORT: 'tcp://10.0.0.1:80' },
      given: 'as Kubernetes sets it for a Service named stress',
      says: /^-t \(--threads\) is missing/,
    },
  ],
};

/**
 * Endpoints that answer every request alike.
 * @param {Record<string, [Answer, RegExp]>} cases
 * @returns {Row[]}
 */
function answers(cases) {
  return Object.entries(cases).map(([given, [answer, says]]) => ({
    args: '-t 1 --rpc URL',
    given,
    // An id of 1 stands for that of the request.
    endpoint: () =>
      serve((asked) => ({ ...answer, body: answer.body.replace('"id":1,', `"id":${JSON.parse(asked).id},`) })),
    exit: 69,
    says,
    asks: ['eth_chainId'],
  }));
}

/**
 * A public network is refused before anything but its chain id is asked for.
 * @param {string} name
 * @param {number} id
 * @param {string} args
 * @returns {Row}
 */
function mainnet(name, id, args) {
  return {
    args,
    given: `chain ${id}, ${name}`,
    endpoint: () => serveMethods({ eth_chainId: `0x${id.toString(16)}` }),
    env: { STRESS_MNEMONIC: `${LAST_WORDS} junk` },
    exit: 77,
    says: new RegExp(
      `^chain ${id} is .*${name}.*, a public network whose coins are worth money: if you mean it, say --allow-chain ${id}$`,
    ),
    asks: ['eth_chainId'],
  };
}

/** @param {Row} row @returns {string} what a user would type */
function commandLine({ args, env = {}, given }) {
  const settings = Object.entries(env).map(([name, value]) => `${name}=${isSecret(value) ? '***' : value} `);
  const shown = args.split(' ').map((word) => (isSecret(word) ? '***' : word));
  return `${settings.join('')}stress ${shown.join(' ')}${given === undefined ? '' : ` (${given})`}`;
}

/** @param {string} text */
function isSecret(text) {
  return /[0-9a-z]{60}/i.test(text) || text.includes(LAST_WORDS);
}

/** @param {string} args @param {Record<string, string>} values @returns {string[]} */
function words(args, values) {
  return [...args.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, bare]) => quoted ?? fill(bare, values));
}

/** @param {string} text @param {Record<string, string>} values */
function fill(text, values) {
  return Object.entries(values).reduce((filled, [name, value]) => filled.replace(name, value), text);
}

/** Nothing of a key or a mnemonic may be seen, not even most of it. @param {string} text */
function assertNoSecret(text) {
  for (const key of [...KEYS, NOT_A_KEY]) {
    const digits = key.slice(2);
    for (let at = 0; at + 12 <= digits.length; at += 1)
      assert.ok(!text.toLowerCase().includes(digits.slice(at, at + 12)), `a part of a key is shown: ${text}`);
  }
  assert.ok(!/test test test/.test(text), `the mnemonic is shown: ${text}`);
}

/**
 * @typedef {object} Case a row, made ready
 * @property {Row} row
 * @property {string[]} args
 * @property {Record<string, string>} env
 * @property {string} cwd
 * @property {string[]} methods that its endpoint was asked for
 *
 * @param {Row} row
 * @param {string} folder an empty one
 * @returns {Promise<Case>}
 */
async function prepare(row, folder) {
  mkdirSync(folder);
  for (const [name, text] of Object.entries(row.files ?? {})) writeFileSync(join(folder, name), text, { mode: 0o600 });
  const served = await row.endpoint?.();
  const values = { URL: typeof served === 'string' ? served : (served?.url ?? ''), DIR: folder };
  const env = Object.fromEntries(Object.entries(row.env ?? {}).map(([name, value]) => [name, fill(value, values)]));
  return {
    row,
    args: words(row.args, values),
    env: {
      // Input that is not found to be bad starts a run: it shall end soon.
      ...(row.env?.CI === undefined ? { STRESS_DURATION: '100ms' } : {}),
      // An embedded chain makes a folder of its own in here, and this folder too, which stays.
      TMPDIR: join(folder, 'a chain was started'),
      ...env,
    },
    cwd: folder,
    methods: typeof served === 'object' ? served.methods : [],
  };
}

/**
 * @param {Case} prepared
 * @param {{code: number | null, stdout: string, stderr: string}} result
 */
function check({ row, cwd, methods }, { code, stdout, stderr }) {
  const lines = stderr.split('\n').slice(0, -1);
  if (row.warns !== undefined) assert.match(lines.shift() ?? '', row.warns);
  assert.equal(lines.length, 1, `one line on standard error, not:\n${stderr}`);
  assert.ok(stderr.endsWith('\n'));
  assert.match(lines[0], /^stress: /);
  assert.match(lines[0].slice('stress: '.length), row.says);
  assert.doesNotMatch(lines[0], /bug of stress|undefined|\[object | {4}at /);
  assert.equal(code, row.exit ?? 64);
  assert.equal(stdout, '', 'nothing on standard output');
  assertNoSecret(stderr);
  if (row.asks !== undefined) assert.deepEqual(methods, row.asks);
  assert.ok(!methods.some((method) => /send|sign/i.test(method)), `the endpoint was asked for ${methods.join(', ')}`);
  assert.deepEqual(
    readdirSync(cwd).sort(),
    Object.keys(row.files ?? {}).sort(),
    'no file is made, no chain is started',
  );
}

/** The first row of each exit code is a process of its own, as a user's is. */
const ALONE = new Set(
  new Map(
    Object.values(TABLE)
      .flat()
      .reverse()
      .map((row) => [row.exit, row]),
  ).values(),
);

describe('bad input', () => {
  const folder = mkdtempSync(join(tmpdir(), 'stress-bad-input-'));
  /** @type {Map<Row, Case>} */
  let cases = new Map();
  /** @type {Map<Row, StressResult>} */
  let results = new Map();

  before(async () => {
    const rows = Object.values(TABLE).flat();
    const prepared = await Promise.all(rows.map((row, i) => prepare(row, join(folder, String(i)))));
    cases = new Map(rows.map((row, i) => [row, prepared[i]]));
    const together = prepared.filter(({ row }) => !ALONE.has(row));
    const all = await runTable(together, folder);
    results = new Map(together.map(({ row }, i) => [row, all[i]]));
  });
  after(() => rmSync(folder, { recursive: true, force: true }));

  for (const [subject, rows] of Object.entries(TABLE)) {
    describe(subject, () => {
      for (const row of rows) {
        test(`${commandLine(row)} -> ${row.exit ?? 64}`, async (t) => {
          const prepared = /** @type {Case} */ (cases.get(row));
          const { args, env, cwd } = prepared;
          const result = results.get(row) ?? (await runStress(args, { env, cwd }));
          t.diagnostic(`exit ${result.code}: ${result.stderr.trimEnd()}`);
          check(prepared, result);
        });
      }
    });
  }
});
