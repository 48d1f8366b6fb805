import { UNSEEN_CHARACTERS } from '../errors.js';

/** Figures as people read them. A figure that could not be measured is a dash, never a zero. */

const whole = new Intl.NumberFormat('en-US', { maximumFractionDigits: 0 });
const tenths = new Intl.NumberFormat('en-US', { minimumFractionDigits: 1, maximumFractionDigits: 1 });

/** Lines that somebody else's words are in: nothing in them reaches the terminal but text. @param {string} text */
export function printable(text) {
  return text.replace(/[^\P{Cc}\n]+/gu, ' ').replace(UNSEEN_CHARACTERS, ' ');
}

/** @param {number | null} value */
export function count(value) {
  return value === null ? '-' : whole.format(value);
}

/** One decimal below 100, none above. @param {number | null} value */
export function figure(value) {
  if (value === null) return '-';
  return Math.abs(value) < 100 ? tenths.format(value) : whole.format(value);
}

/** @param {number | null} us microseconds @returns {string} milliseconds, without the unit */
export function ms(us) {
  return us === null ? '-' : figure(us / 1000);
}

/** @param {number} durationMs */
export function seconds(durationMs) {
  return `${tenths.format(durationMs / 1000)} s`;
}

/** @param {number} bytes */
export function megabytes(bytes) {
  return `${whole.format(bytes / 1e6)} MB`;
}

/** @param {Record<string, number>} failures by code */
export function byCode(failures) {
  return Object.entries(failures)
    .sort((a, b) => b[1] - a[1])
    .map(([code, times]) => `${code} ${count(times)}`)
    .join(', ');
}
