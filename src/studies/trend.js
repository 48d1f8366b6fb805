import { InputError, UsageError } from '../errors.js';
import { pText, percentText } from '../outputs/format.js';
import { tableOf, tableText } from '../outputs/table.js';
import { counted, digits, partOf } from '../text.js';
import { parallelShare, parallelText, slotsOfCell } from './contention.js';
import { METRICS, lowerBounds, metricOf, readMetrics, settingsOf } from './metrics.js';
import { safeName } from './run-files.js';
import { fitLine, holm, median } from './statistics.js';

/**
 * @import { RunFile } from '../contracts/run-file.d.ts'
 * @import { Slots } from './contention.js'
 */

/**
 * The trend: how each metric grows with an option that was varied, by least squares, and which costs are shown to grow.
 *
 * @typedef {object} Point one run
 * @property {Record<string, unknown>} settings by the names of options
 * @property {Record<string, number | null>} metrics
 * @property {Slots | null} [contention] of the workload of that name
 * @property {readonly string[]} [atLeast] metrics that are lower bounds, because of censored operations
 *
 * @typedef {ReturnType<typeof fitOf>[number]} Fit
 */

/** Interval of the slope for one step of the table. @param {Pick<Fit, 'name' | 'slopeLow' | 'slopeHigh'>} fit @param {{step: number | null}} line */
function intervalText({ name, slopeLow, slopeHigh }, { step }) {
  const [low, high] = [slopeLow, slopeHigh].map((value) => metricOf(name).show(value * (step ?? 1)));
  return `${low} .. ${high}`;
}

const TREND_SCHEMA = 'evm-stress/trend@1';
const ALPHA = 0.05;
/** Two points always fit a line. */
const FEWEST_VALUES = 3;

const NO_LINES = Object.freeze({
  schema: TREND_SCHEMA,
  over: null,
  confidence: 1 - ALPHA,
  lines: /** @type {ReturnType<typeof lineOf>[]} */ ([]),
  warnings: /** @type {string[]} */ ([]),
});

/** @param {{cells: {settings: Record<string, unknown>, metrics: Record<string, (number | null)[]>, atLeast?: string[]}[], options?: Record<string, unknown>}} sweep @returns {Point[]} */
export function pointsOfSweep({ cells, options }) {
  const isContention = options?.workload === 'contention';
  const points = cells.flatMap(({ settings, metrics, atLeast = [] }) => {
    const runs = Math.max(0, ...Object.values(metrics).map((values) => values.length));
    return Array.from({ length: runs }, (_, i) => ({
      settings,
      contention: isContention ? slotsOfCell(/** @type {Record<string, string>} */ (settings)) : null,
      atLeast,
      metrics: Object.fromEntries(Object.entries(metrics).map(([name, values]) => [name, values[i] ?? null])),
    }));
  });
  if (points.length === 0) throw new InputError('the sweep has no run with a result: a trend needs some');
  return points;
}

/** @param {readonly RunFile[]} runs @param {ReadonlySet<string>} mayDiffer keys that are no settings of a trend @returns {Point[]} */
export function pointsOfRuns(runs, mayDiffer) {
  return runs.map((run) => ({
    settings: settingsOf(run, mayDiffer),
    contention: run.config.workload === 'contention' ? /** @type {Slots} */ (run.environment.workload) : null,
    metrics: readMetrics(run),
    atLeast: lowerBounds(run),
  }));
}

/**
 * @param {readonly Point[]} points
 * @param {{over?: string | null}} [options] name of the option; default: the one that was varied
 * @throws {InputError | UsageError}
 */
