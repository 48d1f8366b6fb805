/**
 * Statistics of the studies: Student's t distribution, mean, median, Holm's correction, least squares, and exact
 * permutation tests. test/fixtures/statistics has SciPy's results for the same data.
 */

/** Upper limit of terms; the fraction converges much sooner. */
const STEPS = 500;
const TINY = 1e-300;

/** P(T <= t). @param {number} t @param {number} degrees of freedom */
export function studentCdf(t, degrees) {
  const tail = regularizedBeta(degrees / (degrees + t * t), degrees / 2, 0.5) / 2;
  return t < 0 ? tail : 1 - tail;
}

/** P(|T| >= |t|), computed directly, so that small values keep their digits. @param {number} t @param {number} degrees */
export function studentTwoSided(t, degrees) {
  return Number.isFinite(t) ? regularizedBeta(degrees / (degrees + t * t), degrees / 2, 0.5) : 0;
}

/**
 * The t with P(T <= t) = p, by bisection.
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
 * I_x(a, b) by its continued fraction, evaluated by Lentz's method (Numerical Recipes in C, 6.4).
 * @param {number} x from 0 to 1
 * @param {number} a
 * @param {number} b
 * @returns {number}
 */
export function regularizedBeta(x, a, b) {
  if (x <= 0) return 0;
  if (x >= 1) return 1;
  // Beyond the mean the fraction converges slowly.
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

/** Lanczos' approximation with g = 7 and nine terms. @param {number} z at least 0.5 */
function logGamma(z) {
  const x = z - 1;
  const t = x + 7.5;
  const sum = LANCZOS.reduce((total, term, i) => total + (i === 0 ? term : term / (x + i)));
  return 0.5 * Math.log(2 * Math.PI) + (x + 0.5) * Math.log(t) - t + Math.log(sum);
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

/**
 * @typedef {object} Line a straight line through points, by least squares
 * @property {number} slope
 * @property {number} intercept
 * @property {number} slopeLow of the confidence interval
 * @property {number} slopeHigh
 * @property {number} p of no slope
 * @property {number | null} r2 share of the variance that the line explains; null: no variance
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
 * Exact permutation tests of a shift, and their confidence intervals.
 *
 * A relabelling gives a mean difference at least as large as the observed one exactly if the tested shift is at least a
 * certain value of the relabelling: of a sign flip the mean of the flipped differences, of an exchange between two
 * samples the mean of the values that left one minus the mean of those that left the other (J. Hartigan, Using
 * subsample values as typical values, 1969). The p value of a shift is therefore found by counting these values on both
 * sides of it, and the bounds of the interval are two of them: test and interval always agree.
 *
 * @typedef {object} TypicalValues
 * @property {Float64Array} values in ascending order, one for each relabelling but the identity
 */

/** With more differences the sign flips are sampled. */
const EXACT_PAIRS = 14;
/** Number of sampled relabellings, including the identity. */
const SAMPLED = 20_000;

/**
 * Paired: without a difference, each sign could be the opposite.
 * @param {readonly number[]} differences
 * @param {Random} random
 * @returns {TypicalValues}
 */
export function signFlips(differences, random) {
  const n = differences.length;
  return typical(n <= EXACT_PAIRS ? allMeans(differences) : sampledMeans(differences, random), differences);
}

/**
 * Unpaired: without a difference, each value could be in the other sample.
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
 * Two-sided p value of a shift: twice the smaller share of relabellings, including the identity, that are as far on one
 * side.
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

/** The smallest p value that any data can give. @param {TypicalValues} typical */
export function smallestP({ values }) {
  return Math.min(1, 2 / (values.length + 1));
}

/**
 * All shifts that the test does not reject.
 * @param {TypicalValues} typical
 * @param {number} alpha
 * @returns {{low: number, high: number}} infinite: too few relabellings to reject any
 */
export function interval({ values }, alpha) {
  // Values that may lie on one side of a rejected shift; the slack is needed because 0.05 is not exact in binary.
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
  // Rounding errors around zero would break ties.
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
    // No flip is the identity, which is already counted.
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
  /** @param {number} i @param {number} sum of values that left, minus those that joined @param {number} left @param {number} joined */
  const walk = (i, sum, left, joined) => {
    // As many values must join as leave.
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
      // The first `size` positions become the candidate's.
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
 * Seeded random numbers, so that the same files give the same result: sfc32 (C. Doty-Humphrey, PractRand).
 *
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
  // The first numbers depend too much on the seed.
  for (let i = 0; i < 15; i += 1) next();
  return () => ((next() >>> 5) * 2 ** 26 + (next() >>> 6)) / 2 ** 53;
}

/** Accepted rate of false alarms: of the primary metric, and of all others together. */
export const MAX_FALSE_ALARMS = 0.05;

/**
 * Level of the primary metric. It is below MAX_FALSE_ALARMS, so that a thousand comparisons of a node with itself stay
 * below that rate whatever the noise (scripts/false-alarms.js), not only on average.
 */
export const ALPHA = 0.035;

/** The number of pairs, or of unpaired runs per side, below which no difference can be shown. @param {boolean} isPaired @param {number} [metrics] */
export function runsNeeded(isPaired, metrics = 1) {
  let n = 1;
  let relabellings = 2;
  while (!rejects(2 / relabellings, metrics === 1 ? ALPHA : MAX_FALSE_ALARMS / metrics)) {
    n += 1;
    relabellings *= isPaired ? 2 : (2 * (2 * n - 1)) / n;
  }
  return n;
}
