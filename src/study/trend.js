import { InputError, UsageError, oneLine, withoutKeys } from '../errors.js';
import { growthOf } from './growth.js';
import { lowerBounds, METRICS, metricOf, readMetrics } from './metrics.js';
import { MAY_DIFFER, settingsOf } from './settings.js';
import { fitLine, median } from './statistics.js';
import { trendWords } from './trend-words.js';

/**
 * @import { Unit } from '../metrics/figures.js'
 * @import { RunFile } from '../metrics/summary.js'
 * @import { Growth } from './growth.js'
 */

/**
 * How each metric grows with an option that was varied.
 *
 * @typedef {object} Point one run
 * @property {Record<string, unknown>} settings by the names of options
 * @property {Record<string, number | null>} metrics
 * @property {readonly string[]} [atLeast] metrics that may be larger, because operations are censored
 *
 * @typedef {object} Fit of one metric
 * @property {string} name
 * @property {string} label
 * @property {Unit} unit
 * @property {boolean} [atLeast] it may be larger in some run, because operations are censored
 * @property {number[]} medians at each value of the option: outliers spoil means
 * @property {number} intercept
 * @property {number} slope for one more of the option
 * @property {number} slopeLow of the confidence interval
 * @property {number} slopeHigh
 * @property {number | null} perStep the slope for one step of the option, where all steps are alike
 * @property {number} p that there is no slope, of this metric alone
 * @property {number | null} r2
 * @property {{x: number, residual: number}[]} residuals of each run
 * @property {number | null} growth from the first median to the last, as a fraction; null where the first is zero
 *
 * @typedef {TrendFits & Growth & {words: string}} TrendLine
 *
 * @typedef {object} TrendFits
 * @property {Record<string, unknown>} at what else was varied
 * @property {number[]} values of the option
 * @property {number | null} step
 * @property {Fit[]} metrics
 */

export const TREND_SCHEMA = 'evm-stress/trend@1';
export const ALPHA = 0.05;
/** A line goes through any two points. */
const FEWEST_VALUES = 3;

/** @param {{cells: {settings: Record<string, unknown>, metrics: Record<string, (number | null)[]>, atLeast?: string[]}[]}} sweep @returns {Point[]} */
export function pointsOfSweep({ cells }) {
  return cells.flatMap(({ settings, metrics, atLeast = [] }) => {
    const runs = Math.max(0, ...Object.values(metrics).map((values) => values.length));
    return Array.from({ length: runs }, (_, i) => ({
      settings,
      atLeast,
      metrics: Object.fromEntries(Object.entries(metrics).map(([name, values]) => [name, values[i] ?? null])),
    }));
  });
}

/** @param {readonly RunFile[]} runs @returns {Point[]} */
export function pointsOfRuns(runs) {
  return runs.map((run) => ({
    settings: Object.fromEntries(Object.entries(settingsOf(run)).filter(([name]) => !MAY_DIFFER.has(name))),
    metrics: readMetrics(run),
    atLeast: lowerBounds(run),
  }));
}

/**
 * @param {readonly Point[]} points
 * @param {{over?: string | null}} [options] the option's name; without it, the one that was varied
 * @throws {InputError | UsageError}
 */
export function trend(points, { over: wanted = null } = {}) {
  const varied = [...new Set(points.flatMap(({ settings }) => Object.keys(settings)))].filter(
    (name) => new Set(points.map(({ settings }) => textOf(settings[name]))).size > 1,
  );
  const over = wanted ?? onlyNumeric(points, varied);
  if (!points.some(({ settings }) => settings[over] !== undefined))
    throw new InputError(`no run says what ${shown(over)} was: give --over one of ${namesOf(varied)}`);
  if (points.some(({ settings }) => numberOf(settings[over]) === null))
    throw new InputError(`${shown(over)} is not a number in every run: a line needs numbers`);
  const others = varied.filter((name) => name !== over);
  const groups = groupsOf(points, others);
  const fewest = Math.max(...groups.map((group) => valuesOf(group, over).length));
  if (fewest < FEWEST_VALUES)
    throw new InputError(
      `${shown(over)} has ${fewest} ${fewest === 1 ? 'value' : 'different values'}${others.length === 0 ? '' : ' where all else is the same'}: a trend needs at least ${FEWEST_VALUES}`,
    );
  const fitting = groups.filter((group) => valuesOf(group, over).length >= FEWEST_VALUES);
  return {
    schema: TREND_SCHEMA,
    over,
    confidence: 1 - ALPHA,
    lines: fitting.map((group) => lineOf(group, over, others)),
    warnings:
      fitting.length === groups.length
        ? []
        : [
            `${groups.length - fitting.length} of ${groups.length} lines have fewer than ${FEWEST_VALUES} values: left out`,
          ],
  };
}

