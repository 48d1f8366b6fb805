import { boundsOf, statisticOf } from '../stats/histogram.js';
import { digits, percent } from '../text.js';

/**
 * @import { DistributionJson } from '../contracts/run-file.d.ts'
 * @import { Statistic } from '../stats/histogram.js'
 */

/**
 * Figures of a distribution in milliseconds, with >= for lower bounds because of censored operations.
 * @param {DistributionJson} json
 * @param {Parameters<typeof boundsOf>[1]} censored
 * @param {readonly string[]} names such as avg and p99
 * @returns {string[]}
 */
export function boundedMs(json, censored, names) {
  const ms = (/** @type {number | null} */ us) => digits(us === null ? null : us / 1000);
  return names.map((name) => {
    const { us, atMostUs } = boundsOf(json, censored, /** @type {Statistic | number} */ (statisticOf(name)));
    return us === null || ms(us) === ms(atMostUs) ? ms(us) : `>= ${ms(us)}`;
  });
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
