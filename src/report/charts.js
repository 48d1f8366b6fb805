import { Distribution, recordedValues } from '../stats/histogram.js';
import { figureOf, labelOf } from '../stats/figures.js';
import { digits, quantity } from './client/quantity.js';
import { html } from './html.js';
import { latencyFigure, rounded } from './sections.js';

/**
 * @import { DistributionJson } from '../types.d.ts'
 * @import { Unit } from './client/quantity.js'
 * @import { Html } from './html.js'
 * @import { Row } from './run-charts.js'
 */

/**
 * The charts of all pages: their data, which the page's script draws with uPlot, and the HTML of their figures.
 *
 * @typedef {object} TimeAxis in seconds since the start of the load
 * @property {number[]} from of each interval
 * @property {number[]} to
 * @property {Array<{from: number, to: number, name: string}>} phases outside of the window
 * @property {Array<{at: number, kind: 'failure' | 'reorg', words: string}>} marks
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
 * @property {boolean[]} [crossed] points with a cross, explained by crossWords
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
 *   without lines; path: points joined in their order, not by x
 * @property {Unit} unit of y
 * @property {boolean} [isLog] y is logarithmic
 * @property {number | null} [ceiling] least end of y
 * @property {number} [floor] start of y; default 0
 * @property {Array<number>} [x] default: the time axis
 * @property {string} [xLabel]
 * @property {Unit} [xUnit]
 * @property {string[]} [xTexts] labels of x values
 * @property {Array<[number, string]>} [xTicks] default: all of xTexts
 * @property {string} [crossWords]
 * @property {number | null} [mark] an x with a vertical line
 * @property {string} [markWords]
 * @property {Series[]} series
 * @property {Heat} [heat]
 */

/**
 * The figure of a chart: title, one sentence, legend, plot and table of numbers.
 * @param {Chart} chart
 * @param {{summary: string, note?: string, isWide?: boolean}} words
 */
