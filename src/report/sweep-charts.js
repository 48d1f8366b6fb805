import { metricOf } from '../studies/metrics.js';
import { cellName } from '../studies/plan.js';
import { meanOf } from '../studies/statistics.js';
import { bestOf, known } from '../studies/sweep-text.js';
import { LOGARITHMIC, LOOKS, capital, isSkewed, namedAxis, rounded, sentence } from './charts.js';
import { quantity } from '../text.js';

/**
 * @import { Axis, Find, SweepCell, SweepFile } from '../contracts/study.d.ts'
 * @import { Chart, Series } from './charts.js'
 */

/**
 * The charts of the page of a sweep or a search. Of the axes of the sweep one is x, one gives lines, and the others give
 * separate charts.
 *
 * @typedef {object} Across the x axis
 * @property {string} label
 * @property {number[] | null} asked the values are asked rates, which throughput can be compared with
 * @property {number[] | null} numbers the values; null: they are names, which no line joins
 * @property {string[]} texts of the values, ascending if they are numbers
 * @property {(cell: SweepCell) => number} of the place of its value; -1: none
 *
 * @typedef {{label: string, cells: SweepCell[]}} Line cells in the order of the load
 * @typedef {{name: string, lines: Line[]}} Group
 * @typedef {{across: Across, groups: Group[], linesBy: string | null}} Layout
 */

/** @param {SweepFile} sweep @returns {Layout | null} null: nothing varies */
function layoutOf({ axes, cells, saturation }) {
  // The axis of the load, otherwise the last numeric axis.
  const along = axes.find(({ name }) => name === saturation[0]?.along);
  const several = axes.filter(({ values }) => values.length > 1);
  const axis = along ?? several.findLast(isNumeric) ?? several.at(-1) ?? axes.at(-1);
  if (axis === undefined || cells.length === 0) return null;
  const others = axes.filter((one) => one !== axis);
  const groups = [...groupBy(cells, others.slice(0, -1))].map(([name, ofGroup]) => ({
    name,
    lines: [...groupBy(ofGroup, others.slice(-1))].map(([label, ofLine]) => ({ label, cells: ofLine })),
  }));
  const lines = groups.flatMap((group) => group.lines);
  const across = acrossOf(axis, lines);
  for (const line of lines) line.cells.sort((a, b) => across.of(a) - across.of(b));
  return { across, groups, linesBy: others.at(-1)?.name ?? null };
}

/** @param {Axis} axis */
function isNumeric({ values }) {
  return values.every((value) => value.trim() !== '' && Number.isFinite(Number(value)));
}

/** @param {SweepCell[]} cells @param {Axis[]} axes @returns {Map<string, SweepCell[]>} */
function groupBy(cells, axes) {
  /** @type {Map<string, SweepCell[]>} */
  const groups = new Map();
  for (const cell of cells) {
    const name = cellName(Object.fromEntries(axes.map((axis) => [axis.name, cell.settings[axis.name]])));
    groups.set(name, [...(groups.get(name) ?? []), cell]);
  }
  return groups;
}

/** @param {Axis} axis @param {Line[]} lines @returns {Across} */
function acrossOf(axis, lines) {
  const rates = lines.map(({ cells }) => [...new Set(cells.map((cell) => cell.asked))]);
  if (rates.flat().every((rate) => rate !== null) && rates.some((ofLine) => ofLine.length > 1)) {
    const asked = [...new Set(rates.flat())].map((rate) => rate ?? 0).sort((a, b) => a - b);
    const texts = asked.map((rate) => quantity(rate));
    return { label: 'asked per second', asked, numbers: asked, texts, of: (cell) => asked.indexOf(cell.asked ?? -1) };
  }
  const texts = [...axis.values];
  const numbers = isNumeric(axis) ? texts.sort((a, b) => Number(a) - Number(b)).map(Number) : null;
  return { label: axis.name, asked: null, numbers, texts, of: ({ settings }) => texts.indexOf(settings[axis.name]) };
}

/** Limits of lines and charts; the table has all cells. */
const MAX_LINES = 5;
const MAX_CHARTS = 12;

