import { randomInt } from 'node:crypto';
import { ProtocolError, RpcError, TransportError, oneLine } from '../errors.js';
import { Batcher } from './batches.js';
import { parseJson } from './json.js';
import { classOf } from './refusals.js';

/**
 * JSON-RPC 2.0 over a transport: matches answers to requests by id, turns error answers into error classes, and counts
 * calls by purpose. Also here: subscriptions, and what of a URL may be shown.
 *
 * @import { Headers, NetworkConfig, Reply, Rpc, Transport } from '../contracts/chain.d.ts'
 *
 * @typedef {Pick<Rpc, 'display' | 'secrets'> & {served?: Set<string>, sendMethod?: string}} Endpoint served: methods that it has answered
 */

/** The method of the first request in a body. */
const METHOD = /"method":"([^"]*)"/;

/** In place of a method: the parameters are the requests of one batch. No method can have this name. */
export const BATCH = '(batch)';

/** Some gateways use it for rate limits as well as for credentials. */
const FORBIDDEN = 403;

/**
 * @param {Reply} reply
 * @param {Endpoint} endpoint
 * @param {{method?: string, body?: string}} asked the method of the request, or the body of a batch
 * @returns {any}
 * @throws {ProtocolError}
 */
export function parseReply({ status, text, retryAfterMs }, { display, secrets, served }, { method, body = '' }) {
  try {
    const answer = parseJson(text);
    // A node may send a JSON-RPC error with any status. Other JSON with an error status comes from a gateway.
    const isAnswer = Array.isArray(answer) || answer?.jsonrpc === '2.0' || answer?.error?.code !== undefined;
    if (status === 200 || isAnswer) return answer;
    throw new ProtocolError('not JSON-RPC');
  } catch (cause) {
    if (status !== 200) {
      const isSaid = classOf({ rpcCode: 0, rpcMessage: text.slice(0, MAX_MESSAGE_CHARS) }) === 'rate_limit';
      const isServed = served?.has(method ?? METHOD.exec(body)?.[1] ?? '') === true;
      const isLimit = status === 429 || isSaid || (status === FORBIDDEN && isServed);
      // With a rate limit and from 500 on the request was right: the server is busy or broken.
      const advice =
        isLimit || status >= 500 ? '' : ': check the URL and its credentials (ws:// for the port of a WebSocket)';
      throw new ProtocolError(
        `${display} answered HTTP ${status} without JSON-RPC${advice}`,
        cause,
        status,
        retryAfterMs,
        isLimit,
      );
    }
    const start = oneLine(text, 40, secrets);
    throw new ProtocolError(
      `${display} does not speak JSON-RPC: it answered ${start === '' ? 'an empty body' : `"${start}"`}`,
      cause,
    );
  }
}

/** Reads are repeated after a lost connection, because a node may close an idle connection at the moment it is used. */
const READ_TRIES = 3;

/** Longest excerpt of an endpoint's own error message, in characters. */
const MAX_MESSAGE_CHARS = 300;

/** Requests of one list that are under way at the same time. */
export const MAX_IN_FLIGHT = 800;

/**
 * @param {Pick<Transport, 'post' | 'subscribe'>} transport
 * @param {string} display the endpoint as error messages show it, see displayUrl
 * @param {{fixedId?: number | null, secrets?: readonly string[], batches?: {limit: number, largest: number}, batch?: number, sending?: Sending}} [options]
 *   secrets: parts of the URL that messages must not show, see secretsOf. batches: batch limits that another Rpc to the
 *   same endpoint has found. batch: most submissions in a batch. sending: method and parameters of submissions. fixedId: id of every request, for servers that send a constant answer; it disables batches.
 * @returns {Rpc}
 */
