import { even, rejects } from './statistics.js';

/** @import { Relabelled } from './statistics.js' */

/**
 * Several figures of the same runs are tested together by step-down max-T: P. Westfall and S. Young, Resampling-based
 * multiple testing, 1993, algorithm 4.1; with its control of the family-wise error in S. Dudoit, J. Shaffer and
 * J. Boldrick, Multiple hypothesis testing in microarray experiments, 2003. All figures get the same relabellings. The
 * adjusted p value of a figure is the share of relabellings in which any of the figures that are not yet rejected is at
 * least as extreme as it. Where a figure exceeds all others in all relabellings, its p value is the least that the number
 * of runs allows, however many figures there are: no correction is paid for figures that depend on each other.
 *
 * The statistic is |t|, of the mean of the log ratios, or of the difference of the mean logs. A relabelling changes
 * neither the sum of squares of the log ratios nor that of the logs about their mean. So |t| grows with
 * r = |shift| / sqrt(sum of squares), in the same way for all figures, and r is used in its place: it has no unit, it is
 * at most 1, and equal ratios, which have no variance, give 1 instead of a division by 0.
 *
 * A shift is rejected if few relabellings reach it. Each reaches the shifts of one interval around the estimate: those at
 * which its own statistic is as extreme, and those at which another figure's is. So the bounds of the confidence interval
 * are two of the ends of these intervals, and interval and p value always agree.
 *
 * @typedef {object} Figure
 * @property {number} shift
 * @property {number} spread standard error of the shift, apart from a factor that all figures have
 * @property {Float64Array} extremes r of each relabelling but the identity
 * @property {Float64Array} low least and greatest shift at which its r is as large as that of the data
 * @property {Float64Array} high
 *
 * @typedef {{p: number, adjusted: number, low: number, high: number}} Tested low and high may be infinite
 */

/** @param {Relabelled} relabelled @returns {Figure} */
function figureOf({ sums, moved, shift, spread, share, nothing }) {
  const scale = Math.hypot(shift, spread) || 1;
  const extremes = sums.map((sum) => Math.abs(shift - share * sum) / scale);
  const ends = (/** @type {(a: number, b: number) => number} */ of, /** @type {number} */ infinite) =>
    sums.map((sum, i) => {
      // Without theta in the candidate, the data have shift - theta. The relabelled data have
      // shift - share * sum - theta * (1 - share * moved): as much at the first of these theta, or the opposite at the other.
      const stays = 2 - share * moved[i];
      if (stays < 1e-9) return infinite;
      return even(of(sum / moved[i], (2 * shift - share * sum) / stays), nothing);
    });
  return { shift, spread, extremes, low: ends(Math.min, -Infinity), high: ends(Math.max, Infinity) };
}

/**
 * @param {readonly Relabelled[]} relabellings of figures of the same runs, with the same random numbers
 * @param {number} alpha accepted rate of false alarms in all figures together
 * @returns {Tested[]}
 */
export function stepDownMaxT(relabellings, alpha) {
  const figures = relabellings.map(figureOf);
  const extremeness = figures.map(({ shift, spread }) => Math.abs(shift) / (Math.hypot(shift, spread) || 1));
  const order = figures.map((_, i) => i).sort((a, b) => extremeness[b] - extremeness[a]);
  const mostOf = (/** @type {readonly number[]} */ step, /** @type {number} */ index) =>
    greatest(step.filter((other) => other !== index).map((other) => figures[other]));
  /** @type {Tested[]} */
  const results = [];
  let adjusted = 0;
  let step = order;
  order.forEach((index, rank) => {
    const figure = figures[index];
    const left = order.slice(rank);
    // After the first that is not rejected none is, and the intervals are those of its step.
    if (rejects(adjusted, alpha)) step = left;
    const ofLeft = reached(figure, mostOf(left, index));
    adjusted = Math.max(adjusted, shareReaching(ofLeft));
    const ofStep = step === left ? ofLeft : reached(figure, mostOf(step, index));
    results[index] = { p: shareReaching(figure), adjusted, ...bounds(ofStep, alpha) };
  });
  return results;
}

/** The greatest r of each relabelling. @param {readonly Figure[]} figures */
function greatest(figures) {
  const most = new Float64Array(figures[0]?.extremes.length ?? 0);
  for (const { extremes } of figures)
    for (let i = 0; i < most.length; i += 1) if (extremes[i] > most[i]) most[i] = extremes[i];
  return most;
}

/**
 * The shifts at which the figure, or another one with the given r, is as extreme as the data.
 * @param {Figure} figure
 * @param {Float64Array} most empty: no other one
 */
function reached({ shift, spread, low, high }, most) {
  // So far from the estimate the data have this r.
  const reach = most.map((r) => (r > 1 - 1e-12 ? Infinity : (spread * r) / Math.sqrt(1 - r * r)));
  const nothing = 1e-9 * Math.abs(shift);
  return {
    low: low.map((value, i) => Math.min(value, even(shift - (reach[i] ?? 0), nothing))),
    high: high.map((value, i) => Math.max(value, even(shift + (reach[i] ?? 0), nothing))),
  };
}

/** The p value of no shift. @param {{low: Float64Array, high: Float64Array}} reached */
function shareReaching({ low, high }) {
  let count = 1;
  for (let i = 0; i < low.length; i += 1) if (low[i] <= 0 && high[i] >= 0) count += 1;
  return count / (low.length + 1);
}

/** @param {{low: Float64Array, high: Float64Array}} reached @param {number} alpha */
function bounds({ low, high }, alpha) {
  // Relabellings, beside the identity, that may reach a rejected shift; the slack is needed because 0.05 is not exact.
  const outside = Math.floor(alpha * (low.length + 1) + 1e-9) - 1;
  if (outside < 0) return { low: -Infinity, high: Infinity };
  return { low: low.sort()[outside], high: high.sort()[high.length - 1 - outside] };
}
