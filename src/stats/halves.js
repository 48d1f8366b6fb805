import { Distribution } from './histogram.js';
import { isPlain } from './sample.js';

/**
 * Mean latencies of the parts of a window, which show whether a queue grows.
 *
 * @import { IntervalRow, RunFile } from '../contracts/run-file.d.ts'
 */

/** Mean latency in each half of the window. @param {Pick<RunFile, 'latency' | 'intervals'>} run @returns {Array<number | null>} null: not known */
export function halvesUs({ latency, intervals }) {
  const [first, second] = latency.halves;
  if (first.count > 0 && second.count > 0) return [first.sumUs / first.count, second.sumUs / second.count];
  // The halves are not known if the end of the run was not.
  const quarters = quartersOf(intervals);
  return [quarters.slice(0, 2), quarters.slice(2)].map((rows) => meanLatencyUs(rows.flat()));
}

/** A difference of means that is larger by so many standard errors is not due to chance. */
const BY_CHANCE = 3;

/**
 * By how much the means of the halves differ by chance: in a mix with calls each half has another share of the
 * transactions, whose latency differs by orders of magnitude.
 * @param {Pick<RunFile, 'latency' | 'environment'>} run
 */
export function mixChanceUs({ latency: { halves, total }, environment }) {
  if (isPlain({ environment }) || environment.workload?.calls === undefined) return 0;
  const counts = halves.map(({ count }) => count || total.count / 2);
  return BY_CHANCE * (total.stddevUs ?? 0) * Math.sqrt(counts.reduce((sum, count) => sum + 1 / Math.max(1, count), 0));
}

/** Rows of the window by the quarter in which they end. @param {IntervalRow[]} intervals */
export function quartersOf(intervals) {
  const load = intervals.filter(({ phase }) => phase === 'load');
  const [startMs, endMs] = [load[0]?.startMs ?? 0, load.at(-1)?.endMs ?? 0];
  return [0, 1, 2, 3].map((i) =>
    load.filter((row) => Math.ceil((4 * (row.endMs - startMs)) / (endMs - startMs)) - 1 === i),
  );
}

/** @param {IntervalRow[]} rows */
export function meanLatencyUs(rows) {
  const all = new Distribution();
  for (const { latency } of rows) all.add(latency);
  return all.meanUs;
}