const ASKED = { label: 'all that was asked', color: 5, dash: [3, 5] };

const PERCENTILES = ['p50', 'p90', 'p99', 'max'];

/** @param {SweepFile} sweep @returns {Chart[]} */
export function sweepCharts(sweep) {
  const layout = layoutOf(sweep);
  if (layout === null) return [];
  const { groups } = layout;
  if (groups.length > 1) return groups.slice(0, MAX_CHARTS).map((group, i) => throughput(layout, group, `-${i + 1}`));
  const [{ lines }] = groups;
  const paths = lines.length === 1 ? [['avg', 'p99']] : [['avg'], ['p99']];
  return [
    throughput(layout, groups[0], ''),
    ...(lines.length === 1 ? [percentiles(layout, lines[0])] : []),
    ...paths.map((names) => latencyPath(layout, lines, names)),
  ];
}

/** @param {Layout} layout @param {Group} group @param {string} suffix of its id @returns {Chart} */
function throughput({ across, linesBy, groups }, { name, lines }, suffix) {
  const shown = evenly(lines);
  const cut = [
    lines.length > shown.length && `${shown.length} of ${lines.length} values of ${linesBy} are drawn`,
    suffix === '-1' && groups.length > MAX_CHARTS && `${MAX_CHARTS} of ${groups.length} combinations are drawn`,
  ].filter((words) => words !== false);
  const axis = chartAcross(across);
  const rates = [
    ...shown.map((line, i) => series(across, line, 'tps', i)),
    ...(across.asked !== null ? [{ ...ASKED, values: across.asked }] : []),
  ];
  const isLog = areRates(rates, axis);
  return {
    ...axis,
    id: `throughput${suffix}`,
    title: `Throughput against ${across.asked !== null ? 'what was asked' : across.label}${name === '' ? '' : `: ${name}`}`,
    summary: `${throughputWords(across, shown)}${isLog ? LOGARITHMIC : ''}`,
    note: cut.length === 0 ? undefined : `${sentence(cut.join('; '))} The table has all.`,
    isWide: groups.length === 1,
    unit: '/s',
    isLog,
    series: rates,
  };
}

/** Whether both axes are logarithmic, so that what was asked is a straight line. @param {Series[]} series @param {Pick<Chart, 'isLogX'>} axis */
function areRates(series, { isLogX }) {
  const hasAsked = series.some(({ label }) => label === ASKED.label);
  return isLogX === true && hasAsked && series.every(({ values }) => known(values).every((value) => value > 0));
}

/** @param {Across} across @param {Line[]} lines */
function throughputWords({ asked }, lines) {
  const best = bestOf(lines.flatMap(({ cells }) => cells));
  if (best === null) return 'Nothing was measured.';
  const most = `At most ${quantity(best.tps, '/s')}, at ${cellName(best.cell.settings)}.`;
  const held = asked !== null ? ' Up to where the load is held, a line lies on the dashed one.' : '';
  return `${most}${held}${crossWords(lines)}`;
}

/** @param {Layout} layout @param {Line} line @returns {Chart} */
function percentiles({ across }, line) {
  const all = PERCENTILES.map((name, i) => series(across, line, name, i, metricOf(name).label));
  const isLog = isSkewed(all);
  const p99 = (/** @type {SweepCell} */ { settings, metrics }) =>
    `${metricOf('p99').show(meanOf(metrics.p99 ?? []))} at ${cellName(settings)}`;
  const ends = `${p99(line.cells[0])}, and ${p99(line.cells[line.cells.length - 1])}`;
  return {
    ...chartAcross(across),
    id: 'latency',
    title: `Latency against ${across.asked !== null ? 'what was asked' : across.label}`,
    summary: `The 99th percentile was ${ends}.${crossWords([line])}${isLog ? LOGARITHMIC : ''}`,
    unit: 'ms',
    series: all,
    isLog,
  };
}

/**
 * Latency against throughput: where a line turns upwards or back, more load only adds waiting.
 * @param {Layout} layout
 * @param {Line[]} lines
 * @param {string[]} names of latencies: several only with one line
 * @returns {Chart}
 */
