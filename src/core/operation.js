import { isLimit } from '../chain/retries.js';
import { submitFailure, toHex, toNumber } from '../chain/rpc.js';
import { ProtocolError, RpcError, StressError, TransportError } from '../errors.js';
import { submit } from './submit.js';
import { transactionStatusOf } from './transaction-status.js';

/**
 * @import { CallWorkload, Clock, Fee, Inclusion, InclusionDetector, Outcome, Rpc, Sample, TransactionWorkload } from '../types.d.ts'
 * @import { Deadlines } from '../deadlines.js'
 * @import { Verdict } from '../workloads/index.js'
 * @import { Visibility } from './engine.js'
 * @import { Account } from './nonces.js'
 * @import { Presigner, Signed } from './signing.js'
 * @import { RetryPolicy, Resubmissions } from './submit.js'
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

/**
 * One increment from start to outcome, top to bottom: sign, send, included, read back. It ends the operation with one
 * frozen sample on every path; no exception leaves this file.
 *
 * @typedef {object} Tools what an iteration works with, the same for all of a run
 * @property {Rpc} rpc
 * @property {Clock} clock
 * @property {Deadlines} deadlines of operations, after --tx-timeout
 * @property {TransactionWorkload} workload
 * @property {InclusionDetector} inclusion
 * @property {Visibility | null} visibility of blocks where effects are read back; null where that is no
 *   other endpoint
 * @property {Presigner} presigner
 * @property {RetryPolicy} retryPolicy
 * @property {Resubmissions} resubmissions so far
 * @property {() => number} random from 0 to 1
 * @property {number} txTimeoutMs
 * @property {number} startBlock latest block when the load began
 */

/** First pause before the effect is asked for again, in milliseconds; it doubles up to the second figure. */
const READ_BACK_PAUSE_MS = [5, 250];

/** Longest wait for the answer whether a transaction was lost, in milliseconds. */
const LOST_CHECK_MS = 1000;

/** @param {Tools} tools @param {Operation} operation */
export function iterate(tools, operation) {
  const { clock, deadlines, inclusion } = tools;
  const deadline = deadlines.set(() => void timeOut(tools, operation));
  operation.release = () => {
    deadlines.clear(deadline);
    for (const hash of operation.hashes) inclusion.unwatch(hash);
  };
  steps(tools, operation).then(
    () => {
      if (!operation.isCancelled) operation.end('verified', null, operation.verifiedAtUs ?? clock.nowUs());
    },
    (error) => {
      if (operation.isCancelled) return;
      const code = failureCode(error);
      if (code === 'internal') operation.bug = /** @type {Error} */ (error);
      if (error instanceof StressError) operation.words = error.message;
      operation.end('failed', code, clock.nowUs());
    },
  );
}

/** @param {Tools} tools @param {Operation} operation */
async function steps(tools, operation) {
  const { clock, inclusion, presigner } = tools;

  // Watched before it is sent: a block may hold it before the node's answer is read. What is found is noted at once:
  // others of this wallet in the same block are read back as of it, too.
  operation.onOffer = (hash) => inclusion.watch(hash, (found) => operation.foundIn(hash, found));
  operation.hashes.forEach(operation.onOffer);
  operation.offer(presigner.sign(operation.account, operation.nonce));

  await submit(tools, operation, (endpoint) => {
    if (operation.isCancelled) return false;
    operation.sentAtUs ??= clock.nowUs();
    operation.endpoint = endpoint ?? null;
    return true;
  });
  if (operation.isCancelled) return;
  operation.acceptedAtUs = clock.nowUs();
  operation.words = null;
  operation.taken();
  presigner.signLater(operation.account, operation.account.nextNonce);

  // Its block may leave the chain before the effect is read back: then it waits for the next one.
  let isVerified = false;
  while (!isVerified && !operation.isCancelled) {
    isVerified = await readBack(tools, operation, await operation.included());
  }
}

/**
 * Fetches the effect until the node serves the block that holds the operation, whatever it answers until then. When
 * it serves the block and the effect is not in it, the receipt says whether the transaction was reverted.
 * @param {Tools} tools
 * @param {Operation} operation
 * @param {Inclusion} found
 * @returns {Promise<boolean>} false: that block is no longer part of the chain, or nobody waits for the effect any more
 */
async function readBack({ rpc, clock, workload, retryPolicy, visibility }, operation, found) {
  const { account } = operation;
  const [firstPauseMs, longestPauseMs] = READ_BACK_PAUSE_MS;
  let pauseMs = firstPauseMs;
  let isWrongBefore = false;
  if (visibility !== null) operation.visibleAtUs = await visibility.seen(found.number);
  for (let attempt = 0; !operation.isCancelled && operation.inclusion === found; attempt += 1) {
    const bounds = account.boundsAsOf(operation, found.number);
    let verdict;
    try {
      const sent = { nonce: operation.nonce, hash: operation.hash ?? '' };
      verdict = await workload.verify(account.position, bounds, found, attempt, sent);
    } catch (error) {
      verdict = noVerdict(error);
      retryPolicy.noteRetryAfter(error, clock.nowUs());
    }
    operation.effect = verdict.effect;
    operation.target = verdict.target;
    const { state } = verdict;
    // What is in the block may be the effect of another one: then the receipt tells whose.
    const status = state === 'likely' || state === 'missing' ? await statusOf(rpc, operation.hashes) : null;
    if (status === 0) throw new Failed('reverted');
    if (state === 'ok' || (state === 'likely' && status !== null)) {
      // Taken here: those of the same batch are all read before the first of them is followed up.
      operation.verifiedAtUs = clock.nowUs();
      return true;
    }
    const { least, most, latest } = account.boundsAsOf(operation, found.number);
    // Too many is wrong only once every operation that may have been in time is known to have its block, or to have none.
    const isWrong = state === 'wrong' && most === bounds.most && latest === bounds.latest;
    if (isWrong && !account.hasUnseenBefore(found.seenAtUs)) {
      if (isWrongBefore && (await isStillThere(rpc, found))) throw new Failed('wrong_count');
      isWrongBefore = true;
      attempt += 1; // the same question: a node that makes the next block just now may have answered as of that
    }
    // Too few is wrong only if none of the others was reverted: that changes what is expected here.
    const isTooFew = state === 'missing' && status !== null && least === bounds.least;
    if (isTooFew && (await areExecuted(rpc, account.othersAsOf(operation, found.number))) && !operation.isCancelled) {
      const isSettled = account.boundsAsOf(operation, found.number).least === least;
      if (isSettled && (await isStillThere(rpc, found))) throw new Failed('wrong_count');
    }
    account.readBackRetries += 1;
    await operation.pause(clock, Math.max(pauseMs, retryPolicy.waitMs(clock.nowUs())));
    pauseMs = Math.min(pauseMs * 2, longestPauseMs);
  }
  return false;
}

