/** What SciPy says to the same data (test/fixtures/statistics/make.py), and what has to hold for any. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { randomNumbers } from '../../../src/random.js';
import { pairedFigure, stepDownMaxT, unpairedFigure } from '../../../src/studies/max-t.js';
import {
  fitLine,
  holm,
  mean,
  median,
  rejects,
  standardDeviation,
  studentQuantile,
  studentTwoSided,
} from '../../../src/studies/statistics.js';

const SCIPY = JSON.parse(readFileSync(new URL('../../fixtures/statistics/scipy.json', import.meta.url), 'utf8'));

/** @param {number} actual @param {number} expected @param {string} what @param {number} [tolerance] relative */
function assertNear(actual, expected, what, tolerance = 1e-9) {
  const scale = Math.max(Math.abs(expected), 1e-12);
  assert.ok(Math.abs(actual - expected) <= tolerance * scale, `${what}: ${actual} is not ${expected}`);
}

/** @param {ReturnType<typeof pairedFigure>} figure */
const pOf = (figure) => stepDownMaxT([figure], 0.05)[0].p;

test('paired permutation test: the p values of SciPy', () => {
  for (const { differences, p } of SCIPY.paired)
    assertNear(pOf(pairedFigure(differences, randomNumbers(1))), p, JSON.stringify(differences));
});

test('what would be a tie but for rounding is one', () => {
  // 0.2 + 0.1 - 0.3 is a little more than zero; four of the 63 means are not above it.
  assert.equal(pOf(pairedFigure([0.1, 0.2, -0.3, 1, 1, 1], randomNumbers(1))), (2 * 5) / 64);
});

test('unpaired permutation test: the p values of SciPy', () => {
  // SciPy doubles the smaller tail. With sides of different sizes the other one is another.
  for (const { base, candidate, p } of SCIPY.unpaired)
    if (base.length === candidate.length)
      assertNear(pOf(unpairedFigure(base, candidate, randomNumbers(1))), p, JSON.stringify({ base, candidate }));
});

test("tails and quantiles of Student's distribution as in SciPy", () => {
  for (const { degrees, t, twoSided } of SCIPY.student)
    assert.ok(Math.abs(studentTwoSided(t, degrees) - twoSided) < 1e-13, `tails of ${t}, ${degrees}`);
  for (const { degrees, p, t } of SCIPY.quantiles.filter((/** @type {any} */ one) => one.p > 0.5))
    // SciPy's inverse is good to eight digits only.
    assertNear(studentQuantile(p, degrees), t, `${p} of ${degrees}`, 1e-8);
});

test('straight lines as in SciPy', () => {
  for (const { xs, ys, residuals, ...expected } of SCIPY.lines) {
    const line = /** @type {any} */ (fitLine(xs, ys, 0.05));
    for (const [name, value] of Object.entries(expected)) assertNear(line[name], value, name, 1e-7);
    residuals.forEach((/** @type {number} */ residual, /** @type {number} */ i) =>
      assert.ok(Math.abs(line.residuals[i] - residual) < 1e-9),
    );
  }
});

test('a line through points that are on one, and through a level', () => {
  const exact = fitLine([1, 2, 3], [10, 20, 30], 0.05);
  assert.deepEqual([exact.slope, exact.intercept, exact.r2, exact.p], [10, 0, 1, 0]);
  const level = fitLine([1, 2, 3], [5, 5, 5], 0.05);
  assert.deepEqual([level.slope, level.intercept, level.r2, level.p], [0, 5, null, 1]);
});

test("Holm's correction by its definition; a level is kept exactly when the adjusted p is", () => {
  for (const { ps, adjusted } of SCIPY.holm) {
    const results = holm(ps, 0.05);
    results.forEach((result, i) => {
      assertNear(result.adjusted, adjusted[i], JSON.stringify(ps));
      assert.equal(rejects(ps[i], result.level), adjusted[i] <= 0.05 + 1e-12, `${ps[i]} of ${ps}`);
    });
  }
});

test('mean, median and standard deviation as in NumPy', () => {
  for (const { values, ...expected } of SCIPY.samples) {
    assertNear(mean(values), expected.mean, 'mean');
    assertNear(median(values), expected.median, 'median');
    assertNear(standardDeviation(values), expected.standardDeviation, 'standard deviation');
  }
});

test('sampled relabellings come close to all of them, and are the same for the same seed', () => {
  const random = randomNumbers(3);
  const many = Array.from({ length: 15 }, () => random() - 0.4);
  const sampled = pOf(pairedFigure(many, randomNumbers(5)));
  assert.equal(sampled, pOf(pairedFigure(many, randomNumbers(5))));
  assert.notDeepEqual(pairedFigure(many, randomNumbers(5)), pairedFigure(many, randomNumbers(6)));
  // All 2^15, counted here as the definition has it.
  const seen = Math.abs(many.reduce((sum, value) => sum + value, 0));
  let asFar = 0;
  for (let mask = 0; mask < 2 ** 15; mask += 1) {
    const sum = many.reduce((total, value, i) => total + ((mask >> i) & 1 ? -value : value), 0);
    if (Math.abs(sum) >= seen - 1e-12) asFar += 1;
  }
  assert.ok(Math.abs(sampled - asFar / 2 ** 15) < 0.012, `${sampled} for ${asFar / 2 ** 15}`);
  const large = unpairedFigure(
    many,
    many.map((value) => value + 0.05),
    randomNumbers(1),
  );
  assert.equal(large.extremes.length, 19_999);
  assert.ok(pOf(large) > 0.3, 'much the same samples');
});

test('random numbers are of their seed, between 0 and 1, and even', () => {
  const [a, b, c] = [1, 1, 2].map((seed) => randomNumbers(seed));
  const numbers = Array.from({ length: 10_000 }, a);
  assert.deepEqual(numbers, Array.from({ length: 10_000 }, b));
  assert.notEqual(numbers[0], c());
  assert.ok(numbers.every((number) => number >= 0 && number < 1));
  for (let tenth = 0; tenth < 10; tenth += 1) {
    const share = numbers.filter((number) => Math.floor(10 * number) === tenth).length;
    assert.ok(Math.abs(share - 1000) < 120, `${share} of 10,000 in a tenth`);
  }
});
