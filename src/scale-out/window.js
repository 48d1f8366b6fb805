import { IncompleteError, InputError } from '../errors.js';
import { DistributionSum } from '../stats/histogram.js';
import { INTERVAL_LIMIT, addUp, addUpEach, mergeBlocks, noBlocks, stagesFrom, zeroCounts } from '../stats/intervals.js';
import { censoredOf } from '../stats/metrics.js';
import { whichOf } from './words.js';
import { ProbeSums } from './probes.js';

/**
 * @import { IntervalRow, Phase, RunFile } from '../types.d.ts'
 * @import { RunHeader } from './choose.js'
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
 * @param {RunHeader[]} headers
 * @param {Pick<Clocks, 'correctionsMs' | 'knownToMs'>} clocks
 * @param {boolean} allowPartial
 * @returns {Common}
 * @throws {InputError | IncompleteError} the former where nothing says that these are instances of one run
 */
export function commonWindow(headers, { correctionsMs, knownToMs }, allowPartial) {
  const windows = headers.map(({ windowStartMs, windowEndMs }, i) => {
    return { startMs: windowStartMs + correctionsMs[i], endMs: windowEndMs + correctionsMs[i] };
  });
  // Who ended in its set-up or in its warm-up has no window, and does not take that of the others away.
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

/**
 * Clocks of machines may differ. All instances see the same blocks, each with its own clock, so that the difference of
 * what two call the time of the same blocks is that of their clocks, to within the time that it takes to see a block.
 *
 * @typedef {object} Clocks
 * @property {Array<number | null>} offsetsMs of each header: how much its clock is ahead of the middle one; null: no blocks say
 * @property {number[]} correctionsMs to be added to each header's instants; 0 where clocks agree
 * @property {number} knownToMs clocks closer than this agree, as far as blocks tell
 * @property {number | null} skewMs between the clock furthest ahead and that furthest behind
 */

/** No two see a block at the same time, even where they ask without a pause: what a busy machine adds. */
const LEAST_KNOWN_MS = 100;
/** Each sees a block up to one resolution late; its answer takes time, too. */
const RESOLUTIONS = 2;

/** @param {RunHeader[]} headers @returns {Clocks} */
export function compareClocks(headers) {
  const reference = headers.reduce((best, header) => (header.blocks.length > best.blocks.length ? header : best));
  const ahead = headers.map((header) => differenceMs(header, reference));
  const known = ahead.flatMap((ms) => ms ?? []).sort((a, b) => a - b);
  // One clock is no proof of another's, and the reference need not be the one that is right.
  const knownToMs = headers.reduce((ms, header) => Math.max(ms, RESOLUTIONS * header.resolutionMs), LEAST_KNOWN_MS);
  const none = ahead.map(() => 0);
  if (known.length < 2) return { offsetsMs: ahead.map(() => null), correctionsMs: none, skewMs: null, knownToMs };
  const middle = known[Math.floor((known.length - 1) / 2)];
  const offsetsMs = ahead.map((ms) => (ms === null ? null : ms - middle));
  const skewMs = known[known.length - 1] - known[0];
  // Where any two do not agree all are corrected: those that are left would be as far from each other as before.
  const correctionsMs = skewMs > knownToMs ? offsetsMs.map((ms) => 0 - (ms ?? 0)) : none;
  return { offsetsMs, correctionsMs, skewMs, knownToMs };
}

/**
 * The least skew that each saw of the blocks that both saw.
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

/** Of the intervals whose blocks are all among those; where there is none, of those that have some. @param {Float64Array} blocks @param {number} from @param {number} to */
function leastSkewMs(blocks, from, to) {
  let whole = Infinity;
  let touched = Infinity;
  for (let i = 0; i < blocks.length; i += 3) {
    const [first, last, skewMs] = blocks.subarray(i, i + 3);
    if (first >= from && last <= to) whole = Math.min(whole, skewMs);
    if (first <= to && last >= from) touched = Math.min(touched, skewMs);
  }
  const least = whole === Infinity ? touched : whole;
  return least === Infinity ? null : least;
}

/**
 * Intervals of all instances on one grid of the wall clock: each goes whole into the row that holds its middle, so that
 * the rows add up exactly to the totals.
 *
 * @typedef {ReturnType<typeof newSlot>} Slot
 */

/** A warm-up, a load and a drain each may need a row more than there are. */
const MOST_ROWS = INTERVAL_LIMIT - 3;

function newSlot() {
  return {
    /** Of the rows in it, which need not end with it: of loads and warm-ups, and of drains. */
    endMs: -Infinity,
    drainEndMs: -Infinity,
    hasWarmup: false,
    hasLoad: false,
    counts: zeroCounts(),
    /** @type {Record<string, number>} */
    failures: {},
    inFlight: 0,
    latency: new DistributionSum(),
    lag: new DistributionSum(),
    stages: stagesFrom(() => ({ count: 0, sumUs: 0 })),
    /** @type {NonNullable<IntervalRow['byEndpoint']>} */
    byEndpoint: {},
    ours: 0,
    blocks: noBlocks(),
    /** Whose blocks these are: all see the same. */
    blocksRank: Infinity,
    probes: new ProbeSums(),
  };
}

export class Grid {
  /** @type {Map<number, Slot>} */
  #slots = new Map();
  /** What was counted in warm-ups: rows in which others had begun already have it, too. */
  warmup = { counts: zeroCounts(), failures: /** @type {Record<string, number>} */ ({}) };

  /**
   * @param {object} times
   * @param {number} times.loadStartMs time of day when the first load began
   * @param {number} times.windowStartMs when the first window did: a border of the grid
   * @param {number} times.endMs when all was over
   * @param {number} times.stepMs
   */
  constructor({ loadStartMs, windowStartMs, endMs, stepMs }) {
    this.stepMs = stepMs;
    while ((endMs - loadStartMs) / this.stepMs > MOST_ROWS) this.stepMs *= 2;
    /** What is rounded to the last border may lie a little beyond it. */
    this.lastNumber = Math.ceil((endMs - loadStartMs) / this.stepMs) + 2;
    this.originMs = windowStartMs - Math.ceil((windowStartMs - loadStartMs) / this.stepMs) * this.stepMs;
  }

  /**
   * @param {IntervalRow[]} rows of one instance
   * @param {object} place
   * @param {number} place.loadStartMs time of day that their times count from
   * @param {number} place.rank of its blocks: those of the lowest are taken
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

  /** Where an instance has no row of its own between two, what it had in flight before is still so. @param {Map<number, number>} byNumber */
  #addInFlight(byNumber) {
    const numbers = [...byNumber.keys()];
    const last = Math.max(...numbers);
    let flying = 0;
    for (let number = Math.min(...numbers); number <= last; number += 1) {
      flying = byNumber.get(number) ?? flying;
      const slot = this.#slots.get(number) ?? newSlot();
      this.#slots.set(number, slot);
      slot.inFlight += flying;
    }
  }

  /**
   * One behind the other: while not all have begun, while at least one is in its window, and one row for all drains.
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
    if (drain.length === 0) return oursWithTheirBlocks(rows);
    const [first, ...rest] = drain;
    for (const slot of rest) addSlot(first, slot);
    const startMs = rows.at(-1)?.endMs ?? 0;
    rows.push(rowOf(first, { phase: 'drain', startMs, endMs: Math.max(startMs, first.drainEndMs) }));
    return oursWithTheirBlocks(rows);
  }
}

/**
 * A block at the border of two rows may be seen in one by the instance whose blocks are counted, and in the other by one
 * that has transactions in it: these belong with the block, in the neighbour that has room for them.
 * @param {IntervalRow[]} rows
 */
function oursWithTheirBlocks(rows) {
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

/** The last row ends with the last load that is in it. @param {Slot} slot @param {number} number @param {number} stepMs */
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
  slot.stages = stagesFrom((stage) => addUp(before[stage], row.stages[stage] ?? { count: 0, sumUs: 0 }));
  const sums = Object.entries(row.byEndpoint ?? {}).map(([key, value]) => [endpointOf(key), value]);
  slot.byEndpoint = addUpEach(slot.byEndpoint, Object.fromEntries(sums));
  slot.probes.add(row.probes);
}

/** @param {Slot} slot changed in place @param {IntervalRow} row @param {number} rank */
function addBlocks(slot, { blocks }, rank) {
  slot.ours += blocks.ours;
  if (rank > slot.blocksRank) return;
  slot.blocks = rank < slot.blocksRank ? blocks : mergeBlocks(slot.blocks, blocks);
  slot.blocksRank = rank;
}

/** Drains, which overlap. @param {Slot} slot changed in place @param {Slot} later */
function addSlot(slot, later) {
  const before = slot.stages;
  slot.drainEndMs = Math.max(slot.drainEndMs, later.drainEndMs);
  slot.counts = addUp(slot.counts, later.counts);
  slot.failures = addUp(slot.failures, later.failures);
  slot.inFlight = later.inFlight;
  slot.latency.add(later.latency.toJSON());
  slot.lag.add(later.lag.toJSON());
  slot.stages = stagesFrom((stage) => addUp(before[stage], later.stages[stage]));
  slot.byEndpoint = addUpEach(slot.byEndpoint, later.byEndpoint);
  slot.ours += later.ours;
  slot.blocks = mergeBlocks(slot.blocks, later.blocks);
  slot.probes.merge(later.probes);
}

/**
 * @param {Slot} slot
 * @param {{phase: Phase, startMs: number, endMs: number}} place
 * @returns {IntervalRow}
 */
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
