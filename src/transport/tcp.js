import { connect } from 'node:net';
import { createClock } from '../clock.js';
import { Deadlines } from '../deadlines.js';
import { TransportError } from '../errors.js';
import {
  Exchange,
  MAX_BODY_BYTES,
  MAX_HEAD_BYTES,
  ResponseParser,
  asTransportError,
  createHeadCache,
  failureOf,
  requestHeaders,
  retryAfterMs,
  timedOut,
} from './http.js';

/**
 * HTTP/1.1 over raw sockets: one request at a time on each keep-alive connection, as with undici, for less CPU time. It
 * implements the part of HTTP that JSON-RPC needs, without TLS.
 *
 * @import { Transport } from '../contracts/chain.d.ts'
 * @import { Head } from './http.js'
 * @import { TransportOptions } from '../contracts/chain.d.ts'
 *
 * @typedef {{head: Head, text: string}} Answer
 */

/** A connection is not used again after being idle for this time, whatever the server allows. */
const MAX_IDLE_MS = 60_000;
/** The server's time of idleness starts earlier than ours. */
const IDLE_MARGIN_MS = 1000;
const READ_BUFFER_BYTES = 16 * 1024;

/** One socket and its current exchange. */
class TcpConnection {
  /** On the clock of performance.now(). */
  idleUntilMs = Infinity;
  /** @type {Exchange | null} */
  #exchange = null;
  /** The whole answer, until the bytes after it are checked. @type {Answer | null} */
  #answer = null;
  #isOpen = false;
  #isGone = false;
  #pool;
  #parser;
  #socket;

