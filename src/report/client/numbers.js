/// <reference lib="dom" />
import { bucketMs, countsOf } from './buckets.js';
import { quantity } from '../../quantity.js';
import { intervalWords } from './time-marks.js';

/**
 * @import { Heat, TimeAxis } from '../charts.js'
 * @import { Plot } from './plot.js'
 */

/** The numbers of a chart as a table, created when it is opened. */

/** Limit of rows, because heat maps of long runs have more cells than a browser can show well. */
const MAX_ROWS = 5000;

/** @param {Plot} plot @returns {string[][]} the first row is the head */
function tableRows(plot) {
  const { chart, time, columns } = plot;
  if (chart.heat !== undefined && time !== null) return heatRows(chart.heat, time);
  const rows = columns.xs.map((_, i) => [plot.at(i), ...chart.series.map((__, s) => plot.text(s, i))]);
  return [[chart.xLabel ?? 'Interval', ...chart.series.map(({ label }) => label)], ...rows];
}

/** @param {Heat} heat @param {TimeAxis} time */
function heatRows(heat, time) {
  const rows = heat.columns.flatMap((column, i) =>
    [...countsOf(column)].map(([bucket, count]) => [
      intervalWords(time, i),
      `${quantity(bucketMs(bucket, heat), 'ms')} to ${quantity(bucketMs(bucket + 1, heat), 'ms')}`,
      quantity(count),
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
