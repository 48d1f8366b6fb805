import { IncompleteError, InputError } from '../errors.js';
import { addUp, asJson, merge, sum } from '../stats/merge.js';
import { ROW, censoredOf } from '../stats/metrics.js';
import { INTERVAL_LIMIT, tpsOf, zeroCounts } from '../stats/stats.js';
import { whichOf } from './words.js';

/**
 * @import { IntervalRow, RunFile } from '../types.d.ts'
 * @import { RunHeader } from './choose.js'
 */

/**
 * The common window of several instances: from the start of the last one to the end of the first one, after correcting
 * their clocks. Rates refer to it, because outside of it some instances were not running.
 *
 * @typedef {object} Common
 * @property {number} startMs time of day
 * @property {number} endMs equal to startMs: there is no common window
 * @property {number[]} shares length of the common window as a share of each instance's own, from 0 to 1
 */

/** From this share on, windows count as equal. Counts that are known for a whole window only are scaled by the share. */
export const SAME_WINDOW = 0.99;

/**
 * @param {RunHeader[]} headers
 * @param {Pick<Clocks, 'correctionsMs'>} clocks
 * @param {boolean} allowPartial
 * @returns {Common}
 * @throws {InputError | IncompleteError} the former if nothing shows that these are instances of one run
 */
export function commonWindow(headers, { correctionsMs }, allowPartial) {
  const windows = headers.map(({ windowStartMs, windowEndMs, hasLoad }, i) => {
    return { startMs: windowStartMs + correctionsMs[i], endMs: windowEndMs + correctionsMs[i], hasLoad };
  });
  // Instances without any interval in their window are excluded from the common window.
  const measured = windows.filter(({ hasLoad }) => hasLoad);
  const startMs = maxOf((measured.length > 0 ? measured : windows).map((one) => one.startMs));
  const endMs = measured.length > 0 ? minOf(measured.map((one) => one.endMs)) : startMs;
  if (endMs <= startMs && measured.length > 1) {
    const apart = `${whichOf(headers.filter((_, i) => windows[i].hasLoad && windows[i].startMs >= endMs))} began when others had ended`;
    if (headers[0].runId === null)
      throw new InputError(`these are not instances of one run: ${apart}, and no run id says otherwise`);
    if (!allowPartial)
      throw new IncompleteError(`there is no common window: ${apart} (--partial merges without rates)`);
  }
  const commonMs = Math.max(0, endMs - startMs);
  const shares = windows.map((one) => (one.hasLoad ? commonMs / (one.endMs - one.startMs) : 0));
  return { startMs, endMs: startMs + commonMs, shares };
}

/** @param {readonly number[]} values */
export function maxOf(values) {
  return values.reduce((a, b) => Math.max(a, b), -Infinity);
}

/** @param {readonly number[]} values */
export function minOf(values) {
  return values.reduce((a, b) => Math.min(a, b), Infinity);
}

/**
 * Counts of the common window, from whole rows: those whose middle is in it. Each instance has a little more or less
 * than the common window, so that the rates refer to the mean length of what was counted.
 */
export class WindowCounts {
  #counts = zeroCounts();
  #spans = { count: 0, sumMs: 0 };
  /** Known for whole windows only. */
  #whole = { accepted: 0, included: 0, achieved: 0 };
  #isSame = true;

  /** @param {Common} common */
  constructor(common) {
    this.common = common;
  }

  /** @param {RunFile} run @param {number} loadStartMs time of day at time 0 of its rows @param {number} share of its window that is in the common window */
  add(run, loadStartMs, share) {
    if (share === 0) return;
    const { startMs, endMs } = this.common;
    const rows = run.intervals.filter((row) => {
      const middleMs = loadStartMs + (row.startMs + row.endMs) / 2;
      return row.phase === 'load' && middleMs >= startMs && middleMs <= endMs;
    });
    this.#counts = rows.reduce((all, { counts }) => addUp(all, counts), this.#counts);
    if (rows.length > 0)
      this.#spans = addUp(this.#spans, { count: 1, sumMs: rows[rows.length - 1].endMs - rows[0].startMs });
    this.#isSame &&= share >= SAME_WINDOW;
    const { accepted, included } = run.window.counts;
    const achieved = run.latency.total.count - censoredOf(run).count;
    const whole = { accepted: share * accepted, included: share * included, achieved: share * achieved };
    this.#whole = addUp(this.#whole, whole);
  }

  get durationMs() {
    return this.#spans.sumMs / Math.max(1, this.#spans.count);
  }

