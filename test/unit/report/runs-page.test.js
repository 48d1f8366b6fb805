import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { OPTIONS } from '../../../src/cli/options.js';
import { densityChart, percentileChart } from '../../../src/report/charts.js';
import { namesOf, renderRuns } from '../../../src/report/runs-page.js';
import { Distribution } from '../../../src/stats/histogram.js';
import { longRun } from '../../helpers/long-run.js';
import { rowOf } from '../../helpers/samples.js';
import { runOf } from '../studies/runs.js';
import { HOSTILE, assertHarmless, chartsOf, figure } from './pages.js';

/**
 * @import { Chart } from '../../../src/report/charts.js'
 * @import { RunFile } from '../../../src/types.d.ts'
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
    return { ...row, counts: { ...row.counts, verified: count } };
  });
}

/** What a cell of the table of differences says, row by row. @param {string} page @returns {string[][]} */
function differences(page) {
  const table = /<table class="cells runs" id="options">(.*?)<\/table>/s.exec(page)?.[1] ?? '';
  return [...table.matchAll(/<tr>(.*?)<\/tr>/gs)].map(([, row]) =>
    [...row.matchAll(/<t[hd][^>]*>\s*(.*?)\s*<\/t[hd]>/gs)].map(([, text]) => text),
  );
}

