/**
 * What a run of very many instances needs, counted from constants that are measured here, one by one, in some minutes:
 *
 *     npm run bench:scale-out -- [--instances 1000] [--wallets 10000] [--processes 8] [--paid 200] [--write]
 *
 * The constants come from one instance with all its wallets and from --processes real instances behind a barrier, both
 * on the null chain, from geth on which --paid wallets are paid and deployed for, from the barrier itself with the
 * arrivals of all instances, and from merges. What watching costs is measured at the pace of each chain that is counted
 * for. --write puts the tables into docs/scale-out.md.
 */
import { GETH, startGeth } from '../nodes/geth.js';
import { publish, readOptions, table } from './lib.js';
import { startNullChain } from './null-chain.js';
import {
  FUNDED_FROM,
  deriveSeconds,
  fund,
  measureBarrier,
  measureGas,
  measureInstance,
  measureMerge,
  measureTogether,
} from './scale-out-measure.js';
import { headsPerSecond, setUpCallsPerSecond } from './scale-out-node.js';

const { instances, wallets, processes, paid } = readOptions({
  instances: 1000,
  wallets: 10_000,
  processes: 8,
  paid: 200,
}).numbers;

const INTERVALS_AN_HOUR = 720;

/** Run files of an hour that are merged here; the merge of all is counted from them. */
const MERGED = 60;

/** Two chains to count with. @typedef {{name: string, gas: number, periodS: 1 | 12}} Chain @type {Chain[]} */
const CHAINS = [
  { name: '30M gas, 12 s', gas: 30e6, periodS: 12 },
  { name: '300M gas, 1 s', gas: 300e6, periodS: 1 },
];

/** What geth keeps in its pool by default (--txpool.globalslots and --txpool.globalqueue). */
const POOL = 5120 + 1024;

/** On a slow chain there is less to see in a second: so many instances watch it for so long. */
const SLOW = { processes: 2, threads: 2, seconds: 48 };

const deriveS = deriveSeconds(wallets);
say('one instance with all its wallets');
const one = await on(startNullChain(), (node) => measureInstance(node, wallets, 10));
say(`${processes} instances behind a barrier`);
const many = await on(startNullChain({ blockMs: 1000 }), ({ url, chainId }) =>
  measureTogether(url, { processes, threads: 2, seconds: 10, chainId }),
);
say('geth: gas, calls, heads that are pushed');
const node = await on(startGeth({ period: 1 }), async (geth) => {
  const gas = await measureGas(geth, paid);
  const pushed = await measureTogether(ws(geth.url), {
    processes: 2,
    threads: 5,
    seconds: 8,
    chainId: 1337,
    offset: FUNDED_FROM,
  });
  const setUpPerS = await setUpCallsPerSecond(geth.url, { wallets: paid, hash: gas.hash });
  return { ...gas, pushed, setUpPerS, callsPerS: await headsPerSecond(geth.url) };
});
say('a block every 12 s, polled and pushed; merges meanwhile, on the other core');
const [slow, slowPushed, [short, long]] = await Promise.all([
  on(startNullChain({ blockMs: 12_000 }), ({ url, chainId }) => measureTogether(url, { ...SLOW, chainId })),
  on(startGeth({ period: 12 }), async (geth) => {
    await fund(geth, SLOW.processes * SLOW.threads);
    return measureTogether(ws(geth.url), { ...SLOW, chainId: 1337, offset: FUNDED_FROM });
  }),
  measureMerge(instances, 60).then(async (first) => [first, await measureMerge(MERGED, INTERVALS_AN_HOUR)]),
]);
say('the barrier itself');
const agreedS = await measureBarrier(instances);

const watching = { 1: { polled: many, pushed: node.pushed }, 12: { polled: slow, pushed: slowPushed } };
const all = instances * wallets;
await publish(
  'scale-out',
  'The figures',
  [constants(), scaled(), breaking()].join('\n\n'),
  [`geth ${GETH.version}`],
  'scale-out.md',
);

