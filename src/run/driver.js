import { InternalError } from '../errors.js';
import { findMinedTransaction } from '../chain/send.js';
import { fateOf } from './fate.js';
import { Operation, iterate } from './iteration.js';

/**
 * Starts operations when the pacer says so, keeps at most one in flight per wallet, and re-arms a wallet in O(1)
 * when its operation has ended. A wallet whose operation did not verify is repaired first: what became of the
 * operation decides its next nonce.
 *
 * @typedef {import('../metrics/sample.js').Sample} Sample
 *
 * @typedef {object} Foreign a mined transaction of one of our wallets that is not ours
 * @property {number} walletIndex
 * @property {number} nonce
 * @property {string} hash
 * @property {number} blockNumber
 *
 * @typedef {object} Resolution
 * @property {number} walletIndex
 * @property {number} nonce
 * @property {string | null} hash
 * @property {string} outcome
 * @property {string | null} code
 * @property {import('./fate.js').Fate} fate
 *
 * @typedef {object} DriverOptions
 * @property {import('./iteration.js').Tools} tools
 * @property {import('./account.js').Account[]} accounts
 * @property {import('../metrics/recorder.js').Recorder} recorder
 * @property {import('../pacer/index.js').Pacer} pacer
 * @property {number} startBlock latest block when the load began
 * @property {(sample: Sample) => void} onSample
 * @property {(reason: StopReason, error?: Error) => void} onStop asks for an end of the run
 *
 * @typedef {'foreign_sender' | 'no_wallets' | 'internal'} StopReason
 */

/** First and longest pause before a wallet whose operation failed is used again, in milliseconds. */
const REPAIR_PAUSE_MS = [50, 5000];

/** How many resolved operations are kept one by one; beyond that they are only counted. */
const RESOLUTIONS_KEPT = 1000;

export class Driver {
  /** Live iterations by position. @type {Map<number, Operation>} */
  live = new Map();
  /** Operations whose fate is not known yet, by position. @type {Map<number, {operation: Operation, sample: Sample}>} */
  unresolved = new Map();
  /** @type {Resolution[]} */
  resolutions = [];
  /** @type {Partial<Record<import('./fate.js').Fate, number>>} */
  fates = {};
  /** @type {Foreign[]} */
  foreign = [];

  /** @type {number[]} */
  #idle = [];
  #started = 0;
  #startUs = 0;
  #retired = 0;
  #halt = new AbortController();
  /** Set while the pacer makes us wait. @type {(() => void) | null} */
  #cancelWait = null;
  /** @type {() => void} */
  #onIdle = () => {};

  /** @param {DriverOptions} options */
  constructor(options) {
    this.options = options;
  }

  start() {
    this.#startUs = this.options.tools.clock.nowUs();
    this.#idle = this.options.accounts.map(({ position }) => position).reverse();
    this.#pump();
  }

  /** No operation is started from here on. */
  stop() {
    this.#halt.abort();
    this.#cancelWait?.();
  }

  /**
   * Waits for the operations in flight; what is still open when the signal aborts is abandoned.
   * @param {number} timeoutMs
   * @param {AbortSignal} signal
   */
  async drain(timeoutMs, signal) {
    const { clock } = this.options.tools;
    const over = new AbortController();
    this.#onIdle = () => over.abort();
    if (this.live.size > 0) await clock.sleep(timeoutMs, AbortSignal.any([signal, over.signal]));
    for (const operation of this.live.values()) operation.cancel('abandoned');
    // Cancelled iterations make their samples at once, but for those that just ask whether they are lost.
    while (this.live.size > 0) await clock.sleep(1);
  }