/** @param {string} page */
function assertWhole(page) {
  assert.doesNotMatch(page.replace(/<(script|style)>.*?<\/\1>/gs, ''), /undefined|NaN|\[object|Infinity|>null</);
}

/** @param {Parameters<typeof renderRuns>[0]} runs */
const pageOf = (runs) => renderRuns(runs, { options: OPTIONS });

describe('the page of several runs', () => {
  it('names the highest and the lowest, and has the figures of the run files', () => {
    const given = entries([{ tps: 100 }, { tps: 150 }, { tps: 75, latencyMs: 80 }]);
    const page = pageOf(given);
    assert.match(page, /<p class="verdict">b has the highest TPS, 150; c has the lowest, 75, which is 50 % less.<\/p>/);
    given.forEach(({ run, file }, i) => {
      const { total } = run.latency;
      const expected = {
        window: run.window.durationMs,
        tps: run.rates.verifiedPerSecond,
        cpu: run.generator.cpuUsPerVerified,
        p50: total.p50Us,
        p99: total.p99Us,
        max: total.maxUs,
        exitCode: run.exitCode,
        verified: run.counts.verified,
        failed: run.counts.failed,
        timedOut: run.counts.timedOut,
      };
      for (const [name, value] of Object.entries(expected))
        assert.equal(figure(page, `runs.${i}.${name}`), value, name);
      assert.ok(page.includes(file));
    });
    assert.equal(page.match(/✓ exact/g)?.length, 3);
    assertWhole(page);
  });

  it('shows runs that measured nothing or ended too early', () => {
    const given = [
      ...entries([{ tps: 100 }]),
      { file: 'none.json', run: unmeasured(1) },
      { file: 'part.json', run: runOf(2, { tps: 40, over: { partial: true, exitCode: null, audit: null } }) },
    ];
    const page = pageOf(given);
    assert.match(page, /a has the highest TPS, 100; part has the lowest, 40/);
    assert.match(page, /1 of 3 verified nothing in a measured window/);
    assert.match(page, /1 of 3 partial/);
    assert.match(page, /part <strong class="bad">partial<\/strong>/);
    assert.deepEqual([figure(page, 'runs.1.tps'), figure(page, 'runs.1.exitCode')], [null, 130]);
    assert.equal(figure(page, 'runs.2.exitCode'), null);
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
    assert.match(page, /In the measured windows of these 2 runs nothing was verified\./);
    assert.match(page, /id="missing-tps"/);
    assert.match(page, /id="missing-density"/);
    assert.deepEqual(chartsOf(page), {});
    assertWhole(page);
    const one = pageOf([...entries([{ tps: 7 }]), { file: 'x.json', run: unmeasured(1) }]);
    assert.match(one, /a has the highest TPS, 7; no other has a measured window\./);
    const zero = pageOf(entries([{ tps: 7 }, { tps: 0 }]));
    assert.match(zero, /a has the highest TPS, 7; b has the lowest, 0, which is 100 % less\./);
  });

  it('draws the rate of each run from where its own window began', () => {
    const [a, b] = entries([{}, {}]).map(({ file, run }, i) => ({
      file,
      run: { ...run, intervals: rows([10, 20, 30], i === 0 ? 500 : 1000.4) },
    }));
    const { tps } = chartsOf(pageOf([a, b]));
    assert.deepEqual(
      tps.series.map(({ x }) => x),
      [
        [0.25, 0.75, 1.25],
        [0.5, 1.5, 2.5],
      ],
    );
    assert.deepEqual(tps.series[0].values, [20, 40, 60]);
    assert.deepEqual(
      tps.series[1].values.map((value) => Math.round(value ?? NaN)),
      [10, 20, 30],
    );
    assert.notDeepEqual(tps.series[0].dash, tps.series[1].dash);
  });

  it('takes neighbours of long runs together, and stays small', () => {
    const run = longRun({ pattern: runOf(0) });
    const page = pageOf(Array.from({ length: 60 }, (_, i) => ({ file: `${i}.json`, run })));
    const { tps } = chartsOf(page);
    assert.equal(tps.series.length, 6);
    for (const { values, x } of tps.series) {
      assert.ok(values.length <= 120 && values.length > 60, `${values.length} points`);
      const mean = values.reduce((/** @type {number} */ sum, value) => sum + (value ?? 0), 0) / values.length;
      const { counts, startMs } = run.intervals[0];
      const seconds = ((run.intervals.at(-1)?.endMs ?? 0) - startMs) / 1000;
      const all = run.intervals.reduce((sum, row) => sum + row.counts.verified, 0);
      assert.ok(counts.verified > 0 && Math.abs(mean / (all / seconds) - 1) < 0.02, `${mean} of ${all / seconds}`);
      assert.ok((x?.at(-1) ?? 0) < seconds);
    }
    assert.match(page, /Of 60 runs the first 50 are shown\./);
    assert.match(page, /The first 6 of 50 runs are drawn\./);
    assert.equal(figure(page, 'runs.49.tps'), run.rates.verifiedPerSecond);
    assert.ok(!page.includes('data-figure="runs.50.tps"'));
    assert.ok(page.length < 2e6, `${page.length} bytes`);
  });

  it('has the options that differ, and no others', () => {
    const configs = [{ threads: 5, out: 'a.json' }, { threads: 5, out: 'b.json', warmupMs: 60_000 }, { threads: 20 }];
    const given = entries(configs.map((config) => ({ config })));
    assert.deepEqual(differences(pageOf(given)), [
      ['run', 'threads', 'warmup'],
      ['a', '5', '–'],
      ['b', '5', '1m'],
      ['c', '20', '–'],
    ]);
    assert.match(pageOf(entries([{}, {}])), /All of them were made in the same way/);
    given[1].run.environment.clientVersion = 'node/v2';
    assert.deepEqual(
      differences(pageOf(given)).map((row) => row.at(-1)),
      ['node', 'node/v1', 'node/v2', 'node/v1'],
    );
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

  it('each have a look of their own', () => {
    for (const { series } of [densityChart(sides), percentileChart(sides)]) {
      assert.equal(new Set(series.map(({ color }) => color)).size, 6);
      assert.equal(new Set(series.map(({ dash }) => String(dash))).size, 6);
    }
  });

  it('go as far as the operations of each do', () => {
    const lastOf = (/** @type {Chart} */ { series, xTexts }) =>
      series.map(({ values }) => xTexts?.[values.findLastIndex((value) => value !== null)]);
    assert.deepEqual(lastOf(percentileChart(sides)).slice(0, 3), ['90 %', '99 %', '99.9 %']);
  });
});
