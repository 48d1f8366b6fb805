import { WebSocket } from 'ws';
import { parseJson } from '../chain/json.js';
import { createClock } from '../clock.js';
import { Deadlines } from '../deadlines.js';
import { TransportError, oneLine } from '../errors.js';
import { Exchange, MAX_BODY_BYTES, asTransportError, bodyTooLarge, failureOf, ownHeaders } from './http.js';

/**
 * JSON-RPC over WebSockets. Each socket carries many requests at once; answers come in any order and are matched by id.
 * Two bodies with the same id, or two without one, are never on one socket at the same time.
 *
 * @import { Reply, Transport } from '../types.d.ts'
 * @import { OnSent, Subscription, TransportOptions } from './index.js'
 *
 * @typedef {{onPush: (text: string) => void, onLost: (error: TransportError) => void, end: Subscription['end']}} Listener
 */

/** Stands for the id of a body without one. */
const NO_ID = '';

/** The usual start of messages, from which the id is read without parsing the whole text. */
const FIRST_ID = /^\[?\{"jsonrpc":"2\.0","id":(\d+)[,}]/;
const NOTIFICATION = /^\{"jsonrpc":"2\.0","method":/;

/**
 * Requests on a socket before another one is opened. For 200 small requests one socket is as fast as many and needs less
 * CPU (anvil, geth). For 1,000, geth serves blocks 1.3 times as fast over several, because it writes the answers on a
 * socket one after the other.
 */
const REQUESTS_PER_SOCKET = 64;

/** @param {string} text @returns {string | null} the first id, if it is in the usual place */
function firstId(text) {
  return FIRST_ID.exec(text)?.[1] ?? null;
}

/**
 * @param {string} text
 * @returns {{ids: string[], isPush: boolean}} ids: of the message or batch, as JSON, or only NO_ID; isPush: a notification
 */
function readIds(text) {
  const first = text.startsWith('{') ? firstId(text) : null;
  if (first !== null) return { ids: [first], isPush: false };
  const messages = [parsed(text)].flat();
  const ids = messages
    .map((message) => message?.id)
    .filter(isId)
    .map((id) => JSON.stringify(id));
  if (ids.length > 0) return { ids, isPush: false };
  return { ids: [NO_ID], isPush: NOTIFICATION.test(text) || typeof messages[0]?.method === 'string' };
}

/** @param {string} text @returns {any} null for invalid JSON, which the caller of the transport reports */
function parsed(text) {
  try {
    return parseJson(text);
  } catch {
    return null;
  }
}

/** Other types are not used here, and could be nested too deeply for JSON.stringify. @param {unknown} id */
function isId(id) {
  return typeof id === 'number' || typeof id === 'string';
}

/** One WebSocket with its requests and listeners. */
class WsConnection {
  /** Includes timed-out requests, whose answers may still come. @type {Map<string, WsExchange>} */
  #byId = new Map();
  /** @type {Set<WsExchange>} */
  #awaited = new Set();
  /** Sent requests that have timed out. @type {Set<WsExchange>} */
  #givenUp = new Set();
  /** @type {Set<Listener>} */
  #listeners = new Set();
  #isOpen = false;
  #isGone = false;
  /** Why it did not open, or was lost. @type {TransportError | null} */
  #fault = null;
  #pool;
  #socket;

  /** @param {WsPool} pool */
  constructor(pool) {
    this.#pool = pool;
    this.#socket = new WebSocket(pool.address, pool.options);
    const deadline = pool.deadlines.set({ expire: () => this.close(failureOf('timeout')) });
    this.#socket.on('open', () => {
      pool.deadlines.clear(deadline);
      pool.stats.connectionsOpened += 1;
      this.#isOpen = true;
      // A copy, because release() adds a request for each one that is no longer wanted.
      for (const exchange of [...this.#awaited]) if (!this.#send(exchange)) pool.release(this);
    });
    this.#socket.on('message', (data) => this.#receive(String(data)));
    this.#socket.on('unexpected-response', (_, { statusCode }) => this.close(handshakeRefused(statusCode)));
    this.#socket.on('error', (error) => (this.#fault ??= this.#describe(error)));
    this.#socket.on('close', () => {
      pool.deadlines.clear(deadline);
      this.close(this.#fault ?? failureOf('reset'));
    });
  }

  /** The number of requests without an answer. */
  get load() {
    return this.#awaited.size + this.#givenUp.size;
  }

  get isIdle() {
    return this.load === 0 && this.#listeners.size === 0;
  }

  /** Two answers with the same id could not be told apart. @param {WsExchange} exchange */
  canTake({ ids }) {
    return !this.#isGone && !ids.some((id) => this.#byId.has(id));
  }

  /**
   * @param {WsExchange} exchange allowed by canTake; sent now, or when the connection is open
   * @returns {boolean} false: it is no longer wanted
   */
  take(exchange) {
    exchange.connection = this;
    this.#awaited.add(exchange);
    for (const id of exchange.ids) this.#byId.set(id, exchange);
    return !this.#isOpen || this.#send(exchange);
  }

  /** @param {WsExchange} exchange has timed out */
  giveUp(exchange) {
    if (!this.#isOpen) {
      this.#forget(exchange);
      this.#pool.release(this);
      return;
    }
    this.#awaited.delete(exchange);
    this.#givenUp.add(exchange);
    // With so many unanswered requests the endpoint may be gone. Other deadlines of this turn expire first.
    if (this.#givenUp.size >= this.#awaited.size) setImmediate(() => this.close());
  }

  /** @param {Listener} listener */
  #listen(listener) {
    this.#listeners.add(listener);
    listener.end = (body) => {
      const wasListening = this.#listeners.delete(listener);
      if (wasListening && this.#isOpen && body !== undefined) this.#socket.send(body);
    };
  }

  /** @param {WsExchange} exchange @returns {boolean} false: it is no longer wanted */
  #send(exchange) {
    if (exchange.onSent?.() === false) {
      this.#forget(exchange);
      exchange.fail(failureOf('not_sent'));
      return false;
    }
    this.#socket.send(exchange.body);
    return true;
  }

  /** @param {string} text */
  #receive(text) {
    if (this.#isGone) return;
    const bytes = Buffer.byteLength(text);
    this.#pool.stats.bytesReceived += bytes;
    const id = firstId(text);
    const exchange = (id === null ? undefined : this.#byId.get(id)) ?? this.#whose(text);
    if (exchange === null) return;
    this.#forget(exchange);
    if (!exchange.isOver) this.#answer(exchange, text, bytes);
    this.#pool.release(this);
  }

  /** @param {WsExchange} exchange @param {string} text @param {number} bytes */
  #answer(exchange, text, bytes) {
    if (bytes > exchange.maxBodyBytes) return exchange.fail(bodyTooLarge(exchange.maxBodyBytes));
    // At once, because the first notification may follow immediately.
    if (exchange.listener !== null) this.#listen(exchange.listener);
    exchange.succeed({ status: 200, text, retryAfterMs: null });
  }

  /** @param {string} text @returns {WsExchange | null} null: no request's, such as a late answer to a forgotten one */
  #whose(text) {
    const { ids, isPush } = readIds(text);
    if (isPush) {
      for (const { onPush } of this.#listeners) onPush(text);
      return null;
    }
    for (const id of ids) {
      const exchange = this.#byId.get(id);
      if (exchange !== undefined) return exchange;
    }
    // The error for an unreadable request has no id. It can be assigned only if one request is open.
    if (ids[0] !== NO_ID || this.load !== 1) return null;
    const [only] = [...this.#awaited, ...this.#givenUp];
    return only;
  }

  /** @param {WsExchange} exchange */
  #forget(exchange) {
    this.#awaited.delete(exchange);
    this.#givenUp.delete(exchange);
    for (const id of exchange.ids) this.#byId.delete(id);
  }

  /** @param {Error & {code?: string}} error of the socket, or of the protocol */
  #describe(error) {
    if (error.code === undefined) return new TransportError(oneLine(error.message), 'bad_response', error);
    if (!error.code.startsWith('WS_ERR_')) return asTransportError(error);
    const words = `it sent an invalid WebSocket message, or one larger than ${this.#pool.options.maxPayload} bytes`;
    return new TransportError(words, 'bad_response', error);
  }

  /** @param {TransportError} [error] the failure of its requests */
  close(error = failureOf('reset')) {
    if (this.#isGone) return;
    this.#isGone = true;
    this.#isOpen = false;
    this.#socket.close();
    this.#socket.terminate();
    this.#pool.remove(this);
    // Each request gets an error object of its own, because callers extend the message.
    const reason = error.code.replace('transport_', '');
    for (const exchange of this.#awaited) exchange.fail(new TransportError(error.message, reason, error));
    if (!this.#pool.isClosed) for (const { onLost } of this.#listeners) onLost(error);
  }
}

/** @param {number | undefined} status */
function handshakeRefused(status) {
  const hint = status === 401 || status === 403 ? 'its credentials' : 'the URL';
  return new TransportError(`it answers the WebSocket handshake with HTTP ${status}: check ${hint}`, 'handshake');
}

/** @param {TransportOptions} options @returns {Transport} */
export function createWsTransport(options) {
  const pool = new WsPool(options);
  return {
    post: (body, onSent, maxBodyBytes) => pool.post(body, onSent, maxBodyBytes),
    subscribe: async (body, onPush, onLost) => {
      const listener = { onPush, onLost, end: () => {} };
      const { text } = await pool.post(body, undefined, Infinity, listener);
      return { text, end: listener.end };
    },
    stats: () => ({ ...pool.stats }),
    closeIdle: async () => pool.closeIdle(),
    close: async () => pool.close(),
  };
}

/** An exchange with its ids, and a listener that is added to the connection with the answer. */
class WsExchange extends Exchange {
  /** @type {Listener | null} */
  listener = null;
  ids = readIds(this.body).ids;
}

/** The connections to one endpoint, and the exchanges that wait because of their ids. */
class WsPool {
  stats = { requests: 0, connectionsOpened: 0, bytesReceived: 0 };
  isClosed = false;
  /** @type {Set<WsConnection>} */
  #connections = new Set();
  /** In order of arrival. @type {Set<WsExchange>} */
  #waiting = new Set();
  #maxConnections;

  /** @param {TransportOptions} options */
  constructor({ url, connections, timeoutMs, maxBodyBytes = MAX_BODY_BYTES, headers, insecure = false }) {
    this.address = new URL(url);
    this.address.username = '';
    this.address.password = '';
    this.maxBodyBytes = maxBodyBytes;
    this.#maxConnections = connections;
    this.deadlines = new Deadlines(createClock(), timeoutMs);
    this.options = {
      headers: ownHeaders(url, headers),
      rejectUnauthorized: !insecure,
      // Compression costs more CPU than it saves on the short messages of JSON-RPC.
      perMessageDeflate: false,
      // A larger answer than maxBodyBytes fails its own request; one above this limit ends the connection.
      maxPayload: 2 * maxBodyBytes,
    };
  }

  /**
   * @param {string} body
   * @param {OnSent} [onSent]
   * @param {number} [maxBodyBytes]
   * @param {Listener | null} [listener]
   * @returns {Promise<Reply>} rejects with TransportError
   */
  post(body, onSent, maxBodyBytes = Infinity, listener = null) {
    this.stats.requests += 1;
    if (this.isClosed) return Promise.reject(failureOf('closed'));
    const limit = Math.min(maxBodyBytes, this.maxBodyBytes);
    return new Promise((resolve, reject) => {
      const exchange = new WsExchange(body, onSent, limit, this.deadlines, resolve, reject);
      exchange.listener = listener;
      if (!this.#assign(exchange)) this.#waiting.add(exchange);
    });
  }

  /** @param {WsExchange} exchange @returns {boolean} false: no connection can take it now */
  #assign(exchange) {
    /** @type {WsConnection | null} */
    let least = null;
    for (const connection of this.#connections) {
      if (connection.canTake(exchange) && (least === null || connection.load < least.load)) least = connection;
    }
    const isEnough = least !== null && least.load < REQUESTS_PER_SOCKET;
    if (!isEnough && this.#connections.size < this.#maxConnections) {
      least = new WsConnection(this);
      this.#connections.add(least);
    }
    least?.take(exchange);
    return least !== null;
  }

  /** Uses the free place for waiting requests. @param {WsConnection} connection */
  release(connection) {
    for (const exchange of this.#waiting) {
      if (!exchange.isOver && !connection.canTake(exchange)) continue;
      this.#waiting.delete(exchange);
      if (!exchange.isOver && connection.take(exchange)) return;
    }
  }

  /** @param {WsConnection} connection is closed */
  remove(connection) {
    this.#connections.delete(connection);
    for (const exchange of this.#waiting) {
      if (this.isClosed || (!exchange.isOver && !this.#assign(exchange))) return;
      this.#waiting.delete(exchange);
    }
  }

  closeIdle() {
    for (const connection of [...this.#connections]) if (connection.isIdle) connection.close();
  }

  close() {
    this.isClosed = true;
    for (const connection of [...this.#connections]) connection.close(failureOf('closed'));
    for (const exchange of this.#waiting) if (!exchange.isOver) exchange.fail(failureOf('closed'));
    this.#waiting.clear();
    this.deadlines.stop();
  }
}
