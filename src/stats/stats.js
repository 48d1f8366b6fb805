import { STAGES } from './figures.js';
import { Distribution } from './histogram.js';
import { EARLIER, addUp, asJson, mapDistributions, merge, zero } from './merge.js';
import { COUNTED, GROUP, READINGS, ROW, STATS } from './metrics.js';
import { shareIn } from './throughput.js';

/**
 * @import * as Contract from '../contracts/load.d.ts'
 * @import { GroupFigures, Latencies, StatsState } from '../contracts/load.d.ts'
 * @import { BlockRates, Counts, DistributionJson, GasOfOperations, GroupJson, IntervalRow, Stage } from '../contracts/run-file.d.ts'
 */

/** @returns {Counts} */
export function zeroCounts() {
  return zero(COUNTED);
}

/** Operations by instants inside the window. */
function zeroWindowCounts() {
  return { scheduled: 0, dropped: 0, started: 0, accepted: 0, included: 0, verified: 0, failed: 0, timedOut: 0 };
}

/** @returns {Latencies} */
function newLatencies() {
  const others = /** @type {const} */ (['lag', 'latency', 'fromStart', 'censored', 'fromStartCensored', 'timedOut']);
  const distributions = others.map((name) => [name, new Distribution()]);
  return { ...Object.fromEntries(distributions), ...stagesOf(() => new Distribution()) };
}

/** What a generator used that did nothing yet. */
export function noneUsed() {
  return {
    readBackRetries: 0,
    pausedMs: 0,
    retiredWallets: 0,
    inclusionResolutionMs: null,
    headSource: null,
    failedPolls: 0,
    presigned: { used: 0, discarded: 0 },
    resubmissions: {
      repeated: 0,
      refused: 0,
      rebroadcast: 0,
      lost: 0,
      lostMs: 0,
      replaced: 0,
      leftOut: 0,
      leftOutMs: 0,
    },
    pauses: { limitAnswers: 0, limitedMs: 0, unansweredMs: 0, refusedMs: 0, unpaidMs: 0 },
  };
}

/** @returns {GroupFigures} */
export function newGroup() {
  return zero(GROUP);
}

/** A group as a run file has it. @param {GroupFigures} group @returns {GroupJson} */
export function groupJson({ counts, windowVerified, failedInWarmUp, gas, failures, latency, censored }) {
  const all = new Distribution().add(latency).add(censored);
  return { counts, windowVerified, failedInWarmUp, gas, failures, latency: all.toJSON(), censored: censored.toJSON() };
}

/**
 * The figures of a run, or of a part of its time or of its wallets. Each operation is recorded in one of them only.
 * @implements {Contract.Stats}
 */
export class Stats {
  counts = zeroCounts();
  /** By instants inside the window. */
  window = zeroWindowCounts();
  /** Gas of operations verified inside the window. @type {GasOfOperations} */
  gas = { operations: 0, used: 0 };
  /** By code. @type {Record<string, number>} */
  failures = {};
  /** Latency of operations due in each half of the planned window; without a planned end all are in the first. */
  halves = [
    { count: 0, sumUs: 0 },
    { count: 0, sumUs: 0 },
  ];
  /** Distributions of operations due inside the window. */
  inside = newLatencies();
  outside = newLatencies();
  /** @type {Record<string, GroupFigures>} */
  byName = {};
  /** Only with several endpoints. @type {Record<string, GroupFigures>} */
  byEndpoint = {};
  /** Operations due in the window, by the index of the stage of the schedule; only with --stages. @type {Record<string, GroupFigures & {counts: Counts}>} */
  byStage = {};
  /** Facts of observers, by name. @type {Record<string, unknown>} */
  facts = {};

  /** @param {number} startUs @param {number} [endUs] */
  constructor(startUs, endUs = startUs) {
    this.startUs = startUs;
    this.endUs = endUs;
  }

  /** Adds the figures of another part of the run. @param {Stats} other @returns {this} */
  add(other) {
    return Object.assign(this, merge(STATS, this, other));
  }

  /** A distribution of all operations, in the window or not. @param {keyof Latencies} name @returns {Contract.Distribution} */
  distribution(name) {
    return new Distribution().add(this.inside[name]).add(this.outside[name]);
  }

  /** The stages of all operations. @returns {Record<Stage, DistributionJson>} */
  stages() {
    return stagesOf((stage) => this.distribution(stage).toJSON());
  }

  /** Plain data for another thread. @returns {StatsState} */
  toState() {
    return mapDistributions({ ...this }, (distribution) => distribution.toState());
  }

  /** @param {StatsState} state @returns {Stats} */
  static fromState(state) {
    return new Stats(state.startUs, state.endUs).add(/** @type {any} */ (state));
  }
}

/**
 * The row of an interval.
 * @param {Stats} stats
 * @param {Pick<IntervalRow, 'phase' | 'inFlight' | 'blocks' | 'probes'> & {loadStartUs: number, isPlain?: boolean}} known
 * @returns {IntervalRow}
 */
