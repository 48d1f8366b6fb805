/**
 * Bad input, as a table: what is typed, the exit code, and the one line that comes back. Nothing is started: no chain,
 * no transaction, no file. The names of the tests are the command lines; each prints its line.
 */
import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { freePort } from '../helpers/anvil.js';
import { runStress } from '../helpers/cli.js';
import { HANG_UP, SILENCE, serve, serveMethods } from '../helpers/endpoint.js';
import { temporaryFolder } from '../helpers/temporary.js';

/** @import { Answer } from '../helpers/endpoint.js' */

/** Well-known keys of the test mnemonic's first wallets. @type {readonly string[]} */
const KEYS = [
  '0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80',
  '0x59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d',
  '0x5de4111afa1a4b94908f83103eb1f1706367c2e68ca870fc3fb9a804cdab365a',
];
const NOT_A_KEY = `0x${'zz'.repeat(32)}`;
const KEY_OF_URL = '0123456789abcdef0123456789abcdef';
const LAST_WORDS = 'test test test test test test test test test test test';
const MNEMONIC = `STRESS_MNEMONIC='${LAST_WORDS} junk'`;
const FUNDER = `STRESS_FUNDER_KEY=${KEYS[0]}`;
/** Two endpoints, which are not asked. */
const LIVE = 'compare --rpc-a http://127.0.0.1:1 --rpc-b http://127.0.0.1:2 -t 1 -d 30s';
const TOKEN = '0x5FbDB2315678afecb367f032d93F642f64180aa3';
const CALL = `-t 1 --workload contract --contract-address ${TOKEN}`;
const BISECT = 'bisect --good a --bad b --start x --rpc http://127.0.0.1:1 -t 2 -d 1s';

/** Files in DIR, of which a row has those that it names. @type {Record<string, string>} */
const FILES = {
  keys: JSON.stringify(KEYS),
  two: KEYS.slice(0, 2).join('\n'),
  'no-key': `${KEYS[0]}\n# two\n${NOT_A_KEY}\n`,
  'c.json': '{"schema":"evm-stress/calls@1","calls":[{"method":"a","check":"same"}]}',
  traffic: '{"method":"eth_chainId"}\n',
  writes: '{"method":"evm_mine"}',
  keystore: '{"address":"f39f","crypto":{"cipher":"aes-128-ctr"},"version":3}',
  'no-json': 'threads: 5',
  braces: '{}',
  'package.json': '{"type":"commonjs"}',
  'module.js': "export const contract = 'evm-stress/workload@1';",
  'unknown-name': '{"thread": 5}',
  'token.json': JSON.stringify([
    ...['transfer(address,uint256)', 'over(uint256)', 'over(uint256,uint256)'].map((words) => `function ${words}`),
  ]),
  'linked.json': '{"abi":[],"bytecode":{"object":"0x60__$aa$__","linkReferences":{"m.sol":{"Maths":[]}}}}',
  'receive.json': '[{"type":"receive","stateMutability":"payable"},{"type":"fallback"}]',
  'nothing.json': '[]',
  'broken.json': '[null]',
  'interface.json': '{"abi":["function f()"],"bytecode":"0x"}',
  calldata: '0xa9059cbb\n0x1\n',
  'calls.config': '{"workloads": {"erc20": {"deploy": "a.json", "function": "f()"}}, "mix": "counter:1", "threads": 1}',
};

/** What endpoints answer to every request. An id of 1 stands for that of the request. @type {Record<string, Answer>} */
const ANSWERS = {
  'a web page': { body: '<!doctype html><title>Welcome</title>' },
  'an error with a terminal escape': {
    body: '{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"\\u001b[31mred"}}',
  },
};

/** What a chain without anything on it answers. */
const EMPTY_CHAIN = Object.freeze({
  eth_getBlockByNumber: {
    ...{ number: '0x0', hash: `0x${'1'.repeat(64)}`, gasLimit: '0x1c9c380', baseFeePerGas: '0x7', transactions: [] },
  },
});

/** @param {number} id */
const chain = (id) => () => serveMethods({ eth_chainId: `0x${id.toString(16)}`, ...(id > 1e5 ? EMPTY_CHAIN : {}) });

/** Endpoints by name, those of ANSWERS beside them. @type {Record<string, () => Promise<{url: string, methods: string[]}>>} */
const ENDPOINTS = {
  nobody: async () => ({ url: `http://127.0.0.1:${await freePort()}`, methods: [] }),
  'no such host': async () => ({ url: 'http://stress.invalid:8545', methods: [] }),
  silence: () => serve(() => SILENCE),
  'hang-up': () => serve(() => HANG_UP),
  'no TLS': async () => ({ url: (await serve(() => SILENCE)).url.replace('http:', 'https:'), methods: [] }),
  'chain 1': chain(1),
  'chain 31337': chain(31337),
  'chain 424242': chain(424_242),
};

