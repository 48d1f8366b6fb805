/**
 * Ours against a straightforward ethers v6 client, in interleaved pairs on one geth --dev:
 *
 *     npm run bench:increment -- [--pairs 5] [--threads 200] [--seconds 15]
 *
 * Prints Markdown: each run, the medians, and the ratios.
 */
import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs, promisify } from 'node:util';
import { startGeth } from '../nodes/geth.js';

const run = promisify(execFile);
const STRESS = fileURLToPath(new URL('../../bin/stress.js', import.meta.url));
const PEER = fileURLToPath(new URL('ethers-client.js', import.meta.url));

const { values } = parseArgs({
  options: {
    pairs: { type: 'string', default: '5' },
    threads: { type: 'string', default: '200' },
    seconds: { type: 'string', default: '15' },
  },
});
const { threads, seconds } = values;

/** @typedef {{tps: number, cpuUs: number, meanMs: number, failed: number}} Figures */

/** @param {{url: string, funderKey: string}} geth @param {string} folder @returns {Promise<Figures>} */
async function ours({ url, funderKey }, folder) {
  const out = join(folder, 'run.json');
  const env = { ...process.env, CI: undefined, STRESS_FUNDER_KEY: funderKey };
  await run(process.execPath, [STRESS, '-t', threads, '-o', '0', '-d', `${seconds}s`, '--rpc', url, '--out', out], {
    env,
  });
  const { rates, generator, latency, counts, audit } = JSON.parse(readFileSync(out, 'utf8'));
  if (!audit.exact) throw new Error('the audit is not exact');
  return {
    tps: rates.verifiedPerSecond,
    cpuUs: generator.cpuUsPerVerified,
    meanMs: latency.total.meanUs / 1000,
    failed: counts.failed + counts.timedOut + counts.abandoned,
  };
}

/** @param {{url: string, funderKey: string}} geth @returns {Promise<Figures>} */
async function peer({ url, funderKey }) {
  const env = { ...process.env, STRESS_FUNDER_KEY: funderKey };
  const { stdout } = await run(process.execPath, [PEER, '--rpc', url, '--threads', threads, '--duration', seconds], {
    env,
  });
  const { tps, cpuUsPerVerified, avgMs, failed } = JSON.parse(stdout);
  return { tps, cpuUs: cpuUsPerVerified, meanMs: avgMs, failed };
}

/** @param {number[]} numbers */
function median(numbers) {
  const sorted = [...numbers].sort((a, b) => a - b);
  return (sorted[Math.floor((sorted.length - 1) / 2)] + sorted[Math.ceil((sorted.length - 1) / 2)]) / 2;
}

/** @param {string} name @param {Figures} figures */
function row(name, { tps, cpuUs, meanMs, failed }) {
  console.log(`| ${name} | ${tps.toFixed(0)} | ${cpuUs.toFixed(0)} | ${meanMs.toFixed(0)} | ${failed} |`);
}

const folder = mkdtempSync(join(tmpdir(), 'stress-bench-'));
const geth = await startGeth({ period: 0 });
try {
  console.log(
    `geth --dev (period 0), ${threads} wallets, ${seconds} s, ${values.pairs} interleaved pairs; ${cpus().length} x ${cpus()[0].model.trim()}, Node ${process.version}\n`,
  );
  console.log(
    '| client | verified TPS | CPU us per verified | mean latency ms | failed |\n| --- | ---: | ---: | ---: | ---: |',
  );
  const pairs = [];
  for (let i = 0; i < Number(values.pairs); i += 1) {
    // Every other pair the other way round, so that what grows with the chain hits both alike.
    const first = i % 2 === 0 ? await ours(geth, folder) : await peer(geth);
    const second = i % 2 === 0 ? await peer(geth) : await ours(geth, folder);
    const pair = i % 2 === 0 ? { ours: first, peer: second } : { ours: second, peer: first };
    row('stress', pair.ours);
    row('ethers v6', pair.peer);
    pairs.push(pair);
  }
  const tps = pairs.map((pair) => pair.ours.tps / pair.peer.tps);
  const cpu = pairs.map((pair) => pair.peer.cpuUs / pair.ours.cpuUs);
  console.log(
    `\nTPS, ours over theirs: median ${median(tps).toFixed(1)} (${Math.min(...tps).toFixed(1)} to ${Math.max(...tps).toFixed(1)})`,
  );
  console.log(
    `CPU per verified increment, theirs over ours: median ${median(cpu).toFixed(1)} (${Math.min(...cpu).toFixed(1)} to ${Math.max(...cpu).toFixed(1)})`,
  );
} finally {
  await geth.stop();
  rmSync(folder, { recursive: true, force: true });
}
