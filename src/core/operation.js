import { ask, gather, headerAt, receiptOf } from '../chain/answers.js';
import { classOf, failureCodeOf, isBusy } from '../chain/refusals.js';
import { backOffMs, isLimit } from '../chain/retries.js';
import { submit } from '../chain/submit.js';
import { within } from '../clock.js';
import { ProtocolError, RpcError, StressError, TransportError } from '../errors.js';
import { hasUnseenBefore, othersAsOf } from './nonces.js';
import { Failed, OperationSubmission, pause } from './submit.js';
import { transactionStatusOf } from './transaction-status.js';

/**
 * @import { Fee, Inclusion, InclusionDetector, Rpc, Taken } from '../contracts/chain.d.ts'
 * @import { Clock } from '../contracts/common.d.ts'
 * @import { CallWorkload, Outcome, Sample, TransactionWorkload, Verdict } from '../contracts/load.d.ts'
 * @import { Refusals, Resubmissions } from '../contracts/run-file.d.ts'
 * @import { Deadline, Deadlines } from '../deadlines.js'
 * @import { Reservation } from './budget.js'
 * @import { Observers } from '../observers/index.js'
 * @import { Account } from './nonces.js'
 * @import { NodeLimits } from './node-limits.js'
 * @import { Presigner, Signed } from './signing.js'
 * @import { Rebroadcast } from './resubmission.js'
 * @import { Storm } from './storm.js'
 * @import { Lookups, RetryPolicy, Submissions } from './submit.js'
 *
 * @typedef {Omit<Sample, 'outcome' | 'endedAtUs'> & {outcome: Outcome | null, endedAtUs: number | null}} DraftSample
 */

/**
 * One operation: a wallet and a nonce with every hash sent for them, or one plain call. It ends once, with one frozen
 * sample.
 */
export class Operation {
  /** Hash of the latest transaction, or of the one that was included. @type {string | null} */
  hash = null;
  /** The signed bytes of the latest transaction. @type {string | null} */
  raw = null;
  /** The fee of the latest transaction. @type {Fee | null} */
  fee = null;
  /** What is reserved for its fees; null without --max-spend. @type {Reservation | null} */
  reservation = null;
  /** @type {Inclusion | null} */
  inclusion = null;
  /** Its block, while it waits for confirmations, and afterwards. @type {{number: number, seenAtUs: number} | null} */
  block = null;
  /** Stops its steps; nothing is written to its sample any more. */
  isCancelled = false;
  /** The last error. @type {Error | null} */
  error = null;
  /** Null until it was first looked at as overdue. @type {Rebroadcast | null} */
  rebroadcast = null;
  /** Ends the current pause. @type {AbortController | null} */
  #pause = null;
  #isOver = false;
  #isSubmissionOver = false;
  /** @type {((found: Inclusion) => void) | null} */
  #onIncluded = null;
  /** Null for plain calls, and when it has ended. @type {Tools | null} */
  #tools = null;
  /** The limit of --tx-timeout. @type {Deadline | null} */
  #deadline = null;
  #onEnd;
  #onSubmitted;

  /**
   * @param {Account} account
   * @param {{intendedAtUs: number, startedAtUs: number}} instants
   * @param {(operation: Operation, sample: Sample) => void} onEnd called once
   * @param {(operation: Operation) => void} [onSubmitted] called once, before onEnd: the submission is over
   */
  constructor(account, { intendedAtUs, startedAtUs }, onEnd, onSubmitted = nothing) {
    this.account = account;
    const { nonce, undecided } = account.take(this);
    this.nonce = nonce;
    /** Includes the hashes of earlier operations with the same nonce. @type {string[]} */
    this.hashes = undecided === null ? [] : [...undecided.operation.hashes];
    this.startedAtUs = startedAtUs;
    /** What is known by now; complete, and frozen, when it ends. @type {DraftSample} */
    this.sample = {
      position: account.position,
      walletIndex: account.wallet.index,
      nonce,
      hash: null,
      hashes: this.hashes,
      outcome: null,
      code: null,
      intendedAtUs,
      startedAtUs,
      sentAtUs: null,
      acceptedAtUs: null,
      receiptAtUs: null,
      includedAtUs: null,
      blockSeenAtUs: null,
      visibleAtUs: null,
      endedAtUs: null,
      blockNumber: null,
      sighting: null,
      effect: null,
      target: null,
      gasUsed: null,
      name: null,
      endpoint: null,
    };
    this.#onEnd = onEnd;
    this.#onSubmitted = onSubmitted;
  }