/** What an endpoint is asked for, where it is not the chain id alone. @type {Record<string, string[] | null>} */
const ASKED = {
  ...{ nobody: [], 'no such host': [], 'no TLS': [], 'chain 424242': null },
  'hang-up': ['eth_chainId', 'eth_chainId', 'eth_chainId'],
};

/**
 * Below a subject: NAME=VALUE..., arguments -> exit code, line behind 'stress: ', of which * is any part. DIR is an
 * empty folder of the row, with those of FILES that it names; <name> is the URL of an endpoint.
 */
const TABLE = `
which run files
  report -> 64 stress report needs files: stress report FILE...
  report --html DIR run.json -> 73 cannot write *: it is a folder
  report DIR -> 65 * is a folder without sweep.json or compare.json or bisect.json: give a file

studies
  sweep -t 5 -d 1s -> 64 stress sweep needs an option with several values, such as -t 10,40,100 *
  sweep -t 10..5 -d 1s -> 64 -t (--threads) has "10..5", which is not a range: FROM..TO/STEP*
  compare -> 64 stress compare needs two sides: run files (*) or endpoints (--rpc-a URL --rpc-b URL)
  compare a.json --with b.json --rpc-a http://127.0.0.1:1 --rpc-b http://127.0.0.1:2 -> 64 stress compare takes run files, or --rpc-a and --rpc-b*
  compare DIR/none.json --with DIR/none.json -> 65 cannot read *none.json: no such file; give a file that --out has written
  compare a.json --with b.json --until-sure -> 64 --until-sure needs --rpc-a URL
  ${LIVE} --until-sure --time-limit 60s -> 64 --time-limit 60s is shorter than one pair of runs, which takes at least 61s: raise it, or lower --duration
  ${LIVE} --node-metrics-a http://127.0.0.1:1,http://127.0.0.1:2 -> 64 --node-metrics-a with several pages needs a name for each, such as --node-metrics-a one=URL,two=URL
  -t 1 -d 1s --node-metrics a=http://127.0.0.1:1,a=http://127.0.0.1:2 -> 64 --node-metrics has two sources named a: put NAME= before one of them
  -t 1 -d 1s --node-metrics a=ws://127.0.0.1:1 -> 64 --node-metrics *http://*
  bisect --good a --start x --rpc http://127.0.0.1:1 -t 2 -d 1s -> 64 stress bisect needs --bad*
  ${BISECT} --time-limit 2s -> 64 --time-limit 2s is shorter than one pair of runs*
  ${BISECT} --metric speed -> 64 --metric names "speed", which is no figure*
  -t 1 -d 1s --html DIR/none/x.html -> 73 cannot write *x.html: its folder does not exist
  TMPDIR=DIR/none -t 1 -> 73 cannot write to the temporary folder *none (TMPDIR): no such file

several instances
  SLURM_ARRAY_TASK_ID=1 SLURM_ARRAY_TASK_COUNT=4 SLURM_ARRAY_TASK_MIN=1 SLURM_ARRAY_TASK_MAX=4 SLURM_ARRAY_TASK_STEP=1 SLURM_PROCID=0 -t 5 --index auto -> 64 the array has 4 tasks from 1 to 4, and indexes * begin at 0: sbatch --array=0-3, or give --index I *
  -t 5 --index 0 --instances 2 -> 64 this is instance 0 of several, and instances need a chain that they share: --rpc URL
  ${FUNDER} -t 5 --index 0 --instances 2 --rpc http://127.0.0.1:1 --chain-id 1337 -> 64 this is instance 0 of several, and all would use the same nonces of the funder: *: stress fund --instances N, with the same --duration
  -t 5 --run-id 'a b' -> 64 --run-id must be a name of up to 63 letters, *, not "a b"
  -t 5 --start-at 2999-01-31T12:00:00Z -> 64 --start-at is * s from now, and --start-timeout waits for 600 s: *
  -t 5 --barrier - -> 64 --barrier must be a file: *
  ${FUNDER} fund -t 2 --instances 2 --keys DIR/keys --rpc http://127.0.0.1:1 -> 64 wallets 0..3 do not exist: */keys has 3 (0..2); use a smaller -t or -o
  -t 2 --index 1 --instances 2 --keys DIR/keys --rpc http://127.0.0.1:1 --chain-id 1337 -> 64 wallets 2..3 do not exist: */keys has 3 (0..2); use a smaller -t or -o
  -t 1 --index 1 --instances 2 --rpc <chain 31337> --chain-id 1337 -> 77 http:* is chain 31337, not 1337 as --chain-id says
  merge -> 64 stress merge needs files: stress merge FOLDER|FILE...|- *

how many wallets, and from which on
  -o 0 -> 64 stress needs -t N, or STRESS_THREADS in the environment

keys
  -t 4 --keys DIR/keys -> 64 wallets 0..3 do not exist: */keys has 3 (0..2); use a smaller -t or -o
  -t 1 --keys DIR/none -> 65 cannot read the key file */none: no such file
  -t 1 --keys DIR/keystore -> 65 *keystore is an encrypted keystore, as geth and foundry write them, which is not read (*): a key file has one private key a line, or is a JSON array of keys, or of objects with privateKey
  -t 1 --keys DIR/braces -> 65 *braces is a JSON object: a key file has one private key a line, or *
  -t 1 --keys DIR/no-key -> 65 *no-key, line 3: not a private key: expected 64 hexadecimal digits, with or without 0x
  -t 1 --rpc mainnet.invalid/v3/${KEY_OF_URL} -> 64 --rpc must be a URL such as http://127.0.0.1:8545*

mnemonics
  STRESS_MNEMONIC=test -t 1 -> 64 the mnemonic has 1 words: give 12, 15, 18, 21 or 24
  -t 1 --mnemonic '${LAST_WORDS} kettle' -> 64 *--mnemonic on the command line can be read by every user of this machine: use STRESS_MNEMONIC instead* // the mnemonic is not valid*

options
  -t 1 --thread 5 -> 64 unknown option --thread: did you mean --threads?; see stress --help-all
  -t 1 --rcp http://127.0.0.1:1 -> 64 unknown option --rcp: did you mean --rpc?; see stress --help-all
  -t 1 --__proto__ x -> 64 unknown option --*proto*; see stress --help-all
  -t 1 --workload magic -> 64 --workload must be one of counter, transfer, erc20, erc721, storage, deploy, compute, swap, contention, blobs, set-code, logs, contract, rpc, ./FILE.mjs, not "magic"
  -t 1 --set a=1 -> 64 --set a=... is no setting of --workload counter, which has none
  -t 1 --workload deploy --set bytes=0 -> 64 --set bytes=0 is not valid: --workload deploy takes bytes from 1 to 24576 (*; default 1000)
  -t 1 --workload storage --set slot=1 -> 64 --set slot=1 * it has slots from 1 to 500 *, cold *, clear *
  -t 1 --workload storage --set cold=10 -> 64 --workload storage clears slots * clear=25 must be at most cold=10*
  -t 2 --workload erc20 --set address=0x12 -> 64 --set address=0x12 is not valid: --workload erc20 takes address (of a token that is on the chain)
  -t 1 --workload ./x.js --contracts c -> 64 --contracts is an option of --workload counter
  -t 1 --workload DIR/x.js -> 65 there is no workload file *x.js; stress new-workload *x.js makes one
  new-workload -> 64 stress new-workload needs the name of one file, which ends in .mjs or .js, or a contract, which ends in .sol: *
  new-workload DIR/none.sol -> 65 cannot read *none.sol: no such file
  -t 1 --workload blobs --set blobs=7 -> 64 --set blobs=7 is not valid: --workload blobs takes blobs from 1 to 6 (*
  -t 1 --mix set-code:1 -> 64 --mix must be one of *, not "set-code"*
  -t 1 --workload DIR/x.cjs -> 65 there is no workload file *x.cjs; stress new-workload mine.mjs makes one
  -t 1 --workload Visit.sol -> 65 Visit.sol is Solidity, no workload: stress new-workload Visit.sol writes one that deploys and calls it; --workload contract --deploy Visit.sol needs none
  PACKAGE=DIR/package.json -t 1 --workload DIR/module.js -> 65 *module.js is no CommonJS module, as */package.json says (Unexpected token 'export'): name an ES module module.mjs
  PACKAGE=DIR/package.json new-workload DIR/mine.js -> 64 *package.json says "type": "commonjs": name the workload *mine.mjs
  new-workload DIR/none/mine.js -> 73 cannot write *: its folder does not exist

commands
  nodes -t 1 -> 64 unknown command "nodes": did you mean node?; see stress --help
  find --rpc http://127.0.0.1:1 -d 2s --time-limit 3s -> 64 --time-limit 3s is shorter than a pilot run and one more run, which take at least 4s: give a higher --time-limit, or a lower --duration
  find --rpc http://127.0.0.1:1 -d 200s -> 64 the search ends after 180s, which is shorter than a pilot run and one more run, which take at least 400s: *
  find --rpc http://127.0.0.1:1 --until tps>100 --rate 5..10 -> 64 --until tps>100 holds at no rate up to 10: *
  -t 2 --workload erc20 --set address= -> 64 --set address= is not valid: --workload erc20 takes address (of a token that is on the chain)
  fnd -> 64 unknown command "fnd": did you mean fund or find?; see stress --help
  t -> 64 unknown command "t": did you mean -t?; see stress --help
  --count 5 -> 64 unknown option --count: the number of wallets is -t N; see stress --help-all
  transfer -t 5 -> 64 unknown command "transfer": give --workload transfer; see stress --help
  erc20:50,counter:50 -t 5 -> 64 unknown command "erc20:50,counter:50": several workloads are --mix NAME:WEIGHT,NAME:WEIGHT; see*
  audit run.json -> 64 unknown command "audit": each run is audited at its end; see*
  prepare logs -> 64 unknown command "prepare": use stress --workload logs --iterations N --logs FILE; see*
  node extra -t 1 -> 64 unexpected argument "extra"
  reclaim -t 1 -> 64 stress reclaim needs --rpc URL, or STRESS_RPC in the environment

payments
  -t 1 --workload transfer -> 64 --workload transfer pays from wallet to wallet and has only one: use at least two (-t 2), or --receivers N
  -t 5 --receivers 10 -> 64 --receivers is an option of --workload transfer and erc20
  -t 5 --workload rpc --method eth_blockNumber --payload 100 -> 64 --payload is an option of --workload counter and transfer
  ${FUNDER} fund -t 5 --rpc http://127.0.0.1:1 --workload rpc -> 64 --workload rpc sends no transactions: there is nothing to fund

calls
  -t 1 --workload rpc --calls light --threshold calls.eth_getLogs.p99<1s -> 64 --threshold calls.eth_getLogs.p99<1s: there is no operation "eth_getLogs"; there are eth_blockNumber, *
  -t 1 --workload rpc --method eth_chainId --threshold calls.eth_chainId.p99<1s -> 64 *: there is no operation "eth_chainId"; operations of --workload rpc have no names, those of --calls FILE have
  -t 1 --threshold calls.constructor.failed=0 -> 64 --threshold calls.constructor.failed=0: there is no operation "constructor"; operations of --workload counter have no names, those of --calls FILE have
  -t 2 --workload transfer --contracts c -> 64 --contracts is an option of --workload counter
  -t 1 --workload rpc -> 64 --workload rpc needs --calls, for instance the preset wallet, or --method, for instance *
  -t 1 --workload rpc --calls - -> 64 --workload rpc reads its calls several times: give --calls a file, not standard input (-)
  -t 1 --calls light -> 64 --calls is an option of --workload rpc
  -t 1 --method eth_blockNumber -> 64 *--method *--workload rpc*
  -t 1 --params [] -> 64 *--params *--workload rpc*
  -t 1 --fixed-id 1 -> 64 *--fixed-id *--workload rpc*
  -t 1 --workload rpc --method a --fixed-id 1 --rpc ws://a -> 64 --fixed-id needs an http:*
  -t 1 --workload rpc --method a --ladder auto -> 64 --ladder follows transactions, and --workload rpc sends none
  -t 1 --threshold broken=0 -> 64 --threshold on broken needs finality levels: --ladder auto
  -t 1 --workload rpc --method a --params [1 -> 64 *--params *
  -t 1 --workload rpc --method a --params {"a":1} -> 64 *--params *
  -t 1 --workload rpc --method a --fixed-id x -> 64 *--fixed-id *
  -t 1 --workload rpc --method a --rpc http://127.0.0.1:1 --rate 1Mgas -> 64 --rate in gas needs transactions: calls use no gas
  -t 1 --workload rpc --method a --check consistency -> 64 --check consistency needs transactions: *
  -t 1 --threshold differences=0 -> 64 --threshold on differences needs a second endpoint to compare the answers with: --check-rpc URL
  -t 1 --threshold violations=0 -> 64 --threshold on violations needs *: --check consistency
  -t 1 --check-share 2% -> 64 --check-share needs --check KIND
  -t 1 --workload rpc --calls DIR/no.json -> 65 cannot read the calls file *no.json: no such file; *; presets: light, wallet, indexer, pages
  -t 1 --workload rpc --calls DIR/c.json -> 64 *c.json compares answers with a second endpoint ("check": "same"): give --check-rpc URL
  -t 1 --workload rpc --calls pages -> 64 the preset pages lists a data set: give --data FILE, written by --workload logs
  -t 1 --workload rpc --calls light --data DIR/logs.json -> 64 --data is for calls with {{data...}} or {{page...}} in them, and the preset light has none
  -t 1 --workload rpc --calls indexer --check-rpc http://127.0.0.1:1 -> 64 --check-rpc is for calls with "check": "same", and the preset indexer has none
  -t 1 --workload rpc --calls DIR/traffic --threshold calls.x.p99<1s -> 64 *there is no operation "x"; there are eth_chainId
  -t 1 --workload rpc --calls DIR/traffic --data x.json -> 64 --data is for the templates of a calls file*
  -t 1 --workload rpc --calls light --calls-order random -> 64 --calls-order is for recorded requests*
  -t 1 --workload rpc --calls DIR/writes -> 77 *writes, line 1: evm_mine may change *--allow-writes

contracts
  -t 1 --workload contract -> 64 --workload contract needs a contract: --contract-address ADDRESS of one on the chain, or --deploy FILE
  ${CALL} -> 64 --workload contract needs what to call: --function SIGNATURE, such as 'transfer(address,uint256)', or --calldata DATA
  -t 1 --contract-address ${TOKEN} -> 64 --contract-address is an option of --workload contract
  -t 1 --workload contract --contract-address 0x12 --function f() -> 64 --contract-address must be an address (*), not "0x12"
  ${CALL} --deploy a.json --function f() -> 64 --contract-address and --deploy exclude each other: leave one of them out
  ${CALL} --function f() --calldata 0x -> 64 --function and --calldata exclude each other: leave one of them out
  ${CALL} --calldata 0x --args 1 -> 64 --args needs --function SIGNATURE
  ${CALL} --function transfer --args 1 -> 64 --function "transfer" has no types: give them, such as 'transfer(address,uint256)', or --abi FILE
  ${CALL} --function f(adress) -> 64 --function must be a name with types, such as 'transfer(address,uint256)', not "f(adress)"; an enum is uint8, *
  ${CALL} --function receive() -> 64 --function "receive()" is no function that a call can name: give --calldata 0x in its place
  ${CALL} --abi DIR/receive.json --function pay -> 65 *receive.json has no function "pay": it has none; for a proxy, *
  ${CALL} --abi DIR/nothing.json --function pay() -> 65 *nothing.json has no function "pay()": it has none; for a proxy, *
  ${CALL} --abi DIR/broken.json --function pay -> 65 *broken.json: entry 1 of the ABI is no function, event, error or constructor: "null"
  ${CALL} --function f((uint8,int8[2])[]) --args '[[[1,[-129,0]]]]' -> 64 --args: value 1[0][1][0] of f((uint8,int8[2])[]) must be of type int8, not "-129"
  ${CALL} --function 'f((uint8 kind,bool open) a)' --args '[{"kind":1,"opn":true}]' -> 64 --args: value 1 of f((uint8,bool)) must be of type (uint8,bool), not *
  ${CALL} --function f(uint256) --args -1 -> 64 --args: value 1 of f(uint256) must be of type uint256, not "-1"
  ${CALL} --function f(bytes4) --args 0x010203 -> 64 --args: value 1 of f(bytes4) must be of type bytes4, not "0x010203"
  ${CALL} --function f(bool) --args 1 -> 64 --args: value 1 of f(bool) must be of type bool, not "1"
  ${CALL} --function f(uint256[]) --args '[[{{nonce}}]]' -> 64 --args must be values separated by commas, * where templates are in quotation marks, not *
  ${CALL} --function f(uint256) --args '{{number 1}}' -> 64 --args: {{number 1}} must be {{number FROM TO}}
  ${CALL} --calldata '0x{{number 10 99}}' -> 65 --calldata: {{number}} is a decimal number: give {{number.word}}, which is 32 bytes
  ${CALL} --function f() --check-event Gone -> 64 --check-event "Gone" has no types: give them, such as 'Transfer(address,address,uint256)', or --abi FILE
  -t 1 --workload contract --contract-address ${TOKEN.slice(2)} --function f() -> 64 --contract-address must be an address (0x and 40 hexadecimal digits, *
  ${CALL} --abi DIR/token.json --function over --args 1 -> 64 --function "over" is overloaded in *token.json: give over(uint256) or over(uint256,uint256)
  ${CALL} --abi DIR/token.json --function mint -> 65 *token.json has no function "mint": it has transfer(address,uint256), *; for a proxy, give the ABI of the contract behind it
  ${CALL} --abi DIR/none.json --function f -> 65 cannot read the ABI *none.json: no such file; give --abi an artifact of Foundry or Hardhat, or an ABI
  ${CALL} --abi DIR/braces --function f -> 65 *braces has no ABI, which is a JSON array; give --abi *
  ${CALL} --abi DIR/token.json --function transfer --args 1 -> 64 --args has 1 value, and transfer(address,uint256) takes 2
  ${CALL} --function f(address) --args ${TOKEN}0 -> 64 --args: value 1 of f(address) must be of type address, not *
  ${CALL} --function f(uint8) --args 256 -> 64 --args: value 1 of f(uint8) must be of type uint8, not "256"
  ${CALL} --function f(uint256[]) --args [1,2] -> 64 --args has 2 values, and f(uint256[]) takes 1, which is a list in the list: [[1,2]]
  ${CALL} --function f(uint256) --args [1000000000000000000000] -> 64 --args has the number 1e+21, which JSON does not keep exactly: put it in quotation marks
  ${CALL} --function f(uint256) --args '{{wallet.nxt}}' -> 64 --args: {{wallet.nxt}} is no template; templates, *
  ${CALL} --function f(uint256) --args '{{block.latest}}' -> 64 --args: {{block.latest}} has no value here; templates, *
  ${CALL} --function f(uint256) --args '{{line none}}' -> 64 --args: {{line}} cannot read none: no such file
  ${CALL} --abi DIR/token.json --function over(uint256) --args 1 --call-value 1 -> 64 --call-value: over(uint256) is not payable, as *token.json says
  ${CALL} --function f() --max-value 1 -> 64 --max-value limits what --call-value transfers, and no call of this load has one
  ${CALL} --calldata DIR/calldata -> 65 *calldata, line 2: calldata must be 0x and pairs of hexadecimal digits, and has 1 digit
  -t 1 --workload contract --deploy DIR/linked.json --function f() -> 65 *linked.json needs to be linked with Maths: deploy it with another tool, and give --contract-address and --abi
  -t 1 --workload contract --deploy DIR/interface.json --function f -> 65 *interface.json has no bytecode to deploy: *
  -t 1 --workload contract --deploy DIR/none.sol --function f -> 65 cannot read *none.sol: no such file
  --config DIR/calls.config -> 64 workloads names a call erc20, which is the name of a built-in workload: give it another one
  -t 1 --mix mint:1 --workloads '{"mint":{"functon":"f()"}}' -> 64 --workloads has mint with an unknown member "functon": did you mean function?

mixes
  -t 2 --workload erc20:50,counter:50 -> 64 --workload must be a workload without a weight, not "erc20:50,counter:50": --mix takes several with weights
  -t 2 --workload ./mine.mjs:50,erc20:50 -> 64 --workload must be a workload without a weight, not "./mine.mjs:50,erc20:50": --mix*
  -t 2 --mix counter:1,erc02:1 -> 64 --mix must be one of *erc20*
  -t 2 --mix counter:1,counter:2 -> 64 --mix has counter twice: give each workload once*
  -t 2 --mix counter:0 -> 64 --mix must be workloads with weights above 0, *"counter:0"*
  -t 2 --mix counter:many -> 64 --mix must be workloads with weights above 0*
  -t 2 --mix counter:1 --workload erc20 -> 64 --mix and --workload exclude each other*
  -t 2 --mix counter:1 --set storage.slots=5 -> 64 --set storage.slots=... is for * as counter.slots*
  -t 2 --mix storage:1 --set slots=5 -> 64 --set slots=... is for no member of --mix: * as storage.slots*
  -t 2 --mix storage:1,counter:1 --set storage.slots=0 -> 64 --set storage.slots=0 is not valid: --workload storage takes slots from 1 *
  -t 2 --mix counter:1 --receivers 5 -> 64 --receivers is an option of --workload*

endpoints
  -t 1 --rpc <nobody> -> 69 http://127.0.0.1:*: connection refused; is the node running? --wait-for 30s waits for it
  -t 1 --rpc <no such host> -> 69 http://stress.invalid:8545: host name not found
  -t 1 --rpc <silence> --request-timeout 500ms -> 69 http://127.0.0.1:*: no answer to eth_chainId within 0.5 s (--request-timeout)
  -t 1 --rpc <nobody> --wait-for 700ms -> 69 http://127.0.0.1:* did not answer within 0.7 s (--wait-for): connection refused
  reclaim -t 1 --to 0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266 --wait-for 600ms --rpc <nobody> -> 69 http://127.0.0.1:* did not answer within 0.6 s (--wait-for): connection refused
  -t 1 --rpc <hang-up> -> 69 http://127.0.0.1:*: connection lost
  -t 1 --rpc <no TLS> -> 69 https://127.0.0.1:*: it does not speak TLS*
  -t 1 --rpc <a web page> -> 69 *does not speak JSON-RPC: it answered "<!doctype html><title>Welcome</title>"
  -t 1 --rpc <an error with a terminal escape> -> 69 *eth_chainId: [31mred (-1)

chains
  -t 1 --rpc <chain 31337> --chain-id 1337 -> 77 http:* is chain 31337, not 1337 as --chain-id says
  -t 1 --rpc <chain 424242> -> 64 no wallets for chain 424242: neither keys nor a mnemonic are given; give --keys FILE, or a mnemonic in STRESS_MNEMONIC (the well-known test mnemonic is used on local development chains only)
  ${MNEMONIC} -t 1 --rpc <chain 1> -> 77 chain 1 is *Ethereum*, a public network whose coins are worth money: if you mean it, say --allow-chain 1
  ${MNEMONIC} reclaim -t 1 --rpc <chain 1> --to 0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266 -> 77 chain 1 is *Ethereum*, a public network whose coins are worth money: if you mean it, say --allow-chain 1
  ${FUNDER} fund -t 1 --rpc <chain 1> -> 77 chain 1 is *Ethereum*, a public network whose coins are worth money: if you mean it, say --allow-chain 1

funders
  -t 1 --rpc http://127.0.0.1:1 --fund-from DIR/none -> 65 cannot read the key file */none: no such file
  -t 1 --rpc http://127.0.0.1:1 --fund-from DIR/two -> 65 *two has 2 keys: give a file with one key
  -t 1 --rpc http://127.0.0.1:1 --refill-below 1 -> 64 --refill-below needs --fund-from FILE or STRESS_FUNDER_KEY
  ${FUNDER} -t 1 --rpc http://127.0.0.1:1 --refill-below 1 --fund-amount 1 -> 64 --refill-below must be less than --fund-amount, which wallets are topped up to
  ${FUNDER} -t 1 --refill-below 1 -> 64 --refill-below needs a chain with a funder: give --rpc; *
  ${FUNDER} -t 1 --rpc http://127.0.0.1:1 --workload rpc --method eth_chainId --refill-below 1 -> 64 --workload rpc sends no transactions: leave out --refill-below
  ${FUNDER} ${MNEMONIC} -t 1 --rpc http://127.0.0.1:1 --refill-below 1 --instances 2 --index 0 --chain-id 5 -> 64 this is instance 0 of several, and all would use the same nonces of the funder: *

files
  -t 1 --out DIR/none/run.json -> 73 cannot write */none/run.json: its folder does not exist
  -t 1 --out DIR -> 73 cannot write *: it is a folder
  -t 1 --out DIR/no-json/run.json -> 73 cannot write */no-json/run.json: its folder is a file
  -t 1 --contracts DIR/none/contracts.json -> 73 cannot write *: its folder does not exist
  -t 1 --contracts DIR/no-json -> 65 *no-json is not valid JSON; give --contracts a file that stress wrote, or a new name
  -t 1 --contracts DIR/braces -> 65 *braces is not a contracts file*
  -t 1 --samples DIR/none/s.csv -> 73 cannot write *s.csv: its folder does not exist
  -t 1 --intervals - --out - -> 64 --out - and --intervals - both write to standard output: *
  -t 1 --samples a.csv --blocks ./a.csv -> 64 --samples and --blocks name the same file
  -t 1 --log-file DIR/none/log -> 73 cannot write */none/log: its folder does not exist

--push
  --push http://me:pass-word@127.0.0.1:1 -t 1 -> 64 --push must not have a user or a password in it, * STRESS_PUSH_URL
  -t 1 --label a=b -> 64 --label needs --push URL
  -t 1 --push http://127.0.0.1:1 --push-header Authorization:x -> 64 *must not have the secret header * STRESS_PUSH_HEADER or --push-header-file

--config FILE
  --config DIR/none -> 65 cannot use the config file */none: no such file
  --config DIR/unknown-name -> 65 *unknown-name: unknown option "thread": did you mean --threads?*

the environment
  STRESS_SERVICE_HOST=10.0.0.1 STRESS_PORT=tcp://10.0.0.1:80 STRESS_PORT_80_TCP=x STRESS_NONSENSE=1 -o 0 -> 64 stress needs -t N*
  STRESS_PORT=tcp://10.0.0.1:80 node -o 0 -> 64 stress node needs -t N*
`;

