import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { planCells } from '../../../src/studies/plan.js';
import { KEPT } from '../../../src/studies/metrics.js';
import { meanOf } from '../../../src/studies/statistics.js';
import { isWhole, readRun, summarizeCells } from '../../../src/studies/sweep.js';
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
    complaint: metrics === null ? 'nobody answers' : null,
    reading: metrics === null ? null : { metrics: { ...none, ...metrics }, atLeast: [], asked, isFallingBehind: false },
  };
}

describe('isWhole()', () => {
  /** @type {Array<[string, boolean, boolean]>} */
  const table = [
    ['duration', false, true],
    ['no_wallets', false, true],
    ['interrupted', false, false],
    ['terminated', false, false],
    ['endpoint_lost', false, false],
    ['foreign_sender', false, false],
    ['running', true, false],
  ];
  for (const [end, partial, whole] of table)
    it(`${whole ? 'is' : 'is not'} a run that ended: ${end}`, () =>
      assert.equal(isWhole(/** @type {any} */ ({ end, partial })), whole));
});

describe('summarizeCells()', () => {
  const layout = { axes: [{ name: 'threads', values: ['10', '40'] }], options: {}, isPerConnection: false };

  it('has the figures of each run at its place, and nothing where nothing was measured', () => {
    const results = [[result(1, { tps: 100, avg: 5 }), result(2, null)], [result(1, { tps: 101, avg: 50 })]];
    const { cells, saturation } = summarizeCells(planCells(layout, null), results, layout);
    assert.deepEqual(cells[0].metrics.tps, [100, null]);
    assert.deepEqual(cells[0].metrics['node.cpu'], [null, null]);
    assert.deepEqual(
      cells[0].runs.map(({ exitCode, complaint }) => [exitCode, complaint]),
      [
        [0, null],
        [69, 'nobody answers'],
      ],
    );
    assert.deepEqual([cells[0].saturated, cells[1].saturated], [false, true]);
    assert.equal(saturation[0].words, `saturated from threads=40 on: ${cells[1].why}`);
  });

  it('takes what stages asked for from the runs', () => {
    const [cell] = summarizeCells(planCells(layout, null), [[result(1, { tps: 90 }, 95)], []], layout).cells;
    assert.equal(cell.asked, 95);
  });

  it('finds no saturation in cells without a run', () => {
    const { cells, saturation } = summarizeCells(planCells(layout, null), [[], [result(1, null)]], layout);
    assert.deepEqual([saturation, cells[1].saturated, cells[0].runs], [[], false, []]);
  });
});

describe('readRun()', () => {
  it('knows which figures may be larger, because operations got no good answer; stages are of the others', () => {
    const { metrics, atLeast } = readRun(runFileOf());
    assert.equal(metrics.p99, 1_550_000);
    assert.deepEqual(atLeast, ['avg', 'p90', 'p99', 'max']);
    const [cell] = summarizeCells(
      [{ settings: {}, derived: {}, args: [], asked: null }].map((one) => /** @type {any} */ (one)),
      [[result(1, { tps: 1 }), { ...result(2, { tps: 2 }), reading: readRun(runFileOf()) }]],
      { axes: [], isPerConnection: false },
    ).cells;
    assert.deepEqual(cell.atLeast, atLeast);
  });
});

describe('meanOf()', () => {
  it('ignores missing values', () => assert.equal(meanOf([1, null, 2]), 1.5));
  it('is null where nothing is', () => assert.equal(meanOf([null]), null));
});
