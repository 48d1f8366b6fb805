import { setMaxListeners } from 'node:events';

/**
 * Asks a run to end: first gently (no new operations, drain, audit), then at once. The first reason is kept.
 */
export class Stop {
  #drain = new AbortController();
  #now = new AbortController();
  /** @type {string | null} */
  reason = null;
  /** Why nothing is waited for. @type {string | null} */
  hurriedBecause = null;
  /** Exit codes that the reasons call for. @type {number[]} */
  exitCodes = [];
  /** @type {Error[]} */
  errors = [];

  constructor() {
    // Whatever is asked again listens, and there may be thousands.
    setMaxListeners(0, this.drain, this.now);
  }

  /** Aborts when no new operations may start. */
  get drain() {
    return this.#drain.signal;
  }

  /** Aborts when nothing may be waited for any more. */
  get now() {
    return this.#now.signal;
  }

  /**
   * @param {string} reason
   * @param {number} [exitCode]
   * @param {Error} [error]
   */
  request(reason, exitCode, error) {
    this.reason ??= reason;
    if (exitCode !== undefined && exitCode !== 0) this.exitCodes.push(exitCode);
    if (error !== undefined) this.errors.push(error);
    this.#drain.abort();
  }

  /** Ends at once. @param {string} [why] */
  hurry(why = 'ended at once, on request') {
    this.hurriedBecause ??= why;
    this.#now.abort();
  }
}