/** @typedef {{args: string, exit: number, says: string}} Row */

/** @type {Array<[subject: string, rows: Row[]]>} */
const SUBJECTS = TABLE.trim()
  .split('\n\n')
  .map((block) => block.split('\n'))
  .map(([subject, ...lines]) => [subject, lines.map(rowOf)]);

/** @param {string} line @returns {Row} */
function rowOf(line) {
  const [, args, exit, says] = /^ {2}(.*) -> (\d+) (.*)$/.exec(line) ?? assert.fail(line);
  return { args, exit: Number(exit), says };
}

/** @param {string} glob */
const matching = (glob) => new RegExp(`^${glob.replaceAll(/[\\^$.|?+()[\]{}]/g, '\\$&').replaceAll('*', '.*')}$`);

/** Nothing of a key or a mnemonic may be seen, not even most of it. @param {string} text */
function assertNoSecret(text) {
  for (const key of [...KEYS, NOT_A_KEY, KEY_OF_URL]) {
    const digits = key.replace(/^0x/, '');
    for (let at = 0; at + 12 <= digits.length; at += 1)
      assert.ok(!text.toLowerCase().includes(digits.slice(at, at + 12)), `a part of a key is shown: ${text}`);
  }
  assert.ok(!/test test test/.test(text), `the mnemonic is shown: ${text}`);
}

