import { LISTED_COUNTS, STAGES, figureOf, labelOf } from '../stats/figures.js';
import { parseThreshold } from '../stats/thresholds.js';
import { isUnknown, orNull } from '../stats/unknown.js';
import { digits, quote } from '../text.js';

/** @import { Figure, RunFile, Unit } from '../contracts/run-file.d.ts' */

/**
 * The figures that studies read from run files: all figures of thresholds, with labels and formats.
 *
 * @typedef {object} Metric
 * @property {string} name
 * @property {string} label in a table
 * @property {string} words definition
 * @property {Unit} unit
 * @property {string} suffix the unit of tables and charts
 * @property {(value: number) => number} scaled to that unit
 * @property {'higher' | 'lower'} better
 * @property {(run: RunFile) => number | null} read
 * @property {(run: RunFile) => boolean} isAtLeast whether it is a lower bound, because of censored operations or checks that could not be made
 * @property {(value: number | null, isAtLeast?: boolean) => string} show with its unit
 */

/** Metrics that every study reads. */
export const METRICS = Object.freeze([
  ...'tps achieved held avg min p50 p90 p99 max'.split(' '),
  ...ofStages('avg', 'p50'),
  ...'gas chain.gas gas.op fullness cpu rss failed timed_out dropped timewait node.cpu node.rss'.split(' '),
  ...LISTED_COUNTS.map(({ name }) => name),
]);

/** Those that a sweep keeps of its runs. */
export const KEPT = Object.freeze([...METRICS, ...['scheduled', 'verified', ...ofStages('p90')]]);

/** @param {string[]} statistics */
function ofStages(...statistics) {
  return STAGES.flatMap(({ name }) => statistics.map((statistic) => `${name.toLowerCase()}.${statistic}`));
}

/** @param {string} name as a threshold would name it @returns {Metric} @throws {Error} whose message follows the name of an option */
export function metricOf(name) {
  if (!/^[^\s<>=!]+$/.test(name))
    throw new Error(`must be the name of a figure, such as tps or p99, not ${quote(name, 31)}`);
  // For unknown names the threshold parser suggests similar ones.
  const figure = figureOf(name) ?? figureOf(parseThreshold(`${name}<0`).figure);
  if (figure === null) throw new Error(`names ${name}, which is no figure`);
  const { suffix, factor } = tableUnit(figure);
  return Object.freeze({
    name: figure.name,
    unit: figure.unit,
    suffix,
    read: (run) => orNull(figure.read(run)),
    label: labelOf(figure),
    words: figure.words,
    better: figure.better ?? 'lower',
    scaled: (value) => value * factor,
    isAtLeast: (run) => isAtLeast(figure, run),
    show: (value, bound = false) => (value === null ? '-' : `${bound ? '>= ' : ''}${shown(value, figure)}`),
  });
}

/** @param {RunFile} run @returns {Record<string, number | null>} by the names of METRICS */
export function readMetrics(run) {
  return Object.fromEntries(METRICS.map((name) => [name, metricOf(name).read(run)]));
}

/** Latencies of stages cover verified operations only, so they are exact. @param {Figure} figure @param {RunFile} run */
function isAtLeast(figure, run) {
  if (figure.bounds === undefined || figure.isOfVerified) return false;
  const bounds = figure.bounds(run);
  if (isUnknown(bounds) || bounds.censored === 0) return false;
  return shown(bounds.value, figure) !== shown(bounds.atMost, figure);
}

/** The metrics that are lower bounds. @param {RunFile} run @param {readonly string[]} [names] */
export function lowerBounds(run, names = METRICS) {
  return names.filter((name) => metricOf(name).isAtLeast(run));
}

/** @param {Pick<Figure, 'name' | 'unit'>} figure */
function tableUnit({ name, unit }) {
  // The CPU time of an operation is below a millisecond.
  if (name === 'cpu') return { suffix: 'us', factor: 1 };
  if (unit === 'us') return { suffix: 'ms', factor: 1e-3 };
  if (unit === 'bytes') return { suffix: 'MB', factor: 1e-6 };
  if (unit === 'gasPerSecond') return { suffix: 'Mgas/s', factor: 1e-6 };
  return { suffix: unit === 'percent' ? '%' : '', factor: 1 };
}

/** @param {number} value @param {Pick<Figure, 'name' | 'unit'>} figure */
function shown(value, figure) {
  const { suffix, factor } = tableUnit(figure);
  return `${digits(value * factor)} ${suffix}`.trimEnd();
}

/**
 * The settings of a run by option name; its run file has them as keys with units.
 * @param {{config: Record<string, unknown>}} run
 * @param {ReadonlySet<string>} mayDiffer keys that do not matter; any other one does, also of an option of a later version
 * @returns {Record<string, unknown>}
 */
export function settingsOf({ config }, mayDiffer) {
  const settings = Object.entries(config).filter(([key]) => !mayDiffer.has(key));
  return Object.fromEntries(settings.map(([key, value]) => [optionName(key), value]));
}

/** @param {string} key such as ratePerSecond */
function optionName(key) {
  return key.replace(/(PerSecond|Ms|Wei)$/, '').replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}
