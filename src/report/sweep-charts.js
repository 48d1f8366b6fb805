import { across as acrossRuns, capital, chartFigure, measureOf, sentence } from './charts.js';
import { quantity } from './client/quantity.js';
import { html, row, scrollTable } from './html.js';
import { rounded } from './figures.js';
import { marks } from './run-sections.js';

/**
 * @import { SweepCell, SweepFile } from '../types.d.ts'
 * @import { Chart, Series } from './charts.js'
 * @import { Unit } from './client/quantity.js'
 * @import { Html } from './html.js'
 */

/**
 * The charts and grids of a sweep's page.
 *
 * @typedef {{chart: Chart, figure: Html}} Drawn
 */

/**
 * The layout of a sweep's charts: one axis is x, one gives lines, and the others give separate charts.
 *
 * @typedef {SweepFile['axes'][number]} Axis
 *
 * @typedef {object} Across the x axis
 * @property {string} label
 * @property {Unit} unit
 * @property {boolean} isAsked it is the asked rate, which throughput can be compared with
 * @property {number[]} places of all cells, ascending
 * @property {string[]} [texts] of the places, if they are not numbers or uneven
 * @property {(cell: SweepCell) => number | null} of
 * @property {(cell: SweepCell) => string} text short
 *
 * @typedef {{label: string, cells: SweepCell[]}} Line cells in the order of the load
 * @typedef {{name: string, lines: Line[]}} Group
 * @typedef {{across: Across, groups: Group[], linesBy: string | null}} Layout
 */

/** @param {SweepFile} sweep @returns {Layout | null} null: nothing varies */
export function layoutOf(sweep) {
  const { axes, cells } = sweep;
  const axis = alongOf(sweep);
  if (axis === null || cells.length === 0) return null;
  const others = axes.filter((one) => one !== axis);
  const lineAxis = others.at(-1) ?? null;
  const groupAxes = others.slice(0, -1);
  const groups = [...groupBy(cells, groupAxes)].map(([name, ofGroup]) => ({
    name,
    lines: [...groupBy(ofGroup, lineAxis === null ? [] : [lineAxis])].map(([label, ofLine]) => ({
      label,
      cells: ofLine,
    })),
  }));
  const lines = groups.flatMap((group) => group.lines);
  const across = acrossOf(axis, lines);
  for (const line of lines) line.cells.sort((a, b) => (across.of(a) ?? 0) - (across.of(b) ?? 0));
  return { across, groups, linesBy: lineAxis?.name ?? null };
}

/** @param {Record<string, string>} settings */
export function cellName(settings) {
  return Object.entries(settings)
    .map(([name, value]) => `${name} ${value}`)
    .join(', ');
}

/** The axis of the load, otherwise the last numeric axis. @param {SweepFile} sweep @returns {Axis | null} */
function alongOf({ axes, saturation }) {
  const along = axes.find(({ name }) => name === saturation[0]?.along);
  const several = axes.filter(({ values }) => values.length > 1);
  return along ?? several.filter(isNumeric).at(-1) ?? several.at(-1) ?? axes.at(-1) ?? null;
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
  const cells = lines.flatMap((line) => line.cells);
  const asked = (/** @type {SweepCell} */ cell) => cell.asked;
  const isAsked =
    lines.some((line) => new Set(line.cells.map(asked)).size > 1) && cells.every((cell) => cell.asked !== null);
  const text = (/** @type {SweepCell} */ { settings }) => settings[axis.name];
  if (isAsked)
    return {
      label: 'asked per second',
      unit: 'plain',
      isAsked,
      of: asked,
      text,
      places: ascending(cells.map((cell) => cell.asked ?? 0)),
    };
  const { places, texts } = placesOf(axis);
  const placeByText = new Map(axis.values.map((value, i) => [value, places[i]]));
  const order = axis.values.map((_, i) => i).sort((a, b) => places[a] - places[b]);
  return {
    label: axis.name,
    unit: 'plain',
    isAsked,
    text,
    of: (cell) => placeByText.get(text(cell)) ?? null,
    places: order.map((i) => places[i]),
    ...(texts === null ? {} : { texts: order.map((i) => texts[i]) }),
  };
}

