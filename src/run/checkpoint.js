import { EXIT, StressError } from '../errors.js';

/**
 * @import { Clock } from '../clock.js'
 * @import { RunFile } from '../metrics/summary.js'
 * @import { Output } from '../output/index.js'
 * @import { Stop } from './stop.js'
 */

/**
 * Keeps what is known of a run while it goes on, so that little is lost when something kills it.
 *
 * @typedef {object} CheckpointOptions
 * @property {Clock} clock
 * @property {Output[]} outputs
 * @property {Stop} stop
 * @property {(words: string) => void} warn called once, whatever goes wrong how often
 */

/**
 * How a run file is made: asking takes a while where others know, and no time of this thread.
 * @template T
 * @typedef {{ask: () => Promise<T>, describe: (known: T) => RunFile}} Making
 */

/** From the beginning of the load to the first one in it: between two reports of the usual interval, not with one. */
const FIRST_MS = 1000;
const PERIOD_MS = 5000;

/** The load stands still while one is made: that may take a fiftieth of the time. */
const PERIODS_PER_COST = 50;

export class Checkpoints {
  #options;
  #keepers;
  #hasWarned = false;
  #isOver = false;
  #cancel = () => {};
  /** Of the one that is being written. @type {Promise<unknown>} */
  #keeping = Promise.resolve();

  /** @param {CheckpointOptions} options */
  constructor(options) {
    this.#options = options;
    this.#keepers = options.outputs.flatMap((output) => output.checkpoint?.bind(output) ?? []);
  }

  /**
   * @template T
   * @param {Making<T>} making
   * @returns {Promise<number>} what it took of this thread's time, in milliseconds
   */
  async keep({ ask, describe }) {
    const { clock, stop } = this.#options;
    if (this.#keepers.length === 0) return 0;
    let busyUs = 0;
    /** @template R @param {() => R} action @returns {R} */
    const timed = (action) => {
      const startUs = clock.nowUs();
      try {
        return action();
      } finally {
        busyUs += clock.nowUs() - startUs;
      }
    };
    try {
      const known = await timed(ask);
      // The whole run file may be there by now.
      if (!this.#isOver) await timed(() => this.#hand(describe(known)));
    } catch (error) {
      // Whether the run file can be written is decided by the end: a disk may have room again by then.
      if (error instanceof StressError && error.exitCode === EXIT.cannotWrite) this.#warnOnce(error.message);
      else stop.request('internal', EXIT.internal, /** @type {Error} */ (error));
    }
    return busyUs / 1000;
  }

  /** @param {RunFile} runFile @returns {Promise<unknown>} when it is written */
  #hand(runFile) {
    const kept = this.#keepers.map(async (keeper) => keeper(runFile));
    this.#keeping = Promise.allSettled(kept);
    return Promise.all(kept);
  }

  /** Now and then until stop(). @template T @param {Making<T>} making */
  begin(making) {
    if (this.#keepers.length > 0) this.#keepAfter(FIRST_MS, making);
  }

  /** @template T @param {number} ms @param {Making<T>} making */
  #keepAfter(ms, making) {
    this.#cancel = this.#options.clock.after(() => void this.#keepOn(making), ms);
  }

  /** @template T @param {Making<T>} making */
  async #keepOn(making) {
    const tookMs = await this.keep(making);
    if (!this.#isOver) this.#keepAfter(Math.max(PERIOD_MS, PERIODS_PER_COST * tookMs), making);
  }

  /** @returns {Promise<void>} when none is being written any more: it would replace the whole run file */
  async stop() {
    this.#isOver = true;
    this.#cancel();
    await this.#keeping;
  }

  /** Nothing was loaded: nothing is to look as if it had been killed under load. */
  async discard() {
    await this.stop();
    for (const output of this.#options.outputs) output.discard?.();
  }

  /** @param {string} words */
  #warnOnce(words) {
    if (!this.#hasWarned) this.#options.warn(`${words}; the run goes on without a file of what is known so far`);
    this.#hasWarned = true;
  }
}
