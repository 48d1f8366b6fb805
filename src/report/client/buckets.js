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

/** At least a third of a factor of ten. @param {Heat} heat @returns {[number, number]} */
export function heatRange({ perDecade, first, last }) {
  const room = Math.max(1, (perDecade / 3 - (last - first)) / 2);
  return [first - room, last + 1 + room];
}

/** Ticks within a factor of ten, from few to many. */
const TICKS = [[1], [1, 2, 5], [1, 1.5, 2, 3, 4, 5, 7], [1, 1.2, 1.4, 1.6, 1.8, 2, 2.5, 3, 3.5, 4, 4.5, 5, 6, 7, 8, 9]];
/** With fewer ticks a logarithmic axis cannot be read. */
const ENOUGH_TICKS = 3;

/** @param {Heat} heat @returns {number[]} places as numbers of buckets */
export function heatTicks(heat) {
  const { perDecade } = heat;
  const [low, high] = heatRange(heat);
  const decades = Math.ceil(high / perDecade) - Math.floor(low / perDecade) + 1;
  const all = TICKS.map((digits) =>
    Array.from({ length: decades }, (_, i) => i + Math.floor(low / perDecade))
      .flatMap((decade) => digits.map((digit) => (decade + Math.log10(digit)) * perDecade))
      .filter((at) => at >= low && at <= high),
  );
  return all.find(({ length }) => length >= ENOUGH_TICKS) ?? all[all.length - 1];
}
