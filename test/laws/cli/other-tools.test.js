/** Command lines that users of other load generators type: each works, or the message says what to type instead. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { flat, readLine } from './read.js';

const RPC = 'http://127.0.0.1:8545';
const ENV = { ETH_RPC_URL: RPC };

/** What the options amount to, or the message. @type {Array<[string, Record<string, unknown> | RegExp]>} */
const LINES = [
  // k6
  ['run -t 10 --duration 1m30s', { threads: 10, durationMs: 90_000 }],
  ['run --vus 10 --duration 30s', { threads: 10, durationMs: 30_000 }],
  ['--vus=10', { threads: 10 }],
  ['run -t 10 --rps 100', { ratePerSecond: 100 }],
  ['-t 10 --out json=run.json', { out: 'json=run.json' }],
  ['run --vus 10 script.js', /"script.js": a workload of your own is --workload FILE/],
  ['-t 10 --summary-export=run.json', /--summary-export: the result as JSON is --json, or --out FILE/],
  ['-t 10 --stages 0:100/30s,100/5m', { durationMs: 330_000 }],
  ['help', {}],
  ['-h', {}],
  // vegeta
  ['attack -rate=100/s -duration=30s', /attack.*the load is stress -t N -d TIME --rate N/],
  ['-t 10 -rate=100/s -duration=30s', { ratePerSecond: 100, durationMs: 30_000 }],
  ['-t 10 -rate 2k', { ratePerSecond: 2000 }],
  ['-t 10 -workers 2', { workers: 2 }],
  ['-t 10 -connections=20', { connections: 20 }],
  ['-t 10 -timeout=5s', /-timeout|--timeout: time limits are --tx-timeout and --request-timeout/],
  ['-t 10 -targets=calls.txt', /targets: the endpoint is --rpc URL/],
  ['-t 10 -insecure', { insecure: true }],
  ['-t 10 -header=X-Team:load', { threads: 10 }],
  [`find ${RPC}`, /the endpoint is --rpc URL/],
  ['find --threshold p99<1s', /not of stress find: conditions of a search are --until/],
  // oha, hey, ab, wrk
  [`-c 50 -z 30s ${RPC}`, /the endpoint is --rpc URL/],
  ['-c 50 -z 30s', /unknown option -c: the number of wallets is -t N/],
  ['-t 10 -z 30s', { durationMs: 30_000 }],
  ['-n 1000 -t 10', /unknown option -n: operations per wallet are --iterations N/],
  ['-t 10 -q 100', /"100": the number of wallets is -t N, operations per second are --rate N/],
  ['-t 10 -j', /unknown option -j: the result as JSON is --json/],
  ['-t 10 --no-tui', /--no-tui: to print errors only is --quiet/],
  [
    '-t 10 --latency-correction',
    /--latency-correction: latency counts from the scheduled start if a rate is given: --rate N/,
  ],
  ['-t12 -c400 -d30s', /unknown option -c: the number of wallets is -t N/],
  ['-t12 -d30s', { threads: 12, durationMs: 30_000 }],
  ['-t 10 --disable-keepalive', /--disable-keepalive: one connection per request is --no-keep-alive/],
  ['-t 10 --no-keep-alive', { noKeepAlive: true }],
  // polycli
  [`loadtest --rpc-url ${RPC}`, /loadtest.*the load is stress -t N/],
  [`--rpc-url ${RPC} --concurrency 10 --requests 100`, /--requests: operations per wallet are --iterations N/],
  [`--rpc-url ${RPC} --concurrency 10 --time-limit 30`, /--time-limit .*: the length of a run is -d TIME/],
  [`--rpc-url ${RPC} -t 10 --gas-limit 30000`, /--gas-limit: an operation is what --workload NAME.FILE says/],
  [`--rpc-url ${RPC} --concurrency 10 --rate-limit 100`, { ratePerSecond: 100 }],
  [`--rpc-url ${RPC} --concurrency 10 --mode erc20`, { workload: 'erc20' }],
  [`--rpc-url ${RPC} --concurrency 10 --chain-id 0x539`, { threads: 10, chainId: 1337 }],
  [`--rpc-url ${RPC} --concurrency 10 --verbosity 700`, /--verbosity: the level of messages is --log-level LEVEL/],
  [`--rpc-url ${RPC} -t 5 --private-key 0x${'42'.repeat(32)}`, /^--private-key takes the name of a file/],
  // foundry, spamoor
  ['--rpc-url env -t 5', { rpc: [new URL(RPC)] }],
  ['--rpc-url localhost:8545 -t 5 --json', { rpc: [new URL('http://localhost:8545')], out: '-' }],
  [`--rpc-url ${RPC} -t 5 --private-key funder.key`, { fundFrom: 'funder.key' }],
  ['-t 5 --gas-price 2gwei --legacy', { gasPriceWei: 2_000_000_000n, legacy: true }],
  ['-t 5 --priority-gas-price 1gwei', { tipWei: 1_000_000_000n }],
  ['--wallets 10k', { threads: 10_000 }],
  ['', {}],
];

describe('command lines of other tools', () => {
  for (const [line, expected] of LINES)
    test(line, async () => {
      /** @type {any} */
      let read;
      try {
        read = await readLine(line, ENV, { hasUsualConfig: false });
      } catch (error) {
        const { message, code } = /** @type {any} */ (error);
        assert.ok(expected instanceof RegExp, message);
        assert.match(message, expected);
        assert.equal(code, 'usage');
        return;
      }
      if (read.kind === 'text') return assert.ok(read.text.length > 0);
      assert.ok(!(expected instanceof RegExp), 'it works, and an error was expected');
      const config = flat(read.config);
      for (const [key, value] of Object.entries(expected)) assert.deepEqual(config[key], value, key);
    });
});
