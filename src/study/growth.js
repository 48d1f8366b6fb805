import { metricOf } from './metrics.js';
import { holm } from './statistics.js';

/** @import { Fit } from './trend.js' */

/**
 * Which of many lines are shown to rise, and which of those most.
 *
 * @typedef {object} Growth by the names of metrics
 * @property {string | null} fastestStage the part of the latency with the steepest slope of those shown to grow
 * @property {string[]} rivals the other parts the intervals of whose slopes meet that of the steepest
 * @property {string | null} fastest of the parts and the costs shown to grow the one that does so most, relative to its first median
 * @property {string[]} fromNothing those shown to grow whose first median is zero, so that they have no relative growth
 */

/** The parts of the latency, by the median of a run. */
const STAGES = Object.freeze(['queued.p50', 'submit.p50', 'inclusion.p50', 'readback.p50']);

/**
 * @param {readonly Fit[]} fits
 * @param {number} alpha of naming any part, and of naming any cost, that does not grow
 * @returns {Growth}
 */
export function growthOf(fits, alpha) {
  const parts = fits.filter(({ name }) => STAGES.includes(name));
  const costs = fits.filter(({ name }) => metricOf(name).better === 'lower' && !isOfStage(name));
  const grownParts = growing(parts, alpha);
  const grown = [...growing(costs, alpha), ...grownParts];
  const [steepest] = grownParts.sort((a, b) => b.slope - a.slope);
  const [largest] = grown.filter(({ growth }) => growth !== null).sort((a, b) => Number(b.growth) - Number(a.growth));
  return {
    fastestStage: steepest?.name ?? null,
    // Which of two lines is the steeper one is known where their intervals do not meet.
    rivals: parts.flatMap((fit) =>
      steepest !== undefined && fit !== steepest && fit.slopeHigh >= steepest.slopeLow ? fit.name : [],
    ),
    fastest: largest?.name ?? null,
    fromNothing: grown.flatMap(({ name, growth }) => (growth === null ? name : [])),
  };
}

/**
 * Who looks at many lines finds some that rise by chance. Those that were the same in all runs are not looked at.
 * @param {readonly Fit[]} fits
 * @param {number} alpha
 */
function growing(fits, alpha) {
  const varying = fits.filter(({ r2 }) => r2 !== null);
  const corrected = holm(
    varying.map(({ p }) => p),
    alpha,
  );
  return varying.filter(({ slope, p }, i) => slope > 0 && p <= corrected[i].level);
}

/** Parts of the latency are looked at among themselves. @param {string} name */
function isOfStage(name) {
  return STAGES.some((stage) => stage.split('.')[0] === name.split('.')[0]);
}
