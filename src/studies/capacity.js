import { keyFileSource } from '../chain/keys.js';
import { warmupSeconds } from '../core/costs.js';
import { blockIntervalMs } from '../stats/blocks.js';
import { counted } from '../text.js';
import { isCallWorkload } from '../workloads/table.js';
import { argsOf } from './plan.js';
import { median } from './statistics.js';

/**
 * What `stress find` decides itself: how many wallets, how many operations in flight, how long a run is, and how long the
 * search.
 *
 * @import { Config } from '../contracts/config.d.ts'
 * @import { RunFile } from '../contracts/run-file.d.ts'
 * @import { Find } from '../contracts/study.d.ts'
 */

/** geth keeps 16 transactions of an account in its pool for certain (--txpool.accountslots), other clients no fewer. */
const MOST_IN_FLIGHT = 16;
const MOST_WALLETS = 10_000;

/**
 * The pilot run is made again with so many times the operations in flight, while its operations wait only for the next
 * block: with FAR where blocks have room for as many.
 */
const NEAR = 4;
const FAR = 16;
/** Block intervals: a higher median latency means that operations wait for more than the next block. */
const ONE_BLOCK = 1.25;

/** The first run measures how fast blocks come. */
const FIRST_RUN_MS = 6000;
/** Runs have at least this many blocks, and are not shorter than this. */
const BLOCKS_PER_RUN = 10;
const SHORTEST_MS = 8000;
/** A warm-up lasts at least this many times the latency of the pilot run, whose wallets are all busy. */
const LATENCIES_PER_WARMUP = 2;
const LAST_RUNS = 3;
/** A run was too short if the blocks came slower than expected by this factor. */
const SLOWER_BLOCKS = 1.25;

/** A run takes about 20 blocks with its set-up, warm-up and drain, and twelve runs give a narrow interval. */
const BLOCKS_PER_SEARCH = 240;
const SHORTEST_SEARCH_MS = 180_000;
export const SEARCH_TIME = `${SHORTEST_SEARCH_MS / 60_000} minutes, or ${BLOCKS_PER_SEARCH} blocks if they take longer`;

/** Operations of a block interval begin before the block that takes the ones before them is read. @param {number} perSecond @param {{blockMs: number, p99Us: number}} latency @returns {number} operations in flight that this rate needs just before a block */
export function neededInFlight(perSecond, { blockMs, p99Us }) {
  return Math.ceil(perSecond * (blockMs / 1e3 + p99Us / 1e6));
}

export class Capacity {
  #config;
  #clock;
  #startUs;
  /** Block intervals of each run. @type {number[]} */
  #intervalsMs = [];
  /** A run was made again because it was too short. */
  #isLonger = false;
  /** How long the last runs took, set-up included. @type {number[]} */
  #tookMs = [];
  /** 99th percentile of the latency of the pilot run. @type {number | null} */
  #latencyMs = null;
  #wallets;
  #mostWallets;
  #inFlight;
  #mostInFlight = MOST_IN_FLIGHT;
  /** Wallets and operations in flight before they were raised, until a run was made with the new ones. @type {[wallets: number, inFlight: number] | null} */
  #before = null;
  /** Options of the pilot run. */
  #first;

