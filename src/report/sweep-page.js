import { across, capital, chartFigure, chartsOf, measureOf, sentence, withBound } from './charts.js';
import { clockTime, quantity } from './client/quantity.js';
import { details, html, itemTable, list, row, scrollTable, section } from './html.js';
import {
  badBadge,
  badge,
  chartBox,
  figureCell,
  keyOf,
  listSection,
  minuteOf,
  note,
  pageOf,
  wordsHead,
} from './sections.js';
import { bestOf, cellName, gridTable, sweepCharts } from './sweep-charts.js';

/**
 * @import { Find, SweepCell, SweepFile } from '../types.d.ts'
 * @import { Chart, Measure } from './charts.js'
 * @import { Column } from './html.js'
 * @import { KeyFigure } from './sections.js'
 */

/** The page of a sweep or a search. */

/** Figures of the grids. */
const GRIDS = ['tps', 'avg', 'p99'];

/**
 * @param {SweepFile} sweep
 * @param {{folder?: string}} [where] the folder of the sweep relative to the page, for links
 * @returns {string} an HTML document
 */
export function renderSweep(sweep, { folder = '.' } = {}) {
  const { cells, axes, repeat, find, warnings, environment, startedAt } = sweep;
  const drawn = sweepCharts(sweep);
  const search = find === null ? [] : [findChart(find)];
  const what =
    find === null ? `Sweep of ${axes.map(({ name }) => name).join(' × ')}` : `Search for the highest ${find.name}`;
  const load = section(
    'load',
    'Throughput and latency',
    repeat > 1 &&
      note('Points are means of the runs of a cell; the bars through them reach from the least to the greatest.'),
    chartBox(drawn.map(({ figure }) => figure)),
  );
  const grid = () =>
    section(
      'grid',
      'The grid',
      cells.some(({ saturated }) => saturated) &&
        note('In cells marked “saturated” more load brings little but latency; the reasons are below.'),
      html`<div class="grids">${GRIDS.map((name) => gridTable(sweep, name))}</div>`,
    );
  return pageOf({
    title: `${what}${environment === null ? '' : ` at ${environment.endpoint}`}, ${minuteOf(startedAt)}`,
    verdict: verdict(sweep),
    badges: badges(sweep),
    figures: figures(sweep),
    main: html`${listSection('warned', 'Warnings', warnings)} ${find !== null && findSection(find, search[0], folder)}
    ${drawn.length > 0 && load} ${axes.length === 2 && cells.length > 0 && grid()} ${saturation(sweep)}
    ${cellTables(sweep, folder)} ${plan(sweep)}`,
    charts: [...chartsOf(drawn), ...search],
  });
}

/** @param {Find} find @returns {Chart} */
function findChart({ name, trials, estimate, low, high }) {
  const values = (/** @type {boolean} */ holds) => trials.map((trial) => (trial.holds === holds ? trial.value : null));
  const last = estimate === null ? [] : [estimate];
  const none = trials.map(() => null);
  const texts = [...trials.map((_, i) => String(i + 1)), ...last.map(() => 'answer')];
  return {
    id: 'find',
    title: `The search for the highest ${name}`,
    kind: 'points',
    unit: 'plain',
    xLabel: 'run',
    x: texts.map((_, i) => i + 1),
    xTexts: texts,
    series: [
      { label: 'the conditions hold', color: 2, values: [...values(true), ...last.map(() => null)] },
      { label: 'they do not', color: 1, values: [...values(false), ...last.map(() => null)] },
      ...last.map((answer) => ({
        ...{ label: 'the answer', color: 0 },
        ...{ values: [...none, answer], low: [...none, low], high: [...none, high] },
      })),
    ],
  };
}

/** @param {Find} find @param {Chart} chart @param {string} folder of the files, relative to the page */
function findSection(find, chart, folder) {
  const { name, until, rateHeld, trials, confidence, estimate } = find;
  const held = trials.filter(({ holds }) => holds).length;
  const interval =
    estimate === null ? '' : ` The line at the answer is its ${quantity(100 * confidence, 'percent')} interval.`;
  const conditions = until.map((condition, i) => html`${i > 0 && ', '}<code>${condition}</code>`);
  const rate =
    rateHeld &&
    html`${until.length > 0 && ', and '}the rate held (always required): operations were verified at least 98 % as fast
    as they were due`;
  const summary = `Each point is a run at one ${name}, in the order in which they were made: ${held} of ${trials.length} held.${interval}`;
  return section(
    'search',
    'The search',
    html`<p>Conditions: ${conditions}${rate}.</p>
      ${chartBox([chartFigure(chart, { isWide: true, summary })])}`,
    itemTable(
      'Runs of the search',
      trials,
      [
        ['run', (_, i) => i + 1],
        [name, ({ value }, i) => figureCell(`trials.${i}`, value, quantity(value, 'plain'))],
        [
          wordsHead('conditions'),
          ({ holds }) => html`<td class="${holds ? 'good' : 'bad'}">${holds ? '✓ hold' : '✗ do not'}</td>`,
        ],
        [wordsHead('what does not hold'), ({ failed }) => failed.join('; ')],
        [wordsHead('file'), ({ file }) => html`<a href="${hrefOf(file, folder)}">run file</a>`],
      ],
      { style: 'wraps' },
    ),
  );
}

