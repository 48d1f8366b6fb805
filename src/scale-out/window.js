import { IncompleteError, InputError } from '../errors.js';
import { asJson, merge } from '../stats/merge.js';
import { ROW } from '../stats/metrics.js';
import { INTERVAL_LIMIT, mergedRows } from '../stats/stats.js';
import { Series } from '../stats/throughput.js';
import { whichOf } from './choose.js';

/**
 * @import { IntervalRow, RunFile } from '../contracts/run-file.d.ts'
 * @import { RunHeader } from './choose.js'
 */

/**
 * Differences of the machines' clocks, derived from the blocks: all instances see the same blocks, each by its own
 * clock. The result is as exact as the time that it takes to see a block. Instances on one host have the same clock.
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
/** Blocks that both saw: the first one of a run may be old, and timestamps have whole seconds. */
const LEAST_SEEN = Object.freeze({ blocks: 3, ms: 1000 });

/** @param {RunHeader[]} headers @returns {Clocks} */
export function compareClocks(headers) {
  const reference = headers.reduce((best, header) => (header.blocks.length > best.blocks.length ? header : best));
  const seen = headers.map(({ blocks }) => differenceMs(blocks, reference.blocks));
  const ahead = headers.map((header, i) => {
    if (header.host === null) return seen[i];
    const isHere = (/** @type {RunHeader} */ { host }) => host === header.host;
    const here = seen.filter((ms, other) => ms !== null && isHere(headers[other]));
    return isHere(reference) ? 0 : (here[0] ?? null);
  });
  const known = ahead.flatMap((ms) => ms ?? []).sort((a, b) => a - b);
  const hosts = new Set(headers.map(({ host, name }, i) => (ahead[i] === null ? null : (host ?? name))));
  const resolutionMs = maxOf(headers.map(({ run }) => run.generator.inclusionResolutionMs ?? 0));
  const knownToMs = Math.max(LEAST_KNOWN_MS, RESOLUTIONS * resolutionMs);
  const none = ahead.map(() => 0);
  // A single clock proves nothing of others, and the reference clock may be the wrong one.
  if (known.length < 2 || (hosts.size === 2 && hosts.has(null)))
    return { offsetsMs: ahead.map(() => null), correctionsMs: none, skewMs: null, knownToMs };
  const middle = known[Math.floor((known.length - 1) / 2)];
  const offsetsMs = ahead.map((ms) => (ms === null ? null : ms - middle));
  const skewMs = known[known.length - 1] - known[0];
  // If any two clocks differ, all are corrected; otherwise the others would keep their differences.
  const correctionsMs = skewMs > knownToMs ? offsetsMs.map((ms) => 0 - (ms ?? 0)) : none;
  return { offsetsMs, correctionsMs, skewMs, knownToMs };
}

/**
 * The difference of the least skews of the blocks that both saw.
 * @param {RunHeader['blocks']} blocks
 * @param {RunHeader['blocks']} others
 * @returns {number | null} null: there is no block that both saw
 */
function differenceMs(blocks, others) {
  if (blocks.length === 0 || others.length === 0) return null;
  const from = Math.max(blocks[0].firstNumber, others[0].firstNumber);
  const to = Math.min(blocks[blocks.length - 1].lastNumber, others[others.length - 1].lastNumber);
  if (from > to) return null;
  const ms = leastSkewMs(blocks, from, to) - leastSkewMs(others, from, to);
  // One of them saw too few of them, or has a gap there.
  return Number.isFinite(ms) ? ms : null;
}