  /** @param {boolean} isOpenLoop */
  result(isOpenLoop) {
    const { durationMs } = this;
    const [accepted, included, achieved] = ['accepted', 'included', 'achieved'].map((name) => {
      return this.#isSame ? Math.round(/** @type {Record<string, number>} */ (this.#whole)[name]) : null;
    });
    const rate = (/** @type {number | null} */ count) =>
      count === null || durationMs === 0 ? null : (1000 * count) / durationMs;
    const { scheduled, dropped, started, verified, failed, timedOut } = this.#counts;
    const counts = { scheduled, dropped, started, accepted, included, verified, failed, timedOut };
    return {
      window: { startedAt: new Date(this.common.startMs).toISOString(), durationMs, counts },
      rates: {
        askedPerSecond: isOpenLoop ? rate(counts.scheduled) : null,
        achievedPerSecond: rate(achieved),
        attemptedPerSecond: rate(counts.started),
        acceptedPerSecond: rate(accepted),
        includedPerSecond: rate(included),
        verifiedPerSecond: rate(counts.verified),
      },
    };
  }
}

/**
 * Differences of the machines' clocks, derived from the blocks: all instances see the same blocks, each by its own
 * clock. The result is as exact as the time that it takes to see a block.
 *
 * @typedef {object} Clocks
 * @property {Array<number | null>} offsetsMs of each header: how far its clock is ahead of the median clock; null: unknown
 * @property {number[]} correctionsMs to be added to each header's instants; 0 where clocks agree
 * @property {number} knownToMs smaller differences cannot be seen
 * @property {number | null} skewMs between the fastest and the slowest clock
 */

/** Uncertainty even without polling: delays of a busy machine. */
const LEAST_KNOWN_MS = 100;
/** A block is seen up to one resolution late, and the response takes time, too. */
const RESOLUTIONS = 2;

/** @param {RunHeader[]} headers @returns {Clocks} */
export function compareClocks(headers) {
  const reference = headers.reduce((best, header) => (header.blocks.length > best.blocks.length ? header : best));
  const ahead = headers.map((header) => differenceMs(header, reference));
  const known = ahead.flatMap((ms) => ms ?? []).sort((a, b) => a - b);
  // A single clock proves nothing, and the reference clock may be the wrong one.
  const knownToMs = headers.reduce((ms, header) => Math.max(ms, RESOLUTIONS * header.resolutionMs), LEAST_KNOWN_MS);
  const none = ahead.map(() => 0);
  if (known.length < 2) return { offsetsMs: ahead.map(() => null), correctionsMs: none, skewMs: null, knownToMs };
  const middle = known[Math.floor((known.length - 1) / 2)];
  const offsetsMs = ahead.map((ms) => (ms === null ? null : ms - middle));
  const skewMs = known[known.length - 1] - known[0];
  // If any two clocks differ, all are corrected; otherwise the others would keep their differences.
  const correctionsMs = skewMs > knownToMs ? offsetsMs.map((ms) => 0 - (ms ?? 0)) : none;
  return { offsetsMs, correctionsMs, skewMs, knownToMs };
}

/**
 * The difference of the least skews of the blocks that both saw.
 * @param {RunHeader} header
 * @param {RunHeader} reference
 * @returns {number | null}
 */
function differenceMs(header, reference) {
  if (header.blocks.length === 0 || reference.blocks.length === 0) return null;
  const from = Math.max(header.blocks[0], reference.blocks[0]);
  const to = Math.min(lastOf(header.blocks), lastOf(reference.blocks));
  const [one, other] = [leastSkewMs(header.blocks, from, to), leastSkewMs(reference.blocks, from, to)];
  return one === null || other === null ? null : one - other;
}

/** @param {Float64Array} blocks */
function lastOf(blocks) {
  return blocks[blocks.length - 2];
}

/** Of intervals whose blocks are all in the range; otherwise of those with some blocks in it. @param {Float64Array} blocks @param {number} from @param {number} to */
function leastSkewMs(blocks, from, to) {
  let whole = Infinity;
  let partly = Infinity;
  for (let i = 0; i < blocks.length; i += 3) {
    const [first, last, skewMs] = blocks.subarray(i, i + 3);
    if (first >= from && last <= to) whole = Math.min(whole, skewMs);
    if (first <= to && last >= from) partly = Math.min(partly, skewMs);
  }
  const least = whole === Infinity ? partly : whole;
  return least === Infinity ? null : least;
}

/** Warm-up, load and drain may each need an additional row. */
const MAX_ROWS = INTERVAL_LIMIT - 3;

