import { resultMarkdown } from '../outputs/markdown.js';
import { csvLine } from '../outputs/rows.js';
import { tableOf } from '../outputs/table.js';
import { count, counted, digits, partOf, threeDigits } from '../text.js';
import { dueOf } from './evidence.js';
import { dueText } from './find-answer.js';
import { KEPT, metricOf } from './metrics.js';
import { cellName, commandWords } from './plan.js';
import { mean, meanOf, standardDeviation } from './statistics.js';

/**
 * A sweep or a search as text: tables for the terminal, Markdown and the page, and CSV.
 *
 * @import { Axis, Find, SweepCell, SweepFile } from '../contracts/study.d.ts'
 * @import { Result, Table } from '../outputs/table.js'
 *
 * @typedef {{head: string, text: (cell: SweepCell) => string}} Column
 */

/** Marks a saturated cell in a grid. */
const MARK = '*';

/** Metrics of a search for a rate: what it achieved of its rate decides, so it comes first. */
const RATE_METRICS = ['achieved', 'held'];
const HELD_WORDS =
  'rate held: the share of the rate that was achieved, less the growth of the latency during the run, which shows operations that pile up';
const ROW_METRICS = ['tps', 'avg', 'p50', 'p99', 'max', 'cpu', 'failed'];
export const GRID_METRICS = Object.freeze(['tps', 'avg', 'p99']);

/** A table of all cells, in a search of all runs; for two axes a grid of each figure. @param {SweepFile} sweep @returns {Table[]} */
function cellTables({ axes: swept, find, cells }) {
  const axes = find === null ? swept : [{ name: find.name, values: [] }];
  const isMarked = cells.some(({ saturated }) => saturated);
  if (axes.length === 2) return GRID_METRICS.map((name) => gridTable(axes, cells, name, isMarked));
  const columns = [
    ...axes.map(({ name }) => ({
      head: name,
      text: (/** @type {SweepCell} */ { settings }) =>
        find === null ? (settings[name] ?? '-') : searchedText(settings[name]),
    })),
    ...(cells.some(({ asked, settings }) => asked !== null && (find === null || asked !== Number(settings.rate)))
      ? [ASKED]
      : []),
    ...[...(find?.name === 'rate' ? RATE_METRICS : []), ...ROW_METRICS].map((name) =>
      metricColumn(name, find !== null),
    ),
    ...(isMarked ? [SATURATED] : []),
    ...(find === null ? [] : [inFlightColumn(find), resultColumn(find)]),
  ];
  const shown = find === null ? cells : cells.flatMap(runsAsCells);
  const rows = shown.map((cell) => columns.map(({ text }) => text(cell)));
  const heads = columns.map(({ head }) => head);
  const notes = find?.name === 'rate' ? [HELD_WORDS] : [];
  return [tableOf('cells', find === null ? 'All cells' : 'All runs', heads, rows, notes)];
}

/** With separators, as other columns have them. @param {string | undefined} text of the value of a run; undefined: the pilot run */
function searchedText(text = '-') {
  return text.replace(/^\d+/, (whole) => count(Number(whole)));
}

/** @param {SweepCell} cell @returns {SweepCell[]} */
function runsAsCells(cell) {
  const metricsAt = (/** @type {number} */ i) =>
    Object.fromEntries(Object.entries(cell.metrics).map(([name, values]) => [name, [values[i]]]));
  return cell.runs.map((run, i) => ({ ...cell, runs: [run], metrics: metricsAt(i) }));
}

/** @type {Column} */
const ASKED = { head: 'asked/s', text: ({ asked }) => (asked === null ? '-' : digits(asked)) };
/** @type {Column} */
const SATURATED = { head: '', text: ({ saturated }) => (saturated ? 'saturated' : '') };

/** @param {Find} find @param {SweepCell} cell with one run */
function trialOf({ trials }, { runs: [run] }) {
  return trials.find(({ file }) => file === run.file);
}

/** @param {Find} find @returns {Column} */
function inFlightColumn(find) {
  return { head: 'in flight', text: (cell) => digits(trialOf(find, cell)?.inFlight ?? null) };
}

