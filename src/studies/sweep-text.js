import { resultMarkdown } from '../outputs/markdown.js';
import { csvLine } from '../outputs/rows.js';
import { shellWord } from '../text.js';
import { KEPT, PEAKS, digits, metricOf } from './metrics.js';
import { cellName, commandWords, namedParts } from './plan.js';
import { mean, meanOf, standardDeviation } from './statistics.js';

/**
 * A sweep or a search as text: tables for the terminal, Markdown and the page, CSV, and the analysis of saturation.
 *
 * @import { Axis, Find, Saturation, SweepCell, SweepFile } from '../types.d.ts'
 * @import { Result, Table } from '../outputs/table.js'
 *
 * @typedef {{head: string, text: (cell: SweepCell) => string}} Column
 */

/** Marks a saturated cell in a grid. */
const MARK = '*';

const ROW_METRICS = ['tps', 'avg', 'p50', 'p99', 'max', 'cpu', 'failed'];
export const GRID_METRICS = Object.freeze(['tps', 'avg', 'p99']);

/** A table of all cells; for two axes a grid of each figure. @param {SweepFile} sweep @returns {Table[]} */
function cellTables({ axes, cells }) {
  const isMarked = cells.some(({ saturated }) => saturated);
  if (axes.length === 2) return GRID_METRICS.map((name) => gridTable(axes, cells, metricColumn(name), isMarked));
  const columns = [
    ...axes.map(({ name }) => ({ head: name, text: (/** @type {SweepCell} */ { settings }) => settings[name] })),
    ...(cells.some(({ asked }) => asked !== null) ? [ASKED] : []),
    ...ROW_METRICS.map(metricColumn),
    ...(isMarked ? [SATURATED] : []),
  ];
  const rows = cells.map((cell) => columns.map(({ text }) => text(cell)));
  return [{ id: 'cells', title: 'All cells', head: columns.map(({ head }) => head), rows }];
}

/** @type {Column} */
const ASKED = { head: 'asked/s', text: ({ asked }) => (asked === null ? '-' : digits(asked)) };
/** @type {Column} */
const SATURATED = { head: '', text: ({ saturated }) => (saturated ? 'saturated' : '') };

/** The first axis as rows, the second as columns. @param {readonly Axis[]} axes @param {SweepCell[]} cells @param {Column} column @param {boolean} isMarked @returns {Table} */
function gridTable([down, right], cells, { head, text }, isMarked) {
  /** @param {string} value @param {string} other */
  const textAt = (value, other) => {
    const cell = cells.find(({ settings }) => settings[down.name] === value && settings[right.name] === other);
    return cell === undefined ? '-' : `${text(cell)}${cell.saturated ? ` ${MARK}` : isMarked ? '  ' : ''}`;
  };
  return {
    title: head,
    head: [head, ...right.values.map((value) => `${right.name}=${value}`)],
    rows: down.values.map((value) => [`${down.name}=${value}`, ...right.values.map((other) => textAt(value, other))]),
  };
}

