import { Distribution } from '../stats/histogram.js';
import { statesGas } from '../stats/figures.js';
import { countedWords } from '../stats/sample.js';
import { byCode, count, digits, hangingIndent, printable, seconds, timeText } from '../text.js';
import { boundedMs } from './format.js';
import { summaryText } from './summary.js';
import { columnsOf, paintOf } from './terminal.js';

/**
 * @import { Clock } from '../contracts/common.d.ts'
 * @import { LiveFigures, Output, OutputOptions, OutputStream, StatusLine, Totals } from '../contracts/output.d.ts'
 * @import { IntervalRow } from '../contracts/run-file.d.ts'
 *
 * @typedef {readonly [key: string, title: string, width: number]} Column
 */

/**
 * The terminal: a line per interval below a repeated header, the running interval, and the summary.
 * @param {Pick<OutputOptions, 'stream' | 'status' | 'verbose' | 'explain' | 'wide'>} options
 * @returns {Output}
 */
export function createTextOutput({ stream, status, verbose, explain, wide }) {
  const screen = stream.stream;
  const paint = paintOf(screen);
  const table = new IntervalTable();
  let isPlain = false;
  /** @param {string} text */
  const line = (text) => stream.offer(text);
  return {
    notice: (text) => line(hangingIndent(printable(text), columnsOf(screen))),
    begin: (begun) => {
      isPlain = begun.isPlain ?? false;
      if (columnsOf(screen) !== Infinity) line(paint('dim', CTRL_C));
    },
    sample: verbose
      ? ({ outcome, walletIndex, target, effect }) => {
          if (outcome === 'verified' && target !== null) line(`${walletIndex} ${target} ${effect}`);
        }
      : undefined,
    live: status?.isPossible ? (figures) => status.show(liveText(figures, isPlain)) : undefined,
    interval: (row, totals) => {
      if (row.phase === 'drain' || row.endMs - row.startMs < SHORTEST_MS) return;
      const room = wide ? Infinity : columnsOf(screen);
      const { head, cells } = table.add(figuresOf(row, totals), isPlain, room);
      if (head !== null) line(paint('bold', head));
      const troubles = printable(troublesOf(row));
      const hasRoom = cells.length + troubles.length <= room;
      line(hasRoom && troubles !== '' ? cells + paint('red', troubles) : cells);
      if (!hasRoom) line(paint('red', troubles.slice(0, room)));
    },
    finish: (run) => {
      if (run.end !== 'set_up_failed') stream.write(`${summaryText(run, explain, paint, columnsOf(screen))}\n`);
    },
  };
}

const CTRL_C = 'Ctrl-C ends the load and prints the summary; a second Ctrl-C ends at once';

/** A short last interval after Ctrl-C is not worth a line. */
const SHORTEST_MS = 50;

/** Lines between headers, so that one is always visible. */
const HEADER_EVERY = 20;

/** A narrow terminal shows the first of these columns that fit. */
const BY_IMPORTANCE = Object.freeze(
  'elapsed verified tps failed avg max p99 min attempts inFlight runTps gas p50'.split(' '),
);

/** @param {boolean} isPlain @returns {Column[]} with their least widths */
function allColumns(isPlain) {
  const { verified, tps } = countedWords(isPlain);
  const runTps = `run ${tps}`;
  /** @type {Column[]} */
  const columns = [
    ['elapsed', 'elapsed', 9],
    ['attempts', 'attempts', 10],
    ['verified', verified, 10],
    ['tps', tps, 8],
    ['runTps', runTps, Math.max(8, runTps.length)],
    ['gas', 'Mgas/s', 8],
    ...LATENCIES.map((name) => /** @type {Column} */ ([name, `${name} ms`, 8])),
    ['inFlight', 'in flight', 9],
    ['failed', 'failed', 8],
  ];
  return columns.filter(([key]) => key !== 'gas' || !isPlain);
}

/** In milliseconds, of operations verified in the interval. */
const LATENCIES = Object.freeze(/** @type {const} */ (['avg', 'min', 'max', 'p50', 'p99']));

/** @param {Column[]} columns @param {number} room characters of a line @returns {Column[]} */
function fitting(columns, room) {
  let left = room + 1;
  const known = BY_IMPORTANCE.flatMap((name) => columns.filter(([key]) => key === name));
  const kept = known.filter(([, , width]) => (left -= width + 1) >= 0);
  return columns.filter((column) => kept.includes(column));
}

class IntervalTable {
  #rows = 0;
  #titles = '';

  /** @param {Record<string, string>} figures @param {boolean} isPlain @param {number} room @returns {{head: string | null, cells: string}} head: before the row */
  add(figures, isPlain, room) {
    const columns = fitting(allColumns(isPlain), room);
    const titles = lineOf(columns, room, ([, title]) => title);
    const isHeadDue = this.#rows % HEADER_EVERY === 0 || titles !== this.#titles;
    this.#titles = titles;
    this.#rows += 1;
    return { head: isHeadDue ? titles : null, cells: lineOf(columns, room, ([key]) => figures[key]) };
  }
}

