import { across, measureOf, sentence, withBound } from './charts.js';
import { clockTime } from './client/quantity.js';
import { details, html, list, row, scrollTable, section } from './html.js';
import { figureCell } from './run-sections.js';
import { cellName } from './sweep-charts.js';

/**
 * @import { SweepCell, SweepFile } from '../types.d.ts'
 * @import { Measure } from './charts.js'
 */

/** The tables and texts of a sweep's page. */

/** Figures of the first table; the others are in a second one. */
const MAIN = ['tps', 'avg', 'p50', 'p99', 'max', 'failed'];

/** @param {SweepFile} sweep */
export function saturation({ saturation: lines, cells }) {
  const others = cells.filter(({ saturated }) => saturated);
  if (lines.length === 0) return null;
  const cellLines = others.map(({ settings, why }) => `${cellName(settings)}: ${why ?? ''}`);
  return section(
    'saturation',
    'Saturation',
    list(lines.map(({ words }) => sentence(words))),
    html`<p class="note">
      With a rate, a cell is saturated when more than 10 % of what was asked is missing; without one, when more load
      brings less than 5 % more throughput and latency grows.
    </p>`,
    others.length > 1 && details('saturated', `All ${others.length} saturated cells`, list(cellLines)),
  );
}

/** @param {SweepFile} sweep @param {string} folder of the files, relative to the page */
export function cellTables(sweep, folder) {
  const { cells } = sweep;
  if (cells.length === 0) return null;
  const isMeasured = (/** @type {string} */ name) => cells.some(({ metrics }) => across(metrics[name]).mean !== null);
  const isRepeated = cells.some(({ runs }) => runs.length > 1);
  const rest = [...new Set(cells.flatMap(({ metrics }) => Object.keys(metrics)))].filter(
    (name) => !MAIN.includes(name) && isMeasured(name),
  );
  const more = rest.length > 0 && cellTable(sweep, rest, 'Cells, further figures', null);
  return section(
    'cells',
    'All cells',
    isRepeated &&
      html`<p class="note">Means of the runs of a cell; below them, where they differ, the least and the greatest.</p>`,
    cellTable(sweep, MAIN.filter(isMeasured), 'Cells and their runs', folder),
    more && details('further', 'Further figures of all cells', more),
  );
}

/** @param {SweepFile} sweep @param {string[]} names @param {string} label @param {string | null} folder null: without links */
function cellTable({ axes, cells }, names, label, folder) {
  const measures = names.map(measureOf);
  const swept = axes.map(({ name }) => name);
  const isAsked = folder !== null && cells.some(({ asked }) => asked !== null);
  return scrollTable(label, {
    heads: [
      ...swept,
      ...(isAsked ? ['asked per s'] : []),
      ...measures.map((measure) => measure.label),
      ...(folder === null ? [] : [html`<th scope="col" class="words">runs</th>`]),
    ],
    rows: cells.map((cell, i) => {
      const [first, ...others] = swept.map((name) => cell.settings[name] ?? '');
      return row(first, [
        ...others,
        ...(isAsked ? [figureCell(`cells.${i}.asked`, cell.asked, measureOf('asked').text(cell.asked))] : []),
        ...measures.map((measure) => valueCell(cell, measure, folder === null ? null : i)),
        ...(folder === null ? [] : [runsCell(cell, folder)]),
      ]);
    }),
    style: 'cells',
  });
}

/** @param {SweepCell} cell @param {string} folder */
function runsCell(cell, folder) {
  return html`<td class="words">
    ${cell.saturated && html`<strong class="bad">saturated</strong> `}${runLinks(cell, folder)}
  </td>`;
}

/** @param {SweepCell} cell @param {Measure} measure @param {number | null} i */
function valueCell({ metrics, atLeast = [] }, { name, text }, i) {
  const { mean, low, high } = across(metrics[name]);
  const ends = [text(low), text(high)];
  const content = html`${withBound(text(mean), atLeast.includes(name))}${ends[0] !== ends[1] && html`<small>${ends[0]} to ${ends[1]}</small>`}`;
  return i === null
    ? html`<td>${content}</td>`
    : html`<td data-figure="cells.${i}.${name}" data-value="${String(mean)}">${content}</td>`;
}

/** @param {SweepCell} cell @param {string} folder */
function runLinks({ runs }, folder) {
  return runs.map(({ repeat, file, exitCode, complaint }, i) => {
    const bad = [exitCode !== 0 && `exit code ${exitCode}`, complaint].filter((words) => words).join(', ');
    const link = html`<a href="${hrefOf(file, folder)}">run ${repeat}</a>`;
    return html`${i > 0 && ', '}${complaint === null ? link : `run ${repeat}`}${bad !== '' && html` <span class="bad">(${bad})</span>`}`;
  });
}

/** A link to a file, escaped. @param {string} file @param {string} folder */
export function hrefOf(file, folder) {
  const parts = [...folder.split('/'), ...file.split('/')].filter((part) => part !== '' && part !== '.');
  return `./${parts.map(encodeURIComponent).join('/')}`;
}

/** @param {SweepFile} sweep */
export function plan(sweep) {
  const { axes, repeat, restMs, beforeCell, options, environment, stress, startedAt, endedAt, find } = sweep;
  const asked = {
    ...Object.fromEntries(axes.map(({ name, values }) => [name, values.join(', ')])),
    ...(find === null ? { repeat } : { find: find.name, until: find.until }),
    rest: clockTime(restMs / 1000),
    ...(beforeCell == null ? {} : { 'before-cell': `a command with SHA-256 ${beforeCell}...` }),
    ...options,
  };
  return section(
    'plan',
    'What was asked, and where it ran',
    axes.length > 0 && html`<p>${order(sweep)}</p>`,
    facts(
      'Options',
      Object.entries(asked).map(([name, value]) => [`--${name}`, value]),
    ),
    facts('Environment', [
      ...Object.entries(environment ?? {}),
      ['stress', stress],
      ['started', startedAt],
      ['ended', endedAt ?? 'not yet'],
    ]),
  );
}

/** @param {SweepFile} sweep */
function order({ axes, repeat, restMs, cells }) {
  const size = axes.map(({ name, values }) => `${values.length} of ${name}`).join(' × ');
  const turns =
    repeat === 1
      ? 'each run once'
      : `each run ${repeat} times; all cells once, then all again in the opposite order, and so on, so that what drifts hits all alike`;
  const rest = restMs > 0 ? `, with ${clockTime(restMs / 1000)} of rest between runs` : '';
  return `${cells.length} cells (${size}), ${turns}${rest}.`;
}

/** @param {string} label @param {Array<[string, unknown]>} rows */
function facts(label, rows) {
  const all = rows.map(([name, value]) => row(name, [wordsOf(value)]));
  return scrollTable(label, { rows: all, style: 'wraps', caption: label });
}

/** @param {unknown} value */
function wordsOf(value) {
  if (value === null || value === undefined) return 'not known';
  if (Array.isArray(value)) return value.map(String).join(', ');
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}
