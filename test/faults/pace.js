/** @import { RunFile } from '../helpers/run-file.js' */

/**
 * How fast a run was before, during and after a fault.
 *
 * @typedef {object} Pace
 * @property {number | null} before TPS over the intervals that ended before the fault, the first one left out
 * @property {number | null} during TPS over the intervals that lie in it; null when there is none
 * @property {number | null} after TPS of the best window of three intervals in a row that begins within ten seconds after its end
 * @property {number | null} recoveredS from the end of the fault to the beginning of the first window that held the share
 */

/** What TPS has to come back to. */
export const SHARE = 0.9;
/** And how soon. */
export const WITHIN_MS = 10_000;
/** Intervals in a window. */
const WINDOW = 3;

/**
 * @param {RunFile} run
 * @param {{beginMs: number, endMs: number}} fault since the load began
 * @returns {Pace}
 */
export function paceOf(run, { beginMs, endMs }) {
  const rows = run.intervals.filter(({ phase }) => phase === 'load');
  const earlier = rows.filter((row) => row.endMs <= beginMs).slice(1);
  const before = earlier.length === 0 ? null : tpsOf(earlier);
  const during = rows.filter((row) => row.startMs >= beginMs && row.endMs <= endMs);
  const later = rows.filter((row) => row.startMs >= endMs);
  const windows = later
    .map((_, i) => later.slice(i, i + WINDOW))
    .filter((rows) => rows.length === WINDOW && rows[0].startMs <= endMs + WITHIN_MS);
  const recovered = windows.find((rows) => before !== null && tpsOf(rows) >= before * SHARE);
  return {
    before,
    during: during.length === 0 ? null : tpsOf(during),
    after: windows.length === 0 ? null : Math.max(...windows.map(tpsOf)),
    recoveredS: recovered === undefined ? null : (recovered[0].startMs - endMs) / 1000,
  };
}

/** @param {RunFile['intervals']} rows */
function tpsOf(rows) {
  const verified = rows.reduce((sum, { counts }) => sum + counts.verified, 0);
  return (verified * 1000) / rows.reduce((sum, { startMs, endMs }) => sum + endMs - startMs, 0);
}
