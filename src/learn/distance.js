/**
 * The distance of Kolmogorov and Smirnov between the figures of transactions and those of a mix: the largest difference of
 * their cumulative distributions, from 0 to 1.
 *
 * @typedef {ReadonlyArray<readonly [value: number, weight: number]>} Points
 */

/**
 * @param {Float64Array} values sorted, at least one
 * @param {Points} points at least one
 * @param {number} tolerance values that differ by less than this part count as equal
 */
export function distance(values, points, tolerance) {
  const sorted = [...points].sort(([a], [b]) => a - b);
  const all = sorted.reduce((total, [, weight]) => total + weight, 0);
  const stretch = 1 + tolerance;
  let [largest, at, passed] = [0, 0, 0];
  // Where the distribution of the values is above that of the points.
  for (let i = 0; i < values.length; i += 1) {
    while (at < sorted.length && sorted[at][0] <= values[i] * stretch) passed += sorted[at++][1];
    largest = Math.max(largest, (i + 1) / values.length - passed / all);
  }
  [at, passed] = [0, 0];
  for (const [value, weight] of sorted) {
    passed += weight;
    while (at < values.length && values[at] <= value * stretch) at += 1;
    largest = Math.max(largest, passed / all - at / values.length);
  }
  // Sums of shares have rounding errors.
  return Number(largest.toFixed(9));
}
