import { Distribution } from '../metrics/distribution.js';
import { recordedValues } from '../metrics/histogram.js';
import { quantity } from './client/quantity.js';
import { latencyFigure, rounded } from './figures.js';

/**
 * @import { DistributionJson } from '../metrics/distribution.js'
 * @import { Chart } from './charts.js'
 */

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