/** @param {string} name of ANSWERS or ENDPOINTS */
function startEndpoint(name) {
  const answer = ANSWERS[name];
  if (answer === undefined) return ENDPOINTS[name]();
  return serve((asked) => ({ ...answer, body: answer.body.replace('"id":1,', `"id":${JSON.parse(asked).id},`) }));
}

/** @param {Row} row @param {string} cwd an empty folder */
async function refused({ args, exit, says }, cwd) {
  mkdirSync(cwd);
  const files = Object.keys(FILES).filter((name) => args.includes(`DIR/${name}`));
  for (const name of files) writeFileSync(join(cwd, name), FILES[name], { mode: 0o600 });
  const [, name] = /<([^<>]+)>/.exec(args) ?? [];
  const { url, methods } = name === undefined ? { url: '', methods: [] } : await startEndpoint(name);
  const words = [...args.replace(`<${name}>`, url).matchAll(/([A-Z_\d]+=)?(?:'([^']*)'|(\S+))/g)].map(
    ([, setting = '', quoted, bare]) => setting + (quoted ?? bare.replace('DIR', cwd)),
  );
  const first = words.findIndex((word) => !/^[A-Z_\d]+=/.test(word));
  const settings = words.slice(0, first === -1 ? words.length : first).map((word) => word.split('='));
  const env = {
    // Input that is not found to be bad starts a run: it shall end soon, and its chain makes a folder that stays.
    ...(args.startsWith('CI=') ? {} : { STRESS_DURATION: '100ms' }),
    ...{ TMPDIR: join(cwd, 'a chain was started'), ...Object.fromEntries(settings) },
  };
  const { code, stdout, stderr } = await runStress(words.slice(settings.length), { env, cwd });
  const lines = stderr.split('\n');
  assert.equal(lines.pop(), '');
  const expected = says.split(' // ');
  assert.equal(lines.length, expected.length, `one line on standard error, not:\n${stderr}`);
  assert.match(lines.at(-1) ?? '', /^stress: /);
  for (const [i, line] of lines.entries()) assert.match(line.replace(/^stress: /, ''), matching(expected[i]));
  assert.doesNotMatch(stderr, /bug of stress|undefined|\[object | {4}at |\u001b/);
  assert.deepEqual([code, stdout], [exit, '']);
  assertNoSecret(stderr);
  const asked = name === undefined ? [] : ASKED[name] === undefined ? ['eth_chainId'] : ASKED[name];
  if (asked !== null) assert.deepEqual(methods, asked);
  assert.ok(!methods.some((method) => /send|sign/i.test(method)), `the endpoint was asked for ${methods.join(', ')}`);
  assert.deepEqual(readdirSync(cwd).sort(), files.sort(), 'no file is made, no chain is started');
  return stderr;
}

describe('bad input', () => {
  const folder = temporaryFolder({ after });
  for (const [i, [subject, rows]] of SUBJECTS.entries())
    describe(subject, () => {
      for (const [k, row] of rows.entries()) {
        const name = row.args.replaceAll(/\S{60,}|'test [a-z ]+'/g, '***');
        test(`${name} -> ${row.exit}`, async (t) => t.diagnostic(await refused(row, join(folder, `${i}-${k}`))));
      }
    });
});
