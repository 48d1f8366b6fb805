import { ProtocolError, RpcError, TransportError } from '../errors.js';
import { askAll } from './answers.js';
import { classOf, isAbsent, isBusy } from './refusals.js';
import { batchOf } from './rpc.js';

/**
 * @import { Purpose, Rpc } from '../contracts/chain.d.ts'
 * @import { Clock } from '../contracts/common.d.ts'
 * @import { Question } from './answers.js'
 *
 * @typedef {object} RetryOptions purposes whose calls are retried, until a signal aborts or a time limit
 * @property {Clock} clock
 * @property {() => number} [random] from 0 to 1
 * @property {Partial<Record<Purpose, AbortSignal>>} signals
 * @property {Partial<Record<Purpose, number>>} [mostMs] longest time of the retries of a call
 * @property {() => void} [onAnswer] an endpoint has answered a call of these purposes, or the check of its health
 */

/** The retry policy: which failures may be temporary, how long to wait, and for how long to try again. */

/** Failures of the transport that a retry cannot mend. */
const PERMANENT = new Set([
  'transport_not_sent',
  'transport_closed',
  'transport_no_ports',
  'transport_certificate',
  'transport_body_too_large',
]);

/** First and longest backoff. */
const BACKOFF_MS = Object.freeze([50, 2000]);

/** How long the calls of the run itself, as opposed to those of its load, are repeated. */
const RETRY_MS = 20_000;

/** The first call to an endpoint. It is not repeated, so that an endpoint that is down is reported at once. */
const FIRST_METHOD = 'eth_chainId';

/** Whether no answer came because of a failure that may be temporary. @param {unknown} error */
export function isLost(error) {
  return error instanceof TransportError && !PERMANENT.has(error.code);
}

/** Whether a retry may succeed: no answer came, or the endpoint is busy. @param {unknown} error */
export function isRetryable(error) {
  return isLost(error) || isBusy(error);
}

/** The wait that the endpoint asked for (Retry-After, RFC 9110), 0 if none. @param {unknown} error */
export function retryAfterMs(error) {
  return error instanceof ProtocolError || error instanceof RpcError ? (error.retryAfterMs ?? 0) : 0;
}

/** Whether it is a rate limit: HTTP 429, Retry-After, or an error answer that says so. @param {unknown} error */
export function isLimit(error) {
  if (error instanceof RpcError) return (error.retryAfterMs ?? 0) > 0 || classOf(error) === 'rate_limit';
  return error instanceof ProtocolError && (error.isLimit || (error.retryAfterMs ?? 0) > 0);
}

/**
 * Exponential backoff. Half of it is random, so that requests that failed together are not repeated together.
 * @param {number} tries
 * @param {() => number} random from 0 to 1
 */
export function backOffMs(tries, random) {
  const [firstMs, longestMs] = BACKOFF_MS;
  const mostMs = Math.min(firstMs * 2 ** Math.min(tries, 20), longestMs);
  return mostMs / 2 + (random() * mostMs) / 2;
}

/**
 * Reads state as of a block: by its hash, so that a reorg cannot change the block, or by its number where a node lacks
 * EIP-1898.
 * @template T
 * @param {Pick<Rpc, 'batch'>} rpc
 * @param {{hash: string, number: number}} block
 * @param {(block: number | {blockHash: string}) => Question<T>[]} questionsAt
 * @returns {Promise<T[]>}
 */
export async function readAtBlock(rpc, { hash, number }, questionsAt) {
  try {
    return await askAll(rpc, questionsAt({ blockHash: hash }), 'audit');
  } catch (error) {
    if (!(error instanceof RpcError) || isAbsent(error)) throw error;
    return askAll(rpc, questionsAt(number), 'audit');
  }
}

/**
 * @template T
 * @param {() => Promise<T>} request repeated while its failure may be temporary
 * @param {{clock: Clock, random?: () => number, signal: AbortSignal, forMs?: number}} options signal: ends the retries
 * @returns {Promise<T>}
 */
export async function retry(request, { clock, random = Math.random, signal, forMs = RETRY_MS }) {
  const endUs = clock.nowUs() + forMs * 1000;
  for (let tries = 0; ; tries += 1) {
    try {
      return await request();
    } catch (error) {
      const pauseMs = Math.max(backOffMs(tries, random), retryAfterMs(error));
      if (!isRetryable(error) || signal.aborted || clock.nowUs() + pauseMs * 1000 > endUs) throw error;
      await clock.sleep(pauseMs, signal);
    }
  }
}

/**
 * Retries the calls for which the options have a signal. Transactions and the first call are never repeated.
 * @param {Rpc} rpc
 * @param {RetryOptions | undefined} options
 * @returns {Rpc}
 */
export function withRetries(rpc, options) {
  if (options === undefined) return rpc;
  const { clock, random, signals, mostMs = {}, onAnswer = () => {} } = options;
  const isOnce = (/** @type {string} */ method, /** @type {Purpose} */ purpose) =>
    signals[purpose] === undefined || method === FIRST_METHOD || method.startsWith('eth_send');
  /** @param {Purpose} purpose @param {() => Promise<any>} request */
  const send = async (purpose, request) => {
    const signal = /** @type {AbortSignal} */ (signals[purpose]);
    const answer = await retry(request, { clock, random, signal, forMs: mostMs[purpose] });
    onAnswer();
    return answer;
  };
  // Those of the load, which are not repeated, make no garbage here.
  /** @type {Rpc['gather']} */
  const gather = (method, params, purpose) =>
    isOnce(method, purpose)
      ? rpc.gather(method, params, purpose)
      : send(purpose, () => rpc.gather(method, params, purpose));
  return {
    ...rpc,
    call: (method, params, purpose, onSent) =>
      isOnce(method, purpose)
        ? rpc.call(method, params, purpose, onSent)
        : send(purpose, () => rpc.call(method, params, purpose, onSent)),
    gather,
    batch: batchOf(gather),
  };
}
