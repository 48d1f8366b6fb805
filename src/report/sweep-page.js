import { across, capital, chartFigure, measureOf, sentence, withBound } from './charts.js';
import { quantity } from './client/quantity.js';
import { html, renderPage, row, scrollTable, section } from './html.js';
import { badge, figureCell, keyFigure, warnings } from './run-sections.js';
import { bestOf, cellName, gridTable, layoutOf, sweepCharts } from './sweep-charts.js';
import { cellTables, hrefOf, plan, saturation } from './sweep-sections.js';

/**
 * @import { Find, SweepFile } from '../types.d.ts'
 * @import { Chart } from './charts.js'
 * @import { KeyFigure } from './run-sections.js'
 */

/** The page of a sweep or a search. */

/** @param {Find} find @returns {Chart} */
function findChart({ name, trials, estimate, low, high }) {
  const values = (/** @type {boolean} */ holds) => trials.map((trial) => (trial.holds === holds ? trial.value : null));
  const last = estimate === null ? [] : [estimate];
  const gap = last.map(() => null);
  const none = trials.map(() => null);
  return {
    id: 'find',
    title: `The search for the highest ${name}`,
    kind: 'points',
    unit: 'plain',
    xLabel: 'run',
    x: [...trials, ...last].map((_, i) => i + 1),
    xTexts: [...trials.map((_, i) => String(i + 1)), ...last.map(() => 'answer')],
    series: [
      { label: 'the conditions hold', color: 2, values: [...values(true), ...gap] },
      { label: 'they do not', color: 1, values: [...values(false), ...gap] },
      ...(estimate === null
        ? []
        : [{ label: 'the answer', color: 0, values: [...none, estimate], low: [...none, low], high: [...none, high] }]),
    ],
  };
}

/** @param {Find} find */
function answerWords({ words, trials }) {
  return words === '' ? `The search has not ended: ${trials.length} runs so far.` : sentence(words);
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
    ', and the rate held (always required): operations were verified at least 98 % as fast as they were due';
  const words = ['conditions', 'what does not hold', 'file'].map(
    (head) => html`<th scope="col" class="words">${head}</th>`,
  );
  const summary = `Each point is a run at one ${name}, in the order in which they were made: ${held} of ${trials.length} held.${interval}`;
  return section(
    'search',
    'The search',
    html`<p>Conditions: ${conditions}${rate}.</p>
      <div class="charts">${chartFigure(chart, { isWide: true, summary })}</div>`,
    scrollTable('Runs of the search', {
      heads: ['run', name, ...words],
      rows: trials.map(({ value, holds, failed, file }, i) =>
        row(i + 1, [
          figureCell(`trials.${i}`, value, quantity(value, 'plain')),
          html`<td class="${holds ? 'good' : 'bad'}">${holds ? '✓ hold' : '✗ do not'}</td>`,
          failed.join('; '),
          html`<td><a href="${hrefOf(file, folder)}">run file</a></td>`,
        ]),
      ),
      style: 'wraps',
    }),
  );
}

/** Figures of the grids. */
const GRIDS = ['tps', 'avg', 'p99'];

/**
 * @param {SweepFile} sweep
 * @param {{folder?: string}} [where] the folder of the sweep relative to the page, for links
 * @returns {string} an HTML document
 */
export function renderSweep(sweep, { folder = '.' } = {}) {
  const layout = layoutOf(sweep);
  const drawn = layout === null ? [] : sweepCharts(layout);
  const search = sweep.find === null ? null : findChart(sweep.find);
  const { cells, axes, repeat, find } = sweep;
  const note = (/** @type {string} */ words) => html`<p class="note">${words}</p>`;
  const main = html`${warnings(sweep)} ${find !== null && search !== null && findSection(find, search, folder)}
  ${
    drawn.length > 0 &&
    section(
      'load',
      'Throughput and latency',
      repeat > 1 &&
        note('Points are means of the runs of a cell; the bars through them reach from the least to the greatest.'),
      html`<div class="charts">${drawn.map(({ figure }) => figure)}</div>`,
    )
  }
  ${
    axes.length === 2 &&
    cells.length > 0 &&
    section(
      'grid',
      'The grid',
      cells.some(({ saturated }) => saturated) &&
        note('In cells marked “saturated” more load brings little but latency; the reasons are below.'),
      html`<div class="grids">${GRIDS.map((name) => gridTable(sweep, name))}</div>`,
    )
  }
  ${saturation(sweep)} ${cellTables(sweep, folder)} ${plan(sweep)}`;
  const charts = [...drawn.map(({ chart }) => chart), ...(search === null ? [] : [search])];
  return renderPage({ title: titleOf(sweep), lead: lead(sweep), main, data: { time: null, charts } });
}

/** @param {SweepFile} sweep */
function titleOf({ axes, find, environment, startedAt }) {
  const what =
    find === null ? `Sweep of ${axes.map(({ name }) => name).join(' × ')}` : `Search for the highest ${find.name}`;
  const where = environment === null ? '' : ` at ${environment.endpoint}`;
  return `${what}${where}, ${startedAt.slice(0, 16).replace('T', ' ')} UTC`;
}

