/** Student's t distribution, by the incomplete beta function. Nothing here knows what is measured. */

/** Enough for a double: the fraction converges much sooner. */
const STEPS = 500;
const TINY = 1e-300;

/** P(T <= t). @param {number} t @param {number} degrees of freedom */
export function studentCdf(t, degrees) {
  const tail = regularizedBeta(degrees / (degrees + t * t), degrees / 2, 0.5) / 2;
  return t < 0 ? tail : 1 - tail;
}

/** P(|T| >= |t|): not 1 less something, so that a small one keeps its digits. @param {number} t @param {number} degrees */
export function studentTwoSided(t, degrees) {
  return Number.isFinite(t) ? regularizedBeta(degrees / (degrees + t * t), degrees / 2, 0.5) : 0;
}

/**
 * The t with P(T <= t) = p, by bisection: the distribution grows from one end to the other.
 * @param {number} p more than 0, less than 1
 * @param {number} degrees
 * @returns {number}
 */
export function studentQuantile(p, degrees) {
  if (p === 0.5) return 0;
  if (p < 0.5) return -studentQuantile(1 - p, degrees);
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

/**
 * I_x(a, b): its continued fraction, evaluated as by Lentz (Numerical Recipes in C, 6.4).
 * @param {number} x from 0 to 1
 * @param {number} a
 * @param {number} b
 * @returns {number}
 */
export function regularizedBeta(x, a, b) {
  if (x <= 0) return 0;
  if (x >= 1) return 1;
  // On the other side of the mean it would converge slowly.
  if (x > (a + 1) / (a + b + 2)) return 1 - regularizedBeta(1 - x, b, a);
  const factor = Math.exp(logGamma(a + b) - logGamma(a) - logGamma(b) + a * Math.log(x) + b * Math.log1p(-x));
  return (factor * betaFraction(x, a, b)) / a;
}

/** @param {number} x @param {number} a @param {number} b */
function betaFraction(x, a, b) {
  /** @param {number} value */
  const notZero = (value) => (Math.abs(value) < TINY ? TINY : value);
  let c = 1;
  let d = 1 / notZero(1 - ((a + b) * x) / (a + 1));
  let result = d;
  for (let m = 1; m <= STEPS; m += 1) {
    const even = (m * (b - m) * x) / ((a + 2 * m - 1) * (a + 2 * m));
    const odd = (-(a + m) * (a + b + m) * x) / ((a + 2 * m) * (a + 2 * m + 1));
    const before = result;
    for (const term of [even, odd]) {
      d = 1 / notZero(1 + term * d);
      c = notZero(1 + term / c);
      result *= d * c;
    }
    if (result === before) break;
  }
  return result;
}

const LANCZOS = Object.freeze([
  ...[0.99999999999980993, 676.5203681218851, -1259.1392167224028, 771.32342877765313, -176.61502916214059],
  ...[12.507343278686905, -0.13857109526572012, 9.9843695780195716e-6, 1.5056327351493116e-7],
]);

/** By Lanczos, with g = 7 and nine terms. @param {number} z at least 0.5 */
function logGamma(z) {
  const x = z - 1;
  const t = x + 7.5;
  const sum = LANCZOS.reduce((total, term, i) => total + (i === 0 ? term : term / (x + i)));
  return 0.5 * Math.log(2 * Math.PI) + (x + 0.5) * Math.log(t) - t + Math.log(sum);
}

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

/**
 * Exact permutation tests of a shift, and the confidence intervals that are the same tests turned round.
 *
 * A relabelling gives a mean difference at least as large as the one seen if and only if the shift asked about is at
 * least some value of that relabelling: of a sign flip the mean of the flipped differences, of an exchange between two
 * samples the mean of what left one less the mean of what left the other (J. Hartigan, Using subsample values as typical
 * values, 1969). So the p value of a shift is a matter of counting these values on either side of it, the bounds of the
 * interval are two of them, and test and interval cannot disagree.
 *
 * @typedef {object} TypicalValues
 * @property {Float64Array} values in ascending order, one for each relabelling but the identity
 */

/** More differences than these have so many sign flips that a sample of them has to do. */
export const EXACT_PAIRS = 14;
/** So many relabellings are looked at where it cannot be all, the identity among them. */
export const SAMPLED = 20_000;

/**
 * Paired: under no difference, each difference could as well have had the other sign.
 * @param {readonly number[]} differences
 * @param {Random} random
 * @returns {TypicalValues}
 */
export function signFlips(differences, random) {
  const n = differences.length;
  return typical(n <= EXACT_PAIRS ? allMeans(differences) : sampledMeans(differences, random), differences);
}

/**
 * Unpaired: under no difference, each value could as well have been in the other sample.
 * @param {readonly number[]} base
 * @param {readonly number[]} candidate
 * @param {Random} random
 * @returns {TypicalValues}
 */
export function exchanges(base, candidate, random) {
  const all = [...candidate, ...base];
  const isExact = combinations(all.length, base.length) <= SAMPLED;
  return typical(isExact ? allExchanges(all, candidate.length) : sampledExchanges(all, candidate.length, random), all);
}

/**
 * Two-sided, of a shift: twice the smaller share of relabellings that are as far on one side, the identity among them.
 * @param {TypicalValues} typical
 * @param {number} [shift]
 */
export function pValue({ values }, shift = 0) {
  let [below, above] = [0, 0];
  for (const value of values) {
    if (value <= shift) below += 1;
    if (value >= shift) above += 1;
  }
  return Math.min(1, (2 * (Math.min(below, above) + 1)) / (values.length + 1));
}

/** No data give a smaller one. @param {TypicalValues} typical */
export function smallestP({ values }) {
  return Math.min(1, 2 / (values.length + 1));
}

/**
 * All shifts that the test does not reject.
 * @param {TypicalValues} typical
 * @param {number} alpha
 * @returns {{low: number, high: number}} infinite where there are too few relabellings to reject any
 */
export function interval({ values }, alpha) {
  // So many values may lie on one side of a shift that is rejected; the slack is for 0.05 having no end in binary.
  const outside = Math.floor((alpha * (values.length + 1)) / 2 + 1e-9);
  if (outside < 1) return { low: -Infinity, high: Infinity };
  return { low: values[outside - 1], high: values[values.length - outside] };
}

/** @param {number} p @param {number} alpha with the slack of interval() */
export function rejects(p, alpha) {
  return p <= alpha * (1 + 1e-9);
}

/** @param {Float64Array} values @param {readonly number[]} data @returns {TypicalValues} */
function typical(values, data) {
  // What is zero but for rounding is zero, or ties would be broken by it.
  const nothing = 1e-12 * Math.max(...data.map(Math.abs));
  for (let i = 0; i < values.length; i += 1) if (Math.abs(values[i]) <= nothing) values[i] = 0;
  return { values: values.sort() };
}

/** The mean of each subset that is not empty. @param {readonly number[]} differences */
function allMeans(differences) {
  const total = 2 ** differences.length;
  const sums = new Float64Array(total);
  const sizes = new Uint8Array(total);
  for (let mask = 1; mask < total; mask += 1) {
    const rest = mask & (mask - 1);
    sums[mask] = sums[rest] + differences[31 - Math.clz32(mask ^ rest)];
    sizes[mask] = sizes[rest] + 1;
  }
  return sums.subarray(1).map((sum, i) => sum / sizes[i + 1]);
}

/** @param {readonly number[]} differences @param {Random} random */
function sampledMeans(differences, random) {
  return new Float64Array(SAMPLED - 1).map(() => {
    let [sum, size] = [0, 0];
    // Who flips nothing is the identity, which is counted already.
    while (size === 0) {
      for (const difference of differences) {
        if (random() >= 0.5) continue;
        sum += difference;
        size += 1;
      }
    }
    return sum / size;
  });
}

/** @param {readonly number[]} all the candidate's first @param {number} size of the candidate's */
function allExchanges(all, size) {
  const values = new Float64Array(combinations(all.length, size) - 1);
  let count = 0;
  /** @param {number} i @param {number} sum of what left, less what joined @param {number} left @param {number} joined */
  const walk = (i, sum, left, joined) => {
    // For each that leaves one has to join.
    if (left - joined > all.length - Math.max(i, size)) return;
    if (i === all.length) {
      if (left > 0) values[count++] = sum / left;
      return;
    }
    walk(i + 1, sum, left, joined);
    if (i < size) walk(i + 1, sum + all[i], left + 1, joined);
    else if (joined < left) walk(i + 1, sum - all[i], left, joined + 1);
  };
  walk(0, 0, 0, 0);
  return values;
}

/** @param {readonly number[]} all the candidate's first @param {number} size of the candidate's @param {Random} random */
function sampledExchanges(all, size, random) {
  const order = all.map((_, i) => i);
  return new Float64Array(SAMPLED - 1).map(() => {
    let [sum, left] = [0, 0];
    while (left === 0) {
      // The first of them would be the candidate's.
      for (let i = 0; i < size; i += 1) {
        const j = i + Math.floor(random() * (order.length - i));
        [order[i], order[j]] = [order[j], order[i]];
        if (order[i] >= size) sum -= all[order[i]];
      }
      for (const index of order.slice(size)) {
        if (index >= size) continue;
        sum += all[index];
        left += 1;
      }
    }
    return sum / left;
  });
}

/** @param {number} n @param {number} k */
function combinations(n, k) {
  let result = 1;
  for (let i = 1; i <= k; i += 1) result = (result * (n - k + i)) / i;
  return Math.round(result);
}

/**
 * Random numbers that a seed decides, so that whoever asks the same question of the same files gets the same answer:
 * sfc32 (C. Doty-Humphrey, PractRand), which passes the tests of its author.
 * @typedef {() => number} Random at least 0, below 1
 *
 * @param {number} seed
 * @returns {Random}
 */
export function randomNumbers(seed) {
  let [a, b, c, counter] = [seed | 0, (seed / 2 ** 32) | 0, 0x9e3779b9 | 0, 1];
  const next = () => {
    const sum = (a + b + counter) | 0;
    counter = (counter + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = (((c << 21) | (c >>> 11)) + sum) | 0;
    return sum >>> 0;
  };
  // The first ones still look like the seed.
  for (let i = 0; i < 15; i += 1) next();
  return () => ((next() >>> 5) * 2 ** 26 + (next() >>> 6)) / 2 ** 53;
}

/** The rate of false alarms that is put up with, of the metric that decides and of all others together. */
export const MOST_FALSE_ALARMS = 0.05;

/**
 * The level of the metric that decides. It is below that rate, so that a thousand trials of a node against itself stay below it,
 * too, whatever the noise (scripts/false-alarms.js), and not only on average.
 */
export const ALPHA = 0.035;

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