/** Lines that the verdict names. */
const NAMED = 4;

/** @param {SweepFile} sweep */
export function verdict({ find, saturation: lines, cells }) {
  if (find !== null)
    return find.words === '' ? `The search has not ended: ${find.trials.length} runs so far.` : sentence(find.words);
  const best = bestOf(cells);
  if (best === null) return 'Nothing was measured.';
  const most = `the most was ${quantity(best.tps, 'plain')} verified per second, at ${cellName(best.cell.settings)}`;
  const found = lines.flatMap(({ settings }) => (settings === null ? [] : [cellName(settings)]));
  const more = found.length > NAMED ? `, and on ${found.length - NAMED} more lines` : '';
  const where = found.length === 0 ? 'Not saturated' : `Saturates at ${found.slice(0, NAMED).join('; at ')}${more}`;
  return sentence(lines.length === 0 ? most : `${where}; ${most}`);
}

/** @type {Record<SweepFile['end'], {words: string, kind: 'good' | 'bad' | 'plain'}>} */
const ENDS = {
  running: { words: 'not ended: results so far', kind: 'bad' },
  complete: { words: 'complete', kind: 'good' },
  incomplete: { words: 'incomplete: some runs measured nothing', kind: 'bad' },
  interrupted: { words: 'interrupted', kind: 'bad' },
  failed: { words: 'ended early', kind: 'bad' },
};

/** @param {SweepFile} sweep */
function badges({ end, cells, repeat, saturation: lines, warnings, find }) {
  const runs = cells.flatMap((cell) => cell.runs);
  const bad = runs.filter(({ exitCode }) => exitCode !== 0).length;
  const isFound = lines.some(({ settings }) => settings !== null);
  return [
    (find === null || end !== 'complete') && badge(ENDS[end].words, ENDS[end].kind),
    cells.length > 0 && badge(`${runs.length} of ${cells.length * repeat} runs`, 'plain'),
    find !== null && badge(find.sharp ? 'sharp answer' : 'no sharp answer', find.sharp ? 'good' : 'bad'),
    lines.length > 0 && badge(isFound ? 'saturation found' : 'no saturation', 'plain'),
    badBadge(bad, 'run', ' with an exit code other than 0'),
    badBadge(warnings.length, 'warning'),
  ];
}

/** @param {SweepFile} sweep @returns {KeyFigure[]} */
function figures({ find, cells }) {
  const best = bestOf(cells);
  const interval = `${quantity(100 * (find?.confidence ?? 0), 'percent')} interval`;
  const conditions = [...(find?.until ?? []), ...(find?.rateHeld ? ['the rate held'] : [])];
  const answer =
    find === null
      ? []
      : [
          keyOf('find.estimate', `Highest ${find.name}`, find.estimate, 'plain', `with ${conditions.join(', ')}`),
          keyOf('find.low', 'At least', find.low, 'plain', interval),
          keyOf('find.high', 'At most', find.high, 'plain', interval),
        ];
  if (best === null) return answer;
  const latencies = ['avg', 'p99'].map((name) => {
    const { label, text } = measureOf(name);
    const { metrics, atLeast = [] } = best.cell;
    const value = across(metrics[name]).mean;
    const shown = withBound(text(value), atLeast.includes(name));
    return { name: `best.${name}`, label: `${capital(label)} there`, value, text: shown };
  });
  return [
    ...answer,
    keyOf('best.tps', 'Most TPS', best.tps, 'plain', `at ${cellName(best.cell.settings)}`),
    ...latencies,
    keyOf('cells', 'Cells', cells.length, 'plain'),
  ];
}

/** @param {SweepFile} sweep */
function saturation({ saturation: lines, cells }) {
  const others = cells.filter(({ saturated }) => saturated);
  if (lines.length === 0) return null;
  const cellLines = others.map(({ settings, why }) => `${cellName(settings)}: ${why ?? ''}`);
  return section(
    'saturation',
    'Saturation',
    list(lines.map(({ words }) => sentence(words))),
    note(
      'With a rate, a cell is saturated when more than 10 % of what was asked is missing; without one, when more load brings less than 5 % more throughput and latency grows.',
    ),
    others.length > 1 && details('saturated', `All ${others.length} saturated cells`, list(cellLines)),
  );
}

/** Figures of the first table; the others are in a second one. */
const MAIN = ['tps', 'avg', 'p50', 'p99', 'max', 'failed'];

