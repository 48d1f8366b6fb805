/**
 * Statistics of the studies. test/fixtures/statistics has SciPy's results for the same data.
 *
 * @import { Random } from '../random.js'
 */

/**
 * P(|T| >= |t|) of Student's t distribution, by its finite series for whole degrees of freedom (Abramowitz and Stegun,
 * 26.7.3 and 26.7.4); exact to about 1e-15.
 * @param {number} t
 * @param {number} degrees
 */
export function studentTwoSided(t, degrees) {
  if (!Number.isFinite(t)) return 0;
  const angle = Math.atan(Math.abs(t) / Math.sqrt(degrees));
  const [sin, cos] = [Math.sin(angle), Math.cos(angle)];
  const isOdd = degrees % 2 === 1;
  let sum = 0;
  for (let n = isOdd ? 3 : 2, term = isOdd ? cos : 1; n <= degrees; n += 2) {
    sum += term;
    term *= (cos * cos * (n - 1)) / n;
  }
  const within = isOdd ? (2 / Math.PI) * (angle + sin * sum) : sin * sum;
  return Math.max(0, 1 - within);
}

/** The t with P(T <= t) = p, by bisection. @param {number} p more than 0.5, less than 1 @param {number} degrees */
export function studentQuantile(p, degrees) {
  const tail = 2 * (1 - p);
  let high = 1;
  while (studentTwoSided(high, degrees) > tail) high *= 2;
  let low = 0;
  for (let middle = high / 2; middle > low && middle < high; middle = (low + high) / 2) {
    if (studentTwoSided(middle, degrees) > tail) low = middle;
    else high = middle;
  }
  return high;
}