/** @param {readonly Column[]} columns @param {number} room @param {(column: Column) => string} textOf */
function lineOf(columns, room, textOf) {
  if (room === Infinity) return columns.map((column) => textOf(column).padStart(column[2])).join(' ');
  // A text that is too wide takes the blanks before the next ones, so that the line does not wrap.
  let [line, end] = ['', -1];
  for (const column of columns) {
    end += column[2] + 1;
    if (line !== '') line += ' ';
    line += textOf(column).padStart(end - line.length);
  }
  return line.slice(0, room);
}

/** @param {IntervalRow} row @param {Totals} totals @returns {Record<string, string>} by the key of the column */
function figuresOf(row, totals) {
  const { censored } = totals;
  const latency = censored === undefined ? row.latency : Distribution.from(row.latency).add(censored).toJSON();
  const latencies = boundedMs(latency, censored, LATENCIES);
  return {
    elapsed: seconds(row.endMs),
    attempts: count(totals.attempts),
    verified: count(totals.verified),
    tps: digits(row.tps),
    runTps: digits(totals.runTps),
    gas: digits(row.perSecond === undefined || !statesGas(row.blocks) ? null : row.perSecond.gas / 1e6),
    ...Object.fromEntries(LATENCIES.map((name, i) => [name, latencies[i]])),
    inFlight: count(row.inFlight),
    failed: count(row.counts.failed + row.counts.timedOut),
  };
}

/** @param {IntervalRow} row @returns {string} to be appended to its line */
function troublesOf({ counts: { failed, timedOut }, failures, silence }) {
  const all = timedOut > 0 ? { ...failures, timed_out: timedOut } : failures;
  const silent = silence === undefined ? '' : `  no answer for ${seconds(silence.ms)}: ${silence.words}`;
  return `${failed + timedOut > 0 ? `  ${byCode(all)}` : ''}${silent}`;
}

/** @param {LiveFigures} figures @param {boolean} isPlain */
function liveText({ phase, elapsedMs, lengthMs, verified, inFlight, tps }, isPlain) {
  const words = countedWords(isPlain);
  const [elapsed, length = 0] = [elapsedMs, lengthMs ?? undefined].map((ms) => Math.floor((ms ?? 0) / 1000));
  const time = lengthMs === null ? timeText(elapsed) : `${timeText(elapsed)} of ${timeText(length)}`;
  const left = lengthMs === null ? '' : `, ${timeText(Math.max(0, length - elapsed))} left`;
  const figures = [
    `${digits(tps)} ${words.tps}`,
    `${count(verified)} ${words.verified}`,
    `${count(inFlight)} in flight`,
  ];
  return [`${phase === 'warmup' ? 'warm-up ' : ''}${time}${left}`, ...figures].join('   ');
}

/** Time until the first line of a long step without a terminal, and between such lines. */
const FIRST_LINE_MS = 2000;
const LINE_EVERY_MS = 10_000;
/** A line that says nothing new only shows that stress is alive. */
const SAME_LINE_EVERY_MS = 60_000;

/** Time between two updates of a bar. */
const BAR_EVERY_US = 100_000;

const BAR_WIDTH = 30;

/** A step of unknown length shows only its label. @param {number} all */
function isCounted(all) {
  return Number.isFinite(all);
}

/**
 * Shows how far a long step has come: a bar on a terminal, otherwise a line now and then.
 * @param {{stream: OutputStream, status: StatusLine, clock: Clock, isQuiet: boolean}} options
 * @returns {{update: (label: string, done: number, all: number) => void, stop: () => void}}
 */
export function createProgress({ stream, status, clock, isQuiet }) {
  let [label, done, all, shownUs] = ['', 0, 0, -Infinity];
  let cancel = () => {};
  /** @param {number} ms @param {string} [said] the last line @param {number} [silentMs] since it */
  const sayAfter = (ms, said = '', silentMs = 0) => {
    cancel = clock.after(() => {
      const text = printable(isCounted(all) ? `${label}: ${count(done)} of ${count(all)}` : label);
      const isDue = text !== said || silentMs + ms >= SAME_LINE_EVERY_MS;
      if (isDue) stream.offer(text);
      sayAfter(LINE_EVERY_MS, text, isDue ? 0 : silentMs + ms);
    }, ms);
  };
  const stop = () => {
    cancel();
    if (label !== '') status.erase();
    [label, shownUs] = ['', -Infinity];
  };
  return {
    update: (name, doneNow, allNow) => {
      if (isQuiet) return;
      if (name !== label || doneNow >= allNow) stop();
      if (doneNow >= allNow) return;
      const isNew = name !== label;
      [label, done, all] = [name, doneNow, allNow];
      if (isNew && !status.isPossible) sayAfter(FIRST_LINE_MS);
      if (clock.nowUs() - shownUs < BAR_EVERY_US) return;
      shownUs = clock.nowUs();
      const bar = '='.repeat((BAR_WIDTH * done) / all).padEnd(BAR_WIDTH, '-');
      status.show(printable(isCounted(all) ? `${label} [${bar}] ${count(done)} of ${count(all)}` : label));
    },
    stop,
  };
}
