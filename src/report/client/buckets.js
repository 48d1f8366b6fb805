/** @import { Heat } from '../charts.js' */

/** Buckets of a logarithmic scale of latencies. */

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
