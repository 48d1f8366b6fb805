import { setMaxListeners } from 'node:events';
import { InternalError } from '../errors.js';
import { Operation } from './operation.js';

/**
 * Starts operations when the pacer says so, keeps at most one in flight per wallet, and re-arms a wallet in O(1)
 * when its operation has ended. A wallet whose operation did not verify is mended first.
 *
 * @typedef {import('../metrics/sample.js').Sample} Sample
 *
 * @typedef {object} DriverOptions
 * @property {import('../clock.js').Clock} clock
 * @property {import('./course.js').Course} course
 * @property {import('./account.js').Account[]} accounts
 * @property {import('../metrics/recorder.js').Recorder} recorder
 * @property {import('../pacer/index.js').Pacer} pacer
 * @property {(sample: Sample) => void} onSample
 * @property {(reason: StopReason, error?: Error) => void} onStop asks for an end of the run
 *
 * @typedef {'foreign_sender' | 'no_wallets' | 'internal'} StopReason
 */

/** Operations begun before the event loop gets a turn: answers and new blocks must not wait for all of them. */
const BEGUN_AT_ONCE = 256;

export class Driver {
  /** Live operations by position. @type {Map<number, Operation>} */
  live = new Map();
  /** The words of the first failure of each code. @type {Record<string, string>} */
  failureWords = {};
  /** @type {number[]} */
  #idle = [];
  #started = 0;
  #startUs = 0;
  #endUs = Infinity;
  #retired = 0;
  #isPumpDue = false;
  #isHalted = false;
  #halt = new AbortController();
  #drained = new AbortController();
  /** Set while the pacer makes us wait. @type {(() => void) | null} */
  #cancelWait = null;
  /** @type {() => void} */
  #onIdle = () => {};

  /** @param {DriverOptions} options */
  constructor(options) {
    this.options = options;
    // Every wallet that is mended listens, and there may be thousands.
    setMaxListeners(0, this.#halt.signal);
  }

  /** @param {number} endUs when no operation is started any more, whoever may say so later */
  start(endUs) {
    const { clock, accounts, course, onStop } = this.options;
    this.#endUs = endUs;
    this.#startUs = clock.nowUs();
    this.#idle = accounts.map(({ position }) => position).reverse();
    this.#pump();
    course.watch(this.live, this.#drained.signal).catch((error) => onStop('internal', error));
  }

  /** No operation is started from here on. */
  stop() {
    this.#isHalted = true;
    this.#halt.abort();
    this.#cancelWait?.();
  }

  /**
   * Waits for the operations in flight; what is still open when the signal aborts is abandoned.
   * @param {number} timeoutMs
   * @param {AbortSignal} signal
   */
  async drain(timeoutMs, signal) {
    const { clock } = this.options;
    const over = new AbortController();
    this.#onIdle = () => over.abort();
    if (this.live.size > 0) await clock.sleep(timeoutMs, AbortSignal.any([signal, over.signal]));
    this.#drained.abort();
    for (const operation of this.live.values()) operation.end('abandoned', null, clock.nowUs());
  }

  /** Behind all answers that are there already: reading them comes before what they lead to. */
  #pumpSoon() {
    if (this.#isPumpDue) return;
    this.#isPumpDue = true;
    setImmediate(() => {
      this.#isPumpDue = false;
      this.#pump();
    });
  }

  #pump() {
    const { clock, pacer } = this.options;
    for (let begun = 0; !this.#isHalted && this.#idle.length > 0; begun += 1) {
      if (begun === BEGUN_AT_ONCE) return this.#pumpSoon();
      const nowUs = clock.nowUs();
      if (nowUs > this.#endUs) return;
      const waitUs = pacer(nowUs - this.#startUs, this.#started);
      if (waitUs > 0) {
        this.#cancelWait ??= clock.after(() => {
          this.#cancelWait = null;
          this.#pump();
        }, waitUs / 1000);
        return;
      }
      this.#begin(/** @type {number} */ (this.#idle.pop()), nowUs);
    }
  }

  /** @param {number} position @param {number} nowUs */
  #begin(position, nowUs) {
    const { accounts, recorder, course } = this.options;
    const operation = new Operation(accounts[position], nowUs, this.#finish);
    this.#started += 1;
    this.live.set(position, operation);
    recorder.start(position, nowUs);
    course.begin(operation);
  }

  /** @param {Operation} operation @param {Sample} sample */
  #finish = (operation, sample) => {
    try {
      const { account } = operation;
      this.live.delete(account.position);
      this.options.recorder.add(sample);
      this.options.onSample(sample);
      if (sample.outcome === 'verified') {
        account.wallet.nonce += 1;
        account.executed += 1;
        account.failuresInRow = 0;
        account.undecided = null;
        this.#rearm(account.position);
      } else {
        if (sample.code !== null && operation.words !== null) this.failureWords[sample.code] ??= operation.words;
        account.failuresInRow += 1;
        this.#mend(operation, sample);
      }
      if (this.live.size === 0) this.#onIdle();
    } catch (error) {
      this.options.onStop('internal', /** @type {Error} */ (error));
    }
  };

  /** @param {number} position */
  #rearm(position) {
    this.#idle.push(position);
    this.#pumpSoon();
  }

  /** @param {Operation} operation @param {Sample} sample */
  #mend(operation, sample) {
    const { course, onStop } = this.options;
    const { account, bug } = operation;
    if (bug !== null) onStop('internal', new InternalError(bug.message, bug));
    course.mend(operation, sample, this.#halt.signal).then(
      (whyUnusable) => {
        if (whyUnusable !== null) this.#retire(account, whyUnusable);
        else if (!this.#halt.signal.aborted) this.#rearm(account.position);
      },
      (error) => onStop('internal', error),
    );
  }

  /** @param {import('./account.js').Account} account @param {string} why */
  #retire(account, why) {
    account.retired = why;
    this.#retired += 1;
    if (this.#retired === this.options.accounts.length) this.options.onStop('no_wallets');
  }
}
