import { asMembers, unknown } from '../../stats/unknown.js';

/**
 * --check consistency: compares answers of the endpoints with each other and with what this run has verified. The checks
 * are made by a thread of their own; this is the side of the load.
 *
 * @import { ObserverTools, Sample, Snapshot } from '../../contracts/load.d.ts'
 * @import { Consistency, Unknown } from '../../contracts/run-file.d.ts'
 * @import { ObserverRow } from '../index.js'
 * @import { VerifiedOperation } from './checks.js'
 * @import { Observer, RunObserver, SideThread } from '../observer.d.ts'
 */

/** Operations per second that the checks are given, of all threads: a message for each would cost the load too much. */
const OPERATIONS_PER_SECOND = 20;

/** To each endpoint: behind a balancer they may lead to several nodes. */
const CONNECTIONS = 4;

const REPORT_MS = 5000;

/** The run's side. @implements {RunObserver} */
class ConsistencyCheck {
  plan = { perSecond: OPERATIONS_PER_SECOND };
  #thread;
  /** Found since the last row, by code. @type {Record<string, number>} */
  #found = {};
  /** Called for each violation. @type {(code: string, words: string) => void} */
  #onViolation = () => {};
  /** @type {Consistency | Unknown} */
  #result = unknown('the checks had not ended when this file was written');

  /** @param {(onMessage: (message: any) => void) => SideThread} openThread */
  constructor(openThread) {
    /** @type {() => void} */
    let begun = () => {};
    const hasBegun = new Promise((resolve) => (begun = () => resolve(null)));
    this.#thread = openThread(({ code, words }) => {
      if (code === undefined) return begun();
      this.#found[code] = (this.#found[code] ?? 0) + 1;
      this.#onViolation(code, words);
    });
    /** Resolves when the checks have begun: on a busy machine a thread takes seconds to start. */
    this.ready = Promise.race([hasBegun, this.#thread.result]);
  }

  /** @type {NonNullable<RunObserver['begin']>} */
  begin({ warnOnce }) {
    this.#onViolation = (code, words) => warnOnce(code, `${code}: ${words}`);
  }

  /** @param {VerifiedOperation} operation */
  message(operation) {
    this.#thread.post({ operation });
  }

  /** @param {Snapshot} snapshot */
  snapshot({ traffic: { rpcCalls } }) {
    this.#thread.post({ requests: Object.values(rpcCalls).reduce((sum, calls) => sum + calls, 0) });
  }

  row() {
    const violations = this.#found;
    this.#found = {};
    return { violations };
  }

  /** Ends the checks. */
  async drained() {
    const result = /** @type {Consistency | {why: string}} */ (await this.#thread.finish({ isOver: true }, REPORT_MS));
    this.#result = 'why' in result ? unknown(result.why) : result;
  }

  describe() {
    return asMembers({ consistency: this.#result });
  }
}

/** Hands over a few of the verified operations of a thread. @implements {Observer} */
export class OperationSampler {
  #nextUs = -Infinity;
  #periodUs;
  #tools;
  #callOf;

  /** @param {{perSecond: number}} plan @param {Pick<ObserverTools, 'accounts' | 'workload' | 'inFlight' | 'share' | 'post'>} tools */
  constructor({ perSecond }, tools) {
    const { workload, inFlight, share } = tools;
    this.#tools = tools;
    this.#periodUs = 1e6 / (share * perSecond);
    // With several operations in flight the value read may contain later ones, which another endpoint does not have yet.
    this.#callOf = (workload.kind === 'transaction' && inFlight === 1 && workload.countCall) || null;
  }

  /** @param {Sample} sample */
  operation({ outcome, position, nonce, hash, blockNumber, effect, endedAtUs }) {
    if (outcome !== 'verified' || endedAtUs < this.#nextUs || hash === null || blockNumber === null) return;
    this.#nextUs = endedAtUs + this.#periodUs;
    const read = this.#callOf === null || effect === null ? null : { call: this.#callOf(position), least: effect };
    this.#tools.post({ address: this.#tools.accounts[position].wallet.address, nonce, hash, blockNumber, read });
  }
}

/** @type {ObserverRow} */
export const consistency = {
  open: async ({ network: { check, checkShare: share } }, { openThread, unlessStopped }) => {
    if (check.length === 0) return null;
    const task = { share, connections: CONNECTIONS };
    const module = new URL('thread.js', import.meta.url);
    const checks = new ConsistencyCheck((onMessage) => openThread(module, task, onMessage));
    await unlessStopped(() => checks.ready);
    return checks;
  },
  observe: (plan, tools) => new OperationSampler(plan, tools),
};
