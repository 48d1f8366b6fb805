import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { KEPT } from '../../../src/studies/metrics.js';
import { planCells } from '../../../src/studies/plan.js';
import { isWhole } from '../../../src/studies/run-files.js';
import { readRun, summarizeCells } from '../../../src/studies/sweep.js';
import { runFileOf } from '../../helpers/samples.js';

/** @import { Result } from '../../../src/studies/sweep.js' */

/** @param {number} repeat @param {Record<string, number> | null} metrics @param {number | null} [asked] @returns {Result} */
function result(repeat, metrics, asked = null) {
  const none = Object.fromEntries(KEPT.map((name) => [name, null]));
  return {
    repeat,
    file: `cells/${repeat}.json`,
    exitCode: metrics === null ? 69 : 0,
    startedAt: '2026-01-01T00:00:00.000Z',
    complaint: metrics === null ? 'connection refused' : null,
    reading: metrics === null ? null : { metrics: { ...none, ...metrics }, atLeast: [], asked, isFallingBehind: false },
  };
}

describe('isWhole()', () => {
  for (const [end, whole] of Object.entries({
    duration: true,
    no_wallets: true,
    interrupted: false,
    endpoint_lost: false,
  }))
    it(end, () => {
      assert.equal(isWhole({ ...runFileOf(), partial: false, end }), whole);
      assert.equal(isWhole({ ...runFileOf(), partial: true, end }), false);
    });
});

describe('summarizeCells()', () => {
  const axes = [{ name: 'threads', values: ['10', '40'] }];
  const plan = planCells(axes, {});

  it('has the figures of each run in order, and null for a run without a result', () => {
    const results = [[result(1, { tps: 100, avg: 5 }), result(2, null)], [result(1, { tps: 101, avg: 50 })]];
    const { cells, saturation } = summarizeCells(plan, results, axes);
    assert.deepEqual(cells[0].metrics.tps, [100, null]);
    assert.deepEqual(cells[0].metrics['node.cpu'], [null, null]);
    assert.deepEqual([cells[0].runs[1].exitCode, cells[0].runs[1].complaint], [69, 'connection refused']);
    assert.deepEqual([cells[0].saturated, cells[1].saturated], [false, true]);
    assert.equal(saturation[0].words, `saturated from threads=40 on: ${cells[1].why}`);
  });

  it('takes the rate of --stages from the runs, and finds no saturation without runs', () => {
    assert.equal(summarizeCells(plan, [[result(1, { tps: 90 }, 95)], []], axes).cells[0].asked, 95);
    const { cells, saturation } = summarizeCells(plan, [[], [result(1, null)]], axes);
    assert.deepEqual([saturation, cells[1].saturated, cells[0].runs], [[], false, []]);
  });

  it('marks figures that are lower bounds because of censored operations', () => {
    const { metrics, atLeast } = readRun(runFileOf());
    assert.equal(metrics.p99, 1_550_000);
    assert.deepEqual(atLeast, ['avg', 'p90', 'p99', 'max']);
    const results = [[result(1, { tps: 1 }), { ...result(2, { tps: 2 }), reading: readRun(runFileOf()) }], []];
    assert.deepEqual(summarizeCells(plan, results, axes).cells[0].atLeast, atLeast);
  });
});
