import { boundsOf, statisticOf } from '../stats/histogram.js';
import { amount } from '../coin.js';
import { count, digits, percent, quantity } from '../text.js';

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

/** Units of members of a run file, by the ends of their names. @type {ReadonlyArray<[end: RegExp, text: (value: number) => string]>} */
const UNITS = [
  [/Ms$/, (value) => (Math.abs(value) < 1000 ? quantity(value, 'ms') : quantity(value / 1000, 's'))],
  [/Us$/, (value) => quantity(value / 1000, 'ms')],
  [/Bytes$/, (value) => quantity(value / 1e6, 'MB')],
  [/PerSecond$/, (value) => quantity(value, '/s')],
  [/Wei$/, (value) => amount(BigInt(value))],
  [/Share$/, percent],
  [/(?<=Gas)Limit$/, (value) => count(value)],
];

/** The name of a member without its unit, such as round trip. @param {string} name */
export function wordsOf(name) {
  const [end] = UNITS.find(([one]) => one.test(name)) ?? [/$^/];
  return name.replace(end, '').replace(/(?<=[a-z])[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
}

/** @param {string} name of a member @param {unknown} value */
export function memberText(name, value) {
  const [, text] = UNITS.find(([end]) => end.test(name)) ?? [];
  // Amounts are strings of digits.
  const isNumber = /Wei$/.test(name) ? /^\d+$/.test(String(value)) : typeof value === 'number';
  if (isNumber && text !== undefined) return text(/** @type {number} */ (value));
  if (typeof value === 'number' && !Number.isInteger(value)) return digits(value);
  return Array.isArray(value) ? value.join(', ') : String(value);
}

/** The members of an object, and of those in it, as rows; those without a value are left out. @param {Record<string, any>} object @param {string} [prefix] @returns {Array<[string, string]>} */
export function memberRows(object, prefix = '') {
  return Object.entries(object).flatMap(([name, value]) => {
    if (value === undefined || value === null || value.length === 0) return [];
    const words = `${prefix}${wordsOf(name)}`;
    if (typeof value === 'object' && !Array.isArray(value)) return memberRows(value, `${words}: `);
    return [[words, memberText(name, value)]];
  });
}
