import { IncompleteError, InputError } from '../errors.js';
import { addBlocks as joinBlocks, noBlocks } from '../stats/blocks.js';
import { Distribution } from '../stats/histogram.js';
import { addUp, merge, sum } from '../stats/merge.js';
import { READINGS, censoredOf } from '../stats/metrics.js';
import { INTERVAL_LIMIT, stagesOf, zeroCounts } from '../stats/stats.js';
import { whichOf } from './words.js';

/**
 * @import { IntervalRow, Phase, Readings, RunFile } from '../types.d.ts'
 * @import { RunHeader } from './choose.js'
 */

/**
 * The common window of several instances: from the start of the last one to the end of the first one, after correcting
 * their clocks. Rates refer to it, because outside of it some instances were not running.
 *
 * @typedef {object} Common
 * @property {number} startMs time of day
 * @property {number} endMs equal to startMs: there is no common window
 * @property {number} snapMs a row's border this close to the window's border is the same
 * @property {number[]} shares length of the common window as a share of each instance's own, from 0 to 1
 */

/**
 * From this share on, windows count as equal. Counts that are known for a whole window only are scaled by the share.
 */
export const SAME_WINDOW = 0.99;

/** A row counts in full if less than this share of the common window is missing at each end: TPS stays that exact. */
const SNAP_SHARE = 0.0025;

/**
 * @param {RunHeader[]} headers
 * @param {Pick<Clocks, 'correctionsMs' | 'knownToMs'>} clocks
 * @param {boolean} allowPartial
 * @returns {Common}
 * @throws {InputError | IncompleteError} the former if nothing shows that these are instances of one run
 */
