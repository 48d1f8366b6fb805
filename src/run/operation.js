/**
 * One operation: (wallet, nonce) with every hash ever sent for it, or one plain call. It ends once, with one frozen
 * sample; whatever comes later changes nothing.
 *
 * @typedef {import('../metrics/sample.js').Sample} Sample
 * @typedef {import('../metrics/sample.js').Outcome} Outcome
 */
export class Operation {
  /** Of the transaction that this operation sends. @type {string | null} */
  hash = null;
  /** Its bytes, which are sent again if nobody else can use its nonce any more. @type {string | null} */
  raw = null;
  /** @type {number | null} */
  sentAtUs = null;
  /** @type {number | null} */
  acceptedAtUs = null;
  /** @type {import('../inclusion/index.js').Inclusion | null} */
  inclusion = null;
  /** @type {string | null} */
  effect = null;
  /** @type {string | null} */
  target = null;
  /** When its effect was read back. @type {number | null} */
  verifiedAtUs = null;
  /** Its steps go no further. */
  isCancelled = false;
  /** What went wrong, in words. @type {string | null} */
  words = null;
  /** An error that nobody foresaw: a bug of ours. @type {Error | null} */
  bug = null;
  #isOver = false;
  #isTaken = false;
  #onEnd;
  #onTaken;

  /**
   * @param {import('./account.js').Account} account
   * @param {{intendedAtUs: number, startedAtUs: number}} instants
   * @param {(operation: Operation, sample: Sample) => void} onEnd called once
   * @param {(operation: Operation) => void} [onTaken] called once, before that: the node has answered, or never will
   */
  constructor(account, { intendedAtUs, startedAtUs }, onEnd, onTaken = nothing) {
    this.account = account;
    const { nonce, undecided } = account.take(this);
    this.nonce = nonce;
    /** Every hash ever sent for this wallet and nonce, also by operations before this one. @type {string[]} */
    this.hashes = undecided === null ? [] : [...undecided.operation.hashes];
    this.intendedAtUs = intendedAtUs;
    this.startedAtUs = startedAtUs;
    this.#onEnd = onEnd;
    this.#onTaken = onTaken;
    /** What is left to do when it ends: timers, watches. @type {() => void} */
    this.release = nothing;
  }

  /** The node has it, or will never say. */
  taken() {
    if (this.#isTaken) return;
    this.#isTaken = true;
    this.#onTaken(this);
  }

  /**
   * @param {Outcome} outcome
   * @param {string | null} code why it failed
   * @param {number} endedAtUs
   */
  end(outcome, code, endedAtUs) {
    if (this.#isOver) return;
    this.#isOver = true;
    this.isCancelled = true;
    this.taken();
    this.release();
    const { account, nonce, hash, intendedAtUs, startedAtUs, sentAtUs, acceptedAtUs, effect, target } = this;
    // A block that was read before the node's answer counts from the answer on; without one it is the audit's.
    const inclusion = acceptedAtUs === null ? null : this.inclusion;
    const sample = Object.freeze({
      position: account.position,
      walletIndex: account.wallet.index,
      nonce,
      hash,
      outcome,
      code,
      intendedAtUs,
      startedAtUs,
      sentAtUs,
      acceptedAtUs,
      includedAtUs: inclusion === null ? null : Math.max(inclusion.seenAtUs, acceptedAtUs ?? 0),
      endedAtUs,
      blockNumber: inclusion === null ? null : inclusion.number,
      effect,
      target,
    });
    this.#onEnd(this, sample);
  }
}

function nothing() {}
