import { randomInt } from 'node:crypto';
import { ProtocolError, RpcError, TransportError, oneLine } from '../errors.js';
import { Batcher } from './batches.js';
import { subscribe } from './subscription.js';

/**
 * JSON-RPC 2.0 over a transport: ids matched, errors told apart, calls counted by what they were made for.
 *
 * @typedef {'setup' | 'load' | 'submit' | 'inclusion' | 'readback' | 'resolve' | 'audit' | 'probe'} Purpose
 *
 * @typedef {object} Request
 * @property {string} method
 * @property {unknown[]} params
 *
 * @typedef {object} Rpc
 * @property {string} display the endpoint's URL without its secrets
 * @property {(method: string, params: unknown[], purpose: Purpose, onSent?: () => unknown) => Promise<any>} call
 *   the `result` member. Rejects with RpcError, ProtocolError or TransportError.
 * @property {(method: string, params: unknown[], purpose: Purpose) => Promise<any>} gather like call, but what is
 *   asked in one turn of the event loop travels together, in batches as large as the node takes them. For reads only.
 * @property {(requests: Request[], purpose: Purpose) => Promise<any[]>} batch gathers all of them; results in the
 *   order of the requests. Rejects with the first error.
 * @property {null | ((kind: 'newHeads', onEvent: (event: any) => void, onLost: (error: TransportError) => void) => Promise<() => void>)} subscribe
 *   null where the node cannot speak first. What comes back ends it. Rejects as call does.
 * @property {() => Record<string, number>} callCounts calls made so far, by purpose
 * @property {() => import('./batches.js').BatchFacts} batchFacts
 */

/** A read whose connection was lost is asked again: a node may close an idle connection just when it is used. */
const READ_TRIES = 3;

/** How many requests of one list are on their way at once. */
const GATHERED_AT_ONCE = 800;

/**
 * The URL as it may be shown: credentials, query and anything in the path that looks like a key are hidden.
 * @param {URL} url
 */
export function displayUrl(url) {
  const path = url.pathname
    .split('/')
    .map((part) => (part.length >= 20 ? '***' : part))
    .join('/');
  return `${url.protocol}//${url.username || url.password ? '***@' : ''}${url.host}${path === '/' ? '' : path}${url.search ? '?***' : ''}`;
}

/**
 * @param {Pick<import('../transport/index.js').Transport, 'post' | 'subscribe'>} transport
 * @param {string} display the endpoint as error messages show it, see displayUrl
 * @param {{fixedId?: number | null, batches?: {limit: number, largest: number}}} [options] batches: what another Rpc to
 *   the same endpoint has learned of them. fixedId: the id of every request, for servers that answer a constant.
 *   A connection carries one request at a time, so it still tells whose answer came; batches are not made.
 * @returns {Rpc}
 */
export function createRpc(transport, display, { fixedId = null, batches } = {}) {
  // Not from 1: whoever answers with a constant would be right once.
  let lastId = randomInt(2 ** 20, 2 ** 30);
  const nextId = () => fixedId ?? ++lastId;
  /** @type {Record<string, number>} */
  const counts = {};

  /** The parameters encoded last: plain calls send the same ones each time. */
  let encodedParams = /** @type {unknown} */ (null);
  let paramsText = '';

  /** @param {number} id @param {string} method @param {unknown[]} params */
  function encode(id, method, params) {
    if (params !== encodedParams) {
      encodedParams = params;
      paramsText = JSON.stringify(params);
    }
    return `{"jsonrpc":"2.0","id":${id},"method":"${method}","params":${paramsText}}`;
  }

  /**
   * Plain promises and no async functions: each costs a kilobyte of garbage, and this is done for every request.
   * @template T
   * @param {string} body
   * @param {{purpose: string, calls: number, tries: number, onSent?: () => unknown}} exchange
   * @param {(answer: any) => T} then what becomes of the JSON that came back
   * @returns {Promise<T>}
   */
  function post(body, exchange, then) {
    const { purpose, calls, tries, onSent } = exchange;
    counts[purpose] = (counts[purpose] ?? 0) + calls;
    return transport.post(body, onSent).then(
      (reply) => then(parse(reply, display)),
      (error) => {
        if (!(error instanceof TransportError)) throw error;
        if (tries > 1 && error.code === 'transport_reset') return post(body, { ...exchange, tries: tries - 1 }, then);
        error.message = `${display}: ${error.message}`;
        throw error;
      },
    );
  }

  /** @type {Rpc['call']} */
  function call(method, params, purpose, onSent) {
    const id = nextId();
    // What is the load, and what changes the chain, is asked for once.
    const tries = purpose === 'load' || method.startsWith('eth_send') ? 1 : READ_TRIES;
    return post(encode(id, method, params), { purpose, calls: 1, tries, onSent }, (answer) =>
      resultOf(answer, id, method, display),
    );
  }

  const batcher = new Batcher(
    {
      post: (texts, purpose) => {
        const body = texts.length === 1 ? texts[0] : `[${texts.join(',')}]`;
        return post(body, { purpose, calls: texts.length, tries: READ_TRIES }, (answer) => answer);
      },
      resultOf: (answer, id, method) => resultOf(answer, id, method, display),
    },
    batches,
  );

  /** @type {Rpc['gather']} */
  const gather = (method, params, purpose) => {
    if (fixedId !== null) return call(method, params, purpose);
    const id = nextId();
    return batcher.add({ id, method, text: encode(id, method, params), purpose });
  };

  /** @type {Rpc['batch']} */
  async function batch(requests, purpose) {
    const results = [];
    for (let at = 0; at < requests.length; at += GATHERED_AT_ONCE) {
      const part = requests.slice(at, at + GATHERED_AT_ONCE);
      results.push(...(await Promise.all(part.map(({ method, params }) => gather(method, params, purpose)))));
    }
    return results;
  }

  /** @type {import('./subscription.js').Tools['ask']} */
  const ask = (method, params) => {
    const id = nextId();
    counts.inclusion = (counts.inclusion ?? 0) + 1;
    const read = (/** @type {string} */ text) => resultOf(parse({ status: 200, text }, display), id, method, display);
    return { body: encode(id, method, params), read };
  };
  const send = fixedId === null ? transport.subscribe : undefined;

  return {
    ...{ display, call, gather, batch },
    subscribe: send === undefined ? null : (...args) => subscribe({ send, ask }, ...args),
    callCounts: () => ({ ...counts }),
    batchFacts: () => batcher.facts(),
  };
}

