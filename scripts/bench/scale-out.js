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
import { publish, readOptions, table, withNode } from './lib.js';
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
const one = await withNode(startNullChain(), (node) => measureInstance(node, wallets, 10));
say(`${processes} instances behind a barrier`);
const many = await withNode(startNullChain({ blockMs: 1000 }), ({ url, chainId }) =>
  measureTogether(url, { processes, threads: 2, seconds: 10, chainId }),
);
say('geth: gas, calls, heads that are pushed');
const node = await withNode(startGeth({ period: 1 }), async (geth) => {
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
  withNode(startNullChain({ blockMs: 12_000 }), ({ url, chainId }) => measureTogether(url, { ...SLOW, chainId })),
  withNode(startGeth({ period: 12 }), async (geth) => {
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
  [constants(), breaking()].join('\n\n'),
  [`geth ${GETH.version}`],
  'scale-out.md',
);

function constants() {
  const { fundGas, deployGas, callGas, hashBytes, fundS, startS, setUpPerS, callsPerS } = node;
  const merge = (/** @type {typeof short} */ { s, cpuS, mb }) =>
    `${s.toFixed(1)} s (CPU ${cpuS.toFixed(1)} s), ${mb} MB`;
  /** @type {Array<[string, string]>} */
  const rows = [
    [`key of a wallet, of ${whole(wallets)}`, `${((deriveS / wallets) * 1e6).toFixed(0)} us`],
    ['gas of a payment, a deployment, an increment', [fundGas, deployGas, callGas].map(whole).join(', ')],
    [`${paid} wallets on geth: paid, and ready to load`, `${fundS.toFixed(1)} s, ${startS.toFixed(1)} s`],
    [`set-up of ${whole(wallets)} wallets`, `${one.startS.toFixed(1)} s, ${one.setUpCalls.toFixed(1)} calls a wallet`],
    ['memory of that instance, and of one with 2 wallets', `${whole(one.rssMb)} MB, ${whole(many.rssMb)} MB`],
    [
      `its load: ${whole(one.tps)} TPS`,
      `${whole(one.cpuUs)} us CPU an increment, ${whole(one.connections)} connections`,
    ],
    ['CPU of an idle instance, blocks of 1 s and 12 s', `${many.cores.toFixed(3)} and ${slow.cores.toFixed(3)} cores`],
    ['watching, polled, blocks of 1 s', perSecond(many.inclusionPerS)],
    ['watching, polled, blocks of 12 s', perSecond(slow.inclusionPerS)],
    ['watching, pushed, blocks of 1 s', perSecond(node.pushed.inclusionPerS)],
    ['watching, pushed, blocks of 12 s', perSecond(slowPushed.inclusionPerS)],
    ['a transaction in a block with hashes', `${whole(hashBytes)} bytes`],
    ['this geth: heads, and reads of a set-up in batches', `${perSecond(callsPerS)}, ${perSecond(setUpPerS)}`],
    [`start skew of ${processes} processes`, `${whole(many.skewMs)} ms`],
    [`${whole(instances)} arrivals until the start is agreed`, `${agreedS.toFixed(2)} s`],
    [`merge of ${whole(short.instances)} files of 60 intervals`, merge(short)],
    [`merge of ${whole(long.instances)} files of an hour`, merge(long)],
    ['run file', `${kB(one.fileBytes)} + ${kB(one.rowBytes)} an interval`],
    ['result line', `${kB(one.lineBytes)} + ${kB(one.rowLineBytes)} an interval`],
    ['Prometheus series of an instance', whole(many.series)],
  ];
  return table(['measured', 'figure'], rows);
}

/** @param {number} calls */
function perSecond(calls) {
  return `${calls >= 100 ? whole(calls) : calls.toFixed(1)} calls a second`;
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

/** @param {string} url of a geth, which has both at one port */
function ws(url) {
  return url.replace('http', 'ws');
}
