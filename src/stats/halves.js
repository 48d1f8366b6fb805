import { Distribution } from './histogram.js';

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
