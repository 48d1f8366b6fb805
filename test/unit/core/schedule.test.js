import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createPacer } from '../../../src/core/pacer.js';
import { scheduleOf } from '../../../src/core/config.js';

/** @param {Partial<Parameters<typeof scheduleOf>[0]>} given */
const of = (given) => scheduleOf({ ratePerSecond: null, stages: null, arrival: null, warmupMs: 0, ...given });

/** @param {number} fromPerSecond @param {number} toPerSecond @param {number} durationUs */
const stage = (fromPerSecond, toPerSecond, durationUs) => ({ fromPerSecond, toPerSecond, durationUs });

describe('scheduleOf()', () => {
  it('null without a rate: closed loop', () => {
    assert.equal(of({}), null);
    assert.equal(of({ warmupMs: 5000 }), null);
  });

  it('a rate has no end', () => {
    assert.deepEqual(of({ ratePerSecond: 7.5 })?.stages, [stage(7.5, 7.5, Infinity)]);
  });

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