export function createRpc(transport, display, { fixedId = null, secrets = [], batches, batch = 1, sending } = {}) {
  const endpoint = { display, secrets, served: new Set(), sendMethod: sending?.sendMethod };
  // A random start: a server that sends a constant answer must not match the first request by chance.
  let lastId = randomInt(2 ** 20, 2 ** 30);
  const nextId = () => fixedId ?? ++lastId;
  /** @type {Record<string, number>} */
  const counts = {};

  const encode = createEncoder(sending);

  /**
   * Plain promises instead of async functions, each of which makes a kilobyte of garbage for every request.
   * @template T
   * @param {string} body
   * @param {{purpose: string, calls: number, tries: number, onSent?: () => unknown}} exchange
   * @param {(reply: Reply) => T} then
   * @returns {Promise<T>}
   */
  function post(body, exchange, then) {
    const { purpose, calls, tries, onSent } = exchange;
    counts[purpose] = (counts[purpose] ?? 0) + calls;
    return transport.post(body, onSent).then(then, (error) => {
      if (!(error instanceof TransportError)) throw error;
      if (tries > 1 && error.code === 'transport_reset') return post(body, { ...exchange, tries: tries - 1 }, then);
      error.message = `${display}: ${oneLine(failureWords(error, body, calls), MAX_MESSAGE_CHARS, secrets)}`;
      throw error;
    });
  }

  const postBatch = createBatchSender({ post, encode, nextId, endpoint });

  /** @type {Rpc['call']} */
  function call(method, params, purpose, onSent) {
    if (method === BATCH) return postBatch(/** @type {any[]} */ (params), purpose, onSent);
    const id = nextId();
    if (batch > 1 && isSubmission(method, purpose))
      return submissions.add({
        id,
        text: encode(id, method, params, purpose),
        method,
        purpose,
        onSent,
      });
    // A call of the load is measured, and a transaction must not be sent twice: both are sent once.
    const tries = purpose === 'load' || method.startsWith('eth_send') ? 1 : READ_TRIES;
    const exchange = { id, method, purpose, calls: 1, tries, onSent };
    return post(encode(id, method, params, purpose), exchange, (reply) => resultIn(reply, exchange, endpoint));
  }

  /** @param {number} tries @returns {ConstructorParameters<typeof Batcher>[0]} */
  const exchangeOf = (tries) => ({
    post: (texts, purpose, onSent) => {
      const body = texts.length === 1 ? texts[0] : `[${texts.join(',')}]`;
      const answered = (/** @type {Reply} */ reply) => ({ answer: parseReply(reply, endpoint, { body }), reply });
      return post(body, { purpose, calls: texts.length, tries, onSent }, answered);
    },
    resultOf: (answer, item, reply) => resultOf(answer, item, reply, endpoint),
    maySendAgain: tries > 1,
  });
  const reads = new Batcher(exchangeOf(READ_TRIES), batches);
  const submissions = new Batcher(exchangeOf(1), { limit: batch, largest: 1 });

  /** @type {Rpc['gather']} */
  const gather = (method, params, purpose) => {
    if (fixedId !== null) return call(method, params, purpose);
    const id = nextId();
    return reads.add({ id, text: encode(id, method, params), method, purpose });
  };

  /**
   * A request of a subscription, and the function that reads its result from the answer.
   * @param {string} method
   * @param {unknown[]} params
   */
  const prepareRequest = (method, params) => {
    const id = nextId();
    counts.inclusion = (counts.inclusion ?? 0) + 1;
    const read = (/** @type {string} */ text) =>
      resultIn({ status: 200, text, retryAfterMs: null }, { id, method }, endpoint);
    return { body: encode(id, method, params), read };
  };

  const { subscribe: send } = transport;
  return {
    display,
    secrets,
    call,
    gather,
    batch: batchOf(gather),
    subscribe: send === undefined ? null : (...args) => subscribe(send, prepareRequest, ...args),
    callCounts: () => ({ ...counts }),
    batchFacts: (of) => (of === 'submissions' ? submissions : reads).facts(),
  };
}

/**
 * Sends a batch of the user as it is. It succeeds if each request has a result.
 * @param {object} tools
 * @param {(body: string, exchange: {purpose: string, calls: number, tries: number, onSent?: () => unknown}, then: (reply: Reply) => unknown[]) => Promise<unknown[]>} tools.post
 * @param {ReturnType<typeof createEncoder>} tools.encode
 * @param {() => number} tools.nextId
 * @param {Endpoint} tools.endpoint
 */