export function trend(points, { over: wanted = null } = {}) {
  const varied = [...new Set(points.flatMap(({ settings }) => Object.keys(settings)))].filter(
    (name) => new Set(points.map(({ settings }) => valueText(settings[name]))).size > 1,
  );
  const parallel = parallelShare(points);
  const found = wanted ?? onlyNumeric(points, varied);
  // A grid over the settings of contention has a result without lines.
  if (typeof found !== 'string' && parallel !== null) return { ...NO_LINES, parallel };
  if (typeof found !== 'string') throw found;
  const over = found;
  if (!points.some(({ settings }) => settings[over] !== undefined))
    throw new InputError(`no run says what ${safeName(over)} was: ${namesOf(varied)} varied`);
  if (points.some(({ settings }) => numberOf(settings[over]) === null))
    throw new InputError(`${safeName(over)} is not a number in every run: a line needs numbers`);
  const others = varied.filter((name) => name !== over);
  /** @type {Map<string, Point[]>} */
  const byOthers = new Map();
  for (const point of points) {
    const key = others.map((name) => valueText(point.settings[name])).join();
    byOthers.set(key, [...(byOthers.get(key) ?? []), point]);
  }
  const groups = [...byOthers.values()];
  const fewest = Math.max(...groups.map((group) => valuesOf(group, over).length));
  if (fewest < FEWEST_VALUES)
    throw new InputError(
      `${safeName(over)} has ${fewest} different values where all else is the same: a trend needs at least ${FEWEST_VALUES}`,
    );
  const fitting = groups.filter((group) => valuesOf(group, over).length >= FEWEST_VALUES);
  const left = groups.length - fitting.length;
  const words = `${partOf(left, groups.length, 'line')} have fewer than ${FEWEST_VALUES} values: left out`;
  return {
    schema: TREND_SCHEMA,
    over,
    confidence: 1 - ALPHA,
    ...(parallel && { parallel }),
    lines: fitting.map((group) => lineOf(group, over, others)),
    warnings: left === 0 ? [] : [words],
  };
}

/** @typedef {ReturnType<typeof trend>} Trend */

