import { submittedHash } from '../chain/answers.js';
import { isLimit, isLost, retryAfterMs } from '../chain/retries.js';
import { StressError } from '../errors.js';
import { Queue } from './queue.js';
import { knownOf } from './transaction-status.js';

/**
 * @import { ChainReceipt, RefusalClass, StatedPrice } from '../contracts/chain.d.ts'
 * @import { Submission } from '../chain/submit.js'
 * @import { Pauses } from '../contracts/run-file.d.ts'
 * @import { RpcError } from '../errors.js'
 * @import { Operation, Tools } from './operation.js'
 * @import { Storm } from './storm.js'
 */

/** How the transactions of the load are submitted: their turns, what becomes of a refusal, and the pauses of all. */

/** After an outage a node may refuse for so long what it takes later, for instance before its first block. */
const AFTER_OUTAGE_MS = 5000;

/** Answers that are no decision about a transaction, and a limit that the driver keeps. @type {ReadonlySet<RefusalClass>} */
const UNREFUSED = new Set(/** @type {const} */ (['rate_limit', 'starting', 'busy', 'sender_limit']));

/** As many as --connections can be. */
export const MAX_SUBMISSIONS = 10_000;

/**
 * Limits the submissions in progress, because one that waits for a connection takes several times the memory of an
 * operation that waits for its turn.
 */
export class Submissions {
  #free;
  /** @type {Queue<Operation>} */
  #waiting = new Queue();
  #isTurnDue = false;
  #start;
  /** Those that start together, where they are sent in another order. @type {Operation[]} */
  #held = [];
  #storm;

  /** @param {(operation: Operation) => void} start @param {number} most in progress at a time @param {Storm | null} [storm] */
  constructor(start, most, storm = null) {
    this.#storm = storm?.hasOrder ? storm : null;
    this.#start = start;
    this.#free = most;
  }