function createBatchSender({ post, encode, nextId, endpoint }) {
  /** @param {{method: string, params: unknown[]}[]} requests @param {string} purpose @param {() => unknown} [onSent] */
  return (requests, purpose, onSent) => {
    const items = requests.map(({ method, params }) => {
      const id = nextId();
      return { id, method, text: encode(id, method, params, purpose) };
    });
    const body = `[${items.map(({ text }) => text).join(',')}]`;
    return post(body, { purpose, calls: items.length, tries: 1, onSent }, (reply) => {
      const answer = parseReply(reply, endpoint, { body });
      const byId = Array.isArray(answer) ? new Map(answer.map((one) => [one?.id, one])) : null;
      // A node that refuses the batch answers with one error.
      return items.map((item) => resultOf(byId === null ? answer : byId.get(item.id), item, reply, endpoint));
    });
  };
}

/**
 * With what the transport does not know: the question without an answer.
 * @param {TransportError} error
 * @param {string} body
 * @param {number} calls in it
 */
function failureWords({ code, message }, body, calls) {
  if (code !== 'transport_timeout') return message;
  const [, method = 'a request'] = METHOD.exec(body) ?? [];
  return message.replace('no answer', `no answer to ${method}${calls > 1 ? ` (a batch of ${calls})` : ''}`);
}

/** @param {Rpc['gather']} gather @returns {Rpc['batch']} */
export function batchOf(gather) {
  return async (requests, purpose) => {
    const results = [];
    for (let at = 0; at < requests.length; at += MAX_IN_FLIGHT) {
      const part = requests.slice(at, at + MAX_IN_FLIGHT);
      results.push(...(await Promise.all(part.map(({ method, params }) => gather(method, params, purpose)))));
    }
    return results;
  };
}

/**
 * @typedef {{id: number, method: string}} Request
 *
 * @param {Reply} reply to a single request @param {Request} request @param {Endpoint} endpoint
 */
function resultIn(reply, request, endpoint) {
  return resultOf(parseReply(reply, endpoint, request), request, reply, endpoint);
}

/** @param {any} answer @param {Request} request @param {Reply} reply @param {Endpoint} endpoint */
function resultOf(answer, { id, method }, reply, { display, secrets, served, sendMethod = method }) {
  const asked = method === PLAIN_SENDING.sendMethod ? sendMethod : method;
  if (answer === null || typeof answer !== 'object')
    throw new ProtocolError(`${display} answered ${asked} without JSON-RPC`);
  const { error } = answer;
  if (error !== undefined && error !== null) {
    const code = Number.isInteger(error.code) ? error.code : 0;
    const words = oneLine(error.message ?? error, MAX_MESSAGE_CHARS, secrets);
    throw new RpcError(method, code, words, error.data, reply, asked);
  }
  if (answer.id !== id) throw new ProtocolError(`${display} answered ${asked} with a foreign id`);
  if (answer.result === undefined) throw new ProtocolError(`${display} answered ${asked} without a result`);
  served?.add(method);
  return answer.result;
}

/** Whether a request is a submission of the load. @param {string} method @param {string} [purpose] */
function isSubmission(method, purpose) {
  return method === 'eth_sendRawTransaction' && (purpose === 'submit' || purpose === 'resubmit');
}

/** Where the signed transaction belongs in --send-params. */
export const RAW = '{{raw}}';

/** @typedef {Pick<NetworkConfig, 'sendMethod' | 'sendParams'>} Sending */

/** @type {Sending} */
export const PLAIN_SENDING = Object.freeze({ sendMethod: 'eth_sendRawTransaction', sendParams: [RAW] });

