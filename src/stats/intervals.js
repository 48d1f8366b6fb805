import { Distribution, mergeJson } from './histogram.js';
import { mergeReadings } from './readings.js';
import { STAGES } from './sample.js';

/** @import { BlockTotals, Counts, DistributionJson, IntervalRow, IntervalState, Readings, Stage } from '../types.d.ts' */

/**
 * Intervals of a run: the figures between two reports, the blocks seen in them, and their rows in the run file.
 *
 * @typedef {ReturnType<typeof newInterval>} Interval
 *
 * @typedef {{verified: number, failed: number, timedOut: number, abandoned: number, sumUs: number}} EndpointSums the sum
 *   of the latencies of verified operations
 *
 * @typedef {'latency' | 'censored' | 'lag' | Stage} IntervalDistribution
 */

/** @returns {Counts} */
export function zeroCounts() {
  return { scheduled: 0, dropped: 0, started: 0, verified: 0, failed: 0, timedOut: 0, abandoned: 0 };
}

export function newStages() {
  return {
    queued: new Distribution(),
    submit: new Distribution(),
    inclusion: new Distribution(),
    visibility: new Distribution(),
    readBack: new Distribution(),
  };
}

/** @param {number} startUs */
function newInterval(startUs) {
  return {
    startUs,
    endUs: startUs,
    counts: zeroCounts(),
    /** Of operations verified in it, as are the stages. */
    latency: new Distribution(),
    /** Of censored operations that ended in it: the time waited. */
    censored: new Distribution(),
    /** Of operations due in it. */
    lag: new Distribution(),
    stages: newStages(),
    /** @type {Record<string, number>} */
    failures: {},
    /** @type {Record<string, EndpointSums>} */
    byEndpoint: {},
  };
}

/** The current interval and later ones. An interval ends at the border of the window, however late it is taken. */
export class Intervals {
  /** In order; the first is the current one. @type {[Interval, ...Interval[]]} */
  #open;
  #windowStartUs = -Infinity;
  #windowEndUs = Infinity;

  /** @param {number} startUs */
  constructor(startUs) {
    this.#open = [newInterval(startUs)];
  }

  /** @param {number} startUs @param {number} endUs */
  setWindow(startUs, endUs) {
    this.#windowStartUs = startUs;
    this.#windowEndUs = endUs;
  }