/** Ratio of values above which x is logarithmic. */
const LOG_AXIS_FROM = 20;

/** @param {Axis} axis @returns {{places: number[], texts: string[] | null}} */
function placesOf(axis) {
  const { values } = axis;
  if (!isNumeric(axis)) return { places: values.map((_, i) => i), texts: [...values] };
  const numbers = values.map(Number);
  const [low, high] = [Math.min(...numbers), Math.max(...numbers)];
  if (low <= 0 || high / low < LOG_AXIS_FROM) return { places: numbers, texts: null };
  return { places: numbers.map(Math.log10), texts: [...values] };
}

/** @param {number[]} values */
function ascending(values) {
  return [...new Set(values)].sort((a, b) => a - b);
}

/** Limits of lines and charts; the table has all cells. */
const MAX_LINES = 5;
const MAX_CHARTS = 12;

const DASHES = [[], [8, 4], [2, 3], [10, 3, 2, 3], [14, 4], [4, 4]];
const ASKED = { label: 'all that was asked', color: 5, dash: [3, 5] };

const PERCENTILES = ['p50', 'p90', 'p99', 'max'];

/** Ratio of percentiles above which a linear axis would not show the lower ones. */
const LOG_FROM = 8;

/** @param {Layout} layout @returns {Drawn[]} */
export function sweepCharts(layout) {
  const { groups } = layout;
  const throughputs = groups
    .slice(0, MAX_CHARTS)
    .map((group, i) => throughput(layout, group, groups.length === 1 ? '' : `-${i + 1}`));
  if (groups.length > 1) return throughputs;
  const [{ lines }] = groups;
  return [
    ...throughputs,
    ...(lines.length === 1 ? [percentiles(layout, lines[0])] : []),
    ...(lines.length === 1
      ? [latencyPath(layout, lines, ['avg', 'p99'])]
      : ['avg', 'p99'].map((name) => latencyPath(layout, lines, [name]))),
  ];
}

/** @param {Layout} layout @param {{name: string, lines: Line[]}} group @param {string} suffix of its id @returns {Drawn} */
function throughput({ across, linesBy, groups }, { name, lines }, suffix) {
  const shown = evenly(lines);
  const title = `Throughput against ${across.isAsked ? 'what was asked' : across.label}${name === '' ? '' : `: ${name}`}`;
  /** @type {Chart} */
  const chart = {
    id: `throughput${suffix}`,
    title,
    kind: 'lines',
    unit: 'perSecond',
    ...xOf(across),
    crossWords: 'saturated',
    series: [
      ...shown.map((line, i) => series(across, line, 'tps', i)),
      ...(across.isAsked ? [{ ...ASKED, values: [...across.places] }] : []),
    ],
    ...markOf(across, lines),
  };
  const cut = [
    lines.length > shown.length && `${shown.length} of ${lines.length} values of ${linesBy} are drawn`,
    suffix === '-1' && groups.length > MAX_CHARTS && `${MAX_CHARTS} of ${groups.length} combinations are drawn`,
  ].filter((words) => words !== false);
  const note = cut.length === 0 ? undefined : `${sentence(cut.join('; '))} The table has all.`;
  return {
    chart,
    figure: chartFigure(chart, { summary: throughputWords(across, shown), note, isWide: groups.length === 1 }),
  };
}

/** @param {Layout['across']} across @param {Line[]} lines */
function throughputWords(across, lines) {
  const words = lines.map(({ label, cells }) => {
    const best = bestOf(cells);
    if (best === null) return `${label === '' ? '' : `${label}: `}nothing was measured`;
    const at = across.isAsked
      ? `${quantity(best.cell.asked, 'plain')} asked`
      : `${across.label} ${across.text(best.cell)}`;
    return `${label === '' ? 'most' : `${label}: at most`} ${quantity(best.tps, 'perSecond')}, at ${at}`;
  });
  return `${sentence(words.join('; '))}${across.isAsked ? ' Up to where the load is held, a line lies on the dashed one.' : ''}`;
}

