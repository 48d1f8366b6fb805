import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createPacer, operationsOf } from '../../../src/core/pacer.js';

/**
 * @import { RateStage } from '../../../src/types.d.ts'
 * @import { Pacer } from '../../../src/core/pacer.js'
 */

const HOUR_S = 3600;

/** @param {number} fromPerSecond @param {number} toPerSecond @param {number} seconds @returns {RateStage} */
const ramp = (fromPerSecond, toPerSecond, seconds) => ({ fromPerSecond, toPerSecond, durationUs: seconds * 1e6 });

/** @param {number} perSecond @param {number} [seconds] */
const constant = (perSecond, seconds = Infinity) => ramp(perSecond, perSecond, seconds);

/** @param {RateStage[]} stages */
const pacerOf = (...stages) => createPacer({ stages, arrival: 'uniform', seed: 1 });

/** @param {Pacer} pacer @param {number} count @param {number} [first] */
const dues = (pacer, count, first = 0) => Array.from({ length: count }, (_, i) => pacer.dueUs(first + i));

/** Times of all operations due before endUs. @param {Pacer} pacer @param {number} endUs */
function countBefore(pacer, endUs) {
  let count = 0;
  while (pacer.dueUs(count) < endUs) count += 1;
  return count;
}

describe('open(): uniform', () => {
  it('the first operation is due at the start, the others at equal distances', () => {
    assert.deepEqual(dues(pacerOf(constant(1000)), 4), [0, 1000, 2000, 3000]);
    assert.deepEqual(dues(pacerOf(constant(0.5)), 3), [0, 2_000_000, 4_000_000]);
    assert.deepEqual(dues(pacerOf(constant(3)), 4), [0, 333_333, 666_667, 1_000_000]);
    assert.deepEqual(dues(pacerOf(constant(1_000_000)), 3), [0, 1, 2]);
  });

  it('the count is exact over hours at any rate', () => {
    /** @type {Array<[number, number, number]>} rate, seconds, and how many that are, worked out on paper */
    const table = [
      [333.3, HOUR_S, 1_199_880],
      [333.3, 4 * HOUR_S, 4_799_520],
      [0.7, 10 * HOUR_S, 25_200],
      [0.1, 3 * HOUR_S, 1080],
      [0.3, HOUR_S, 1080],
      [1.1, HOUR_S, 3960],
      [99.9, HOUR_S, 359_640],
      [0.7, 1, 1],
      [0.7, 2, 2],
      [2.5, 1, 3],
      [1000, HOUR_S, 3_600_000],
      // A fraction is due as a whole operation.
      [333.3, 1, 334],
      [0.0001, 1, 1],
    ];
    for (const [perSecond, seconds, wanted] of table) {
      const what = `${perSecond} per second for ${seconds} s`;
      assert.equal(countBefore(pacerOf(constant(perSecond, seconds)), seconds * 1e6), wanted, what);
      // The same for a stage without an end.
      const endless = pacerOf(constant(perSecond));
      assert.ok(endless.dueUs(wanted - 1) < seconds * 1e6, what);
      assert.ok(endless.dueUs(wanted) >= seconds * 1e6, what);
    }
  });

  it('a ramp follows the integral of the rate', () => {
    /** @type {Array<[RateStage, number]>} */
    const table = [
      [ramp(0, 100, 10), 500],
      [ramp(100, 0, 10), 500],
      [ramp(10, 20, 3), 45],
      [ramp(20, 10, 3), 45],
      [ramp(0, 1000, HOUR_S), 1_800_000],
      [ramp(1000, 0, HOUR_S), 1_800_000],
      [ramp(333.3, 666.6, HOUR_S), 1_799_820],
      [ramp(0, 1, 1), 1],
    ];
    for (const [stage, wanted] of table) {
      const { fromPerSecond: a, toPerSecond: b, durationUs } = stage;
      assert.equal(countBefore(pacerOf(stage), durationUs), wanted, `${a}:${b}`);
      const pacer = pacerOf(stage);
      for (let n = 0; n < wanted; n += Math.ceil(wanted / 50)) {
        const t = pacer.dueUs(n) / 1e6;
        const owed = a * t + ((b - a) / (durationUs / 1e6) / 2) * t * t;
        // Times are whole microseconds.
        assert.ok(Math.abs(owed - n) <= Math.max(a, b) * 1e-6 + 1e-6, `${a}:${b}, ${n} is due when ${owed} are owed`);
      }
    }
  });

  it('stages follow each other; a pause has none; the last one may be endless', () => {
    const pacer = pacerOf(constant(2, 1), constant(0, 10), ramp(0, 4, 1), constant(4));
    assert.deepEqual(dues(pacer, 7), [0, 500_000, 11_000_000, 11_707_107, 12_000_000, 12_250_000, 12_500_000]);
    assert.equal(pacer.dueUs(4_000_004), 12_000_000 + 4e12 / 4);
  });

  it('a fraction left by a stage is due early in the next one', () => {
    // After the first second 1.5 are owed; half an operation more is owed a quarter of a second later.
    assert.deepEqual(dues(pacerOf(constant(1.5, 1), constant(2, 1)), 4), [0, 666_667, 1_250_000, 1_750_000]);
    assert.equal(pacerOf(constant(1.5, 1), constant(2, 1)).dueUs(4), Infinity);
  });
});

describe('operationsOf()', () => {
  it('is the integral of the rate', () => {
    assert.equal(operationsOf([]), 0);
    assert.equal(operationsOf([constant(0, 100)]), 0);
    assert.equal(operationsOf([ramp(0, 100, 30), constant(100, 60), ramp(100, 0, 10)]), 1500 + 6000 + 500);
    assert.equal(operationsOf([constant(5)]), Infinity);
  });
});
