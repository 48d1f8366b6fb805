/**
 * @import { Clock } from '../clock.js'
 * @import { Counts } from '../metrics/interval.js'
 */

/**
 * The automatic warm-up: it ends when the pipeline is full, so that what is in flight at the end of the window is
 * balanced by what was in flight at its beginning.
 *
 * - A closed loop is full when as many operations have ended as the wallets can have in flight. An open loop is full
 *   when as many have ended as were started before the first one ended.
 * - Three blocks have come (not for plain calls), and a second has passed.
 * - It takes no longer than --tx-timeout: by then every first operation has ended, one way or another.
 *
 * The window then begins at a random instant within one block interval. Blocks come at a fixed distance: a window that
 * began with a block would always end at the same distance from one, and what it missed there every run would miss.
 *
 * @typedef {object} WarmUpOptions
 * @property {Clock} clock
 * @property {number} operations most operations in flight at once
 * @property {boolean} isOpenLoop
 * @property {boolean} hasBlocks false for plain calls
 * @property {number} mostMs
 * @property {() => number} [random]
 */

const BLOCKS = 3;
const SHORTEST_MS = 1000;
/** How often it is seen whether the pipeline is full. */
const PERIOD_MS = 100;
/** The window is named so long before it begins, so that every thread knows it by then. */
const AHEAD_MS = 300;

export class WarmUp {
  #options;
  #blocks = 0;
  #firstBlockUs = 0;
  #lastBlockUs = 0;
  /** So many operations have to end; an open loop learns it with its first one. @type {number | null} */
  #wanted;
  /** Why it ended without the pipeline being full. @type {string | null} */
  warning = null;

  /** @param {WarmUpOptions} options */
  constructor(options) {
    this.#options = options;
    this.#wanted = options.isOpenLoop ? null : options.operations;
  }

  /** @param {{seenAtUs: number}} block a new one */
  onBlock = ({ seenAtUs }) => {
    if (this.#blocks === 0) this.#firstBlockUs = seenAtUs;
    this.#lastBlockUs = seenAtUs;
    this.#blocks += 1;
  };

  /**
   * @param {number} loadStartUs
   * @param {() => Promise<Counts>} countsNow
   * @param {AbortSignal} signal ends it early
   * @returns {Promise<number | null>} when the window begins; null when it was ended early
   */
  async windowStartUs(loadStartUs, countsNow, signal) {
    const { clock, mostMs, hasBlocks, random = Math.random } = this.#options;
    for (;;) {
      await clock.sleep(PERIOD_MS, signal);
      const counts = await countsNow();
      if (signal.aborted) return null;
      const elapsedMs = (clock.nowUs() - loadStartUs) / 1000;
      if (elapsedMs >= SHORTEST_MS && this.#isFull(counts)) break;
      if (elapsedMs < mostMs) continue;
      this.warning = `the warm-up ended after ${Math.round(elapsedMs / 1000)} s (--tx-timeout) with ${hasBlocks ? `${this.#blocks} of ${BLOCKS} blocks and ` : ''}${endedOf(counts)} operations: rates and latencies may not be steady yet; give a longer --warmup`;
      break;
    }
    const blockUs = this.#blocks > 1 ? (this.#lastBlockUs - this.#firstBlockUs) / (this.#blocks - 1) : 0;
    return clock.nowUs() + AHEAD_MS * 1000 + Math.round(random() * blockUs);
  }

  /** @param {Counts} counts of the whole run so far */
  #isFull(counts) {
    const ended = endedOf(counts);
    if (ended > 0) this.#wanted ??= Math.min(counts.started, this.#options.operations);
    const hasBlocks = !this.#options.hasBlocks || this.#blocks >= BLOCKS;
    return hasBlocks && this.#wanted !== null && ended >= this.#wanted;
  }
}

/** @param {Counts} counts */
function endedOf({ verified, failed, timedOut, abandoned }) {
  return verified + failed + timedOut + abandoned;
}

/**
 * How long a warm-up is expected to be.
 * @param {number | 'auto'} warmupMs
 * @param {number} blockSeconds 0 where it is not known
 */
export function warmupSeconds(warmupMs, blockSeconds) {
  return warmupMs === 'auto' ? Math.max(SHORTEST_MS / 1000, (BLOCKS + 1) * blockSeconds) : warmupMs / 1000;
}
