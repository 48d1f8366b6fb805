/**
 * Ours against a straightforward ethers v6 client, in interleaved pairs on one geth --dev:
 *
 *     npm run bench:increment -- [--pairs 5] [--threads 200] [--seconds 15]
 *
 * Prints Markdown: each run, and the ratios.
 */
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { parseArgs, promisify } from 'node:util';
import { startGeth } from '../nodes/geth.js';
import { machine, runOurs, spread } from './lib.js';

const PEER = fileURLToPath(new URL('ethers-client.js', import.meta.url));

const { values } = parseArgs({
  options: {
    pairs: { type: 'string', default: '5' },
    threads: { type: 'string', default: '200' },
    seconds: { type: 'string', default: '15' },
  },
});
const { threads, seconds, pairs } = values;

/** @param {{url: string, funderKey: string}} node @returns {Promise<import('./lib.js').Figures>} */
async function runPeer({ url, funderKey }) {
  const args = [PEER, '--rpc', url, '--threads', threads, '--duration', seconds];
  const env = { ...process.env, STRESS_FUNDER_KEY: funderKey };
  const { stdout } = await promisify(execFile)(process.execPath, args, { env });
  const { tps, cpuUsPerVerified, avgMs, failed } = JSON.parse(stdout);
  return { tps, cpuUs: cpuUsPerVerified, meanMs: avgMs, failed };
}

/** @param {string} name @param {import('./lib.js').Figures} figures */
function row(name, { tps, cpuUs, meanMs, failed }) {
  console.log(`| ${name} | ${tps.toFixed(0)} | ${cpuUs.toFixed(0)} | ${meanMs.toFixed(0)} | ${failed} |`);
}

const geth = await startGeth({ period: 0 });
try {
  console.log(`geth --dev (period 0), ${threads} wallets, ${seconds} s, ${pairs} interleaved pairs; ${machine()}\n`);
  console.log('| client | verified TPS | CPU us per verified | mean latency ms | failed |');
  console.log('| --- | ---: | ---: | ---: | ---: |');
  /** @type {Record<'ours' | 'peer', import('./lib.js').Figures[]>} */
  const both = { ours: [], peer: [] };
  for (let i = 0; i < Number(pairs); i += 1) {
    // Every other pair the other way round, so that what grows with the chain hits both alike.
    const order = /** @type {const} */ (['ours', 'peer']);
    for (const side of i % 2 === 0 ? order : order.toReversed()) {
      const figures = side === 'ours' ? await runOurs(geth, ['-t', threads, '-d', `${seconds}s`]) : await runPeer(geth);
      row(side === 'ours' ? 'stress' : 'ethers v6', figures);
      both[side].push(figures);
    }
  }
  const tps = both.ours.map((ours, i) => ours.tps / both.peer[i].tps);
  const cpu = both.ours.map((ours, i) => both.peer[i].cpuUs / ours.cpuUs);
  console.log(`\nMedian and range over the pairs: ${spread(tps, 1)} times the TPS, ${spread(cpu, 1)} times less CPU.`);
  console.log(
    `Ours alone: ${spread(
      both.ours.map(({ cpuUs }) => cpuUs),
      0,
    )} us of CPU per verified increment.`,
  );
} finally {
  await geth.stop();
}
