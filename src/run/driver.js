import { setMaxListeners } from 'node:events';
import { InternalError } from '../errors.js';
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
 * @property {(sample: Sample) => void} onSample
 * @property {(reason: StopReason, error?: Error) => void} onStop asks for an end of the run
 *
 * @typedef {'foreign_sender' | 'no_wallets' | 'internal'} StopReason
 */

/** First and longest pause before a wallet whose operation failed is used again, in milliseconds. */
const REPAIR_PAUSE_MS = [50, 5000];

/** An accepted operation that is in no block after this time is looked after, some of them at a time. */
const OVERDUE_MS = 3000;
const LOOK_AFTER_AT_ONCE = 100;

/** How many transactions are tried for one nonce before the wallet is given up. */
const MOST_HASHES = 20;

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
  #drained = new AbortController();
  /** Set while the pacer makes us wait. @type {(() => void) | null} */
  #cancelWait = null;
  /** @type {() => void} */
  #onIdle = () => {};

  /** @param {DriverOptions} options */
  constructor(options) {
    this.options = options;
    // Every wallet under repair listens, and there may be thousands.
    setMaxListeners(0, this.#halt.signal);
  }

  start() {
    this.#startUs = this.options.tools.clock.nowUs();
    this.#idle = this.options.accounts.map(({ position }) => position).reverse();
    this.#pump();
    this.#lookAfterOverdue().catch((error) => this.options.onStop('internal', error));
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
    this.#drained.abort();
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
      account.undecided = null;
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

  /**
   * A transaction whose nonce was taken by another one never comes: that is found out here, and not by the time-out.
   */
  async #lookAfterOverdue() {
    const { clock, rpc, startBlock } = this.options.tools;
    while (!this.#drained.signal.aborted) {
      await clock.sleep(OVERDUE_MS, this.#drained.signal);
      const oldestUs = clock.nowUs() - OVERDUE_MS * 1000;
      const overdue = [...this.live.values()]
        .filter(({ acceptedAtUs, inclusion }) => inclusion === null && acceptedAtUs !== null && acceptedAtUs < oldestUs)
        .slice(0, LOOK_AFTER_AT_ONCE);
      // One batch tells whose nonce has moved on; only those cost more.
      const requests = overdue.map(({ account }) => ({
        method: 'eth_getTransactionCount',
        params: [account.wallet.address, 'latest'],
      }));
      const nonces = await rpc.batch(requests, 'resolve').catch(() => []);
      for (const operation of overdue.filter(({ nonce }, i) => Number(nonces[i]) > nonce)) {
        const decision = await fateOf(rpc, operation, 'resolve', startBlock).catch(() => null);
        if (decision?.fate === 'replaced') operation.fail('replaced');
      }
    }
  }

  /** @param {number} position */
  #rearm(position) {
    this.#idle.push(position);
    this.#pump();
  }

  /** @param {Operation} operation @param {Sample} sample */
  async #repair(operation, sample) {
    const { clock, rpc, txTimeoutMs, startBlock } = this.options.tools;
    const { account } = operation;
    const [firstPauseMs, longestPauseMs] = REPAIR_PAUSE_MS;
    const deadlineUs = clock.nowUs() + txTimeoutMs * 1000;
    let pauseMs = Math.min(firstPauseMs * 2 ** (account.failuresInRow - 1), longestPauseMs);
    while (!this.#halt.signal.aborted) {
      await clock.sleep(pauseMs, this.#halt.signal);
      if (this.#halt.signal.aborted) return; // the audit resolves it
      const decision = await fateOf(rpc, operation, 'resolve', startBlock).catch(() => null);
      if (this.#halt.signal.aborted) return;
      if (decision !== null && decision.fate !== 'pending') {
        this.settle(operation, sample, decision);
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
    else if ((account.undecided?.operation.hashes.length ?? 0) >= MOST_HASHES) {
      this.#retire(account, 'its transactions do not arrive');
    } else this.#rearm(account.position);
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
   * @param {import('./fate.js').Decision} decision
   */
  settle(operation, sample, { fate, foreign }) {
    const { account, nonce } = operation;
    const { wallet } = account;
    // One that had not been sent as far as the node knew may have arrived since: it is settled again.
    const isAgain = account.undecided?.operation === operation;
    if (isAgain && fate === 'never_sent') return;
    if (isAgain) this.fates.never_sent = (this.fates.never_sent ?? 1) - 1;
    account.undecided = fate === 'never_sent' ? { operation, sample } : null;
    if (fate !== 'pending') this.unresolved.delete(account.position);
    this.fates[fate] = (this.fates[fate] ?? 0) + 1;
    this.#keep({ ...pick(sample), nonce, fate });
    if (fate === 'included') {
      account.executed += 1;
      account.includedLate += 1;
    }
    if (fate === 'reverted') account.reverted += 1;
    if (fate === 'included' || fate === 'reverted' || fate === 'replaced') wallet.nonce = nonce + 1;
    if (foreign !== null) this.accuse({ walletIndex: wallet.index, nonce, ...foreign });
  }

  /** @param {Resolution} resolution */
  #keep(resolution) {
    const { resolutions } = this;
    const known = resolutions.findIndex(({ hash }) => hash !== null && hash === resolution.hash);
    if (known !== -1) resolutions[known] = resolution;
    else if (resolutions.length < RESOLUTIONS_KEPT) resolutions.push(resolution);
  }

  /** @param {Foreign} foreign the proof that somebody else sends from one of our wallets */
  accuse(foreign) {
    this.foreign.push(foreign);
    this.options.onStop('foreign_sender');
  }
}

/** @param {Sample} sample */
function pick({ walletIndex, hash, outcome, code }) {
  return { walletIndex, hash, outcome, code };
}