/** @param {readonly number[]} values at least one */
export function mean(values) {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

/** @param {ReadonlyArray<number | null>} values */
export function meanOf(values) {
  const known = values.filter((value) => value !== null);
  return known.length === 0 ? null : mean(known);
}

/** @param {readonly number[]} values at least one */
export function median(values) {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

/** @param {readonly number[]} values at least two */
export function standardDeviation(values) {
  const centre = mean(values);
  return Math.sqrt(values.reduce((sum, value) => sum + (value - centre) ** 2, 0) / (values.length - 1));
}

/**
 * Holm's step-down correction for multiple tests (S. Holm, 1979).
 * @param {readonly number[]} ps
 * @param {number} alpha
 * @returns {{adjusted: number, level: number}[]} level: what this p is compared with, also if an
 *   earlier p stopped the procedure. It is rejected exactly if p <= level, and then adjusted <= alpha
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
    // After the first that is not rejected, none is rejected: the level stays, and their p are above it.
    if (!hasStopped) level = alpha / left;
    if (ps[index] > level * (1 + 1e-9)) hasStopped = true;
    results[index] = { adjusted, level };
  });
  return results;
}

/** @param {readonly number[]} xs not all equal @param {readonly number[]} ys */
export function leastSquares(xs, ys) {
  const [meanX, meanY] = [mean(xs), mean(ys)];
  const sumXX = xs.reduce((sum, x) => sum + (x - meanX) ** 2, 0);
  const sumXY = xs.reduce((sum, x, i) => sum + (x - meanX) * (ys[i] - meanY), 0);
  const sumYY = ys.reduce((sum, y) => sum + (y - meanY) ** 2, 0);
  const slope = sumXY / sumXX;
  const intercept = meanY - slope * meanX;
  const residuals = xs.map((x, i) => ys[i] - (intercept + slope * x));
  return { slope, intercept, residuals, sumXX, sumXY, sumYY };
}

/**
 * A straight line through points, by least squares, with the confidence interval of its slope, p of no slope, and r2, the
 * share of the variance that it explains (null: no variance).
 * @param {readonly number[]} xs at least two different
 * @param {readonly number[]} ys as many, at least three
 * @param {number} alpha
 */
export function fitLine(xs, ys, alpha) {
  const { slope, intercept, residuals, sumXX, sumXY, sumYY } = leastSquares(xs, ys);
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

/** With more relabellings they are sampled: so many, including the identity. */
const SAMPLED = 20_000;

/** Without a difference, each sign could be the opposite. @param {readonly number[]} differences @param {Random} random */
export function relabelPairs(differences, random) {
  const { length: size } = differences;
  return relabel(differences, { size, count: 2 ** size, random });
}

/** Without a difference, each value could be in the other sample. @param {readonly number[]} base @param {readonly number[]} candidate @param {Random} random */
export function relabelSamples(base, candidate, random) {
  const all = [...candidate, ...base.map((value) => -value)];
  return relabel(all, { size: candidate.length, count: combinations(all.length, candidate.length), random });
}

/** @param {number} p @param {number} alpha with a slack, because 0.05 is not exact in binary */
export function rejects(p, alpha) {
  return p <= alpha * (1 + 1e-9);
}

/** Rounding errors around zero, at most so large, would break ties. @param {readonly number[]} data */
export function rounding(data) {
  return 1e-12 * Math.max(...data.map(Math.abs));
}

/**
 * All relabellings but the identity, or a sample of them. Each moves some of the data, of which the candidate's come
 * first and the base's have the opposite sign; unpaired, as many of the base's move as of the candidate's.
 *
 * @typedef {object} Relabelled in an order that depends on the sizes of the sides and on the random numbers only
 * @property {Float64Array} sums of the moved data
 * @property {Uint32Array} moved the candidate's data among them
 *
 * @param {readonly number[]} data
 * @param {{size: number, count: number, random: Random}} how size: of the candidate's; count: of all relabellings
 * @returns {Relabelled}
 */
function relabel(data, { size, count, random }) {
  return count <= SAMPLED ? relabelAll(data, size, count) : relabelSample(data, size, random);
}

/** @param {readonly number[]} data @param {number} size @param {number} count @returns {Relabelled} */
function relabelAll(data, size, count) {
  const sums = new Float64Array(count - 1);
  const moved = new Uint32Array(count - 1);
  const isPaired = size === data.length;
  let at = 0;
  /** @param {number} i @param {number} sum of the moved ones @param {number} left the candidate's among them @param {number} joined the base's */
  const walk = (i, sum, left, joined) => {
    if (!isPaired && left - joined > data.length - Math.max(i, size)) return;
    if (i === data.length) {
      if (left === 0) return;
      sums[at] = sum;
      moved[at++] = left;
      return;
    }
    walk(i + 1, sum, left, joined);
    if (i < size) walk(i + 1, sum + data[i], left + 1, joined);
    else if (joined < left) walk(i + 1, sum + data[i], left, joined + 1);
  };
  walk(0, 0, 0, 0);
  return { sums, moved };
}

/** @param {readonly number[]} data @param {number} size @param {Random} random @returns {Relabelled} */
function relabelSample(data, size, random) {
  const order = data.map((_, i) => i);
  const isPaired = size === data.length;
  const exchanged = () => {
    // The first `size` positions become the candidate's.
    for (let i = 0; i < size; i += 1) {
      const j = i + Math.floor(random() * (order.length - i));
      [order[i], order[j]] = [order[j], order[i]];
    }
    return order.filter((index, place) => index < size !== place < size);
  };
  const moved = new Uint32Array(SAMPLED - 1);
  const sums = new Float64Array(SAMPLED - 1).map((_, i) => {
    /** @type {number[]} */
    let chosen = [];
    // No move is the identity, which is already counted.
    while (chosen.length === 0) chosen = isPaired ? order.filter(() => random() < 0.5) : exchanged();
    moved[i] = chosen.filter((index) => index < size).length;
    return chosen.reduce((sum, index) => sum + data[index], 0);
  });
  return { sums, moved };
}

/** @param {number} n @param {number} k */
function combinations(n, k) {
  let result = 1;
  for (let i = 1; i <= k; i += 1) result = (result * (n - k + i)) / i;
  return Math.round(result);
}

/** Accepted rate of false alarms: of the primary metric, and of all others together. */
export const MAX_FALSE_ALARMS = 0.05;

/**
 * Level of the primary metric, and of all others together. It is below MAX_FALSE_ALARMS, so that a thousand comparisons of a node with itself stay
 * below that rate whatever the noise (scripts/false-alarms.js), not only on average.
 */
export const ALPHA = 0.035;

/** The number of pairs, or of unpaired runs per side, below which no difference can be shown. @param {boolean} isPaired */
export function runsNeeded(isPaired) {
  let n = 1;
  while (!rejects(2 / (isPaired ? 2 ** n : combinations(2 * n, n)), ALPHA)) n += 1;
  return n;
}
