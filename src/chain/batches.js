import { ProtocolError, RpcError, TransportError, oneLine } from '../errors.js';
import { isBusy } from './refusals.js';

/** @import { BatchFacts, Reply } from '../contracts/chain.d.ts' */

/**
 * Sends the requests of one turn of the event loop as JSON-RPC batches. The largest batch that a node accepts is found
 * from its refusals, which have no common error code.
 *
 * @typedef {object} Item
 * @property {number} id
 * @property {string} method
 * @property {string} text the request as JSON
 * @property {string} purpose
 * @property {() => unknown} [onSent] called when it is about to be written; false: it is no longer wanted. An item that is
 *   repeated in a smaller batch is written again
 *
 * @typedef {object} QueuedItem
 * @property {Item} item
 * @property {(result: any) => void} resolve
 * @property {(error: unknown) => void} reject
 * @property {number} [timeouts]
 * @property {number} [size] requests in each part of its batch, which timed out and was split
 */

/** The limit at first. Nodes accept 100 and more, gateways often fewer. */
const FIRST_LIMIT = 100;

/** After these failures it is unknown whether the batch was the reason. */
const UNCLEAR_FAILURES = new Set(['transport_timeout', 'transport_reset']);

/** A request that timed out in a batch is repeated so often, in smaller ones. */
const MAX_TIMEOUTS = 2;
/** Large batches that must be answered before they become larger again. */
const LARGE_BEFORE_MORE = 5;
/** Parts of a batch that timed out: after two timeouts 100 requests are in batches of four. */
const PARTS = 5;

export class Batcher {
  #limit;
  #largest;
  /** The limit without timeouts. */
  #mostAccepted;
  /** Large batches in a row that were answered. */
  #large = 0;
  #refused = 0;
  /** @type {string | null} */
  #why = null;
  /** By purpose. @type {Map<string, QueuedItem[]>} */
  #queues = new Map();
  #options;
  #maySendAgain;

  /**
   * @param {object} options
   * @param {(texts: string[], purpose: string, onSent?: () => boolean) => Promise<{answer: any, reply: Reply}>} options.post
   *   sends one body and parses the answer; rejects with TransportError or ProtocolError
   * @param {(answer: any, item: Item, reply: Reply) => any} options.resultOf throws RpcError or ProtocolError
   * @param {boolean} options.maySendAgain whether the same request may be sent twice
   * @param {{limit: number, largest: number}} [known] the facts of an earlier Batcher for the same endpoint
   */
  constructor(options, known) {
    this.#options = options;
    this.#maySendAgain = options.maySendAgain;
    this.#limit = known?.limit ?? FIRST_LIMIT;
    this.#mostAccepted = this.#limit;
    this.#largest = known?.largest ?? 1;
  }

  /** @param {Item} item @returns {Promise<any>} its result */
  add(item) {
    return new Promise((resolve, reject) => this.#enqueue({ item, resolve, reject }));
  }

  /** @returns {BatchFacts} */
  facts() {
    return { limit: this.#limit, largest: this.#largest, refused: this.#refused, why: this.#why };
  }

  /** @param {QueuedItem} waiting */
  #enqueue(waiting) {
    const { purpose } = waiting.item;
    const queue = this.#queues.get(purpose);
    if (queue === undefined) {
      this.#queues.set(purpose, [waiting]);
      // At the end of this turn of the event loop, when all of its requests are queued.
      setImmediate(() => this.#flush(purpose));
      return;
    }
    queue.push(waiting);
  }

  /** @param {string} purpose */
  #flush(purpose) {
    const queue = this.#queues.get(purpose) ?? [];
    this.#queues.delete(purpose);
    // In equal parts, so that no request waits for a larger batch.
    const parts = Math.ceil(queue.length / this.#limit);
    const size = Math.ceil(queue.length / parts);
    for (let at = 0; at < queue.length; at += size) this.#exchange(queue.slice(at, at + size), purpose);
  }

  /** @param {QueuedItem[]} part @param {string} purpose */
  #exchange(part, purpose) {
    const texts = part.map(({ item }) => item.text);
    /** @type {Set<QueuedItem>} */
    const unwanted = new Set();
    const onSent = () => {
      for (const waiting of part) if (waiting.item.onSent?.() === false) unwanted.add(waiting);
      return unwanted.size === 0;
    };
    this.#options.post(texts, purpose, onSent).then(
      ({ answer, reply }) =>
        part.length === 1 ? this.#settle(part[0], answer, reply) : this.#distribute(part, answer, reply),
      (error) => (unwanted.size > 0 ? this.#sendOthers(part, unwanted, error) : this.#failed(part, error, purpose)),
    );
  }

  /** @param {QueuedItem[]} part @param {any} answers in any order @param {Reply} reply */
  #distribute(part, answers, reply) {
    /** @type {Map<unknown, any>} */
    const byId = new Map();
    const isList = Array.isArray(answers) && answers.length <= part.length;
    // Two answers with the same id are both ignored.
    if (isList) for (const answer of answers) byId.set(answer?.id, byId.has(answer?.id) ? undefined : answer);
    /** @type {QueuedItem[]} */
    const missing = [];
    for (const waiting of part) {
      const answer = byId.get(waiting.item.id);
      if (answer === undefined || isTooLarge(answer)) missing.push(waiting);
      else this.#settle(waiting, answer, reply);
    }
    if (missing.length === 0) {
      this.#largest = Math.max(this.#largest, part.length);
      this.#adapt(part);
      return;
    }
    const error = this.#errorIn(isList ? answers : [answers], part[0].item, reply);
    // A busy node says nothing about the accepted size of a batch.
    if (this.#isProven && isBusy(error)) for (const { reject } of missing) reject(error);
    else this.#refuse(missing, part.length, error?.rpcMessage ?? 'answers are missing');
  }

  /** Timeouts make batches smaller. Answers make them larger again. @param {QueuedItem[]} part that was answered */
  #adapt(part) {
    const { size = 0 } = part[0];
    const isLate = size > 0;
    // More requests than the limit are dealt out in equal parts, each larger than half of it.
    this.#large = isLate ? 0 : this.#large + Number(part.length > this.#limit / 2);
    if (isLate) this.#limit = Math.min(this.#limit, size);
    else if (this.#large >= LARGE_BEFORE_MORE && this.#limit < this.#mostAccepted) {
      this.#large = 0;
      this.#limit = Math.min(2 * this.#limit, this.#mostAccepted);
    }
  }

