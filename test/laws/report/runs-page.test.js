import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { RUNS_MAY_DIFFER_IN } from '../../../src/cli/options.js';
import { latencyCharts } from '../../../src/report/charts.js';
import { namesOf, renderRuns } from '../../../src/report/runs-page.js';
import { Distribution } from '../../../src/stats/histogram.js';
import { equalBy } from '../../helpers/equal-by.js';
import { longRun } from '../../helpers/long-run.js';
import { rowOf } from '../../helpers/samples.js';
import { runOf } from '../studies/runs.js';
import { HOSTILE, assertHarmless, assertWhole, chartsOf, tableOf } from './pages.js';

/**
 * @import { RunFile } from '../../../src/contracts/run-file.d.ts'
 * @import { Chart } from '../../../src/report/charts.js'
 */

/** @param {Array<Parameters<typeof runOf>[1]>} given @param {string[]} [names] */
function entries(given, names = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h']) {
  return given.map((one, i) => ({ file: `runs/${names[i] ?? `run-${i}`}.json`, run: runOf(i, one) }));
}

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

/** Rows of a window behind a warm-up. @param {number[]} verified in each @param {number} ms that each takes @returns {RunFile['intervals']} */
function rows(verified, ms) {
  return [0, ...verified].map((count, i) => {
    const row = rowOf({ phase: i === 0 ? 'warmup' : 'load', startMs: i * ms, endMs: (i + 1) * ms });
    return { ...row, counts: { ...row.counts, verified: count }, tps: (1000 * count) / ms };
  });
}

/** The runs of the table, by the heads of its columns. @param {string} page @returns {Array<Record<string, string>>} */
function overviewOf(page) {
  const [head, ...rows] = tableOf(page, 'The runs and their figures');
  return rows.map((cells) => Object.fromEntries(cells.map((text, i) => [head[i], text])));
}

const DIFFERENCES = 'What differs in how they were made';

/** @param {Parameters<typeof renderRuns>[0]} runs */
const pageOf = (runs) => renderRuns(runs, RUNS_MAY_DIFFER_IN);

describe('the page of several runs', () => {
  it('names the highest and the lowest, and has the figures of the run files', () => {
    const given = entries([{ tps: 100 }, { tps: 150 }, { tps: 75, latencyMs: 80 }]);
    const page = pageOf(given);
    assert.match(page, /<p class="verdict">Highest TPS: 150, of b; lowest: 75, of c\.<\/p>/);
    const [a, , c] = overviewOf(page);
    assert.deepEqual(
      [c.run, c.TPS, c.verified, c.failed, c['timed out'], c['p50 ms'], c.max, c.audit, c['exit code'], c.file],
      ['c', '75', '17', '0', '0', '80.1', '320', '✓ exact', '0', 'runs/c.json'],
    );
    assert.deepEqual([a['p50 ms'], a.window], ['50', '2 s']);
    assertWhole(page);
  });

  it('shows runs that measured nothing or ended too early', () => {
    const given = [
      ...entries([{ tps: 100 }]),
      { file: 'none.json', run: unmeasured(1) },
      { file: 'part.json', run: runOf(2, { tps: 40, over: { partial: true, exitCode: null, audit: null } }) },
    ];
    const page = pageOf(given);
    assert.match(page, /Highest TPS: 100, of a; lowest: 40, of part\./);
    assert.match(page, /2 of 3 did not end with exit code 0/);
    const [, none, part] = overviewOf(page);
    assert.deepEqual([none.TPS, none['exit code'], none['p50 ms']], ['-', '130', '-']);
    assert.deepEqual([part.run, part['exit code'], part.audit], ['part partial', '-', 'none']);
    assert.match(page, /Without any latency: none\./);
    for (const { series } of Object.values(chartsOf(page)))
      assert.deepEqual(
        series.map(({ label, color }) => [label, color]),
        [
          ['a', 0],
          ['part', 2],
        ],
        'a run has one colour in all charts',
      );
    assertWhole(page);
  });

  it('has a page also where nothing was measured at all', () => {
    const page = pageOf([0, 1].map((i) => ({ file: `${i}.json`, run: unmeasured(i) })));
    assert.match(page, /Nothing was measured\./);
    assert.match(page, /id="missing-tps"/);
    assert.match(page, /id="missing-density"/);
    assert.deepEqual(chartsOf(page), {});
    assertWhole(page);
  });

  it('draws the rate of each run from where its own window began', () => {
    const [a, b] = entries([{}, {}]).map(({ file, run }, i) => ({
      file,
      run: { ...run, intervals: rows([10, 20, 30], i === 0 ? 500 : 1000) },
    }));
    const { tps } = chartsOf(pageOf([a, b]));
    equalBy(tps.series, ({ x }) => x, [
      [0.25, 0.75, 1.25],
      [0.5, 1.5, 2.5],
    ]);
    assert.deepEqual(tps.series[0].values, [20, 40, 60]);
    equalBy(tps.series[1].values, (value) => Math.round(value ?? NaN), [10, 20, 30]);
    assert.notDeepEqual(tps.series[0].dash, tps.series[1].dash);
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

  it('has the options that differ, and no others', () => {
    const configs = [{ threads: 5, out: 'a.json' }, { threads: 5, out: 'b.json', warmupMs: 60_000 }, { threads: 20 }];
    const given = entries(configs.map((config) => ({ config })));
    assert.deepEqual(tableOf(pageOf(given), DIFFERENCES), [
      ['run', 'threads', 'warmup'],
      ['a', '5', '-'],
      ['b', '5', '60000'],
      ['c', '20', '-'],
    ]);
    assert.match(pageOf(entries([{}, {}])), /All of them were made in the same way/);
    given[1].run.environment.clientVersion = 'node/v2';
    equalBy(tableOf(pageOf(given), DIFFERENCES), (row) => row[2], ['node', 'node/v1', 'node/v2', 'node/v1']);
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
          environment: { clientVersion: HOSTILE + i, stress: HOSTILE + i },
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
    assert.deepEqual(namesOf(['runs/a.json', 'b.JSON', '/x/y/c']), ['a', 'b', 'c']);
    assert.deepEqual(namesOf(['x/run.json', 'a.json', 'y/run.json']), ['run (1)', 'a', 'run (3)']);
    const long = ['2026-01-01', '2026-01-02'].map((day) => `a-name-that-says-all-there-is-to-say-of-${day}.json`);
    const [first, second] = namesOf(long);
    assert.notEqual(first, second);
    assert.match(first, /^a-name-th….*-2026-01-01$/);
    assert.equal(first.length, 28);
    assert.equal(new Set(namesOf(['.json', '.json'])).size, 2);
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
