import { keyFileSource } from '../chain/keys.js';
import { blockIntervalMs } from '../stats/blocks.js';
import { isCallWorkload } from '../workloads/table.js';
import { argsOf } from './plan.js';

/**
 * What `stress find` decides itself: how many wallets, how many operations in flight, how long a run is, how long the
 * search, and what is left to spend.
 *
 * @import { Config, RunFile } from '../types.d.ts'
 */

/** Both are raised by this factor where they are the limit. */
const STEP = 4;
/** geth keeps 16 transactions of an account in its pool for certain (--txpool.accountslots). */
const MOST_IN_FLIGHT = 16;
const MOST_WALLETS = 10_000;

/** The first run measures how fast blocks come. */
const FIRST_RUN_MS = 6000;
/** Runs have at least this many blocks, and are not shorter than this. */
const BLOCKS_PER_RUN = 4;
const SHORTEST_MS = 8000;

const SHORTEST_SEARCH_MS = 180_000;
const BLOCKS_PER_SEARCH = 60;

/** Verdicts of a run with too few wallets, or too few operations in flight. */
const TOO_FEW = Object.freeze(['concurrency-bound', 'unknown']);

export class Capacity {
  #config;
  #clock;
  #startUs;
  /** Of blocks. @type {number | null} */
  #intervalMs = null;
  #spentWei = 0n;
  #longestRunMs = 0;
  #wallets;
  #mostWallets;
  #inFlight;
  /** Before they were raised, until a run was made with the new ones. @type {[wallets: number, inFlight: number] | null} */
  #before = null;
  /** More of them are not possible: there are no keys or funds for them, for example. */
  #isFixed = false;

  /** @param {Config} config @param {{nowUs: () => number}} clock */
  constructor(config, clock) {
    this.#config = config;
    this.#clock = clock;
    this.#startUs = clock.nowUs();
    const { keys, offset, study } = config;
    this.#mostWallets = keys === null ? MOST_WALLETS : Math.min(MOST_WALLETS, keyFileSource(keys).size - offset);
    this.#wallets =
      study.options.threads === undefined ? Math.min(config.threads, Math.max(1, this.#mostWallets)) : config.threads;
    this.#inFlight = config.inFlight;
  }

  get runMs() {
    const { durationMs } = this.#config;
    if (durationMs !== null) return durationMs;
    return this.#intervalMs === null ? FIRST_RUN_MS : Math.max(SHORTEST_MS, BLOCKS_PER_RUN * this.#intervalMs);
  }

  get limitMs() {
    return this.#config.timeLimitMs ?? Math.max(SHORTEST_SEARCH_MS, BLOCKS_PER_SEARCH * (this.#intervalMs ?? 0));
  }

  get leftMs() {
    return this.limitMs - (this.#clock.nowUs() - this.#startUs) / 1000;
  }

  /** @returns {string | null} why no further run is made */
  get isOver() {
    if (this.leftMs < this.#longestRunMs)
      return `the time limit of ${Math.round(this.limitMs / 1000)} s was reached: the same command goes on`;
    return this.#leftWei === 0n ? 'the limit of fees (--max-spend) was reached' : null;
  }

  /** @returns {bigint | null} null: no limit */
  get #leftWei() {
    const { maxSpendWei } = this.#config;
    if (maxSpendWei === null) return null;
    return maxSpendWei > this.#spentWei ? maxSpendWei - this.#spentWei : 0n;
  }

  /** Options of the next run that the search raises. @returns {Record<string, string>} */
  get size() {
    return { threads: String(this.#wallets), ...(!this.#isOfCalls && { 'in-flight': String(this.#inFlight) }) };
  }

  /** Options of the next run. @returns {string[]} */
  get args() {
    const leftWei = this.#leftWei;
    return [
      ...argsOf({ settings: this.size }),
      `--duration=${Math.round(this.runMs)}ms`,
      ...(leftWei === null ? [] : [`--max-spend=${leftWei}wei`]),
    ];
  }

  /** @param {RunFile} run @param {number} tookMs with its set-up */
  learn({ blocks, window, spending, config }, tookMs) {
    if (blocks.count > 0) this.#intervalMs = blockIntervalMs(blocks, window.durationMs);
    else if (!this.#isOfCalls && window.durationMs > 0) this.#intervalMs ??= 2 * window.durationMs;
    this.#longestRunMs = Math.max(this.#longestRunMs, tookMs);
    const { capWei, setUpWei, spentWei, leftWei = null } = spending;
    // Without an audit a run has spent its limit at most.
    this.#spentWei += BigInt(spentWei ?? 0) || BigInt(setUpWei ?? 0) + BigInt(leftWei ?? capWei ?? 0);
    this.#wallets = Number(config.threads);
    this.#inFlight = Number(config.inFlight ?? 1);
    this.#before = null;
  }

  /** After a run that failed. @returns {boolean} whether it failed after a raise, which is taken back */
  undo() {
    if (this.#before === null) return false;
    [this.#wallets, this.#inFlight] = this.#before;
    this.#before = null;
    this.#isFixed = true;
    return true;
  }

  /**
   * More operations at once, if a run had too few of them.
   * @param {RunFile} run
   * @returns {string | null} what was changed; null: they were enough, or are given by the user
   */
  raise({ verdict, window }) {
    const { options } = this.#config.study;
    if (
      this.#isFixed ||
      !TOO_FEW.includes(verdict?.name ?? '') ||
      (verdict?.name === 'unknown' && window.counts.dropped === 0)
    )
      return null;
    this.#before = [this.#wallets, this.#inFlight];
    if (options['in-flight'] === undefined && !this.#isOfCalls && this.#inFlight < MOST_IN_FLIGHT) {
      this.#inFlight = Math.min(MOST_IN_FLIGHT, STEP * this.#inFlight);
      return `${this.#inFlight} operations in flight per wallet in place of ${this.#before[1]}${droppedText(window)}`;
    }
    if (options.threads !== undefined || this.#wallets >= this.#mostWallets) {
      this.#before = null;
      return null;
    }
    this.#wallets = Math.min(this.#mostWallets, STEP * this.#wallets);
    return `${this.#wallets} ${this.#isOfCalls ? 'users' : 'wallets'} in place of ${this.#before[0]}${droppedText(window)}`;
  }

  get #isOfCalls() {
    return isCallWorkload(this.#config.workload);
  }
}

/** @param {RunFile['window']} window */
function droppedText({ counts: { dropped, scheduled } }) {
  return dropped === 0 ? '' : `: ${dropped} of ${scheduled} operations were dropped`;
}
