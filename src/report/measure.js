import { figureOf } from '../metrics/figures.js';
import { digits, quantity } from './client/quantity.js';

/** @import { Unit } from './client/quantity.js' */

/**
 * A figure that a study has of its runs, as a page shows it: the files have only its name.
 *
 * @typedef {object} Measure
 * @property {string} name
 * @property {string} label
 * @property {string} words what it is
 * @property {Unit} unit of a chart of it
 * @property {(value: number | null | undefined) => number | null} scaled to that unit
 * @property {(value: number | null | undefined) => string} text with its unit
 */

/** @type {Record<string, string>} */
const LABELS = {
  tps: 'TPS',
  achieved: 'achieved per s',
  asked: 'asked per s',
  avg: 'mean latency',
  min: 'shortest latency',
  max: 'longest latency',
  timed_out: 'timed out',
  cpu: 'CPU per operation',
  rss: 'memory',
  timewait: 'TIME_WAIT',
  'node.cpu': 'node CPU',
  'node.rss': 'node memory',
};

/** Of a chart, and what a value is multiplied by. @type {Record<string, {unit: Unit, factor: number}>} */
const UNITS = {
  us: { unit: 'ms', factor: 1e-3 },
  perSecond: { unit: 'perSecond', factor: 1 },
  count: { unit: 'count', factor: 1 },
  percent: { unit: 'percent', factor: 1 },
  bytes: { unit: 'megabytes', factor: 1e-6 },
};

/** @param {string} name @returns {Measure} also of a name that this version does not know */
export function measureOf(name) {
  // The busiest interval, which no threshold can name.
  const [, peak] = /^peak\.(.+)$/.exec(name) ?? [];
  if (peak !== undefined)
    return measure(name, `busiest interval: ${peak}`, 'of the interval where it was highest', UNITS.percent);
  const figure = figureOf(name);
  const words = figure?.words ?? '';
  if (name === 'cpu')
    return {
      ...measure(name, LABELS.cpu, words, { unit: 'plain', factor: 1 }),
      text: (us) => (us == null ? '–' : `${digits(us)} µs`),
    };
  return measure(name, labelOf(name), words, UNITS[figure?.unit ?? ''] ?? { unit: 'plain', factor: 1 });
}

/** @param {string} name @param {string} label @param {string} words @param {{unit: Unit, factor: number}} how @returns {Measure} */
function measure(name, label, words, { unit, factor }) {
  const scaled = (/** @type {number | null | undefined} */ value) => (value == null ? null : value * factor);
  return { name, label, words, unit, scaled, text: (value) => quantity(scaled(value), unit) };
}

/** @param {string} name */
function labelOf(name) {
  if (Object.hasOwn(LABELS, name)) return LABELS[name];
  if (/^p\d/.test(name)) return `${name} latency`;
  return name.replace('readback', 'read back').replace('.', ' ');
}

/** @param {string} text of a figure @param {boolean} [isAtLeast] whether it may be larger, because operations are censored */
export function withBound(text, isAtLeast = false) {
  return isAtLeast ? `>= ${text}` : text;
}

/** At the beginning of a title. @param {string} label */
export function capital(label) {
  return `${label.charAt(0).toUpperCase()}${label.slice(1)}`;
}

/** @param {ReadonlyArray<number | null> | undefined} values of runs @returns {{mean: number | null, low: number | null, high: number | null}} of those that were measured */
export function across(values = []) {
  const known = values.filter((value) => value !== null);
  if (known.length === 0) return { mean: null, low: null, high: null };
  const sum = known.reduce((total, value) => total + value, 0);
  return { mean: sum / known.length, low: Math.min(...known), high: Math.max(...known) };
}
