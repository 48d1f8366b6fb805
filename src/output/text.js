import { censoredIn } from '../metrics/sample.js';
import { boundedMs, count, byCode, figure, seconds } from './format.js';
import { summaryText } from './summary.js';

/**
 * What a person reads: a line per interval under a header that returns now and then, and the summary.
 * @param {import('./index.js').OutputOptions} options
 * @returns {import('./index.js').Output}
 */
export function createTextOutput({ stream, verbose, explain }) {
  let rows = 0;
  /** @param {string} text */
  const line = (text) => stream.offer(text);
  return {
    notice: line,
    wantsSamples: verbose,
    sample: (sample) => {
      if (verbose && sample.outcome === 'verified' && sample.target !== null)
        line(`${sample.walletIndex} ${sample.target} ${sample.effect}`);
    },
    interval: (row, totals) => {
      if (row.phase === 'drain' || row.endMs - row.startMs < SHORTEST_MS) return;
      if (rows % HEADER_EVERY === 0) line(cells(COLUMNS.map(([title]) => title)));
      rows += 1;
      const { failed, timedOut } = row.counts;
      const failures = timedOut > 0 ? { ...row.failures, timed_out: timedOut } : row.failures;
      const figures = [
        seconds(row.endMs),
        count(totals.attempts),
        count(totals.verified),
        figure(row.tps),
        figure(totals.runTps),
        ...boundedMs(row.latency, censoredIn(row), ['avg', 'min', 'max', 'p50', 'p99']),
        count(row.inFlight),
        count(failed + timedOut),
      ];
      line(`${cells(figures)}${failed + timedOut > 0 ? `  ${byCode(failures)}` : ''}`);
    },
    finish: (run) => stream.write(`${summaryText(run, explain)}\n`),
  };
}

/** What is left of an interval when a Ctrl-C comes right after a report says nothing worth a line. */
const SHORTEST_MS = 100;

/** The header is repeated so often that it is always on the screen. */
const HEADER_EVERY = 20;

/** Title and width of each column; latencies are in milliseconds, of the operations verified in the interval. */
const COLUMNS = Object.freeze(
  /** @type {const} */ ([
    ['elapsed', 9],
    ['attempts', 10],
    ['verified', 10],
    ['TPS', 8],
    ['run TPS', 8],
    ['avg ms', 8],
    ['min ms', 8],
    ['max ms', 8],
    ['p50 ms', 8],
    ['p99 ms', 8],
    ['in flight', 10],
    ['failed', 7],
  ]),
);

/** @param {readonly string[]} texts */
function cells(texts) {
  return texts.map((text, i) => text.padStart(COLUMNS[i][1])).join(' ');
}
