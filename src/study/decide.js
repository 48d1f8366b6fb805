import { exchanges, interval, pValue, rejects, signFlips, smallestP } from './permutation.js';
import { randomNumbers } from './random.js';
import { holm, mean } from './statistics.js';

/**
 * The decision of a comparison, on figures alone: scripts/false-alarms.js puts this very code to the test.
 *
 * @typedef {'faster' | 'slower' | 'no difference shown' | 'too few runs'} Word
 *
 * @typedef {object} Sides a metric's value in each run; of pairs, the i-th of each side
 * @property {'higher' | 'lower'} better
 * @property {readonly number[]} base more than 0, as is
 * @property {readonly number[]} candidate
 * @property {boolean} [isRaw] compared as they are, not by their logs: they may be 0
 *
 * @typedef {object} Change of the geometric mean, candidate against base, as a fraction; of raw values of the mean
 * @property {number} estimate infinite where raw values are all 0 in the base
 * @property {number | null} low of the confidence interval; null where so few runs say nothing about it
 * @property {number | null} high
 * @property {number} confidence of the interval, which is the one that agrees with the word
 *
 * @typedef {{change: Change, p: number, pAdjusted: number, word: Word}} Decision
 */

/** The rate of false alarms that is put up with, of the metric that decides and of all others together. */
export const MOST_FALSE_ALARMS = 0.05;

/**
 * The level of the metric that decides. It is below that rate, so that a thousand trials of a node against itself stay below it,
 * too, whatever the noise (scripts/false-alarms.js), and not only on average.
 */
export const ALPHA = 0.035;

/** Where the sampling of relabellings begins, so that the same runs get the same answer. */
const SEED = 20_250_107;

/**
 * The first decides and stands for itself, the others are corrected for being many.
 * @param {readonly Sides[]} metrics
 * @param {boolean} isPaired
 * @returns {Decision[]}
 */
export function decide([primary, ...secondaries], isPaired) {
  const main = test(primary, isPaired);
  const others = secondaries.map((sides) => test(sides, isPaired));
  const corrected = holm(
    others.map(({ p }) => p),
    MOST_FALSE_ALARMS,
  );
  return [
    decision(primary, main, { adjusted: main.p, level: ALPHA }),
    ...others.map((tested, i) => decision(secondaries[i], tested, corrected[i])),
  ];
}

/** Fewer pairs, or unpaired runs on each side, cannot show anything of so many metrics. @param {boolean} isPaired @param {number} [metrics] */
export function runsNeeded(isPaired, metrics = 1) {
  let n = 1;
  let relabellings = 2;
  while (!rejects(2 / relabellings, metrics === 1 ? ALPHA : MOST_FALSE_ALARMS / metrics)) {
    n += 1;
    relabellings *= isPaired ? 2 : (2 * (2 * n - 1)) / n;
  }
  return n;
}

/** @param {Sides} sides @param {boolean} isPaired */
function test({ base, candidate, isRaw = false }, isPaired) {
  const [a, b] = isRaw ? [base, candidate] : [base.map(Math.log), candidate.map(Math.log)];
  const random = randomNumbers(SEED);
  const values = isPaired
    ? signFlips(
        b.map((value, i) => value - a[i]),
        random,
      )
    : exchanges(a, b, random);
  return { values, p: pValue(values), shift: mean(b) - mean(a) };
}

/**
 * @param {Sides} sides
 * @param {ReturnType<typeof test>} tested
 * @param {{adjusted: number, level: number}} corrected
 * @returns {Decision}
 */
function decision({ better, base, isRaw = false }, { values, p, shift }, { adjusted, level }) {
  const { low, high } = interval(values, level);
  /** @param {number} by */
  const fraction = (by) => (isRaw ? by / mean(base) : Math.expm1(by));
  /** @param {number} by */
  const bound = (by) => (Number.isFinite(by) ? fraction(by) : null);
  return {
    change: { estimate: fraction(shift), low: bound(low), high: bound(high), confidence: 1 - level },
    p,
    pAdjusted: adjusted,
    word: wordOf(),
  };

  /** @returns {Word} */
  function wordOf() {
    if (!rejects(smallestP(values), level)) return 'too few runs';
    if (!rejects(p, level)) return 'no difference shown';
    return shift > 0 === (better === 'higher') ? 'faster' : 'slower';
  }
}
