/** @import { Heat } from '../charts.js' */

/** Buckets of a logarithmic scale of latencies. */

/**
 * Joins neighbouring buckets.
 * @param {Map<number, number>} counts
 * @param {number} factor number of neighbours that become one
 * @returns {Map<number, number>}
 */
export function coarser(counts, factor) {
  if (factor === 1) return counts;
  const sums = new Map();
  for (const [bucket, count] of counts) {
    const wide = Math.floor(bucket / factor);
    sums.set(wide, (sums.get(wide) ?? 0) + count);
  }
  return sums;
}

/** @param {number} bucket @param {Heat} heat @returns {number} its start in ms */
export function bucketMs(bucket, { perDecade }) {
  return 10 ** (bucket / perDecade) / 1000;
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

/** Ticks at 1, 2 and 5. @param {Heat} heat @returns {number[]} */
export function heatTicks({ perDecade, first, last }) {
  const ticks = [];
  for (let decade = Math.floor(first / perDecade); decade <= Math.ceil(last / perDecade); decade += 1) {
    for (const digit of last - first > 3 * perDecade ? [1] : [1, 2, 5]) {
      const at = (decade + Math.log10(digit)) * perDecade;
      if (at >= first && at <= last + 1) ticks.push(at);
    }
  }
  return ticks;
}

/** Differences of bucket numbers are shorter in JSON. @param {Map<number, number>} counts */
export function deltasOf(counts) {
  let before = 0;
  return [...counts].flatMap(([bucket, count]) => {
    const delta = bucket - before;
    before = bucket;
    return [delta, count];
  });
}
