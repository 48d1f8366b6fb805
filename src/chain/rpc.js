import { parseJson } from './json.js';
import { randomInt } from 'node:crypto';
import { ProtocolError, RpcError, TransportError, oneLine } from '../errors.js';
import { Batcher } from './batches.js';
import { withRetries } from './retries.js';
import { subscribe } from './subscription.js';

/**
 * @import { BatchFacts, Reply, RetryOptions, Rpc, Transport } from '../types.d.ts'
 * @import { Tools } from './subscription.js'
 */

/**
 * JSON from outside. What parsing costs is not a matter of bytes but of the objects and arrays it makes: 64 MB of {},
 * or of [, take a minute and 2 GB, a block of that size a second. No answer that is worth having is made of so little.
 */

/**
 * What the body of an answer says.
 * @param {Reply} reply
 * @param {{display: string, secrets: readonly string[]}} endpoint that it is of
 * @returns {any}
 * @throws {ProtocolError}
 */
export function parseReply({ status, text, retryAfterMs }, { display, secrets }) {
  try {
    const answer = parseJson(text);
    // Nodes may say a JSON-RPC error with any status; what a gateway says in JSON is no answer of the node.
    const isAnswer = Array.isArray(answer) || answer?.jsonrpc === '2.0' || answer?.error?.code !== undefined;
    if (status === 200 || isAnswer) return answer;
    throw new ProtocolError('not JSON-RPC');
  } catch (cause) {
    if (status === 401 || status === 403)
      throw new ProtocolError(`${display} refuses us (HTTP ${status}): check its credentials`, cause, status);
    if (status === 404)
      throw new ProtocolError(`${display} has nothing there (HTTP 404): check the path of the URL`, cause, status);
    if (status !== 200) {
      throw new ProtocolError(`${display} answered HTTP ${status} without JSON-RPC`, cause, status, retryAfterMs);
    }
    const start = oneLine(text, 40, secrets);
    throw new ProtocolError(
      `${display} does not speak JSON-RPC: it answered ${start === '' ? 'an empty body' : `"${start}"`}`,
      cause,
    );
  }
}

/**
 * JSON-RPC 2.0 over a transport: ids matched, errors told apart, calls counted by what they were made for.
 *
 * @typedef {Pick<Rpc, 'display' | 'secrets'>} Endpoint
 */

/** A read whose connection was lost is asked again: a node may close an idle connection just when it is used. */
const READ_TRIES = 3;

/** A block may be as large as the transport takes. Nothing else that we ask for comes near these, in bytes. */
const MOST_BYTES = 1024 * 1024;
const MOST_BYTES_EACH = 64 * 1024;
/** A block of 300 million gas with all its transactions has a few. */
const MOST_BYTES_BLOCK = 24 * 1024 * 1024;

/** How much of what an endpoint says is shown, in characters. */
const MOST_WORDS = 300;

/** How many requests of one list are on their way at once. */
const GATHERED_AT_ONCE = 800;

/**
 * @param {Pick<Transport, 'post' | 'subscribe'>} transport
 * @param {string} display the endpoint as error messages show it, see displayUrl
 * @param {{fixedId?: number | null, secrets?: readonly string[], batches?: {limit: number, largest: number}, retryOptions?: RetryOptions | null}} [options]
 *   secrets: of the endpoint's URL, hidden wherever it repeats them, see secretsOf. batches: what another Rpc to the
 *   same endpoint has learned of them. fixedId: the id of every request, for servers that answer a constant.
 *   A connection carries one request at a time, so it still tells whose answer came; batches are not made.
 *   retryOptions: for which purposes to ask again, until the signal aborts.
 * @returns {Rpc}
 */
