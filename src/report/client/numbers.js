/// <reference lib="dom" />
import { bucketMs, countsOf } from './buckets.js';
import { quantity } from './quantity.js';
import { intervalWords } from './time-marks.js';

/**
 * @import { Heat, TimeAxis } from '../charts.js'
 * @import { Plot } from './plot.js'
 */

/** The numbers of a chart as a table, created when it is opened. */

/** Limit of rows, because heat maps of long runs have more cells than a browser can show well. */
const MAX_ROWS = 5000;

/** @param {Plot} plot @returns {string[][]} the first row is the head */
function tableRows({ chart, time }) {
  const { series, heat, unit, xUnit = 'plain', x: shared = [] } = chart;
  const show = (/** @type {number | null | undefined} */ value) => quantity(value, unit);
  if (heat !== undefined && time !== null) return heatRows(heat, time);
  const labels = series.map(({ label }) => label);
  if (time !== null) {
    const rows = time.from.map((_, i) => [intervalWords(time, i), ...series.map(({ values }) => show(values[i]))]);
    return [['Interval', ...labels], ...rows];
  }
  const isNamed = series.some(({ names }) => names);
  const hasIntervals = series.some(({ low }) => low);
  // One row per point, because each series may have its own x values.
  const rows = series.flatMap(({ label, x = shared, values, low, high, names }) =>
    x.map((at, i) => {
      const { xTexts } = chart;
      const ends = low === undefined ? '' : `${show(low[i])} to ${show(high?.[i])}`;
      const point = isNamed && (names?.[i] ?? '');
      const cells = [point, xTexts?.[i] ?? quantity(at, xUnit), label, show(values[i]), hasIntervals && ends];
      return cells.filter((cell) => cell !== false);
    }),
  );
  const head = [isNamed && 'Point', chart.xLabel ?? 'x', 'Series', chart.title, hasIntervals && 'Interval'];
  return [head.filter((text) => text !== false), ...rows];
}

/** @param {Heat} heat @param {TimeAxis} time */
function heatRows(heat, time) {
  const rows = heat.columns.flatMap((column, i) =>
    [...countsOf(column)].map(([bucket, count]) => [
      intervalWords(time, i),
      `${quantity(bucketMs(bucket, heat), 'ms')} to ${quantity(bucketMs(bucket + 1, heat), 'ms')}`,
      quantity(count, 'count'),
    ]),
  );
  return [['Interval', 'Latency', 'Operations'], ...rows];
}

/** @param {string[][]} rows */
export function tableOf([head, ...rows]) {
  const table = document.createElement('table');
  addRow(table.createTHead(), head, true);
  const body = table.createTBody();
  for (const row of rows.slice(0, MAX_ROWS)) addRow(body, row, false);
  if (rows.length > MAX_ROWS) addRow(body, [`and ${rows.length - MAX_ROWS} more, which the run file has`], false);
  return table;
}

/** @param {HTMLElement} to @param {string[]} texts @param {boolean} isHead */
function addRow(to, texts, isHead) {
  const row = to.appendChild(document.createElement('tr'));
  texts.forEach((text, i) => {
    const cell = row.appendChild(document.createElement(isHead || i === 0 ? 'th' : 'td'));
    cell.textContent = text;
    if (isHead || i === 0) cell.setAttribute('scope', isHead ? 'col' : 'row');
  });
}

/** @param {Plot[]} plots */
export function offerNumbers(plots) {
  for (const details of /** @type {NodeListOf<HTMLDetailsElement>} */ (document.querySelectorAll('details.numbers'))) {
    const plot = plots.find(({ chart }) => chart.id === details.dataset.chart);
    if (plot === undefined) continue;
    details.addEventListener('toggle', () => {
      const place = details.querySelector('.scroll');
      if (details.open) place?.replaceChildren(tableOf(tableRows(plot)));
      else place?.replaceChildren();
    });
  }
}