  /** @param {Config} config @param {{nowUs: () => number}} clock */
  constructor(config, clock) {
    this.#config = config;
    this.#clock = clock;
    this.#startUs = clock.nowUs();
    const { load, study } = config;
    const { keys, offset } = config.wallets;
    this.#mostWallets = keys === null ? MOST_WALLETS : Math.min(MOST_WALLETS, keyFileSource(keys).size - offset);
    this.#wallets =
      study.options.threads === undefined ? Math.min(load.threads, Math.max(1, this.#mostWallets)) : load.threads;
    this.#inFlight = load.inFlight;
    this.#first = { threads: this.#wallets, inFlight: this.#inFlight };
  }

  get runMs() {
    const { durationMs } = this.#config.load;
    if (durationMs !== null) return durationMs;
    // One more, because the position of the first block is unknown.
    return this.#intervalMs === null ? FIRST_RUN_MS : Math.max(SHORTEST_MS, (BLOCKS_PER_RUN + 1) * this.#intervalMs);
  }

  /** The median, because a node that stalls in one run should not make all later ones longer. */
  get #intervalMs() {
    return this.#intervalsMs.length === 0 ? null : median(this.#intervalsMs);
  }

  /** 0: not known, or plain calls. */
  get blockMs() {
    return this.#intervalMs ?? 0;
  }

  /** Operations in flight of the next run, in all wallets. */
  get inFlight() {
    return this.#wallets * (this.#isOfCalls ? 1 : this.#inFlight);
  }

  /**
   * The measured length of the warm-up. The automatic one ends when the first operations have ended, which takes long at a
   * rate that the node cannot take.
   * @returns {number | null} null: as the user's options say, or not known
   */
  get #warmupMs() {
    const { load, study } = this.#config;
    if (load.warmupMs !== 'auto' || study.searched?.unit !== undefined || this.#latencyMs === null) return null;
    const blocksMs = 1000 * warmupSeconds('auto', (this.#intervalMs ?? 0) / 1000);
    return Math.max(blocksMs, LATENCIES_PER_WARMUP * this.#latencyMs);
  }

  get limitMs() {
    return this.#config.study.timeLimitMs ?? Math.max(SHORTEST_SEARCH_MS, BLOCKS_PER_SEARCH * (this.#intervalMs ?? 0));
  }

  /** What is wrong with the time of the search. @returns {string | null} */
  get timeProblem() {
    const { timeLimitMs } = this.#config.study;
    const { durationMs } = this.#config.load;
    const leastMs = durationMs === null ? FIRST_RUN_MS + SHORTEST_MS : 2 * durationMs;
    if (this.limitMs >= leastMs) return null;
    const [given, least] = [this.limitMs, leastMs].map((ms) => `${ms / 1000}s`);
    return `${timeLimitMs === null ? `the search ends after ${given}, which` : `--time-limit ${given}`} is shorter than a pilot run and one more run, which take at least ${least}: give a higher --time-limit${durationMs === null ? '' : ', or a lower --duration'}`;
  }

  get leftMs() {
    return this.limitMs - (this.#clock.nowUs() - this.#startUs) / 1000;
  }

  /** @returns {Find['stopped']} why no further run is made */
  get isOver() {
    // One that was far above the limit, early in the search, took longer than the next ones will.
    return this.leftMs < Math.max(0, ...this.#tookMs) ? 'time' : null;
  }

  /** Options of the next run that the search raises. @returns {Record<string, string>} */
  get size() {
    return { threads: String(this.#wallets), ...(!this.#isOfCalls && { 'in-flight': String(this.#inFlight) }) };
  }

  /** Options of the next run. @returns {string[]} */
  get args() {
    const warmupMs = this.#warmupMs;
    return [
      ...argsOf({ settings: this.size }),
      `--duration=${Math.round(this.runMs)}ms`,
      ...(warmupMs === null ? [] : [`--warmup=${Math.round(warmupMs)}ms`]),
    ];
  }

  /** @param {RunFile} run @param {number} tookMs with its set-up */
  learn({ blocks, window, config, latency }, tookMs) {
    const { p99Us } = latency.total;
    if (p99Us !== null) this.#latencyMs ??= p99Us / 1000;
    if (blocks.count > 0) this.#intervalsMs.push(blockIntervalMs(blocks, window.durationMs));
    else if (!this.#isOfCalls && window.durationMs > 0 && this.#intervalMs === null)
      this.#intervalsMs.push(2 * window.durationMs);
    this.#tookMs = [...this.#tookMs, tookMs].slice(-LAST_RUNS);
    this.#wallets = Number(config.threads);
    this.#inFlight = Number(config.inFlight ?? 1);
    this.#before = null;
  }

  /** After a run that failed. @returns {boolean} whether it failed after a raise, which is taken back: no later run gets more */
  undo() {
    if (this.#before === null) return false;
    [this.#wallets, this.#inFlight] = this.#before;
    [this.#mostWallets, this.#mostInFlight] = this.#before;
    this.#before = null;
    return true;
  }

  /** @param {RunFile} run that was learned from @returns {boolean} whether it has too few blocks and should be longer, at most once */
  isTooShort({ window }) {
    if (this.#isLonger || this.runMs <= SLOWER_BLOCKS * window.durationMs) return false;
    this.#isLonger = true;
    return true;
  }

  /**
   * After a pilot run whose operations waited only for the next block: the node takes more at once.
   * @param {RunFile} run
   * @returns {boolean} whether the pilot run is made again with more operations in flight
   */
  widenPilot({ latency, verdict, blocks }) {
    const { p50Us } = latency.total;
    const isWaiting = p50Us !== null && p50Us / 1000 <= ONE_BLOCK * this.blockMs;
    const isRoomy = (blocks.gasLimit ?? 0) > 0 && FAR * (blocks.gasUsed ?? Infinity) <= (blocks.gasLimit ?? 0);
    const inFlight = (isRoomy && FAR * this.#inFlight <= this.#mostInFlight ? FAR : NEAR) * this.#inFlight;
    if (!isWaiting || !this.#raisesInFlight || inFlight > this.#mostInFlight || verdict?.name === 'generator-bound')
      return false;
    this.#before ??= [this.#wallets, this.#inFlight];
    this.#inFlight = inFlight;
    return true;
  }

  /** After a run that met the node's limit of transactions of one sender. @returns {boolean} whether later runs have half as many in flight per wallet */
  spread() {
    if (!this.#raisesInFlight || this.#inFlight <= this.#first.inFlight) return false;
    this.#mostInFlight = Math.floor(this.#inFlight / 2);
    return true;
  }

  /**
   * As many operations at once as a rate needs, as far as the user's options and the keys allow. More in flight cost
   * nothing, so they come first; each wallet must be funded and set up. A lower rate gets fewer: the backlog of a node that
   * cannot take it is as long as there are operations in flight.
   * @param {number | null} needed operations in flight; null: not known, as many as before
   * @returns {string | null} what was changed; null: nothing
   */
  fit(needed) {
    if (needed === null) return null;
    const before = /** @type {[number, number]} */ ([this.#wallets, this.#inFlight]);
    const { threads, inFlight } = this.#first;
    const most = this.#raisesInFlight ? this.#mostInFlight : 0;
    this.#inFlight = Math.max(inFlight, Math.min(most, Math.ceil(needed / threads)));
    if (this.#config.study.options.threads === undefined)
      this.#wallets = Math.max(threads, Math.min(this.#mostWallets, Math.ceil(needed / this.#inFlight)));
    const wallets = this.#isOfCalls ? 'users' : 'wallets';
    const changes = [
      ...(this.#inFlight === before[1]
        ? []
        : [`${counted(this.#inFlight, 'operation')} in flight per wallet instead of ${before[1]}`]),
      ...(this.#wallets === before[0] ? [] : [`${this.#wallets} ${wallets} instead of ${before[0]}`]),
    ];
    if (this.#wallets > before[0] || this.#inFlight > before[1]) this.#before ??= before;
    return changes.length === 0 ? null : changes.join(', ');
  }

  /** @returns {string | null} what was changed so that twice as many are in flight; null: options or keys do not allow it */
  double() {
    const earlier = /** @type {const} */ ([this.#wallets, this.#inFlight, this.#before]);
    const wanted = 2 * this.inFlight;
    const words = this.fit(wanted);
    if (this.inFlight >= wanted) return words;
    [this.#wallets, this.#inFlight, this.#before] = earlier;
    return null;
  }

  get #raisesInFlight() {
    return this.#config.study.options['in-flight'] === undefined && !this.#isOfCalls;
  }

  get #isOfCalls() {
    return isCallWorkload(this.#config.workload.workload);
  }
}
