/**
 * Ours, with each transport, against a straightforward ethers v6 client, in interleaved rounds on one node:
 *
 *     npm run bench:increment -- [--rounds 5] [--threads 200] [--seconds 15] [--node all|geth|anvil] [--write]
 *
 * No client's word is taken for its TPS. A run of ours ends with an audit, and one that is not exact stops the
 * benchmark. The counters of the ethers client are read from the chain after its run: their sum, less what came after
 * its window, is what it is credited with.
 */
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { call } from '../nodes/build.js';
import { startGeth } from '../nodes/geth.js';
import { startAnvil } from './anvil.js';
import { interleave, publish, ratios, readOptions, runOurs } from './lib.js';

/** @import { Figures, Node } from './lib.js' */

const PEER = fileURLToPath(new URL('ethers-client.js', import.meta.url));
const PEER_OVERHEAD_MS = 300_000;
/** Selector of Counter.count(). */
const COUNT = '0x06661abd';

/** @typedef {Node & {stop: () => Promise<void>}} BenchNode */
/** @type {Record<string, {title: string, start: () => Promise<BenchNode>}>} */
const NODES = {
  geth: { title: 'geth --dev (period 0)', start: () => startGeth({ period: 0 }) },
  anvil: { title: 'anvil (a block every 100 ms)', start: startAnvil },
};

const { numbers, words } = readOptions({ rounds: 5, threads: 200, seconds: 15 }, { node: 'all' });
const { rounds, threads, seconds } = numbers;
const chosen = Object.entries(NODES).filter(([name]) => words.node === 'all' || words.node === name);
if (chosen.length === 0) throw new Error(`--node: give all, ${Object.keys(NODES).join(' or ')}`);

/** @type {{name: string, cell: (node: BenchNode) => Promise<Figures>}[]} */
const CLIENTS = [
  { name: 'ethers v6', cell: runPeer },
  ...['undici', 'tcp'].map((transport) => ({
    name: `stress, ${transport}`,
    cell: (/** @type {BenchNode} */ node) => runOurs(node, ['-t', `${threads}`, '--transport', transport], seconds),
  })),
];

const parts = [];
const versions = [];
for (const [, { title, start }] of chosen) {
  const node = await start();
  try {
    versions.push(String(await call(node.url, 'web3_clientVersion')));
    parts.push(`### ${title}\n\n${await compare(title, node)}`);
  } finally {
    await node.stop();
  }
}
const setting =
  `${threads} wallets, ${seconds} s, ${rounds} interleaved rounds; median and range. Every increment that counts was ` +
  'found on the chain: ours by the audit of each run, those of the ethers client by reading its counters afterwards.';
await publish('increment', 'Against an ethers v6 client', [setting, ...parts].join('\n\n'), versions);

/** @param {string} title @param {BenchNode} node @returns {Promise<string>} */
async function compare(title, node) {
  console.error(title);
  const of = (/** @type {'tps' | 'cpuUs'} */ name, /** @type {Figures[]} */ results) =>
    results.map((result) => result[name]);
  const { markdown } = await interleave({
    cells: CLIENTS,
    rounds,
    measure: (run) => run(node),
    columns: [
      ['verified TPS', ({ tps }) => tps],
      ['CPU us per verified', ({ cpuUs }) => cpuUs],
      ['mean latency ms', ({ meanMs }) => meanMs],
    ],
    others: [
      ['times the TPS of ethers', (results, peer) => ratios(of('tps', results), of('tps', peer))],
      ['times less CPU than ethers', (results, peer) => ratios(of('cpuUs', peer), of('cpuUs', results))],
      ['failed', (results) => String(results.reduce((sum, { failed }) => sum + failed, 0))],
    ],
  });
  return markdown;
}

/** @param {BenchNode} node @returns {Promise<Figures>} */
async function runPeer({ url, funderKey }) {
  const args = [PEER, '--rpc', url, '--threads', `${threads}`, '--duration', `${seconds}`];
  const { stdout } = await promisify(execFile)(process.execPath, args, {
    env: { ...process.env, STRESS_FUNDER_KEY: funderKey },
    timeout: seconds * 1000 + PEER_OVERHEAD_MS,
  });
  const said = JSON.parse(stdout);
  const onChain = await sumOfCounts(url, said.contracts);
  // What failed may have been executed all the same, so that only then the chain may have more than was said.
  const agrees = said.failed === 0 ? onChain === said.verified + said.late : onChain >= said.verified + said.late;
  if (!agrees) {
    throw new Error(`the ethers client says ${said.verified} + ${said.late} after its window, the chain ${onChain}`);
  }
  const verified = Math.min(said.verified, onChain - said.late);
  return { tps: verified / said.seconds, cpuUs: said.cpuUs / verified, meanMs: said.avgMs, failed: said.failed };
}

/** The contracts were deployed for this run, so their counts began with 0. @param {string} url @param {string[]} contracts */
async function sumOfCounts(url, contracts) {
  let sum = 0;
  for (const to of contracts) sum += Number(await call(url, 'eth_call', [{ to, data: COUNT }, 'latest']));
  return sum;
}
