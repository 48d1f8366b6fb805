import { ProtocolError, RpcError, TransportError } from '../errors.js';

/** @import { Clock, Purpose, RetryOptions } from '../types.d.ts' */

/** Failures of the way to an endpoint after which nothing is gained by trying again. */
const FINAL = new Set([
  'transport_not_sent',
  'transport_closed',
  'transport_no_ports',
  'transport_certificate',
  'transport_body_too_large',
]);

/** Whether no answer came, and the next one may. @param {unknown} error */
export function isLost(error) {
  return error instanceof TransportError && !FINAL.has(error.code);
}

/** Whether it may be gone in a moment: no answer came, or the endpoint has too much to do. @param {unknown} error */
export function isRetryable(error) {
  return isLost(error) || ((error instanceof ProtocolError || error instanceof RpcError) && error.isBusy);
}

/** How long an endpoint asks to be left alone (Retry-After, RFC 9110). @param {unknown} error */
export function retryAfterMs(error) {
  return error instanceof ProtocolError || error instanceof RpcError ? (error.retryAfterMs ?? 0) : 0;
}

/** Whether the endpoint asks for less: 429, Retry-After, or the JSON-RPC error for it. @param {unknown} error */
export function isLimit(error) {
  if (error instanceof RpcError) return error.isBusy;
  return error instanceof ProtocolError && (error.status === TOO_MANY || (error.retryAfterMs ?? 0) > 0);
}

/** The HTTP status of an endpoint that is asked too much. */
const TOO_MANY = 429;

/** First and longest pause before something is asked again, in milliseconds. */
const PAUSE_MS = Object.freeze([50, 2000]);

/**
 * Twice as long each time, and a random half of it, so that those that failed together do not come back together.
 * @param {number} tries
 * @param {() => number} random from 0 to 1
 */
export function backOffMs(tries, random) {
  const [firstMs, longestMs] = PAUSE_MS;
  const most = Math.min(firstMs * 2 ** Math.min(tries, 20), longestMs);
  return most / 2 + (random() * most) / 2;
}

/** JSON-RPC 2.0: the method does not exist, which some nodes say in the words that others have for a block. */
const METHOD_NOT_FOUND = -32601;

/** The node has no such block: it has left the chain. Other errors may be those of a node without EIP-1898. @param {unknown} error */
export function isUnknownBlock(error) {
  if (!(error instanceof RpcError) || error.rpcCode === METHOD_NOT_FOUND) return false;
  return /not found|unknown|could not find|not canonical/i.test(error.rpcMessage);
}

/** For how long something is asked for that belongs to the run and not to its load, in milliseconds. */
const INSIST_MS = 20_000;

/**
 * Asks again while the reason may pass.
 * @template T
 * @param {() => Promise<T>} ask
 * @param {{clock: Clock, signal: AbortSignal, forMs?: number}} options signal: ends it
 * @returns {Promise<T>}
 */
export async function retry(ask, { clock, signal, forMs = INSIST_MS }) {
  const endUs = clock.nowUs() + forMs * 1000;
  for (let tries = 0; ; tries += 1) {
    try {
      return await ask();
    } catch (error) {
      const pauseMs = Math.max(backOffMs(tries, Math.random), retryAfterMs(error));
      if (!isRetryable(error) || signal.aborted || clock.nowUs() + pauseMs * 1000 > endUs) throw error;
      await clock.sleep(pauseMs, signal);
    }
  }
}

/** What an endpoint is asked first. */
const FIRST_METHOD = 'eth_chainId';

/**
 * What belongs to the run and not to its load is asked for again while the reason may pass; but for the first question,
 * because an endpoint that is not there is to be named at once.
 * @param {RetryOptions | null} retryOptions
 * @param {string} method
 * @param {Purpose} purpose
 * @param {() => Promise<any>} ask
 */
export function withRetries(retryOptions, method, purpose, ask) {
  const signal = retryOptions?.signals[purpose];
  if (retryOptions === null || signal === undefined || method === FIRST_METHOD || method.startsWith('eth_send'))
    return ask();
  const forMs = Math.min(INSIST_MS, retryOptions.mostMs?.[purpose] ?? INSIST_MS);
  return retry(ask, { clock: retryOptions.clock, signal, forMs });
}