export function rowOf(stats, { phase, loadStartUs, inFlight, blocks, probes, isPlain = false }) {
  const { startUs, endUs, counts, failures, byEndpoint } = stats;
  const sums = (/** @type {GroupFigures} */ group) => ({ ...group.counts, sumUs: group.sumUs });
  const row = {
    phase,
    startMs: (startUs - loadStartUs) / 1000,
    endMs: (endUs - loadStartUs) / 1000,
    counts,
    failures,
    inFlight,
    byEndpoint: Object.fromEntries(Object.entries(byEndpoint).map(([key, group]) => [key, sums(group)])),
    // Grows as what was verified is spread over the rows.
    tps: phase === 'drain' || endUs <= startUs ? null : 0,
    latency: stats.distribution('latency').toJSON(),
    lag: stats.distribution('lag').toJSON(),
    stages: stagesOf((stage) => {
      const [a, b] = [stats.inside[stage], stats.outside[stage]];
      return { count: a.count + b.count, sumUs: a.sumUs + b.sumUs };
    }),
    blocks,
    probes,
  };
  return row.tps === null || isPlain ? row : { ...row, perSecond: { blocks: 0, transactions: 0, ours: 0, gas: 0 } };
}

/** @template T @param {(stage: Stage) => T} of @returns {Record<Stage, T>} */
export function stagesOf(of) {
  return /** @type {Record<Stage, T>} */ (Object.fromEntries(STAGES.map(({ name }) => [name, of(name)])));
}

/**
 * Two neighbouring rows as one.
 * @param {IntervalRow} a
 * @param {IntervalRow} b the one after it
 * @returns {IntervalRow}
 */
export function mergedRows(a, b) {
  const [aMs, bMs] = [a.endMs - a.startMs, b.endMs - b.startMs];
  return merge(ROW, a, b, aMs + bMs > 0 ? aMs / (aMs + bMs) : EARLIER);
}

/** Readings of all rows. @param {IntervalRow[]} rows consecutive, at least one */
export function probesOf([{ probes, startMs }, ...rows]) {
  return rows.reduce(
    (sum, row) => merge(READINGS, sum, row.probes, (row.startMs - startMs) / (row.endMs - startMs)),
    probes,
  );
}

/** Limit of the rows of a run; above it neighbours are merged in pairs. */
export const INTERVAL_LIMIT = 2000;
/** Share of the rows that are not merged yet. */
const RECENT_SHARE = 0.05;
/** Limit of the spans that may reach into the next row; above it neighbours are joined. */
const SPAN_LIMIT = 4096;

/** @typedef {{fromMs: number, toMs: number, amounts: Partial<BlockRates & {verified: number}>}} Part of the throughput */

export class IntervalLog {
  /** @type {IntervalRow[]} */
  rows = [];
  /** What may reach into the next row. @type {Part[]} */
  #ahead = [];

  /** @param {number} [limit] */
  constructor(limit = INTERVAL_LIMIT) {
    this.limit = limit;
  }

  /** @param {IntervalRow} row */
  add(row) {
    for (const part of this.#ahead) credit(row, part);
    this.#ahead = this.#ahead.filter(({ toMs }) => toMs > row.endMs);
    this.rows.push(row);
    if (this.rows.length <= this.limit) return;
    // The latest rows still change.
    const old = this.rows.slice(0, this.rows.length - Math.floor(RECENT_SHARE * this.limit));
    /** @type {IntervalRow[]} */
    const merged = [];
    for (let i = 0; i < old.length; i += 2) {
      const [one, next] = old.slice(i, i + 2);
      if (next?.phase === one.phase) merged.push(asJson(mergedRows(one, next)));
      else merged.push(...old.slice(i, i + 2));
    }
    this.rows = [...merged, ...this.rows.slice(old.length)];
  }

  /** Adds to the rates of the rows, by their parts of the time. @param {number} fromMs @param {number} toMs @param {Part['amounts']} amounts */
  spread(fromMs, toMs, amounts) {
    const part = { fromMs, toMs, amounts };
    for (let i = this.rows.length - 1; i >= 0 && this.rows[i].endMs >= fromMs; i -= 1) credit(this.rows[i], part);
    if (toMs <= (this.rows.at(-1)?.endMs ?? -Infinity)) return;
    this.#ahead.push(part);
    if (this.#ahead.length > SPAN_LIMIT) this.#ahead = joined(this.#ahead);
  }
}

/** @param {IntervalRow} row @param {Part} part */
function credit(row, { fromMs, toMs, amounts }) {
  const share = shareIn({ fromUs: fromMs, toUs: toMs }, row.startMs, row.endMs);
  if (share === 0 || row.tps === null) return;
  const factor = (1000 * share) / (row.endMs - row.startMs);
  const { verified = 0, ...ofBlocks } = amounts;
  row.tps += factor * verified;
  if (row.perSecond === undefined) return;
  for (const [name, amount] of Object.entries(ofBlocks))
    row.perSecond[/** @type {keyof BlockRates} */ (name)] += factor * amount;
}

/** @param {Part[]} parts @returns {Part[]} half as many */
function joined(parts) {
  return parts.flatMap((one, i) => {
    if (i % 2 === 1) return [];
    const next = parts[i + 1] ?? { ...one, amounts: {} };
    const amounts = addUp(
      /** @type {Record<string, number>} */ (one.amounts),
      /** @type {Record<string, number>} */ (next.amounts),
    );
    return { fromMs: Math.min(one.fromMs, next.fromMs), toMs: Math.max(one.toMs, next.toMs), amounts };
  });
}
