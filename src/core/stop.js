import { EXIT } from '../errors.js';

/**
 * @import * as Contract from '../contracts/common.d.ts'
 * @import { StopReason } from './driver.js'
 */

/**
 * Ends a run: first gracefully (no new operations, drain, audit), then at once. The first reason is kept.
 * @implements {Contract.Stop}
 */
export class Stop {
  #drain = new AbortController();
  #now = new AbortController();
  /** @type {string | null} */
  reason = null;
  /** Why the run was aborted. @type {string | null} */
  abortReason = null;
  /** Exit codes of the reasons. @type {number[]} */
  exitCodes = [];
  /** @type {Error[]} */
  errors = [];

  get drain() {
    return this.#drain.signal;
  }

  get now() {
    return this.#now.signal;
  }

  /** @param {string} reason @param {number} [exitCode] @param {Error} [error] */
  request(reason, exitCode, error) {
    this.reason ??= reason;
    if (exitCode !== undefined && exitCode !== 0) this.exitCodes.push(exitCode);
    if (error !== undefined) this.errors.push(error);
    this.#drain.abort();
  }

  /** Ends the run without drain and audit. @param {string} [why] */
  abort(why = 'aborted by the user') {
    this.abortReason ??= why;
    this.#now.abort();
  }
}

const STOP_EXIT = Object.freeze({
  iterations: EXIT.ok,
  foreign_sender: EXIT.notExact,
  no_wallets: EXIT.unavailable,
  workload_failed: EXIT.badInput,
  max_spend: EXIT.refused,
  max_value: EXIT.refused,
  chain_replaced: EXIT.unavailable,
  internal: EXIT.internal,
});

/** Ends the run for a reason of the driver. @param {Pick<Stop, 'request' | 'abort'>} stop @param {StopReason} reason @param {Error} [error] */
export function requestStop(stop, reason, error) {
  stop.request(reason, STOP_EXIT[reason], error);
  // Nothing sent to the earlier chain can arrive any more.
  if (reason === 'chain_replaced') stop.abort(error?.message);
}
