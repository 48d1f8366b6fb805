import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { RUNS_MAY_DIFFER_IN } from '../../../src/cli/options.js';
import { latencyCharts, middle } from '../../../src/report/charts.js';
import { shortNames, renderRuns } from '../../../src/report/runs-page.js';
import { Distribution } from '../../../src/stats/histogram.js';
import { assertGoldenPage } from '../../golden/assert-golden.js';
import { longRun } from '../../helpers/long-run.js';
import { rowOf } from '../../helpers/samples.js';
import { runOf } from '../studies/runs.js';
import { HOSTILE, assertHarmless, assertWhole, chartsOf, tableOf } from './pages.js';

/**
 * @import { RunFile } from '../../../src/contracts/run-file.d.ts'
 * @import { Chart } from '../../../src/report/charts.js'
 */

/** A run that ended in its warm-up. @param {number} number @returns {RunFile} */
function unmeasured(number) {
  const run = runOf(number);
  const none = new Distribution().toJSON();
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

/** @param {Parameters<typeof renderRuns>[0]} runs */
const pageOf = (runs) => renderRuns(runs, RUNS_MAY_DIFFER_IN);

describe('the page of several runs', () => {
  it('is that which is kept, of run files of release 0.1', () => {
    const files = ['closed-loop', 'interrupted', 'plain-calls', 'two-endpoints'].map((name) => `${name}.json`);
    const read = (/** @type {string} */ file) =>
      JSON.parse(readFileSync(new URL(`../../fixtures/runs-0.1/${file}`, import.meta.url), 'utf8'));
    assertGoldenPage('runs', pageOf(files.map((file) => ({ file, run: read(file) }))));
  });

  it('has a page also where nothing was measured at all', () => {
    const page = pageOf([0, 1].map((i) => ({ file: `${i}.json`, run: unmeasured(i) })));
    assert.match(page, /Nothing was measured\./);
    assert.match(page, /id="missing-tps"/);
    assert.match(page, /id="missing-density"/);
    assert.deepEqual(chartsOf(page), {});
    assertWhole(page);
  });

  it('stays small with many long runs', () => {
    const run = longRun({ pattern: runOf(0) });
    const page = pageOf(Array.from({ length: 60 }, (_, i) => ({ file: `${i}.json`, run })));
    const { tps } = chartsOf(page);
    assert.equal(tps.series.length, 6);
    assert.match(page, /Of 60 runs the first 50 are shown\./);
    assert.match(page, /The first 6 of 50 runs are drawn\./);
    assert.equal(overviewOf(page).length, 50);
    assert.ok(page.length < 2e6, `${page.length} bytes`);
  });

  it('escapes texts of files everywhere', () => {
    const hostile = (/** @type {number} */ i) => {
      const run = runOf(i, { config: { threads: i, workload: HOSTILE + i, [HOSTILE]: i } });
      return /** @type {RunFile} */ (
        /** @type {unknown} */ ({
          ...run,
          startedAt: HOSTILE,
          end: HOSTILE,
          exitCode: HOSTILE,
          partial: true,
          environment: { ...run.environment, clientVersion: HOSTILE + i, stress: HOSTILE + i },
          verdict: { name: HOSTILE, evidence: HOSTILE },
          warnings: [HOSTILE],
        })
      );
    };
    assertHarmless(pageOf([1, 2].map((i) => ({ file: `${HOSTILE}${i}`, run: hostile(i) }))));
  });
});

describe('names of runs', () => {
  it('are their files, as short as tells them apart', () => {
    assert.deepEqual(shortNames(['runs/a.json', 'b.JSON', '/x/y/c']), ['a', 'b', 'c']);
    assert.deepEqual(shortNames(['x/run.json', 'a.json', 'y/run.json']), ['run (1)', 'a', 'run (3)']);
    const long = ['2026-01-01', '2026-01-02'].map((day) => `a-name-that-says-all-there-is-to-say-of-${day}.json`);
    const [first, second] = shortNames(long);
    assert.notEqual(first, second);
    assert.match(first, /^a-name-th….*-2026-01-01$/);
    assert.equal(first.length, 28);
    assert.equal(new Set(shortNames(['.json', '.json'])).size, 2);
  });
});

describe('latencies of many sides', () => {
  const sides = [11, 101, 1001, 11, 11, 11].map((count, i) => {
    const all = new Distribution();
    for (let n = 1; n <= count; n += 1) all.record(1000 * n);
    return { label: String(i), json: all.toJSON() };
  });
  const charts = latencyCharts(sides, { density: '', percentiles: '', missing: '' });

  it('each have a look of their own', () => {
    for (const { series } of charts) {
      assert.equal(new Set(series.map(({ color }) => color)).size, 6);
      assert.equal(new Set(series.map(({ dash }) => String(dash))).size, 6);
    }
  });

  it('go as far as the operations of each do', () => {
    const lastOf = (/** @type {Chart} */ { series, xTexts }) =>
      series.map(({ values }) => xTexts?.[values.findLastIndex((value) => value !== null)]);
    assert.deepEqual(lastOf(charts[1]).slice(0, 3), ['90 %', '99 %', '99.9 %']);
  });
});

it('the median of an even number of values is the mean of the two in the middle', () => {
  assert.equal(middle([100, null, 400, 200, 300], '/s'), 'median 250/s, from 100/s to 400/s');
});
