import { measuredText } from '../output/thresholds.js';
import { checkThresholds } from '../metrics/thresholds.js';

/**
 * @import { RunFile } from '../metrics/summary.js'
 * @import { Threshold } from '../metrics/thresholds.js'
 */

/**
 * Whether a run of a search has held what was asked of it.
 *
 * @typedef {object} Judged
 * @property {boolean} holds
 * @property {string[]} failed what does not hold, with its figures
 * @property {string[]} figures what does
 */

/** A rate is held when the operations of the window were verified this much as fast as they were due. */
export const KEPT_UP = 0.98;

/** Figures that say themselves whether the rate was held. */
const OF_THE_RATE = Object.freeze(['tps', 'achieved', 'dropped']);

/** @param {{find: string | null, until: readonly Threshold[]}} search @returns {boolean} whether the rate has to be held, although nobody said so */
export function isRateImplied({ find, until }) {
  return find === 'rate' && !until.some(({ figure }) => OF_THE_RATE.includes(figure));
}

/**
 * @param {{find: string | null, until: readonly Threshold[]}} search
 * @param {RunFile} run
 * @returns {Judged}
 */
export function judgeTrial(search, run) {
  /** @type {Judged} */
  const judged = { holds: true, failed: [], figures: [] };
  for (const result of checkThresholds(search.until, run)) {
    const { figure, operator, expression, passed } = result;
    const measured = `${figure} ${measuredText(result)}`;
    if (passed) judged.figures.push(measured);
    else judged.failed.push(`${measured} is not ${operator} ${expression.split(/[<>=!]+\s*/)[1]}`);
  }
  const pace = isRateImplied(search) ? paceOf(run) : 1;
  if (pace === null) judged.failed.push('nothing was due in the window');
  else if (pace < KEPT_UP) judged.failed.push(`only ${(100 * pace).toFixed(1)} % of the rate was held`);
  return { ...judged, holds: judged.failed.length === 0 };
}

/**
 * How fast the operations that were due in the window were verified, as a share of how fast they were due. When those of
 * its second half waited longer than those of its first, there is a queue that grows: with g seconds in a second, 1 / (1
 * + g) of what was due was served. No more is counted than where the blocks lie in each half can explain.
 * @param {RunFile} run
 * @returns {number | null} null when nothing was due
 */
export function paceOf({ rates, latency, window, blocks }) {
  const { askedPerSecond: asked, achievedPerSecond: achieved } = rates;
  if (asked === null || achieved === null || asked === 0) return null;
  const [first, second] = latency.halves;
  const halfUs = (window.durationMs * 1000) / 2;
  const grownUs = first.count > 0 && second.count > 0 ? second.sumUs / second.count - first.sumUs / first.count : 0;
  // A half that ends in mid-block has up to an eighth of a block's time too much or too little, for each block in it.
  const blocksInHalf = blocks.count / 2;
  const byChanceUs = blocks.count > 0 ? halfUs / blocksInHalf / (4 * blocksInHalf) : 0;
  return achieved / asked / (1 + Math.max(0, grownUs - byChanceUs) / halfUs);
}