export function chartFigure(chart, { summary, note, isWide = false }) {
  const { id, title, kind } = chart;
  return html`<figure
    id="figure-${id}"
    class="chart${isWide ? ' wide' : ''}"
    aria-labelledby="title-${id}"
    aria-describedby="caption-${id}"
  >
    <h3 id="title-${id}">${title}</h3>
    <figcaption id="caption-${id}">${summary}</figcaption>
    ${note !== undefined && html`<p class="note">${note}</p>`} ${kind === 'heat' ? heatLegend(id) : legend(chart)}
    <div
      class="plot"
      id="plot-${id}"
      role="group"
      tabindex="0"
      aria-label="${title}: plot. Arrow keys read values${chart.x === undefined ? ', plus and minus zoom, 0 shows all' : ''}."
    ></div>
    <p class="readout" id="readout-${id}" aria-live="polite"></p>
    <details class="numbers" id="numbers-${id}" data-chart="${id}">
      <summary>Numbers of this chart</summary>
      <div class="scroll" tabindex="0" role="region" aria-label="Numbers: ${title}"></div>
    </details>
  </figure>`;
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

/** A single series needs a legend only for crosses. @param {Chart} chart */
function legend({ kind, series, crossWords }) {
  const isCrossed = series.some(({ crossed = [] }) => crossed.includes(true));
  if (series.length < 2 && !isCrossed) return null;
  return html`<ul class="legend">
    ${series.map(
      ({ label, color, dash = [] }, i) =>
        html`<li>
          <svg width="26" height="10" aria-hidden="true" class="stroke-${color}">
            ${kind !== 'points' && html`<line x1="0" y1="5" x2="26" y2="5" stroke-dasharray="${dash.join(' ')}" />`}
            ${(kind === 'points' || kind === 'path') && html`<path d="${SHAPES[i % SHAPES.length]}" fill="currentcolor" />`}</svg
          >${label}
        </li>`,
    )}
    ${
      isCrossed &&
      html`<li>
        <svg width="14" height="10" aria-hidden="true" class="stroke-bad">
          <path d="M3 1 L11 9 M3 9 L11 1" fill="none" stroke-width="2" /></svg
        >${crossWords}
      </li>`
    }
  </ul>`;
}

/** The script's shapes: circle, square, triangle. */
const SHAPES = ['M13 1 A4 4 0 1 1 13 9 A4 4 0 1 1 13 1 Z', 'M9 1 H17 V9 H9 Z', 'M13 0 L18 9 H8 Z'];

/** The script fills in the two ends, because it knows the visible part. @param {string} id */
function heatLegend(id) {
  return html`<p class="legend heat-legend" id="legend-${id}">
    <span>few</span> <canvas width="160" height="10" aria-hidden="true"></canvas> <span>many</span>
  </p>`;
}

/** Such as "median 188, from 180 to 191". @param {ReadonlyArray<number | null>} values @param {Unit} unit */
export function middle(values, unit) {
  const known = values.filter((value) => value !== null).sort((a, b) => a - b);
  if (known.length === 0) return 'not measured';
  const [least, half, most] = [0, (known.length - 1) / 2, known.length - 1].map((i) =>
    quantity(known[Math.floor(i)], unit),
  );
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

/** @param {Side[]} sides @returns {Chart} */
export function densityChart(sides) {
  const bounds = sides.flatMap(({ json: { minUs, maxUs } }) => [minUs ?? NaN, maxUs ?? NaN]).filter((us) => us > 0);
  const decades = Math.log10(Math.max(...bounds) / Math.min(...bounds));
  const perDecade = PER_DECADE.find((n) => n * decades >= ENOUGH) ?? PER_DECADE[PER_DECADE.length - 1];
  const bucketOf = (/** @type {number} */ us) => Math.floor(perDecade * Math.log10(Math.max(1, us)));
  const all = sides.map(({ json }) => shares(json, bucketOf));
  const known = all.flatMap((buckets) => [...buckets.keys()]);
  // An empty bucket on either side, so that each line begins and ends on the axis.
  const [first, last] = [Math.min(...known) - 1, Math.max(...known) + 1];
  const x = Array.from({ length: last - first + 1 }, (_, i) => first + i);
  const begin = (/** @type {number} */ bucket) => 10 ** (bucket / perDecade) / 1000;
  return {
    id: 'density',
    title: 'Latency distribution',
    kind: 'lines',
    unit: 'percent',
    xLabel: 'latency',
    x,
    xTexts: x.map((bucket) => `${quantity(begin(bucket), 'ms')} to ${quantity(begin(bucket + 1), 'ms')}`),
    xTicks: ticksBetween(begin(first), begin(last + 1)).map((ms) => [
      perDecade * Math.log10(ms * 1000) - 0.5,
      quantity(ms, 'ms'),
    ]),
    series: sides.map(({ label, look }, i) => ({
      label,
      ...LOOKS[look ?? i],
      values: x.map((bucket) => rounded(all[i].get(bucket) ?? 0)),
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

/** 1, 2 and 5 times powers of ten. @param {number} low @param {number} high */
function ticksBetween(low, high) {
  const ticks = [];
  for (let decade = 10 ** Math.floor(Math.log10(low)); decade <= high; decade *= 10)
    ticks.push(...[1, 2, 5].map((digit) => digit * decade));
  const within = ticks.filter((tick) => tick >= low && tick <= high);
  // The values are within about a factor of two.
  return within.length >= 2 ? within : [low, Math.sqrt(low * high), high];
}

const PERCENTILES = [
  0, 10, 20, 30, 40, 50, 60, 70, 75, 80, 85, 90, 92.5, 95, 97.5, 98, 99, 99.5, 99.8, 99.9, 99.95, 99.98, 99.99,
];
const TICKS = [0, 50, 75, 90, 95, 99, 99.5, 99.9, 99.95, 99.99];

/** Ratio above which a linear axis would not show the lower values. */
const LOG_FROM = 8;

/** A percentile needs at least one operation above it: a line ends where it would only be the slowest operation. @param {Side[]} sides @returns {Chart} */
export function percentileChart(sides) {
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
    unit: 'ms',
    isLog,
    x: shown.map(place),
    xTexts: shown.map(name),
    xLabel: 'share of the operations',
    series,
    xTicks: TICKS.filter((p) => shown.includes(p)).map((p) => [place(p), name(p)]),
  };
}

/** Whether a linear axis would not show the lower series. @param {readonly Series[]} series the first is the lowest, the last the highest */
export function isSkewed(series) {
  const [low, high] = [series[0], series[series.length - 1]].map(({ values }) =>
    Math.max(0, ...values.map((value) => value ?? 0)),
  );
  return high > LOG_FROM * low;
}

/** @param {Side[]} sides */
function percentileWords(sides) {
  const words = (/** @type {'p50' | 'p99'} */ name) =>
    sides.map(({ label, json, censored }) => `${latencyFigure(json, censored, name).text} in ${label}`).join(', ');
  const open = sides.filter(({ censored }) => (censored?.count ?? 0) > 0).map(({ label }) => label);
  const note =
    open.length === 0
      ? ''
      : ` Operations without a good answer are drawn with the time they were waited for: ${open.join(', ')}.`;
  return `p50: ${words('p50')}; p99: ${words('p99')}.${note}`;
}

/**
 * A chart with its figure; null: there is nothing to draw.
 *
 * @typedef {{chart: Chart | null, figure: Html}} Drawn
 */

/** @param {readonly Drawn[]} drawn @returns {Chart[]} */
export function chartsOf(drawn) {
  return drawn.flatMap(({ chart }) => chart ?? []);
}

/**
 * The two charts of the latencies of several sides.
 * @param {Side[]} sides
 * @param {{density: string, percentiles: string, missing: string, isWide?: boolean}} words of their
 *   captions; missing: why there are none
 * @returns {Drawn[]}
 */
export function latencyCharts(sides, { density: first, percentiles: second, missing, isWide }) {
  if (sides.length === 0 || sides.some(({ json }) => json.count === 0))
    return [{ chart: null, figure: missingFigure('density', 'Latencies', missing) }];
  const [density, percentiles] = [densityChart(sides), percentileChart(sides)];
  const log = percentiles.isLog ? ' The scale is logarithmic.' : '';
  const summary = `${percentileWords(sides)} ${second}${log}`;
  return [
    { chart: density, figure: chartFigure(density, { summary: first, isWide }) },
    { chart: percentiles, figure: chartFigure(percentiles, { summary, isWide }) },
  ];
}

/**
 * How a page shows a figure of a study file, which has only its name.
 *
 * @typedef {object} Measure
 * @property {string} name
 * @property {string} label
 * @property {string} words definition
 * @property {Unit} unit of its chart
 * @property {(value: number | null | undefined) => number | null} scaled to that unit
 * @property {(value: number | null | undefined) => string} text with its unit
 */

/** Units of charts and factors of values. @type {Record<string, {unit: Unit, factor: number}>} */
const UNITS = {
  us: { unit: 'ms', factor: 1e-3 },
  perSecond: { unit: 'perSecond', factor: 1 },
  count: { unit: 'count', factor: 1 },
  percent: { unit: 'percent', factor: 1 },
  bytes: { unit: 'megabytes', factor: 1e-6 },
  gas: { unit: 'count', factor: 1 },
  gasPerSecond: { unit: 'megagas', factor: 1e-6 },
};
const PLAIN = { unit: /** @type {const} */ ('plain'), factor: 1 };

/** @param {string} name @returns {Measure} also for unknown names */
export function measureOf(name) {
  const figure = figureOf(name);
  const label = figure === null ? name : labelOf(figure);
  const words = figure?.words ?? '';
  const { unit, factor } = UNITS[figure?.unit ?? ''] ?? PLAIN;
  // The CPU time of an operation is below a millisecond.
  if (name === 'cpu')
    return {
      name,
      label,
      words,
      unit: 'plain',
      scaled: (us) => us ?? null,
      text: (us) => (us == null ? '–' : `${digits(us)} µs`),
    };
  const scaled = (/** @type {number | null | undefined} */ value) => (value == null ? null : value * factor);
  return { name, label, words, unit, scaled, text: (value) => quantity(scaled(value), unit) };
}

/** @param {string} text of a figure @param {boolean} [isAtLeast] whether it is a lower bound */
export function withBound(text, isAtLeast = false) {
  return isAtLeast ? `>= ${text}` : text;
}

/** @param {string} label */
export function capital(label) {
  return `${label.charAt(0).toUpperCase()}${label.slice(1)}`;
}

/** @param {ReadonlyArray<number | null> | undefined} values of runs @returns {{mean: number | null, low: number | null, high: number | null}} of the measured values */
export function across(values = []) {
  const known = values.filter((value) => value !== null);
  if (known.length === 0) return { mean: null, low: null, high: null };
  const sum = known.reduce((total, value) => total + value, 0);
  return { mean: sum / known.length, low: Math.min(...known), high: Math.max(...known) };
}

/** In shorter intervals a rate is not meaningful. */
export const MIN_INTERVAL_MS = 100;

/** @param {Row} row @param {number | null | undefined} amount */
export function perSecond({ startMs, endMs }, amount) {
  return amount === null || amount === undefined || endMs - startMs < MIN_INTERVAL_MS
    ? null
    : (1000 * amount) / (endMs - startMs);
}

/** Time used, in percent of one core. @param {Row} row @param {number | null | undefined} us */
export function share(row, us) {
  const used = perSecond(row, us);
  return used === null ? null : used / 1e4;
}

/** @param {number | null | undefined} us */
export function ms(us) {
  return us === null || us === undefined ? null : us / 1000;
}

/** @param {number | null | undefined} bytes */
export function megabytes(bytes) {
  return bytes === null || bytes === undefined ? null : bytes / 1e6;
}
