import { IncompleteError, InputError } from '../errors.js';
import { censoredOf } from '../metrics/figures.js';
import { whichOf } from './merge-words.js';

/**
 * @import { IntervalRow } from '../metrics/intervals.js'
 * @import { RunFile } from '../metrics/summary.js'
 * @import { Card } from './merge-card.js'
 * @import { Clocks } from './merge-clocks.js'
 */

/**
 * The common window: from when the last instance had begun to when the first one ended, by clocks made to agree. Rates
 * are of it, because before and after it not all were there.
 *
 * @typedef {object} Common
 * @property {number} startMs time of day
 * @property {number} endMs not after its start: there is none
 * @property {number} snapMs so close to its border a row's is the same
 * @property {number[]} shares of each instance's own window that the common one is, from 0 to 1
 */

/** Windows that are as good as one: what is only known of a whole window is taken by its share in the common one. */
export const SAME_WINDOW = 0.99;

/** A row counts whole although so much of the common window is missing of it, at each end: TPS is that exact still. */
const SNAP_SHARE = 0.0025;

/**
 * @param {Card[]} cards
 * @param {Pick<Clocks, 'correctionsMs' | 'knownToMs'>} clocks
 * @param {boolean} allowPartial
 * @returns {Common}
 * @throws {InputError | IncompleteError} the former where nothing says that these are instances of one run
 */
export function commonWindow(cards, { correctionsMs, knownToMs }, allowPartial) {
  const windows = cards.map(({ windowStartMs, windowEndMs }, i) => {
    return { startMs: windowStartMs + correctionsMs[i], endMs: windowEndMs + correctionsMs[i] };
  });
  // Who ended in its set-up or in its warm-up has no window, and does not take that of the others away.
  const measured = windows.filter((_, i) => cards[i].hasLoad);
  const startMs = maxOf((measured.length > 0 ? measured : windows).map((one) => one.startMs));
  const endMs = measured.length > 0 ? minOf(measured.map((one) => one.endMs)) : startMs;
  if (endMs <= startMs && measured.length > 1) {
    const apart = whichOf(cards.filter(({ hasLoad }, i) => hasLoad && windows[i].startMs >= endMs));
    if (cards[0].runId === null)
      throw new InputError(
        `these are not instances of one run: ${apart} began when others had ended, and no run id says otherwise`,
      );
    if (!allowPartial)
      throw new IncompleteError(
        `there is no common window: ${apart} began when others had ended (--partial merges without rates)`,
      );
  }
  const commonMs = Math.max(0, endMs - startMs);
  const shares = windows.map((one, i) => (cards[i].hasLoad ? commonMs / (one.endMs - one.startMs) : 0));
  return { startMs, endMs: startMs + commonMs, snapMs: Math.min(knownToMs, SNAP_SHARE * commonMs), shares };
}

/** @param {readonly number[]} values */
export function maxOf(values) {
  return values.reduce((a, b) => Math.max(a, b), -Infinity);
}

/** @param {readonly number[]} values */
export function minOf(values) {
  return values.reduce((a, b) => Math.min(a, b), Infinity);
}

const COUNTED = Object.freeze(/** @type {const} */ (['dropped', 'started', 'verified', 'failed', 'timedOut']));

/** Counted row by row; a row that crosses a border of the common window counts by its share in it. */
export class WindowCounts {
  #sums = { dropped: 0, started: 0, verified: 0, failed: 0, timedOut: 0 };
  /** Of what is known of whole windows only. */
  #whole = { accepted: 0, included: 0, achieved: 0 };
  #apportioned = 0;
  #isSame = true;

  /** @param {Common} common */
  constructor(common) {
    this.common = common;
  }

  /** @param {IntervalRow} row @param {number} loadStartMs time of day that its times count from */
  addRow(row, loadStartMs) {
    if (row.phase !== 'load') return;
    const [fromMs, toMs] = [this.#snapped(loadStartMs + row.startMs), this.#snapped(loadStartMs + row.endMs)];
    const insideMs = Math.min(toMs, this.common.endMs) - Math.max(fromMs, this.common.startMs);
    const part = Math.min(1, Math.max(0, toMs > fromMs ? insideMs / (toMs - fromMs) : 0));
    for (const name of COUNTED) this.#sums[name] += part * row.counts[name];
    if (part > 0 && part < 1) this.#apportioned += part * row.counts.verified;
  }

  /** Closer to a border than clocks are known is no border that was crossed. @param {number} ms */
  #snapped(ms) {
    const { startMs, endMs, snapMs } = this.common;
    return [startMs, endMs].find((border) => Math.abs(ms - border) <= snapMs) ?? ms;
  }

  /** @param {RunFile} run @param {number} share of its window that is common */
  addWindow(run, share) {
    // It was not measured, or nothing is common.
    if (share === 0) return;
    const { accepted, included } = run.window.counts;
    if (share < SAME_WINDOW) this.#isSame = false;
    this.#whole.accepted += share * accepted;
    this.#whole.included += share * included;
    this.#whole.achieved += share * (run.latency.total.count - censoredOf(run).count);
  }

  /** @param {boolean} isOpenLoop */
  result(isOpenLoop) {
    const durationMs = Math.max(0, this.common.endMs - this.common.startMs);
    const { dropped, started, verified, failed, timedOut } = rounded(this.#sums);
    const { accepted, included, achieved } = rounded(this.#whole);
    const known = (/** @type {number} */ count) => (this.#isSame ? count : null);
    const counts = {
      scheduled: dropped + started,
      dropped,
      started,
      accepted: known(accepted),
      included: known(included),
      verified,
      failed,
      timedOut,
    };
    const rate = (/** @type {number | null} */ count) =>
      count === null || durationMs === 0 ? null : (1000 * count) / durationMs;
    return {
      window: { startedAt: new Date(this.common.startMs).toISOString(), durationMs, counts },
      rates: {
        askedPerSecond: isOpenLoop ? rate(counts.scheduled) : null,
        achievedPerSecond: rate(known(achieved)),
        attemptedPerSecond: rate(started),
        acceptedPerSecond: rate(counts.accepted),
        includedPerSecond: rate(counts.included),
        verifiedPerSecond: rate(verified),
      },
      apportioned: Math.round(this.#apportioned),
    };
  }
}

/** Operations are whole. @template {Record<string, number>} T @param {T} sums @returns {T} */
function rounded(sums) {
  return /** @type {T} */ (Object.fromEntries(Object.entries(sums).map(([name, sum]) => [name, Math.round(sum)])));
}
