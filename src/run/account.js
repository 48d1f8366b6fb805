/** What this run did with one wallet: the ledger that the audit compares with the chain. */
export class Account {
  /** Operations of ours whose effect the chain has: verified ones, and ones found included later. */
  executed = 0;
  /** Operations that did not verify, but were found executed in a block afterwards. */
  includedLate = 0;
  /** Operations of ours in a block that had no effect. */
  reverted = 0;
  /** Why no more operations are started with this wallet, or null. @type {string | null} */
  retired = null;
  /**
   * The last operation, when the node knew nothing of it: its transaction may still arrive, so its hashes belong to
   * every later operation with the same nonce.
   * @type {import('./ledger.js').Open | null}
   */
  undecided = null;
  /**
   * The next transaction, signed already.
   * @type {{nonce: number, fee: import('../chain/transaction.js').Fee, signed: import('../chain/transaction.js').SignedTransaction} | null}
   */
  ahead = null;
  failuresInRow = 0;
  /** The worker that had it died: what it sent last is not known. */
  isLost = false;
  readBackRetries = 0;

  /**
   * @param {number} position in the slice
   * @param {import('../chain/wallets.js').Wallet} wallet
   */
  constructor(position, wallet) {
    this.position = position;
    this.wallet = wallet;
    /** The wallet's nonce when the load began. */
    this.startNonce = wallet.nonce;
  }
}