/** @param {SweepCell[]} cells @returns {{cell: SweepCell, tps: number} | null} */
export function bestOf(cells) {
  const measured = cells.flatMap((cell) => {
    const { mean } = acrossRuns(cell.metrics.tps);
    return mean === null ? [] : [{ cell, tps: mean }];
  });
  return measured.reduce((best, one) => (best === null || one.tps > best.tps ? one : best), measured[0] ?? null);
}

/** @param {Layout} layout @param {Line} line @returns {Drawn} */
function percentiles({ across }, line) {
  const all = PERCENTILES.map((name, i) => series(across, line, name, i, measureOf(name).label));
  const most = (/** @type {Series} */ { values }) => Math.max(0, ...values.map((value) => value ?? 0));
  const isLog = most(all[PERCENTILES.length - 1]) > LOG_FROM * most(all[0]);
  /** @type {Chart} */
  const chart = {
    id: 'latency',
    title: `Latency against ${across.isAsked ? 'what was asked' : across.label}`,
    kind: 'lines',
    unit: 'ms',
    ...xOf(across),
    series: all,
    isLog,
    crossWords: 'saturated',
    ...markOf(across, [line]),
  };
  const [first, last] = [line.cells[0], line.cells[line.cells.length - 1]];
  const p99 = (/** @type {SweepCell} */ cell) =>
    quantity(measureOf('p99').scaled(acrossRuns(cell.metrics.p99).mean), 'ms');
  const summary = `The 99th percentile was ${p99(first)} at ${cellName(first.settings)}, and ${p99(last)} at ${cellName(last.settings)}.${isLog ? ' The scale is logarithmic.' : ''}`;
  return { chart, figure: chartFigure(chart, { summary }) };
}

/**
 * Latency against throughput: where a line turns upwards or back, more load only adds waiting.
 * @param {Layout} layout
 * @param {Line[]} lines
 * @param {string[]} names of latencies: several only with one line
 * @returns {Drawn}
 */
function latencyPath({ across }, lines, names) {
  const { label, unit } = measureOf(names[0]);
  const what = names.length > 1 ? 'Latency' : capital(label);
  const series = evenly(lines)
    .flatMap((line) =>
      names.map((name) => ({ line, name, label: names.length > 1 ? measureOf(name).label : line.label })),
    )
    .map(({ line, name, label: text }, i) => pathSeries(across, line.cells, name, look(i, text)));
  /** @type {Chart} */
  const chart = {
    id: `path-${names.join('-')}`,
    title: `${what} against throughput`,
    kind: 'path',
    unit,
    xUnit: 'plain',
    xLabel: 'verified per second',
    crossWords: 'saturated',
    series,
  };
  const summary = `Each point is one load, named by ${across.isAsked ? 'the rate' : across.label}; more load from one to the next. Where a line turns upwards or back, more load brings latency and no throughput.`;
  return { chart, figure: chartFigure(chart, { summary }) };
}

/** @param {Layout['across']} across @param {SweepCell[]} all @param {string} name @param {ReturnType<typeof look>} looks @returns {Series} */
function pathSeries(across, all, name, looks) {
  const cells = all.filter(({ metrics }) =>
    [metrics.tps, metrics[name]].every((values) => acrossRuns(values).mean !== null),
  );
  return {
    ...looks,
    x: cells.map((cell) => rounded(acrossRuns(cell.metrics.tps).mean) ?? 0),
    ...valuesOf(cells, name),
    names: cells.map(across.text),
    ...crossesOf(cells),
  };
}

/** @param {Layout['across']} across */
function xOf({ places, texts, label, unit }) {
  return { x: places, xLabel: label, xUnit: unit, ...(texts === undefined ? {} : { xTexts: texts }) };
}

/** @param {Layout['across']} across @param {Line} line @param {string} name @param {number} i @param {string} [label] @returns {Series} */
function series(across, line, name, i, label) {
  const byPlace = new Map(line.cells.map((cell) => [across.of(cell), cell]));
  const cells = across.places.map((place) => byPlace.get(place));
  return {
    ...look(i, label ?? (line.label === '' ? measureOf(name).label : line.label)),
    ...valuesOf(cells, name),
    ...crossesOf(cells),
  };
}

/** @param {number} i @param {string} label */
function look(i, label) {
  return { label, color: i % DASHES.length, dash: DASHES[i % DASHES.length] };
}

