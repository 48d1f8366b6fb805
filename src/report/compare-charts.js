import { quantity } from './client/quantity.js';
import { rounded } from './figures.js';
import { measureOf } from './measure.js';

/**
 * @import { Comparison } from '../study/compare.js'
 * @import { Chart } from './charts.js'
 */

/**
 * The primary metric in each run of a comparison.
 */

/** From there on the values are so close together that an axis from 0 would show them as one. */
const CLOSE = 0.5;

const SIDES = /** @type {const} */ ([
  { label: 'BASE', color: 0 },
  { label: 'CANDIDATE', color: 1 },
]);

/** @param {Comparison} comparison @returns {{chart: Chart, summary: string}} */
export function runsChart(comparison) {
  const { metrics, method } = comparison;
  const [{ name, label, base, candidate }] = metrics;
  const { unit, scaled } = measureOf(name);
  const isPaired = method.pairs !== null;
  const values = [base.values, candidate.values].map((side) => side.map((value) => rounded(scaled(value))));
  const all = values.flat().filter((value) => value !== null);
  const [low, high] = [Math.min(...all), Math.max(...all)];
  const isClose = low > CLOSE * high;
  /** @type {Chart} */
  const chart = {
    id: 'runs',
    title: `${label} of each run`,
    kind: 'points',
    unit,
    xLabel: isPaired ? 'pair' : 'run',
    ...(isPaired ? pairedSeries(values) : orderedSeries(comparison, values)),
    ...(isClose ? { floor: floorOf(low, high), ceiling: high + 0.15 * (high - low) } : {}),
  };
  const zero = isClose ? ' The scale does not begin at 0.' : '';
  return { chart, summary: `${isPaired ? pairWords(comparison) : orderWords()}${zero}` };
}

/** A line joins the two of a pair. @param {Array<Array<number | null>>} values */
function pairedSeries([base, candidate]) {
  const x = base.map((_, i) => i + 1);
  const end = (/** @type {'min' | 'max'} */ which) =>
    base.map((value, i) => Math[which](value ?? 0, candidate[i] ?? 0));
  return {
    x,
    xTexts: x.map(String),
    series: [
      { ...SIDES[0], values: base, low: end('min'), high: end('max') },
      { ...SIDES[1], values: candidate },
    ],
  };
}

/** In the order in which they were made. @param {Comparison} comparison @param {Array<Array<number | null>>} values */
function orderedSeries({ base, candidate }, values) {
  const runs = [base, candidate]
    .flatMap(({ startedAt }, side) => startedAt.map((at, i) => ({ at, side, value: values[side][i] })))
    .sort((a, b) => a.at.localeCompare(b.at));
  return {
    x: runs.map((_, i) => i + 1),
    xTexts: runs.map((_, i) => String(i + 1)),
    series: SIDES.map((look, side) => ({ ...look, values: runs.map((run) => (run.side === side ? run.value : null)) })),
  };
}

/** @param {Comparison} comparison */
function pairWords({ metrics: [{ base, candidate }] }) {
  const higher = base.values.filter((value, i) => candidate.values[i] > value).length;
  const lower = base.values.filter((value, i) => candidate.values[i] < value).length;
  const n = quantity(base.values.length, 'count');
  return `CANDIDATE was higher in ${higher} of ${n} pairs, lower in ${lower}. A bar joins the two runs of a pair.`;
}

function orderWords() {
  return 'All runs in the order in which they were made.';
}

/** A number that is easy to read, below all of them. @param {number} low @param {number} high */
function floorOf(low, high) {
  const room = Math.max(0.5 * (high - low), 0.01 * high);
  const step = 10 ** Math.floor(Math.log10(room));
  return Number((Math.floor((low - room) / step) * step).toPrecision(6));
}