/** The least skew of intervals whose blocks are all in the range. @param {RunHeader['blocks']} blocks @param {number} from @param {number} to @returns {number} infinite: too few */
function leastSkewMs(blocks, from, to) {
  const whole = blocks.filter(({ firstNumber, lastNumber }) => firstNumber >= from && lastNumber <= to);
  const count = whole.reduce((sum, { firstNumber, lastNumber }) => sum + lastNumber - firstNumber + 1, 0);
  const lengthMs = whole.reduce((sum, interval) => sum + interval.lengthMs, 0);
  if (count < LEAST_SEEN.blocks || lengthMs < LEAST_SEEN.ms) return Infinity;
  return minOf(whole.map(({ skewMinMs }) => skewMinMs));
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
 * The common window of several instances: from the start of the last one to the end of the first one, after correcting
 * their clocks. Rates refer to it, because outside of it some instances were not running.
 *
 * @typedef {object} Common
 * @property {number} startMs time of day
 * @property {number} endMs equal to startMs: there is no common window
 * @property {number[]} shares length of the common window as a share of each instance's own, from 0 to 1
 * @property {{endMs: number, shares: number[]}} known the part of it for which the throughput of all is known, as a share
 *   of that of each: if a drain was cut short, up to the last block that this instance saw
 */

/**
 * @param {RunHeader[]} headers
 * @param {Pick<Clocks, 'correctionsMs'>} clocks
 * @param {boolean} allowPartial
 * @returns {Common}
 * @throws {InputError | IncompleteError} the former if nothing shows that these are instances of one run
 */
export function commonWindow(headers, { correctionsMs }, allowPartial) {
  const windows = headers.map(({ windowStartMs, windowEndMs, knownMs, hasLoad }, i) => {
    const startMs = windowStartMs + correctionsMs[i];
    return { startMs, endMs: windowEndMs + correctionsMs[i], knownEndMs: startMs + knownMs, hasLoad };
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
  const knownMs = Math.min(commonMs, Math.max(0, minOf(measured.map((one) => one.knownEndMs)) - startMs));
  const shareOf = (/** @type {number} */ lengthMs, /** @type {number} */ ownMs) => (ownMs > 0 ? lengthMs / ownMs : 0);
  const sharesOf = (/** @type {number} */ lengthMs, /** @type {'endMs' | 'knownEndMs'} */ end) =>
    windows.map((one) => (one.hasLoad ? shareOf(lengthMs, one[end] - one.startMs) : 0));
  return {
    startMs,
    endMs: startMs + commonMs,
    shares: sharesOf(commonMs, 'endMs'),
    known: { endMs: startMs + knownMs, shares: sharesOf(knownMs, 'knownEndMs') },
  };
}

/** From this share on, the common window and that of an instance count as equal. */
export const SAME_WINDOW = 0.99;

/** Warm-up, load and drain may each need an additional row. */
const MAX_ROWS = INTERVAL_LIMIT - 3;
/** The slot of all drains, after the others. */
const DRAIN = Infinity;

/**
 * Intervals of all instances on a common time grid: each counts in full in the slot of its middle, so that rows add up.
 * The load begins with the first window, which is a border of the grid: what other instances did in a later warm-up is in
 * the last row before it. One row has all drains.
 */
export class Grid {
  /** @type {Map<number, IntervalRow>} */
  #slots = new Map();
  #firstLoad;
  /** Slots of which an instance does not know its rate. @type {Set<number>} */
  #unknown = new Set();
  /** The throughput of all instances. */
  series = new Series();

  /**
   * @param {object} times
   * @param {number} times.loadStartMs time of day when the first load started
   * @param {number} times.windowStartMs start of the first window
   * @param {number} times.endMs end of the last run
   * @param {number} times.stepMs
   */
  constructor({ loadStartMs, windowStartMs, endMs, stepMs }) {
    this.stepMs = stepMs;
    while ((endMs - loadStartMs) / this.stepMs > MAX_ROWS) this.stepMs *= 2;
    this.#firstLoad = Math.ceil((windowStartMs - loadStartMs) / this.stepMs);
    this.originMs = windowStartMs - this.#firstLoad * this.stepMs;
  }

  /**
   * The blocks of the instance that comes first are used, because all instances see the same blocks.
   * @param {Pick<RunFile, 'intervals' | 'series'>} run of one instance
   * @param {number} loadStartMs time of day at time 0 of its rows
   */
  add({ intervals: rows, series }, loadStartMs) {
    const shiftMs = loadStartMs - this.originMs;
    const isFirst = this.#slots.size === 0;
    for (const { fromMs, toMs, verified, gas } of seriesOf({ intervals: rows, series }).points())
      this.series.add(fromMs + shiftMs, toMs + shiftMs, { verified, gas: isFirst ? gas : 0 });
    /** @type {Map<number, IntervalRow>} */
    const own = new Map();
    for (const row of rows) {
      const shifted = { ...row, startMs: row.startMs + shiftMs, endMs: row.endMs + shiftMs };
      const slot = this.#slotOf(shifted);
      const before = own.get(slot);
      own.set(slot, before === undefined ? shifted : mergedRows(before, shifted));
    }
    for (const [slot, row] of own) {
      if (row.phase === 'load' && row.tps === null) this.#unknown.add(slot);
      this.#slots.set(slot, merge(ROW, this.#slots.get(slot), row));
    }
  }

  /** @param {IntervalRow} row */
  #slotOf({ phase, startMs, endMs }) {
    if (phase === 'drain') return DRAIN;
    const slot = Math.max(0, Math.floor((startMs + endMs) / 2 / this.stepMs));
    return phase === 'load' ? Math.max(slot, this.#firstLoad) : Math.min(slot, Math.max(0, this.#firstLoad - 1));
  }

  /** @returns {IntervalRow[]} consecutive */
  rows() {
    const slots = [...this.#slots].sort(([a], [b]) => a - b);
    const last = maxOf(slots.flatMap(([slot]) => (slot === DRAIN ? [] : [slot])));
    let startMs = 0;
    return slots.map(([slot, sum]) => {
      const endMs = slot < last ? (slot + 1) * this.stepMs : Math.max(startMs, sum.endMs);
      const { verified } = this.series.between(startMs, endMs);
      const tps =
        slot === DRAIN || this.#unknown.has(slot) || endMs <= startMs ? null : (1000 * verified) / (endMs - startMs);
      const row = { ...sum, startMs, endMs, tps };
      startMs = endMs;
      return asJson(row);
    });
  }
}

/** Files of release 0.2.0 have no series: what each row counted is taken as even. @param {Pick<RunFile, 'intervals' | 'series'>} run @returns {Series} */
export function seriesOf({ intervals, series }) {
  if (series !== undefined) return Series.from(series);
  const ofRows = new Series();
  for (const { startMs, endMs, counts, blocks } of intervals)
    ofRows.add(startMs, endMs, { verified: counts.verified, gas: blocks.gasUsed });
  return ofRows;
}
