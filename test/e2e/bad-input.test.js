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
 *
 * @typedef {[args: string, says: RegExp, more?: Omit<Row, 'args' | 'says'>]} ShortRow
 */

/** Two endpoints, which are not asked. */
const LIVE = '--rpc-a http://127.0.0.1:1 --rpc-b http://127.0.0.1:2 -t 1 -d 30s';

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
  eth_getBlockByNumber: {
    number: '0x0',
    hash: `0x${'1'.repeat(64)}`,
    gasLimit: '0x1c9c380',
    baseFeePerGas: '0x7',
    transactions: [],
  },
});

/** @type {Record<string, Array<Row | ShortRow>>} */
const TABLE = {
  'which run files': [
    ['report', /^stress report needs files: stress report FILE\.\.\.$/],
    ['report -t 5 run.json', /^--threads is an option of .*, not of stress report$/],
    ['report --html DIR run.json', /^cannot write \S+: it is a folder$/, { exit: 73 }],
    [
      'report DIR/none.json',
      /^cannot read .*none\.json: no such file; give a file that --out has written$/,
      { exit: 65 },
    ],
    ['report DIR', /^\S+ is a folder without sweep\.json or compare\.json or bisect\.json: give a file$/, { exit: 65 }],
  ],
  studies: [
    ['sweep -t 5 -d 1s', /^stress sweep needs an option with several values, such as -t 10,40,100 /],
    ['sweep -t 5,, -d 1s', /^-t \(--threads\) has an axis with an empty value/],
    ['sweep -t 10..5 -d 1s', /^-t \(--threads\) has "10\.\.5", which is not a range: FROM\.\.TO\/STEP/],
    ['sweep -t 1..5/0 -d 1s', /^-t \(--threads\) has "1\.\.5\/0", which is not a range/],
    ['sweep -t 1..2000 -d 1s', /^-t \(--threads\) has 2000 values in "1\.\.2000": at most 1000 are swept$/],
    ['-t 1,2 -d 1s', /^-t \(--threads\) must be a whole number, not "1,2"$/],
    ['compare', /^stress compare needs two sides: run files \(.*\) or endpoints \(--rpc-a URL --rpc-b URL\)$/],
    ['compare a.json', /^stress compare needs two sides: run files/],
    ['compare a.json --with', /^--with needs a value/],
    ['compare --rpc-a http://127.0.0.1:1 -t 1 -d 1s', /^--rpc-a needs --rpc-b URL$/],
    [
      'compare a.json --with b.json --rpc-a http://127.0.0.1:1 --rpc-b http://127.0.0.1:2',
      /^stress compare takes run files, or --rpc-a and --rpc-b/,
    ],
    ['compare a.json --with b.json --metric speed', /^--metric names "speed", which is no figure/],
    ['compare a.json --with b.json --fail-if tps<10', /^--fail-if must be a figure, < or >, and a change in percent/],
    [
      'compare DIR/none.json --with DIR/none.json',
      /^cannot read \S+none\.json: no such file; give a file that --out has written$/,
      { exit: 65 },
    ],
    ['compare a.json --with b.json --until-sure', /^--until-sure needs --rpc-a URL$/],
    ['compare a.json --with b.json --seed 3', /^--seed needs --until-sure$/],
    ['compare a.json --with b.json --start-a geth', /^--start-a needs --rpc-a URL$/],
    [`compare ${LIVE} --until-sure --repeat 8`, /^--repeat and --until-sure exclude each other/],
    [`compare ${LIVE} --until-sure --equivalent 60%`, /^--equivalent must be at most 50, not "60%"$/],
    [`compare ${LIVE} --until-sure --metric speed`, /^--metric names "speed", which is no figure/],
    [
      `compare ${LIVE} --until-sure --time-limit 60s`,
      /^--time-limit 60s is shorter than one pair of runs, which takes at least 61s: raise it, or lower --duration$/,
    ],
    ['trend', /^stress trend needs files/],
    ['trend DIR/none', /^cannot read \S+none: no such file; give a file that --out has written$/, { exit: 65 }],
    ['-t 1 -d 1s --dashboard 99999999', /^--dashboard must be at most 65535/],
    ['-t 1 -d 1s --html DIR/none/x.html', /^cannot write \S+x\.html: its folder does not exist$/, { exit: 73 }],
  ],
  'several instances': [
    ['-t 5 --index -1 --instances 4', /^--index must be at least 0, not "-1"$/],
    [
      '-t 5 --index auto',
      /^the array has 4 tasks from 1 to 4, and indexes .* begin at 0: sbatch --array=0-3, or give --index I /,
      {
        given: 'an array that begins at 1',
        env: {
          SLURM_ARRAY_TASK_ID: '1',
          SLURM_ARRAY_TASK_COUNT: '4',
          SLURM_ARRAY_TASK_MIN: '1',
          SLURM_ARRAY_TASK_MAX: '4',
          SLURM_ARRAY_TASK_STEP: '1',
          SLURM_PROCID: '0',
        },
      },
    ],
    [
      '-t 5 --index 0 --instances 2',
      /^this is instance 0 of several, and instances need a chain that they share: --rpc URL$/,
    ],
    [
      '-t 5 --index 0 --instances 2 --rpc http://127.0.0.1:1 --chain-id 1337',
      /^this is instance 0 of several, and all would use the same nonces of the funder: .*: stress fund --instances N, with the same --duration$/,
      { given: 'and a funder', env: { STRESS_FUNDER_KEY: KEYS[0] } },
    ],
    ["-t 5 --run-id 'a b'", /^--run-id must be a name of up to 63 letters, .*, not "a b"$/],
    ['-t 5 --run-id ../x', /^--run-id must be a name of up to 63 letters, .*, not "\.\.\/x"$/],
    ['-t 5 --start-at tomorrow', /^--start-at must be an instant with its zone such as .*, not "tomorrow"$/],
    ['-t 5 --start-at 2030-01-31T12:00:00', /^--start-at must be an instant with its zone such as /],
    ['-t 5 --start-at 2999-01-31T12:00:00Z', /^--start-at is \d+ s from now, and --start-timeout waits for 600 s: /],
    ['-t 5 --barrier -', /^--barrier must be a file: /],
    ['-t 5 --instanecs 4', /^unknown option --instanecs: did you mean --instances\?; see stress --help-all$/],
    ['sweep -t 5,6 -d 1s --instances 4', /^--instances is an option of stress, stress fund, stress reclaim, not /],
    [
      'fund -t 2 --instances 2 --keys DIR/keys --rpc http://127.0.0.1:1',
      /^wallets 0\.\.3 do not exist: \S+\/keys has 3 \(0\.\.2\); use a smaller -t or -o$/,
      { files: { keys: JSON.stringify(KEYS) }, env: { STRESS_FUNDER_KEY: KEYS[0] } },
    ],
    [
      '-t 2 --index 1 --instances 2 --keys DIR/keys --rpc http://127.0.0.1:1 --chain-id 1337',
      /^wallets 2\.\.3 do not exist: \S+\/keys has 3 \(0\.\.2\); use a smaller -t or -o$/,
      { files: { keys: JSON.stringify(KEYS) } },
    ],
    [
      '-t 1 --index 1 --instances 2 --rpc URL --chain-id 1337',
      /^http:\S+ is chain 31337, not 1337 as --chain-id says$/,
      { exit: 77, endpoint: () => serveMethods({ eth_chainId: '0x7a69' }), asks: ['eth_chainId'] },
    ],
    ['merge', /^stress merge needs files: stress merge FOLDER\|FILE\.\.\.\|- /],
    ['merge x -t 5', /^--threads is an option of .*, not of stress merge$/],
    ['merg x', /^unknown command "merg": did you mean merge\?; see stress --help$/],
  ],
  'how many wallets, and from which on': [
    ['-o 0', /^stress needs -t N, or STRESS_THREADS in the environment$/],
    ['-t abc', /^-t \(--threads\) must be a whole number, not "abc"$/],
    ['-t 5 -t 6', /^-t \(--threads\) is given 2 times: once is enough$/],
  ],

  keys: [
    [
      '-t 4 --keys DIR/keys',
      /^wallets 0\.\.3 do not exist: \S+\/keys has 3 \(0\.\.2\); use a smaller -t or -o$/,
      { files: { keys: JSON.stringify(KEYS) } },
    ],
    [
      '-t 1 -o 3 --keys DIR/keys',
      /^wallets 3\.\.3 do not exist: \S+\/keys has 3 \(0\.\.2\); use a smaller -t or -o$/,
      { files: { keys: KEYS.join('\n') } },
    ],
    ['-t 1 --keys DIR/none', /^cannot read the key file \S+\/none: no such file$/, { exit: 65 }],
    [
      '-t 1 --keys DIR/keys',
      /keys, line 3: not a private key: expected 64 hexadecimal digits, with or without 0x$/,
      { given: 'a line that is no key', files: { keys: `${KEYS[0]}\n# two\n${NOT_A_KEY}\n` }, exit: 65 },
    ],
    [
      '-t 1 --keys DIR/keys',
      /keys starts like a JSON array but is not valid JSON$/,
      {
        given: 'JSON that breaks off within a key',
        files: { keys: `["${KEYS[0]}", "${KEYS[1].slice(0, 40)}` },
        exit: 65,
      },
    ],
    [
      '-t 1 --keys DIR/keys',
      /keys, entry 2: not a private key/,
      {
        given: 'an object without privateKey',
        files: { keys: JSON.stringify([{ privateKey: KEYS[0] }, { key: KEYS[1] }]) },
        exit: 65,
      },
    ],
    [
      '-t 1 --keys DIR/keys',
      /keys, line 3: the same key as line 1$/,
      {
        given: 'a key twice',
        files: { keys: `${KEYS[0]}\n${KEYS[1]}\n${KEYS[0].slice(2).toUpperCase()}\n` },
        exit: 65,
      },
    ],
    [
      `-t 1 --keys ${KEYS[2]}`,
      /^--keys must be the name of a file; the value looks like a key or a mnemonic$/,
      { given: 'a key in place of a file', exit: 64 },
    ],
    ['-t 1 --keys', /^--keys needs a value \(FILE\)$/],
    [
      '-t 1 --rpc mainnet.invalid/v3/0123456789abcdef0123456789abcdef',
      /^--rpc must be a URL such as http:\/\/127\.0\.0\.1:8545(?!.*0123456789abcdef)/,
      { given: 'http:// forgotten before an endpoint with a key of its own' },
    ],
    ["-t 1 --keys ' '", /^--keys must not be empty$/],
  ],

  mnemonics: [
    ['-t 1', /^the mnemonic has 1 words: give 12, 15, 18, 21 or 24$/, { env: { STRESS_MNEMONIC: 'test' } }],
    ['-t 1', /^the mnemonic has 13 words/, { given: '13 words', env: { STRESS_MNEMONIC: `${LAST_WORDS} test junk` } }],
    [
      `-t 1 --mnemonic '${LAST_WORDS} kettle'`,
      /^the mnemonic is not valid/,
      {
        warns: /--mnemonic on the command line can be read by every user of this machine: use STRESS_MNEMONIC instead/,
      },
    ],
    ['-t 1 --mnemonic', /^--mnemonic needs a value \(WORDS\)$/],
  ],

  options: [
    ['-t 1 --thread 5', /^unknown option --thread: did you mean --threads\?; see stress --help-all$/],
    ['-t 1 --ofset 5', /^unknown option --ofset: did you mean --offset\?/],
    ['-t 1 --no-quiet', /^unknown option --no-quiet/],
    ['-t 1 --frobnicate', /^unknown option --frobnicate; see stress --help-all$/],
    ['-t 1 --__proto__ x', /^unknown option --_+proto_+; see stress --help-all$/],
    ['-t 1 --fund-from.x 5', /^unknown option --fund-from\.x/],
    ['-t 1 --requestTimeout 5s', /^unknown option --requestTimeout: did you mean --request-timeout\?/],
    ['-t 1 --to 0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266', /^--to is an option of stress reclaim, not of stress$/],
    ['-t 1 --port 8545', /^--port is an option of stress node, not of stress$/],
    [
      'fund -t 1 --rpc http://127.0.0.1:1 --iterations 5',
      /^--iterations is an option of stress, stress sweep, stress compare, stress bisect, not of stress fund$/,
    ],
    ['fund -t 1 --rpc http://127.0.0.1:1 -v', /^--verbose is an option of stress, not of stress fund$/],
    [
      '-t 1 --workload magic',
      /^--workload must be one of counter, transfer, erc20, erc721, storage, deploy, compute, swap, contention, logs, rpc, \.\/FILE\.js, not "magic"$/,
    ],
    ['-t 1 --set a=1', /^--set a=\.\.\. is no setting of --workload counter, which has none$/],
    [
      '-t 1 --workload deploy --set bytes=0',
      /^--set bytes=0 is no setting of --workload deploy: it has bytes from 1 to 24576 \(.*; default 1000\)$/,
    ],
    ['-t 1 --workload storage --set slot=1', /^--set slot=1 .* it has slots from 1 to 500 .*, cold .*, clear /],
    ['-t 1 --workload storage --set cold=10', /^--workload storage clears slots .* clear=25 must be at most cold=10/],
    ['-t 1 --workload ./x.js --set a', /^--set must be a name and a value such as slots=20, not "a"$/],
    ['-t 1 --workload ./x.js --contracts c', /^--contracts is an option of --workload counter$/],
    [
      '-t 1 --workload DIR/x.js',
      /^there is no workload file \S+x\.js; stress new-workload \S+x\.js makes one$/,
      { given: 'no such file', exit: 65 },
    ],
    [
      '-t 1 --workload DIR/x.mjs',
      /^\S*x\.mjs: its import failed: .*; node \S*x\.mjs shows the line$/,
      { given: 'broken', exit: 65, files: { 'x.mjs': '\nconst 5;' } },
    ],
    [
      '-t 1 --workload DIR/x.mjs',
      /^\S+x\.mjs must state the version .* 'evm-stress\/workload@1'; it is 'evm-stress\/workload@2'$/,
      { given: 'of another version', exit: 65, files: { 'x.mjs': "export const contract = 'evm-stress/workload@2';" } },
    ],
    ['new-workload', /^stress new-workload needs the name of one file, which ends in \.js or \.mjs/],
    ['new-workload mine.json', /which ends in \.js or \.mjs: stress new-workload FILE\.js$/],
    ['new-workload DIR/none/mine.js', /^cannot write \S+: its folder does not exist$/, { exit: 73 }],
    ['-t 1 --gas-price cheap', /^--gas-price must be an amount such as 0\.5, 2gwei or 1000wei .*not "cheap"$/],
    ['-t 1 --max-fee 0.0000000001', /^--max-fee has more decimals than its unit, gwei, has: "0\.0000000001"$/],
    ['-t 1 --fund-amount lots', /^--fund-amount must be an amount such as 0\.5, 2ether/],
  ],

  commands: [
    ['nodes -t 1', /^unknown command "nodes": did you mean node\?; see stress --help$/],
    ['prepare logs', /^unknown command "prepare": use stress --workload logs --iterations N --logs FILE; see/],
    ['node extra -t 1', /^unexpected argument "extra"$/],
    ['fund -t 1', /^stress fund needs --fund-from FILE, or STRESS_FUNDER_KEY in the environment$/],
    ['reclaim -t 1', /^stress reclaim needs --rpc URL, or STRESS_RPC in the environment$/],
    ['reclaim -t 1 --rpc http://127.0.0.1:1 --to 0x12', /^--to must be an address .*not "0x12"$/],
  ],

  payments: [
    [
      '-t 1 --workload transfer',
      /^--workload transfer pays from wallet to wallet and has only one: use at least two \(-t 2\), or --receivers N$/,
    ],
    ['-t 5 --receivers 10', /^--receivers is an option of --workload transfer and erc20$/],
    ['-t 5 --workload transfer --receivers 10000001', /^--receivers must be at most 10000000, not "10000001"$/],
    ['-t 5 --workload transfer --create-receivers before', /^--create-receivers needs --receivers N$/],
    [
      '-t 5 --workload transfer --receivers 5 --create-receivers later',
      /^--create-receivers must be one of before, during, not "later"$/,
    ],
    [
      '-t 5 --payload 200000',
      /^--payload must be a whole number of bytes from 16 to 100000 \(nodes take transactions of up to 128 KiB\), not "200000"$/,
    ],
    ['-t 5 --payload 1kB', /^--payload must be a whole number of bytes from 16 to 100000 .*, not "1kB"$/],
    [
      '-t 5 --workload rpc --method eth_blockNumber --payload 100',
      /^--payload is an option of --workload counter and transfer$/,
    ],
    [
      'fund -t 5 --rpc http://127.0.0.1:1 --workload rpc',
      /^--workload rpc sends no transactions: there is nothing to fund$/,
      { env: { STRESS_FUNDER_KEY: KEYS[0] } },
    ],
  ],

  calls: [
    [
      '-t 1 --workload rpc --calls light --threshold calls.eth_getLogs.p99<1s',
      /^--threshold calls\.eth_getLogs\.p99<1s: there is no operation "eth_getLogs"; there are eth_blockNumber, /,
    ],
    [
      '-t 1 --workload rpc --method eth_chainId --threshold calls.eth_chainId.p99<1s',
      /: there is no operation "eth_chainId"; operations of --workload rpc have no names, those of --calls FILE have$/,
    ],
    [
      '-t 1 --threshold calls.constructor.failed=0',
      /^--threshold calls\.constructor\.failed=0: there is no operation "constructor"; operations of --workload counter have no names, those of --calls FILE have$/,
    ],
    ['-t 2 --workload transfer --contracts c', /^--contracts is an option of --workload counter$/],
    [
      '-t 1 --workload rpc',
      /^--workload rpc needs --calls, for instance the preset wallet, or --method, for instance /,
    ],
    ['-t 1 --calls light', /^--calls is an option of --workload rpc$/],
    ['-t 1 --method eth_blockNumber', /--method .*--workload rpc/],
    ['-t 1 --params []', /--params .*--workload rpc/],
    ['-t 1 --fixed-id 1', /--fixed-id .*--workload rpc/],
    ['-t 1 --workload rpc --method a --fixed-id 1 --rpc ws://a', /^--fixed-id needs an http:/],
    ['-t 1 --workload rpc --method a --params [1', /--params /],
    ['-t 1 --workload rpc --method a --params {"a":1}', /--params /],
    ['-t 1 --workload rpc --method a --fixed-id x', /--fixed-id /],
    [
      '-t 1 --workload rpc --calls light --method eth_chainId',
      /^--calls and --method exclude each other: leave one of them out$/,
    ],
    [
      '-t 1 --workload rpc --calls DIR/no.json',
      /^cannot read the calls file .*no\.json: no such file; .*; presets: light, wallet, indexer, pages$/,
      { exit: 65 },
    ],
    [
      '-t 1 --workload rpc --calls DIR/c.json',
      /^.*c\.json compares answers with a second endpoint \("check": "same"\): give --check-rpc URL$/,
      { files: { 'c.json': '{"schema":"evm-stress/calls@1","calls":[{"method":"a","check":"same"}]}' } },
    ],
    [
      '-t 1 --workload rpc --calls pages',
      /^the preset pages lists a data set: give --data FILE, written by --workload logs$/,
    ],
    [
      '-t 1 --workload rpc --calls light --data DIR/logs.json',
      /^--data is for calls with \{\{data\.\.\.\}\} or \{\{page\.\.\.\}\} in them, and the preset light has none$/,
    ],
    [
      '-t 1 --workload rpc --calls indexer --check-rpc http://127.0.0.1:1',
      /^--check-rpc is for calls with "check": "same", and the preset indexer has none$/,
    ],
    ['-t 1 --users 2 --workload rpc --calls light', /^-t \(--threads\) is given 2 times: once is enough$/],
    ['-t 1 --rate 10 --think-time 1s', /^--rate and --think-time exclude each other: /],
  ],

  durations: [
    ['-t 1 -d 5', /^-d \(--duration\) must be a duration with its unit such as 250ms, 30s, 1m30s or 1h, not "5"$/],
    ['-t 1 -d 0s', /^-d \(--duration\) must be at least 100ms, not "0s"$/],
    ['-t 1 -d 99999h', /^-d \(--duration\) must be at most 24 days, not "99999h"$/],
    ['-t 1 -d', /^-d \(--duration\) needs a value \(TIME\)$/],
    ['-t 1 -d200ms -o', /^-o \(--offset\) needs a value/, { given: 'the duration is fine' }],
    ['-t 1 --tx-timeout 0s', /^--tx-timeout must be at least 100ms, not "0s"$/],
    ['-t 1', /^CI is set and there is no --duration: .*give one, for instance -d 30s$/, { env: { CI: 'true' } }],
  ],

  endpoints: [
    [
      '-t 1 --rpc nonsense',
      /^--rpc must be a URL such as http:\/\/127\.0\.0\.1:8545, with http:\/\/, .* or wss:\/\/ before it$/,
    ],
    [
      '-t 1 --rpc ws://127.0.0.1:8546 --transport undici',
      /^--transport undici does not speak ws:\/\/: leave it out, or give another URL with --rpc$/,
    ],
    [
      '-t 1 --rpc http://127.0.0.1:8546 --transport ws',
      /^--transport ws does not speak http:\/\/: leave it out, or give another URL with --rpc$/,
    ],
    ['-t 1 --rpc ws://127.0.0.1:1 --no-keep-alive', /^--no-keep-alive needs an http:\/\/ endpoint/],
    ['-t 1 --rpc http://user:%zz@127.0.0.1:1', /^--rpc/, { given: 'a password that is no percent-encoding' }],
    [
      '-t 1 --rpc URL',
      /^http:\/\/127\.0\.0\.1:\d+: connection refused$/,
      { given: 'nothing listens', endpoint: async () => `http://127.0.0.1:${await freePort()}`, exit: 69 },
    ],
    [
      '-t 1 --rpc URL',
      /^http:\/\/stress\.invalid:8545: host name not found$/,
      { given: 'no such host', endpoint: async () => 'http://stress.invalid:8545', exit: 69 },
    ],
    [
      '-t 1 --rpc URL --request-timeout 500ms',
      /^http:\/\/127\.0\.0\.1:\d+: no answer in time$/,
      { given: 'no answer', endpoint: () => serve(() => SILENCE), exit: 69, asks: ['eth_chainId'] },
    ],
    [
      '-t 1 --rpc URL',
      /^http:\/\/127\.0\.0\.1:\d+: connection lost$/,
      {
        given: 'it hangs up',
        endpoint: () => serve(() => HANG_UP),
        exit: 69,
        asks: ['eth_chainId', 'eth_chainId', 'eth_chainId'],
      },
    ],
    [
      '-t 1 --rpc URL',
      /^https:\/\/127\.0\.0\.1:\d+: .*(SSL|TLS|wrong version number)/i,
      {
        given: 'TLS where there is none',
        endpoint: async () => (await serve(() => SILENCE)).url.replace('http:', 'https:'),
        exit: 69,
      },
    ],
    ...answers({
      'a web page': [
        { body: '<!doctype html><title>Welcome</title>' },
        /does not speak JSON-RPC: it answered "<!doctype html><title>Welcome<\/title>"$/,
      ],
      'an empty body': [{ body: '' }, /does not speak JSON-RPC: it answered an empty body$/],
      'HTTP 401': [
        { status: 401, body: 'Unauthorized' },
        /answered HTTP 401 without JSON-RPC: check the URL and its credentials$/,
      ],
      'HTTP 401 with JSON': [
        { status: 401, body: '{"message":"Unauthorized"}' },
        /answered HTTP 401 without JSON-RPC: check the URL and its credentials$/,
      ],
      'HTTP 403': [
        { status: 403, body: '<h1>Forbidden</h1>' },
        /answered HTTP 403 without JSON-RPC: check the URL and its credentials$/,
      ],
      'HTTP 404': [
        { status: 404, body: '404 page not found' },
        /answered HTTP 404 without JSON-RPC: check the URL and its credentials$/,
      ],
      'HTTP 404 with JSON': [
        { status: 404, body: '{"statusCode":404}' },
        /answered HTTP 404 without JSON-RPC: check the URL and its credentials$/,
      ],
      'HTTP 502': [
        { status: 502, body: '<h1>Bad Gateway</h1>' },
        /answered HTTP 502 without JSON-RPC: check the URL and its credentials$/,
      ],
      'HTTP 502 with JSON': [
        { status: 502, body: '{}' },
        /answered HTTP 502 without JSON-RPC: check the URL and its credentials$/,
      ],
      'a redirection': [
        { status: 301, headers: { location: 'http://127.0.0.1:1/' }, body: '' },
        /answered HTTP 301 without JSON-RPC: check the URL and its credentials$/,
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
      'an error that echoes a terminal escape': [
        { body: '{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"\\u001b[31mred"}}' },
        /eth_chainId: \[31mred \(-1\)$/,
      ],
    }),
  ],

  chains: [
    [
      '-t 1 --rpc URL --chain-id 1337',
      /^http:\S+ is chain 31337, not 1337 as --chain-id says$/,
      {
        given: 'chain 31337',
        endpoint: () => serveMethods({ eth_chainId: '0x7a69' }),
        exit: 77,
        asks: ['eth_chainId'],
      },
    ],
    [
      '-t 1 --rpc URL',
      /^no wallets for chain 424242: neither keys nor a mnemonic are given; give --keys FILE, or a mnemonic in STRESS_MNEMONIC \(the well-known test mnemonic is used on local development chains only\)$/,
      {
        given: 'chain 424242, which has no wallets of its own',
        endpoint: () => serveMethods({ eth_chainId: '0x67932', ...EMPTY_CHAIN }),
      },
    ],
    ...Object.entries({
      Ethereum: 1,
      Avalanche: 43114,
    }).map(([name, id]) => mainnet(name, id, '-t 1 --rpc URL')),
    mainnet('Ethereum', 1, '-t 1 --rpc URL --chain-id 1'),
    mainnet('Ethereum', 1, '-t 1 --rpc URL --allow-chain 137'),
    mainnet('Ethereum', 1, 'reclaim -t 1 --rpc URL --to 0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266'),
    { ...mainnet('Ethereum', 1, 'fund -t 1 --rpc URL'), env: { STRESS_FUNDER_KEY: KEYS[0] } },
  ],

  funders: [
    [
      '-t 1 --rpc http://127.0.0.1:1 --fund-from DIR/none',
      /^cannot read the key file \S+\/none: no such file$/,
      { exit: 65 },
    ],
    [
      '-t 1 --rpc http://127.0.0.1:1 --fund-from DIR/two',
      /two has 2 keys: give a file with one key$/,
      { files: { two: KEYS.slice(0, 2).join('\n') }, exit: 65 },
    ],
  ],

  files: [
    ['-t 1 --out DIR/none/run.json', /^cannot write \S+\/none\/run\.json: its folder does not exist$/, { exit: 73 }],
    ['-t 1 --out DIR', /^cannot write \S+: it is a folder$/, { exit: 73 }],
    [
      '-t 1 --out DIR/file/run.json',
      /^cannot write \S+\/file\/run\.json: its folder is a file$/,
      { files: { file: '' }, exit: 73 },
    ],
    ['-t 1 --out', /^--out needs a value \(FILE\)$/],
    ['-t 1 --contracts DIR/none/contracts.json', /^cannot write \S+: its folder does not exist$/, { exit: 73 }],
    ['-t 1 --contracts DIR', /^cannot write \S+: it is a folder$/, { exit: 73 }],
    [
      '-t 1 --contracts DIR/file',
      /file is not valid JSON; give --contracts a file that stress wrote, or a new name$/,
      { given: 'not JSON', files: { file: 'x' }, exit: 65 },
    ],
    [
      '-t 1 --contracts DIR/file',
      /file is not a contracts file/,
      { given: 'other JSON', files: { file: '{}' }, exit: 65 },
    ],
    ['-t 1 --samples DIR/none/s.csv', /^cannot write \S+s\.csv: its folder does not exist$/, { exit: 73 }],
    ['-t 1 --hlog DIR/none/run.hlog', /^cannot write \S+run\.hlog: its folder does not exist$/, { exit: 73 }],
    ['-t 1 --samples a.csv --blocks ./a.csv', /^--samples and --blocks name the same file$/],
    ['-t 1 --log-file DIR/none/log', /^cannot write \S+\/none\/log: its folder does not exist$/, { exit: 73 }],
    ['-t 1 --log-file DIR', /^cannot write \S+: it is a folder$/, { exit: 73 }],
  ],

  '--config FILE': [
    ['--config DIR/none', /^cannot use the config file \S+\/none: no such file$/, { exit: 65 }],
    ['--config DIR/c', /: it is not valid JSON$/, { given: 'not JSON', files: { c: 'threads: 5' }, exit: 65 }],
    [
      '--config DIR/c',
      /c: unknown option "thread": did you mean --threads\?/,
      { given: 'an unknown name', files: { c: '{"thread": 5}' }, exit: 65 },
    ],
    [
      '--config DIR/c',
      /"threads" .*must be a whole number, not "many"$/,
      { given: 'a value without sense', files: { c: '{"threads": "many"}' }, exit: 65 },
    ],
    [
      '-t 0 --config DIR/c',
      /^-t \(--threads\) must be at least 1, not "0"$/,
      { given: 'a flag wins over it', files: { c: '{"threads": 5}' } },
    ],
    ['-t 1 --config', /^--config needs a value/],
  ],

  'the environment': [
    ['', /^STRESS_THREADS must be at least 1, not "0"$/, { env: { STRESS_THREADS: '0' } }],
    ['-t 1', /^STRESS_RPC must be a URL such as/, { env: { STRESS_RPC: 'nonsense' } }],
    ['-t 1', /^STRESS_QUIET must be true or false, not "perhaps"$/, { env: { STRESS_QUIET: 'perhaps' } }],
    [
      '-t 0',
      /^-t \(--threads\) must be at least 1, not "0"$/,
      { env: { STRESS_THREADS: '5' }, given: 'a flag wins over it' },
    ],
    [
      '-o 0',
      /^stress( node)? needs -t N/,
      {
        env: {
          STRESS_SERVICE_HOST: '10.0.0.1',
          STRESS_PORT: 'tcp://10.0.0.1:80',
          STRESS_PORT_80_TCP: 'x',
          STRESS_NONSENSE: '1',
        },
        given: 'names of others are ignored',
      },
    ],
    [
      'node -o 0',
      /^stress( node)? needs -t N/,
      { env: { STRESS_PORT: 'tcp://10.0.0.1:80' }, given: 'as Kubernetes sets it for a Service named stress' },
    ],
  ],
};

const SUBJECTS = Object.entries(TABLE).map(([subject, rows]) => ({
  subject,
  rows: rows.map((row) => (Array.isArray(row) ? { args: row[0], says: row[1], ...row[2] } : row)),
}));
const ROWS = SUBJECTS.flatMap(({ rows }) => rows);

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
const ALONE = new Set(new Map(ROWS.toReversed().map((row) => [row.exit, row])).values());

describe('bad input', () => {
  const folder = mkdtempSync(join(tmpdir(), 'stress-bad-input-'));
  /** @type {Map<Row, Case>} */
  let cases = new Map();
  /** @type {Map<Row, StressResult>} */
  let results = new Map();

  before(async () => {
    const prepared = await Promise.all(ROWS.map((row, i) => prepare(row, join(folder, String(i)))));
    cases = new Map(ROWS.map((row, i) => [row, prepared[i]]));
    const together = prepared.filter(({ row }) => !ALONE.has(row));
    const all = await runTable(together, folder);
    results = new Map(together.map(({ row }, i) => [row, all[i]]));
  });
  after(() => rmSync(folder, { recursive: true, force: true }));

  for (const { subject, rows } of SUBJECTS) {
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