/**
 * Intervals of all instances on a common time grid: each counts in full in the slot of its middle, so that rows add up.
 * The warm-up lasts until a load starts, and the load while an instance is in its window; there is one row for all drains.
 */
export class Grid {
  /** @type {Map<number, IntervalRow>} */
  #slots = new Map();
  /** In flight in slots between two rows of an instance. @type {Map<number, number>} */
  #held = new Map();
  #firstLoad = Infinity;
  /** The last slot of a warm-up or load, and when the last of these ended. */
  #lastBusy = -1;
  #busyMs = 0;
  #endMs = 0;
  /** Counts of warm-ups, which are also part of rows in which other instances had started their load. */
  warmup = { counts: zeroCounts(), failures: /** @type {Record<string, number>} */ ({}) };

  /**
   * @param {object} times
   * @param {number} times.loadStartMs time of day when the first load started
   * @param {number} times.windowStartMs start of the first window: a border of the grid
   * @param {number} times.endMs end of the last run
   * @param {number} times.stepMs
   */
  constructor({ loadStartMs, windowStartMs, endMs, stepMs }) {
    this.stepMs = stepMs;
    while ((endMs - loadStartMs) / this.stepMs > MAX_ROWS) this.stepMs *= 2;
    /** Rounding may move a row beyond the last border. */
    this.lastNumber = Math.ceil((endMs - loadStartMs) / this.stepMs) + 2;
    this.originMs = windowStartMs - Math.ceil((windowStartMs - loadStartMs) / this.stepMs) * this.stepMs;
  }

  /**
   * The blocks of the instance that comes first are used, because all instances see the same blocks.
   * @param {IntervalRow[]} rows of one instance
   * @param {number} loadStartMs time of day at time 0 of the rows
   */
  add(rows, loadStartMs) {
    const shiftMs = loadStartMs - this.originMs;
    /** @type {Map<number, IntervalRow>} */
    const own = new Map();
    for (const given of rows) {
      const row = { ...given, silence: undefined };
      const { phase, counts, failures } = row;
      const middleMs = shiftMs + (row.startMs + row.endMs) / 2;
      const number = Math.min(this.lastNumber, Math.max(0, Math.floor(middleMs / this.stepMs)));
      const before = own.get(number);
      own.set(number, before === undefined ? row : merge(ROW, before, row, 0.5));
      this.#endMs = Math.max(this.#endMs, shiftMs + row.endMs);
      if (phase === 'load') this.#firstLoad = Math.min(this.#firstLoad, number);
      if (phase === 'warmup') this.warmup = merge({ each: { each: sum } }, this.warmup, { counts, failures });
      if (phase === 'drain') continue;
      this.#lastBusy = Math.max(this.#lastBusy, number);
      this.#busyMs = Math.max(this.#busyMs, shiftMs + row.endMs);
    }
    let inFlight = 0;
    const last = maxOf([...own.keys()]);
    for (let number = minOf([...own.keys()]); number <= last; number += 1) {
      const row = own.get(number);
      if (row === undefined) this.#held.set(number, (this.#held.get(number) ?? 0) + inFlight);
      else this.#slots.set(number, merge(ROW, this.#slots.get(number), row));
      inFlight = row?.inFlight ?? inFlight;
    }
  }

  /** @returns {IntervalRow[]} consecutive */
  rows() {
    const slots = [...this.#slots].sort(([a], [b]) => a - b);
    for (const [i, [number, slot]] of slots.entries())
      slots[i] = [number, { ...slot, inFlight: slot.inFlight + (this.#held.get(number) ?? 0) }];
    /** @type {IntervalRow[]} */
    const rows = [];
    /** @param {IntervalRow} slot @param {IntervalRow['phase']} phase @param {number} endMs */
    const finish = (slot, phase, endMs) => {
      const startMs = rows.at(-1)?.endMs ?? 0;
      const row = { ...slot, phase, startMs, endMs: Math.max(startMs, endMs) };
      rows.push(asJson({ ...row, tps: tpsOf(row) }));
    };
    for (const [number, slot] of slots.filter(([one]) => one <= this.#lastBusy)) {
      const isCut = number === this.#lastBusy && this.#busyMs > number * this.stepMs;
      finish(slot, number < this.#firstLoad ? 'warmup' : 'load', isCut ? this.#busyMs : (number + 1) * this.stepMs);
    }
    const drains = slots.filter(([number]) => number > this.#lastBusy).map(([, slot]) => slot);
    if (drains.length > 0)
      finish(
        drains.reduce((a, b) => merge(ROW, a, b, 0.5)),
        'drain',
        this.#endMs,
      );
    return rows;
  }
}