/**
 * @param {{status: number, text: string}} reply
 * @param {string} display
 * @returns {any}
 */
function parse({ status, text }, display) {
  try {
    const answer = JSON.parse(text);
    // Nodes may say a JSON-RPC error with any status; what a gateway says in JSON is no answer of the node.
    const isAnswer = Array.isArray(answer) || answer?.jsonrpc === '2.0' || answer?.error?.code !== undefined;
    if (status === 200 || isAnswer) return answer;
    throw new ProtocolError('not JSON-RPC');
  } catch (cause) {
    if (status === 401 || status === 403)
      throw new ProtocolError(`${display} refuses us (HTTP ${status}): check its credentials`);
    if (status === 404) throw new ProtocolError(`${display} has nothing there (HTTP 404): check the path of the URL`);
    if (status !== 200) throw new ProtocolError(`${display} answered HTTP ${status} without JSON-RPC`, cause, status);
    const start = oneLine(text, 40);
    throw new ProtocolError(
      `${display} does not speak JSON-RPC: it answered ${start === '' ? 'an empty body' : `"${start}"`}`,
      cause,
    );
  }
}

/**
 * @param {any} answer
 * @param {number} id
 * @param {string} method
 * @param {string} display
 */
function resultOf(answer, id, method, display) {
  if (answer === null || typeof answer !== 'object')
    throw new ProtocolError(`${display} answered ${method} without JSON-RPC`);
  const { error } = answer;
  if (error !== undefined && error !== null) {
    throw new RpcError(
      method,
      Number.isInteger(error.code) ? error.code : 0,
      oneLine(error.message ?? JSON.stringify(error)),
      error.data,
    );
  }
  if (answer.id !== id) throw new ProtocolError(`${display} answered ${method} with a foreign id`);
  if (answer.result === undefined) throw new ProtocolError(`${display} answered ${method} without a result`);
  return answer.result;
}

/**
 * Why a node would not take a transaction, as a stable word. Nodes only agree on prose here, so the words of
 * geth, its descendants and anvil are looked for.
 * @param {RpcError} error
 */
export function submitFailure({ rpcMessage }) {
  const text = rpcMessage.toLowerCase();
  if (text.includes('already known') || text.includes('already imported')) return 'already_known';
  if (text.includes('nonce too low')) return 'nonce_too_low';
  if (text.includes('nonce too high')) return 'nonce_too_high';
  if (text.includes('replacement transaction underpriced')) return 'nonce_in_use';
  if (text.includes('insufficient funds')) return 'insufficient_funds';
  if (
    text.includes('underpriced') ||
    text.includes('gas tip cap') ||
    text.includes('less than block base fee') ||
    text.includes('fee too low')
  )
    return 'underpriced';
  if (text.includes('pool') && (text.includes('full') || text.includes('limit'))) return 'pool_full';
  return 'rejected';
}

/** @param {unknown} quantity a JSON-RPC QUANTITY such as 0x1b4 @returns {number} */
export function toNumber(quantity) {
  const value = typeof quantity === 'string' && /^0x[0-9a-f]+$/i.test(quantity) ? Number(quantity) : NaN;
  if (!Number.isSafeInteger(value)) throw new ProtocolError(`expected a quantity such as 0x1b4, got ${show(quantity)}`);
  return value;
}

/** @param {unknown} quantity @returns {bigint} */
export function toBigInt(quantity) {
  if (typeof quantity !== 'string' || !/^0x[0-9a-f]*$/i.test(quantity)) {
    throw new ProtocolError(`expected a quantity such as 0x1b4, got ${show(quantity)}`);
  }
  return quantity === '0x' ? 0n : BigInt(quantity);
}

/** @param {unknown} value */
function show(value) {
  return oneLine(typeof value === 'object' ? JSON.stringify(value) : value, 40);
}

/** @param {number | bigint} value @returns {string} */
export function toHex(value) {
  return `0x${value.toString(16)}`;
}
