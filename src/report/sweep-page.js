import { tableOf } from '../outputs/table.js';
import { meanOf } from '../studies/statistics.js';
import { GRID_METRICS, howItWasMade, isComplete, sweepResult } from '../studies/sweep-text.js';
import { digits } from '../text.js';
import { cellName } from '../studies/plan.js';
import { chartBox, sentence } from './charts.js';
import { html, renderPage, section } from './html.js';
import { badBadge, badge, dataTable, headline, listSection, minuteOf, note, tableSection } from './sections.js';
import { colorSteps, findCharts, sweepCharts } from './sweep-charts.js';

/**
 * @import { Find, SweepFile } from '../contracts/study.d.ts'
 * @import { Table } from '../outputs/table.js'
 */

/**
 * The page of a sweep or a search: charts, and the tables of the terminal.
 * @param {SweepFile} sweep
 * @param {{folder?: string}} [where] the folder of the sweep relative to the page, for links
 * @returns {string} an HTML document
 */
export function renderSweep(sweep, { folder = '.' } = {}) {
  const { cells, axes, find, warnings, environment, startedAt, repeat } = sweep;
  const { title, verdict, reasons = [], tables, notes } = sweepResult(sweep);
  const charts = find !== null && find.trials.length > 0 ? findCharts(find, cells) : sweepCharts(sweep);
  const what =
    find === null ? `Sweep of ${axes.map(({ name }) => name).join(' × ')}` : `Search for the highest ${find.name}`;
  const runs = cells.flatMap((cell) => cell.runs);
  const table = find === null ? runsTable(sweep) : trialsTable(find);
  return renderPage({
    title: `${what}${environment === null ? '' : ` at ${environment.endpoint}`}, ${minuteOf(startedAt)}`,
    ...headline(verdict, verdict.lastIndexOf('; ')),
    badges: [
      badge(title, badgeOf(sweep)),
      badBadge(runs.filter(({ exitCode }) => exitCode !== 0).length, 'run', ' with an exit code other than 0'),
      badBadge(warnings.length, 'warning'),
    ],
    main: html`${listSection('reasons', 'Why', reasons.map(sentence))}
    ${listSection('notes', 'Notes', notes.map(sentence))}
    ${section(
      'load',
      find === null ? 'Throughput and latency' : 'The search',
      repeat > 1 &&
        note('Points are means of the runs of a cell; the bars through them reach from the least to the greatest.'),
      find !== null && note(`Conditions: ${[...find.until, ...(find.rateHeld ? [RATE_HELD] : [])].join(', ')}.`),
      chartBox(charts),
    )}
    ${axes.length === 2 && tables.length > 0 ? gridSection(sweep, tables) : tables.map((one) => tableSection(one))}
    ${table.rows.length > 0 && tableSection(withLinks(table, folder))}
    ${listSection('plan', 'How it was made', howItWasMade(sweep))}`,
    charts,
  });
}

/** A search that has its answer when it stops, as at the time limit, is as good as a complete one. @param {Pick<SweepFile, 'end' | 'find'>} sweep @returns {'good' | 'bad' | 'plain'} */
function badgeOf({ end, find }) {
  if (end === 'complete' && find?.stopped && find.done === true) return 'plain';
  return isComplete({ end, find }) ? 'good' : 'bad';
}

const RATE_HELD = 'the rate held (always required: operations were verified at least 98 % as fast as they were due)';

/** The grids of two axes; colours show what the figures say. @param {SweepFile} sweep @param {Table[]} tables of GRID_METRICS */
function gridSection({ axes: [down, right], cells }, tables) {
  const grids = tables.map((table, i) => {
    const steps = colorSteps(cells.map(({ metrics }) => meanOf(metrics[GRID_METRICS[i]] ?? [])));
    const grid = dataTable(table, (row, column) => {
      const [value, other] = [down.values[row], right.values[column - 1]];
      const at = cells.findIndex(({ settings }) => settings[down.name] === value && settings[right.name] === other);
      return `heat-${steps[at] ?? 'none'}${cells[at]?.saturated ? ' saturated' : ''}`;
    });
    return html`<div>
      <h3>${table.title}</h3>
      ${grid}
    </div>`;
  });
  return section(
    'grid',
    'The grid',
    note('Cells with a dashed frame and * are saturated: more load brings little but latency.'),
    html`<div class="grids">${grids}</div>`,
  );
}

/** @param {SweepFile} sweep @returns {Table} */
function runsTable({ cells }) {
  const all = cells.flatMap(({ settings, runs }) => runs.map((run) => ({ settings, ...run })));
  const hasComplaints = all.some(({ complaint }) => complaint);
  const rows = all.map(({ settings, repeat, exitCode, complaint, file }) => [
    ...[cellName(settings), String(repeat), String(exitCode)],
    ...(hasComplaints ? [complaint || 'none'] : []),
    file,
  ]);
  const columns = ['cell', 'run', 'exit code', ...(hasComplaints ? ['complaint'] : []), 'file'];
  return tableOf('runs', 'Runs', columns, rows);
}

/** In the order in which they were made. @param {Find} find @returns {Table} */
function trialsTable({ name, trials }) {
  const rows = trials.map(({ value, holds, failed, file }) => [
    digits(value),
    holds ? 'holds' : `fails: ${failed.join(', ')}`,
    file,
  ]);
  return tableOf('runs', 'Runs', [name, 'result', 'file'], rows);
}

/** The last column has files: each becomes a link. @param {Table} table @param {string} folder of the files, relative to the page */
function withLinks({ rows, ...table }, folder) {
  const linked = (/** @type {string} */ file) => html`<a href="${hrefOf(file, folder)}">${file}</a>`;
  return { ...table, rows: rows.map((cells) => [...cells.slice(0, -1), linked(cells[cells.length - 1])]) };
}

/** A link to a file, escaped. @param {string} file @param {string} folder */
export function hrefOf(file, folder) {
  const parts = [...folder.split('/'), ...file.split('/')].filter((part) => part !== '' && part !== '.');
  return `./${parts.map(encodeURIComponent).join('/')}`;
}
