import { figuresTable } from '../outputs/format.js';
import { bold, escaped, markdownOf, markdownTable } from '../outputs/markdown.js';
import { csvLine } from '../outputs/rows.js';
import { printable, shellWord } from '../text.js';
import { KEPT, digits, metricOf, tableUnit } from './metrics.js';
import { cellName, commandWords, namedParts } from './plan.js';
import { mean, standardDeviation } from './statistics.js';

/**
 * @import { Axis, SweepCell, SweepFile } from '../types.d.ts'
 */

/**
 * A sweep as text: tables for the terminal and for Markdown, and CSV.
 *
 * @typedef {{title: string, head: string[], rows: string[][]}} TextTable the first column has names
 * @typedef {{head: string, text: (cell: SweepCell) => string}} Column
 */

/** Marks a saturated cell in a grid. */
const MARK = '*';

const ROW_METRICS = ['tps', 'avg', 'p50', 'p99', 'max', 'cpu', 'failed'];
const GRID_METRICS = ['tps', 'avg', 'p99'];

/** @param {SweepFile} sweep @returns {TextTable[]} */
function sweepTables({ axes: swept, find, cells }) {
  const axes = find === null ? swept : [{ name: find.name, values: [] }];
  const isMarked = cells.some(({ saturated }) => saturated);
  if (axes.length === 2) return GRID_METRICS.map((name) => gridTable(axes, cells, metricColumn(name), isMarked));
  const columns = [
    ...axes.map(({ name }) => ({ head: name, text: (/** @type {SweepCell} */ { settings }) => settings[name] })),
    ...(cells.some(({ asked }) => asked !== null) ? [ASKED] : []),
    ...ROW_METRICS.map(metricColumn),
    ...(isMarked ? [SATURATED] : []),
  ];
  return [
    {
      title: '',
      head: columns.map(({ head }) => head),
      rows: cells.map((cell) => columns.map(({ text }) => text(cell))),
    },
  ];
}

/** @type {Column} */
const ASKED = { head: 'asked/s', text: ({ asked }) => (asked === null ? '-' : digits(asked)) };
/** @type {Column} */
const SATURATED = { head: '', text: ({ saturated }) => (saturated ? 'saturated' : '') };

/** The first axis as rows, the second as columns. @param {readonly Axis[]} axes @param {SweepCell[]} cells @param {Column} column @param {boolean} isMarked @returns {TextTable} */
function gridTable([down, right], cells, { head, text }, isMarked) {
  /** @param {string} value @param {string} other */
  const textAt = (value, other) => {
    const cell = cells.find(({ settings }) => settings[down.name] === value && settings[right.name] === other);
    return cell === undefined ? '-' : `${text(cell)}${cell.saturated ? ` ${MARK}` : isMarked ? '  ' : ''}`;
  };
  return {
    title: head,
    head: ['', ...right.values.map((value) => `${right.name}=${value}`)],
    rows: down.values.map((value) => [`${down.name}=${value}`, ...right.values.map((other) => textAt(value, other))]),
  };
}

/** The mean of a cell's runs, with their standard deviation. @param {string} name @returns {Column} */
function metricColumn(name) {
  const { label, unit } = metricOf(name);
  const { word, factor } = tableUnit({ name, unit });
  return {
    head: `${label.replace(/^latency /, '').replace('generator ', '')} ${word}`.trimEnd(),
    text: ({ metrics, atLeast = [] }) => {
      const values = (metrics[name] ?? []).filter((value) => value !== null).map((value) => value * factor);
      if (values.length === 0) return '-';
      const text = `${atLeast.includes(name) ? '>= ' : ''}${digits(mean(values))}`;
      return values.length < 2 ? text : `${text} ± ${digits(standardDeviation(values))}`;
    },
  };
}

/** @type {Record<SweepFile['end'], string>} */
const ENDS = {
  running: 'not ended',
  complete: 'complete',
  incomplete: 'some runs measured nothing',
  interrupted: 'interrupted',
  failed: 'ended early',
};

/** Failed runs that are listed. */
const LISTED = 10;

/** @param {SweepFile} sweep */
export function sweepText(sweep) {
  const tables = sweepTables(sweep).map(
    ({ title, head, rows }) => `${title === '' ? '' : `${title}\n`}${figuresTable(head, rows)}`,
  );
  const isMeasured = runsOf(sweep) > 0;
  return printable(['', headline(sweep), ...(isMeasured ? ['', tables.join('\n\n')] : []), ...notes(sweep)].join('\n'));
}

/** @param {SweepFile} sweep */
function headline(sweep) {
  const { end, cells, repeat, environment, find } = sweep;
  const where = environment === null ? '' : `; ${environment.clientVersion ?? 'a node'} at ${environment.endpoint}`;
  if (find !== null) return `Search: ${ENDS[end]}, ${find.trials.length} runs${where}`;
  return `Sweep: ${ENDS[end]}, ${runsOf(sweep)} of ${cells.length * repeat} runs${repeat > 1 ? ` (mean ± standard deviation of ${repeat})` : ''}${where}`;
}