  /** @param {TcpPool} pool */
  constructor(pool) {
    this.#pool = pool;
    this.#parser = new ResponseParser(pool.limits, pool.parseHead, (head, text, bytes) => {
      if (this.#answer !== null || this.#exchange === null) throw unexpectedAnswer();
      pool.stats.bytesReceived += bytes;
      this.#answer = { head, text };
    });
    this.#socket = connect({
      ...pool.address,
      noDelay: true,
      // One buffer for all reads, instead of a new one for each.
      onread: {
        buffer: Buffer.allocUnsafeSlow(READ_BUFFER_BYTES),
        callback: (count, buffer) => {
          this.#read(/** @type {Buffer} */ (buffer), count);
          return true;
        },
      },
    });
    const deadline = pool.deadlines.set({ expire: () => this.close(timedOut(pool.deadlines)) });
    this.#socket.on('connect', () => {
      pool.deadlines.clear(deadline);
      this.#isOpen = true;
      pool.opened();
      pool.stats.connectionsOpened += 1;
      pool.release(this);
    });
    this.#socket.on('end', () => this.close());
    this.#socket.on('error', (error) => this.close(asTransportError(error)));
    this.#socket.on('close', () => {
      pool.deadlines.clear(deadline);
      this.close();
    });
  }

  /** @param {Exchange} exchange @returns {boolean} false: it is no longer wanted */
  send(exchange) {
    const { body, onSent } = exchange;
    if (onSent?.() === false) {
      exchange.fail(failureOf('not_sent'));
      return false;
    }
    this.#exchange = exchange;
    exchange.connection = this;
    const bytes = Buffer.byteLength(body);
    // latin1 is faster, and the encoding of headers; other bodies become one character per byte.
    const text = bytes === body.length ? body : Buffer.from(body).toString('latin1');
    this.#socket.write(`${this.#pool.head}${bytes}\r\n\r\n${text}`, 'latin1');
    return true;
  }

  /** @param {Buffer} buffer @param {number} count */
  #read(buffer, count) {
    if (this.#isGone) return;
    try {
      if (this.#exchange === null) throw unexpectedAnswer();
      this.#parser.feed(buffer.subarray(0, count));
      if (this.#answer !== null) this.#finish(this.#answer, !this.#parser.isInside);
    } catch (error) {
      // An error in the bytes after a whole answer does not affect the answer.
      if (this.#answer !== null) this.#finish(this.#answer, false);
      else this.close(/** @type {TransportError} */ (error));
    }
  }

  /** @param {Answer} answer @param {boolean} isClean nothing was received after it */
  #finish({ head, text }, isClean) {
    const exchange = /** @type {Exchange} */ (this.#exchange);
    this.#exchange = null;
    this.#answer = null;
    const waitMs = head.retryAfter === null ? null : retryAfterMs(head.retryAfter, Date.now());
    exchange.succeed({ status: head.status, text, retryAfterMs: waitMs });
    if (!isClean || !head.keepAlive || !this.#pool.keepAlive) return this.close();
    this.idleUntilMs = performance.now() + Math.min(MAX_IDLE_MS, (head.keepAliveMs ?? Infinity) - IDLE_MARGIN_MS);
    this.#pool.release(this);
  }

  /** Its exchange has timed out. */
  giveUp() {
    this.close();
  }

  /** @param {TransportError} [error] the failure of its exchange */
  close(error = failureOf('reset')) {
    if (this.#isGone) return;
    this.#isGone = true;
    if (!this.#isOpen) this.#pool.opened();
    this.#socket.destroy();
    // A connection that cannot be opened has no exchange; the one that waits longest fails instead.
    const exchange = this.#exchange ?? (this.#isOpen ? null : this.#pool.nextWaiting());
    this.#exchange = null;
    if (exchange !== null && !exchange.isOver) exchange.fail(error);
    this.#pool.remove(this);
  }
}

function unexpectedAnswer() {
  return new TransportError('the endpoint sent an answer without a request', 'bad_response');
}

/** @param {TransportOptions} options @returns {Transport} */
export function createTcpTransport(options) {
  const pool = new TcpPool(options);
  return {
    post: (body, onSent) => pool.post(body, onSent),
    stats: () => ({ ...pool.stats }),
    closeIdle: async () => pool.closeIdle(),
    close: async () => pool.close(),
  };
}

/** The connections to one endpoint, and the exchanges that wait for one. */
class TcpPool {
  stats = { requests: 0, connectionsOpened: 0, bytesReceived: 0 };
  parseHead = createHeadCache();
  /** The last used one is taken first, so that no more connections than needed stay in use. @type {TcpConnection[]} */
  #idle = [];
  /** @type {Set<TcpConnection>} */
  #connections = new Set();
  /** In order of arrival. @type {Set<Exchange>} */
  #waiting = new Set();
  /** Number of connections that are being opened. */
  #opening = 0;
  #isClosed = false;
  #maxConnections;

  /** @param {TransportOptions} options */
  constructor({ url, connections, timeoutMs, maxBodyBytes = MAX_BODY_BYTES, keepAlive = true, headers: own }) {
    this.address = { host: url.hostname.replace(/^\[|\]$/g, ''), port: Number(url.port) || 80 };
    this.keepAlive = keepAlive;
    this.limits = { maxHeadBytes: MAX_HEAD_BYTES, maxBodyBytes };
    this.#maxConnections = connections;
    this.deadlines = new Deadlines(createClock(), timeoutMs);
    // keep-alive even for single-use connections: the side that closes first has the TIME_WAIT, and it must be this one.
    const headers = { host: url.host, ...requestHeaders(url, own), connection: 'keep-alive' };
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
    /** The start of each request, up to the length of its body. */
    this.head = `POST ${url.pathname}${url.search} HTTP/1.1\r\n${lines.join('')}content-length: `;
  }

  /** @type {Transport['post']} */
  post(body, onSent) {
    this.stats.requests += 1;
    if (this.#isClosed) return Promise.reject(failureOf('closed'));
    return new Promise((resolve, reject) => {
      const exchange = new Exchange(body, onSent, this.deadlines, resolve, reject);
      const connection = this.#takeIdle();
      if (connection !== null) {
        if (!connection.send(exchange)) this.release(connection);
      } else {
        this.#waiting.add(exchange);
        this.#openIfNeeded();
      }
    });
  }

  /** @returns {TcpConnection | null} */
  #takeIdle() {
    for (let connection = this.#idle.pop(); connection !== undefined; connection = this.#idle.pop()) {
      if (connection.idleUntilMs > performance.now()) return connection;
      connection.close();
    }
    return null;
  }

  #openIfNeeded() {
    const isNeeded = this.#waiting.size > this.#opening && this.#connections.size < this.#maxConnections;
    if (this.#isClosed || !isNeeded) return;
    this.#opening += 1;
    this.#connections.add(new TcpConnection(this));
  }

  /** Called once per connection: it is open, or failed to open. */
  opened() {
    this.#opening -= 1;
  }

  /** @returns {Exchange | null} the longest waiting exchange that is still wanted */
  nextWaiting() {
    for (const exchange of this.#waiting) {
      this.#waiting.delete(exchange);
      if (!exchange.isOver) return exchange;
    }
    return null;
  }

  /** @param {TcpConnection} connection is free */
  release(connection) {
    for (let next = this.nextWaiting(); next !== null; next = this.nextWaiting()) {
      if (connection.send(next)) return;
    }
    if (this.keepAlive) this.#idle.push(connection);
    else connection.close();
  }

  /** @param {TcpConnection} connection is closed */
  remove(connection) {
    this.#connections.delete(connection);
    const at = this.#idle.lastIndexOf(connection);
    if (at !== -1) this.#idle.splice(at, 1);
    this.#openIfNeeded();
  }

  closeIdle() {
    for (const connection of [...this.#idle]) connection.close();
  }

  close() {
    this.#isClosed = true;
    for (const connection of this.#connections) connection.close(failureOf('closed'));
    for (let next = this.nextWaiting(); next !== null; next = this.nextWaiting()) next.fail(failureOf('closed'));
    this.deadlines.stop();
  }
}
