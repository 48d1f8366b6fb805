import { connect } from 'node:net';
import { TransportError } from '../errors.js';
import { asTransportError, retryAfterMs } from './http.js';
import { ResponseParser } from './http-parser.js';

/**
 * @import { Head } from './http-head.js'
 * @import { Exchange, TcpPool } from './tcp.js'
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
