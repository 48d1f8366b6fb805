import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { arrivals, createPacer, operationsOf, scheduleOf } from '../../../src/core/pacer.js';

/**
 * @import { RateStage } from '../../../src/contracts/load.d.ts'
 * @import { Pacer } from '../../../src/core/pacer.js'
 */

/** @param {number} fromPerSecond @param {number} toPerSecond @param {number} seconds @returns {RateStage} */
const ramp = (fromPerSecond, toPerSecond, seconds) => ({ fromPerSecond, toPerSecond, durationUs: seconds * 1e6 });

/** @param {number} perSecond @param {number} [seconds] */
const constant = (perSecond, seconds = Infinity) => ramp(perSecond, perSecond, seconds);

/** @param {RateStage[]} stages */
const pacerOf = (...stages) => createPacer({ stages, arrival: 'uniform', seed: 1 });

/** @param {Pacer} pacer @param {number} count @param {number} [first] */
const dues = (pacer, count, first = 0) => Array.from({ length: count }, (_, i) => pacer.dueUs(first + i));

describe('open(): uniform', () => {
  it('the first operation is due at the start, the others at equal distances', () => {
    assert.deepEqual(dues(pacerOf(constant(1000)), 4), [0, 1000, 2000, 3000]);
    assert.deepEqual(dues(pacerOf(constant(0.5)), 3), [0, 2_000_000, 4_000_000]);
    assert.deepEqual(dues(pacerOf(constant(3)), 4), [0, 333_333, 666_667, 1_000_000]);
    assert.deepEqual(dues(pacerOf(constant(1_000_000)), 3), [0, 1, 2]);
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

it('operationsOf(): is the integral of the rate', () => {
  assert.equal(operationsOf([]), 0);
  assert.equal(operationsOf([constant(0, 100)]), 0);
  assert.equal(operationsOf([ramp(0, 100, 30), constant(100, 60), ramp(100, 0, 10)]), 1500 + 6000 + 500);
  assert.equal(operationsOf([constant(5)]), Infinity);
});

const SEEDS = [1, 2, 42, 0x7fffffff, 0xdeadbeef, 2 ** 32 - 1];
const COUNT = 50_000;

/** The gaps between operations. @param {number} seed */
function gapsOf(seed, count = COUNT) {
  const owed = arrivals.poisson(seed);
  let last = 0;
  return Array.from({ length: count }, (_, i) => {
    const at = owed(i);
    const gap = at - last;
    last = at;
    return gap;
  });
}

/** @param {number[]} values */
const meanOf = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;

describe('arrivals: poisson', () => {
  it('the gaps are exponential: Kolmogorov-Smirnov at 1 in 1,000', () => {
    for (const seed of SEEDS) {
      const sorted = gapsOf(seed).sort((a, b) => a - b);
      const distance = sorted.reduce((most, gap, i) => {
        const wanted = 1 - Math.exp(-gap);
        return Math.max(most, Math.abs(wanted - i / COUNT), Math.abs(wanted - (i + 1) / COUNT));
      }, 0);
      assert.ok(distance * Math.sqrt(COUNT) < 1.95, `seed ${seed}: ${distance * Math.sqrt(COUNT)}`);
    }
  });

  it('consecutive gaps are independent', () => {
    for (const seed of SEEDS) {
      const gaps = gapsOf(seed);
      for (const lag of [1, 2, 3, 10]) {
        const products = gaps.slice(lag).map((gap, i) => (gap - 1) * (gaps[i] - 1));
        assert.ok(Math.abs(meanOf(products)) < 4 / Math.sqrt(COUNT), `seed ${seed}, lag ${lag}: ${meanOf(products)}`);
      }
    }
  });

  it('the same seed gives the same times, another seed others; seed 0 works', () => {
    assert.deepEqual(gapsOf(7, 100), gapsOf(7, 100));
    assert.notDeepEqual(gapsOf(7, 100), gapsOf(8, 100));
    const zero = gapsOf(0, 1000);
    assert.equal(new Set(zero).size, 1000);
    for (const gap of zero) assert.ok(gap >= 0 && Number.isFinite(gap));
  });

  it('follows a ramp: the rescaled gaps are exponential too', () => {
    const seconds = 100;
    const stage = { fromPerSecond: 0, toPerSecond: 1000, durationUs: seconds * 1e6 };
    const pacer = createPacer({ stages: [stage], arrival: 'poisson', seed: 99 });
    /** @type {number[]} */
    const owed = [];
    for (let i = 0, us = pacer.dueUs(0); us < Infinity; i += 1, us = pacer.dueUs(i)) owed.push(5 * (us / 1e6) ** 2);
    assert.ok(Math.abs(owed.length - 50_000) < 4 * Math.sqrt(50_000), `${owed.length} operations`);
    const sorted = owed.map((at, i) => at - (i === 0 ? 0 : owed[i - 1])).sort((a, b) => a - b);
    const n = sorted.length;
    const distance = sorted.reduce(
      (most, gap, i) => Math.max(most, Math.abs(1 - Math.exp(-gap) - (i + 0.5) / n) + 0.5 / n),
      0,
    );
    assert.ok(distance * Math.sqrt(n) < 1.95, String(distance * Math.sqrt(n)));
  });
});

/** @param {Partial<Parameters<typeof scheduleOf>[0]>} given */
const of = (given) => scheduleOf({ ratePerSecond: null, stages: null, arrival: null, warmupMs: 0, ...given });

/** @param {number} fromPerSecond @param {number} toPerSecond @param {number} durationUs */
const stage = (fromPerSecond, toPerSecond, durationUs) => ({ fromPerSecond, toPerSecond, durationUs });

describe('scheduleOf()', () => {
  it('null without a rate: closed loop', () => {
    assert.equal(of({}), null);
    assert.equal(of({ warmupMs: 5000 }), null);
  });

  it('a rate has no end', () => assert.deepEqual(of({ ratePerSecond: 7.5 })?.stages, [stage(7.5, 7.5, Infinity)]));

  it('a warm-up comes first, at the first rate of the window', () => {
    assert.deepEqual(of({ ratePerSecond: 7.5, warmupMs: 250 })?.stages, [
      stage(7.5, 7.5, 250_000),
      stage(7.5, 7.5, Infinity),
    ]);
    assert.deepEqual(of({ stages: [stage(4, 10, 1e6)], warmupMs: 500 })?.stages, [
      stage(4, 4, 500_000),
      stage(4, 10, 1e6),
    ]);
  });

  it('a warm-up does not move the stages', () => {
    const stages = [stage(4, 10, 1e6), stage(0, 5, 1e6)];
    const pacerOf = (/** @type {number} */ warmupMs) => createPacer(of({ stages, warmupMs }));
    const [cold, warm] = [pacerOf(0), pacerOf(500)];
    // Two operations are due in half a second at 4 per second.
    for (let n = 0; n < 12; n += 1) assert.equal(warm.dueUs(n + 2), cold.dueUs(n) + 500_000);
  });

  it('arrivals are uniform by default; each run has its own seed', () => {
    assert.equal(of({ ratePerSecond: 1 })?.arrival, 'uniform');
    assert.equal(of({ ratePerSecond: 1, arrival: 'poisson' })?.arrival, 'poisson');
    const seeds = Array.from({ length: 50 }, () => of({ ratePerSecond: 1 })?.seed ?? NaN);
    for (const seed of seeds) assert.ok(Number.isInteger(seed) && seed >= 1 && seed < 2 ** 32);
    assert.ok(new Set(seeds).size > 45);
  });
});
