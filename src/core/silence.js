import { HEAD, ask } from '../chain/answers.js';
import { UnavailableError } from '../errors.js';
import { unlessAborted } from '../workloads/user-code.js';
import { counted } from '../text.js';

/**
 * The end of a run waits for an endpoint that answers nothing, in the drain and in the audit together, no longer than a
 * limit.
 *
 * @import { Rpc } from '../contracts/chain.d.ts'
 * @import { Clock } from '../contracts/common.d.ts'
 */

/** So long before the limit it is asked for the last time. */
const LAST_ASK_MS = 2000;

export class Silence {
  #clock;
  #mostMs;
  #answeredAtUs = -Infinity;
  #over = new AbortController();
  #ended = new AbortController();

  /** @param {Clock} clock @param {{drainTimeoutMs: number, requestTimeoutMs: number}} limits */
  constructor(clock, { drainTimeoutMs, requestTimeoutMs }) {
    this.#clock = clock;
    this.#mostMs = Math.max(drainTimeoutMs, 2 * requestTimeoutMs);
  }

  get mostMs() {
    return this.#mostMs;
  }

  /** Aborts when the limit is over. */
  get signal() {
    return this.#over.signal;
  }

  /** An endpoint has answered. */
  onAnswer = () => {
    this.#answeredAtUs = this.#clock.nowUs();
  };

  /** The load has ended. @param {Rpc} rpc */
  async begin(rpc) {
    const { signal } = this.#ended;
    const clock = this.#clock;
    const fromUs = clock.nowUs();
    const leftMs = () => this.#mostMs - (clock.nowUs() - Math.max(fromUs, this.#answeredAtUs)) / 1000;
    while (!signal.aborted) {
      if (leftMs() > LAST_ASK_MS) {
        await clock.sleep(leftMs() - LAST_ASK_MS, signal);
        continue;
      }
      void ask(rpc, HEAD, 'health').then(this.onAnswer, () => {});
      await clock.sleep(leftMs(), signal);
      if (leftMs() <= 0 && !signal.aborted) return this.#over.abort();
    }
  }

  /** The run has ended. */
  end() {
    this.#ended.abort();
  }

  /**
   * @template T
   * @param {() => Promise<T>} action
   * @param {{rpc: Rpc, wallets: number, open: number}} run open: operations without a known outcome
   * @returns {Promise<T>}
   * @throws {UnavailableError} the limit was over
   */
  unlessOver(action, { rpc, wallets, open }) {
    const missing = `the counters and nonces of ${counted(wallets, 'wallet')} were not read`;
    const outcome = open === 0 ? '' : `, and the outcome of ${counted(open, 'operation')} is unknown`;
    const words = `${rpc.display} answered nothing for ${this.#mostMs / 1000} s: ${missing}${outcome}`;
    return unlessAborted(this.signal, action(), () => new UnavailableError(words));
  }
}
