import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { arrivals, createPacer } from '../../../src/core/pacer.js';

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

/** @param {number[]} values */
function varianceOf(values) {
  const mean = meanOf(values);
  return meanOf(values.map((value) => (value - mean) ** 2));
}

describe('arrivals: uniform', () => {
  it('operation n is due at n', () => {
    const owed = arrivals.uniform(1);
    assert.deepEqual([0, 1, 2, 1e9].map(owed), [0, 1, 2, 1e9]);
  });
});

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

  it('counts follow the Poisson distribution: chi-square at 1 in 1,000', () => {
    const MEAN = 4;
    for (const seed of SEEDS) {
      /** @type {number[]} operations in each time in which 4 are owed */
      const counts = Array(10_000).fill(0);
      const owed = arrivals.poisson(seed);
      for (let i = 0, at = owed(0); at < counts.length * MEAN; i += 1, at = owed(i)) counts[Math.floor(at / MEAN)] += 1;
      assert.ok(Math.abs(meanOf(counts) - MEAN) < 4 * Math.sqrt(MEAN / counts.length), `seed ${seed}`);
      const dispersion = varianceOf(counts) / meanOf(counts);
      assert.ok(Math.abs(dispersion - 1) < 4 * Math.sqrt(2 / counts.length), `seed ${seed}: ${dispersion}`);

      let chiSquare = 0;
      let probability = Math.exp(-MEAN);
      let rest = 1;
      for (let k = 0; k < 11; k += 1) {
        const seen = counts.filter((count) => count === k).length;
        chiSquare += (seen - probability * counts.length) ** 2 / (probability * counts.length);
        rest -= probability;
        probability *= MEAN / (k + 1);
      }
      const seen = counts.filter((count) => count >= 11).length;
      chiSquare += (seen - rest * counts.length) ** 2 / (rest * counts.length);
      assert.ok(chiSquare < 31.26, `seed ${seed}: ${chiSquare}`); // 12 classes, 11 degrees of freedom
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
