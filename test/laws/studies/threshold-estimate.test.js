import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { randomNumbers } from '../../../src/random.js';
import { MAX_TRIALS, SHARP, ThresholdEstimate } from '../../../src/studies/threshold-estimate.js';

/**
 * @import { Random } from '../../../src/random.js'
 * @import { Scale } from '../../../src/studies/threshold-estimate.js'
 */

const RANGE = Object.freeze({ lowest: 100, highest: 2000, guess: null, isInteger: false });

/** Searches with runs that are made up. @param {Scale} scale @param {(value: number) => boolean} holds */
function searched(scale, holds) {
  const estimate = new ThresholdEstimate(scale);
  /** @type {number[]} */
  const values = [];
  while (estimate.end() === null) {
    const value = estimate.next();
    assert.ok(value >= scale.lowest && value <= scale.highest, `${value} is outside of what can be tried`);
    values.push(value);
    estimate.add(value, holds(value));
  }
  return { ...estimate.figures(), end: estimate.end(), values, trials: estimate.trials };
}

/**
 * Runs that hold up to a threshold, which noise moves, and some that say anything.
 * @param {object} given
 * @param {number} given.truth
 * @param {number} given.noise scale of a logistic distribution, as a share of the threshold
 * @param {number} [given.lapses]
 * @param {Random} given.random
 */
function oracle({ truth, noise, lapses = 0, random }) {
  return (/** @type {number} */ value) => {
    const share = random();
    const isLapse = random() < lapses;
    const answer = random() < 0.5;
    return isLapse ? answer : Math.log(value) < Math.log(truth) + noise * Math.log(share / (1 - share));
  };
}

/** @param {{noise: number, lapses?: number}} given @param {number} times @param {Scale} [scale] */
function simulated({ noise, lapses }, times, scale = RANGE) {
  return Array.from({ length: times }, (_, i) => {
    const random = randomNumbers(1000 + i);
    const truth = 150 * Math.exp(2 * random());
    const result = searched(scale, oracle({ truth, noise, lapses, random }));
    return {
      ...result,
      error: Math.abs(result.estimate / truth - 1),
      covers: result.low <= truth && truth <= result.high,
    };
  });
}

/** @param {readonly boolean[]} list */
const shareOf = (list) => list.filter(Boolean).length / list.length;

describe('ThresholdEstimate', () => {
  const byNoise = [0, 0.01, 0.05, 0.15].map((noise) => simulated({ noise }, 50));

  it('finds a threshold without noise, sharply, in few runs', () => {
    for (const { error, covers, end, trials } of byNoise[0]) {
      assert.ok(covers && error < SHARP, `${error}`);
      assert.equal(end, 'sharp');
      assert.ok(trials <= 20, `${trials} runs`);
    }
  });

  it('the interval covers the true value as often as stated, at any noise', () => {
    assert.ok(byNoise.flat().every(({ trials }) => trials <= MAX_TRIALS));
    for (const [i, list] of byNoise.entries())
      assert.ok(shareOf(list.map(({ covers }) => covers)) >= 0.85, `noise ${i}`);
    const share = shareOf(byNoise.flat().map(({ covers }) => covers));
    assert.ok(share >= 0.9, `${byNoise.flat().length} intervals, ${share} of which cover the truth`);
    const [step, small, some] = byNoise.map((list) => shareOf(list.map(({ error }) => error <= 0.05)));
    assert.ok(step === 1 && small >= 0.97 && some >= 0.75, `within 5 %: ${step}, ${small}, ${some}`);
  });

  it('reports noise only if it prevents a sharper answer', () => {
    assert.ok(shareOf(byNoise[3].map(({ end }) => end === 'noise' || end === 'trials')) >= 0.85);
    const quiet = simulated({ noise: 0.003 }, 40);
    assert.ok(shareOf(quiet.map(({ end }) => end === 'sharp')) >= 0.9);
  });

  it('survives an answer that was wrong', () => {
    const results = simulated({ noise: 0, lapses: 0.04 }, 40);
    assert.ok(shareOf(results.map(({ error }) => error <= 0.05)) >= 0.95);
  });

  it('begins at a guess, and doubles or halves until it has seen both answers', () => {
    const scale = { lowest: 1, highest: 1_000_000, guess: 300, isInteger: false };
    const up = searched(scale, (value) => value < 5000).values;
    assert.ok(Math.abs(up[0] / 300 - 1) < 0.35, `${up[0]}`);
    for (let i = 1; up[i - 1] < 5000; i += 1) assert.ok(up[i] / up[i - 1] < 4, `${up.slice(0, i + 1)}`);
    const down = searched(scale, (value) => value < 20);
    assert.ok(Math.abs(down.estimate / 20 - 1) < SHARP && down.trials <= MAX_TRIALS);
  });

  it('reports if the whole range holds, or none of it', () => {
    const all = searched(RANGE, () => true);
    assert.equal(all.end, 'at least');
    assert.equal(all.values.at(-1), 2000, 'the end itself was tried');
    const none = searched(RANGE, () => false);
    assert.equal(none.end, 'below');
    assert.equal(none.values.at(-1), 100);
    assert.ok(all.trials <= 8 && none.trials <= 8, `${all.trials} and ${none.trials}`);
  });

  it('finds the last whole number that holds', () => {
    for (const last of [1, 2, 3, 7, 10, 64, 200]) {
      const scale = { lowest: 1, highest: 1000, guess: null, isInteger: true };
      const { estimate, low, high, end, values } = searched(scale, (value) => value <= last);
      assert.ok(values.every(Number.isInteger));
      assert.equal(end, 'sharp');
      assert.ok(
        low <= last && last <= high && Math.abs(estimate - last) <= SHARP * last,
        `${last}: ${low} ${estimate} ${high}`,
      );
    }
  });

  it('tries rates of three digits', () => {
    const { values } = searched(RANGE, (value) => value < 777.7);
    assert.ok(values.every((value) => Number(value.toPrecision(3)) === value));
  });
});