function constants() {
  const { fundGas, deployGas, callGas, hashBytes, fundS, startS, setUpPerS, callsPerS } = node;
  return table(
    ['measured', 'figure', 'of what'],
    [
      ['keys', `${((deriveS / wallets) * 1e6).toFixed(0)} us a wallet`, `${whole(wallets)} derived in a row`],
      ['payment', `${whole(fundGas)} gas a wallet`, `\`stress fund\`, ${paid} wallets on geth, ${fundS.toFixed(1)} s`],
      ['deployment', `${whole(deployGas)} gas`, `one Counter; ${paid} were ready to load in ${startS.toFixed(1)} s`],
      ['increment', `${whole(callGas)} gas`, 'of a counter that is not zero'],
      [
        'start-up',
        `${one.startS.toFixed(1)} s, ${one.setUpCalls.toFixed(1)} calls a wallet`,
        `${whole(wallets)} wallets, null chain`,
      ],
      [
        'memory',
        `${whole(one.rssMb)} MB`,
        `${whole(wallets)} wallets at ${whole(one.tps)} TPS; ${whole(many.rssMb)} MB with 2 wallets`,
      ],
      ['CPU', `${whole(one.cpuUs)} us an increment`, 'the same run, the chain on the same two cores'],
      [
        'CPU with next to no load',
        `${many.cores.toFixed(3)} of a core`,
        `each of ${processes} instances of 2 wallets, blocks of 1 s; ${slow.cores.toFixed(3)} with blocks of 12 s`,
      ],
      ['connections', whole(one.connections), 'of the one with all wallets (`--connections`)'],
      ['watching, polled, 1 s', perSecond(many.inclusionPerS), `${processes} instances, http, a block a second`],
      [
        'watching, polled, 12 s',
        perSecond(slow.inclusionPerS),
        `${SLOW.processes} instances, their first minute; every 250 ms at least`,
      ],
      ['watching, pushed, 1 s', perSecond(node.pushed.inclusionPerS), '2 instances on geth, ws, a block a second'],
      [
        'watching, pushed, 12 s',
        perSecond(slowPushed.inclusionPerS),
        `${SLOW.processes} instances on geth, ws; the head is asked for every second beside`,
      ],
      ['a transaction in a block', `${whole(hashBytes)} bytes`, 'of `eth_getBlockByNumber` with hashes only'],
      ['node, heads', perSecond(callsPerS), '`eth_blockNumber`, the cheapest call, on this geth, 64 connections'],
      ['node, set-up', perSecond(setUpPerS), 'balances, nonces, receipts in batches of 100, on this geth'],
      ['start skew', `${whole(many.skewMs)} ms`, `${processes} processes on two cores, barrier on a local folder`],
      [
        'agreeing on a start',
        `${agreedS.toFixed(2)} s`,
        `from the last of ${whole(instances)} arrivals until index 0 says when`,
      ],
      mergeRow('merge, 60 intervals', short),
      mergeRow('merge, an hour', long),
      ['run file', `${kB(one.fileBytes)} + ${kB(one.rowBytes)} an interval`, 'compact JSON'],
      ['result line', `${kB(one.lineBytes)} + ${kB(one.rowLineBytes)} an interval`, 'gzip and base64'],
      ['Prometheus', `${whole(many.series)} series`, 'the page of one instance'],
    ],
  );
}

/** @param {string} name @param {Awaited<ReturnType<typeof measureMerge>>} merge */
function mergeRow(name, { instances: files, intervals, s, cpuS, mb }) {
  return [
    name,
    `${s.toFixed(1)} s, ${mb} MB`,
    `${whole(files)} run files of ${intervals} intervals; CPU ${cpuS.toFixed(1)} s`,
  ];
}

/** @param {number} calls */
function perSecond(calls) {
  return `${calls >= 100 ? whole(calls) : calls.toFixed(1)} calls a second`;
}

