import { studentQuantile, studentTwoSided } from './student.js';

/** Plain statistics. test/fixtures/statistics holds what SciPy says to the same data. */

/** @param {readonly number[]} values at least one */
export function mean(values) {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

/** @param {readonly number[]} values at least one */
export function median(values) {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

/** Of a sample. @param {readonly number[]} values at least two */
export function standardDeviation(values) {
  const centre = mean(values);
  return Math.sqrt(values.reduce((sum, value) => sum + (value - centre) ** 2, 0) / (values.length - 1));
}

/**
 * Holm's step-down correction for looking at several p values (S. Holm, 1979).
 * @param {readonly number[]} ps
 * @param {number} alpha
 * @returns {{adjusted: number, level: number}[]} level: what this p was held against, or would have been had those
 *   before it not stopped the procedure. It is rejected exactly when p <= level, and then adjusted <= alpha
 */
export function holm(ps, alpha) {
  const order = ps.map((_, i) => i).sort((a, b) => ps[a] - ps[b]);
  /** @type {{adjusted: number, level: number}[]} */
  const results = [];
  let adjusted = 0;
  let level = 0;
  let hasStopped = false;
  order.forEach((index, rank) => {
    const left = ps.length - rank;
    adjusted = Math.max(adjusted, Math.min(1, left * ps[index]));
    // Behind the first that is not rejected none is: they keep its level, which they are above.
    if (!hasStopped) level = alpha / left;
    if (ps[index] > level * (1 + 1e-9)) hasStopped = true;
    results[index] = { adjusted, level };
  });
  return results;
}

/**
 * @typedef {object} Line a straight line through points, by least squares
 * @property {number} slope
 * @property {number} intercept
 * @property {number} slopeLow of the confidence interval
 * @property {number} slopeHigh
 * @property {number} p that there is no slope
 * @property {number | null} r2 share of the variance that the line explains; null where there is none
 * @property {number[]} residuals
 */

/**
 * @param {readonly number[]} xs at least two different
 * @param {readonly number[]} ys as many, at least three
 * @param {number} alpha
 * @returns {Line}
 */
export function fitLine(xs, ys, alpha) {
  const [meanX, meanY] = [mean(xs), mean(ys)];
  const sumXX = xs.reduce((sum, x) => sum + (x - meanX) ** 2, 0);
  const sumXY = xs.reduce((sum, x, i) => sum + (x - meanX) * (ys[i] - meanY), 0);
  const sumYY = ys.reduce((sum, y) => sum + (y - meanY) ** 2, 0);
  const slope = sumXY / sumXX;
  const intercept = meanY - slope * meanX;
  const residuals = xs.map((x, i) => ys[i] - (intercept + slope * x));
  const degrees = xs.length - 2;
  const error = Math.sqrt(residuals.reduce((sum, residual) => sum + residual ** 2, 0) / degrees / sumXX);
  const half = studentQuantile(1 - alpha / 2, degrees) * error;
  return {
    slope,
    intercept,
    slopeLow: slope - half,
    slopeHigh: slope + half,
    residuals,
    p: sumYY === 0 ? 1 : studentTwoSided(slope / error, degrees),
    r2: sumYY === 0 ? null : sumXY ** 2 / (sumXX * sumYY),
  };
}