function latencyPath({ across }, lines, names) {
  const isOne = names.length === 1;
  const shown = evenly(lines);
  const load = across.asked !== null ? 'the rate' : across.label;
  return {
    id: `path-${names.join('-')}`,
    title: `${isOne ? capital(metricOf(names[0]).label) : 'Latency'} against throughput`,
    kind: across.numbers === null ? 'points' : 'path',
    summary: `Each point is one load, named by ${load}${across.numbers === null ? '.' : '; more load from one to the next. Where a line turns upwards or back, more load brings latency and no throughput.'}${crossWords(shown)}`,
    unit: 'ms',
    xLabel: 'verified per second',
    series: shown
      .flatMap(({ label, cells }) =>
        names.map((name) => ({ cells, name, label: isOne ? label : metricOf(name).label })),
      )
      .map(({ cells, name, label }, i) => {
        const measured = cells.filter(
          ({ metrics }) => known(metrics.tps).length > 0 && known(metrics[name]).length > 0,
        );
        return {
          ...seriesOf(across, measured, name, label, i),
          x: measured.map((cell) => rounded(meanOf(cell.metrics.tps)) ?? 0),
          names: measured.map((cell) => across.texts[across.of(cell)] ?? ''),
        };
      }),
  };
}

/** @param {Line[]} lines */
function crossWords(lines) {
  const isCrossed = lines.some(({ cells }) => cells.some(({ saturated }) => saturated));
  return isCrossed ? ' Crosses mark saturated loads.' : '';
}

/** @param {Across} across */
function chartAcross({ numbers, texts, label }) {
  const named = { xLabel: label, xTexts: texts };
  if (numbers !== null) return { ...named, kind: /** @type {const} */ ('lines'), x: numbers, isLogX: isWide(numbers) };
  return { ...named, kind: /** @type {const} */ ('points'), isLogX: false, ...namedAxis(texts) };
}

/** Whether values are read on a logarithmic axis. @param {readonly number[]} ascending */
function isWide(ascending) {
  return ascending.length > 1 && ascending[0] > 0 && ascending[ascending.length - 1] > LOG_SCALE_FROM * ascending[0];
}

/** @param {Across} across @param {Line} line @param {string} name @param {number} i @param {string} [label] @returns {Series} */
function series(across, line, name, i, label = line.label || metricOf(name).label) {
  const cells = across.texts.map((_, place) => line.cells.find((cell) => across.of(cell) === place));
  return seriesOf(across, cells, name, label, i);
}

/**
 * Means, and the range of the runs if there are several.
 * @param {Across} across
 * @param {Array<SweepCell | undefined>} cells
 * @param {string} name
 * @param {string} label
 * @param {number} i
 * @returns {Series}
 */
function seriesOf(across, cells, name, label, i) {
  const { scaled } = metricOf(name);
  const all = cells.map((cell) => known(cell?.metrics[name]).map(scaled));
  const isRepeated = cells.some((cell) => (cell?.runs.length ?? 0) > 1);
  const crossed = cells.map((cell) => cell?.saturated === true);
  const ends = (/** @type {'min' | 'max'} */ which) => all.map((values) => rounded(Math[which](...values)));
  return {
    label,
    ...lookOf(across, i),
    values: all.map((values) => rounded(meanOf(values))),
    ...(isRepeated ? { low: ends('min'), high: ends('max') } : {}),
    ...(crossed.includes(true) ? { crossed } : {}),
  };
}

/** Points of names have no line, and so no dashes. @param {Across} across @param {number} i */
function lookOf({ numbers }, i) {
  const look = LOOKS[i % LOOKS.length];
  return numbers === null ? { color: look.color } : look;
}

/** The first, the last and evenly spaced items between them. @template T @param {T[]} all */
function evenly(all) {
  if (all.length <= MAX_LINES) return all;
  return Array.from({ length: MAX_LINES }, (_, i) => all[Math.round((i * (all.length - 1)) / (MAX_LINES - 1))]);
}

/** Colours of runs that held and of those that failed; their marks differ as well. */
const HELD = 2;
const FAILED = 1;

