import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { latencyCharts } from '../../../src/report/charts.js';
import { renderCompare } from '../../../src/report/compare-page.js';
import { Distribution } from '../../../src/stats/histogram.js';
import { parseFailIf } from '../../../src/studies/compare-text.js';
import { compare } from '../../../src/studies/compare.js';
import { sidesOf } from '../studies/runs.js';
import { equalBy } from '../../helpers/equal-by.js';
import { HOSTILE, assertHarmless, assertWhole, chartsOf, tableOf } from './pages.js';

/** @import { Comparison } from '../../../src/contracts/study.d.ts' */

const ABBA = 'ABBAABBAABBAABBA';

/** Of a candidate that is a sixth slower. @param {string} [order] @param {Partial<Parameters<typeof compare>[2]>} [more] @returns {Comparison} */
function slower(order = ABBA, more = {}) {
  const { base, candidate, options } = sidesOf(order, (side, i) => ({
    tps: (side === 'A' ? 120 : 100) + (i % 3),
    latencyMs: (side === 'A' ? 50 : 60) + (i % 3),
  }));
  return compare(base, candidate, { ...options, ...more });
}

/** @param {number[]} ms */
function latencies(ms) {
  const all = new Distribution();
  for (const one of ms) all.record(1000 * one);
  return all.toJSON();
}

describe('the page of a comparison', () => {
  it('has the names that are given in its title, tables and charts, and the load and machine of both sides', () => {
    const page = renderCompare(slower(ABBA, { names: { base: 'geth 1.16', candidate: 'geth <1.17>' } }));
    assert.match(page, /<title>Comparison of geth &lt;1\.17&gt; with geth 1\.16, /);
    assert.deepEqual(tableOf(page, 'Changes')[0].slice(0, 3), ['metric', 'geth 1.16', 'geth <1.17>']);
    const { series } = chartsOf(page).runs;
    equalBy(series, ({ label }) => label, ['geth 1.16', 'geth <1.17>']);
    assert.deepEqual(tableOf(page, 'The two sides').slice(2), [
      ['load', 'counter, 20 wallets, 1 in flight each, closed loop, window 2 s'],
      ['machine', 'a cpu, 2 cores, 8 GB, linux-x64, Node v20, stress 1.0.0'],
    ]);
  });

  it('begins with the verdict, and has the figures of the comparison', () => {
    const comparison = slower();
    const page = renderCompare(comparison);
    assert.match(page, /<p class="verdict">The candidate is slower than the baseline: TPS changed by -1\d\.\d % /);
    const [, tps, ...others] = tableOf(page, 'Changes');
    assert.deepEqual(tps.slice(0, 3), ['TPS *', '121', '101']);
    assert.match(tps.slice(3, 7).join(' '), /^-16\.3 % -17\.5 % \.\. -15\.2 % 0\.008 ✗ slower$/);
    assert.equal(others.length, comparison.metrics.length - 1);
    const [, average, , fastest] = tableOf(page, 'Speed-ups');
    assert.match(average.join(' '), /^speed-up on average -17 % -19\.4 % \.\. -14\.3 % baseline \/ candidate, less 1$/);
    assert.match(fastest.join(' '), /^slow-down on the fastest \+20\.4 % /);
    assert.match(page, /<li class="bad">\s*✗ slower\s*<\/li>/);
  });

  it('draws each change with its interval on one scale, in which 0 is in the middle', () => {
    const comparison = slower();
    const pictures = renderCompare(comparison).matchAll(
      /class="interval (\w+)"\s+data-metric="([^"]*)"([^]*?)<\/svg>/g,
    );
    const rows = [...pictures];
    assert.deepEqual(
      rows.map(([, , name]) => name),
      comparison.metrics.map(({ name }) => name),
    );
    for (const [i, [, kind, name, row]] of rows.entries()) {
      const { change, word } = comparison.metrics[i];
      const place = Number(/<circle cx="([\d.]+)%"/.exec(row)?.[1]);
      const [, low, high] = (/<line\s+x1="([\d.]+)%"\s+x2="([\d.]+)%"\s+y1="11"/.exec(row) ?? []).map(Number);
      assert.equal(Math.sign(place - 50), Math.sign(change.estimate), `${name} at ${place}`);
      assert.ok(low <= place && place <= high, `${low} ${place} ${high}`);
      assert.equal(kind, word === 'slower' ? 'bad' : word === 'faster' ? 'good' : 'quiet');
    }
  });

  it('draws intervals without bounds to the edges', () => {
    const comparison = slower('AB');
    assert.equal(comparison.metrics[0].change.low, null);
    const page = renderCompare(comparison);
    assert.match(page, /<line\s+x1="0\.00%"\s+x2="100\.00%"\s+y1="11"/);
    assert.deepEqual(tableOf(page, 'Changes')[1].slice(4, 7), ['-', '1.000', 'too few pairs: 6 needed']);
    assertWhole(page);
  });

  it('has the runs in the order in which they were made', () => {
    const orderOf = (/** @type {string} */ order) =>
      chartsOf(renderCompare(slower(order))).runs.series.map(({ values }) =>
        values.map((value) => (value === null ? '-' : 'x')).join(''),
      );
    assert.deepEqual(orderOf('ABBA'), ['x--x', '-xx-']);
    assert.deepEqual(orderOf('AAAABBBBB'), ['xxxx-----', '----xxxxx']);
  });

  it('has allowed differences, warnings and failed conditions', () => {
    const comparison = slower(ABBA, { failIf: [parseFailIf('tps<-10%'), parseFailIf('p99>+90%')] });
    const page = renderCompare({ ...comparison, differences: ['threads are 1 and 2'], warnings: ['be careful'] });
    assert.match(page, /1 of 2 conditions failed/);
    assert.deepEqual(tableOf(page, 'Conditions').slice(1), [
      ['tps<-10%', '✗ FAILED', '-16.3 %: beyond the limit'],
      ['p99>+90%', '✓ passed', '+20.4 %: within the limit'],
    ]);
    assert.match(page, /threads are 1 and 2/);
    assert.match(page, /be careful/);
  });

  it('says that a side has no latencies', () => {
    const comparison = slower();
    comparison.distributions.base = latencies([]);
    const page = renderCompare(comparison);
    assert.match(page, /One side has none/);
    assert.deepEqual(Object.keys(chartsOf(page)), ['runs']);
  });

  it('escapes texts of files everywhere', () => {
    const comparison = slower(ABBA, { failIf: [parseFailIf('tps<-10%')] });
    const side = { ...comparison.base, label: HOSTILE, files: [HOSTILE], clientVersion: HOSTILE, stress: HOSTILE };
    const hostile = {
      ...comparison,
      base: side,
      candidate: side,
      startedAt: HOSTILE,
      primary: HOSTILE,
      stress: HOSTILE,
      differences: [HOSTILE],
      warnings: [HOSTILE],
      verdict: { word: HOSTILE, sentence: HOSTILE },
      method: { ...comparison.method, words: HOSTILE, test: HOSTILE },
      failIf: comparison.failIf.map((one) => ({ ...one, expression: HOSTILE, why: HOSTILE })),
      metrics: comparison.metrics.map((metric) => ({ ...metric, label: HOSTILE, word: HOSTILE })),
    };
    assertHarmless(renderCompare(/** @type {Comparison} */ (/** @type {unknown} */ (hostile))));
  });
});

