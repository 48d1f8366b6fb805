import { digits, metricOf } from './metrics.js';
import { cellName } from './plan.js';
import { meanOf, PEAKS } from './sweep-cells.js';
import { standardDeviation } from './statistics.js';

/** @import { SweepCell, SweepFile } from './sweep-file.js' */

/**
 * A sweep as tables of text, whatever they are written on.
 *
 * @typedef {{title: string, head: string[], rows: string[][]}} TextTable the first column is of names
 * @typedef {{head: string, text: (cell: SweepCell) => string}} Column
 */

/** Behind a figure of a grid. */
export const MARK = '*';

/** What is printed of each cell, where nobody asked for something else. */
const ROW_METRICS = ['tps', 'avg', 'p50', 'p99', 'max', 'cpu', 'failed'];
const GRID_METRICS = ['tps', 'avg', 'p99'];

/** @param {SweepFile} sweep @returns {TextTable[]} */
export function sweepTables(sweep) {
  const { preset, axes } = sweep;
  if (preset === 'flare') return flareTables(sweep);
  if (preset === 'stellar') return [rowTable(sweep, sweep.cells, STELLAR)];
  if (axes.length !== 2) return [rowTable(sweep, sweep.cells, ROW_METRICS.map(metricColumn))];
  const tables = GRID_METRICS.map((name) => gridTable(sweep, metricColumn(name)));
  return preset === 'cometbft' ? [gridTable(sweep, VERIFIED), ...tables] : tables;
}

/** As the load runner of CometBFT counts: what was sent in the window and went through. @type {Column} */
const VERIFIED = { head: 'transactions', text: figure('verified') };

/** Percentiles, because outliers spoil means. */
const STELLAR = [
  'tps',
  ...['', 'submit.', 'inclusion.', 'readback.'].flatMap((stage) => [`${stage}p50`, `${stage}p90`]),
].map(metricColumn);

/** A table for each setting but the number of contracts. @param {SweepFile} sweep @returns {TextTable[]} */
function flareTables(sweep) {
  const [node, generator] = PEAKS;
  const isNodeSeen = sweep.cells.some((cell) => meanOf(cell.metrics[node] ?? []) !== null);
  const columns = [
    { head: 'Max waits', text: figure('timewait') },
    {
      head: `Max CPU % (${isNodeSeen ? 'node' : 'generator'})`,
      text: figure(isNodeSeen ? node : generator),
    },
    { head: 'TPS', text: figure('tps') },
    ...['avg', 'max', 'min'].map((name) => ({
      head: `${name[0].toUpperCase()}${name.slice(1)} ms`,
      text: figure(name),
    })),
  ];
  /** @type {Map<string, SweepCell[]>} */
  const groups = new Map();
  for (const cell of sweep.cells) {
    const others = Object.fromEntries(Object.entries(cell.settings).filter(([name]) => name !== 'threads'));
    groups.set(cellName(others), [...(groups.get(cellName(others)) ?? []), cell]);
  }
  return [...groups].map(([title, cells]) => {
    const rows = cells.map(({ settings }) => [settings.threads ?? String(sweep.options.threads)]);
    return { title, ...table(['Contracts'], rows, cells, columns) };
  });
}

/** @param {SweepFile} sweep @param {SweepCell[]} cells @param {Column[]} columns @returns {TextTable} */
function rowTable({ axes }, cells, columns) {
  const names = axes.map(({ name }) => name);
  const asked = cells.some((cell) => cell.asked !== null) ? [ASKED] : [];
  const rows = cells.map(({ settings }) => names.map((name) => settings[name]));
  return { title: '', ...table(names, rows, cells, [...asked, ...columns]) };
}

/** @type {Column} */
const ASKED = { head: 'asked/s', text: ({ asked }) => (asked === null ? '-' : digits(asked)) };

/**
 * @param {string[]} names of the first columns
 * @param {string[][]} firsts what is in them
 * @param {SweepCell[]} cells
 * @param {Column[]} columns
 */
function table(names, firsts, cells, columns) {
  const isMarked = cells.some(({ saturated }) => saturated);
  return {
    head: [...names, ...columns.map(({ head }) => head), ...(isMarked ? [''] : [])],
    rows: cells.map((cell, i) => [
      ...firsts[i],
      ...columns.map(({ text }) => text(cell)),
      ...(isMarked ? [cell.saturated ? 'saturated' : ''] : []),
    ]),
  };
}

/** The first axis downwards, the second to the right. @param {SweepFile} sweep @param {Column} column @returns {TextTable} */
function gridTable({ axes: [down, right], cells }, { head, text }) {
  const isMarked = cells.some(({ saturated }) => saturated);
  /** @param {SweepCell | undefined} cell */
  const textOf = (cell) => {
    if (cell === undefined) return '-';
    return `${text(cell)}${cell.saturated ? ` ${MARK}` : isMarked ? '  ' : ''}`;
  };
  return {
    title: head,
    head: ['', ...right.values.map((value) => `${right.name}=${value}`)],
    rows: down.values.map((value) => [
      `${down.name}=${value}`,
      ...right.values.map((other) =>
        textOf(cells.find(({ settings }) => settings[down.name] === value && settings[right.name] === other)),
      ),
    ]),
  };
}

/** @param {string} name @returns {Column} */
function metricColumn(name) {
  const { label, unit } = metricOf(name);
  const words = label.replace(/^latency /, '').replace('generator ', '');
  return { head: [words, unitOf(name, unit).name].filter((word) => word !== '').join(' '), text: figure(name) };
}

/** @param {string} name @param {string} unit */
function unitOf(name, unit) {
  // What an operation costs is a fraction of a millisecond, and known as microseconds.
  if (name === 'cpu') return { name: 'us', factor: 1 };
  if (unit === 'us') return { name: 'ms', factor: 1e-3 };
  if (unit === 'bytes') return { name: 'MB', factor: 1e-6 };
  return { name: unit === 'percent' ? '%' : '', factor: 1 };
}

/** The mean of a cell's runs, with their standard deviation. @param {string} name */
function figure(name) {
  const { factor } = PEAKS.includes(name) ? { factor: 1 } : unitOf(name, metricOf(name).unit);
  return (/** @type {SweepCell} */ { metrics, atLeast = [] }) => {
    const values = (metrics[name] ?? []).filter((value) => value !== null).map((value) => value * factor);
    const mean = meanOf(values);
    if (mean === null) return '-';
    const text = `${atLeast.includes(name) ? '>= ' : ''}${digits(mean)}`;
    return values.length < 2 ? text : `${text} ± ${digits(standardDeviation(values))}`;
  };
}
