/** @import { Row } from './run-charts.js' */

/**
 * Figures of one interval in the units of a chart, and how lines differ besides their colours.
 */

export const DASHED = [7, 4];
export const DOTTED = [2, 4];
export const DASH_DOTTED = [8, 3, 2, 3];

/** A rate of an interval that short says nothing. */
export const SHORTEST_MS = 100;

/** @param {Row} row @param {number | null | undefined} amount */
export function perSecond({ startMs, endMs }, amount) {
  return amount === null || amount === undefined || endMs - startMs < SHORTEST_MS
    ? null
    : (1000 * amount) / (endMs - startMs);
}

/** Time used of the time there was, in percent of one core. @param {Row} row @param {number | null | undefined} us */
export function share(row, us) {
  const used = perSecond(row, us);
  return used === null ? null : used / 1e4;
}

/** @param {number | null | undefined} us */
export function ms(us) {
  return us === null || us === undefined ? null : us / 1000;
}

/** @param {number | null | undefined} bytes */
export function megabytes(bytes) {
  return bytes === null || bytes === undefined ? null : bytes / 1e6;
}
