import { raisedText } from '../chain/fees.js';
import { tipAfter } from '../chain/left-out.js';
import { WorkloadError } from '../errors.js';

/**
 * @import { Fee, Fees, SignedTransaction, Signer, StatedPrice } from '../contracts/chain.d.ts'
 * @import { Clock } from '../contracts/common.d.ts'
 * @import { TransactionWorkload } from '../contracts/load.d.ts'
 * @import { LeftOut } from '../chain/left-out.js'
 * @import { FeeBudget } from './budget.js'
 * @import { Account } from './nonces.js'
 * @import { Operation } from './operation.js'
 */

/**
 * Signs the next transaction of each wallet ahead of time, so that it can be sent as soon as it is due. It is signed
 * again if nonce or fee have changed by then.
 *
 * @typedef {SignedTransaction & {fee: Fee}} Signed
 *
 * @typedef {object} PresignerOptions
 * @property {Signer} signer
 * @property {Clock} clock
 * @property {Fees} fees
 * @property {TransactionWorkload} workload
 * @property {number} chainId
 * @property {FeeBudget | null} [budget] null: no limit
 */

/** Longest time spent on signing per turn of the event loop. */
const TURN_US = 1000;

export class Presigner {
  /** Which offer is made since a refusal of the price. @type {string | null} */
  raisedWords = null;
  /** Transactions signed ahead of time. */
  stats = { used: 0, discarded: 0 };
  /** The next transaction of each wallet, by position. @type {Array<{nonce: number, signed: Signed} | undefined>} */
  #ahead = [];
  /** Nonces to sign next, by wallet. @type {Map<Account, number>} */
  #queue = new Map();
  #isStopped = false;
  #isTurnDue = false;
  #options;

  /** @param {PresignerOptions} options */
  constructor(options) {
    this.#options = options;
  }

  /** @param {Account} account @param {number} nonce @returns {Signed} */
  sign(account, nonce) {
    const ahead = this.#ahead[account.position];
    this.#ahead[account.position] = undefined;
    this.#queue.delete(account);
    if (ahead !== undefined && ahead.nonce === nonce && this.#options.fees.holds(ahead.signed.fee)) {
      this.stats.used += 1;
      return ahead.signed;
    }
    if (ahead !== undefined) this.stats.discarded += 1;
    return this.#signNow(account, nonce, this.#options.fees.current());
  }

  /** The fee of the transaction that is signed for a nonce. @param {number} position @param {number} nonce @returns {Fee | null} */
  feeAhead(position, nonce) {
    const ahead = this.#ahead[position];
    return ahead?.nonce === nonce ? ahead.signed.fee : null;
  }

  /** @param {Account} account @param {number} nonce */
  signLater(account, nonce) {
    if (this.#isStopped) return;
    this.#queue.set(account, nonce);
    this.#turnSoon();
  }

  /**
   * Signs the first transaction of each wallet before the load.
   * @param {Account[]} accounts
   * @param {AbortSignal} signal
   */
  async signFirst(accounts, signal) {
    for (const account of accounts) this.#queue.set(account, account.wallet.nonce);
    while (this.#queue.size > 0 && !signal.aborted) {
      this.#signSome();
      await new Promise((resolve) => setImmediate(resolve));
    }
  }

  stop() {
    this.#isStopped = true;
    this.#queue.clear();
  }

  #turnSoon() {
    if (this.#isTurnDue) return;
    this.#isTurnDue = true;
    setImmediate(() => {
      this.#isTurnDue = false;
      this.#signSome();
      if (this.#queue.size > 0) this.#turnSoon();
    });
  }

  #signSome() {
    const { clock, fees } = this.#options;
    const endUs = clock.nowUs() + TURN_US;
    for (const [account, nonce] of this.#queue) {
      this.#queue.delete(account);
      const fee = fees.current();
      try {
        this.#ahead[account.position] = { nonce, signed: this.#signNow(account, nonce, fee) };
      } catch {
        // Its operation fails with the same error and counts it.
      }
      if (clock.nowUs() >= endUs) return;
    }
  }

  /**
   * Signs the transaction again after a refusal for its price.
   * @param {Operation} operation
   * @param {StatedPrice} stated
   * @returns {string | null} why it cannot offer more
   */
  raiseOffer(operation, stated) {
    const { fees } = this.#options;
    const before = fees.current();
    const why = fees.raiseOffer(operation.fee ?? before, stated);
    if (why !== null) return why;
    if (fees.current() !== before) this.raisedWords = raisedText(fees.current());
    // What no node has taken is not replaced, so that it need not offer an eighth more.
    const isRefused = operation.hashes.length === 1;
    return this.signReplacement(operation) || (isRefused && this.#signWith(operation, fees.current()))
      ? null
      : 'a higher offer is not within --max-fee and --max-spend';
  }

  /**
   * Signs a replacement with a higher fee.
   * @param {Operation} operation
   * @param {bigint} [leastTipWei]
   * @returns {boolean} false: the fee cannot be raised
   */
  signReplacement(operation, leastTipWei) {
    const { fee } = operation;
    const { fees } = this.#options;
    const higher = fee === null ? fees.current() : fees.replacementFee(fee, leastTipWei);
    return higher !== null && this.#signWith(operation, higher);
  }

  /** @param {Operation} operation @param {Fee} higher @returns {boolean} false: --max-spend does not allow it, or a workload fails */
  #signWith(operation, higher) {
    const { account, nonce } = operation;
    const { budget } = this.#options;
    try {
      if (budget?.reserveMore(operation, higher) === false) return false;
      operation.setTransaction(this.#signNow(account, nonce, higher));
    } catch (error) {
      // The earlier transaction stays valid.
      if (error instanceof WorkloadError) return false;
      throw error;
    }
    return true;
  }

  /**
   * Signs a replacement of a transaction that blocks have left out.
   * @param {Operation} operation
   * @param {LeftOut} evidence
   * @param {number} times replacements before this one
   * @returns {boolean} false: its fee cannot be raised
   */
  replaceLeftOut(operation, evidence, times) {
    const { fees } = this.#options;
    return !fees.isFixed && this.signReplacement(operation, tipAfter(evidence, times, fees.mostWei()));
  }

  /** Whether a refusal of its price raises the fee. */
  get isFixed() {
    return this.#options.fees.isFixed;
  }

  /** Whether a base fee above it raises the fee. */
  get isPriceFixed() {
    return this.#options.fees.isPriceFixed;
  }

  /** @param {Fee} taken by a block, in place of a lower offer */
  learn(taken) {
    this.#options.fees.learn(taken);
  }

  /** What it takes from its wallet at most. @param {Operation} operation @returns {{gasLimit: bigint, valueWei: bigint}} */
  needOf({ account, nonce }) {
    const { gasLimit, value } = this.#options.workload.next(account.position, nonce);
    return { gasLimit, valueWei: value };
  }

  /** Whether the fee is below that of the newest block. @param {Fee} fee */
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
