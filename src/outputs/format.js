import { boundsOf, statisticOf } from '../stats/histogram.js';
import { count, digits, percent } from '../text.js';

export { byCode, count, seconds } from '../text.js';

/**
 * @import { DistributionJson } from '../contracts/run-file.d.ts'
 * @import { Statistic } from '../stats/histogram.js'
 */

/** Formats of figures in texts. An unmeasured figure is a dash, not a zero. */

/** @param {number | null} value */
export function figure(value) {
  return value === null ? '-' : digits(value);
}

/** @param {number | null} us microseconds @returns {string} milliseconds, without the unit */
export function ms(us) {
  return us === null ? '-' : figure(us / 1000);
}

/**
 * Figures of a distribution in milliseconds, with >= for lower bounds because of censored operations.
 * @param {DistributionJson} json
 * @param {Parameters<typeof boundsOf>[1]} censored
 * @param {readonly string[]} names such as avg and p99
 * @returns {string[]}
 */
export function boundedMs(json, censored, names) {
  return names.map((name) => {
    const { us, atMostUs } = boundsOf(json, censored, /** @type {Statistic | number} */ (statisticOf(name)));
    return atLeast(ms(us), us === null ? '-' : ms(atMostUs));
  });
}

/** @param {string} text of a figure @param {string} atMost its upper bound as text, with the same digits */
export function atLeast(text, atMost) {
  return text === atMost ? text : `>= ${text}`;
}

const fourDigits = new Intl.NumberFormat('en-US', { maximumSignificantDigits: 4 });

/** An amount in a readable unit, with four digits. @param {bigint} wei */
export function amount(wei) {
  const value = Number(wei);
  if (value >= 1e14) return `${fourDigits.format(value / 1e18)} ether`;
  return value >= 1e6 ? `${fourDigits.format(value / 1e9)} gwei` : `${count(value)} wei`;
}

/** @param {number} bytes */
export function megabytes(bytes) {
  return `${count(bytes / 1e6)} MB`;
}

/** Changes below this are rounding errors. */
const LEAST_CHANGE = 5e-6;

/** A change in percent, with its sign. @param {number | null} fraction */
export function percentText(fraction) {
  if (fraction === null) return '-';
  if (Math.abs(fraction) < LEAST_CHANGE) return percent(0);
  return `${fraction > 0 ? '+' : ''}${percent(fraction)}`;
}

/** @param {number} p */
export function pText(p) {
  return p < 0.0005 ? '< 0.001' : p.toFixed(3);
}