  #pump() {
    const { clock } = this.options.tools;
    while (!this.#halt.signal.aborted && this.#idle.length > 0) {
      const waitUs = this.options.pacer(clock.nowUs() - this.#startUs, this.#started);
      if (waitUs > 0) {
        this.#cancelWait ??= clock.after(() => {
          this.#cancelWait = null;
          this.#pump();
        }, waitUs / 1000);
        return;
      }
      this.#begin(/** @type {number} */ (this.#idle.pop()));
    }
  }

  /** @param {number} position */
  #begin(position) {
    const { tools, accounts, recorder } = this.options;
    const nowUs = tools.clock.nowUs();
    const operation = new Operation(accounts[position], nowUs);
    this.#started += 1;
    this.live.set(position, operation);
    recorder.start(position, nowUs);
    iterate(tools, operation)
      .then((sample) => this.#finish(operation, sample))
      .catch((error) => this.options.onStop('internal', error));
  }

  /** @param {Operation} operation @param {Sample} sample */
  #finish(operation, sample) {
    const { account } = operation;
    this.live.delete(account.position);
    this.options.recorder.add(sample);
    this.options.onSample(sample);
    if (sample.outcome === 'verified') {
      account.wallet.nonce += 1;
      account.executed += 1;
      account.failuresInRow = 0;
      this.#rearm(account.position);
    } else {
      if (operation.bug !== null)
        this.options.onStop('internal', new InternalError(operation.bug.message, operation.bug));
      account.failuresInRow += 1;
      this.unresolved.set(account.position, { operation, sample });
      this.#repair(operation, sample).catch((error) => this.options.onStop('internal', error));
    }
    if (this.live.size === 0) this.#onIdle();
  }

  /** @param {number} position */
  #rearm(position) {
    this.#idle.push(position);
    this.#pump();
  }

  /** @param {Operation} operation @param {Sample} sample */
  async #repair(operation, sample) {
    const { clock, rpc, txTimeoutMs } = this.options.tools;
    const { account } = operation;
    const [firstPauseMs, longestPauseMs] = REPAIR_PAUSE_MS;
    const deadlineUs = clock.nowUs() + txTimeoutMs * 1000;
    let pauseMs = Math.min(firstPauseMs * 2 ** (account.failuresInRow - 1), longestPauseMs);
    while (!this.#halt.signal.aborted) {
      await clock.sleep(pauseMs, this.#halt.signal);
      if (this.#halt.signal.aborted) return; // the audit resolves it
      const fate = await fateOf(rpc, operation, 'resolve').catch(() => /** @type {const} */ ('pending'));
      if (this.#halt.signal.aborted) return;
      if (fate !== 'pending') {
        await this.settle(operation, sample, fate);
        return this.#afterRepair(account, sample);
      }
      if (clock.nowUs() > deadlineUs) return this.#retire(account, 'its last transaction is stuck');
      pauseMs = Math.min(pauseMs * 2, longestPauseMs);
    }
  }

  /** @param {import('./account.js').Account} account @param {Sample} sample */
  #afterRepair(account, sample) {
    if (sample.code === 'insufficient_funds') this.#retire(account, 'it has no funds left');
    else if (sample.code === 'wrong_count') this.#retire(account, 'its counter has a count that it should not have');
    else this.#rearm(account.position);
  }

  /** @param {import('./account.js').Account} account @param {string} why */
  #retire(account, why) {
    account.retired = why;
    this.#retired += 1;
    if (this.#retired === this.options.accounts.length) this.options.onStop('no_wallets');
  }

  /**
   * Enters into the wallet's ledger what became of an operation.
   * @param {Operation} operation
   * @param {Sample} sample
   * @param {import('./fate.js').Fate} fate
   */
  async settle({ account, nonce, hashes }, sample, fate) {
    const { wallet } = account;
    if (fate !== 'pending') this.unresolved.delete(account.position);
    this.fates[fate] = (this.fates[fate] ?? 0) + 1;
    if (this.resolutions.length < RESOLUTIONS_KEPT) {
      const { walletIndex, hash, outcome, code } = sample;
      this.resolutions.push({ walletIndex, nonce, hash, outcome, code, fate });
    }
    if (fate === 'included') {
      account.executed += 1;
      account.includedLate += 1;
    }
    if (fate === 'reverted') account.reverted += 1;
    if (fate === 'included' || fate === 'reverted') wallet.nonce = nonce + 1;
    if (fate === 'replaced') {
      wallet.nonce = nonce + 1;
      await this.accuse(account, nonce, hashes);
    }
  }

  /**
   * Looks for the proof that somebody else sent a transaction of this wallet.
   * @param {import('./account.js').Account} account
   * @param {number} nonce
   * @param {string[]} ourHashes
   * @returns {Promise<boolean>} whether it was found
   */
  async accuse({ wallet }, nonce, ourHashes) {
    const { tools, startBlock, onStop } = this.options;
    const mined = await findMinedTransaction(tools.rpc, wallet.address, nonce, startBlock).catch(() => null);
    if (mined === null || ourHashes.includes(mined.hash)) return false;
    this.foreign.push({ walletIndex: wallet.index, nonce, ...mined });
    onStop('foreign_sender');
    return true;
  }
}
