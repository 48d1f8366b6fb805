/**
 * @import { Fee } from '../chain/transaction.js'
 * @import { Clock } from '../clock.js'
 * @import { Inclusion } from '../inclusion/index.js'
 * @import { Outcome, Sample } from '../metrics/sample.js'
 * @import { Account } from './account.js'
 * @import { Signed } from './presigner.js'
 */

/** The operation did what it should not: reverted, wrong count, refused. */
export class Failed extends Error {
  /** @param {string} code */
  constructor(code) {
    super(code);
    this.code = code;
  }
}

/**
 * One operation: (wallet, nonce) with every hash ever sent for it, or one plain call. It ends once, with one frozen
 * sample; whatever comes later changes nothing.
 */
export class Operation {
  /** Of the transaction that was sent last, or of the one that is in a block. @type {string | null} */
  hash = null;
  /** The bytes that were sent last. @type {string | null} */
  raw = null;
  /** What they offer. @type {Fee | null} */
  fee = null;
  /**
   * When it was sent again last without being asked for, and how often; the newest block then, or soon after it was
   * accepted.
   * @type {{atUs: number, times: number, block: number | null}}
   */
  pushed = { atUs: 0, times: 0, block: null };
  /** Of its kind, where there are several. @type {string | null} */
  name = null;
  /** The endpoint that it was sent to last, where there are several. @type {number | null} */
  endpoint = null;
  /** @type {number | null} */
  sentAtUs = null;
  /** @type {number | null} */
  acceptedAtUs = null;
  /** When its block was seen where the effect is read back, if that is elsewhere. @type {number | null} */
  visibleAtUs = null;
  /** @type {Inclusion | null} */
  inclusion = null;
  /** @type {string | null} */
  effect = null;
  /** @type {string | null} */
  target = null;
  /** When its effect was read back. @type {number | null} */
  verifiedAtUs = null;
  /** Its steps go no further. */
  isCancelled = false;
  /** What went wrong was that the endpoint has too much to do. */
  isRefusedForNow = false;
  /** The endpoint asked for less. */
  isLimited = false;
  /** What went wrong, in words. @type {string | null} */
  words = null;
  /** An error that nobody foresaw: a bug of ours. @type {Error | null} */
  bug = null;
  /** Ends the pause that it makes. @type {AbortController | null} */
  #pause = null;
  #isOver = false;
  #isTaken = false;
  /** Whoever waits for its block. @type {((found: Inclusion) => void) | null} */
  #onIncluded = null;
  #onEnd;
  #onTaken;

  /**
   * @param {Account} account
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
    /** Called for each transaction, before it is sent. @type {(hash: string) => void} */
    this.onOffer = nothing;
  }

  /** Another transaction for the same nonce. @param {Signed} signed */
  offer({ raw, hash, fee }) {
    this.raw = raw;
    this.hash = hash;
    this.fee = fee;
    if (!this.hashes.includes(hash)) this.hashes.push(hash);
    this.onOffer(hash);
  }

  /** One of its transactions is in a block. @param {string} hash @param {Inclusion} found */
  foundIn(hash, found) {
    if (this.inclusion !== null) return;
    if (!this.#isOver) this.hash = hash;
    this.inclusion = found;
    this.wake();
    this.#onIncluded?.(found);
    this.#onIncluded = null;
  }

  /** Its block has left the chain: it waits for another one. */
  orphaned() {
    this.inclusion = null;
    this.visibleAtUs = null;
    for (const hash of this.hashes) this.onOffer(hash);
    this.wake();
  }

  /** @returns {Promise<Inclusion>} */
  included() {
    if (this.inclusion !== null) return Promise.resolve(this.inclusion);
    return new Promise((resolve) => (this.#onIncluded = resolve));
  }

  /** Waits, unless there is nothing to wait for any more. @param {Clock} clock @param {number} ms */
  async pause(clock, ms) {
    if (ms === 0 || this.#isOver) return;
    this.#pause = new AbortController();
    await clock.sleep(ms, this.#pause.signal);
    this.#pause = null;
  }

  /** Something has changed: it looks again. */
  wake() {
    this.#pause?.abort();
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
    this.wake();
    this.taken();
    this.release();
    this.onOffer = nothing;
    const { account, nonce, hash, intendedAtUs, startedAtUs, sentAtUs, acceptedAtUs, effect, target } = this;
    const { name, endpoint } = this;
    // A block that was read before the node's answer counts from the answer on; without one it is the audit's.
    const inclusion = acceptedAtUs === null ? null : this.inclusion;
    const includedAtUs = inclusion === null ? null : Math.max(inclusion.seenAtUs, acceptedAtUs ?? 0);
    const isVisible = includedAtUs !== null && this.visibleAtUs !== null;
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
      includedAtUs,
      visibleAtUs: isVisible ? Math.max(this.visibleAtUs ?? 0, includedAtUs) : null,
      endedAtUs,
      blockNumber: inclusion === null ? null : inclusion.number,
      effect,
      target,
      name,
      endpoint,
    });
    this.#onEnd(this, sample);
  }
}

function nothing() {}
