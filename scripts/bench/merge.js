/**
 * How long a merge takes, and how much memory: the run files of 1,000 instances, each of 60 intervals. They are made from
 * one real run file on an embedded chain, as instances with slices of their own and latencies of their own, so that no
 * two histograms are the same.
 *
 *   npm run bench:merge [-- INSTANCES [INTERVALS]]
 */
import { spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { readFileSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Distribution } from '../../src/stats/histogram.js';
import { ROOT, inTemporaryFolder, runStress } from './lib.js';

const STRESS = join(ROOT, 'bin', 'stress.js');
const [instances = 1000, intervals = 60] = process.argv.slice(2).map(Number);
const THREADS = 50;
const SECONDS = 10;

await inTemporaryFolder(async (folder) => {
  const { run: real } = await runStress(['-t', `${THREADS}`, '--interval', '1s', '--quiet'], SECONDS);
  for (let index = 0; index < instances; index += 1)
    writeFileSync(
      join(folder, `bench-${String(index).padStart(5, '0')}-0.json`),
      `${JSON.stringify(asInstance(real, index))}\n`,
    );
  const bytes = readdirSync(folder).reduce((sum, name) => sum + statSync(join(folder, name)).size, 0);
  console.log(`${instances} run files of ${intervals} intervals, ${Math.round(bytes / 1e6)} MB`);
  measure(folder);
});

/** @param {any} real @param {number} index */
function asInstance(real, index) {
  const load = real.intervals.filter((/** @type {any} */ { phase }) => phase === 'load');
  const latencies = load.map((/** @type {any} */ { latency }) => varied(latency, index));
  const rows = Array.from({ length: intervals }, (_, i) => {
    const latency = latencies[i % load.length];
    return { ...load[i % load.length], startMs: i * 1000, endMs: (i + 1) * 1000, latency };
  });
  /** @type {Record<string, number>} */
  const counts = {};
  for (const row of rows)
    for (const [name, count] of Object.entries(row.counts)) counts[name] = (counts[name] ?? 0) + Number(count);
  // What was in flight at the end of the real one ended in its drain, of which there is none here.
  counts.abandoned += counts.started - counts.verified - counts.failed - counts.timedOut - counts.abandoned;
  rows[rows.length - 1] = { ...rows[rows.length - 1], counts: lastOf(rows, counts) };
  const of = Object.fromEntries(Object.keys(real.window.counts).map((name) => [name, counts[name] ?? 0]));
  // A little off the whole second, as starts are.
  const startedAt = new Date(Date.parse(real.window.startedAt) + (index % 7)).toISOString();
  const endedAt = new Date(Date.parse(startedAt) + intervals * 1000).toISOString();
  const lag = { ...real.lag, count: counts.scheduled };
  return {
    ...real,
    id: randomUUID(),
    endedAt,
    counts,
    inFlight: 0,
    lag,
    audit: { ...real.audit, verified: counts.verified },
    window: { startedAt, durationMs: intervals * 1000, counts: of },
    config: { ...real.config, offset: 0, durationMs: intervals * 1000 },
    latency: { ...real.latency, total: varied(real.latency.total, index) },
    intervals: rows,
    instance: {
      runId: 'bench',
      index,
      instances,
      attempt: 0,
      scheduler: null,
      offset: index * THREADS,
      threads: THREADS,
      host: 'bench',
      start: { by: null, at: null, waitedMs: null, lateMs: null },
    },
  };
}

/** The last row, with what was abandoned. @param {any[]} rows @param {Record<string, number>} counts */
function lastOf(rows, counts) {
  const last = rows[rows.length - 1].counts;
  const before = rows.reduce((sum, row) => sum + row.counts.abandoned, 0);
  return { ...last, abandoned: last.abandoned + counts.abandoned - before };
}

/** As many latencies, spread as latencies are: most near the mean, some far above. @param {any} json @param {number} seed */
function varied(json, seed) {
  const distribution = new Distribution();
  for (let i = 0; i < json.count; i += 1) {
    const random = ((i * 7919 + seed * 104_729) % 100_003) / 100_003;
    distribution.record(Math.round((json.meanUs * (0.4 - Math.log(1 - random))) / 1.4));
  }
  return distribution.toJSON();
}

/** In a process of its own, which says itself what it took. @param {string} folder */
function measure(folder) {
  const report = `process.on('exit', () => console.error(JSON.stringify({ rss: process.resourceUsage().maxRSS, cpu: process.cpuUsage() })))`;
  const preload = `data:text/javascript,${encodeURIComponent(report)}`;
  const startedAt = performance.now();
  const out = join(folder, 'merged.out');
  const args = ['--import', preload, STRESS, 'merge', folder, '--expect', `${instances}`, '--out', out];
  const { status, stderr } = spawnSync(process.execPath, [...args, '--quiet'], { encoding: 'utf8' });
  const seconds = (performance.now() - startedAt) / 1000;
  if (status !== 0) throw new Error(`the merge ended with ${status}: ${stderr}`);
  const { rss, cpu } = JSON.parse(stderr.trim().split('\n').at(-1) ?? '');
  const merged = JSON.parse(readFileSync(out, 'utf8'));
  console.log(
    `${seconds.toFixed(1)} s (CPU ${((cpu.user + cpu.system) / 1e6).toFixed(1)} s), peak memory ${Math.round(rss / 1000)} MB`,
  );
  console.log(
    `${merged.merged.instances.length} instances, ${merged.counts.verified} verified, ${merged.intervals.length} rows`,
  );
}