export function createRpc(transport, display, { fixedId = null, secrets = [], batches, retryOptions = null } = {}) {
  const endpoint = { display, secrets };
  // Not from 1: whoever answers with a constant would be right once.
  let lastId = randomInt(2 ** 20, 2 ** 30);
  const nextId = () => fixedId ?? ++lastId;
  /** @type {Record<string, number>} */
  const counts = {};

  const encode = createEncoder();

  /**
   * Plain promises and no async functions: each costs a kilobyte of garbage, and this is done for every request.
   * @template T
   * @param {string} body
   * @param {{purpose: string, calls: number, tries: number, isLarge: boolean, onSent?: () => unknown}} exchange
   * @param {(reply: Reply) => T} then what becomes of the answer
   * @returns {Promise<T>}
   */
  function post(body, exchange, then) {
    const { purpose, calls, tries, isLarge, onSent } = exchange;
    counts[purpose] = (counts[purpose] ?? 0) + calls;
    const limit = isUnbounded(purpose) ? Infinity : isLarge ? MOST_BYTES_BLOCK : MOST_BYTES + calls * MOST_BYTES_EACH;
    return transport.post(body, onSent, limit).then(then, (error) => {
      if (!(error instanceof TransportError)) throw error;
      if (tries > 1 && error.code === 'transport_reset') return post(body, { ...exchange, tries: tries - 1 }, then);
      error.message = `${display}: ${oneLine(error.message, MOST_WORDS, secrets)}`;
      throw error;
    });
  }

  /** @type {Rpc['call']} */
  function callOnce(method, params, purpose, onSent) {
    const id = nextId();
    // What is the load, and what changes the chain, is asked for once.
    const tries = purpose === 'load' || method.startsWith('eth_send') ? 1 : READ_TRIES;
    const exchange = { id, method, purpose, calls: 1, tries, isLarge: mayBeLarge(method, purpose), onSent };
    return post(encode(id, method, params), exchange, (reply) => resultIn(reply, exchange, endpoint));
  }

  const batcher = new Batcher(
    {
      post: (texts, purpose, isLarge) => {
        const body = texts.length === 1 ? texts[0] : `[${texts.join(',')}]`;
        const answered = (/** @type {Reply} */ reply) => ({ answer: parseReply(reply, endpoint), reply });
        return post(body, { purpose, calls: texts.length, tries: READ_TRIES, isLarge }, answered);
      },
      resultOf: (answer, item, reply) => resultOf(answer, item, reply, endpoint),
    },
    batches,
  );

  /** @type {Rpc['gather']} */
  const gatherOnce = (method, params, purpose) => {
    if (fixedId !== null) return callOnce(method, params, purpose);
    const id = nextId();
    return batcher.add({ id, text: encode(id, method, params), method, purpose, isLarge: mayBeLarge(method, purpose) });
  };

  /** @type {Rpc['call']} */
  const call = (method, params, purpose, onSent) =>
    withRetries(retryOptions, method, purpose, () => callOnce(method, params, purpose, onSent));

  /** @type {Rpc['gather']} */
  const gather = (method, params, purpose) =>
    withRetries(retryOptions, method, purpose, () => gatherOnce(method, params, purpose));

  /** @type {Tools['ask']} */
  const ask = (method, params) => {
    const id = nextId();
    counts.inclusion = (counts.inclusion ?? 0) + 1;
    const read = (/** @type {string} */ text) =>
      resultIn({ status: 200, text, retryAfterMs: null }, { id, method, purpose: 'inclusion' }, endpoint);
    return { body: encode(id, method, params), read };
  };
  const send = fixedId === null ? transport.subscribe : undefined;

  return {
    display,
    secrets,
    call,
    gather,
    batch: batchOf(gather),
    subscribe: send === undefined ? null : (...args) => subscribe({ send, ask }, ...args),
    callCounts: () => ({ ...counts }),
    batchFacts: () => batcher.facts(),
  };
}

/** @param {Rpc['gather']} gather @returns {Rpc['batch']} */
export function batchOf(gather) {
  return async (requests, purpose) => {
    const results = [];
    for (let at = 0; at < requests.length; at += GATHERED_AT_ONCE) {
      const part = requests.slice(at, at + GATHERED_AT_ONCE);
      results.push(...(await Promise.all(part.map(({ method, params }) => gather(method, params, purpose)))));
    }
    return results;
  };
}

/** What the user asks for may have any answer: as a load, or to hold it against another. @param {string} purpose */
function isUnbounded(purpose) {
  return purpose === 'load' || purpose === 'check';
}

/** Whether the answer may be large: blocks are, and what the user asks for as a load. @param {string} method @param {string} purpose */
function mayBeLarge(method, purpose) {
  return isUnbounded(purpose) || method.startsWith('eth_getBlock');
}

/** @typedef {{id: number, method: string, purpose: string}} Asked */

/** @param {Reply} reply to a single request @param {Asked} asked @param {Endpoint} endpoint */
function resultIn(reply, asked, endpoint) {
  return resultOf(parseReply(reply, endpoint), asked, reply, endpoint);
}

/**
 * @param {any} answer
 * @param {Asked} asked
 * @param {Reply} reply it was in
 * @param {Endpoint} endpoint
 */
function resultOf(answer, { id, method, purpose }, reply, { display, secrets }) {
  if (answer === null || typeof answer !== 'object')
    throw new ProtocolError(`${display} answered ${method} without JSON-RPC`);
  const { error } = answer;
  if (error !== undefined && error !== null) {
    const code = Number.isInteger(error.code) ? error.code : 0;
    throw new RpcError(method, code, oneLine(error.message ?? error, MOST_WORDS, secrets), error.data, reply);
  }
  if (answer.id !== id) throw new ProtocolError(`${display} answered ${method} with a foreign id`);
  if (answer.result === undefined) throw new ProtocolError(`${display} answered ${method} without a result`);
  if (!isUnbounded(purpose) && !areHashesWhole(method, answer.result))
    throw new ProtocolError(`${display} answered ${method} with a hash or an address that is none`);
  return answer.result;
}