  /** Its time limit starts, and its hashes are watched from now on. @param {Tools} tools */
  begin(tools) {
    this.#tools = tools;
    this.#deadline = tools.deadlines.set(this);
    this.#watchAll();
  }

  /** An earlier transaction with the same nonce may still be included. */
  #watchAll() {
    for (const hash of this.hashes) this.#tools?.inclusion.watch(hash, this);
  }

  /** Sets the transaction to send next for this nonce. @param {Signed} signed */
  setTransaction({ raw, hash, fee }) {
    this.raw = raw;
    this.hash = hash;
    this.fee = fee;
    if (!this.hashes.includes(hash)) this.hashes = this.hashes.concat(hash);
    this.#tools?.inclusion.watch(hash, this);
  }

  /**
   * Called by the detector at once, because other operations of this wallet in the same block are read back as of that
   * block too.
   * @param {string} hash
   * @param {Inclusion} inclusion
   */
  setInclusion(hash, inclusion) {
    if (this.inclusion !== null) return;
    if (!this.#isOver) {
      this.hash = hash;
      if (inclusion.sighting) inclusion.sighting.open += 1;
    }
    this.inclusion = inclusion;
    this.wake();
    this.#onIncluded?.(inclusion);
    this.#onIncluded = null;
  }

  /** Called by the detector at once: with --confirmations the inclusion comes later. @param {{number: number, seenAtUs: number}} block */
  setBlock(block) {
    this.block = block;
  }

  /** Its block was reorged: waits for the next inclusion. */
  orphaned() {
    this.block = null;
    if (this.inclusion === null) return;
    if (this.inclusion.sighting) this.inclusion.sighting.open -= 1;
    this.inclusion = null;
    this.#watchAll();
    this.wake();
  }

  /** @returns {Promise<Inclusion>} */
  included() {
    if (this.inclusion !== null) return Promise.resolve(this.inclusion);
    return new Promise((resolve) => (this.#onIncluded = resolve));
  }

  /** Sleeps until the time is over, wake() is called or the operation ends. @param {Clock} clock @param {number} ms */
  async pause(clock, ms) {
    if (ms === 0 || this.#isOver) return;
    this.#pause = new AbortController();
    await clock.sleep(ms, this.#pause.signal);
    this.#pause = null;
  }

  /** Ends the current pause. */
  wake() {
    this.#pause?.abort();
  }

  /** The submission is over: the node has the transaction, or the operation ended. */
  endSubmission() {
    if (this.#isSubmissionOver) return;
    this.#isSubmissionOver = true;
    this.#onSubmitted(this);
  }

  /** Its time limit is over. */
  expire() {
    if (this.#tools !== null) void timeOut(this.#tools, this);
  }

  #release() {
    if (this.#tools === null) return;
    const { deadlines, inclusion } = this.#tools;
    this.#tools = null;
    if (this.#deadline !== null) deadlines.clear(this.#deadline);
    for (const hash of this.hashes) inclusion.unwatch(hash);
  }

  /** @param {Outcome} outcome @param {string | null} code of a failure @param {number} endedAtUs */
  end(outcome, code, endedAtUs) {
    if (this.#isOver) return;
    this.#isOver = true;
    this.isCancelled = true;
    this.wake();
    this.endSubmission();
    this.#release();
    const { sample } = this;
    if (this.inclusion?.sighting) this.inclusion.sighting.open -= 1;
    sample.hash = this.hash;
    sample.hashes = this.hashes;
    sample.outcome = outcome;
    sample.code = code;
    sample.endedAtUs = endedAtUs;
    // Inclusion is never before acceptance. Without an accepted submission only the audit decides.
    const block = this.block ?? this.inclusion;
    if (block !== null && sample.acceptedAtUs !== null)
      sample.blockSeenAtUs = Math.max(block.seenAtUs, sample.acceptedAtUs);
    if (this.inclusion !== null && sample.acceptedAtUs !== null) {
      const { number, seenAtUs, sighting = null } = this.inclusion;
      sample.includedAtUs = Math.max(seenAtUs, sample.acceptedAtUs);
      sample.blockNumber = number;
      sample.sighting = sighting;
    }
    this.#onEnd(this, /** @type {Sample} */ (Object.freeze(sample)));
  }
}

function nothing() {}

/**
 * The steps of one transaction: sign, submit, included, read back. Every path ends the operation with one sample; no
 * exception leaves this file.
 *
 * @typedef {object} Tools what operations share
 * @property {Rpc} rpc
 * @property {Clock} clock
 * @property {Deadlines} deadlines of --tx-timeout
 * @property {Submissions} submissions
 * @property {Lookups} lookups
 * @property {TransactionWorkload} workload
 * @property {InclusionDetector} inclusion
 * @property {Presigner} presigner
 * @property {Observers} observers
 * @property {RetryPolicy} retryPolicy
 * @property {Resubmissions} resubmissions
 * @property {Refusals} refusals of submissions, by class
 * @property {NodeLimits} limits
 * @property {Taken} taken
 * @property {Storm | null} storm
 * @property {boolean} isShown whether a node shows a transaction before its block; otherwise it cannot be called lost
 * @property {() => number} random from 0 to 1
 * @property {number} txTimeoutMs
 * @property {number} startBlock latest block when the load began
 * @property {number} firstWallet index of the first wallet of the run
 * @property {((account: Account) => bigint) | null} refillWei wallets with less wait for a payment; null: they are not paid
 */

/** First and longest pause between two attempts to read the effect; it doubles. */
const READ_BACK_PAUSE_MS = [5, 250];

/** stress warns when a read-back takes longer. */
const LATE_READ_BACK_MS = 5000;

const LOST_CHECK_MS = 1000;

/** @param {Tools} tools @param {Operation} operation */
export function runTransaction(tools, operation) {
  operation.sample.name = tools.workload.nameOf?.(operation.account.position, operation.nonce) ?? null;
  operation.begin(tools);
  tools.submissions.add(operation);
}

/** Called when it is the operation's turn to be submitted. @param {Tools} tools @param {Operation} operation */
export async function runSteps(tools, operation) {
  const { clock, presigner, submissions } = tools;
  try {
    try {
      // Watched before it is sent: it can be in a block before the response is read. While it waited for its turn, an
      // earlier transaction with its nonce may have been included.
      if (operation.inclusion === null) operation.setTransaction(presigner.sign(operation.account, operation.nonce));
      await submit(new OperationSubmission(tools, operation), tools);
    } finally {
      submissions.release();
    }
    if (operation.isCancelled) return;
    operation.sample.acceptedAtUs = clock.nowUs();
    tools.taken.note(operation.fee, operation.sample.acceptedAtUs);
    operation.error = null;
    operation.endSubmission();
    void tools.storm?.accepted(operation);
    presigner.signLater(operation.account, operation.account.nextNonce);

    // A reorg before the read-back returns to waiting for inclusion.
    let isVerified = false;
    while (!isVerified && !operation.isCancelled) {
      isVerified = await readBack(tools, operation, await operation.included());
    }
    if (operation.isCancelled) return;
    tools.storm?.verified(operation);
    operation.end('verified', null, operation.sample.endedAtUs ?? clock.nowUs());
  } catch (error) {
    if (operation.isCancelled) return;
    operation.error = /** @type {Error} */ (error);
    operation.end('failed', failureCode(error), clock.nowUs());
  }
}

/**
 * Reads the effect until the node serves the block of the operation. If the node serves that block and the effect is
 * missing, the receipt tells whether the transaction was reverted.
 * @param {Tools} tools
 * @param {Operation} operation
 * @param {Inclusion} found
 * @returns {Promise<boolean>} false: the block was reorged, or the operation has ended
 */
async function readBack(tools, operation, found) {
  const { rpc, clock, workload, retryPolicy } = tools;
  const { account } = operation;
  const [firstPauseMs, longestPauseMs] = READ_BACK_PAUSE_MS;
  let pauseMs = firstPauseMs;
  let isWrongBefore = false;
  for (let attempt = 0; !operation.isCancelled && operation.inclusion === found; attempt += 1) {
    const bounds = account.boundsAsOf(operation, found.number);
    const askedAtUs = clock.nowUs();
    /** @type {unknown} */
    let failure = null;
    let verdict;
    try {
      const sent = { nonce: operation.nonce, hash: operation.hash ?? '' };
      verdict = await workload.verify(account.position, bounds, found, attempt, sent);
    } catch (error) {
      failure = error;
      verdict = noVerdict(error);
      retryPolicy.noteRetryAfter(error, clock.nowUs());
    }
    if (operation.isCancelled) return false;
    const { sample } = operation;
    const { state, gasUsed = null } = verdict;
    sample.effect = verdict.effect;
    sample.target = verdict.target;
    sample.gasUsed = gasUsed;
    // The effect may be that of another operation; the receipt decides.
    const isSuccess = state === 'likely' || state === 'missing' ? await succeeded(rpc, operation.hashes) : null;
    if (isSuccess === false)
      throw new Failed(verdict.code ?? 'reverted', `transaction ${operation.hash} in block ${found.number}`);
    if (state === 'ok' || (state === 'likely' && isSuccess !== null)) {
      // A reorg has removed the block while it was read.
      if (operation.inclusion !== found) return false;
      // Set here: all results of a batch are processed before the first promise continues.
      sample.endedAtUs = clock.nowUs();
      sample.visibleAtUs = askedAtUs;
      return true;
    }
    const { least, most, latest } = account.boundsAsOf(operation, found.number);
    // A count above the bound is wrong only when the inclusion of every earlier submission of the wallet is known.
    const isWrong = state === 'wrong' && most === bounds.most && latest === bounds.latest;
    if (isWrong && !hasUnseenBefore(account, found.seenAtUs)) {
      if (isWrongBefore && (await isStillThere(rpc, found))) throw new Failed('wrong_count');
      isWrongBefore = true;
      attempt += 1; // repeat the same query: the node may have answered as of the next block
    }
    // A count below the bound is wrong only if no other operation of the wallet was reverted, which changes the bound.
    const isTooFew = state === 'missing' && isSuccess !== null && least === bounds.least;
    if (isTooFew && (await areExecuted(rpc, othersAsOf(account, operation, found.number))) && !operation.isCancelled) {
      const isSettled = account.boundsAsOf(operation, found.number).least === least;
      if (isSettled && (await isStillThere(rpc, found))) throw new Failed('wrong_count');
    }
    retryPolicy.readBackRetries += 1;
    const isLate = clock.nowUs() - found.seenAtUs > LATE_READ_BACK_MS * 1000;
    if (isLate && failure === null && state === 'behind') retryPolicy.unreadBlock = found.number;
    if (isLimit(failure)) await pause(tools, operation, backOffMs(attempt, tools.random), 'limitedMs');
    await operation.pause(clock, Math.max(pauseMs, retryPolicy.waitMs(clock.nowUs())));
    pauseMs = Math.min(pauseMs * 2, longestPauseMs);
  }
  return false;
}

/** @param {Rpc} rpc @param {Inclusion} block */
async function isStillThere(rpc, { number, hash }) {
  const header = await ask(rpc, headerAt(number), 'readback').catch(() => null);
  return header?.hash === hash;
}

/** Connection errors and invalid responses tell nothing about the effect. @param {unknown} error @returns {Verdict} */
function noVerdict(error) {
  if (error instanceof TransportError || error instanceof ProtocolError || isBusy(error))
    return { state: 'behind', effect: null, target: null };
  throw error;
}

/** By the receipt. @param {Rpc} rpc @param {string[]} hashes @returns {Promise<boolean | null>} null: no receipt yet */
async function succeeded(rpc, hashes) {
  for (const hash of hashes) {
    const receipt = await gather(rpc, receiptOf(hash), 'readback').catch(() => null);
    if (receipt !== null) return receipt.isSuccess;
  }
  return null;
}

/** @param {Rpc} rpc @param {Operation[]} operations */
async function areExecuted(rpc, operations) {
  const all = await Promise.all(operations.map(({ hashes }) => succeeded(rpc, hashes)));
  return all.every((isSuccess) => isSuccess === true);
}

/**
 * The time limit was reached: `lost` if the node no longer knows a transaction it had accepted, otherwise (also without
 * an answer in time) `timed_out`.
 * @param {Tools} tools
 * @param {Operation} operation
 */
async function timeOut({ rpc, clock, startBlock, isShown }, operation) {
  operation.isCancelled = true;
  let isLost = false;
  if (isShown && operation.sample.acceptedAtUs !== null && operation.inclusion === null) {
    const status = transactionStatusOf(rpc, operation, 'resolve', startBlock).then(
      (decided) => decided.status,
      () => 'pending',
    );
    isLost = (await within(clock, LOST_CHECK_MS, status, () => 'pending')) === 'never_sent';
  }
  if (isLost) operation.end('failed', 'lost', clock.nowUs());
  else operation.end('timed_out', null, clock.nowUs());
}

/** @param {unknown} error @returns {string} */
function failureCode(error) {
  if (error instanceof Failed) return error.code;
  if (error instanceof RpcError)
    return error.method.startsWith('eth_sendRawTransaction') ? failureCodeOf(classOf(error)) : 'rpc_error';
  if (error instanceof TransportError || error instanceof ProtocolError) return error.code;
  return error instanceof StressError ? error.code : 'internal';
}

/**
 * The steps of one plain call: send, receive, check the result. The request time limit is its only deadline. The time
 * of an asynchronous check is not part of the latency.
 *
 * @typedef {object} CallTools
 * @property {Rpc} rpc
 * @property {Clock} clock
 * @property {CallWorkload} workload
 */

/** @param {CallTools} tools @param {Operation} operation */
export function runCall({ rpc, clock, workload }, operation) {
  const { position } = operation.account;
  operation.endSubmission(); // calls have no order
  /** @param {Error} error */
  const fail = (error) => {
    if (operation.isCancelled) return;
    operation.error = error;
    operation.end('failed', failureCode(error), operation.sample.acceptedAtUs ?? clock.nowUs());
  };
  /** @param {string | null} effect */
  const verified = (effect) => {
    if (operation.isCancelled) return;
    operation.sample.effect = effect;
    operation.end('verified', null, operation.sample.acceptedAtUs ?? clock.nowUs());
  };
  /** @param {number} [endpoint] */
  const onSent = (endpoint) => {
    if (operation.isCancelled) return false;
    operation.sample.sentAtUs = clock.nowUs();
    operation.sample.endpoint = endpoint ?? null;
    return true;
  };
  try {
    const request = workload.next(position);
    operation.sample.name = request.name ?? null;
    rpc.call(request.method, request.params, 'load', onSent).then((result) => {
      if (operation.isCancelled) return;
      operation.sample.acceptedAtUs = clock.nowUs();
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