function scaled() {
  const { fundGas, deployGas, callGas, hashBytes, setUpPerS } = node;
  /** @param {string} what @param {(chain: Chain) => string} of */
  const row = (what, of) => [what, ...CHAINS.map(of)];
  /** @param {number} gas of each wallet */
  const time = (gas) => (/** @type {Chain} */ chain) => hours(blocksFor(gas, chain) * chain.periodS);
  const ether = (/** @type {number} */ gas) => () => `${whole((gas * all) / 1e9)} ether at 1 gwei`;
  const perHour = (/** @type {number} */ fixed, /** @type {number} */ each) => () =>
    `${((instances * (fixed + INTERVALS_AN_HOUR * each)) / 1e9).toFixed(2)} GB, ${kB(fixed + INTERVALS_AN_HOUR * each)} each`;
  return table(
    [`${whole(instances)} instances of ${whole(wallets)} wallets`, ...CHAINS.map(({ name }) => name)],
    [
      row('keys, each instance its own', () => `${deriveS.toFixed(1)} s`),
      row('keys, all in one `stress fund`', () => hours(deriveS * instances)),
      row('payments, blocks', (chain) => whole(blocksFor(fundGas, chain))),
      row('payments, time at least', time(fundGas)),
      row('payments, fees', ether(fundGas)),
      row('deployments, time at least', time(deployGas)),
      row('deployments, fees', ether(deployGas)),
      row(
        'calls of the set-up',
        () =>
          `${whole((one.setUpCalls * all) / 1e6)} million, ${hours((one.setUpCalls * all) / setUpPerS)} of this geth`,
      ),
      row('increments a second at most', (chain) => whole(tpsOf(chain))),
      row('one increment of each wallet', time(callGas)),
      row('watching, polled', ({ periodS }) => `${whole(instances * watching[periodS].polled.inclusionPerS)} calls/s`),
      row('watching, pushed', ({ periodS }) => `${whole(instances * watching[periodS].pushed.inclusionPerS)} calls/s`),
      row('watching, full blocks', (chain) => `${whole((instances * hashBytes * tpsOf(chain)) / 1e6)} MB/s`),
      row('connections at the node', () => whole(instances * one.connections)),
      row('memory of all instances', () => `${whole((instances * one.rssMb) / 1024)} GB`),
      row(
        'CPU of all instances',
        (chain) =>
          `${(instances * watching[chain.periodS].polled.cores + (tpsOf(chain) * one.cpuUs) / 1e6).toFixed(0)} cores`,
      ),
      row('run files of an hour', perHour(one.fileBytes, one.rowBytes)),
      row('result lines of an hour', perHour(one.lineBytes, one.rowLineBytes)),
      row('merge of a run of 60 intervals', () => hours((short.s / short.instances) * instances)),
      row('merge of an hour', () => hours((long.s / long.instances) * instances)),
      row('series', () => whole(instances * many.series)),
    ],
  );
}

/** By how much what is needed is more than what is there, the worst first. */
function breaking() {
  const { fundGas, deployGas, hashBytes, callsPerS, setUpPerS } = node;
  /** @type {Array<[string, (chain: Chain) => number]>} */
  const limits = [
    [`transactions in flight, against a pool of ${whole(POOL)}`, () => all / POOL],
    ['one round of all wallets, against `--tx-timeout` 60 s', (chain) => all / tpsOf(chain) / 60],
    ['deployments, against an hour', (chain) => (blocksFor(deployGas, chain) * chain.periodS) / 3600],
    ['payments, against an hour', (chain) => (blocksFor(fundGas, chain) * chain.periodS) / 3600],
    ['calls of the set-up, against an hour of this geth', () => (one.setUpCalls * all) / setUpPerS / 3600],
    ['keys of one `stress fund`, against an hour', () => (deriveS * instances) / 3600],
    [
      'heads that are polled, against this geth',
      ({ periodS }) => (instances * watching[periodS].polled.inclusionPerS) / callsPerS,
    ],
    ['blocks that are fetched, against 1 Gbit/s', (chain) => (instances * hashBytes * tpsOf(chain) * 8) / 1e9],
    ['connections, against 32,768 descriptors', () => (instances * one.connections) / 32_768],
  ];
  const rows = limits.sort(([, a], [, b]) => b(CHAINS[0]) - a(CHAINS[0]));
  return table(
    ['what breaks first: needed / there', ...CHAINS.map(({ name }) => name)],
    rows.map(([what, of]) => [what, ...CHAINS.map((chain) => ratio(of(chain)))]),
  );
}

/** @param {number} gas of each wallet @param {{gas: number}} chain */
function blocksFor(gas, chain) {
  return Math.ceil((gas * all) / chain.gas);
}

/** @param {{gas: number, periodS: number}} chain */
function tpsOf({ gas, periodS }) {
  return gas / node.callGas / periodS;
}

/** @template {{stop: () => Promise<void>}} N, R @param {Promise<N>} starting @param {(node: N) => Promise<R>} measure */
async function on(starting, measure) {
  const started = await starting;
  try {
    return await measure(started);
  } finally {
    await started.stop();
  }
}

/** @param {string} what */
function say(what) {
  console.error(`${new Date().toISOString().slice(11, 19)} ${what}`);
}

/** @param {number} value */
function whole(value) {
  return Math.round(value).toLocaleString('en-US');
}

/** @param {number} value */
function ratio(value) {
  return value >= 10 ? whole(value) : value.toPrecision(2);
}

/** @param {number} bytes */
function kB(bytes) {
  return `${(bytes / 1000).toFixed(bytes < 10_000 ? 1 : 0)} kB`;
}

/** @param {number} seconds */
function hours(seconds) {
  if (seconds < 120) return `${seconds.toFixed(0)} s`;
  return seconds < 7200 ? `${(seconds / 60).toFixed(0)} min` : `${whole(seconds / 3600)} h`;
}

/** @param {string} url of a geth, which has both at one port */
function ws(url) {
  return url.replace('http', 'ws');
}
