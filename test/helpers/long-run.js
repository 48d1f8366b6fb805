/** A run file as long as one gets: made of the rows of a short one. */
import { randomNumbers } from '../../src/random.js';
import { Distribution } from '../../src/stats/histogram.js';
import { runFileOf } from './samples.js';

/** @import { IntervalRow, RunFile } from '../../src/contracts/run-file.d.ts' */

/**
 * Latencies from 0.1 ms to about 60 s, so that each interval has as many different ones as it can.
 * @param {{rows?: number, operations?: number, pattern: RunFile}} shape pattern: a run whose probes are used again
 * @returns {RunFile}
 */
export function longRun({ rows = 2000, operations = 300_000, pattern }) {
  const random = randomNumbers(1);
  const each = operations / rows;
  const all = new Distribution();
  const intervals = Array.from({ length: rows }, (_, i) => {
    const latency = new Distribution();
    for (let n = 0; n < each; n += 1) latency.record(Math.round(100 * Math.exp(13.3 * random())));
    all.add(latency);
    const like = pattern.intervals[i % pattern.intervals.length];
    const failures = /** @type {Record<string, number>} */ (
      i % 10 === 3 ? { nonce_too_low: 2, transport_reset: i } : {}
    );
    const verified = latency.count;
    return /** @type {IntervalRow} */ ({
      ...like,
      phase: i < 10 ? 'warmup' : i === rows - 1 ? 'drain' : 'load',
      startMs: i * 5000,
      endMs: (i + 1) * 5000,
      failures,
      tps: i === rows - 1 ? null : verified / 5,
      latency: latency.toJSON(),
      counts: { ...like.counts, scheduled: verified, started: verified, verified },
    });
  });
  const run = runFileOf({ ...pattern, intervals });
  return {
    ...pattern,
    intervals,
    counts: { ...run.counts, verified: operations, started: operations, scheduled: operations },
    latency: { ...pattern.latency, total: all.toJSON() },
  };
}
