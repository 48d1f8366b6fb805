import { randomNumbers } from '../random.js';
import { counted, percent } from '../text.js';
import { firstSlotShare } from '../workloads/zipf.js';
import { leastSquares } from './statistics.js';

/**
 * The share of the execution that runs in parallel, from runs of the workload `contention`. Writes of one slot are serial,
 * so with h as the share of the most written slot an operation takes t = a + b max(h, h0): below h0 other things than the
 * slot are the limit, at h = 1 all is serial. t is 1 / TPS, so the node must be the limit of each run.
 *
 * @typedef {{slots: number, theta: number}} Slots settings of the workload
 * @typedef {{h: number, t: number}} Sample
 * @typedef {{isShown: boolean, share: number, low: number, high: number, breakAt: number, runs: number, cells: number}} Parallel
 */

const DEFAULTS = Object.freeze({ slots: 64, theta: 1 });
/** Two on each side of the break. */
const FEWEST_SHARES = 4;
/** A smaller share is taken for none. */
const LEAST_SHARE = 0.01;
const REPLICATES = 1000;
const CONFIDENCE = 0.95;

/** @param {Record<string, string>} settings of a cell of a sweep @returns {Slots} */
export function slotsOfCell(settings) {
  const { 'set.slots': slots = DEFAULTS.slots, 'set.theta': theta = DEFAULTS.theta } = settings;
  return { slots: Number(slots), theta: Number(theta) };
}

/**
 * @param {ReadonlyArray<{contention?: Slots | null, metrics: Record<string, number | null>}>} points
 * @returns {Parallel | null} null: other workloads, or too few settings
 */
export function parallelShare(points) {
  /** @type {Map<number, Sample[]>} */
  const cells = new Map();
  for (const { contention = null, metrics } of points) {
    if (contention === null) return null;
    if (!metrics.tps) continue;
    const h = firstSlotShare(contention.slots, contention.theta);
    cells.set(h, [...(cells.get(h) ?? []), { h, t: 1 / metrics.tps }]);
  }
  const groups = [...cells.values()];
  const fit = fitOf(groups);
  if (fit === null) return null;
  const random = randomNumbers(1);
  const shares = Array.from({ length: REPLICATES }, () => {
    const drawn = groups.map(() => groups[Math.floor(random() * groups.length)]);
    return fitOf(drawn)?.share ?? [];
  })
    .flat()
    .sort((a, b) => a - b);
  const at = (/** @type {number} */ p) => shares[Math.round(p * (shares.length - 1))] ?? fit.share;
  const [low, high] = [at((1 - CONFIDENCE) / 2), at((1 + CONFIDENCE) / 2)];
  return { ...fit, low, high, isShown: low > LEAST_SHARE, runs: groups.flat().length, cells: groups.length };
}

/** Least squares over a, b and h0. @param {Sample[][]} groups @returns {{share: number, breakAt: number} | null} null: too few settings */
function fitOf(groups) {
  const samples = groups.flat().sort((one, other) => one.h - other.h);
  const hs = [...new Set(samples.map(({ h }) => h))];
  if (hs.length < FEWEST_SHARES) return null;
  const fits = hs.slice(0, -1).flatMap((h, i) => {
    const inside = crossing(samples, h);
    const isBetween = inside !== null && inside > h && inside < hs[i + 1];
    return [lineFrom(samples, h), ...(isBetween ? [lineFrom(samples, inside)] : [])];
  });
  const { slope, intercept, breakAt } = fits.reduce((best, one) => (one.squares < best.squares ? one : best));
  // More contention cannot make operations faster.
  const share = Math.max(0, (slope * (1 - breakAt)) / (intercept + slope));
  return { share, breakAt };
}

/** @param {Sample[]} samples @param {number} breakAt */
function lineFrom(samples, breakAt) {
  const [hs, ts] = [samples.map(({ h }) => Math.max(h, breakAt)), samples.map(({ t }) => t)];
  const line = leastSquares(hs, ts);
  return { ...line, breakAt, squares: line.residuals.reduce((sum, residual) => sum + residual ** 2, 0) };
}

/** Where the line of the samples above h meets the mean of the others. @param {Sample[]} samples @param {number} h */
function crossing(samples, h) {
  const [below, above] = [samples.filter((one) => one.h <= h), samples.filter((one) => one.h > h)];
  if (above[0].h === above[above.length - 1].h) return null;
  const { slope, intercept } = lineFrom(above, 0);
  return (below.reduce((sum, { t }) => sum + t, 0) / below.length - intercept) / slope;
}

/** @param {Parallel} parallel */
export function parallelText({ share, low, high, breakAt, isShown, runs, cells }) {
  const words = isShown
    ? `${percent(share)} of the execution runs in parallel (95 % interval ${percent(low)} to ${percent(high)}); a slot is the limit from ${percent(breakAt)} of the writes on`
    : `no part of the execution is shown to run in parallel (at most ${percent(high)})`;
  return [
    '',
    `Contention, ${counted(runs, 'run')} with ${counted(cells, 'share')} of the most written slot`,
    `  verdict   ${words}`,
  ].join('\n');
}
