import { boundedMs } from '../outputs/format.js';
import { Distribution, recordedValues } from '../stats/histogram.js';
import { median } from '../studies/statistics.js';
import { quantity } from '../text.js';
import { html, scrollBox } from './html.js';

/**
 * @import { DistributionJson } from '../contracts/run-file.d.ts'
 */

/**
 * The charts of all pages: their data, which the page's script draws with uPlot, and the HTML of their figures.
 *
 * @typedef {object} TimeAxis in seconds since the start of the load
 * @property {number[]} from of each interval
 * @property {number[]} to
 * @property {Array<{from: number, to: number, name: string}>} phases outside of the window
 * @property {Array<{at: number, name: string}>} marks such as reorgs and outages
 *
 * @typedef {object} Series
 * @property {string} label
 * @property {number} color 0 to 5 in the palette of page.css
 * @property {number[]} [x] if it differs from the chart's
 * @property {number[]} [dash] lengths of dashes and gaps, so that series differ not only in colour
 * @property {Array<number | null>} values by x; null: not measured
 * @property {Array<number | null>} [low] of intervals around the values
 * @property {Array<number | null>} [high]
 * @property {string[]} [names] labels of the points of a path
 * @property {boolean} [isHollow] its points are outlines, which hide none below them
 * @property {boolean[]} [crossed] points with a cross, which the summary explains
 *
 * @typedef {object} Heat counts in buckets, a column per x
 * @property {number} perDecade buckets per factor of ten
 * @property {number} first number of the lowest bucket; bucket n begins at 10^(n/perDecade) us
 * @property {number} last
 * @property {number[][]} columns pairs of (number minus the previous number, count)
 *
 * @typedef {object} Chart
 * @property {string} id
 * @property {string} title
 * @property {'lines' | 'stacked' | 'points' | 'path' | 'heat'} kind stacked: areas; points: values
 *   without lines, except series with dashes; path: points joined in their order, not by x
 * @property {string} summary one sentence
 * @property {string} [note]
 * @property {boolean} [isWide]
 * @property {'upper' | 'lower'} [panel] of a figure of several charts over one another, which share the axis of the last
 * @property {string} [why] it was not measured, and is not drawn
 * @property {string} [unit] of y
 * @property {boolean} [isLog] y is logarithmic
 * @property {boolean} [isOfLevels] each value is level over its interval
 * @property {Array<number>} [x] default: the time axis
 * @property {TimeAxis} [time] a time axis of its own, of the same range
 * @property {string} [xLabel]
 * @property {string} [xUnit]
 * @property {string[]} [xTexts] names of x values where they are read
 * @property {Array<[number, string]>} [xTicks] labels of the axis where x is no number
 * @property {boolean} [isLogX] x is logarithmic
 * @property {{low: number, at: number, high: number}} [band] of x: a line, and an interval around it
 * @property {Series[]} series
 * @property {Heat} [heat]
 */

/** @param {readonly Chart[]} charts */
export function chartBox(charts) {
  return html`<div class="charts">${charts.map(chartFigure)}</div>`;
}

/**
 * One figure of charts over one another.
 * @param {string} id of the heading above it, which is its name
 * @param {string} title its text
 * @param {readonly Chart[]} charts
 */
export function panelsFigure(id, title, charts) {
  const drawn = charts.filter(({ why }) => why === undefined);
  const missing = charts.map(({ id: one, title: words, why }) => why !== undefined && missingFigure(one, words, why));
  if (drawn.length === 0) return html`${missing}`;
  const words = drawn.map(({ summary }) => summary).join(' ');
  return html`<figure id="figure-${id}" class="chart panels" aria-labelledby="${id}" aria-describedby="caption-${id}">
      <figcaption>
        <p id="caption-${id}">${words.startsWith(IN_WINDOW) ? words.replaceAll(`. ${IN_WINDOW}`, '. ') : words}</p>
      </figcaption>
      ${drawn.map((chart) => plotBox(chart, `${title}, ${chart.title}`))}
      ${drawn.map((chart) => numbersBox(chart, `Numbers: ${chart.title}`))}
    </figure>
    ${missing}`;
}

/** The figure of a chart: title, one sentence, plot with its legend, and table of numbers. @param {Chart} chart */
function chartFigure(chart) {
  const { id, title, kind, summary, note, why, isWide = false } = chart;
  if (why !== undefined) return missingFigure(id, title, why);
  return html`<figure
    id="figure-${id}"
    class="chart${isWide ? ' wide' : ''}"
    aria-labelledby="title-${id}"
    aria-describedby="caption-${id}"
  >
    <figcaption>
      <h3 id="title-${id}">${title}</h3>
      <p id="caption-${id}">${summary}</p>
    </figcaption>
    ${note !== undefined && html`<p class="note">${note}</p>`} ${kind === 'heat' && heatScale(id)}
    ${plotBox(chart, title)} ${numbersBox(chart, 'Numbers of this chart')}
  </figure>`;
}

