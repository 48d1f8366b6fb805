import { Distribution, recordedValues } from '../stats/histogram.js';
import { figureOf } from '../stats/metrics.js';
import { digits, quantity } from './client/quantity.js';
import { html } from './html.js';
import { latencyFigure, rounded } from './figures.js';

/**
 * @import { DistributionJson } from '../types.d.ts'
 * @import { Unit } from './client/quantity.js'
 * @import { Row } from './run-charts.js'
 */

/**
 * What a chart is: data that the script draws with uPlot, and a figure with everything that can be read without it.
 *
 * @typedef {object} TimeAxis in seconds since the start of the load
 * @property {number[]} from of each interval
 * @property {number[]} to
 * @property {Array<{from: number, to: number, name: string}>} phases those that are outside of the window
 * @property {Array<{at: number, kind: 'failure' | 'reorg', words: string}>} marks
 *
 * @typedef {object} Series
 * @property {string} label
 * @property {number} color 0 to 5: one of the palette in page.css
 * @property {number[]} [x] its own axis, where the others have another
 * @property {number[]} [dash] lengths of dashes and gaps, so that colour alone need not be told apart
 * @property {Array<number | null>} values one for each x; null where nothing was measured
 * @property {Array<number | null>} [low] the ends of intervals around the values
 * @property {Array<number | null>} [high]
 * @property {string[]} [names] of the points of a path, which stand beside them
 * @property {boolean[]} [crossed] points with a cross over them; what it says are the chart's crossWords
 *
 * @typedef {object} Heat counts in buckets, a column for each x
 * @property {number} perDecade buckets to a factor of ten
 * @property {number} first number of the lowest: bucket n begins at 10^(n/perDecade) us
 * @property {number} last
 * @property {number[][]} columns pairs of (number less the one before, count)
 *
 * @typedef {object} Chart
 * @property {string} id
 * @property {string} title
 * @property {'lines' | 'stacked' | 'points' | 'path' | 'heat'} kind stacked: areas on top of each other; points: values
 *   without lines; path: points joined in their order, which x need not follow
 * @property {Unit} unit of y
 * @property {boolean} [isLog] y is logarithmic
 * @property {number | null} [ceiling] y reaches at least so far
 * @property {number} [floor] where y begins; without it, at 0
 * @property {Array<number>} [x] its own axis; without it, that of the time
 * @property {string} [xLabel]
 * @property {Unit} [xUnit]
 * @property {string[]} [xTexts] what each x is called, where it is not a number to be read as such
 * @property {Array<[number, string]>} [xTicks] what stands on the axis then; without it, all of xTexts
 * @property {string} [crossWords]
 * @property {number | null} [mark] an x worth a line, with its words
 * @property {string} [markWords]
 * @property {Series[]} series
 * @property {Heat} [heat]
 */

/**
 * The figure of a chart: a title, what it says in one sentence, a legend, room for the plot, and its numbers.
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
    <details class="numbers" data-chart="${id}">
      <summary>Numbers of this chart</summary>
      <div class="scroll" tabindex="0" role="region" aria-label="Numbers: ${title}"></div>
    </details>
  </figure>`;
}

/** What could not be drawn, and why. @param {string} id @param {string} title @param {string} why */
export function missingFigure(id, title, why) {
  return html`<p class="missing" id="missing-${id}"><strong>${title}</strong>: not measured. ${sentence(why)}</p>`;
}