  /** @param {Operation} operation is started now or later, in the order in which they are added */
  add(operation) {
    if (this.#storm !== null) return this.#hold(operation);
    this.#waiting.push(operation);
    if (this.#free > 0 && !this.#isTurnDue) this.#startSome();
  }

  /** @param {Operation} operation is sent after the turns in which operations start */
  #hold(operation) {
    if (this.#held.push(operation) === 1) this.#sendLater();
  }

  /** The driver starts many wallets in several turns. They end: what is held ends no operation. */
  #sendLater() {
    const { length } = this.#held;
    setImmediate(() => {
      if (this.#held.length > length) return this.#sendLater();
      for (const held of /** @type {Storm} */ (this.#storm).order(this.#held)) this.#waiting.push(held);
      this.#held = [];
      this.#startSome();
    });
  }

  /** A submission is over. */
  release() {
    this.#free += 1;
    if (this.#waiting.size === 0 || this.#isTurnDue) return;
    this.#isTurnDue = true;
    // In a turn of its own: submissions that fail at once would call each other to any depth.
    setImmediate(() => {
      this.#isTurnDue = false;
      this.#startSome();
    });
  }

  #startSome() {
    while (this.#free > 0) {
      const operation = this.#waiting.shift();
      if (operation === null) return;
      if (operation.isCancelled) continue;
      this.#free -= 1;
      this.#start(operation);
    }
  }
}

/**
 * The submission of an operation.
 * @implements {Submission}
 */
export class OperationSubmission {
  /** Writes of the current try: a batch that was refused is repeated in smaller ones. */
  #writes = 0;
  /** The node answered the last try with an error. */
  #isRefused = false;
  #tools;
  #operation;

  /** @param {Tools} tools @param {Operation} operation */
  constructor(tools, operation) {
    this.#tools = tools;
    this.#operation = operation;
    // An earlier operation with the same nonce may have been received as well.
    this.isUnsure = operation.hashes.length > 1;
  }

  /** An operation has a time limit of its own. */
  isLate() {
    return false;
  }

  get isOver() {
    return this.#operation.isCancelled || this.#operation.inclusion !== null;
  }

  waitMs() {
    const { clock, retryPolicy } = this.#tools;
    return retryPolicy.waitMs(clock.nowUs());
  }

  /** @param {number} tries @param {boolean} isRaised */
  send(tries, isRaised) {
    const { rpc, inclusion, resubmissions } = this.#tools;
    const { raw, hash } = this.#operation;
    if (tries > 0) resubmissions[isRaised ? 'replaced' : 'repeated'] += 1;
    if (tries > 0 && !isRaised && this.#isRefused) resubmissions.refused += 1;
    this.#writes = 0;
    const purpose = tries === 0 ? 'submit' : 'resubmit';
    return inclusion.submit === undefined
      ? rpc.call('eth_sendRawTransaction', [raw], purpose, this.#noteSent)
      : inclusion.submit(String(raw), String(hash), purpose, this.#noteSent, () => this.#noteReceipt());
  }

  /** @param {unknown} answer */
  accept(answer) {
    const { hash } = this.#operation;
    if (answer !== hash && submittedHash(answer, this.#tools.rpc) !== hash) throw new Failed('hash_mismatch');
  }

  isTaken() {
    const { fee } = this.#operation;
    return fee !== null && this.#tools.taken.isLike(fee);
  }

  /** @param {number} [endpoint] @returns {boolean} false: it is not wanted any more */
  #noteSent = (endpoint) => {
    const { isCancelled, sample } = this.#operation;
    this.#writes += 1;
    if (isCancelled) return false;
    sample.sentAtUs ??= this.#tools.clock.nowUs();
    sample.endpoint = endpoint ?? null;
    return true;
  };

  #noteReceipt() {
    const { isCancelled, sample } = this.#operation;
    if (!isCancelled) sample.receiptAtUs ??= this.#tools.clock.nowUs();
  }

  /** @param {unknown} error @param {RefusalClass | null} refusal */
  noteError(error, refusal) {
    const { clock, retryPolicy, refusals, limits } = this.#tools;
    this.isUnsure ||= this.#writes > 1;
    this.#isRefused = refusal !== null;
    if (error instanceof StressError) this.#operation.error = error;
    if (refusal !== null) {
      const counted = (refusals[refusal] ??= { count: 0, words: /** @type {RpcError} */ (error).rpcMessage });
      counted.count += 1;
      limits.refused(this.#operation, refusal);
    }
    retryPolicy.noteRetryAfter(error, clock.nowUs());
  }

  /** @param {number} ms @param {'limitedMs' | 'unansweredMs'} why @param {RefusalClass | null} [refusal] */
  async pause(ms, why, refusal = null) {
    const { clock, limits, retryPolicy } = this.#tools;
    const fromUs = clock.nowUs();
    if (refusal === 'sender_limit' || refusal === 'pool_full') await limits.turn(this.#operation, ms);
    else await this.#operation.pause(clock, ms);
    const waitedMs = (clock.nowUs() - fromUs) / 1000;
    retryPolicy.pauses[why] += waitedMs;
    if (refusal !== null && !UNREFUSED.has(refusal)) retryPolicy.pauses.refusedMs += waitedMs;
  }

  /** @param {StatedPrice} stated */
  raiseOffer(stated) {
    const why = this.#tools.presigner.raiseOffer(this.#operation, stated);
    const { error } = this.#operation;
    if (why !== null && why !== '' && error !== null) error.message += `; ${why}`;
    return why === null;
  }

  find() {
    return this.#tools.lookups.find(this.#operation);
  }

  /** @param {RefusalClass} _refusal @param {number} refusedAtUs */
  mayPass(_refusal, refusedAtUs) {
    const { clock, retryPolicy } = this.#tools;
    return retryPolicy.isAfterOutage(clock.nowUs(), refusedAtUs);
  }
}

/** Looks operations up whose submission was refused: all that wait in one batch, and one batch at a time. */
export class Lookups {
  /** @type {Array<{operation: Operation, resolve: (isKnown: boolean) => void}>} */
  #waiting = [];
  #isAsking = false;
  #find;

  /** @param {(operation: Operation) => Promise<boolean>} find */
  constructor(find) {
    this.#find = find;
  }

  /** @param {Operation} operation @returns {Promise<boolean>} whether the node has it */
  find(operation) {
    return new Promise((resolve) => {
      this.#waiting.push({ operation, resolve });
      if (!this.#isAsking) void this.#askAll();
    });
  }

  async #askAll() {
    this.#isAsking = true;
    while (this.#waiting.length > 0) {
      const round = this.#waiting;
      this.#waiting = [];
      await Promise.all(round.map(async ({ operation, resolve }) => resolve(await this.#find(operation))));
    }
    this.#isAsking = false;
  }
}

/** @param {Pick<Tools, 'rpc' | 'clock' | 'inclusion'>} tools @param {Operation} operation */
export async function lookUp(tools, operation) {
  const { isKnown, receipt } = await knownOf(tools.rpc, operation);
  if (receipt !== null) foundByReceipt(tools, operation, receipt);
  return isKnown;
}

/**
 * @param {Pick<Tools, 'clock' | 'retryPolicy'>} tools
 * @param {Operation} operation
 * @param {number} ms
 * @param {'limitedMs' | 'unansweredMs'} why
 */
export async function pause({ clock, retryPolicy }, operation, ms, why) {
  const fromUs = clock.nowUs();
  await operation.pause(clock, ms);
  retryPolicy.pauses[why] += (clock.nowUs() - fromUs) / 1000;
}

/**
 * Uses a receipt, if its block was already read before the hash was watched. Later blocks are found by the detector.
 * @param {Pick<Tools, 'clock' | 'inclusion'>} tools
 * @param {Operation} operation
 * @param {ChainReceipt} receipt
 */
export function foundByReceipt({ clock, inclusion }, operation, { hash, blockNumber: number, blockHash }) {
  if (!inclusion.hasPassed(number)) return;
  operation.setInclusion(hash, { number, hash: blockHash ?? `block ${number}`, seenAtUs: clock.nowUs() });
}

/** Longest Retry-After that is respected. */
const MAX_RETRY_AFTER_MS = 60_000;

/** The Retry-After pause (RFC 9110) of all submissions, and how often and how long this thread waited. */
export class RetryPolicy {
  /** @type {Required<Pauses>} */
  pauses = { limitAnswers: 0, limitedMs: 0, unansweredMs: 0, refusedMs: 0, unpaidMs: 0 };
  readBackRetries = 0;
  /** A block of which the endpoint serves no effects for long; null after each report. @type {number | null} */
  unreadBlock = null;
  /** Time that wallets paused after calls without a response. */
  callPauseMs = 0;
  #untilUs = 0;
  /** When a request had no answer for the last time. */
  #lostAtUs = -Infinity;
  #random;

  /** @param {() => number} random from 0 to 1 */
  constructor(random) {
    this.#random = random;
  }

  /** @param {unknown} error @param {number} nowUs */
  noteRetryAfter(error, nowUs) {
    this.noteOutage(error, nowUs);
    if (isLimit(error)) this.pauses.limitAnswers += 1;
    const askedMs = Math.min(retryAfterMs(error), MAX_RETRY_AFTER_MS);
    if (askedMs > 0) this.#untilUs = Math.max(this.#untilUs, nowUs + askedMs * 1000);
  }

  /** Whether a request had no answer since then. @param {number} sinceUs */
  hadOutageSince(sinceUs) {
    return this.#lostAtUs > sinceUs;
  }

  /** @param {unknown} error of any request @param {number} nowUs */
  noteOutage(error, nowUs) {
    if (isLost(error)) this.#lostAtUs = nowUs;
  }

  /** Others may lose requests for ever. @param {number} nowUs @param {number} refusedAtUs by the first such refusal */
  isAfterOutage(nowUs, refusedAtUs) {
    return nowUs - Math.min(this.#lostAtUs, refusedAtUs) < AFTER_OUTAGE_MS * 1000;
  }

  /**
   * The rest of the Retry-After pause plus up to a random tenth, so that wallets do not continue at once.
   * @param {number} nowUs
   */
  waitMs(nowUs) {
    if (nowUs >= this.#untilUs) return 0;
    return ((this.#untilUs - nowUs) / 1000) * (1 + this.#random() / 10);
  }
}

/** A failure with a stable code: reverted, wrong count, hash mismatch. */
export class Failed extends Error {
  /** @param {string} code @param {string} [words] */
  constructor(code, words) {
    super(words);
    this.code = code;
  }
}
