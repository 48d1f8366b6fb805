import { Agent } from 'undici';
import { createClock } from '../clock.js';
import { Deadlines } from '../deadlines.js';
import { TransportError, UsageError } from '../errors.js';
import { MAX_BODY_BYTES, requestHeaders } from './http.js';
import { WsConnection } from './ws-connection.js';
import { outline } from './ws-messages.js';

/**
 * @import { OnSent, Transport, TransportOptions } from './index.js'
 * @import { Listener } from './ws-connection.js'
 */

/**
 * Requests on a connection before another one is opened. For 200 small ones at once a single socket does what many do,
 * for less of the CPU time (anvil, geth); with 1,000 at once geth gives out blocks 1.3 times as fast or more over
 * several, because the answers on one socket are written one after the other.
 */
const ENOUGH_FOR_ONE = 64;

/**
 * JSON-RPC over WebSockets. Many requests are under way on each at once, and an answer may come in any order, so it is
 * matched to its request by its id. Two bodies with the same id, or without one, are never on one socket together.
 *
 * @param {TransportOptions} options
 * @returns {Transport}
 * @throws {UsageError} for a connection for each request
 */
export function createWsTransport(options) {
  if (options.keepAlive === false) {
    throw new UsageError('--no-keep-alive needs an http:// or https:// endpoint: a WebSocket is kept by its nature');
  }
  const pool = new WsPool(options);
  return {
    post: (body, onSent, maxBodyBytes) =>
      pool.post(body, onSent, null, maxBodyBytes).then(({ text }) => ({ status: 200, text, retryAfterMs: null })),
    subscribe: (body, onPush, onLost) => pool.subscribe(body, { onPush, onLost }),
    stats: () => ({ ...pool.stats }),
    rest: async () => pool.rest(),
    close: () => pool.close(),
  };
}

/** One body and its answer. */
export class WsExchange {
  /** Null while it waits for one. @type {WsConnection | null} */
  connection = null;
  isOver = false;
  /** The answer. */
  text = '';
  #deadlines;
  #deadline;

  /**
   * @param {string} body
   * @param {OnSent | undefined} onSent
   * @param {Listener | null} listener who listens to the connection from the answer on
   * @param {number} maxBodyBytes
   * @param {Deadlines} deadlines
   * @param {(exchange: WsExchange) => void} resolve
   * @param {(error: TransportError) => void} reject
   */
  constructor(body, onSent, listener, maxBodyBytes, deadlines, resolve, reject) {
    this.body = body;
    this.ids = outline(body).ids;
    this.onSent = onSent;
    this.listener = listener;
    this.maxBodyBytes = maxBodyBytes;
    this.resolve = resolve;
    this.reject = reject;
    this.#deadlines = deadlines;
    this.#deadline = deadlines.set(() => {
      this.fail(new TransportError('no answer in time', 'timeout'));
      this.connection?.giveUp(this);
    });
  }

  /** @param {string} text */
  succeed(text) {
    this.text = text;
    this.#end();
    this.resolve(this);
  }

  /** @param {TransportError} error */
  fail(error) {
    this.#end();
    this.reject(error);
  }

  #end() {
    this.isOver = true;
    // One that was given up is remembered, what it was about need not be.
    this.body = '';
    this.#deadlines.clear(this.#deadline);
  }
}

/** The connections to one endpoint, and what waits because of its id. */
export class WsPool {
  stats = { requests: 0, connectionsOpened: 0, bytesReceived: 0 };
  isClosed = false;
  /** @type {Set<WsConnection>} */
  #connections = new Set();
  /** In the order they came. @type {Set<WsExchange>} */
  #waiting = new Set();
  #mostConnections;

  /** @param {TransportOptions} options */
  constructor({ url, connections, timeoutMs, maxBodyBytes = MAX_BODY_BYTES, insecure = false }) {
    this.address = new URL(url);
    this.address.username = '';
    this.address.password = '';
    const { authorization } = requestHeaders(url);
    this.headers = authorization === undefined ? {} : { authorization };
    this.maxBodyBytes = maxBodyBytes;
    this.#mostConnections = connections;
    this.deadlines = new Deadlines(createClock(), timeoutMs);
    this.agent = new Agent({
      // One deadline, ours, for the handshake as well.
      headersTimeout: 0,
      connect: { timeout: timeoutMs, rejectUnauthorized: !insecure },
      // An answer above the limit fails its own request; one far above it would not even fit in memory.
      webSocket: { maxPayloadSize: 2 * maxBodyBytes },
    });
  }

  /**
   * @param {string} body
   * @param {OnSent | undefined} onSent
   * @param {Listener | null} listener
   * @param {number} [maxBodyBytes]
   * @returns {Promise<WsExchange>} with its answer
   */
  post(body, onSent, listener, maxBodyBytes = Infinity) {
    this.stats.requests += 1;
    if (this.isClosed) return Promise.reject(closed());
    const limit = Math.min(maxBodyBytes, this.maxBodyBytes);
    return new Promise((resolve, reject) => {
      const exchange = new WsExchange(body, onSent, listener, limit, this.deadlines, resolve, reject);
      if (!this.#assign(exchange)) this.#waiting.add(exchange);
    });
  }

  /** @param {string} body @param {Listener} listener */
  async subscribe(body, listener) {
    const { text, connection } = await this.post(body, undefined, listener);
    return { text, end: (/** @type {string | undefined} */ farewell) => connection?.unlisten(listener, farewell) };
  }

  /** @param {WsExchange} exchange @returns {boolean} false: it has to wait */
  #assign(exchange) {
    /** @type {WsConnection | null} */
    let least = null;
    for (const connection of this.#connections) {
      if (connection.canTake(exchange) && (least === null || connection.load < least.load)) least = connection;
    }
    const isEnough = least !== null && least.load < ENOUGH_FOR_ONE;
    if (!isEnough && this.#connections.size < this.#mostConnections) {
      least = new WsConnection(this);
      this.#connections.add(least);
    }
    least?.take(exchange);
    return least !== null;
  }

  /** A connection has one request less. @param {WsConnection} connection */
  release(connection) {
    for (const exchange of this.#waiting) {
      if (!exchange.isOver && !connection.canTake(exchange)) continue;
      this.#waiting.delete(exchange);
      if (!exchange.isOver && connection.take(exchange)) return;
    }
  }

  /** A connection is gone. @param {WsConnection} connection */
  remove(connection) {
    this.#connections.delete(connection);
    for (const exchange of this.#waiting) {
      if (this.isClosed || (!exchange.isOver && !this.#assign(exchange))) return;
      this.#waiting.delete(exchange);
    }
  }

  rest() {
    for (const connection of [...this.#connections]) if (connection.isIdle) connection.close();
  }

  close() {
    this.isClosed = true;
    for (const connection of [...this.#connections]) connection.close(closed());
    for (const exchange of this.#waiting) if (!exchange.isOver) exchange.fail(closed());
    this.#waiting.clear();
    this.deadlines.stop();
    return this.agent.destroy();
  }
}

function closed() {
  return new TransportError('the transport is closed', 'closed');
}
