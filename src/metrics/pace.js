import { Distribution } from './distribution.js';

/**
 * How an open loop kept its pace.
 *
 * @typedef {import('./summary.js').MeasuredRun} MeasuredRun
 */

/** By less than this a rate may fall short before it is said aloud. */
const HELD = 0.95;

/** A node keeps up while the operations in flight are few beside those of the window, or wait no longer than before. */
const VERIFIED_IN_WINDOW = 0.95;
const GROWN = 1.5;
/** With fewer, how long operations waited says more of where the blocks lay. */
const ENOUGH_BLOCKS = 4;

/** @param {MeasuredRun} run @returns {string | null} what nobody must miss; null in a closed loop, or when the rate was held */
export function rateNotHeld(run) {
  const { askedPerSecond: asked, achievedPerSecond: achieved, verifiedPerSecond: verified } = run.rates;
  if (asked === null || achieved === null || verified === null) return null;
  const { dropped, scheduled } = run.window.counts;
  const ofAsked = (/** @type {number} */ rate) =>
    `${rate.toFixed(1)} of ${asked.toFixed(1)} operations per second, ${(100 * (1 - rate / asked)).toFixed(1)} % short`;
  if (achieved < asked * HELD)
    return `THE RATE WAS NOT HELD: ${ofAsked(achieved)}; ${dropped} of ${scheduled} were dropped because no wallet was idle`;
  const growth = backlog(run);
  if (growth === null) return null;
  return `THE RATE WAS NOT HELD: ${ofAsked(verified)}, and the rest only after the window; ${growth}`;
}

/**
 * With enough wallets a node that is too slow drops nothing: it answers later and later, and the drain hides it.
 * @param {MeasuredRun} run
 * @returns {string | null} how latency grew, if it did
 */
export function backlog({ window, latency, intervals, blocks }) {
  if (window.counts.verified >= VERIFIED_IN_WINDOW * window.counts.scheduled) return null;
  if (blocks.count > 0 && blocks.count < ENOUGH_BLOCKS) return null;
  const [first, second] = latency.halves;
  const means =
    first.count > 0 && second.count > 0
      ? [first.sumUs / first.count, second.sumUs / second.count]
      : halvesOf(intervals).map(meanLatencyUs);
  const [firstUs, secondUs] = means;
  if (firstUs === null || secondUs === null || secondUs < GROWN * firstUs) return null;
  return `latency grew from ${ms(firstUs)} in the first half of the window to ${ms(secondUs)} in the second`;
}

/** Where the end of the window was not known beforehand. @param {import('./intervals.js').IntervalRow[]} intervals */
function halvesOf(intervals) {
  const load = intervals.filter(({ phase }) => phase === 'load');
  const middleMs = ((load[0]?.startMs ?? 0) + (load.at(-1)?.endMs ?? 0)) / 2;
  return [load.filter(({ endMs }) => endMs <= middleMs), load.filter(({ endMs }) => endMs > middleMs)];
}

/** @param {import('./intervals.js').IntervalRow[]} rows */
function meanLatencyUs(rows) {
  const all = new Distribution();
  for (const { latency } of rows) all.merge(Distribution.fromJSON(latency));
  return all.meanUs;
}

/** @param {number} us */
function ms(us) {
  return `${Math.round(us / 1000).toLocaleString('en-US')} ms`;
}
