/** Statistics of paired runs: how many pairs are needed, and the median ratio with its interval. */
import { median } from './lib.js';

/** @import { Random } from '../../src/random.js' */

const RESAMPLES = 10_000;
/** Half-width of the 95 % interval of a median, in standard deviations of a value over the root of their number: 1.96 by sqrt(pi / 2). */
const HALF_WIDTH = 1.96 * Math.sqrt(Math.PI / 2);
/** Of the width: the plan tries the next one if the last takes too long. */
const STEP = 1.01;

/**
 * The median, and its 95 % interval: the percentile bootstrap.
 * @param {readonly number[]} values
 * @param {Random} random
 */
export function medianInterval(values, random) {
  const medians = new Float64Array(RESAMPLES).map(() =>
    median(values.map(() => values[Math.floor(random() * values.length)])),
  );
  medians.sort();
  return {
    middle: median([...values]),
    low: medians[Math.floor(0.025 * RESAMPLES)],
    high: medians[Math.ceil(0.975 * RESAMPLES) - 1],
  };
}

/**
 * Standard deviation of normal values with the same mean distance from the median: an outlier, which the median ignores as well, weighs less.
 * @param {readonly number[]} values
 */
export function spreadOf(values) {
  const middle = median([...values]);
  return (Math.sqrt(Math.PI / 2) * values.reduce((sum, value) => sum + Math.abs(value - middle), 0)) / values.length;
}

/**
 * @typedef {object} Pilot the first pairs of a scenario
 * @property {number} spread of the logarithms of their ratios
 * @property {number} seconds of a pair
 * @property {number} pairs
 */

/**
 * How many pairs each scenario gets, those of the pilot included: as many as give all intervals the same half-width, the
 * wanted one or the narrowest that fits into the time. It depends on spread and time of the pilots only, not on their
 * ratios, and therefore favours no side.
 * @param {readonly Pilot[]} pilots
 * @param {{halfWidth: number, secondsLeft: number}} limits
 * @returns {number[]} even
 */
export function planPairs(pilots, { halfWidth, secondsLeft }) {
  const planned = (/** @type {number} */ half) =>
    pilots.map(({ spread, pairs }) => Math.max(pairs, 2 * Math.ceil((HALF_WIDTH * spread) ** 2 / half ** 2 / 2)));
  const takes = (/** @type {number[]} */ counts) =>
    counts.reduce((sum, count, i) => sum + (count - pilots[i].pairs) * pilots[i].seconds, 0);
  let half = halfWidth;
  while (takes(planned(half)) > Math.max(0, secondsLeft)) half *= STEP;
  return planned(half);
}
