import { Client, Pool, buildConnector } from 'undici';
import { createClock } from '../clock.js';
import { Deadlines } from '../deadlines.js';
import { TransportError } from '../errors.js';
import { MAX_BODY_BYTES, asTransportError, bodyTooLarge, encodingFault, requestHeaders, retryAfterMs } from './http.js';

/**
 * @import { Reply, Transport } from '../types.d.ts'
 * @import { OnSent, TransportOptions } from './index.js'
 * @import { IncomingHttpHeaders } from 'node:http'
 * @import { Dispatcher } from 'undici'
 */

/**
 * A connection for each request, closed by us as soon as the whole answer is there. A Pool of undici could only ask for
 * that with "connection: close": most servers then close first, and the TIME_WAITs are theirs. Here the request looks
 * like one that keeps its connection, so that the server leaves the closing to us.
 *
 * @typedef {Dispatcher.DispatchOptions} Request
 * @typedef {Dispatcher.DispatchHandler & {isSent: boolean, isOver: boolean}} Handler isSent: its
 *   request was written to a connection; isOver: nobody waits for its answer any more
 */
export class SingleUsePool {
  /** In the order they came. @type {Set<{request: Request, handler: Handler}>} */
  #waiting = new Set();
  /** @type {Set<Client>} */
  #clients = new Set();
  #isDestroyed = false;
  #createClient;
  #mostConnections;

  /** @param {() => Client} createClient @param {number} mostConnections */
  constructor(createClient, mostConnections) {
    this.#createClient = createClient;
    this.#mostConnections = mostConnections;
  }

  /** @param {Request} request @param {Handler} handler */
  dispatch(request, handler) {
    this.#waiting.add({ request, handler });
    if (this.#isDestroyed) this.#failWaiting();
    else if (this.#clients.size < this.#mostConnections) this.#open();
  }

  #open() {
    let job = this.#nextWaiting();
    if (job === null) return;
    const client = this.#createClient();
    this.#clients.add(client);
    // It drains when its request has an answer, has failed or turned out to be unwanted.
    client.on('drain', () => {
      // A connection that nothing was sent on is as good as new.
      job = job?.handler.isSent ? null : this.#nextWaiting();
      if (job === null) void client.close().then(() => this.#closed(client));
      else client.dispatch(job.request, job.handler);
    });
    client.dispatch(job.request, job.handler);
  }

  /** @param {Client} client */
  #closed(client) {
    this.#clients.delete(client);
    if (!this.#isDestroyed) this.#open();
  }

  /** The one that waits longest and is still wanted. */
  #nextWaiting() {
    for (const job of this.#waiting) {
      this.#waiting.delete(job);
      if (!job.handler.isOver) return job;
    }
    return null;
  }

  #failWaiting() {
    for (let job = this.#nextWaiting(); job !== null; job = this.#nextWaiting()) {
      const closed = new TransportError('the transport is closed', 'closed');
      job.handler.onResponseError?.(/** @type {any} */ (null), closed);
    }
  }

  /** No connection is ever idle, and what is under way closes its own. */
  async close() {}