/** Means, and the range of the runs if there are several. @param {Array<SweepCell | undefined>} cells @param {string} name */
function valuesOf(cells, name) {
  const { scaled } = measureOf(name);
  const all = cells.map((cell) => acrossRuns(cell?.metrics[name]));
  const isRepeated = cells.some((cell) => (cell?.runs.length ?? 0) > 1);
  /** @param {'mean' | 'low' | 'high'} key */
  const of = (key) => all.map((one) => rounded(scaled(one[key])));
  return { values: of('mean'), ...(isRepeated ? { low: of('low'), high: of('high') } : {}) };
}

/** @param {Array<SweepCell | undefined>} cells */
function crossesOf(cells) {
  const crossed = cells.map((cell) => cell?.saturated === true);
  return crossed.includes(true) ? { crossed } : {};
}

/** Marks the start of saturation of a single line. @param {Layout['across']} across @param {Line[]} lines */
function markOf(across, lines) {
  const cells = lines.length === 1 ? lines[0].cells : [];
  const first = cells.at(cells.findLastIndex(({ saturated }) => !saturated) + 1);
  return first === undefined ? {} : { mark: across.of(first), markWords: 'saturated from here on' };
}

/** The first, the last and evenly spaced items between them. @template T @param {T[]} all */
function evenly(all) {
  if (all.length <= MAX_LINES) return all;
  return Array.from({ length: MAX_LINES }, (_, i) => all[Math.round((i * (all.length - 1)) / (MAX_LINES - 1))]);
}

/** A sweep of two axes as one table per figure, with coloured cells. The text has all that the colours show. */

/** Number of colour classes in page.css. */
const STEPS = 8;

/** Ratio of values above which colours are logarithmic. */
const LOG_SCALE_FROM = 10;

/** @param {SweepFile} sweep of two axes @param {string} name of the figure */
export function gridTable({ axes: [down, right], cells }, name) {
  const { label, text, words } = measureOf(name);
  const means = cells.map(({ metrics }) => acrossRuns(metrics[name]).mean);
  const known = means.filter((mean) => mean !== null);
  if (known.length === 0) return html`<p class="missing"><strong>${label}</strong>: not measured.</p>`;
  const [low, high] = [Math.min(...known), Math.max(...known)];
  const step = stepper(low, high);
  /** @param {string} value @param {string} other */
  const cellOf = (value, other) => {
    const i = cells.findIndex(({ settings }) => settings[down.name] === value && settings[right.name] === other);
    const mean = means[i] ?? null;
    if (mean === null) return html`<td>–</td>`;
    const isSaturated = cells[i].saturated;
    return html`<td class="heat-${step(mean)}${isSaturated ? ' saturated' : ''}" ${marks(`cells.${i}.${name}`, mean)}>
      ${text(mean)}${isSaturated && html`<span>saturated</span>`}
    </td>`;
  };
  const heads = [html`<th scope="col">${down.name} ↓<br />${right.name} →</th>`, ...right.values];
  const rows = down.values.map((value) =>
    row(
      value,
      right.values.map((other) => cellOf(value, other)),
    ),
  );
  return html`<div>
    <h3>${capital(label)}</h3>
    <p class="note">${words !== '' && sentence(words)} ${legend(text(low), text(high))}</p>
    ${scrollTable(`Grid: ${label}`, { heads, rows, style: 'grid' })}
  </div>`;
}

/** @param {string} low @param {string} high */
function legend(low, high) {
  const swatches = Array.from({ length: STEPS }, (_, i) => html`<i class="heat-${i}"></i>`);
  return low === high
    ? null
    : html`<span class="heat-steps">${low} <span aria-hidden="true">${swatches}</span> ${high}</span>`;
}

/** @param {number} low @param {number} high @returns {(value: number) => number} the class of a value */
export function stepper(low, high) {
  const isLog = low > 0 && high / low > LOG_SCALE_FROM;
  const place = (/** @type {number} */ value) => (isLog ? Math.log(value) : value);
  const span = place(high) - place(low);
  return (value) => (span > 0 ? Math.min(STEPS - 1, Math.floor((STEPS * (place(value) - place(low))) / span)) : 0);
}