/** @param {SweepFile} sweep */
function runsOf({ cells }) {
  return cells.reduce((sum, { runs }) => sum + runs.filter(({ complaint }) => complaint === null).length, 0);
}

/** @param {SweepFile} sweep @returns {string[]} */
function notes({ axes, cells, saturation, find, warnings }) {
  const isGrid = axes.length === 2 && cells.some(({ saturated }) => saturated);
  const failed = cells.flatMap(({ settings, runs }) =>
    runs
      .filter(({ exitCode, complaint }) => exitCode !== 0 || complaint !== null)
      .map(({ repeat, exitCode, complaint }) => {
        const words = `${cellName(settings)}, run ${repeat}: exit code ${exitCode}`;
        return complaint === null ? words : `${words}, ${complaint}`;
      }),
  );
  const lines = [
    ...(isGrid ? [`${MARK} saturated`] : []),
    ...saturation.map(({ words }) => words),
    ...(find === null || find.words === '' ? [] : [find.words]),
    ...failed.slice(0, LISTED),
    ...(failed.length > LISTED ? [`... and ${failed.length - LISTED} more runs; sweep.json has them all`] : []),
    ...warnings,
  ];
  return lines.length === 0 ? [] : ['', ...lines];
}

/** @type {Readonly<Record<ReturnType<typeof metricOf>['unit'], string>>} */
const SUFFIXES = Object.freeze({
  us: 'Us',
  bytes: 'Bytes',
  percent: 'Percent',
  perSecond: '',
  count: '',
  gas: '',
  gasPerSecond: '',
});

/** @param {SweepFile} sweep */
export function sweepCsv({ axes, cells }) {
  const names = axes.map(({ name }) => name);
  const columns = ['repeat', 'exitCode', 'startedAt', 'file', 'complaint', 'askedPerSecond'];
  const rows = cells.flatMap((cell) =>
    cell.runs.map(({ repeat, exitCode, startedAt, file, complaint }, i) => [
      ...names.map((name) => cell.settings[name]),
      ...[repeat, exitCode, startedAt, file, complaint, cell.asked],
      ...KEPT.map((name) => cell.metrics[name][i]),
    ]),
  );
  return [[...names, ...columns, ...KEPT.map(columnOf)], ...rows].map(csvLine).join('');
}

/** @param {string} name of a metric */
function columnOf(name) {
  return `${name}${SUFFIXES[metricOf(name).unit]}`;
}

/** @param {SweepFile} sweep */
export function sweepMarkdown(sweep) {
  const { startedAt, endedAt, end, environment, stress, beforeCell } = sweep;
  const lines = ['# Sweep', ''];
  for (const { title, head, rows } of sweepTables(sweep)) {
    if (title !== '') lines.push(`## ${escaped(title)}`, '');
    lines.push(markdownTable(head, rows), '');
  }
  for (const line of notes(sweep)) if (line !== '') lines.push(`- ${escaped(line)}`);
  lines.push('', '## How it was made', '', '```sh', commandLine(sweep), '```', '');
  lines.push(`- ${startedAt} to ${endedAt ?? '(not ended)'}, ${end}`);
  if (environment !== null) {
    const { endpoint, clientVersion, chainId, node, cores, cpu } = environment;
    const client = clientVersion ?? 'a client that does not say its version';
    lines.push(
      `- endpoint: ${escaped(endpoint)}, ${escaped(client)}, chain ${chainId ?? 'unknown'}`,
      `- generator: stress ${stress}, Node.js ${escaped(node)}, ${cores} cores of ${escaped(cpu)}`,
    );
  }
  if (beforeCell != null) lines.push(`- before each run --before-cell, ${commandWords(beforeCell)}`);
  return [...lines, ''].join('\n');
}

/** The result first, for --markdown. @param {SweepFile} sweep */
export function sweepSummary(sweep) {
  const { find, saturation } = sweep;
  const words = find === null ? saturation.map((line) => line.words).join('; ') : find.words;
  const trials = (find?.trials ?? []).map(({ value, holds, failed }) => [
    digits(value),
    holds ? 'yes' : `no: ${failed.join(', ')}`,
  ]);
  return markdownOf([
    bold(words === '' ? headline(sweep) : words),
    ...(find === null
      ? sweepTables(sweep).map(({ head, rows }) => markdownTable(head, rows))
      : [markdownTable([find.name, 'held'], trials)]),
    escaped(headline(sweep)),
  ]);
}

/** The command line of the sweep, without secrets. @param {SweepFile} sweep */
export function commandLine(sweep) {
  const parts = Object.entries(namedParts({ ...sweep, beforeCell: null }));
  return ['stress sweep', ...parts.map(([name, value]) => `${name}=${shellWord(value)}`)].join(' ');
}
