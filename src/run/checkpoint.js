import { EXIT, StressError } from '../errors.js';

/**
 * Keeps what is known of a run while it goes on, so that little is lost when something kills it.
 *
 * @typedef {import('../metrics/summary.js').RunFile} RunFile
 *
 * @typedef {object} CheckpointOptions
 * @property {import('../clock.js').Clock} clock
 * @property {import('../output/index.js').Output[]} outputs
 * @property {import('./stop.js').Stop} stop
 * @property {(words: string) => void} warn called once, whatever goes wrong how often
 */

/** From the beginning of the load to the first one in it: between two reports of the usual interval, not with one. */
const FIRST_MS = 1000;
const PERIOD_MS = 5000;

/** The load stands still while one is made: that may take a hundredth of the time. */
const PERIODS_PER_COST = 100;

export class Checkpoints {
  #options;
  #keepers;
  #hasWarned = false;
  #cancel = () => {};

  /** @param {CheckpointOptions} options */
  constructor(options) {
    this.#options = options;
    this.#keepers = options.outputs.flatMap((output) => output.checkpoint?.bind(output) ?? []);
  }

  /** @param {() => RunFile} make @returns {number} what it took, in milliseconds */
  keep(make) {
    const { clock, stop } = this.#options;
    const startUs = clock.nowUs();
    try {
      if (this.#keepers.length > 0) {
        const runFile = make();
        for (const keeper of this.#keepers) keeper(runFile);
      }
    } catch (error) {
      // Whether the run file can be written is decided by the end: a disk may have room again by then.
      if (error instanceof StressError && error.exitCode === EXIT.cannotWrite) this.#warnOnce(error.message);
      else stop.request('internal', EXIT.internal, /** @type {Error} */ (error));
    }
    return (clock.nowUs() - startUs) / 1000;
  }

  /** Now and then until stop(). @param {() => RunFile} make */
  begin(make) {
    if (this.#keepers.length > 0) this.#keepAfter(FIRST_MS, make);
  }

  /** @param {number} ms @param {() => RunFile} make */
  #keepAfter(ms, make) {
    this.#cancel = this.#options.clock.after(() => {
      const tookMs = this.keep(make);
      this.#keepAfter(Math.max(PERIOD_MS, PERIODS_PER_COST * tookMs), make);
    }, ms);
  }

  stop() {
    this.#cancel();
  }

  /** @param {string} words */
  #warnOnce(words) {
    if (!this.#hasWarned) this.#options.warn(`${words}; the run goes on without a file of what is known so far`);
    this.#hasWarned = true;
  }
}