/** @param {readonly Point[]} points @param {string[]} varied @returns {string | InputError | UsageError} */
function onlyNumeric(points, varied) {
  const numeric = varied.filter((name) => points.every(({ settings }) => numberOf(settings[name]) !== null));
  const enough = numeric.filter((name) => valuesOf(points, name).length >= FEWEST_VALUES);
  if (enough.length === 1) return enough[0];
  if (enough.length > 1) return new UsageError(`several options were varied: give --over one of ${namesOf(enough)}`);
  return new InputError(
    `no option has ${FEWEST_VALUES} or more different numbers (${namesOf(varied)} varied): a trend needs at least ${FEWEST_VALUES}`,
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

/** @param {Point[]} points @param {string} over @param {string[]} others */
function lineOf(points, over, others) {
  const values = valuesOf(points, over);
  const step = stepOf(values);
  const fits = METRICS.flatMap((name) => fitOf(name, points, over, { values, step }));
  // Metrics that are equal in all runs do not count as tests.
  const varying = fits.filter(({ r2 }) => r2 !== null);
  const ps = varying.map(({ p }) => p);
  const corrected = holm(ps, ALPHA);
  const metrics = fits.map((fit) => {
    const { adjusted: pAdjusted, level } = corrected[varying.indexOf(fit)] ?? { adjusted: 1, level: 0 };
    // The rate of operations is meant to grow with the load.
    const isGrowing = metricOf(fit.name).better === 'lower' && fit.slope > 0 && fit.p <= level;
    return { ...fit, pAdjusted, isGrowing };
  });
  const grown = metrics
    .filter(({ isGrowing }) => isGrowing)
    .sort((a, b) => (b.growth ?? Infinity) - (a.growth ?? Infinity))
    .map(({ label, growth }) => `${label} ${growth === null ? 'from 0' : percentText(growth)}`);
  const words =
    grown.length === 0 ? `nothing is shown to grow with ${over}` : `shown to grow with ${over}: ${grown.join(', ')}`;
  const at = Object.fromEntries(others.map((name) => [name, points[0].settings[name] ?? null]));
  return { at, values, step, metrics, words };
}

/** @param {number[]} values in ascending order @returns {number | null} null: uneven steps */
function stepOf(values) {
  const step = values[1] - values[0];
  const isEven = values.every((value, i) => Math.abs(value - (values[0] + i * step)) <= 1e-9 * Math.abs(value));
  return isEven ? step : null;
}

/**
 * The line of a metric; none if it was not measured at every value of the option. Its slope is per unit of the option, its
 * growth from the first median to the last, as a fraction; null: the first is 0.
 * @param {string} name
 * @param {readonly Point[]} points
 * @param {string} over
 * @param {{values: number[], step: number | null}} axis of the option
 */
function fitOf(name, points, over, { values, step }) {
  const measured = points.flatMap(({ settings, metrics }) => {
    const y = metrics[name] ?? null;
    return y === null ? [] : [{ x: Number(settings[over]), y }];
  });
  const groups = values.map((value) => measured.filter(({ x }) => x === value).map(({ y }) => y));
  if (groups.some((group) => group.length === 0)) return [];
  const [xs, ys] = [measured.map(({ x }) => x), measured.map(({ y }) => y)];
  const { residuals, ...line } = fitLine(xs, ys, ALPHA);
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
function valueText(value) {
  return JSON.stringify(value ?? null);
}

/** @param {string[]} names */
function namesOf(names) {
  return names.length === 0 ? 'nothing' : names.map(safeName).join(', ');
}

/** Medians that fit on a line. */
const MEDIANS = 5;

/** @param {Trend} trend @param {number} [columns] of the terminal */
export function trendText({ over, lines, parallel, warnings }, columns = Infinity) {
  return [
    ...lines.flatMap((line) => {
      const at = Object.entries(line.at).map(([name, value]) => `${name} ${String(value)}`);
      const title = `Trend over ${over}${at.length === 0 ? '' : `, at ${at.join(', ')}`}`;
      return ['', title, lineTable(String(over), line, columns), footnote(line), `  verdict   ${line.words}`];
    }),
    ...(parallel ? [parallelText(parallel)] : []),
    ...warnings.map((words) => `  warning   ${words}`),
  ].join('\n');
}

/** @param {string} over @param {Trend['lines'][number]} line @param {number} columns */
function lineTable(over, line, columns) {
  const { values, step, metrics } = line;
  // The first, the last and evenly spaced values between them.
  const count = Math.min(values.length, MEDIANS);
  const shown = Array.from({ length: count }, (_, i) => Math.round((i * (values.length - 1)) / (count - 1)));
  const medianHeads = shown.map((i) => digits(values[i]));
  const perStep = `per ${step === null ? '1' : digits(step)}`;
  const head = [over, ...medianHeads, perStep, 'interval', 'R2', 'p', 'growth'];
  // Metrics that are always 0 have no trend.
  const varying = metrics.filter(({ medians, slope }) => slope !== 0 || medians.some((value) => value !== 0));
  const rows = varying.map((fit) => {
    const { label, medians, slope, r2, pAdjusted, growth, isGrowing } = fit;
    const { show } = metricOf(fit.name);
    const name = `${label}${fit.atLeast ? ' >=' : ''}${isGrowing ? ' *' : ''}`;
    return [
      ...[name, ...shown.map((i) => show(medians[i])), show(slope * (step ?? 1))],
      ...[intervalText(fit, line), r2 === null ? '-' : r2.toFixed(2), pText(pAdjusted), percentText(growth)],
    ];
  });
  // Between the first and the last value, then what the verdict says.
  const middle = shown.slice(1, -1).map((_, i) => i + 2);
  const last = head.length - 1;
  return tableText(tableOf('', '', head, rows), columns, [...middle, last - 1, last - 2, last - 3]);
}

/** @param {Trend['lines'][number]} line */
function footnote({ metrics }) {
  const bounds = metrics.some(({ atLeast }) => atLeast)
    ? '; >=: some runs have operations without a good answer, it may be larger'
    : '';
  const runs = Math.max(0, ...metrics.map(({ residuals }) => residuals.length));
  return `  medians; least squares through all ${counted(runs, 'run')}, 95 % intervals of the slopes; p adjusted for multiple comparisons (Holm); *: shown to grow${bounds}`;
}