/** Whether a block is part of the chain. @param {Rpc} rpc @param {Inclusion} block */
async function isStillThere(rpc, { number, hash }) {
  const block = await rpc.call('eth_getBlockByNumber', [toHex(number), false], 'readback').catch(() => null);
  return block?.hash === hash;
}

/** A lost connection says nothing of the effect, nor does a garbled answer. @param {unknown} error @returns {Verdict} */
function noVerdict(error) {
  if (error instanceof TransportError || error instanceof ProtocolError)
    return { state: 'behind', effect: null, target: null };
  throw error;
}

/** @param {Rpc} rpc @param {string[]} hashes @returns {Promise<number | null>} null: no receipt yet */
async function statusOf(rpc, hashes) {
  for (const hash of hashes) {
    const receipt = await rpc.call('eth_getTransactionReceipt', [hash], 'readback').catch(() => null);
    if (receipt !== null) return toNumber(receipt.status);
  }
  return null;
}

/** @param {Rpc} rpc @param {Operation[]} operations that were found in blocks */
async function areExecuted(rpc, operations) {
  const statuses = await Promise.all(operations.map(({ hashes }) => statusOf(rpc, hashes)));
  return statuses.every((status) => status === 1);
}

/**
 * Time is up: does the node still know the transaction that it had accepted? Where it does not answer soon, it
 * is taken to.
 * @param {Tools} tools
 * @param {Operation} operation
 */
async function timeOut({ rpc, clock, startBlock }, operation) {
  operation.isCancelled = true;
  let isLost = false;
  if (operation.acceptedAtUs !== null && operation.inclusion === null) {
    const fate = transactionStatusOf(rpc, operation, 'resolve', startBlock).then(
      (decided) => decided.fate,
      () => 'pending',
    );
    const soon = clock.sleep(LOST_CHECK_MS).then(() => 'pending');
    isLost = (await Promise.race([fate, soon])) === 'never_sent';
  }
  if (isLost) operation.end('failed', 'lost', clock.nowUs());
  else operation.end('timed_out', null, clock.nowUs());
}

/** Why an operation failed, as a stable word. @param {unknown} error @returns {string} */
export function failureCode(error) {
  if (error instanceof Failed) return error.code;
  if (error instanceof RpcError)
    return error.method.startsWith('eth_sendRawTransaction') ? submitFailure(error) : 'rpc_error';
  if (error instanceof TransportError || error instanceof ProtocolError) return error.code;
  return error instanceof StressError ? error.code : 'internal';
}

/**
 * One plain call from start to outcome: asked, answered, its answer checked. There is no block to wait for, and its
 * deadline is that of its request. A check that takes time, because somebody else has to be asked, is no part of it.
 *
 * @typedef {object} CallTools
 * @property {Rpc} rpc
 * @property {Clock} clock
 * @property {CallWorkload} workload
 */

/** @param {CallTools} tools @param {Operation} operation */
export function call({ rpc, clock, workload }, operation) {
  const { position } = operation.account;
  operation.taken(); // calls need not arrive in order
  /** @param {Error} error */
  const fail = (error) => {
    if (operation.isCancelled) return;
    const code = failureCode(error);
    if (code === 'internal') operation.bug = error;
    operation.isRefusedForNow = error instanceof RpcError && error.isBusy;
    operation.isLimited = isLimit(error);
    operation.words = error.message;
    operation.end('failed', code, operation.acceptedAtUs ?? clock.nowUs());
  };
  /** @param {string | null} effect */
  const verified = (effect) => {
    if (operation.isCancelled) return;
    operation.effect = effect;
    operation.end('verified', null, operation.acceptedAtUs ?? clock.nowUs());
  };
  /** @param {number} [endpoint] */
  const onSent = (endpoint) => {
    if (operation.isCancelled) return false;
    operation.sentAtUs = clock.nowUs();
    operation.endpoint = endpoint ?? null;
    return true;
  };
  try {
    const request = workload.next(position);
    operation.name = request.name ?? null;
    rpc.call(request.method, request.params, 'load', onSent).then((result) => {
      if (operation.isCancelled) return;
      operation.acceptedAtUs = clock.nowUs();
      try {
        const checked = workload.check(position, result, request);
        if (checked instanceof Promise) checked.then(verified, fail);
        else verified(checked);
      } catch (error) {
        fail(/** @type {Error} */ (error));
      }
    }, fail);
  } catch (error) {
    fail(/** @type {Error} */ (error));
  }
}
