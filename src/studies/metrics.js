import { mean } from './statistics.js';
import { oneLine, withoutKeys } from '../errors.js';
import { censoredOf, figureOf } from '../stats/metrics.js';
import { parseThreshold } from '../stats/thresholds.js';

/** @import { Figure, RunFile, Unit } from '../types.d.ts' */

/**
 * The figures that studies read from run files: any that a threshold can name, and how people read them.
 *
 * @typedef {object} Metric
 * @property {string} name
 * @property {string} label in a table
 * @property {Unit} unit
 * @property {'higher' | 'lower'} better
 * @property {(run: RunFile) => number | null} read
 * @property {(run: RunFile) => boolean} isAtLeast whether it may be larger than it reads, because operations are censored
 * @property {(value: number | null, isAtLeast?: boolean) => string} show with its unit
 */

/** Those that every study reads. */
export const METRICS = Object.freeze([
  ...['tps', 'achieved', 'avg', 'min', 'p50', 'p90', 'p99', 'max'],
  ...['queued', 'submit', 'inclusion', 'readback'].flatMap((stage) => [`${stage}.avg`, `${stage}.p50`]),
  ...['cpu', 'rss', 'failed', 'timed_out', 'dropped', 'timewait', 'node.cpu', 'node.rss'],
]);

/** Of the others less is better, or at least is asked of the node. */
const HIGHER_IS_BETTER = new Set(
  'tps achieved asked attempted accepted included scheduled started verified ports_left'.split(' '),
);

/** Where the name alone does not say it. @type {Record<string, string>} */
const LABELS = {
  tps: 'TPS',
  achieved: 'achieved per s',
  asked: 'asked per s',
  attempted: 'attempted per s',
  accepted: 'accepted per s',
  included: 'included per s',
  timed_out: 'timed out',
  cpu: 'generator CPU',
  rss: 'generator memory',
  timewait: 'TIME_WAIT',
  ports_left: 'ports left',
  'node.cpu': 'node CPU',
  'node.rss': 'node memory',
};

/**
 * @param {string} name as a threshold would name it
 * @returns {Metric}
 * @throws {Error} whose message goes behind the name of an option
 */
export function metricOf(name) {
  if (!/^[^\s<>=!]+$/.test(name))
    throw new Error(
      `must be the name of a figure, such as tps or p99, not ${JSON.stringify(oneLine(withoutKeys(name), 31))}`,
    );
  // Of what is no figure the parser of thresholds says what may have been meant.
  const figure = figureOf(name) ?? figureOf(parseThreshold(`${name}<0`).figure);
  if (figure === null) throw new Error(`names ${name}, which is no figure`);
  return Object.freeze({
    name: figure.name,
    unit: figure.unit,
    read: figure.read,
    label: LABELS[figure.name] ?? labelOf(figure),
    better: HIGHER_IS_BETTER.has(figure.name) ? 'higher' : 'lower',
    isAtLeast: (run) => isAtLeast(figure, run),
    show: (value, bound = false) => (value === null ? '-' : `${bound ? '>= ' : ''}${shown(value, figure)}`),
  });
}

/** @param {RunFile} run @returns {Record<string, number | null>} by the names of METRICS */
export function readMetrics(run) {
  return Object.fromEntries(METRICS.map((name) => [name, metricOf(name).read(run)]));
}

/** Stages are of verified operations, and say what they say. @param {Figure} figure @param {RunFile} run */
function isAtLeast(figure, run) {
  if (figure.bounds === undefined || figure.isOfVerified || censoredOf(run).count === 0) return false;
  const { us, atMostUs } = figure.bounds(run);
  return us !== null && shown(us, figure) !== shown(atMostUs, figure);
}

/** Of these figures those that may be larger than they read. @param {RunFile} run @param {readonly string[]} [names] */
export function lowerBounds(run, names = METRICS) {
  return names.filter((name) => metricOf(name).isAtLeast(run));
}

/** A latency without a name before it is the total. @param {Figure} figure */
function labelOf({ name, unit }) {
  if (unit !== 'us') return name.replace('failed.', 'failed: ');
  return name.includes('.') && !/^p\d/.test(name) ? name.replace('.', ' ') : `latency ${name}`;
}

const whole = new Intl.NumberFormat('en-US', { maximumFractionDigits: 0 });
const threeDigits = new Intl.NumberFormat('en-US', { maximumSignificantDigits: 3 });

/** Three digits, or all of those before the point. @param {number} value */
export function digits(value) {
  return (Math.abs(value) < 100 ? threeDigits : whole).format(value);
}

/** @param {number} value @param {{name: string, unit: Unit}} figure */
function shown(value, { name, unit }) {
  // What an operation costs is a fraction of a millisecond, and known as microseconds.
  if (name === 'cpu') return `${digits(value)} us`;
  if (unit === 'us') return `${digits(value / 1000)} ms`;
  if (unit === 'bytes') return `${digits(value / 1e6)} MB`;
  return unit === 'percent' ? `${digits(value)} %` : digits(value);
}

/**
 * What a run was asked to do, by the names of the options: from its run file, which knows them as keys with units.
 *
 * @param {{config: Record<string, unknown>}} run
 * @returns {Record<string, unknown>}
 */
export function settingsOf({ config }) {
  return Object.fromEntries(Object.entries(config).map(([key, value]) => [optionName(key), value]));
}

/** @param {string} key such as ratePerSecond */
function optionName(key) {
  return key.replace(/(PerSecond|Ms|Wei)$/, '').replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}

/**
 * How two runs may differ and still have been asked for the same: who paid, where it went, what was written and shown.
 * Any other option shapes the load or the measurement, also one that does not exist yet.
 */
export const MAY_DIFFER = Object.freeze(
  new Set([
    ...['command', 'config', 'rpc', 'rpc-a', 'rpc-b', 'chain-id', 'allow-chain', 'insecure', 'offset'],
    ...['keys', 'mnemonic', 'hd-path', 'fund-from', 'fund-amount', 'max-spend', 'contracts', 'users', 'data'],
    ...['legacy', 'gas-price', 'max-fee', 'drain-timeout', 'interval', 'node-pid', 'node-metrics', 'node-series'],
    ...['out', 'html', 'dashboard', 'samples', 'blocks', 'hlog', 'prometheus', 'junit', 'thresholds', 'threshold'],
    ...['verbose', 'explain', 'quiet', 'log-level', 'log-file'],
    ...['index', 'instances', 'attempt', 'run-id', 'start-at', 'barrier', 'start-timeout', 'results'],
    // The length of the window is compared itself.
    'duration',
  ]),
);

/** Figures that the tables have beside METRICS. */
export const MORE = ['scheduled', 'verified', 'queued.p90', 'submit.p90', 'inclusion.p90', 'readback.p90'];

/** The busiest interval, in percent of a core; no threshold can name them. */
export const PEAKS = Object.freeze(['peak.node.cpu', 'peak.generator.cpu']);

/** All figures that a sweep keeps of each run. */
export const KEPT = Object.freeze([...METRICS, ...MORE, ...PEAKS]);

/** @param {ReadonlyArray<number | null>} values */
export function meanOf(values) {
  const known = values.filter((value) => value !== null);
  return known.length === 0 ? null : mean(known);
}
