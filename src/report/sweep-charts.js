import { LOOKS, across as acrossRuns, capital, chartFigure, isSkewed, measureOf, sentence } from './charts.js';
import { quantity } from './client/quantity.js';
import { html, row, scrollTable } from './html.js';
import { marks, rounded } from './sections.js';

/**
 * @import { Axis, SweepCell, SweepFile } from '../types.d.ts'
 * @import { Chart, Drawn, Series } from './charts.js'
 */

/**
 * The charts and grids of a sweep's page. Of the axes of the sweep one is x, one gives lines, and the others give
 * separate charts.
 *
 * @typedef {object} Across the x axis
 * @property {string} label
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
  for (const line of lines) line.cells.sort((a, b) => (across.of(a) ?? 0) - (across.of(b) ?? 0));
  return { across, groups, linesBy: others.at(-1)?.name ?? null };
}

/** @param {Record<string, string>} settings */
export function cellName(settings) {
  return Object.entries(settings)
    .map(([name, value]) => `${name} ${value}`)
    .join(', ');
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

/** Ratio of values above which x is logarithmic. */
const LOG_AXIS_FROM = 20;

/** @param {Axis} axis @param {Line[]} lines @returns {Across} */
function acrossOf(axis, lines) {
  const cells = lines.flatMap((line) => line.cells);
  const asked = (/** @type {SweepCell} */ cell) => cell.asked;
  const text = (/** @type {SweepCell} */ { settings }) => settings[axis.name];
  if (cells.every((cell) => cell.asked !== null) && lines.some((line) => new Set(line.cells.map(asked)).size > 1)) {
    const places = [...new Set(cells.map((cell) => cell.asked ?? 0))].sort((a, b) => a - b);
    return { label: 'asked per second', isAsked: true, of: asked, text, places };
  }
  const { name: label, values } = axis;
  const numbers = values.map(Number);
  const low = Math.min(...numbers);
  const isLog = low > 0 && Math.max(...numbers) / low >= LOG_AXIS_FROM;
  const placeOf = (/** @type {string} */ value) =>
    !isNumeric(axis) ? values.indexOf(value) : isLog ? Math.log10(Number(value)) : Number(value);
  const sorted = [...values].sort((a, b) => placeOf(a) - placeOf(b));
  const of = (/** @type {SweepCell} */ cell) => (values.includes(text(cell)) ? placeOf(text(cell)) : null);
  const across = { label, isAsked: false, text, of, places: sorted.map(placeOf) };
  return isLog || !isNumeric(axis) ? { ...across, texts: sorted } : across;
}

/** Limits of lines and charts; the table has all cells. */
const MAX_LINES = 5;
const MAX_CHARTS = 12;

const ASKED = { label: 'all that was asked', color: 5, dash: [3, 5] };

const PERCENTILES = ['p50', 'p90', 'p99', 'max'];

/** @param {SweepFile} sweep @returns {Drawn[]} */
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

/** @param {Layout} layout @param {Group} group @param {string} suffix of its id @returns {Drawn} */
function throughput({ across, linesBy, groups }, { name, lines }, suffix) {
  const shown = evenly(lines);
  /** @type {Chart} */
  const chart = {
    ...chartAcross(across, lines),
    id: `throughput${suffix}`,
    title: `Throughput against ${across.isAsked ? 'what was asked' : across.label}${name === '' ? '' : `: ${name}`}`,
    unit: 'perSecond',
    series: [
      ...shown.map((line, i) => series(across, line, 'tps', i)),
      ...(across.isAsked ? [{ ...ASKED, values: [...across.places] }] : []),
    ],
  };
  const cut = [
    lines.length > shown.length && `${shown.length} of ${lines.length} values of ${linesBy} are drawn`,
    suffix === '-1' && groups.length > MAX_CHARTS && `${MAX_CHARTS} of ${groups.length} combinations are drawn`,
  ].filter((words) => words !== false);
  const note = cut.length === 0 ? undefined : `${sentence(cut.join('; '))} The table has all.`;
  const summary = throughputWords(
    across,
    lines.flatMap(({ cells }) => cells),
  );
  return { chart, figure: chartFigure(chart, { summary, note, isWide: groups.length === 1 }) };
}

/** @param {Across} across @param {SweepCell[]} cells */
function throughputWords({ isAsked }, cells) {
  const best = bestOf(cells);
  if (best === null) return 'Nothing was measured.';
  const most = `At most ${quantity(best.tps, 'perSecond')}, at ${cellName(best.cell.settings)}.`;
  return isAsked ? `${most} Up to where the load is held, a line lies on the dashed one.` : most;
}

/** @param {SweepCell[]} cells @returns {{cell: SweepCell, tps: number} | null} */
export function bestOf(cells) {
  const measured = cells.flatMap((cell) => {
    const { mean } = acrossRuns(cell.metrics.tps);
    return mean === null ? [] : [{ cell, tps: mean }];
  });
  return measured.reduce((best, one) => (one.tps > best.tps ? one : best), measured[0] ?? null);
}

/** @param {Layout} layout @param {Line} line @returns {Drawn} */
function percentiles({ across }, line) {
  const all = PERCENTILES.map((name, i) => series(across, line, name, i, measureOf(name).label));
  const isLog = isSkewed(all);
  /** @type {Chart} */
  const chart = {
    ...chartAcross(across, [line]),
    id: 'latency',
    title: `Latency against ${across.isAsked ? 'what was asked' : across.label}`,
    unit: 'ms',
    series: all,
    isLog,
  };
  const p99 = (/** @type {SweepCell} */ { settings, metrics }) =>
    `${measureOf('p99').text(acrossRuns(metrics.p99).mean)} at ${cellName(settings)}`;
  const summary = `The 99th percentile was ${p99(line.cells[0])}, and ${p99(line.cells[line.cells.length - 1])}.${isLog ? ' The scale is logarithmic.' : ''}`;
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
  const [first] = names.map(measureOf);
  const isOne = names.length === 1;
  /** @type {Chart} */
  const chart = {
    id: `path-${names.join('-')}`,
    title: `${isOne ? capital(first.label) : 'Latency'} against throughput`,
    kind: 'path',
    unit: first.unit,
    xUnit: 'plain',
    xLabel: 'verified per second',
    crossWords: 'saturated',
    series: evenly(lines)
      .flatMap(({ label, cells }) =>
        names.map((name) => ({ cells, name, label: isOne ? label : measureOf(name).label })),
      )
      .map(({ cells, name, label }, i) => {
        const measured = cells.filter(({ metrics }) => acrossRuns(metrics.tps).mean !== null && acrossRuns(metrics[name]).mean !== null); // prettier-ignore
        return {
          ...seriesOf(measured, name, label, i),
          x: measured.map((cell) => rounded(acrossRuns(cell.metrics.tps).mean) ?? 0),
          names: measured.map(across.text),
        };
      }),
  };
  const summary = `Each point is one load, named by ${across.isAsked ? 'the rate' : across.label}; more load from one to the next. Where a line turns upwards or back, more load brings latency and no throughput.`;
  return { chart, figure: chartFigure(chart, { summary }) };
}

/** Marks the start of saturation of a single line. @param {Across} across @param {Line[]} lines */
function chartAcross({ places, texts, label, of }, lines) {
  const cells = lines.length === 1 ? lines[0].cells : [];
  const first = cells.at(cells.findLastIndex(({ saturated }) => !saturated) + 1);
  return {
    kind: /** @type {const} */ ('lines'),
    x: places,
    xLabel: label,
    xUnit: /** @type {const} */ ('plain'),
    xTexts: texts,
    crossWords: 'saturated',
    mark: first === undefined ? null : of(first),
    markWords: 'saturated from here on',
  };
}

/** @param {Across} across @param {Line} line @param {string} name @param {number} i @param {string} [label] @returns {Series} */
function series(across, line, name, i, label = line.label || measureOf(name).label) {
  const cells = across.places.map((place) => line.cells.find((cell) => across.of(cell) === place));
  return seriesOf(cells, name, label, i);
}

/**
 * Means, and the range of the runs if there are several.
 * @param {Array<SweepCell | undefined>} cells
 * @param {string} name
 * @param {string} label
 * @param {number} i
 * @returns {Series}
 */
function seriesOf(cells, name, label, i) {
  const { scaled } = measureOf(name);
  const all = cells.map((cell) => acrossRuns(cell?.metrics[name]));
  const isRepeated = cells.some((cell) => (cell?.runs.length ?? 0) > 1);
  const crossed = cells.map((cell) => cell?.saturated === true);
  /** @param {'mean' | 'low' | 'high'} key */
  const of = (key) => all.map((one) => rounded(scaled(one[key])));
  return {
    label,
    ...LOOKS[i % LOOKS.length],
    values: of('mean'),
    ...(isRepeated ? { low: of('low'), high: of('high') } : {}),
    ...(crossed.includes(true) ? { crossed } : {}),
  };
}

/** The first, the last and evenly spaced items between them. @template T @param {T[]} all */
function evenly(all) {
  if (all.length <= MAX_LINES) return all;
  return Array.from({ length: MAX_LINES }, (_, i) => all[Math.round((i * (all.length - 1)) / (MAX_LINES - 1))]);
}

/** Number of colour classes in page.css. */
const STEPS = 8;

/** Ratio of values above which colours are logarithmic. */
const LOG_SCALE_FROM = 10;

/** A table with coloured cells; the text has all that the colours show. @param {SweepFile} sweep of two axes @param {string} name of the figure */
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
    const { saturated } = cells[i];
    return html`<td class="heat-${step(mean)}${saturated ? ' saturated' : ''}" ${marks(`cells.${i}.${name}`, mean)}>
      ${text(mean)}${saturated && html`<span>saturated</span>`}
    </td>`;
  };
  const heads = [html`<th scope="col">${down.name} ↓<br />${right.name} →</th>`, ...right.values];
  const rows = down.values.map((value) => {
    const inRow = right.values.map((other) => cellOf(value, other));
    return row(value, inRow);
  });
  const swatches = Array.from({ length: STEPS }, (_, i) => html`<i class="heat-${i}"></i>`);
  const scale = html`<span class="heat-steps"
    >${text(low)} <span aria-hidden="true">${swatches}</span> ${text(high)}</span
  >`;
  return html`<div>
    <h3>${capital(label)}</h3>
    <p class="note">${words !== '' && sentence(words)} ${text(low) !== text(high) && scale}</p>
    ${scrollTable(`Grid: ${label}`, { heads, rows, style: 'grid' })}
  </div>`;
}

/** @param {number} low @param {number} high @returns {(value: number) => number} the class of a value */
export function stepper(low, high) {
  const isLog = low > 0 && high / low > LOG_SCALE_FROM;
  const place = (/** @type {number} */ value) => (isLog ? Math.log(value) : value);
  const span = place(high) - place(low);
  return (value) => (span > 0 ? Math.min(STEPS - 1, Math.floor((STEPS * (place(value) - place(low))) / span)) : 0);
}