/**
 * Hashes and addresses are printed and kept as the node writes them, so that they must be what they seem to be.
 * @param {string} method
 * @param {any} result
 */
function areHashesWhole(method, result) {
  switch (method) {
    case 'eth_sendRawTransaction':
      return isHash(result);
    case 'eth_getBlockByNumber':
      return areWhole(66, result?.hash, result?.parentHash);
    case 'eth_sendRawTransactionSync':
    case 'eth_getTransactionReceipt':
      return (
        areWhole(66, result?.transactionHash, result?.blockHash) && areWhole(42, result?.to, result?.contractAddress)
      );
    default:
      return true;
  }
}

/** @param {number} length @param {unknown} a @param {unknown} b either may be missing, as of a block that is pending */
function areWhole(length, a, b) {
  return (a === undefined || a === null || isHex(a, length)) && (b === undefined || b === null || isHex(b, length));
}

/** @param {unknown} value @param {number} length in characters @returns {value is string} */
function isHex(value, length) {
  return typeof value === 'string' && value.length === length && /^0x[0-9a-f]+$/i.test(value);
}

/** @param {unknown} value @returns {value is string} */
export function isHash(value) {
  return isHex(value, 66);
}

/** Requests as JSON. The parameters that were encoded last are kept: plain calls send the same ones each time. */
function createEncoder() {
  let lastParams = /** @type {unknown} */ (null);
  let text = '';
  return (/** @type {number} */ id, /** @type {string} */ method, /** @type {unknown[]} */ params) => {
    if (params !== lastParams) {
      lastParams = params;
      text = JSON.stringify(params);
    }
    return `{"jsonrpc":"2.0","id":${id},"method":"${method}","params":${text}}`;
  };
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
  const value = typeof quantity === 'string' && /^0x[0-9a-f]{1,64}$/i.test(quantity) ? Number(quantity) : NaN;
  if (!Number.isSafeInteger(value))
    throw new ProtocolError(`expected a quantity such as 0x1b4, got ${whatItIs(quantity)}`);
  return value;
}

/** @param {unknown} quantity @returns {bigint} */
export function toBigInt(quantity) {
  if (typeof quantity !== 'string' || !/^0x[0-9a-f]{0,64}$/i.test(quantity)) {
    throw new ProtocolError(`expected a quantity such as 0x1b4, got ${whatItIs(quantity)}`);
  }
  return quantity === '0x' ? 0n : BigInt(quantity);
}

/** Its words may be anything, a secret of the URL that was asked for example. @param {unknown} answer */
function whatItIs(answer) {
  if (typeof answer !== 'string') return answer === null || answer === undefined ? 'none' : `a ${typeof answer}`;
  return /^(0x)?[0-9a-f]{0,3}$/i.test(answer) ? `"${answer}"` : `a text of ${answer.length} characters`;
}

/** @param {number | bigint} value @returns {string} */
export function toHex(value) {
  return `0x${value.toString(16)}`;
}

/** What of an endpoint's URL may be shown, and what must not be, whoever repeats it. */

/** A part of a path that is as long may be a key. */
const LONG_PART = 20;

/** What is shorter is in every other sentence, and is no secret worth the name. */
const SHORTEST_SECRET = 4;

/**
 * The URL as it may be shown: credentials, query and anything in the path that looks like a key are hidden.
 * @param {URL} url
 */
export function displayUrl(url) {
  const path = url.pathname
    .split('/')
    .map((part) => (part.length >= LONG_PART ? '***' : part))
    .join('/');
  return `${url.protocol}//${url.username || url.password ? '***@' : ''}${url.host}${path === '/' ? '' : path}${url.search ? '?***' : ''}`;
}

/**
 * What displayUrl hides, as an endpoint may repeat it: as it is written in the URL, and as it is meant.
 * @param {URL} url
 * @returns {readonly string[]} the longest first: one may be a part of another
 */
export function secretsOf({ username, password, pathname, search }) {
  const user = meant(username);
  const secret = meant(password);
  const written = [
    ...[username, password, search.slice(1)],
    ...(username + password === '' ? [] : [`${user}:${secret}`, Buffer.from(`${user}:${secret}`).toString('base64')]),
    ...pathname.split('/').filter((part) => part.length >= LONG_PART),
    // Of a pair without = all of it.
    ...search
      .slice(1)
      .split('&')
      .map((pair) => pair.slice(pair.indexOf('=') + 1)),
  ];
  const all = new Set([...written, ...written.map(meant)]);
  return [...all].filter(({ length }) => length >= SHORTEST_SECRET).sort((a, b) => b.length - a.length);
}

/** @param {string} text of a URL @returns {string} without its percent signs, where they can be read */
function meant(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
