/** The page of several runs, as stress report makes it of their files. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { assertGoldenPage } from '../golden/assert-golden.js';
import { longRun } from '../helpers/long-run.js';
import { readBy } from '../helpers/reports.js';
import { distributionOf, rowOf } from '../helpers/samples.js';
import { runOf } from '../laws/studies/runs.js';
import { HOSTILE, assertHarmless, assertWhole, chartsOf, tableOf } from '../helpers/pages.js';

/**
 * @import { TestContext } from 'node:test'
 * @import { RunFile } from '../../src/contracts/run-file.d.ts'
 * @import { Chart } from '../../src/report/charts.js'
 */

/** A run that ended in its warm-up. @param {number} number @returns {RunFile} */
function unmeasured(number) {
  const run = runOf(number);
  const none = distributionOf();
  return {
    ...run,
    exitCode: 130,
    verdict: null,
    end: 'interrupted',
    intervals: [rowOf({ phase: 'warmup' })],
    rates: { ...run.rates, verifiedPerSecond: null },
    window: { ...run.window, durationMs: 0, counts: { ...run.window.counts, verified: 0 } },
    latency: { ...run.latency, total: none },
    generator: { ...run.generator, cpuUsPerVerified: null },
  };
}

/** The runs of the table, by the heads of its columns. @param {string} page @returns {Array<Record<string, string>>} */
function overviewOf(page) {
  const [head, ...rows] = tableOf(page, 'The runs and their figures');
  return rows.map((cells) => Object.fromEntries(cells.map((text, i) => [head[i], text])));
}

/** @param {TestContext} t @param {Record<string, object>} runs by the names of their files */
const pageOf = async (t, runs) =>
  (await readBy(t, ['report', '--html', 'page.html', '--quiet'], runs)).read('page.html');

describe('the page of several runs', () => {
  it('is that which is kept, of run files of release 0.1', async (t) => {
    const runs = ['closed-loop', 'interrupted', 'plain-calls', 'two-endpoints'].map((name) => {
      return [name, JSON.parse(readFileSync(new URL(`../fixtures/runs-0.1/${name}.json`, import.meta.url), 'utf8'))];
    });
    assertGoldenPage('runs', await pageOf(t, Object.fromEntries(runs)));
  });

  it('has a page also where nothing was measured at all', async (t) => {
    const page = await pageOf(t, { a: unmeasured(0), b: unmeasured(1) });
    assert.match(page, /Nothing was measured\./);
    assert.match(page, /id="missing-tps"/);
    assert.match(page, /id="missing-density"/);
    assert.deepEqual(chartsOf(page), {});
    assertWhole(page);
  });

  it('stays small with many long runs', async (t) => {
    const run = longRun({ rows: 400, operations: 60_000, pattern: runOf(0) });
    // No more than six are drawn.
    const runs = Array.from({ length: 60 }, (_, i) => [`r${i}`, i < 6 ? run : runOf(i)]);
    const page = await pageOf(t, Object.fromEntries(runs));
    const { tps } = chartsOf(page);
    assert.equal(tps.series.length, 6);
    assert.match(page, /Of 60 runs the first 50 are shown\./);
    assert.match(page, /The first 6 of 50 runs are drawn\./);
    assert.equal(overviewOf(page).length, 50);
    assert.ok(page.length < 2e5, `${page.length} bytes`);
  });

  it('escapes texts of files everywhere', async (t) => {
    const hostile = (/** @type {number} */ i) => {
      const run = runOf(i, { config: { threads: i, workload: HOSTILE + i, [HOSTILE]: i } });
      const environment = { ...run.environment, clientVersion: HOSTILE + i, stress: HOSTILE + i };
      return { ...run, environment, verdict: { name: 'unknown', evidence: HOSTILE }, warnings: [HOSTILE] };
    };
    assertHarmless(await pageOf(t, { [`${HOSTILE}1`]: hostile(1), [`${HOSTILE}2`]: hostile(2) }));
  });

  it('has names of runs that are their files, as short as tells them apart', async (t) => {
    const run = runOf(0);
    const long = ['2026-01-01', '2026-01-02'].map((day) => `a-name-that-says-all-there-is-to-say-of-${day}`);
    const namesOf = async (/** @type {string[]} */ files) =>
      overviewOf(await pageOf(t, Object.fromEntries(files.map((file) => [file, run])))).map((row) => row.run);
    assert.deepEqual(await namesOf(['runs/a', 'b.JSON', 'x/y/c']), ['a', 'b', 'c']);
    assert.deepEqual(await namesOf(['x/run', 'a', 'y/run']), ['run (1)', 'a', 'run (3)']);
    const [first, second] = await namesOf(long);
    assert.notEqual(first, second);
    assert.match(first, /^a-name-th….*-2026-01-01$/);
    assert.equal(first.length, 28);
    assert.equal(new Set(await namesOf(['x/', 'y/'])).size, 2);
  });

  it('has the median of an even number of values, which is the mean of the two in the middle', async (t) => {
    const rows = [100, null, 400, 200, 300].map((tps, i) => rowOf({ startMs: 1000 * i, endMs: 1000 * (i + 1), tps }));
    const page = await pageOf(t, { a: { ...runOf(0), intervals: rows }, b: runOf(1) });
    assert.match(page, /a median 250\/s, from 100\/s to 400\/s/);
  });
});

describe('latencies of many sides', () => {
  const counts = [11, 101, 1001, 11, 11, 11];
  const runs = counts.map((count, i) => {
    const total = distributionOf(...Array.from({ length: count }, (_, n) => 1000 * (n + 1)));
    return [`${i}`, { ...runOf(i), latency: { ...runOf(i).latency, total } }];
  });
  /** @param {TestContext} t */
  const chartsFor = async (t) => {
    const { density, percentiles } = chartsOf(await pageOf(t, Object.fromEntries(runs)));
    return [density, percentiles];
  };

  it('each have a look of their own', async (t) => {
    for (const { series } of await chartsFor(t)) {
      assert.equal(new Set(series.map(({ color }) => color)).size, 6);
      assert.equal(new Set(series.map(({ dash }) => String(dash))).size, 6);
    }
  });

  it('go as far as the operations of each do', async (t) => {
    const [, { series, xTexts }] = await chartsFor(t);
    const last = series.map(({ values }) => xTexts?.[values.findLastIndex((value) => value !== null)]);
    assert.deepEqual(last.slice(0, 3), ['90 %', '99 %', '99.9 %']);
  });
});
