import { IncompleteError, InputError } from '../errors.js';
import { noBlocks } from '../stats/blocks.js';
import { addUp, asJson, max, merge, sum } from '../stats/merge.js';
import { ROW, censoredOf } from '../stats/metrics.js';
import { INTERVAL_LIMIT, Stats, rowOf, tpsOf, zeroCounts } from '../stats/stats.js';
import { whichOf } from './words.js';

/**
 * @import { IntervalRow, Readings, RunFile } from '../types.d.ts'
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
  const windows = headers.map(({ windowStartMs, windowEndMs }, i) => {
    return { startMs: windowStartMs + correctionsMs[i], endMs: windowEndMs + correctionsMs[i] };
  });
  // Instances without any interval in their window are excluded from the common window.
  const measured = windows.filter((_, i) => headers[i].hasLoad);
  const startMs = maxOf((measured.length > 0 ? measured : windows).map((one) => one.startMs));
  const endMs = measured.length > 0 ? minOf(measured.map((one) => one.endMs)) : startMs;
  if (endMs <= startMs && measured.length > 1) {
    const apart = whichOf(headers.filter(({ hasLoad }, i) => hasLoad && windows[i].startMs >= endMs));
    if (headers[0].runId === null)
      throw new InputError(
        `these are not instances of one run: ${apart} began when others had ended, and no run id says otherwise`,
      );
    if (!allowPartial)
      throw new IncompleteError(
        `there is no common window: ${apart} began when others had ended (--partial merges without rates)`,
      );
  }
  const commonMs = Math.max(0, endMs - startMs);
  const shares = windows.map((one, i) => (headers[i].hasLoad ? commonMs / (one.endMs - one.startMs) : 0));
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
  #spansMs = /** @type {number[]} */ ([]);
  /** Counts known for whole windows only. */
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
    if (rows.length > 0) this.#spansMs.push(rows[rows.length - 1].endMs - rows[0].startMs);
    if (share < SAME_WINDOW) this.#isSame = false;
    const { accepted, included } = run.window.counts;
    const achieved = run.latency.total.count - censoredOf(run).count;
    const whole = { accepted: share * accepted, included: share * included, achieved: share * achieved };
    this.#whole = addUp(this.#whole, whole);
  }

  get durationMs() {
    return this.#spansMs.reduce((all, ms) => all + ms, 0) / Math.max(1, this.#spansMs.length);
  }

  /** @param {boolean} isOpenLoop */
  result(isOpenLoop) {
    const { durationMs } = this;
    const known = (/** @type {number} */ count) => (this.#isSame ? Math.round(count) : null);
    const rate = (/** @type {number | null} */ count) =>
      count === null || durationMs === 0 ? null : (1000 * count) / durationMs;
    const { scheduled, dropped, started, verified, failed, timedOut } = this.#counts;
    const [accepted, included] = [known(this.#whole.accepted), known(this.#whole.included)];
    const counts = { scheduled, dropped, started, accepted, included, verified, failed, timedOut };
    return {
      window: { startedAt: new Date(this.common.startMs).toISOString(), durationMs, counts },
      rates: {
        askedPerSecond: isOpenLoop ? rate(counts.scheduled) : null,
        achievedPerSecond: rate(known(this.#whole.achieved)),
        attemptedPerSecond: rate(counts.started),
        acceptedPerSecond: rate(counts.accepted),
        includedPerSecond: rate(counts.included),
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

/** Intervals of all instances on a common time grid: each counts in full in the slot of its middle, so that rows add up. */

/** Warm-up, load and drain may each need an additional row. */
const MAX_ROWS = INTERVAL_LIMIT - 3;

/** A row, and the last ends of its parts in each phase. */
const SLOT = { members: { ...ROW.members, warmupEndMs: max, loadEndMs: max, drainEndMs: max } };

/** A slot without any report. @type {Readings} */
const NOTHING_READ = Object.freeze({
  self: { cpuUs: 0, rssBytes: 0 },
  connections: { opened: 0, reused: 0 },
  loop: null,
  sockets: null,
  pool: null,
  node: null,
  metrics: null,
  why: Object.fromEntries(
    ['loop', 'sockets', 'pool', 'node', 'metrics'].map((name) => [name, 'no instance has reported in it']),
  ),
});

/** @typedef {IntervalRow & {warmupEndMs?: number, loadEndMs?: number, drainEndMs?: number}} Slot */

/** @returns {Slot} */
function newSlot() {
  const none = { loadStartUs: 0, inFlight: 0, blocks: noBlocks(), probes: NOTHING_READ };
  return rowOf(new Stats(0), { phase: 'drain', ...none });
}

export class Grid {
  /** @type {Map<number, Slot>} */
  #slots = new Map();
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
    /** @type {Map<number, Slot>} */
    const own = new Map();
    for (const row of rows) {
      const middleMs = shiftMs + (row.startMs + row.endMs) / 2;
      const number = Math.min(this.lastNumber, Math.max(0, Math.floor(middleMs / this.stepMs)));
      const slot = { ...row, silence: undefined, [`${row.phase}EndMs`]: shiftMs + row.endMs };
      const before = own.get(number);
      own.set(number, before === undefined ? slot : merge(SLOT, before, slot, 0.5));
      if (row.phase === 'warmup') this.warmup = merge({ each: { each: sum } }, this.warmup, partOf(row));
    }
    const numbers = [...own.keys()];
    const last = maxOf(numbers);
    let inFlight = 0;
    for (let number = minOf(numbers); number <= last; number += 1) {
      // Between two rows of an instance its operations in flight do not change.
      const slot = own.get(number) ?? { inFlight };
      inFlight = slot.inFlight;
      this.#slots.set(number, merge(SLOT, this.#slots.get(number) ?? newSlot(), slot));
    }
  }

  /**
   * Consecutive rows: warm-up until a load starts, load while at least one instance is in its window, and one row for
   * all drains.
   * @returns {IntervalRow[]}
   */
  rows() {
    const slots = [...this.#slots].sort(([a], [b]) => a - b);
    const lastBefore = slots.findLastIndex(([, slot]) => (slot.loadEndMs ?? slot.warmupEndMs) !== undefined);
    const firstLoad = slots.findIndex(([, slot]) => slot.loadEndMs !== undefined);
    /** @type {IntervalRow[]} */
    const rows = [];
    for (const [i, [number, slot]] of slots.slice(0, lastBefore + 1).entries()) {
      const lastMs = Math.max(slot.loadEndMs ?? 0, slot.warmupEndMs ?? 0);
      const isCut = i === lastBefore && lastMs > number * this.stepMs;
      const phase = firstLoad < 0 || i < firstLoad ? 'warmup' : 'load';
      rows.push(finished(slot, phase, rows, isCut ? lastMs : (number + 1) * this.stepMs));
    }
    const drains = slots.slice(lastBefore + 1).map(([, slot]) => slot);
    if (drains.length === 0) return rows;
    const drain = drains.reduce((a, b) => merge(SLOT, a, b, 0.5));
    return [...rows, finished(drain, 'drain', rows, drain.drainEndMs ?? 0)];
  }
}

/** @param {Pick<IntervalRow, 'counts' | 'failures'>} row */
function partOf({ counts, failures }) {
  return { counts, failures };
}

/** @param {Slot} slot @param {IntervalRow['phase']} phase @param {IntervalRow[]} before @param {number} endMs @returns {IntervalRow} */
function finished({ warmupEndMs: _w, loadEndMs: _l, drainEndMs: _d, ...slot }, phase, before, endMs) {
  const startMs = before.at(-1)?.endMs ?? 0;
  const row = { ...slot, phase, startMs, endMs: Math.max(startMs, endMs) };
  return asJson({ ...row, tps: tpsOf(row) });
}
