import { submittedHash } from '../chain/answers.js';
import { PASSING, classOf } from '../chain/refusals.js';
import { backOffMs, isLimit, isLost, retryAfterMs } from '../chain/retries.js';
import { ProtocolError, RpcError, StressError, TransportError } from '../errors.js';
import { Queue } from './queue.js';
import { knownOf } from './transaction-status.js';

/**
 * @import { ChainReceipt, RefusalClass } from '../contracts/chain.d.ts'
 * @import { Pauses } from '../contracts/run-file.d.ts'
 * @import { Operation, Tools } from './operation.js'
 * @import { Storm } from './storm.js'
 */

/**
 * Submits a transaction and repeats it while the outcome is unknown. After a lost response the same bytes are sent
 * again: the hash identifies the transaction, and a chain includes it only once.
 */

/** Lookups of the own transaction when the node reports its nonce as used. */
const MAX_LOOKUPS = 5;

/** After an outage a node may refuse for so long what it takes later, for instance before its first block. */
const AFTER_OUTAGE_MS = 5000;

/** Refusals that the node makes before it looks at the transaction, or at the first sending of one. @type {ReadonlySet<RefusalClass>} */
const NOT_ARRIVED = new Set(/** @type {const} */ (['rate_limit', 'starting', 'funds', 'price', 'pool_full']));

/** Fee increases after "underpriced" before the operation fails. */
const MAX_RAISES = 5;

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
 * @param {Tools} tools
 * @param {Operation} operation
 * @param {(endpoint?: number) => unknown} onSent
 * @returns {Promise<void>} resolves when the node has it or the operation was cancelled; rejects with the node's error
 */
export async function submit(tools, operation, onSent) {
  const { rpc, clock, inclusion, retryPolicy, presigner, resubmissions, lookups } = tools;
  // An earlier operation with the same nonce may have been received as well.
  let isUnsure = operation.hashes.length > 1;
  /** Of the current try. */
  let writes = 0;
  /** A batch that was refused is repeated in smaller ones. @param {number} [endpoint] */
  const noteSent = (endpoint) => {
    writes += 1;
    return onSent(endpoint);
  };
  const noteReceipt = () => {
    if (!operation.isCancelled) operation.sample.receiptAtUs ??= clock.nowUs();
  };
  let failedLookups = 0;
  /** When the node refused it for the first time although time cannot mend that. */
  let refusedAtUs = Infinity;
  let raises = 0;
  let isRaised = false;
  for (let tries = 0; ; tries += 1) {
    const waitMs = retryPolicy.waitMs(clock.nowUs());
    if (waitMs > 0) await pause(tools, operation, waitMs, 'limitedMs');
    if (operation.isCancelled || operation.inclusion !== null) return;
    if (tries > 0) resubmissions[isRaised ? 'replaced' : 'repeated'] += 1;
    isRaised = false;
    writes = 0;
    try {
      const { raw, hash } = operation;
      const purpose = tries === 0 ? 'submit' : 'resubmit';
      const answer = await (inclusion.submit === undefined
        ? rpc.call('eth_sendRawTransaction', [raw], purpose, noteSent)
        : inclusion.submit(String(raw), String(hash), purpose, noteSent, noteReceipt));
      if (answer !== hash && submittedHash(answer, rpc) !== hash) throw new Failed('hash_mismatch');
      return;
    } catch (error) {
      const refusal = error instanceof RpcError ? classOf(error) : null;
      isUnsure ||= writes > 1;
      if (refusal === 'known' || operation.isCancelled || operation.inclusion !== null) return;
      if (error instanceof StressError) operation.error = error;
      retryPolicy.noteRetryAfter(error, clock.nowUs());
      let hasPaused = false;
      const backOff = () => {
        hasPaused = true;
        return pause(tools, operation, backOffMs(tries, tools.random), isLimit(error) ? 'limitedMs' : 'unansweredMs');
      };
      if (refusal === 'price' && (raises += 1) <= MAX_RAISES && presigner.raise(operation)) isRaised = true;
      else if (!isTransient(error, refusal)) {
        // The chain decides: the words may be those of a node that has the transaction.
        const mayHaveArrived = refusal !== null && (isUnsure || !NOT_ARRIVED.has(refusal));
        if (mayHaveArrived) {
          await backOff();
          if (operation.isCancelled || operation.inclusion !== null || (await lookups.find(operation))) return;
        }
        const isNonceUsed = refusal === 'nonce_low' || refusal === 'replacement';
        const nowUs = clock.nowUs();
        refusedAtUs = Math.min(refusedAtUs, nowUs);
        const mayPass = isNonceUsed ? isUnsure : refusal !== null && retryPolicy.isAfterOutage(nowUs, refusedAtUs);
        if (!mayPass || (isNonceUsed && (failedLookups += 1) > MAX_LOOKUPS)) throw error;
      }
      isUnsure ||= !(error instanceof TransportError && error.code === 'transport_refused');
      if (!hasPaused) await backOff();
    }
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

/** @param {unknown} error @param {RefusalClass | null} refusal */
function isTransient(error, refusal) {
  return refusal === null ? error instanceof ProtocolError || isLost(error) : PASSING.has(refusal);
}

/** Longest Retry-After that is respected. */
const MAX_RETRY_AFTER_MS = 60_000;

/** The Retry-After pause (RFC 9110) of all submissions, and how often and how long this thread waited. */
export class RetryPolicy {
  /** @type {Pauses} */
  pauses = { limitAnswers: 0, limitedMs: 0, unansweredMs: 0 };
  readBackRetries = 0;
  /** A block of which the endpoint serves no effects for long; null after each report. @type {number | null} */
  unreadBlock = null;
  /** Time that wallets paused after calls without a response. */
  pausedMs = 0;
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
