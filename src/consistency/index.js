/**
 * --check consistency: compares answers of the endpoints with each other and with what this run has verified. The checks
 * are made by a thread of their own; this is the side of the load.
 *
 * @import { Sample, Workload } from '../contracts/load.d.ts'
 * @import { Consistency } from '../contracts/run-file.d.ts'
 * @import { SideThread } from '../core/side-thread.js'
 * @import { Account } from '../core/nonces.js'
 * @import { VerifiedOperation } from './checks.js'
 *
 * @typedef {(module: URL, task: object, onMessage: (message: any) => void) => SideThread} OpenThread
 */

/** Operations per second that the thread is given. */
export const OPERATIONS_PER_SECOND = 20;

/** To each endpoint: behind a balancer they may lead to several nodes. */
const CONNECTIONS = 4;

const REPORT_MS = 5000;

export class ConsistencyCheck {
  #thread;
  /** Found since they were last taken, by code. @type {Record<string, number>} */
  #found = {};
  /** Called for each violation. @type {(code: string, words: string) => void} */
  onViolation = () => {};

  /** @param {OpenThread} openThread @param {number} share of the requests of the load */
  constructor(openThread, share) {
    /** @type {() => void} */
    let begun = () => {};
    const hasBegun = new Promise((resolve) => (begun = () => resolve(null)));
    const task = { share, connections: CONNECTIONS };
    this.#thread = openThread(new URL('thread.js', import.meta.url), task, ({ code, words }) => {
      if (code === undefined) return begun();
      this.#found[code] = (this.#found[code] ?? 0) + 1;
      this.onViolation(code, words);
    });
    /** Resolves when the checks have begun: on a busy machine a thread takes seconds to start. */
    this.ready = Promise.race([hasBegun, this.#thread.result]);
  }

  /** @param {VerifiedOperation} operation */
  add = (operation) => this.#thread.post({ operation });

  /** @param {Record<string, number>} rpcCalls of the load so far */
  noteTraffic(rpcCalls) {
    this.#thread.post({ requests: Object.values(rpcCalls).reduce((sum, calls) => sum + calls, 0) });
  }

  /** @returns {Record<string, number>} violations since the last call, by code */
  takeFound() {
    const found = this.#found;
    this.#found = {};
    return found;
  }

  /** Ends the checks. @returns {Promise<Consistency | {why: string}>} */
  finish() {
    return this.#thread.finish({ isOver: true }, REPORT_MS);
  }
}

/**
 * A few of the verified operations: a message for each would cost the load too much.
 * @param {{accounts: readonly Account[], workload: Workload, inFlight: number, perSecond: number}} options
 * @param {(operation: VerifiedOperation) => void} onOperation
 * @returns {(sample: Sample) => void}
 */
export function operationSampler({ accounts, workload, inFlight, perSecond }, onOperation) {
  let nextUs = -Infinity;
  // With several operations in flight the value read may contain later ones, which another endpoint does not have yet.
  const callOf = (workload.kind === 'transaction' && inFlight === 1 && workload.countCall) || null;
  return ({ outcome, position, nonce, hash, blockNumber, effect, endedAtUs }) => {
    if (outcome !== 'verified' || endedAtUs < nextUs || hash === null || blockNumber === null) return;
    nextUs = endedAtUs + 1e6 / perSecond;
    const read = callOf === null || effect === null ? null : { call: callOf(position), least: effect };
    onOperation({ address: accounts[position].wallet.address, nonce, hash, blockNumber, read });
  };
}
