import { mergeBlocks, noBlocks } from '../metrics/blocks.js';
import { DistributionSum } from '../metrics/distribution-sum.js';
import { addUp, addUpEach, zeroCounts } from '../metrics/interval.js';
import { INTERVAL_LIMIT, stagesFrom } from '../metrics/intervals.js';
import { ProbeSums } from './merge-probes.js';

/** @import { IntervalRow, Phase } from '../metrics/intervals.js' */

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