/** @param {SweepFile} sweep @param {string} folder of the files, relative to the page */
function cellTables(sweep, folder) {
  const { cells } = sweep;
  if (cells.length === 0) return null;
  const isMeasured = (/** @type {string} */ name) => cells.some(({ metrics }) => across(metrics[name]).mean !== null);
  const all = [...new Set(cells.flatMap(({ metrics }) => Object.keys(metrics)))].filter(isMeasured);
  const rest = all.filter((name) => !MAIN.includes(name));
  const more = () => cellTable(sweep, rest, 'Cells, further figures', null);
  return section(
    'cells',
    'All cells',
    cells.some(({ runs }) => runs.length > 1) &&
      note('Means of the runs of a cell; below them, where they differ, the least and the greatest.'),
    cellTable(sweep, MAIN.filter(isMeasured), 'Cells and their runs', folder),
    rest.length > 0 && details('further', 'Further figures of all cells', more()),
  );
}

/** @param {SweepFile} sweep @param {string[]} names @param {string} label @param {string | null} folder null: without links */
function cellTable({ axes, cells }, names, label, folder) {
  const { text, label: askedLabel } = measureOf('asked');
  const hasAsked = folder !== null && cells.some(({ asked }) => asked !== null);
  return itemTable(
    label,
    cells,
    [
      ...axes.map(({ name }) => /** @type {Column<SweepCell>} */ ([name, ({ settings }) => settings[name] ?? ''])),
      hasAsked && [askedLabel, ({ asked }, i) => figureCell(`cells.${i}.asked`, asked, text(asked))],
      ...names.map((name) => {
        const measure = measureOf(name);
        return /** @type {Column<SweepCell>} */ ([
          measure.label,
          (cell, i) => valueCell(cell, measure, folder === null ? null : i),
        ]);
      }),
      folder !== null && [wordsHead('runs'), (cell) => runsCell(cell, folder)],
    ],
    { style: 'cells' },
  );
}

/** @param {SweepCell} cell @param {Measure} measure @param {number | null} i null: the figure is marked elsewhere */
function valueCell({ metrics, atLeast = [] }, { name, text }, i) {
  const { mean, low, high } = across(metrics[name]);
  const ends = text(low) !== text(high) && html`<small>${text(low)} to ${text(high)}</small>`;
  const content = html`${withBound(text(mean), atLeast.includes(name))}${ends}`;
  return i === null ? content : figureCell(`cells.${i}.${name}`, mean, content);
}

/** @param {SweepCell} cell @param {string} folder */
function runsCell({ saturated, runs }, folder) {
  const links = runs.map(({ repeat, file, exitCode, complaint }, i) => {
    const bad = [exitCode !== 0 && `exit code ${exitCode}`, complaint].filter((words) => words).join(', ');
    const link = html`<a href="${hrefOf(file, folder)}">run ${repeat}</a>`;
    return html`${i > 0 && ', '}${complaint === null ? link : `run ${repeat}`}${bad !== '' && html` <span class="bad">(${bad})</span>`}`;
  });
  return html`<td class="words">${saturated && html`<strong class="bad">saturated</strong> `}${links}</td>`;
}

/** A link to a file, escaped. @param {string} file @param {string} folder */
export function hrefOf(file, folder) {
  const parts = [...folder.split('/'), ...file.split('/')].filter((part) => part !== '' && part !== '.');
  return `./${parts.map(encodeURIComponent).join('/')}`;
}

/** @param {SweepFile} sweep */
function plan({ axes, cells, repeat, restMs, beforeCell, options, environment, stress, startedAt, endedAt, find }) {
  const size = axes.map(({ name, values }) => `${values.length} of ${name}`).join(' × ');
  const turns =
    repeat === 1
      ? 'each run once'
      : `each run ${repeat} times; all cells once, then all again in the opposite order, and so on, so that what drifts hits all alike`;
  const rest = clockTime(restMs / 1000);
  const between = restMs > 0 ? `, with ${rest} of rest between runs` : '';
  const asked = {
    ...Object.fromEntries(axes.map(({ name, values }) => [name, values.join(', ')])),
    ...(find === null ? { repeat } : { find: find.name, ...(find.until.length > 0 && { until: find.until }) }),
    rest,
    ...(beforeCell == null ? {} : { 'before-cell': `a command with SHA-256 ${beforeCell}...` }),
    ...options,
  };
  const dashed = Object.fromEntries(Object.entries(asked).map(([name, value]) => [`--${name}`, value]));
  return section(
    'plan',
    'What was asked, and where it ran',
    axes.length > 0 && html`<p>${cells.length} cells (${size}), ${turns}${between}.</p>`,
    facts('Options', dashed),
    facts('Environment', { ...environment, stress, started: startedAt, ended: endedAt ?? 'not yet' }),
  );
}

/** @param {string} label @param {Record<string, unknown>} named */
function facts(label, named) {
  const text = (/** @type {unknown} */ value) => (typeof value === 'object' ? JSON.stringify(value) : String(value));
  const rows = Object.entries(named).map(([name, value]) =>
    row(name, [Array.isArray(value) ? value.map(String).join(', ') : value == null ? 'not known' : text(value)]),
  );
  return scrollTable(label, { rows, style: 'wraps', caption: label });
}