/**
 * The runs of a search by the value that was searched, with the answer and its interval.
 * @param {Find} find
 * @param {readonly SweepCell[]} cells
 * @returns {Chart[]}
 */
export function findCharts(find, cells) {
  const { name, trials, estimate, low, high, confidence } = find;
  const runs = trials.map((trial) => ({ ...trial, metrics: metricsOf(trial.file, cells) }));
  const sides = [
    { word: 'held', color: HELD, of: runs.filter(({ holds }) => holds) },
    // A run that held is seen through one that failed at the same place.
    { word: 'failed', color: FAILED, isHollow: true, of: runs.filter(({ holds }) => !holds) },
  ];
  // A legend has no entry without a mark.
  const isDrawn = (/** @type {Series} */ { values: all }) => all.some((value) => value !== null);
  const seriesOfMetric = (/** @type {string} */ metric, label = '') =>
    sides
      .map(({ word, color, isHollow, of }) => ({
        ...{ label: `${label}${word}`, color, isHollow, x: of.map(({ value }) => value) },
        values: of.map(({ metrics }) => rounded(metrics(metric))),
      }))
      .filter(isDrawn);
  const values = [...new Set(trials.map(({ value }) => value))].sort((a, b) => a - b);
  const shared = {
    kind: /** @type {const} */ ('points'),
    isWide: true,
    xLabel: name === 'rate' ? 'rate asked per second' : name,
    isLogX: isWide(values),
    ...(estimate !== null && low !== null && high !== null ? { band: { low, at: estimate, high } } : {}),
  };
  const answer =
    shared.band === undefined
      ? ' There is no answer.'
      : ` The line is the answer, the band its ${quantity(100 * confidence, '%')} interval.`;
  const asked = name === 'rate' && find.range?.endsWith('gas') !== true ? [{ ...ASKED, x: values, values }] : [];
  const rates = [...seriesOfMetric('tps'), ...asked];
  const isLogRate = areRates(rates, shared);
  const latencies = ['p50', 'p99'].flatMap((metric) => seriesOfMetric(metric, `${metric}, `));
  const all = latencies.flatMap((one) => one.values).filter((value) => value !== null);
  const isLog = Math.max(...all) > LOG_SCALE_FROM * Math.min(...all);
  return [
    {
      ...shared,
      id: 'find-throughput',
      title: `Throughput against ${name}`,
      summary: `Each point is a run: ${sides[0].of.length} held, ${sides[1].of.length} failed.${answer}${isLogRate ? LOGARITHMIC : ''}`,
      unit: '/s',
      isLog: isLogRate,
      series: rates,
    },
    {
      ...shared,
      id: 'find-latency',
      title: `Latency against ${name}`,
      summary: `Median and 99th percentile of the same runs.${answer}${isLog ? LOGARITHMIC : ''}`,
      unit: 'ms',
      isLog,
      series: latencies,
    },
  ];
}

/** The figures of one run. @param {string} file @param {readonly SweepCell[]} cells @returns {(name: string) => number | null} */
function metricsOf(file, cells) {
  const cell = cells.find(({ runs }) => runs.some((run) => run.file === file));
  const i = cell?.runs.findIndex((run) => run.file === file) ?? -1;
  return (name) => {
    const value = cell?.metrics[name]?.[i] ?? null;
    return value === null ? null : metricOf(name).scaled(value);
  };
}

/** Number of colour classes in page.css. */
const STEPS = 8;

/** Ratio of values above which colours are logarithmic. */
const LOG_SCALE_FROM = 10;

/** The colour class of each value between the least and the greatest. @param {ReadonlyArray<number | null>} values @returns {Array<number | null>} */
export function colorSteps(values) {
  const measured = known(values);
  const [low, high] = [Math.min(...measured), Math.max(...measured)];
  const isLog = low > 0 && high / low > LOG_SCALE_FROM;
  const place = (/** @type {number} */ value) => (isLog ? Math.log(value) : value);
  const span = place(high) - place(low);
  return values.map((value) => {
    if (value === null || span === 0) return value === null ? null : 0;
    return Math.min(STEPS - 1, Math.floor((STEPS * (place(value) - place(low))) / span));
  });
}
