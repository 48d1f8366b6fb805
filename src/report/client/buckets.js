/** @import { Heat } from '../charts.js' */

/** Buckets of a logarithmic scale of latencies. */

/** @param {number} bucket @param {Heat} heat @returns {number} its start in ms */
export function bucketMs(bucket, { perDecade }) {
  return 10 ** (bucket / perDecade) / 1000;
}

/** @param {number} atMs @param {Heat} heat */
export function bucketAt(atMs, { perDecade }) {
  return Math.floor(perDecade * Math.log10(1000 * atMs));
}

/** @param {number[]} column @returns {Map<number, number>} counts by bucket */
export function countsOf(column) {
  const counts = new Map();
  for (let i = 0, bucket = 0; i < column.length; i += 2) {
    bucket += column[i];
    counts.set(bucket, column[i + 1]);
  }
  return counts;
}

/** In ms; at least a third of a factor of ten. @param {Heat} heat @returns {[number, number]} */
export function heatRange(heat) {
  const { perDecade, first, last } = heat;
  const room = Math.max(1, (perDecade / 3 - (last - first)) / 2);
  return [bucketMs(first - room, heat), bucketMs(last + 1 + room, heat)];
}