/** @typedef {ReturnType<typeof trend>} Trend */

/** Those together that differ in none of these. @param {readonly Point[]} points @param {string[]} names @returns {Point[][]} */
function groupsOf(points, names) {
  /** @type {Map<string, Point[]>} */
  const groups = new Map();
  for (const point of points) {
    const key = names.map((name) => textOf(point.settings[name])).join();
    groups.set(key, [...(groups.get(key) ?? []), point]);
  }
  return [...groups.values()];
}

/** @param {readonly Point[]} points @param {string[]} varied */
function onlyNumeric(points, varied) {
  const numeric = varied.filter((name) => points.every(({ settings }) => numberOf(settings[name]) !== null));
  const enough = numeric.filter((name) => valuesOf(points, name).length >= FEWEST_VALUES);
  if (enough.length === 1) return enough[0];
  if (enough.length > 1) throw new UsageError(`several options were varied: give --over one of ${namesOf(enough)}`);
  throw new InputError(
    varied.length === 0
      ? `all runs have the same settings: a trend needs at least ${FEWEST_VALUES} values of an option`
      : `no option has ${FEWEST_VALUES} or more different numbers (${namesOf(varied)} varied): a trend needs at least ${FEWEST_VALUES}`,
  );
}

/** @param {readonly Point[]} points @param {string} over */
function valuesOf(points, over) {
  const values = points.map(({ settings }) => numberOf(settings[over]) ?? NaN);
  return [...new Set(values)].sort((a, b) => a - b);
}

/** @param {unknown} value of an option, as text or as a number */
function numberOf(value) {
  if (typeof value === 'number') return value;
  return typeof value === 'string' && /^\d+(\.\d+)?$/.test(value.trim()) ? Number(value) : null;
}

/** @param {Point[]} points @param {string} over @param {string[]} others @returns {TrendLine} */
function lineOf(points, over, others) {
  const values = valuesOf(points, over);
  const step = stepOf(values);
  const metrics = METRICS.flatMap((name) => fitOf(name, points, over, { values, step }));
  const line = {
    at: Object.fromEntries(others.map((name) => [name, points[0].settings[name] ?? null])),
    values,
    step,
    metrics,
    ...growthOf(metrics, ALPHA),
  };
  return { ...line, words: trendWords(over, line) };
}

/** @param {number[]} values in ascending order @returns {number | null} null: they are not evenly apart */
function stepOf(values) {
  const step = values[1] - values[0];
  const isEven = values.every((value, i) => Math.abs(value - (values[0] + i * step)) <= 1e-9 * Math.abs(value));
  return isEven ? step : null;
}

/**
 * @param {string} name
 * @param {readonly Point[]} points
 * @param {string} over
 * @param {{values: number[], step: number | null}} axis
 * @returns {Fit[]} none where it was not measured at every value
 */
function fitOf(name, points, over, { values, step }) {
  const measured = points.flatMap(({ settings, metrics }) => {
    const y = metrics[name] ?? null;
    return y === null ? [] : [{ x: Number(settings[over]), y }];
  });
  const groups = values.map((value) => measured.filter(({ x }) => x === value).map(({ y }) => y));
  if (groups.some((group) => group.length === 0)) return [];
  const xs = measured.map(({ x }) => x);
  const { residuals, ...line } = fitLine(
    xs,
    measured.map(({ y }) => y),
    ALPHA,
  );
  const medians = groups.map(median);
  const [first, last] = [medians[0], medians[medians.length - 1]];
  const { label, unit } = metricOf(name);
  return [
    {
      name,
      label,
      unit,
      medians,
      ...line,
      ...(points.some(({ atLeast = [] }) => atLeast.includes(name)) ? { atLeast: true } : {}),
      perStep: step === null ? null : line.slope * step,
      residuals: residuals.map((residual, i) => ({ x: xs[i], residual })),
      growth: first > 0 ? last / first - 1 : null,
    },
  ];
}

/** @param {unknown} value */
function textOf(value) {
  return JSON.stringify(value ?? null);
}

/** @param {string[]} names */
function namesOf(names) {
  return names.length === 0 ? 'those that were varied' : names.map(shown).join(', ');
}

/** Of what is in a file the names are somebody else's, too. @param {string} name */
function shown(name) {
  return oneLine(withoutKeys(name), 60);
}