  /** @param {any[]} answers @param {Item} item @param {Reply} reply @returns {RpcError | null} the first error among the answers */
  #errorIn(answers, item, reply) {
    try {
      const answer = answers.find((one) => one?.error);
      if (answer !== undefined) this.#options.resultOf(answer, item, reply);
    } catch (error) {
      if (error instanceof RpcError) return error;
    }
    return null;
  }

  /** @param {QueuedItem} waiting @param {any} answer @param {Reply} reply */
  #settle({ item, resolve, reject }, answer, reply) {
    try {
      resolve(this.#options.resultOf(answer, item, reply));
    } catch (error) {
      reject(error);
    }
  }

  /** Nothing was written. @param {QueuedItem[]} part @param {Set<QueuedItem>} unwanted @param {unknown} error */
  #sendOthers(part, unwanted, error) {
    for (const waiting of part) {
      if (unwanted.has(waiting)) waiting.reject(error);
      else this.#enqueue(waiting);
    }
  }

  /** @param {QueuedItem[]} part @param {unknown} error @param {string} purpose */
  #failed(part, error, purpose) {
    // A second attempt in smaller batches shows whether the batch was the reason.
    const isRefusal =
      (error instanceof ProtocolError && !(this.#isProven && error.isBusy)) ||
      (error instanceof TransportError && this.#isSuspect(error));
    // Some nodes answer the requests of a batch one after another: fewer take less time.
    const isLate = error instanceof TransportError && error.code === 'transport_timeout' && this.#maySendAgain;
    const isRepeated = isLate && part.every(({ timeouts = 0 }) => timeouts < MAX_TIMEOUTS);
    if (part.length > 1 && isRefusal) this.#refuse(part, part.length, error.message);
    else if (part.length > 1 && isRepeated) this.#split(part, purpose);
    else for (const { reject } of part) reject(error);
  }

  /** @param {QueuedItem[]} part that timed out @param {string} purpose */
  #split(part, purpose) {
    const size = Math.ceil(part.length / PARTS);
    for (const waiting of part) Object.assign(waiting, { timeouts: (waiting.timeouts ?? 0) + 1, size });
    for (let at = 0; at < part.length; at += size) this.#exchange(part.slice(at, at + size), purpose);
  }

  /** A node that has never answered a batch may support none. @param {TransportError} error */
  #isSuspect({ code }) {
    if (code === 'transport_body_too_large') return true;
    if (this.#isProven || !UNCLEAR_FAILURES.has(code)) return false;
    this.#limit = 1;
    return true;
  }

  /** Whether the node has answered a batch before. */
  get #isProven() {
    return this.#largest > 1;
  }

  /**
   * @param {QueuedItem[]} unanswered requests to repeat in smaller batches
   * @param {number} size of the batch
   * @param {string} why
   */
  #refuse(unanswered, size, why) {
    this.#refused += 1;
    this.#why = oneLine(why, 200);
    this.#limit = Math.max(1, Math.min(this.#limit, Math.floor(size / 2)));
    this.#mostAccepted = this.#limit;
    for (const waiting of unanswered) this.#enqueue(waiting);
  }
}

/** @param {BatchFacts} a @param {BatchFacts} b @returns {BatchFacts} */
export function mergeBatchFacts(a, b) {
  return {
    limit: Math.min(a.limit, b.limit),
    largest: Math.max(a.largest, b.largest),
    refused: a.refused + b.refused,
    why: a.why ?? b.why,
  };
}

/** geth's error for the items that no longer fit into the largest answer. @param {any} answer */
function isTooLarge(answer) {
  const { code, message } = answer?.error ?? {};
  return code === -32003 && typeof message === 'string' && /too large/i.test(message);
}