/** The mean of a cell's runs, with their standard deviation. @param {string} name @returns {Column} */
function metricColumn(name) {
  const { label, suffix, scaled } = metricOf(name);
  return {
    head: `${label.replace(/^latency /, '').replace('generator ', '')} ${suffix}`.trimEnd(),
    text: ({ metrics, atLeast = [] }) => {
      const values = known(metrics[name]).map(scaled);
      if (values.length === 0) return '-';
      const text = `${atLeast.includes(name) ? '>= ' : ''}${digits(mean(values))}`;
      return values.length < 2 ? text : `${text} ± ${digits(standardDeviation(values))}`;
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
  const { find } = sweep;
  return {
    title: headline(sweep),
    verdict: verdict(sweep),
    tables: [...(find === null ? [] : [trialsTable(find)]), ...(runsOf(sweep) > 0 ? cellTables(sweep) : [])],
    notes: notes(sweep),
  };
}

/** sweep.md, and --markdown. @param {SweepFile} sweep */
export function sweepMarkdown(sweep) {
  const result = sweepResult(sweep);
  return resultMarkdown({ ...result, notes: [...result.notes, ...howItWasMade(sweep)] });
}

/** @param {Find} find @returns {Table} */
function trialsTable({ name, trials }) {
  return {
    id: 'trials',
    title: 'Runs of the search',
    head: [name, 'held', 'file'],
    rows: trials.map(({ value, holds, failed, file }) => [
      digits(value),
      holds ? 'yes' : `no: ${failed.join(', ')}`,
      file,
    ]),
  };
}

/** Lines that the verdict names. */
const NAMED = 4;

/** @param {SweepFile} sweep */
function verdict({ find, saturation, cells }) {
  if (find !== null)
    return find.words === '' ? `the search has not ended: ${find.trials.length} runs so far` : find.words;
  const best = bestOf(cells);
  if (best === null) return 'nothing was measured';
  const most = `the most was ${digits(best.tps)} verified per second, at ${cellName(best.cell.settings)}`;
  if (saturation.length === 0) return most;
  const found = saturation.flatMap(({ settings }) => (settings === null ? [] : [cellName(settings)]));
  const more = found.length > NAMED ? `, and on ${found.length - NAMED} more lines` : '';
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
  if (find !== null) return `Search: ${ENDS[end]}, ${find.trials.length} runs${where}`;
  return `Sweep: ${ENDS[end]}, ${runsOf(sweep)} of ${cells.length * repeat} runs${repeat > 1 ? ` (mean ± standard deviation of ${repeat})` : ''}${where}`;
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
    ...saturation.map(({ words }) => words),
    ...failed.slice(0, LISTED),
    ...(failed.length > LISTED ? [`... and ${failed.length - LISTED} more runs; sweep.json has them all`] : []),
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
  return `${name}${PEAKS.includes(name) ? SUFFIXES.percent : SUFFIXES[metricOf(name).unit]}`;
}

/** @param {SweepFile} sweep @returns {string[]} */
export function howItWasMade(sweep) {
  const { startedAt, endedAt, end, environment, stress, beforeCell, find } = sweep;
  const parts = Object.entries(namedParts({ ...sweep, beforeCell: null }));
  const command = ['stress sweep', ...parts.map(([name, value]) => `${name}=${shellWord(value)}`)].join(' ');
  const { endpoint, clientVersion, chainId, node, cores, cpu } = environment ?? {};
  const client = clientVersion ?? 'a client that does not say its version';
  return [
    ...(find === null ? [command] : []),
    ...(beforeCell == null ? [] : [`before each run --before-cell, ${commandWords(beforeCell)}`]),
    `${startedAt} to ${endedAt ?? '(not ended)'}, ${end}`,
    ...(environment === null
      ? []
      : [
          `endpoint: ${endpoint}, ${client}, chain ${chainId ?? 'unknown'}`,
          `generator: stress ${stress}, Node.js ${node}, ${cores} cores of ${cpu}`,
        ]),
  ];
}

/**
 * The analysis of saturation: from which load on more load only adds latency.
 *
 * @typedef {object} Point a cell with the means of its runs; null: not measured
 * @property {Record<string, string>} settings
 * @property {number | null} asked per second, total
 * @property {number | null} tps
 * @property {number | null} achieved per second, including operations verified after the window
 * @property {number | null} avgUs
 * @property {boolean} isFallingBehind latency grew during the window in most runs
 */

/** Saturated: more than this share of the asked rate is missing. */
const SHORT = 0.1;
/** Saturated: throughput grows by less than GROWTH, although the load grew by MORE_LOAD and latency by LATENCY_GROWTH. */
const GROWTH = 0.05;
const MORE_LOAD = 0.1;
const LATENCY_GROWTH = 0.05;

/**
 * @param {readonly Point[]} points
 * @param {readonly Axis[]} axes
 * @returns {{along: string, lines: Point[][]} | null} lines of cells in which only the load grows
 */
function loadLines(points, axes) {
  const isOpenLoop = points.some(({ asked }) => asked !== null);
  // In an open loop more wallets do not increase the load.
  const raising = isOpenLoop ? ['rate'] : ['in-flight', 'threads'];
  const along = raising.find((name) => axes.some((axis) => axis.name === name));
  if (along === undefined) return null;
  /** @type {Map<string, Point[]>} */
  const lines = new Map();
  for (const point of points) {
    const key = cellName(others(point.settings, along));
    lines.set(key, [...(lines.get(key) ?? []), point]);
  }
  const loadOf = (/** @type {Point} */ { settings }) => Number(settings[along]);
  return { along, lines: [...lines.values()].map((line) => line.sort((a, b) => loadOf(a) - loadOf(b))) };
}

/**
 * @param {readonly Point[]} points
 * @param {readonly Axis[]} axes
 * @returns {{reasons: Map<Point, string>, saturation: Saturation[]}} reasons of saturated cells
 */
export function findSaturation(points, axes) {
  /** @type {Map<Point, string>} */
  const reasons = new Map();
  const found = loadLines(points, axes);
  if (found === null) return { reasons, saturation: [] };
  const { along, lines } = found;
  const saturation = lines.map((line) => {
    /** @type {Point | null} */
    let best = null;
    for (const point of line) {
      const why = point.asked === null ? plateau(point, best, along) : shortfall(point);
      if (why !== null) reasons.set(point, why);
      if (point.tps !== null && (best?.tps ?? 0) < point.tps) best = point;
    }
    return judged(line, along, reasons);
  });
  return { reasons, saturation };
}

/**
 * Operations in flight at the end of the window are missing in TPS; only a growing latency shows that the node cannot
 * keep up.
 * @param {Point} point
 */
function shortfall({ asked, tps, achieved, isFallingBehind }) {
  if (asked === null || tps === null || achieved === null) return null;
  if (achieved < (1 - SHORT) * asked)
    return `${rate(achieved)} of ${rate(asked)} asked per second were verified, ${percent(1 - achieved / asked)} short`;
  if (tps >= (1 - SHORT) * asked || !isFallingBehind) return null;
  return `${rate(tps)} of ${rate(asked)} asked per second were verified in the window, ${percent(1 - tps / asked)} short, and latency grew all the while`;
}

/** @param {Point} point @param {Point | null} best cell with less load @param {string} along */
function plateau({ settings, tps, avgUs }, best, along) {
  if (tps === null || best === null || best.tps === null) return null;
  const before = `at ${along}=${best.settings[along]}`;
  if (tps === 0) return `nothing was verified, after ${rate(best.tps)} TPS ${before}`;
  if (avgUs === null || best.avgUs === null) return null;
  const load = Number(settings[along]) / Number(best.settings[along]);
  const growth = tps / best.tps - 1;
  const latencyGrowth = avgUs / best.avgUs - 1;
  if (load < 1 + MORE_LOAD || growth >= GROWTH || latencyGrowth < LATENCY_GROWTH) return null;
  const change = `${percent(Math.abs(growth))} ${growth < 0 ? 'less' : 'more'}`;
  return `${rate(tps)} TPS are ${change} than ${before}, while the mean latency grew by ${percent(latencyGrowth)}`;
}

/** @param {Point[]} line @param {string} along @param {Map<Point, string>} reasons @returns {Saturation} */
function judged(line, along, reasons) {
  const above = line.findLastIndex((point) => !reasons.has(point)) + 1;
  const first = line.at(above);
  // A saturated cell below one that is not saturated is noise, or the cells above it are.
  const odd = line.slice(0, above).filter((point) => reasons.has(point));
  const at = others(line[0].settings, along);
  const where = Object.keys(at).length === 0 ? '' : `${cellName(at)}: `;
  const found =
    first === undefined
      ? `not saturated up to ${along}=${line.at(-1)?.settings[along]}`
      : `saturated from ${along}=${first.settings[along]} on: ${reasons.get(first)}`;
  const names = `${along}=${odd.map(({ settings }) => settings[along]).join(', ')}`;
  const noise = odd.length === 0 ? '' : `; ${names} may be noise, a higher load did better; --repeat shows whether`;
  return { along, at, settings: first?.settings ?? null, words: `${where}${found}${noise}` };
}

/** @param {Record<string, string>} settings @param {string} along */
function others(settings, along) {
  return Object.fromEntries(Object.entries(settings).filter(([name]) => name !== along));
}

/** @param {number} value */
function rate(value) {
  return value.toLocaleString('en-US', { maximumFractionDigits: 1 });
}

/** @param {number} share */
function percent(share) {
  return `${(100 * share).toFixed(share < 0.1 ? 1 : 0)} %`;
}
