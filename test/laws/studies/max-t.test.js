/** Step-down max-T by its definition, with all relabellings counted here. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { randomNumbers } from '../../../src/random.js';
import { pairedFigure, stepDownMaxT, unpairedFigure } from '../../../src/studies/max-t.js';
import { mean } from '../../../src/studies/statistics.js';

/** @typedef {{base: number[], candidate: number[]}} Sides */

const ALPHA = 0.035;

/** |t|, infinite without variance. @param {number[]} base @param {number[]} candidate */
function studentOf(base, candidate) {
  const squares = [base, candidate].flatMap((side) => side.map((value) => (value - mean(side)) ** 2));
  const error = Math.sqrt(squares.reduce((sum, one) => sum + one, 0));
  return Math.abs(mean(candidate) - mean(base)) / error;
}

/** @param {number[]} differences */
function pairedStudentOf(differences) {
  const centre = mean(differences);
  return Math.abs(centre) / Math.sqrt(differences.reduce((sum, value) => sum + (value - centre) ** 2, 0));
}

/** |t| of each relabelling, the identity first. @param {Sides} sides @param {boolean} isPaired */
function studentsOf({ base, candidate }, isPaired) {
  if (isPaired) {
    const ratios = candidate.map((value, i) => value - base[i]);
    return Array.from({ length: 2 ** ratios.length }, (_, mask) =>
      pairedStudentOf(ratios.map((ratio, i) => ((mask >> i) & 1 ? -ratio : ratio))),
    );
  }
  const all = [...candidate, ...base];
  const masks = Array.from({ length: 2 ** all.length }, (_, mask) => mask);
  const first = 2 ** candidate.length - 1;
  const chosen = masks.filter((mask) => mask.toString(2).replaceAll('0', '').length === candidate.length);
  return [first, ...chosen.filter((mask) => mask !== first)].map((mask) =>
    studentOf(
      all.filter((_, i) => !((mask >> i) & 1)),
      all.filter((_, i) => (mask >> i) & 1),
    ),
  );
}

/** Adjusted p values: of each figure with all that are not more extreme, and none below that of a more extreme one. @param {number[][]} students by figure */
function adjustedOf(students) {
  const order = students.map((_, i) => i).sort((a, b) => students[b][0] - students[a][0]);
  /** @type {number[]} */
  const adjusted = [];
  let before = 0;
  order.forEach((index, rank) => {
    const left = order.slice(rank).map((other) => students[other]);
    const [seen] = students[index];
    const reaching = students[index].filter((_, g) => left.some((one) => one[g] >= seen * (1 - 1e-9))).length;
    before = adjusted[index] = Math.max(before, reaching / students[index].length);
  });
  return adjusted;
}

/** @param {Sides[]} figures @param {boolean} isPaired */
function tested(figures, isPaired) {
  const random = () => randomNumbers(1);
  return stepDownMaxT(
    figures.map(({ base, candidate }) =>
      isPaired
        ? pairedFigure(
            candidate.map((value, i) => value - base[i]),
            random(),
          )
        : unpairedFigure(base, candidate, random()),
    ),
    ALPHA,
  );
}

/** @param {number} trial @returns {{figures: Sides[], isPaired: boolean}} with effects from none to clear */
function drawn(trial) {
  const random = randomNumbers(trial);
  const isPaired = trial % 3 !== 0;
  const sizes = isPaired ? [6 + (trial % 3), 6 + (trial % 3)] : [4, 4 + (trial % 2)];
  const figures = Array.from({ length: 1 + (trial % 5) }, () => {
    const [effect, unit] = [2 * random(), 10 ** Math.floor(6 * random())];
    const [base, candidate] = sizes.map((size) => Array.from({ length: size }, () => unit * random()));
    return { base, candidate: candidate.map((value) => value + unit * effect) };
  });
  return { figures, isPaired };
}

test('adjusted p values are those of the definition', () => {
  for (let trial = 0; trial < 60; trial += 1) {
    const { figures, isPaired } = drawn(trial);
    const expected = adjustedOf(figures.map((sides) => studentsOf(sides, isPaired)));
    tested(figures, isPaired).forEach(({ p, adjusted }, i) => {
      assert.ok(Math.abs(adjusted - expected[i]) < 1e-9, `trial ${trial}: ${adjusted} is not ${expected[i]}`);
      assert.ok(p <= adjusted + 1e-12);
    });
  }
});

test('the interval of the most extreme figure has exactly the shifts that are not rejected, and any interval agrees with its p', () => {
  for (let trial = 0; trial < 60; trial += 1) {
    const { figures, isPaired } = drawn(trial);
    const results = tested(figures, isPaired);
    for (const { low, high, adjusted } of results)
      assert.equal(low <= 0 && high >= 0, adjusted > ALPHA, `trial ${trial}: ${low} to ${high}, p ${adjusted}`);
    const students = figures.map((sides) => studentsOf(sides, isPaired));
    const first = students.reduce((most, one, i) => (one[0] > students[most][0] ? i : most), 0);
    const { base, candidate } = figures[first];
    const slack = 1e-6 * Math.max(...base, ...candidate);
    const { low, high } = results[first];
    for (const [shift, isRejected] of /** @type {[number, boolean][]} */ ([
      [low - slack, true],
      [low + slack, false],
      [high - slack, false],
      [high + slack, true],
    ])) {
      if (!Number.isFinite(shift)) continue;
      const moved = studentsOf({ base, candidate: candidate.map((value) => value - shift) }, isPaired);
      const all = students.with(first, moved);
      const reaching = moved.filter((_, g) => all.some((one) => one[g] >= moved[0] * (1 - 1e-9))).length;
      assert.equal(reaching / moved.length <= ALPHA, isRejected, `trial ${trial}: ${shift} of ${low} to ${high}`);
    }
  }
});

test('six pairs show six changes beside noise, of any size, also without variance', () => {
  const noise = [1, -2, 3, -1, 2, -3];
  const clear = noise.map((value, i) => 100 + value * (i % 2 === 0 ? 1 : -1));
  const figures = [noise, clear, clear.map((value) => value / 1e9), Array(6).fill(5), Array(6).fill(0)];
  const results = stepDownMaxT(
    figures.map((values) => pairedFigure(values, randomNumbers(1))),
    ALPHA,
  );
  const least = 2 / 64;
  assert.deepEqual(
    results.map(({ adjusted }) => adjusted === least),
    [false, true, true, true, false],
  );
  for (const bound of [results[3].low, results[3].high]) assert.ok(Math.abs(bound - 5) < 1e-12, String(bound));
  assert.deepEqual([results[4].adjusted, results[4].low <= 0 && results[4].high >= 0], [1, true]);
});