/** Whether the conditions held in a run, and whether it counts. @param {Find} find @returns {Column} */
function resultColumn(find) {
  return {
    head: 'result',
    text: (cell) => {
      const trial = trialOf(find, cell);
      const { holds, failed, again, limit } = trial ?? {};
      if (holds === undefined) return 'pilot';
      const result = holds ? 'holds' : `fails: ${failed?.join(', ')}`;
      if (trial !== undefined && trial === dueOf(find.trials)) return `${result}; ${dueText(trial, find.stopped)}`;
      if (again) return `${result}; made again ${again}`;
      return limit?.isOurs ? `${result}; does not count: ${limit.words}` : result;
    },
  };
}

/** The first axis as rows, the second as columns. @param {readonly Axis[]} axes @param {SweepCell[]} cells @param {string} name of a metric @param {boolean} isMarked @returns {Table} */
function gridTable([down, right], cells, name, isMarked) {
  const { head, text } = metricColumn(name);
  /** @param {string} value @param {string} other */
  const textAt = (value, other) => {
    const cell = cells.find(({ settings }) => settings[down.name] === value && settings[right.name] === other);
    return cell === undefined ? '-' : `${text(cell)}${cell.saturated ? ` ${MARK}` : isMarked ? '  ' : ''}`;
  };
  const columns = ['', ...right.values.map((value) => `${right.name}=${value}`)];
  const rows = down.values.map((value) => [
    `${down.name}=${value}`,
    ...right.values.map((other) => textAt(value, other)),
  ]);
  return tableOf(`grid-${name}`, head, columns, rows);
}

/** The mean of a cell's runs, with their standard deviation. @param {string} name @param {boolean} [isShort] three digits, and no more before the decimal point @returns {Column} */
function metricColumn(name, isShort = false) {
  const format = isShort ? threeDigits : digits;
  const { label, suffix, scaled } = metricOf(name);
  return {
    head: `${label.replace(/^latency /, '').replace('generator ', '')} ${suffix}`.trimEnd(),
    text: ({ metrics, atLeast = [] }) => {
      const values = known(metrics[name]).map(scaled);
      if (values.length === 0) return '-';
      const text = `${atLeast.includes(name) ? '>= ' : ''}${format(mean(values))}`;
      return values.length < 2 ? text : `${text} ± ${format(standardDeviation(values))}`;
    },
  };
}

