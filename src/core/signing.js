import { WorkloadError } from '../errors.js';

/**
 * @import { Clock, Fee, Fees, SignedTransaction, Signer, TransactionWorkload } from '../types.d.ts'
 * @import { FeeBudget } from './budget.js'
 * @import { Account } from './nonces.js'
 * @import { Operation } from './operation.js'
 */

/**
 * Signs the next transaction of a wallet while its last one waits for a block, so that it can be sent the moment it
 * is due. One whose nonce or fee no longer holds when its time comes is thrown away, and signed again.
 *
 * @typedef {SignedTransaction & {fee: Fee}} Signed
 *
 * @typedef {object} PresignerOptions
 * @property {Signer} signer
 * @property {Clock} clock
 * @property {Fees} fees
 * @property {TransactionWorkload} workload
 * @property {number} chainId
 * @property {FeeBudget | null} [budget] null without a cap
 */

/** How long is signed in one turn of the event loop: answers that arrive meanwhile wait no longer than for this. */
const TURN_US = 1000;

export class Presigner {
  /** Signatures made ahead that were used, and that were thrown away. */
  stats = { used: 0, discarded: 0 };
  /** Wallets whose next transaction is wanted, with its nonce. @type {Map<Account, number>} */
  #wanted = new Map();
  #isStopped = false;
  #isTurnDue = false;
  #options;

  /** @param {PresignerOptions} options */
  constructor(options) {
    this.#options = options;
  }

  /**
   * @param {Account} account
   * @param {number} nonce
   * @returns {Signed}
   */
  sign(account, nonce) {
    const { ahead } = account;
    account.ahead = null;
    this.#wanted.delete(account);
    if (ahead !== null && ahead.nonce === nonce && this.#options.fees.holds(ahead.signed.fee)) {
      this.stats.used += 1;
      return ahead.signed;
    }
    if (ahead !== null) this.stats.discarded += 1;
    return this.#signNow(account, nonce, this.#options.fees.current());
  }

  /** @param {Account} account @param {number} nonce */
  signLater(account, nonce) {
    if (this.#isStopped) return;
    this.#wanted.set(account, nonce);
    this.#turnSoon();
  }

  /** The first transactions of a run, before it starts. @param {Account[]} accounts @param {AbortSignal} signal */
  async signFirst(accounts, signal) {
    for (const account of accounts) this.#wanted.set(account, account.wallet.nonce);
    while (this.#wanted.size > 0 && !signal.aborted) {
      this.#signSome();
      await new Promise((resolve) => setImmediate(resolve));
    }
  }

  /** Nothing is wanted any more. */
  stop() {
    this.#isStopped = true;
    this.#wanted.clear();
  }

  #turnSoon() {
    if (this.#isTurnDue) return;
    this.#isTurnDue = true;
    setImmediate(() => {
      this.#isTurnDue = false;
      this.#signSome();
      if (this.#wanted.size > 0) this.#turnSoon();
    });
  }

  #signSome() {
    const { clock, fees } = this.#options;
    const endUs = clock.nowUs() + TURN_US;
    for (const [account, nonce] of this.#wanted) {
      this.#wanted.delete(account);
      const fee = fees.current();
      try {
        account.ahead = { nonce, signed: this.#signNow(account, nonce, fee) };
      } catch {
        // What cannot be signed ahead fails when its operation asks for it, and is counted there.
      }
      if (clock.nowUs() >= endUs) return;
    }
  }

  /**
   * Signs an operation's transaction again, with a fee that replaces the one before.
   * @param {Operation} operation
   * @returns {boolean} false: more may not be offered
   */
  raise(operation) {
    const { account, nonce, fee } = operation;
    const { fees, budget } = this.#options;
    const higher = fee === null ? fees.current() : fees.raise(fee);
    try {
      if (higher === null || budget?.raise(operation, higher) === false) return false;
      operation.offer(this.#signNow(account, nonce, higher));
    } catch (error) {
      // What was sent before goes on as it is.
      if (error instanceof WorkloadError) return false;
      throw error;
    }
    return true;
  }

  /** Whether a transaction offers too little for the newest block. @param {Fee} fee */
  isTooLow(fee) {
    return this.#options.fees.isTooLow(fee);
  }

  /** @param {Account} account @param {number} nonce @param {Fee} fee @returns {Signed} */
  #signNow({ wallet, position }, nonce, fee) {
    const { workload, chainId, signer } = this.#options;
    const { raw, hash } = wallet.sign({ chainId, nonce, fee, call: workload.next(position, nonce) }, signer);
    return { raw, hash, fee };
  }
}
