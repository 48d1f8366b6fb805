import { Distribution } from './histogram.js';
import { isPlain } from './sample.js';

/**
 * Mean latencies of the parts of a window, which show whether a queue grows.
 *
 * @import { BlockTotals, IntervalRow, RunFile } from '../contracts/run-file.d.ts'
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

/** With fewer blocks, latency depends more on where the blocks lie. */
export const ENOUGH_BLOCKS = 4;
/** Share of the blocks without room for another transaction from which on they count as full. */
const MOST_FULL = 0.5;
/** The node keeps up while few of the window's operations are still in flight at its end, or latency does not grow. */
const VERIFIED_IN_WINDOW = 0.95;

/** Whether blocks had no room. Without a gas limit nothing is known of it. @param {Pick<BlockTotals, 'count' | 'gasLimit' | 'full'>} totals */
export function isFull({ count, gasLimit, full = 0 }) {
  return count > 0 && Boolean(gasLimit) && full >= MOST_FULL * count;
}

/** The position of the blocks in each half moves its mean by a part of a block interval. @param {Pick<RunFile, 'window' | 'blocks'>} run */
export function byChanceMs({ window, blocks }) {
  return blocks.count === 0 ? 0 : window.durationMs / blocks.count / 4;
}

/** @param {Pick<RunFile, 'window'>} run */
export function isLeftOver({ window: { counts } }) {
  return counts.verified < VERIFIED_IN_WINDOW * counts.scheduled;
}

/**
 * Where operations take longer than half the window, its second half began before the first operations ended: whether latency
 * grows does not tell what the node took, but what was verified in the window does. A block more or less is chance.
 * @param {RunFile} run
 * @returns {{share: number, firstUs: number} | null} share of the due operations; null: operations were fast enough
 */
export function verifiedBeyondHalf(run) {
  const { window, blocks } = run;
  const { counts, durationMs } = window;
  const firstUs = halvesUs(run)[0] ?? 0;
  if (firstUs <= 500 * durationMs || !isLeftOver(run)) return null;
  // Without the longest gap: a chain that halted has fewer blocks, not longer intervals.
  const blockMs = Math.max(0, durationMs - (blocks.gapMaxMs ?? 0)) / Math.max(1, blocks.count);
  const byChance = blocks.count === 0 ? 0 : blockMs / durationMs;
  return { share: Math.min(1, counts.verified / counts.scheduled + byChance), firstUs };
}

/** Full blocks explain why operations are left over: how much the latency grew does not matter. @param {RunFile} run */
export function queuesBehindFullBlocks(run) {
  const [firstUs, secondUs] = halvesUs(run);
  const grownUs = (secondUs ?? 0) - (firstUs ?? Infinity);
  const chanceUs = Math.max(1000 * byChanceMs(run), mixChanceUs(run));
  return isFull(run.blocks) && run.blocks.count >= ENOUGH_BLOCKS && isLeftOver(run) && grownUs > chanceUs;
}
