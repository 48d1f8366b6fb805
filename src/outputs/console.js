import { SingleBar } from 'cli-progress';
import { Distribution } from '../stats/histogram.js';
import { countedWords } from '../stats/sample.js';
import { byCode, count, printable, seconds } from '../text.js';
import { boundedMs, figure } from './format.js';
import { summaryText } from './summary.js';
import { Output } from './output.js';

/**
 * @import { Output as OutputContract } from '../types.d.ts'
 * @import { OutputOptions } from './output.js'
 */

/**
 * The terminal: a line per interval below a repeated header, and the summary.
 * @param {Pick<OutputOptions, 'stream' | 'verbose' | 'explain'>} options
 * @returns {OutputContract}
 */
export function createTextOutput({ stream, verbose, explain }) {
  let rows = 0;
  let isPlain = false;
  let titles = titlesOf(isPlain);
  /** @param {string} text */
  const line = (text) => stream.offer(text);
  return new Output({
    notice: (text) => line(printable(text)),
    start: (begun) => {
      isPlain = begun.isPlain ?? false;
      titles = titlesOf(isPlain);
    },
    wantsSamples: verbose,
    sample: (sample) => {
      if (verbose && sample.outcome === 'verified' && sample.target !== null)
        line(`${sample.walletIndex} ${sample.target} ${sample.effect}`);
    },
    interval: (row, totals) => {
      if (row.phase === 'drain' || row.endMs - row.startMs < SHORTEST_MS) return;
      if (rows % HEADER_EVERY === 0) line(cells(titles, titles));
      rows += 1;
      const { failed, timedOut } = row.counts;
      const { censored } = totals;
      const latency = censored === undefined ? row.latency : Distribution.from(row.latency).add(censored).toJSON();
      const failures = timedOut > 0 ? { ...row.failures, timed_out: timedOut } : row.failures;
      const figures = [
        seconds(row.endMs),
        count(totals.attempts),
        count(totals.verified),
        figure(row.tps),
        figure(totals.runTps),
        ...(isPlain ? [] : [figure(row.blocks.gasUsed / (1000 * (row.endMs - row.startMs)))]),
        ...boundedMs(latency, censored, ['avg', 'min', 'max', 'p50', 'p99']),
        count(row.inFlight),
        count(failed + timedOut),
      ];
      const { silence } = row;
      const silent = silence === undefined ? '' : `  no answer for ${seconds(silence.ms)}: ${silence.words}`;
      line(`${cells(figures, titles)}${failed + timedOut > 0 ? `  ${byCode(failures)}` : ''}${silent}`);
    },
    finish: (run) => stream.write(`${printable(summaryText(run, explain))}\n`),
  });
}

/** A short last interval after Ctrl-C is not worth a line. */
const SHORTEST_MS = 100;

/** Lines between headers, so that one is always visible. */
const HEADER_EVERY = 20;

/** Least widths of columns. Latencies are in milliseconds, of operations verified in the interval. */
const WIDTHS = Object.freeze([9, 10, 10, 8, 8]);
const WIDTH = 8;

/** @param {boolean} isPlain */
function titlesOf(isPlain) {
  const { verified, tps } = countedWords(isPlain);
  const latencies = ['avg ms', 'min ms', 'max ms', 'p50 ms', 'p99 ms'];
  const gas = isPlain ? [] : ['Mgas/s'];
  return ['elapsed', 'attempts', verified, tps, `run ${tps}`, ...gas, ...latencies, 'in flight', 'failed'];
}

/** @param {readonly string[]} texts @param {readonly string[]} titles above them */
function cells(texts, titles) {
  return texts.map((text, i) => text.padStart(Math.max(WIDTHS[i] ?? WIDTH, titles[i].length))).join(' ');
}

/**
 * A progress bar for the set-up, on terminals only.
 * @param {NodeJS.WriteStream} stream
 * @param {boolean} quiet
 * @returns {{update: (label: string, done: number, all: number) => void, stop: () => void}}
 */
export function createProgress(stream, quiet) {
  if (quiet || !stream.isTTY) return { update: () => {}, stop: () => {} };
  /** @type {SingleBar | null} */
  let bar = null;
  let current = '';
  const stop = () => {
    bar?.stop();
    bar = null;
    current = '';
  };
  return {
    update: (label, done, all) => {
      if (label !== current) {
        stop();
        current = label;
        bar = new SingleBar({
          format: '{label} [{bar}] {value}/{total}',
          stream,
          clearOnComplete: true,
          hideCursor: true,
          fps: 10,
        });
        bar.start(all, done, { label });
      }
      // Output to a stopped terminal (Ctrl-S) would pile up.
      if (!stream.writableNeedDrain) bar?.update(done);
      if (done >= all) stop();
    },
    stop,
  };
}