const WORDS = { density: '', percentiles: '', missing: '' };

describe('latencies of two sides', () => {
  const sides = [
    { label: 'baseline', json: latencies(Array.from({ length: 100 }, (_, i) => 10 + i)) },
    { label: 'candidate', json: latencies([...Array(99).fill(20), 1000]) },
  ];

  it('are shares of the operations of each side, by buckets that both have', () => {
    const [chart] = latencyCharts(sides, WORDS);
    for (const { values } of chart.series) {
      const sum = values.reduce((/** @type {number} */ all, value) => all + (value ?? 0), 0);
      assert.ok(Math.abs(sum - 100) < 0.001, `${sum} %`);
      assert.deepEqual([values[0], values.at(-1)], [0, 0]);
    }
    assert.equal(Math.max(...chart.series[1].values.map(Number)), 99);
    const highest = chart.series[1].values.indexOf(99);
    const [from, to] = (chart.xTexts?.[highest] ?? '').split(' to ').map(parseFloat);
    assert.ok(from <= 20 && 20 <= to, chart.xTexts?.[highest]);
    const ticks = (chart.xTicks ?? []).map(([, text]) => text);
    assert.deepEqual(ticks, ['10 ms', '20 ms', '50 ms', '100 ms', '200 ms', '500 ms', '1,000 ms']);
  });

  it('have percentiles as far as there are operations, on an axis of nines', () => {
    const [, chart] = latencyCharts(sides, WORDS);
    assert.equal(chart.xTexts?.at(-1), '99 %');
    assert.equal(chart.x?.at(-1)?.toFixed(6), '2.000000');
    const at = (/** @type {string} */ name) =>
      chart.series.map(({ values }) => values[chart.xTexts?.indexOf(name) ?? -1]);
    assert.deepEqual(at('0 %'), [10, 20]);
    const [a, b] = at('50 %').map(Number);
    assert.ok(Math.abs(a - 59) < 0.1 && Math.abs(b - 20) < 0.1, `${a} ${b}`);
    assert.equal(chart.isLog, false);
    const tail = { label: 'tail', json: latencies([...Array(95).fill(1), 9, 9, 9, 9, 9]) };
    assert.equal(latencyCharts([tail], WORDS)[1].isLog, true);
  });
});
