/**
 * What it costs to watch: CPU per verified increment with all outputs on and a scraper every second, against a plain
 * run, and a plain run against that of an earlier commit, which had no probes. They cannot be switched off, so that
 * this is how their cost is known.
 *
 *     npm run bench:overhead -- [--rounds 10] [--threads 200] [--seconds 10] [--base COMMIT] [--write]
 *
 * --base none leaves the earlier commit out, which a clone without its history has to do.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { ROOT, checkOut, interleave, publish, ratios, readOptions, spread, table } from './lib.js';
import { startNullChain } from './null-chain.js';

/** @import { AddressInfo } from 'node:net' */

/** The last commit without probes. */
const BASE = '747da3b';
const SCRAPE_EVERY_MS = 1000;
const OVERHEAD_MS = 120_000;

const { numbers, words } = readOptions({ rounds: 10, threads: 200, seconds: 10 }, { base: BASE });
const { rounds, threads, seconds } = numbers;

/** @typedef {{root: string, isWatched: boolean}} Cell */
/** @typedef {{tps: number, cpuUs: number}} Result */

const folder = mkdtempSync(join(tmpdir(), 'stress-overhead-'));
const chain = await startNullChain();
try {
  const base = words.base === 'none' ? null : await checkOut(words.base, folder);
  /** @type {{name: string, cell: Cell}[]} */
  const cells = [
    ...(base === null ? [] : [{ name: `plain, ${base.commit}`, cell: { root: base.root, isWatched: false } }]),
    { name: 'plain', cell: { root: ROOT, isWatched: false } },
    { name: 'all outputs', cell: { root: ROOT, isWatched: true } },
  ];
  const rows = await interleave(
    cells,
    rounds,
    measure,
    ({ tps, cpuUs }) => `${tps.toFixed(0)} TPS, ${cpuUs.toFixed(0)} us`,
  );
  const costs = rows.map(({ results }) => results.map(({ cpuUs }) => cpuUs));
  const markdown = table(
    ['', 'verified TPS', 'CPU us per verified', 'times the row above, pair by pair'],
    rows.map(({ name, results }, i) => [
      ...[name, spread(results.map(({ tps }) => tps)), spread(costs[i])],
      i === 0 ? '' : ratios(costs[i], costs[i - 1]),
    ]),
  );
  await publish('overhead', 'What watching costs', `${setting()}\n\n${markdown}`, ['null-chain/1']);
} finally {
  await chain.stop();
  rmSync(folder, { recursive: true, force: true });
}

function setting() {
  return (
    `Against the null chain, ${threads} wallets, so that all rows have the same load, ${seconds} s, ${rounds} interleaved ` +
    'rounds; median and range. All outputs: --samples and --blocks (CSV, compressed), --hlog, --prometheus with a scrape every ' +
    'second. The probes are on in every run, but for that of an earlier commit, which had none.'
  );
}

/** @param {Cell} cell @returns {Promise<Result>} */
async function measure({ root, isWatched }) {
  const out = join(folder, 'run.json');
  const port = await freePort();
  const outputs = [
    ...['--samples', join(folder, 'samples.csv.gz'), '--blocks', join(folder, 'blocks.csv.gz')],
    ...['--hlog', join(folder, 'latency.hlog'), '--prometheus', `${port}`],
  ];
  const over = new AbortController();
  const scrapes = isWatched ? scrape(`http://127.0.0.1:${port}/metrics`, over.signal) : null;
  try {
    await runStress(root, ['--out', out, ...(isWatched ? outputs : [])]);
  } finally {
    over.abort();
  }
  const scraped = await scrapes;
  if (scraped !== null && scraped < seconds - 2) throw new Error(`only ${scraped} scrapes in ${seconds} s`);
  const run = JSON.parse(readFileSync(out, 'utf8'));
  if (!run.audit?.exact) throw new Error('the audit is not exact');
  if (run.generator.samplesDropped > 0) throw new Error(`${run.generator.samplesDropped} samples were dropped`);
  return { tps: run.rates.verifiedPerSecond, cpuUs: run.generator.cpuUsPerVerified };
}

/** @param {string} root of the stress that runs @param {string[]} more arguments */
async function runStress(root, more) {
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('STRESS_')));
  const args = ['--rpc', chain.url, '-t', `${threads}`, '-o', '0', '-d', `${seconds}s`, ...more];
  const child = spawn(process.execPath, [join(root, 'bin', 'stress.js'), ...args], {
    env: { ...env, STRESS_FUNDER_KEY: chain.funderKey },
    stdio: ['ignore', 'ignore', 'inherit'],
    timeout: seconds * 1000 + OVERHEAD_MS,
  });
  const [code] = await once(child, 'exit');
  if (code !== 0) throw new Error(`stress ended with ${code}`);
}

/** @param {string} url @param {AbortSignal} signal @returns {Promise<number>} how often it was read */
async function scrape(url, signal) {
  let times = 0;
  while (!signal.aborted) {
    try {
      const text = await (await fetch(url, { signal })).text();
      if (text !== '') times += 1;
    } catch {
      // not yet, or not any more
    }
    await sleep(SCRAPE_EVERY_MS, undefined, { signal }).catch(() => {});
  }
  return times;
}

/** @returns {Promise<number>} */
async function freePort() {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = /** @type {AddressInfo} */ (server.address());
  server.close();
  await once(server, 'close');
  return port;
}
