import { csvLine } from '../output/rows.js';
import { metricOf } from './metrics.js';
import { KEPT, PEAKS } from './sweep-cells.js';

/** @import { SweepFile } from './sweep-file.js' */

/** A sweep as a table for other programs, a row for each run. Names end in the unit of what stands below them. */

/** @type {Record<string, string>} */
const SUFFIXES = { us: 'Us', bytes: 'Bytes', percent: 'Percent', perSecond: '', count: '' };

/** @param {SweepFile} sweep */
export function sweepCsv({ axes, cells }) {
  const names = axes.map(({ name }) => name);
  const derived = Object.keys(cells[0]?.derived ?? {}).map((name) => `derived.${name}`);
  const columns = ['repeat', 'exitCode', 'startedAt', 'file', 'complaint', 'askedPerSecond'];
  const rows = cells.flatMap((cell) =>
    cell.runs.map(({ repeat, exitCode, startedAt, file, complaint }, i) => [
      ...names.map((name) => cell.settings[name]),
      ...Object.values(cell.derived),
      ...[repeat, exitCode, startedAt, file, complaint, cell.asked],
      ...KEPT.map((name) => cell.metrics[name][i]),
    ]),
  );
  return [[...names, ...derived, ...columns, ...KEPT.map(columnOf)], ...rows].map(csvLine).join('');
}

/** @param {string} name of a metric */
function columnOf(name) {
  return `${name}${PEAKS.includes(name) ? SUFFIXES.percent : SUFFIXES[metricOf(name).unit]}`;
}