  /** The interval of an instant; what precedes the current interval was reported late and counts in it. @param {number} atUs */
  at(atUs) {
    for (let i = 0; ; i += 1) {
      const interval = this.#open[i];
      const borderUs = this.#borderAfter(interval.startUs);
      if (atUs < borderUs || (atUs === borderUs && borderUs === this.#windowEndUs)) return interval;
      if (i + 1 === this.#open.length) this.#open.push(newInterval(borderUs));
    }
  }

  /** @param {number} startUs */
  #borderAfter(startUs) {
    // A run that ends in its warm-up has no window.
    const windowStartUs = Math.min(this.#windowStartUs, this.#windowEndUs);
    if (startUs < windowStartUs) return windowStartUs;
    return startUs < this.#windowEndUs ? this.#windowEndUs : Infinity;
  }

  /** Operations in flight at the end of the current interval. @param {number} live operations in flight now */
  inFlightAtEnd(live) {
    const [, ...later] = this.#open;
    return later.reduce((sum, { counts }) => {
      const { started, verified, failed, timedOut, abandoned } = counts;
      return sum - started + verified + failed + timedOut + abandoned;
    }, live);
  }

  /** Ends the current interval and starts the next. @param {number} nowUs @returns {Interval} */
  rotate(nowUs) {
    const [interval, ...later] = this.#open;
    interval.endUs = nowUs;
    const [next] = later;
    const isNextDue = next !== undefined && nowUs >= next.startUs;
    this.#open = isNextDue ? [next, ...later.slice(1)] : [newInterval(nowUs), ...later];
    return interval;
  }
}

/** @param {Interval} interval @returns {IntervalState} */
export function intervalState({ startUs, endUs, counts, failures, byEndpoint, latency, censored, lag, stages }) {
  const distributions = /** @type {IntervalState['distributions']} */ (
    Object.fromEntries(
      Object.entries({ latency, censored, lag, ...stages }).map(([name, value]) => [name, value.toJSON()]),
    )
  );
  return { startUs, endUs, counts, failures, byEndpoint, distributions };
}

/** The same interval of several threads. @param {IntervalState[]} states @param {number} nowUs its end if there is no state @returns {IntervalState} */
export function mergeIntervals(states, nowUs) {
  const sum = intervalState(newInterval(nowUs));
  const [first, ...rest] = states;
  if (first === undefined) return sum;
  return rest.reduce(
    (merged, { startUs, endUs, counts, failures, byEndpoint, distributions }) => ({
      startUs: Math.max(merged.startUs, startUs),
      endUs: Math.max(merged.endUs, endUs),
      counts: addUp(merged.counts, counts),
      failures: addUp(merged.failures, failures),
      byEndpoint: addUpEach(merged.byEndpoint, byEndpoint),
      distributions: /** @type {IntervalState['distributions']} */ (
        Object.fromEntries(
          INTERVAL_DISTRIBUTIONS.map((name) => [name, mergeJson(merged.distributions[name], distributions[name])]),
        )
      ),
    }),
    first,
  );
}

const INTERVAL_DISTRIBUTIONS = Object.freeze(/** @type {const} */ (['latency', 'censored', 'lag', ...STAGES]));

/** @template {Record<string, number>} T @param {T} a @param {T} b @returns {T} */
export function addUp(a, b) {
  /** @type {Record<string, number>} */
  const sum = { ...a };
  for (const [key, value] of Object.entries(b)) sum[key] = (sum[key] ?? 0) + value;
  return /** @type {T} */ (sum);
}

/** @param {Record<string, EndpointSums>} a @param {Record<string, EndpointSums>} b */
export function addUpEach(a, b) {
  const sum = { ...a };
  for (const [key, sums] of Object.entries(b)) sum[key] = sum[key] === undefined ? sums : addUp(sum[key], sums);
  return sum;
}

/**
 * @typedef {object} BlockFacts
 * @property {number} number
 * @property {string} [hash]
 * @property {number} transactions
 * @property {number} ours
 * @property {number} gasUsed
 * @property {number} gasLimit
 * @property {number} skewMs
 * @property {number} [gapMs] since the previous block was seen
 */

/** @returns {BlockTotals} */
export function noBlocks() {
  return {
    count: 0,
    firstNumber: null,
    lastNumber: null,
    transactions: 0,
    ours: 0,
    gasUsed: 0,
    gasLimit: null,
    full: 0,
    gapMaxMs: 0,
    skewMinMs: null,
    skewMaxMs: null,
    skewSumMs: 0,
  };
}

/** @param {BlockTotals} totals changed in place @param {BlockFacts} block */
export function addBlock(totals, block) {
  totals.count += 1;
  totals.firstNumber ??= block.number;
  totals.lastNumber = block.number;
  totals.transactions += block.transactions;
  totals.ours += block.ours;
  totals.gasUsed += block.gasUsed;
  totals.gasLimit = block.gasLimit;
  const { transactions, gasUsed, gasLimit } = block;
  // Nodes reserve a transaction's gas limit, which may be twice the gas that it uses.
  if (transactions > 0 && gasUsed + (2 * gasUsed) / transactions > gasLimit) totals.full = (totals.full ?? 0) + 1;
  totals.gapMaxMs = Math.max(totals.gapMaxMs ?? 0, block.gapMs ?? 0);
  totals.skewMinMs = Math.min(totals.skewMinMs ?? Infinity, block.skewMs);
  totals.skewMaxMs = Math.max(totals.skewMaxMs ?? -Infinity, block.skewMs);
  totals.skewSumMs += block.skewMs;
}

/** A gap this many times longer than the others is a halt of the chain, not its pace. */
const STILL = 5;

/**
 * @param {BlockTotals} totals
 * @param {number} durationMs of the time in which they were seen
 * @returns {number} the mean time between two blocks, without the gap of a halt
 */
export function blockIntervalMs({ count, gapMaxMs = 0, skewMinMs, skewMaxMs }, durationMs) {
  const gapMs = Math.min(gapMaxMs, durationMs);
  const othersMs = (durationMs - gapMs) / Math.max(1, count - 1);
  // Blocks produced in the gap but seen after it have a larger skew: no halt.
  const isLate = (skewMaxMs ?? 0) - (skewMinMs ?? 0) > gapMs / 2;
  return count > 2 && gapMs > STILL * othersMs && !isLate ? othersMs : durationMs / count;
}

/** @param {BlockTotals} a @param {BlockTotals} b the later one @returns {BlockTotals} */
export function mergeBlocks(a, b) {
  return {
    count: a.count + b.count,
    firstNumber: a.firstNumber ?? b.firstNumber,
    lastNumber: b.lastNumber ?? a.lastNumber,
    transactions: a.transactions + b.transactions,
    ours: a.ours + b.ours,
    gasUsed: a.gasUsed + b.gasUsed,
    gasLimit: b.gasLimit ?? a.gasLimit,
    full: (a.full ?? 0) + (b.full ?? 0),
    gapMaxMs: Math.max(a.gapMaxMs ?? 0, b.gapMaxMs ?? 0),
    skewMinMs:
      a.skewMinMs === null || b.skewMinMs === null ? (a.skewMinMs ?? b.skewMinMs) : Math.min(a.skewMinMs, b.skewMinMs),
    skewMaxMs:
      a.skewMaxMs === null || b.skewMaxMs === null ? (a.skewMaxMs ?? b.skewMaxMs) : Math.max(a.skewMaxMs, b.skewMaxMs),
    skewSumMs: a.skewSumMs + b.skewSumMs,
  };
}

/**
 * Each thread sees every block, but only its own transactions in it. A block counts once all threads have seen it.
 * @template {BlockFacts} T
 */
export class SharedBlocks {
  #totals = noBlocks();
  /** By number and hash: blocks that some threads have not seen yet. @type {Map<string, {block: T, seen: number}>} */
  #open = new Map();
  #onWhole;

  /** @param {(block: T) => void} onWhole called with each block once all threads have seen it */
  constructor(onWhole) {
    this.#onWhole = onWhole;
  }

  /** @param {T} block as one thread saw it @param {number} threads number of threads */
  add(block, threads) {
    // After a reorg two blocks have the same number.
    const key = `${block.number}:${block.hash ?? ''}`;
    const known = this.#open.get(key);
    if (known === undefined) this.#open.set(key, { block, seen: 1 });
    else {
      // The first sighting counts, not the first report.
      const first = block.skewMs < known.block.skewMs ? block : known.block;
      known.block = { ...first, ours: known.block.ours + block.ours };
      known.seen += 1;
    }
    if ((this.#open.get(key)?.seen ?? 0) < threads) return;
    // Threads see blocks in order: no thread will report an earlier block any more.
    for (const [other, { block: merged }] of this.#open) {
      this.#add(merged);
      this.#open.delete(other);
      if (other === key) break;
    }
  }

  /** @param {T} block */
  #add(block) {
    addBlock(this.#totals, block);
    this.#onWhole(block);
  }

  /** @param {boolean} isLast includes blocks that some threads have not seen @returns {BlockTotals} since the previous call */
  take(isLast) {
    if (isLast) {
      for (const { block } of this.#open.values()) this.#add(block);
      this.#open.clear();
    }
    const totals = this.#totals;
    this.#totals = noBlocks();
    return totals;
  }
}

/**
 * Rows of a run, bounded: above the limit neighbours are merged in pairs.
 *
 * @typedef {Record<Stage, {count: number, sumUs: number}>} Stages
 */

export const INTERVAL_LIMIT = 2000;

export class IntervalLog {
  /** @type {IntervalRow[]} */
  rows = [];

  /** @param {number} [limit] */
  constructor(limit = INTERVAL_LIMIT) {
    this.limit = limit;
  }

  /** @param {IntervalRow} row */
  add(row) {
    this.rows.push(row);
    if (this.rows.length <= this.limit) return;
    const merged = [];
    for (let i = 0; i < this.rows.length; i += 2) {
      const next = this.rows[i + 1];
      const isPair = next !== undefined && next.phase === this.rows[i].phase;
      merged.push(isPair ? mergeRows(this.rows[i], next) : this.rows[i]);
      if (!isPair && next !== undefined) merged.push(next);
    }
    this.rows = merged;
  }
}

/** @param {IntervalRow} a @param {IntervalRow} b the one after it @returns {IntervalRow} */
function mergeRows(a, b) {
  const counts = addUp(a.counts, b.counts);
  return {
    phase: a.phase,
    startMs: a.startMs,
    endMs: b.endMs,
    counts,
    failures: addUp(a.failures, b.failures),
    byEndpoint: addUpEach(a.byEndpoint ?? {}, b.byEndpoint ?? {}),
    inFlight: b.inFlight,
    tps: a.tps === null ? null : counts.verified / ((b.endMs - a.startMs) / 1000),
    latency: mergeJson(a.latency, b.latency),
    lag: mergeJson(a.lag, b.lag),
    stages: mergeStages(a.stages, b.stages),
    blocks: mergeBlocks(a.blocks, b.blocks),
    probes: mergeReadings(a.probes, b.probes, a.endMs - a.startMs, b.endMs - b.startMs),
    silence: b.silence ?? a.silence,
  };
}

/** @param {Stages} a @param {Stages} b @returns {Stages} */
function mergeStages(a, b) {
  return stagesFrom((stage) => ({ count: a[stage].count + b[stage].count, sumUs: a[stage].sumUs + b[stage].sumUs }));
}

/** @param {(stage: Stage) => {count: number, sumUs: number}} sumOf @returns {Stages} */
export function stagesFrom(sumOf) {
  const [queued, submit, inclusion, visibility, readBack] = STAGES.map((stage) => {
    const { count, sumUs } = sumOf(stage);
    return { count, sumUs };
  });
  return { queued, submit, inclusion, visibility, readBack };
}