/** @param {ReadonlyArray<number | null> | undefined} values of runs @returns {number[]} those that were measured */
export function known(values = []) {
  return values.filter((value) => value !== null);
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

/** @param {SweepFile} sweep @returns {Result} */
export function sweepResult(sweep) {
  return {
    title: headline(sweep),
    verdict: verdict(sweep),
    reasons: sweep.find?.reasons ?? [],
    tables: runsOf(sweep) > 0 ? cellTables(sweep) : [],
    notes: notes(sweep),
  };
}

/** sweep.md, and --markdown. @param {SweepFile} sweep */
export function sweepMarkdown(sweep) {
  const result = sweepResult(sweep);
  return resultMarkdown({ ...result, notes: [...result.notes, ...howItWasMade(sweep)] });
}

/** Lines that the verdict names. */
const NAMED = 4;

/** @param {SweepFile} sweep */
function verdict({ find, saturation, cells }) {
  if (find !== null)
    return find.words === '' ? `the search has not ended: ${counted(find.trials.length, 'run')} so far` : find.words;
  const best = bestOf(cells);
  if (best === null) return 'nothing was measured';
  const most = `the most was ${digits(best.tps)} verified per second, at ${cellName(best.cell.settings)}`;
  if (saturation.length === 0) return most;
  if (saturation.length === 1) return `${saturation[0].words}; ${most}`;
  const found = saturation.flatMap(({ settings }) => (settings === null ? [] : [cellName(settings)]));
  const more = found.length > NAMED ? `, and on ${counted(found.length - NAMED, 'more line')}` : '';
  const where = found.length === 0 ? 'not saturated' : `saturates at ${found.slice(0, NAMED).join('; at ')}${more}`;
  return `${where}; ${most}`;
}

/** The cell with the highest mean throughput. @param {readonly SweepCell[]} cells @returns {{cell: SweepCell, tps: number} | null} */
export function bestOf(cells) {
  const measured = cells.flatMap((cell) => {
    const tps = meanOf(cell.metrics.tps ?? []);
    return tps === null ? [] : [{ cell, tps }];
  });
  return measured.reduce((best, one) => (one.tps > best.tps ? one : best), measured[0] ?? null);
}

/** @param {SweepFile} sweep */
function headline(sweep) {
  const { end, cells, repeat, environment, find } = sweep;
  const where = environment === null ? '' : `; ${environment.clientVersion ?? 'a node'} at ${environment.endpoint}`;
  if (find !== null) return `Search: ${stateOf(find, end)}, ${counted(find.trials.length, 'run')}${where}`;
  return `Sweep: ${ENDS[end]}, ${partOf(runsOf(sweep), cells.length * repeat, 'run')}${repeat > 1 ? ` (mean ± standard deviation of ${repeat})` : ''}${where}`;
}

/** @type {Readonly<Record<NonNullable<Find['stopped']>, string>>} */
const STOPPED = Object.freeze({
  time: 'stopped at the time limit, resumable',
  fees: 'stopped at --max-spend',
  latency: 'ended',
  limit: 'not found',
});

/** @param {Find} find @param {SweepFile['end']} end */
function stateOf({ limit = null, stopped = null, done = true }, end) {
  if (end !== 'complete') return ENDS[end];
  if (limit !== null) return 'not found';
  return `${done ? '' : 'not done, '}${stopped === null ? ENDS.complete : STOPPED[stopped]}`;
}

/** Whether it came to its end with an answer. @param {Pick<SweepFile, 'end' | 'find'>} sweep */
export function isComplete({ end, find }) {
  return end === 'complete' && !find?.limit && !find?.stopped && find?.done !== false;
}

/** @param {SweepFile} sweep */
function runsOf({ cells }) {
  return cells.reduce((sum, { runs }) => sum + runs.filter(({ complaint }) => complaint === null).length, 0);
}

/** @param {SweepFile} sweep @returns {string[]} */
function notes({ axes, cells, saturation, warnings }) {
  const isGrid = axes.length === 2 && cells.some(({ saturated }) => saturated);
  const failed = cells.flatMap(({ settings, runs }) =>
    runs
      .filter(({ exitCode, complaint }) => exitCode !== 0 || complaint !== null)
      .map(({ repeat, exitCode, complaint }) => {
        const words = `${cellName(settings)}, run ${repeat}: exit code ${exitCode}`;
        return complaint === null ? words : `${words}, ${complaint}`;
      }),
  );
  return [
    ...(isGrid ? [`${MARK} saturated`] : []),
    // The verdict has the words of a single line.
    ...(saturation.length > 1 ? saturation.map(({ words }) => words) : []),
    ...failed.slice(0, LISTED),
    ...(failed.length > LISTED ? [`... and ${counted(failed.length - LISTED, 'more run')}: see sweep.json`] : []),
    ...warnings,
  ];
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

/** @param {SweepFile} sweep @returns {string[]} */
export function howItWasMade(sweep) {
  const { startedAt, endedAt, end, environment, stress, beforeCell, find, commandLine } = sweep;
  const { endpoint, clientVersion, chainId, node, cores, cpu } = environment ?? {};
  const client = clientVersion ?? 'a client that does not say its version';
  return [
    // Files of earlier versions do not have it.
    ...(commandLine === undefined ? [] : [commandLine]),
    ...(beforeCell == null ? [] : [`before each run --before-cell, ${commandWords(beforeCell)}`]),
    `${startedAt} to ${endedAt ?? '(not ended)'}, ${find === null ? end : stateOf(find, end)}`,
    ...(environment === null
      ? []
      : [
          `endpoint: ${endpoint}, ${client}, chain ${chainId ?? 'unknown'}`,
          `generator: stress ${stress}, Node.js ${node}, ${counted(cores ?? null, 'core')} of ${cpu}`,
        ]),
  ];
}