/** @param {Chart} chart @param {string} name */
function plotBox({ id, x }, name) {
  const zoom = x === undefined ? ', plus and minus zoom, 0 shows all' : '';
  return html`<div
    class="plot"
    id="plot-${id}"
    role="group"
    tabindex="0"
    aria-label="${name}: plot. Arrow keys read values${zoom}."
  ></div>`;
}

/** @param {Chart} chart @param {string} words */
function numbersBox({ id, title }, words) {
  return html`<details class="numbers" id="numbers-${id}" data-chart="${id}">
    <summary>${words}</summary>
    ${scrollBox(`Numbers: ${title}`)}
  </details>`;
}

/** @param {string} id @param {string} title @param {string} why */
export function missingFigure(id, title, why) {
  return html`<p class="missing" id="missing-${id}"><strong>${title}</strong>: not measured. ${sentence(why)}</p>`;
}

/** @param {string} words */
export function sentence(words) {
  const text = words.trim();
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}${/[.!?]$/.test(text) ? '' : '.'}`;
}

/** The script fills in the two ends, because it knows the visible part. @param {string} id */
function heatScale(id) {
  return html`<p class="heat-scale" id="scale-${id}">
    <span>few</span> <canvas width="160" height="10" aria-hidden="true"></canvas> <span>many</span>
  </p>`;
}

/** Such as "median 188, from 180 to 191". @param {ReadonlyArray<number | null>} values @param {string} [unit] */
export function middle(values, unit) {
  const known = values.filter((value) => value !== null).sort((a, b) => a - b);
  if (known.length === 0) return 'not measured';
  const [least, half, most] = [known[0], median(known), known[known.length - 1]].map((value) => quantity(value, unit));
  return least === most ? `always ${half}` : `median ${half}, from ${least} to ${most}`;
}

/**
 * One side of a latency chart. The charts show how many operations took how long, and how long a share of them took at
 * most, on logarithmic axes, because tails differ by factors.
 *
 * @typedef {{label: string, json: DistributionJson, censored?: DistributionJson, look?: number}} Side censored: its
 *   operations that may have taken longer; look: index in LOOKS, if not its own index
 */

/** Buckets per factor of ten: the fewest that give ENOUGH buckets. */
const PER_DECADE = [12, 24, 48, 96];
const ENOUGH = 32;

/** Lines differ in colour and dashes. */
export const LOOKS = [
  { color: 0, dash: [] },
  { color: 1, dash: [8, 4] },
  { color: 2, dash: [2, 4] },
  { color: 4, dash: [8, 3, 2, 3] },
  { color: 3, dash: [16, 4] },
  { color: 5, dash: [8, 3, 2, 3, 2, 3] },
];

/** @param {Side[]} sides @param {string} summary @returns {Chart} */
function densityChart(sides, summary) {
  const bounds = sides.flatMap(({ json: { minUs, maxUs } }) => [minUs ?? NaN, maxUs ?? NaN]).filter((us) => us > 0);
  const decades = Math.log10(Math.max(...bounds) / Math.min(...bounds));
  const perDecade = PER_DECADE.find((n) => n * decades >= ENOUGH) ?? PER_DECADE[PER_DECADE.length - 1];
  const bucketOf = (/** @type {number} */ us) => Math.floor(perDecade * Math.log10(Math.max(1, us)));
  const all = sides.map(({ json }) => shares(json, bucketOf));
  const known = all.flatMap((buckets) => [...buckets.keys()]);
  // An empty bucket on either side, so that each line begins and ends on the axis.
  const [first, last] = [Math.min(...known) - 1, Math.max(...known) + 1];
  const buckets = Array.from({ length: last - first + 1 }, (_, i) => first + i);
  const begin = (/** @type {number} */ bucket) => 10 ** (bucket / perDecade) / 1000;
  return {
    id: 'density',
    title: 'Latency distribution',
    kind: 'lines',
    summary,
    unit: '%',
    xLabel: 'latency',
    xUnit: 'ms',
    isLogX: true,
    x: buckets.map((bucket) => Number(begin(bucket + 0.5).toPrecision(4))),
    xTexts: buckets.map((bucket) => `${quantity(begin(bucket), 'ms')} to ${quantity(begin(bucket + 1), 'ms')}`),
    series: sides.map(({ label, look }, i) => ({
      label,
      ...LOOKS[look ?? i],
      values: buckets.map((bucket) => rounded(all[i].get(bucket) ?? 0)),
    })),
  };
}

/** @param {DistributionJson} json @param {(us: number) => number} bucketOf @returns {Map<number, number>} percent by bucket */
function shares(json, bucketOf) {
  const percent = new Map();
  for (const { valueUs, count } of recordedValues(json)) {
    const bucket = bucketOf(valueUs);
    percent.set(bucket, (percent.get(bucket) ?? 0) + (100 * count) / json.count);
  }
  return percent;
}

const PERCENTILES = [
  0, 10, 20, 30, 40, 50, 60, 70, 75, 80, 85, 90, 92.5, 95, 97.5, 98, 99, 99.5, 99.8, 99.9, 99.95, 99.98, 99.99,
];
const TICKS = [0, 50, 75, 90, 95, 99, 99.5, 99.9, 99.95, 99.99];

/** Ratio above which a linear axis would not show the lower values. */
const LOG_FROM = 8;

/** A percentile needs at least one operation above it: a line ends where it would only be the slowest operation. @param {Side[]} sides @param {string} [words] @returns {Chart} */
function percentileChart(sides, words = '') {
  const isKnown = (/** @type {number} */ p, /** @type {number} */ count) => p === 0 || count * (1 - p / 100) >= 1;
  const shown = PERCENTILES.filter((p) => sides.some(({ json }) => isKnown(p, json.count)));
  const place = (/** @type {number} */ p) => -Math.log10(1 - p / 100);
  const name = (/** @type {number} */ p) => `${p} %`;
  const series = sides.map(({ label, json, look }, i) => {
    const distribution = Distribution.from(json);
    const values = shown.map((p) =>
      isKnown(p, json.count)
        ? rounded((p === 0 ? distribution.minUs : (distribution.percentileUs(p) ?? NaN)) / 1000)
        : null,
    );
    return { label, ...LOOKS[look ?? i], values };
  });
  const slowest = (/** @type {Array<number | null>} */ values) => values.findLast((value) => value !== null) ?? 0;
  const isLog = series.some(({ values }) => slowest(values) > LOG_FROM * (values[shown.indexOf(50)] ?? Infinity));
  return {
    id: 'percentiles',
    title: 'Latency percentiles',
    kind: 'lines',
    summary: `${percentileWords(sides)} ${words}${isLog ? LOGARITHMIC : ''}`,
    unit: 'ms',
    isLog,
    x: shown.map(place),
    xTexts: shown.map(name),
    xLabel: 'share of the operations',
    series,
    xTicks: TICKS.filter((p) => shown.includes(p)).map((p) => [place(p), name(p)]),
  };
}

/** How a summary begins whose values are those of the window only. */
export const IN_WINDOW = 'In the window: ';

/** What a summary says of such an axis. */
export const LOGARITHMIC = ' The scale is logarithmic.';

/** Whether a linear axis would not show the lower series. @param {readonly Series[]} series the first is the lowest, the last the highest */
export function isSkewed(series) {
  const [low, high] = [series[0], series[series.length - 1]].map(({ values }) =>
    Math.max(0, ...values.map((value) => value ?? 0)),
  );
  return high > LOG_FROM * low;
}

/** An axis of names at equal distances. @param {readonly string[]} names */
export function namedAxis(names) {
  const xTicks = names.map((name, i) => /** @type {[number, string]} */ ([i, name]));
  return { x: xTicks.map(([i]) => i), xTexts: [...names], xTicks };
}

/** @param {Side[]} sides */
function percentileWords(sides) {
  const words = (/** @type {'p50' | 'p99'} */ name) =>
    sides.map(({ label, json, censored }) => `${boundedMs(json, censored, [name])} ms in ${label}`).join(', ');
  const open = sides.filter(({ censored }) => (censored?.count ?? 0) > 0).map(({ label }) => label);
  const note =
    open.length === 0
      ? ''
      : ` Operations without a good answer are drawn with the time they were waited for: ${open.join(', ')}.`;
  return `p50: ${words('p50')}; p99: ${words('p99')}.${note}`;
}

/**
 * The two charts of the latencies of several sides.
 * @param {Side[]} sides
 * @param {{density: string, percentiles: string, missing: string, isWide?: boolean}} words of their
 *   captions; missing: why there are none
 * @returns {Chart[]}
 */
export function latencyCharts(sides, { density, percentiles, missing, isWide }) {
  if (sides.length === 0 || sides.some(({ json }) => json.count === 0))
    return [{ id: 'density', title: 'Latencies', kind: 'lines', summary: '', series: [], why: missing }];
  return [densityChart(sides, density), percentileChart(sides, percentiles)].map((chart) => ({ ...chart, isWide }));
}

/** Six digits are enough for a screen, and halve the size of the data. @param {number | null | undefined} value */
export function rounded(value) {
  return value === null || value === undefined || !Number.isFinite(value) ? null : Number(value.toPrecision(6));
}

/** @param {string} label */
export function capital(label) {
  return `${label.charAt(0).toUpperCase()}${label.slice(1)}`;
}
