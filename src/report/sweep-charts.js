import { across, across as acrossRuns, capital, chartFigure, measureOf, sentence } from './charts.js';
import { quantity } from './client/quantity.js';
import { html } from './html.js';
import { marks } from './run-sections.js';
import { rounded } from './figures.js';

/**
 * @import { SweepCell, SweepFile } from '../types.d.ts'
 * @import { Chart, Series } from './charts.js'
 * @import { Html } from './html.js'
 * @import { Layout, Line } from './sweep-page.js'
 */

/**
 * The charts of a sweep.
 *
 * @typedef {{chart: Chart, figure: Html}} Drawn
 */

/** More lines, or charts, than these nobody tells apart: the table has all. */
const MOST_LINES = 5;
const MOST_CHARTS = 12;

const DASHES = [[], [8, 4], [2, 3], [10, 3, 2, 3], [14, 4], [4, 4]];
const ASKED = { label: 'all that was asked', color: 5, dash: [3, 5] };

/** In the order of the load, where nothing was asked for. */
const PERCENTILES = ['p50', 'p90', 'p99', 'max'];

/** A percentile that far above the median would press it flat on a linear axis. */
const LOG_FROM = 8;

/** @param {Layout} layout @returns {Drawn[]} */
export function sweepCharts(layout) {
  const { groups } = layout;
  const throughputs = groups
    .slice(0, MOST_CHARTS)
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
    suffix === '-1' && groups.length > MOST_CHARTS && `${MOST_CHARTS} of ${groups.length} combinations are drawn`,
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
 * What more throughput costs: where a line turns upwards or back, more load only makes operations wait.
 * @param {Layout} layout
 * @param {Line[]} lines
 * @param {string[]} names of latencies: one, or several where there is one line
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

/** Means, and between which ends the runs were, where there are several. @param {Array<SweepCell | undefined>} cells @param {string} name */
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

/** One line of cells has one place from where on it is saturated. @param {Layout['across']} across @param {Line[]} lines */
function markOf(across, lines) {
  const cells = lines.length === 1 ? lines[0].cells : [];
  const first = cells.at(cells.findLastIndex(({ saturated }) => !saturated) + 1);
  return first === undefined ? {} : { mark: across.of(first), markWords: 'saturated from here on' };
}

/** The first, the last and some between. @template T @param {T[]} all */
function evenly(all) {
  if (all.length <= MOST_LINES) return all;
  return Array.from({ length: MOST_LINES }, (_, i) => all[Math.round((i * (all.length - 1)) / (MOST_LINES - 1))]);
}

/**
 * A sweep of two axes as a table for each figure, its cells coloured as in a heat map. Numbers and words say all that
 * the colours say.
 */

/** Classes of page.css, from dark to bright. */
const STEPS = 8;

/** Values that are further apart, as a factor, are told apart by their logarithms. */
const LOG_SCALE_FROM = 10;

/** @param {SweepFile} sweep of two axes @param {string} name of the figure */
export function gridTable({ axes: [down, right], cells }, name) {
  const { label, text, words } = measureOf(name);
  const means = cells.map(({ metrics }) => across(metrics[name]).mean);
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
  return html`<div>
    <h3>${capital(label)}</h3>
    <p class="note">${words !== '' && sentence(words)} ${legend(text(low), text(high))}</p>
    <div class="scroll" tabindex="0" role="region" aria-label="Grid: ${label}">
      <table class="grid" aria-label="${label}">
        <thead>
          <tr>
            <th scope="col">${down.name} ↓<br />${right.name} →</th>
            ${right.values.map((value) => html`<th scope="col">${value}</th>`)}
          </tr>
        </thead>
        <tbody>
          ${down.values.map(
            (value) =>
              html`<tr>
                <th scope="row">${value}</th>
                ${right.values.map((other) => cellOf(value, other))}
              </tr>`,
          )}
        </tbody>
      </table>
    </div>
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

/** As people read it. @param {Record<string, string>} settings */
export function cellName(settings) {
  return Object.entries(settings)
    .map(([name, value]) => `${name} ${value}`)
    .join(', ');
}
