/** @import { Random } from './random.js' */

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