export function commonWindow(headers, { correctionsMs, knownToMs }, allowPartial) {
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

/** Counts of the common window, from rows. A row that crosses its border counts by its share. */
export class WindowCounts {
  #counts = { dropped: 0, started: 0, verified: 0, failed: 0, timedOut: 0 };
  /** Counts known for whole windows only. */
  #whole = { accepted: 0, included: 0, achieved: 0 };
  #apportioned = 0;
  #isSame = true;

  /** @param {Common} common */
  constructor(common) {
    this.common = common;
  }

  /** @param {IntervalRow} row @param {number} loadStartMs time of day at time 0 of the row */
  addRow(row, loadStartMs) {
    if (row.phase !== 'load') return;
    const [fromMs, toMs] = [this.#snapped(loadStartMs + row.startMs), this.#snapped(loadStartMs + row.endMs)];
    const insideMs = Math.min(toMs, this.common.endMs) - Math.max(fromMs, this.common.startMs);
    const part = Math.min(1, Math.max(0, toMs > fromMs ? insideMs / (toMs - fromMs) : 0));
    for (const name of COUNTED) this.#counts[name] += part * row.counts[name];
    if (part > 0 && part < 1) this.#apportioned += part * row.counts.verified;
  }

  /** Distances below the uncertainty of the clocks do not count. @param {number} ms */
  #snapped(ms) {
    const { startMs, endMs, snapMs } = this.common;
    return [startMs, endMs].find((border) => Math.abs(ms - border) <= snapMs) ?? ms;
  }

  /** @param {RunFile} run @param {number} share of its window that is in the common window */
  addWindow(run, share) {
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
    const { dropped, started, verified, failed, timedOut } = rounded(this.#counts);
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

/** @template {Record<string, number>} T @param {T} sums @returns {T} */
function rounded(sums) {
  return /** @type {T} */ (Object.fromEntries(Object.entries(sums).map(([name, sum]) => [name, Math.round(sum)])));
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

/**
 * Intervals of all instances on a common time grid. Each counts in full in the slot of its middle, so that the rows add
 * up exactly to the totals.
 *
 * @typedef {ReturnType<typeof newSlot>} Slot
 */

/** Warm-up, load and drain may each need an additional row. */
const MAX_ROWS = INTERVAL_LIMIT - 3;

function newSlot() {
  return {
    /** Last end of its rows: of load and warm-up rows, and of drain rows. */
    endMs: -Infinity,
    drainEndMs: -Infinity,
    hasWarmup: false,
    hasLoad: false,
    counts: zeroCounts(),
    /** @type {Record<string, number>} */
    failures: {},
    inFlight: 0,
    latency: new Distribution(),
    lag: new Distribution(),
    stages: stagesOf(() => ({ count: 0, sumUs: 0 })),
    /** @type {NonNullable<IntervalRow['byEndpoint']>} */
    byEndpoint: {},
    ours: 0,
    blocks: noBlocks(),
    /** Rank of the instance whose blocks are used; all instances see the same blocks. */
    blocksRank: Infinity,
    probes: new ProbeTotals(),
  };
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
   * @param {IntervalRow[]} rows of one instance
   * @param {object} place
   * @param {number} place.loadStartMs time of day at time 0 of the rows
   * @param {number} place.rank the blocks of the lowest rank are used
   * @param {(key: string) => string} place.endpointOf
   */
  add(rows, { loadStartMs, rank, endpointOf }) {
    const shiftMs = loadStartMs - this.originMs;
    /** @type {Map<number, number>} */
    const inFlight = new Map();
    for (const row of rows) {
      const middleMs = shiftMs + (row.startMs + row.endMs) / 2;
      const number = Math.min(this.lastNumber, Math.max(0, Math.floor(middleMs / this.stepMs)));
      const slot = this.#slots.get(number) ?? newSlot();
      this.#slots.set(number, slot);
      addRow(slot, row, { endMs: shiftMs + row.endMs, endpointOf });
      addBlocks(slot, row, rank);
      if (row.phase === 'warmup') {
        this.warmup.counts = addUp(this.warmup.counts, row.counts);
        this.warmup.failures = addUp(this.warmup.failures, row.failures);
      }
      inFlight.set(number, row.inFlight);
    }
    this.#addInFlight(inFlight);
  }

  /** Between two rows of an instance its operations in flight do not change. @param {Map<number, number>} byNumber */
  #addInFlight(byNumber) {
    const numbers = [...byNumber.keys()];
    const last = Math.max(...numbers);
    let current = 0;
    for (let number = Math.min(...numbers); number <= last; number += 1) {
      current = byNumber.get(number) ?? current;
      const slot = this.#slots.get(number) ?? newSlot();
      this.#slots.set(number, slot);
      slot.inFlight += current;
    }
  }

  /**
   * Consecutive rows: warm-up until a load starts, load while at least one instance is in its window, and one row for
   * all drains.
   * @returns {IntervalRow[]}
   */
  rows() {
    const numbers = [...this.#slots.keys()].sort((a, b) => a - b);
    const at = (/** @type {number} */ number) => /** @type {Slot} */ (this.#slots.get(number));
    const lastLoad = numbers.filter((number) => at(number).hasLoad).at(-1) ?? -1;
    const firstLoad = numbers.find((number) => at(number).hasLoad) ?? Infinity;
    const lastBefore = Math.max(lastLoad, numbers.filter((number) => at(number).hasWarmup).at(-1) ?? -1);
    /** @type {IntervalRow[]} */
    const rows = [];
    for (const number of numbers.filter((one) => one <= lastBefore)) {
      const startMs = rows.at(-1)?.endMs ?? 0;
      const isLast = number === lastBefore;
      const endMs = Math.max(startMs, isLast ? loadEnd(at(number), number, this.stepMs) : (number + 1) * this.stepMs);
      rows.push(rowOf(at(number), { phase: number < firstLoad ? 'warmup' : 'load', startMs, endMs }));
    }
    const drain = numbers.filter((one) => one > lastBefore).map(at);
    if (drain.length === 0) return alignOwnTransactions(rows);
    const [first, ...rest] = drain;
    for (const slot of rest) addSlot(first, slot);
    const startMs = rows.at(-1)?.endMs ?? 0;
    rows.push(rowOf(first, { phase: 'drain', startMs, endMs: Math.max(startMs, first.drainEndMs) }));
    return alignOwnTransactions(rows);
  }
}

/**
 * A block at the border of two rows may be seen in one row by the instance whose blocks are used and in the other row
 * by the instance with transactions in it. The transactions move to the neighbour row that has the block.
 * @param {IntervalRow[]} rows
 */
function alignOwnTransactions(rows) {
  const ours = rows.map(({ blocks }) => blocks.ours);
  const moveExcess = (/** @type {number} */ from, /** @type {number} */ to) => {
    const excess = ours[from] - rows[from].blocks.transactions;
    if (excess <= 0 || ours[to] === undefined) return;
    ours[from] -= excess;
    ours[to] += excess;
  };
  for (let i = 0; i < rows.length; i += 1) moveExcess(i, i + 1);
  for (let i = rows.length - 1; i >= 0; i -= 1) moveExcess(i, i - 1);
  return rows.map((row, i) => ({ ...row, blocks: { ...row.blocks, ours: ours[i] } }));
}

/** The last row ends with its last load. @param {Slot} slot @param {number} number @param {number} stepMs */
function loadEnd({ endMs }, number, stepMs) {
  return endMs > number * stepMs ? endMs : (number + 1) * stepMs;
}

/** @param {Slot} slot changed in place @param {IntervalRow} row @param {{endMs: number, endpointOf: (key: string) => string}} place */
function addRow(slot, row, { endMs, endpointOf }) {
  slot.hasWarmup ||= row.phase === 'warmup';
  slot.hasLoad ||= row.phase === 'load';
  const end = row.phase === 'drain' ? 'drainEndMs' : 'endMs';
  slot[end] = Math.max(slot[end], endMs);
  slot.counts = addUp(slot.counts, row.counts);
  slot.failures = addUp(slot.failures, row.failures);
  slot.latency.add(row.latency);
  slot.lag.add(row.lag);
  const before = slot.stages;
  slot.stages = stagesOf((stage) => addUp(before[stage], row.stages[stage] ?? { count: 0, sumUs: 0 }));
  const sums = Object.entries(row.byEndpoint ?? {}).map(([key, value]) => [endpointOf(key), value]);
  slot.byEndpoint = merge({ each: { each: sum } }, slot.byEndpoint, Object.fromEntries(sums));
  slot.probes.add(row.probes);
}

/** @param {Slot} slot changed in place @param {IntervalRow} row @param {number} rank */
function addBlocks(slot, { blocks }, rank) {
  slot.ours += blocks.ours;
  if (rank > slot.blocksRank) return;
  slot.blocks = rank < slot.blocksRank ? blocks : joinBlocks(slot.blocks, blocks);
  slot.blocksRank = rank;
}

/** Adds a slot of overlapping drains. @param {Slot} slot changed in place @param {Slot} later */
function addSlot(slot, later) {
  const before = slot.stages;
  slot.drainEndMs = Math.max(slot.drainEndMs, later.drainEndMs);
  slot.counts = addUp(slot.counts, later.counts);
  slot.failures = addUp(slot.failures, later.failures);
  slot.inFlight = later.inFlight;
  slot.latency.add(later.latency.toJSON());
  slot.lag.add(later.lag.toJSON());
  slot.stages = stagesOf((stage) => addUp(before[stage], later.stages[stage]));
  slot.byEndpoint = merge({ each: { each: sum } }, slot.byEndpoint, later.byEndpoint);
  slot.ours += later.ours;
  slot.blocks = joinBlocks(slot.blocks, later.blocks);
  slot.probes.merge(later.probes);
}

/** @param {Slot} slot @param {{phase: Phase, startMs: number, endMs: number}} place @returns {IntervalRow} */
function rowOf(slot, { phase, startMs, endMs }) {
  const { counts, failures, inFlight, latency, lag, stages, byEndpoint, blocks, ours, probes } = slot;
  const seconds = (endMs - startMs) / 1000;
  const tps = phase === 'drain' || seconds <= 0 ? null : counts.verified / seconds;
  return {
    phase,
    startMs,
    endMs,
    counts,
    failures,
    inFlight,
    byEndpoint,
    tps,
    latency: latency.toJSON(),
    lag: lag.toJSON(),
    stages,
    blocks: { ...blocks, ours },
    probes: probes.result(),
  };
}

/**
 * Probe readings of several instances for the same time. CPU time and connections add up; of memory, event loops,
 * sockets and the pool the worst reading counts; of the node, which is the same for all, the first reading.
 */
export class ProbeTotals {
  /** @type {Readings | null} */
  #sum = null;

  /** @param {Readings} readings */
  add(readings) {
    this.#sum = this.#sum === null ? readings : merge(READINGS, this.#sum, readings);
  }

  /** @param {ProbeTotals} other */
  merge(other) {
    if (other.#sum !== null) this.add(other.#sum);
  }

  /** @returns {Readings} */
  result() {
    return this.#sum ?? NOTHING_READ;
  }
}

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