/** Plain calls send the same parameters each time, so the text of the last ones is kept. */
function createEncoder({ sendMethod, sendParams } = PLAIN_SENDING) {
  const [before, after] = JSON.stringify(sendParams).split(RAW);
  let lastParams = /** @type {unknown} */ (null);
  let text = '';
  /** @param {number} id @param {string} method @param {unknown[]} params @param {string} [purpose] */
  return (id, method, params, purpose) => {
    // A transaction that this program has signed is hex: JSON.stringify would only copy it.
    if (method === 'eth_sendRawTransaction' && purpose !== 'load')
      return `{"jsonrpc":"2.0","id":${id},"method":"${sendMethod}","params":${before}${params[0]}${after}}`;
    if (params !== lastParams) {
      lastParams = params;
      text = JSON.stringify(params);
    }
    return `{"jsonrpc":"2.0","id":${id},"method":"${method}","params":${text}}`;
  };
}

/** A part of a URL's path of this length may be a key. */
const MIN_KEY_CHARS = 20;

/** Shorter texts are too common in messages to be hidden. */
const MIN_SECRET_CHARS = 4;

/** The URL without credentials, query, and parts of the path that may be keys. @param {URL} url */
export function displayUrl(url) {
  const path = url.pathname
    .split('/')
    .map((part) => (part.length >= MIN_KEY_CHARS ? '***' : part))
    .join('/');
  return `${url.protocol}//${url.username || url.password ? '***@' : ''}${url.host}${path === '/' ? '' : path}${url.search ? '?***' : ''}`;
}

/**
 * The texts that displayUrl hides, URL-encoded and decoded, because an endpoint may repeat either form, and the values of
 * headers with their words.
 * @param {URL} url
 * @param {Headers} [headers] of the user
 * @returns {readonly string[]} the longest first, because one may contain another
 */
export function secretsOf({ username, password, pathname, search }, headers = {}) {
  const user = decode(username);
  const secret = decode(password);
  const encoded = [
    ...Object.values(headers).flatMap((value) => [value, base64(value), ...value.split(/[\s,;=]+/)]),
    ...[username, password, search.slice(1)],
    ...(username + password === '' ? [] : [`${user}:${secret}`, base64(`${user}:${secret}`)]),
    ...pathname.split('/').filter((part) => part.length >= MIN_KEY_CHARS),
    // The value of each name=value, or the whole of a parameter without =.
    ...search
      .slice(1)
      .split('&')
      .map((pair) => pair.slice(pair.indexOf('=') + 1)),
  ];
  const all = new Set([...encoded, ...encoded.map(decode)]);
  return [...all].filter(({ length }) => length >= MIN_SECRET_CHARS).sort((a, b) => b.length - a.length);
}

/** @param {string} text */
const base64 = (text) => Buffer.from(text).toString('base64');

/** @param {string} text of a URL @returns {string} the text itself where its percent signs are malformed */
function decode(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/**
 * A subscription by eth_subscribe, the only one of its connection: its notifications need no check of their id.
 * @param {NonNullable<Transport['subscribe']>} send
 * @param {(method: string, params: unknown[]) => {body: string, read: (text: string) => any}} prepareRequest
 * @param {string} kind the parameter of eth_subscribe, such as newHeads
 * @param {(event: any) => void} onEvent
 * @param {(error: TransportError) => void} onLost called once if the connection is lost
 * @returns {Promise<() => void>} ends the subscription
 */
async function subscribe(send, prepareRequest, kind, onEvent, onLost) {
  const request = prepareRequest('eth_subscribe', [kind]);
  const take = (/** @type {string} */ push) => {
    const event = eventIn(push);
    if (event !== undefined) onEvent(event);
  };
  const { text, end } = await send(request.body, take, onLost);
  try {
    const id = request.read(text);
    return () => end(prepareRequest('eth_unsubscribe', [id]).body);
  } catch (error) {
    end();
    throw error;
  }
}

/** @param {string} text @returns {any} undefined for anything but a notification of a subscription */
function eventIn(text) {
  try {
    const { method, params } = parseJson(text);
    return method === 'eth_subscription' ? params?.result : undefined;
  } catch {
    return undefined;
  }
}
