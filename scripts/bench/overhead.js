/**
 * What it costs to watch: CPU per verified increment with all outputs on and a scraper every second, against a plain run.
 *
 *     npm run bench:overhead -- [--rounds 10] [--threads 200] [--seconds 10] [--write]
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort, interleave, publish, ratios, readOptions, runOurs } from './lib.js';
import { startNullChain } from './null-chain.js';

const SCRAPE_EVERY_MS = 1000;

const { rounds, threads, seconds } = readOptions({ rounds: 10, threads: 200, seconds: 10 }).numbers;

const SETTING =
  `Against the null chain, ${threads} wallets, ${seconds} s, ${rounds} interleaved rounds; median and range. All outputs: ` +
  '--samples and --blocks (CSV, compressed), --hlog, --prometheus with a scrape every second.';

const folder = mkdtempSync(join(tmpdir(), 'stress-overhead-'));
const chain = await startNullChain();
try {
  const { markdown } = await interleave({
    cells: [
      { name: 'plain', cell: false },
      { name: 'all outputs', cell: true },
    ],
    rounds,
    measure,
    columns: [
      ['verified TPS', ({ tps }) => tps],
      ['CPU us per verified', ({ cpuUs }) => cpuUs],
    ],
    others: [
      [
        'times plain, pair by pair',
        (results, plain) => {
          const [costs, usual] = [results, plain].map((side) => side.map(({ cpuUs }) => cpuUs));
          return ratios(costs, usual);
        },
      ],
    ],
  });
  await publish('overhead', 'What watching costs', `${SETTING}\n\n${markdown}`, ['null-chain/1']);
} finally {
  await chain.stop();
  rmSync(folder, { recursive: true, force: true });
}

/** @param {boolean} isWatched */
async function measure(isWatched) {
  const port = await freePort();
  const outputs = [
    ...['--samples', join(folder, 'samples.csv.gz'), '--blocks', join(folder, 'blocks.csv.gz')],
    ...['--hlog', join(folder, 'latency.hlog'), '--prometheus', `${port}`],
  ];
  const over = new AbortController();
  const scrapes = isWatched ? scrape(`http://127.0.0.1:${port}/metrics`, over.signal) : null;
  const result = await runOurs(chain, ['-t', `${threads}`, ...(isWatched ? outputs : [])], seconds).finally(() =>
    over.abort(),
  );
  const scraped = await scrapes;
  if (scraped !== null && scraped < seconds - 2) throw new Error(`only ${scraped} scrapes in ${seconds} s`);
  const { samplesDropped } = /** @type {any} */ (result.run.generator);
  if (samplesDropped > 0) throw new Error(`${samplesDropped} samples were dropped`);
  return result;
}

/** @param {string} url @param {AbortSignal} signal @returns {Promise<number>} how often it was read */
async function scrape(url, signal) {
  let times = 0;
  while (!signal.aborted) {
    try {
      const text = await (await fetch(url, { signal })).text();
      if (text !== '') times += 1;
    } catch {
      // The page is served from the set-up to the end of the run.
    }
    await sleep(SCRAPE_EVERY_MS, undefined, { signal }).catch(() => {});
  }
  return times;
}
