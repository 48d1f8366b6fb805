/**
 * Signs the next transaction of a wallet while its last one waits for a block, so that it can be sent the moment it
 * is due. One whose nonce or fee no longer holds when its time comes is thrown away, and signed again.
 *
 * @typedef {import('./account.js').Account} Account
 *
 * @typedef {object} PresignerOptions
 * @property {import('../chain/signer.js').Signer} signer
 * @property {import('../chain/fees.js').Fees} fees
 * @property {import('../workload/index.js').TransactionWorkload} workload
 * @property {number} chainId
 */

/** What is signed in one turn of the event loop; answers that arrive meanwhile wait no longer than for this. */
const SIGNED_PER_TURN = 4;

export class Presigner {
  /** Signatures made ahead that were used, and that were thrown away. */
  stats = { used: 0, discarded: 0 };
  /** Wallets whose next transaction is wanted, with its nonce. @type {Map<Account, number>} */
  #wanted = new Map();
  #options;

  /** @param {PresignerOptions} options */
  constructor(options) {
    this.#options = options;
  }

  /**
   * @param {Account} account
   * @param {number} nonce
   * @returns {import('../chain/transaction.js').SignedTransaction}
   */
  sign(account, nonce) {
    const { ahead } = account;
    account.ahead = null;
    this.#wanted.delete(account);
    if (ahead !== null && ahead.nonce === nonce && this.#options.fees.holds(ahead.fee)) {
      this.stats.used += 1;
      return ahead.signed;
    }
    if (ahead !== null) this.stats.discarded += 1;
    return this.#signNow(account, nonce, this.#options.fees.current());
  }

  /** @param {Account} account @param {number} nonce */
  signLater(account, nonce) {
    if (this.#wanted.size === 0) setImmediate(() => this.#turn());
    this.#wanted.set(account, nonce);
  }

  #turn() {
    let left = SIGNED_PER_TURN;
    for (const [account, nonce] of this.#wanted) {
      this.#wanted.delete(account);
      const fee = this.#options.fees.current();
      account.ahead = { nonce, fee, signed: this.#signNow(account, nonce, fee) };
      left -= 1;
      if (left === 0) break;
    }
    if (this.#wanted.size > 0) setImmediate(() => this.#turn());
  }

  /** @param {Account} account @param {number} nonce @param {import('../chain/transaction.js').Fee} fee */
  #signNow({ wallet, position }, nonce, fee) {
    const { workload, chainId, signer } = this.#options;
    return wallet.sign({ chainId, nonce, fee, call: workload.next(position) }, signer);
  }
}