  async destroy() {
    this.#isDestroyed = true;
    this.#failWaiting();
    await Promise.all([...this.#clients].map((client) => client.destroy()));
  }
}

/**
 * HTTP/1.1 over connections of undici, kept alive or not. It uses dispatch() and not request(), because that tells when
 * a request is written to its socket, and because it spares a stream for each response.
 *
 * @param {TransportOptions} options
 * @returns {Transport}
 */
export function createUndiciTransport({
  url,
  connections,
  timeoutMs,
  maxBodyBytes = MAX_BODY_BYTES,
  keepAlive = true,
  insecure = false,
}) {
  const stats = { requests: 0, connectionsOpened: 0, bytesReceived: 0 };
  const clientOptions = {
    keepAliveTimeout: 60_000,
    // One deadline for the whole exchange, from post() on: undici's own start again with every chunk.
    headersTimeout: 0,
    bodyTimeout: 0,
    connect: buildConnector({ timeout: timeoutMs, rejectUnauthorized: !insecure }),
  };
  /** @template {Client | Pool} T @param {T} opened */
  const counted = (opened) => {
    opened.on('connect', () => {
      stats.connectionsOpened += 1;
    });
    return opened;
  };
  const open = () =>
    keepAlive
      ? counted(new Pool(url.origin, { ...clientOptions, connections, pipelining: 1 }))
      : new SingleUsePool(() => counted(new Client(url.origin, clientOptions)), connections);
  let pool = open();
  const path = url.pathname + url.search;
  const headers = requestHeaders(url);
  const deadlines = new Deadlines(createClock(), timeoutMs);

  return {
    post: (body, onSent, limit = maxBodyBytes) =>
      new Promise((resolve, reject) => {
        stats.requests += 1;
        pool.dispatch(
          { method: 'POST', path, headers, body },
          new ReplyHandler(stats, Math.min(limit, maxBodyBytes), deadlines, resolve, reject, onSent),
        );
      }),
    stats: () => ({ ...stats }),
    // Requests that are under way end on the connections that they have.
    rest: () => {
      const old = pool;
      pool = open();
      return old.close();
    },
    close: () => {
      deadlines.stop();
      return pool.destroy();
    },
  };
}

/** Collects one response: a dispatch handler of undici. */
class ReplyHandler {
  isSent = false;
  status = 0;
  /** @type {number | null} */
  retryAfterMs = null;
  bytes = 0;
  /** @type {Buffer[]} */
  chunks = [];
  /** @type {Dispatcher.DispatchController | null} */
  controller = null;

  /**
   * @param {{bytesReceived: number}} stats
   * @param {number} maxBodyBytes
   * @param {Deadlines} deadlines
   * @param {(reply: Reply) => void} resolve
   * @param {(error: TransportError) => void} reject
   * @param {OnSent | undefined} onSent
   */
  constructor(stats, maxBodyBytes, deadlines, resolve, reject, onSent) {
    this.stats = stats;
    this.maxBodyBytes = maxBodyBytes;
    this.resolve = resolve;
    this.reject = reject;
    this.onSent = onSent;
    this.deadlines = deadlines;
    this.deadline = deadlines.set(() => this.#giveUp());
  }

  /** @param {Dispatcher.DispatchController} controller */
  onRequestStart(controller) {
    this.controller = controller;
    if (this.isOver || this.onSent?.() === false) {
      // Thrown, because abort() would take the connection with it.
      throw new TransportError('given up before it was sent', 'not_sent');
    }
    this.isSent = true;
  }

  get isOver() {
    return !this.deadline.isSet;
  }

  /**
   * Also called for interim responses, before the real one.
   * @param {Dispatcher.DispatchController} controller
   * @param {number} status
   * @param {IncomingHttpHeaders} headers
   */
  onResponseStart(controller, status, headers) {
    this.status = status;
    const retryAfter = headers['retry-after'];
    this.retryAfterMs = retryAfter === undefined ? null : retryAfterMs([retryAfter].flat()[0], Date.now());
    const fault = encodingFault(headers['content-encoding']);
    if (fault !== null) controller.abort(fault);
    else if (Number(headers['content-length']) > this.maxBodyBytes) controller.abort(bodyTooLarge(this.maxBodyBytes));
  }

  /** @param {Dispatcher.DispatchController} controller @param {Buffer} chunk */
  onResponseData(controller, chunk) {
    this.bytes += chunk.length;
    this.stats.bytesReceived += chunk.length;
    if (this.bytes > this.maxBodyBytes) {
      controller.abort(bodyTooLarge(this.maxBodyBytes));
    } else {
      this.chunks.push(chunk);
    }
  }

  onResponseEnd() {
    this.deadlines.clear(this.deadline);
    const text = this.chunks.length === 1 ? this.chunks[0].toString() : Buffer.concat(this.chunks).toString();
    this.resolve({ status: this.status, text, retryAfterMs: this.retryAfterMs });
  }

  /** @param {unknown} _controller @param {Error} error */
  onResponseError(_controller, error) {
    this.deadlines.clear(this.deadline);
    this.reject(asTransportError(error));
  }

  /** One that still waits for a connection is given up here, and not sent when its turn comes. */
  #giveUp() {
    const error = new TransportError('no answer in time', 'timeout');
    this.reject(error);
    this.controller?.abort(error);
  }
}