/** @param {SweepFile} sweep */
function lead(sweep) {
  return html`<p class="verdict">${verdict(sweep)}</p>
    <ul class="badges">
      ${badges(sweep)}
    </ul>
    <dl class="figures">${figures(sweep).map(keyFigure)}</dl>`;
}

/** Lines that the verdict names. */
const NAMED = 4;

/** @param {SweepFile} sweep */
export function verdict({ find, saturation: lines, cells }) {
  if (find !== null) return answerWords(find);
  const best = bestOf(cells);
  if (best === null) return 'Nothing was measured.';
  const most = `the most was ${quantity(best.tps, 'plain')} verified per second, at ${cellName(best.cell.settings)}`;
  const found = lines.flatMap(({ settings, along, at }) => (settings === null ? [] : [{ settings, along, at }]));
  if (lines.length === 0) return sentence(most);
  const doubtful = doubtfulOf(lines, cells);
  if (found.length === 0 && doubtful.length > 0) return sentence(`${doubtful[0].words}; ${most}`);
  if (found.length === 0) return sentence(`Not saturated: ${most}`);
  const named = found.slice(0, NAMED).map(({ settings, along, at }) => {
    const others = cellName(at);
    return `${along} ${settings[along]}${others === '' ? '' : ` with ${others}`}${shortfall(cells, settings)}`;
  });
  const more = found.length > NAMED ? `, and on ${found.length - NAMED} more lines` : '';
  const rest = lines.length - found.length - doubtful.length;
  const free = [
    ...(rest > 0 ? [`; ${rest} of ${lines.length} lines are not saturated`] : []),
    ...(doubtful.length > 0 ? [`; ${doubtful.length} of ${lines.length} lines only in places`] : []),
  ].join('');
  return sentence(`Saturates at ${named.join('; at ')}${more}${free}; ${most}`);
}

/**
 * Lines with saturated cells below others that are not saturated.
 * @param {SweepFile['saturation']} lines
 * @param {SweepFile['cells']} cells
 */
function doubtfulOf(lines, cells) {
  const isOn = (/** @type {SweepFile['cells'][number]} */ { settings }, /** @type {Record<string, string>} */ at) =>
    Object.entries(at).every(([name, value]) => settings[name] === value);
  return lines.filter(
    ({ settings, at }) => settings === null && cells.some((cell) => cell.saturated && isOn(cell, at)),
  );
}

/** @param {SweepFile['cells']} cells @param {Record<string, string>} settings */
function shortfall(cells, settings) {
  const cell = cells.find((one) => cellName(one.settings) === cellName(settings));
  const tps = cell === undefined ? null : (bestOf([cell])?.tps ?? null);
  if (tps === null || cell === undefined) return '';
  return cell.asked === null
    ? ` (${quantity(tps, 'plain')} per second)`
    : ` (${quantity(tps, 'plain')} of ${quantity(cell.asked, 'plain')} per second)`;
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
function badges({ end, cells, repeat, saturation: lines, warnings: all, find }) {
  const runs = cells.flatMap((cell) => cell.runs);
  const bad = runs.filter(({ exitCode }) => exitCode !== 0).length;
  const { words, kind } = ENDS[end] ?? { words: end, kind: 'plain' };
  return [
    badge(words, kind),
    cells.length > 0 && badge(`${runs.length} of ${cells.length * repeat} runs`, 'plain'),
    find !== null && badge(find.sharp ? 'sharp answer' : 'no sharp answer', find.sharp ? 'good' : 'bad'),
    lines.length > 0 && badge(saturationBadge(lines, cells), 'plain'),
    bad > 0 && badge(`${bad} run${bad === 1 ? '' : 's'} with an exit code other than 0`, 'bad'),
    all.length > 0 && badge(`${all.length} warning${all.length === 1 ? '' : 's'}`, 'bad'),
  ];
}

/** @param {SweepFile['saturation']} lines @param {SweepFile['cells']} cells */
function saturationBadge(lines, cells) {
  if (lines.some(({ settings }) => settings !== null)) return 'saturation found';
  return doubtfulOf(lines, cells).length > 0 ? 'saturation in doubt' : 'no saturation';
}

/** @param {SweepFile} sweep @returns {KeyFigure[]} */
function figures({ find, cells }) {
  const best = bestOf(cells);
  const number = (/** @type {string} */ name, /** @type {string} */ label, /** @type {number | null} */ value) => ({
    name,
    label,
    value,
    text: quantity(value, 'plain'),
  });
  const answer =
    find === null
      ? []
      : [
          {
            ...number('find.estimate', `Highest ${find.name}`, find.estimate),
            note: `with ${[...find.until, ...(find.rateHeld ? ['the rate held'] : [])].join(', ')}`,
          },
          {
            ...number('find.low', 'At least', find.low),
            note: `${quantity(100 * find.confidence, 'percent')} interval`,
          },
          {
            ...number('find.high', 'At most', find.high),
            note: `${quantity(100 * find.confidence, 'percent')} interval`,
          },
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
    { ...number('best.tps', 'Most TPS', best.tps), note: `at ${cellName(best.cell.settings)}` },
    ...latencies,
    number('cells', 'Cells', cells.length),
  ];
}
