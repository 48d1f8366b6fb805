import { connect } from 'node:net';
import { createClock } from '../clock.js';
import { Deadlines } from '../deadlines.js';
import { TransportError, UsageError } from '../errors.js';
import { ResponseParser, createHeadCache } from './http-parser.js';
import { MAX_BODY_BYTES, MAX_HEAD_BYTES, asTransportError, requestHeaders, retryAfterMs } from './http.js';

/**
 * @import { Reply, Transport } from '../types.d.ts'
 * @import { Head } from './http-parser.js'
 * @import { OnSent, TransportOptions } from './index.js'
 */

/** A connection that was idle for this long is not used again, whatever the server says, in milliseconds. */
const LONGEST_IDLE_MS = 60_000;
/** A server that says how long it keeps an idle connection counts from earlier than we do. */
const IDLE_MARGIN_MS = 1000;
const READ_BUFFER_BYTES = 16 * 1024;

/** @typedef {{head: Head, text: string}} Answer */

/** One socket, and the exchange that is on it. */
export class TcpConnection {
  /** On the clock of performance.now(). */
  idleUntilMs = Infinity;
  /** @type {Exchange | null} */
  #exchange = null;
  /** The whole answer, while the bytes behind it are looked at. @type {Answer | null} */
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
      if (this.#answer !== null || this.#exchange === null) throw unasked();
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
    const deadline = pool.deadlines.set(() => this.close(new TransportError('no answer in time', 'timeout')));
    this.#socket.on('connect', () => {
      pool.deadlines.clear(deadline);
      this.#isOpen = true;
      pool.opened();
      pool.stats.connectionsOpened += 1;
      pool.release(this);
    });
    this.#socket.on('end', () => this.#ended());
    this.#socket.on('error', (error) => this.close(asTransportError(error)));
    this.#socket.on('close', () => {
      pool.deadlines.clear(deadline);
      this.close();
    });
  }

  /** @param {Exchange} exchange @returns {boolean} false: it was not wanted any more */
  send(exchange) {
    const { body, onSent } = exchange;
    if (onSent?.() === false) {
      exchange.fail(new TransportError('given up before it was sent', 'not_sent'));
      return false;
    }
    this.#exchange = exchange;
    this.#parser.maxBodyBytes = exchange.maxBodyBytes;
    exchange.connection = this;
    const bytes = Buffer.byteLength(body);
    // Text of one byte a character needs no encoding.
    this.#socket.write(`${this.#pool.head}${bytes}\r\n\r\n${body}`, bytes === body.length ? 'latin1' : 'utf8');
    return true;
  }

  /** @param {Buffer} buffer @param {number} count */
  #read(buffer, count) {
    if (this.#isGone) return;
    try {
      if (this.#exchange === null) throw unasked();
      this.#parser.feed(buffer.subarray(0, count));
      if (this.#answer !== null) this.#finish(this.#answer, !this.#parser.isInside);
    } catch (error) {
      // What went wrong behind a whole answer does not take the answer back.
      if (this.#answer !== null) this.#finish(this.#answer, false);
      else this.close(/** @type {TransportError} */ (error));
    }
  }

  #ended() {
    try {
      this.#parser.end();
    } catch (error) {
      return this.close(/** @type {TransportError} */ (error));
    }
    if (this.#answer !== null) this.#finish(this.#answer, false);
    else this.close();
  }

  /** @param {Answer} answer @param {boolean} isClean no bytes came behind it */
  #finish({ head, text }, isClean) {
    const exchange = /** @type {Exchange} */ (this.#exchange);
    this.#exchange = null;
    this.#answer = null;
    const waitMs = head.retryAfter === null ? null : retryAfterMs(head.retryAfter, Date.now());
    exchange.succeed({ status: head.status, text, retryAfterMs: waitMs });
    if (!isClean || !head.keepAlive || !this.#pool.keepAlive) return this.close();
    this.idleUntilMs = performance.now() + Math.min(LONGEST_IDLE_MS, (head.keepAliveMs ?? Infinity) - IDLE_MARGIN_MS);
    this.#pool.release(this);
  }

  /** @param {TransportError} [error] what its exchange fails with */
  close(error = new TransportError('connection lost', 'reset')) {
    if (this.#isGone) return;
    this.#isGone = true;
    if (!this.#isOpen) this.#pool.opened();
    this.#socket.destroy();
    // One that could not be opened has no exchange yet: its failure is that of the one that waits longest.
    const exchange = this.#exchange ?? (this.#isOpen ? null : this.#pool.nextWaiting());
    this.#exchange = null;
    if (exchange !== null && !exchange.isOver) exchange.fail(error);
    this.#pool.remove(this);
  }
}

function unasked() {
  return new TransportError('the endpoint answers what was not asked', 'bad_response');
}

/**
 * HTTP/1.1 over raw sockets: one request at a time on each of some keep-alive connections, as undici does it, for
 * less of the CPU time. It speaks HTTP as far as JSON-RPC needs it; https stays with undici.
 *
 * @param {TransportOptions} options
 * @returns {Transport}
 * @throws {UsageError} for an https endpoint
 */
export function createTcpTransport(options) {
  if (options.url.protocol !== 'http:') {
    throw new UsageError('--transport tcp speaks http:// only: give --transport undici for an https:// endpoint');
  }
  const pool = new TcpPool(options);
  return {
    post: (body, onSent, maxBodyBytes) => pool.post(body, onSent, maxBodyBytes),
    stats: () => ({ ...pool.stats }),
    rest: async () => pool.rest(),
    close: async () => pool.close(),
  };
}

/** One request and its answer. */
export class Exchange {
  /** Null while it waits for one. @type {TcpConnection | null} */
  connection = null;
  isOver = false;
  #deadlines;
  #deadline;

  /**
   * @param {string} body
   * @param {OnSent | undefined} onSent
   * @param {number} maxBodyBytes
   * @param {Deadlines} deadlines
   * @param {(reply: Reply) => void} resolve
   * @param {(error: TransportError) => void} reject
   */
  constructor(body, onSent, maxBodyBytes, deadlines, resolve, reject) {
    this.body = body;
    this.onSent = onSent;
    this.maxBodyBytes = maxBodyBytes;
    this.resolve = resolve;
    this.reject = reject;
    this.#deadlines = deadlines;
    this.#deadline = deadlines.set(() => {
      this.fail(new TransportError('no answer in time', 'timeout'));
      this.connection?.close();
    });
  }

  /** @param {Reply} reply */
  succeed(reply) {
    this.isOver = true;
    this.#deadlines.clear(this.#deadline);
    this.resolve(reply);
  }

  /** @param {TransportError} error */
  fail(error) {
    this.isOver = true;
    this.#deadlines.clear(this.#deadline);
    this.reject(error);
  }
}

/** The connections to one endpoint, and what waits for one of them. */
export class TcpPool {
  stats = { requests: 0, connectionsOpened: 0, bytesReceived: 0 };
  parseHead = createHeadCache();
  /** The one used last at the end, so that no more stay in use than are needed. @type {TcpConnection[]} */
  #idle = [];
  /** @type {Set<TcpConnection>} */
  #connections = new Set();
  /** In the order they came. @type {Set<Exchange>} */
  #waiting = new Set();
  /** Connections that are not open yet. */
  #opening = 0;
  #isClosed = false;
  #mostConnections;

  /** @param {TransportOptions} options */
  constructor({ url, connections, timeoutMs, maxBodyBytes = MAX_BODY_BYTES, keepAlive = true }) {
    this.address = { host: url.hostname.replace(/^\[|\]$/g, ''), port: Number(url.port) || 80 };
    this.keepAlive = keepAlive;
    this.limits = { maxHeadBytes: MAX_HEAD_BYTES, maxBodyBytes };
    this.#mostConnections = connections;
    this.deadlines = new Deadlines(createClock(), timeoutMs);
    // Also without keep-alive, so that the server leaves the closing, and the TIME_WAIT that comes with it, to us.
    const headers = { host: url.host, ...requestHeaders(url), connection: 'keep-alive' };
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
    /** What every request begins with; the length of its body follows. */
    this.head = `POST ${url.pathname}${url.search} HTTP/1.1\r\n${lines.join('')}content-length: `;
  }

  /** @type {Transport['post']} */
  post(body, onSent, maxBodyBytes = Infinity) {
    this.stats.requests += 1;
    if (this.#isClosed) return Promise.reject(closed());
    const limit = Math.min(maxBodyBytes, this.limits.maxBodyBytes);
    return new Promise((resolve, reject) => {
      const exchange = new Exchange(body, onSent, limit, this.deadlines, resolve, reject);
      const connection = this.#takeIdle();
      if (connection !== null) {
        if (!connection.send(exchange)) this.release(connection);
      } else {
        this.#waiting.add(exchange);
        this.#openIfWanted();
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

  #openIfWanted() {
    const isWanted = this.#waiting.size > this.#opening && this.#connections.size < this.#mostConnections;
    if (this.#isClosed || !isWanted) return;
    this.#opening += 1;
    this.#connections.add(new TcpConnection(this));
  }

  /** A connection is open, or will never be. */
  opened() {
    this.#opening -= 1;
  }

  /** The exchange that waits longest and is still wanted. @returns {Exchange | null} */
  nextWaiting() {
    for (const exchange of this.#waiting) {
      this.#waiting.delete(exchange);
      if (!exchange.isOver) return exchange;
    }
    return null;
  }

  /** A connection is free. @param {TcpConnection} connection */
  release(connection) {
    for (let next = this.nextWaiting(); next !== null; next = this.nextWaiting()) {
      if (connection.send(next)) return;
    }
    if (this.keepAlive) this.#idle.push(connection);
    else connection.close();
  }

  /** A connection is gone. @param {TcpConnection} connection */
  remove(connection) {
    this.#connections.delete(connection);
    const at = this.#idle.lastIndexOf(connection);
    if (at !== -1) this.#idle.splice(at, 1);
    this.#openIfWanted();
  }

  rest() {
    for (const connection of [...this.#idle]) connection.close();
  }

  close() {
    this.#isClosed = true;
    for (const connection of this.#connections) connection.close(closed());
    for (let next = this.nextWaiting(); next !== null; next = this.nextWaiting()) next.fail(closed());
    this.deadlines.stop();
  }
}

function closed() {
  return new TransportError('the transport is closed', 'closed');
}
