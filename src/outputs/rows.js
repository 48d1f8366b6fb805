import { OutputError } from '../errors.js';
import { statesGas } from '../stats/figures.js';
import { BoundedFile } from '../bounded-file.js';
import { warnBy } from './log.js';
import { stdout } from './streams.js';

/**
 * @import { Output, OutputOptions } from '../contracts/output.d.ts'
 * @import { IntervalRow } from '../contracts/run-file.d.ts'
 */

/**
 * Rows of named columns, as CSV (RFC 4180, with \n) or NDJSON, whichever the name of the file says. Nothing is an empty field in
 * CSV, and null in NDJSON.
 *
 * @typedef {string | number | null} Cell
 */

class RowFile extends BoundedFile {
  /** @type {readonly string[]} */
  #columns;
  /** @type {(cells: Cell[]) => string} */
  #line;

  /**
   * @param {string} file
   * @param {readonly string[]} columns
   * @param {ConstructorParameters<typeof BoundedFile>[1]} [limits]
   */
  constructor(file, columns, limits) {
    super(file, limits);
    this.#columns = columns;
    this.#line = isCsv(file) ? csvLine : jsonLine(columns);
  }

  /** Empties the file; CSV begins with the names of the columns. */
  beginRows() {
    this.begin(isCsv(this.file) ? csvLine(this.#columns) : '');
  }

  /** @param {Cell[]} cells one for each column */
  addRow(cells) {
    this.add(this.#line(cells));
  }
}

/** @param {string} file */
function isCsv(file) {
  return /\.csv(\.gz)?$/.test(file);
}

/** @param {readonly Cell[]} cells */
export function csvLine(cells) {
  let line = csvField(cells[0]);
  for (let i = 1; i < cells.length; i += 1) line += `,${csvField(cells[i])}`;
  return `${line}\n`;
}

/** An empty text is quoted, so that it is not taken for nothing. @param {Cell} cell */
function csvField(cell) {
  if (cell === null) return '';
  if (typeof cell === 'number') return String(cell);
  return cell === '' || /[",\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell;
}

/** @param {readonly string[]} columns */
function jsonLine(columns) {
  const names = columns.map((name, i) => `${i === 0 ? '{' : ','}${JSON.stringify(name)}:`);
  return (/** @type {readonly Cell[]} */ cells) => {
    let line = '';
    for (let i = 0; i < names.length; i += 1) {
      const cell = cells[i];
      line += names[i] + (typeof cell === 'string' ? jsonText(cell) : cell);
    }
    return `${line}}\n`;
  };
}

/** Most texts are plain, and looking is cheaper than JSON.stringify(). @param {string} text */
function jsonText(text) {
  return /^[\w ]*$/.test(text) ? `"${text}"` : JSON.stringify(text);
}

/** The columns, for good: docs/outputs.md says what is in each. */
const SAMPLE_COLUMNS = Object.freeze(
  'wallet nonce hash outcome code intended_at_us started_at_us sent_at_us accepted_at_us included_at_us ended_at_us block'
    .concat(' effect target name endpoint visible_at_us spread_from_us spread_to_us')
    .split(' '),
);

/**
 * A row per operation, including warm-up and drain. Instants are in microseconds since the start of the load.
 * @param {OutputOptions} options
 * @returns {Output}
 */
export function createSamplesOutput(options) {
  const file = new RowFile(/** @type {string} */ (options.samples), SAMPLE_COLUMNS, { warn: warnBy(options) });
  let startUs = 0;
  /** @param {number | null} atUs */
  const since = (atUs) => (atUs === null ? null : atUs - startUs);
  return {
    ...file.members,
    begin: (clock) => {
      startUs = clock.startUs;
      file.beginRows();
    },
    sample: (sample) =>
      file.addRow([
        ...[sample.walletIndex, sample.nonce, sample.hash, sample.outcome, sample.code],
        ...[since(sample.intendedAtUs), since(sample.startedAtUs), since(sample.sentAtUs)],
        ...[since(sample.acceptedAtUs), since(sample.includedAtUs), since(sample.endedAtUs)],
        ...[sample.blockNumber, sample.effect, sample.target, sample.name, sample.endpoint],
        ...[since(sample.visibleAtUs), since(sample.sighting?.fromUs ?? null), since(sample.sighting?.toUs ?? null)],
      ]),
  };
}

/** The columns, for good: docs/outputs.md says what is in each. */
const BLOCK_COLUMNS = Object.freeze(
  'number seen_at_ms timestamp_s transactions ours gas_used gas_limit hash'.split(' '),
);

/** A row per block of the load and the drain. @param {OutputOptions} options @returns {Output} */
export function createBlocksOutput(options) {
  const limits = { isLossAnError: true, warn: warnBy(options) };
  const file = new RowFile(/** @type {string} */ (options.blocks), BLOCK_COLUMNS, limits);
  return {
    ...file.members,
    begin: () => file.beginRows(),
    block: ({ number, seenAtMs, timestampS, transactions, ours, gasUsed, gasLimit, hash }) => {
      // A chain that states neither has 0 in both.
      const used = statesGas({ transactions, gasUsed }) ? gasUsed : null;
      file.addRow([number, seenAtMs, timestampS, transactions, ours, used, gasLimit === 0 ? null : gasLimit, hash]);
    },
  };
}

/** Limit of unread rows on standard output, in characters. */
const BOUND_CHARS = 1 << 24;

/**
 * Each interval as a line of JSON, with the members of `intervals` in the run file.
 * @param {OutputOptions} options
 * @param {typeof stdout} [stream]
 * @returns {Output}
 */
export function createIntervalsOutput(options, stream = stdout) {
  if (options.intervals !== '-') {
    const limits = { isLossAnError: true, warn: warnBy(options) };
    const file = new BoundedFile(/** @type {string} */ (options.intervals), limits);
    const interval = (/** @type {IntervalRow} */ row) => {
      file.add(`${JSON.stringify(row)}\n`);
      file.cut();
    };
    return { ...file.members, begin: () => file.begin(''), interval };
  }
  /** @type {OutputError | null} */
  let error = null;
  return {
    interval: (row) => {
      if (stream.stream.writableLength < BOUND_CHARS) stream.write(`${JSON.stringify(row)}\n`);
      else
        error ??= new OutputError('cannot write --intervals to standard output: it was not read, and rows are missing');
    },
    close: async () => ({ error }),
  };
}