/** @param {string} words */
export function sentence(words) {
  const text = words.trim();
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}${/[.!?]$/.test(text) ? '' : '.'}`;
}

/** One series needs none, unless there is something over its points. @param {Chart} chart */
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

/** As the script draws them: a circle, a square, a triangle. */
const SHAPES = ['M13 1 A4 4 0 1 1 13 9 A4 4 0 1 1 13 1 Z', 'M9 1 H17 V9 H9 Z', 'M13 0 L18 9 H8 Z'];

/** Its two ends are told by the script, which knows what is visible. @param {string} id */
function heatLegend(id) {
  return html`<p class="legend heat-legend" id="legend-${id}">
    <span>few</span> <canvas width="160" height="10" aria-hidden="true"></canvas> <span>many</span>
  </p>`;
}

/**
 * "Between 180 and 191, median 188."
 * @param {ReadonlyArray<number | null>} values
 * @param {Unit} unit
 */
export function spread(values, unit) {
  const known = values.filter((value) => value !== null).sort((a, b) => a - b);
  if (known.length === 0) return 'nothing was measured';
  const [low, middle, high] = [known[0], known[Math.floor((known.length - 1) / 2)], known[known.length - 1]];
  const [least, most] = [quantity(low, unit), quantity(high, unit)];
  if (least === most) return `always ${least}`;
  return `between ${least} and ${most}, median ${quantity(middle, unit)}`;
}

/**
 * "Median 188, at most 191": where several have to be told in one sentence.
 * @param {ReadonlyArray<number | null>} values
 * @param {Unit} unit
 */
export function middle(values, unit) {
  const known = values.filter((value) => value !== null).sort((a, b) => a - b);
  const half = quantity(known[Math.floor((known.length - 1) / 2)], unit);
  const most = quantity(known.at(-1), unit);
  if (known.length === 0) return 'not measured';
  return half === most ? `mostly ${half}` : `median ${half}, at most ${most}`;
}

/**
 * The latencies of several sides over each other: how many operations took how long, and how long a share of them took at
 * most. Both have logarithmic axes, because what makes tails is factors and not sums.
 *
 * @typedef {{label: string, json: DistributionJson, censored?: DistributionJson, look?: number}} Side censored: operations in
 *   it that may have taken longer; look: which of LOOKS, if not that of its place
 */

/** Buckets to a factor of ten: as few as show a shape, unless all lies close together. */
const PER_DECADE = [12, 24, 48, 96];
const ENOUGH = 32;

/** No two lines have the same colour or the same dashes. */
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
  // One more on either side, where there is nothing, so that each line begins and ends on the axis.
  const [first, last] = [Math.min(...known) - 1, Math.max(...known) + 1];
  const x = Array.from({ length: last - first + 1 }, (_, i) => first + i);
  const begin = (/** @type {number} */ bucket) => 10 ** (bucket / perDecade) / 1000;
  return {
    id: 'density',
    title: 'How many operations took how long',
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
  // All lies within less than a factor of two or so.
  return within.length >= 2 ? within : [low, Math.sqrt(low * high), high];
}

/** Nines, and the way to the first of them. */
const PERCENTILES = [
  0, 10, 20, 30, 40, 50, 60, 70, 75, 80, 85, 90, 92.5, 95, 97.5, 98, 99, 99.5, 99.8, 99.9, 99.95, 99.98, 99.99,
];
const TICKS = [0, 50, 75, 90, 95, 99, 99.5, 99.9, 99.95, 99.99];

/** A tail that far above the median would press it flat on a linear axis. */
const LOG_FROM = 8;

/**
 * Beyond what there are operations for, a percentile is only the slowest of them.
 * @param {Side[]} sides
 * @param {{each?: boolean}} [how] each: every line goes as far as its own operations do, and not only as far as the
 *   side with the fewest
 * @returns {Chart}
 */
export function percentileChart(sides, { each = false } = {}) {
  const counts = sides.map(({ json }) => json.count);
  const isKnown = (/** @type {number} */ p, /** @type {number} */ count) => p === 0 || count * (1 - p / 100) >= 1;
  const shown = PERCENTILES.filter((p) => isKnown(p, each ? Math.max(...counts) : Math.min(...counts)));
  const place = (/** @type {number} */ p) => -Math.log10(1 - p / 100);
  const name = (/** @type {number} */ p) => `${p} %`;
  const series = sides.map(({ label, json, look }, i) => {
    const distribution = Distribution.fromJSON(json);
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
    title: 'Within which time so many of them were done',
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

/** @param {Side[]} sides */
export function percentileWords(sides) {
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
 * A figure that a study has of its runs, as a page shows it: the files have only its name.
 *
 * @typedef {object} Measure
 * @property {string} name
 * @property {string} label
 * @property {string} words what it is
 * @property {Unit} unit of a chart of it
 * @property {(value: number | null | undefined) => number | null} scaled to that unit
 * @property {(value: number | null | undefined) => string} text with its unit
 */

/** @type {Record<string, string>} */
const LABELS = {
  tps: 'TPS',
  achieved: 'achieved per s',
  asked: 'asked per s',
  avg: 'mean latency',
  min: 'shortest latency',
  max: 'longest latency',
  timed_out: 'timed out',
  cpu: 'CPU per operation',
  rss: 'memory',
  timewait: 'TIME_WAIT',
  'node.cpu': 'node CPU',
  'node.rss': 'node memory',
};

/** Of a chart, and what a value is multiplied by. @type {Record<string, {unit: Unit, factor: number}>} */
const UNITS = {
  us: { unit: 'ms', factor: 1e-3 },
  perSecond: { unit: 'perSecond', factor: 1 },
  count: { unit: 'count', factor: 1 },
  percent: { unit: 'percent', factor: 1 },
  bytes: { unit: 'megabytes', factor: 1e-6 },
};

/** @param {string} name @returns {Measure} also of a name that this version does not know */
export function measureOf(name) {
  // The busiest interval, which no threshold can name.
  const [, peak] = /^peak\.(.+)$/.exec(name) ?? [];
  if (peak !== undefined)
    return measure(name, `busiest interval: ${peak}`, 'of the interval where it was highest', UNITS.percent);
  const figure = figureOf(name);
  const words = figure?.words ?? '';
  if (name === 'cpu')
    return {
      ...measure(name, LABELS.cpu, words, { unit: 'plain', factor: 1 }),
      text: (us) => (us == null ? '–' : `${digits(us)} µs`),
    };
  return measure(name, labelOf(name), words, UNITS[figure?.unit ?? ''] ?? { unit: 'plain', factor: 1 });
}

/** @param {string} name @param {string} label @param {string} words @param {{unit: Unit, factor: number}} how @returns {Measure} */
function measure(name, label, words, { unit, factor }) {
  const scaled = (/** @type {number | null | undefined} */ value) => (value == null ? null : value * factor);
  return { name, label, words, unit, scaled, text: (value) => quantity(scaled(value), unit) };
}

/** @param {string} name */
function labelOf(name) {
  if (Object.hasOwn(LABELS, name)) return LABELS[name];
  if (/^p\d/.test(name)) return `${name} latency`;
  return name.replace('readback', 'read back').replace('.', ' ');
}

/** @param {string} text of a figure @param {boolean} [isAtLeast] whether it may be larger, because operations are censored */
export function withBound(text, isAtLeast = false) {
  return isAtLeast ? `>= ${text}` : text;
}

/** At the beginning of a title. @param {string} label */
export function capital(label) {
  return `${label.charAt(0).toUpperCase()}${label.slice(1)}`;
}

/** @param {ReadonlyArray<number | null> | undefined} values of runs @returns {{mean: number | null, low: number | null, high: number | null}} of those that were measured */
export function across(values = []) {
  const known = values.filter((value) => value !== null);
  if (known.length === 0) return { mean: null, low: null, high: null };
  const sum = known.reduce((total, value) => total + value, 0);
  return { mean: sum / known.length, low: Math.min(...known), high: Math.max(...known) };
}

/**
 * Figures of one interval in the units of a chart, and how lines differ besides their colours.
 */

export const DASHED = [7, 4];
export const DOTTED = [2, 4];
export const DASH_DOTTED = [8, 3, 2, 3];

/** A rate of an interval that short says nothing. */
export const SHORTEST_MS = 100;

/** @param {Row} row @param {number | null | undefined} amount */
export function perSecond({ startMs, endMs }, amount) {
  return amount === null || amount === undefined || endMs - startMs < SHORTEST_MS
    ? null
    : (1000 * amount) / (endMs - startMs);
}

/** Time used of the time there was, in percent of one core. @param {Row} row @param {number | null | undefined} us */
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
