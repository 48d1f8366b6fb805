import { count } from './format.js';
import { borderless, textOf } from './table.js';

/** @import { ThresholdResult } from '../metrics/thresholds.js' */

/**
 * Thresholds as people read them.
 */

/** More digits than elsewhere: 99.96 is less than 100, and has to look like it. */
const precise = new Intl.NumberFormat('en-US', { maximumSignificantDigits: 6 });

/** @param {readonly ThresholdResult[]} results at least one */
export function thresholdsTable(results) {
  const table = borderless();
  results.forEach((result, i) =>
    table.push([
      i === 0 ? '  thresholds' : '',
      result.passed ? 'passed' : 'FAILED',
      result.expression.replace(/\s+/g, ' '),
      measuredText(result),
    ]),
  );
  return textOf(table);
}

/** @param {ThresholdResult} result */
export function measuredText({ value, unit, why, atMost, censored }) {
  if (value === null) return `not measured: ${why}`;
  if (typeof value === 'string') return value;
  if (atMost === undefined) return valueText(value, unit);
  const bounds =
    atMost === null ? `>= ${valueText(value, unit)}` : `${valueText(value, unit)} to ${valueText(atMost, unit)}`;
  return `${bounds}; ${count(censored ?? null)} censored`;
}

/** @param {number} value @param {ThresholdResult['unit']} unit */
function valueText(value, unit) {
  switch (unit) {
    case 'us':
      return Math.abs(value) < 1000 ? `${precise.format(value)} us` : `${precise.format(value / 1000)} ms`;
    case 'bytes':
      return `${precise.format(value / 1e6)} MB`;
    case 'percent':
      return `${precise.format(value)} %`;
    case 'perSecond':
      return `${precise.format(value)} per second`;
    default:
      return count(value);
  }
}
