import { Pool, buildConnector } from 'undici';
import { createClock } from '../clock.js';
import { Deadlines } from '../deadlines.js';
import { decoded } from './content-encoding.js';
import {
  Exchange,
  MAX_BODY_BYTES,
  asTransportError,
  bodyTooLarge,
  failureOf,
  requestHeaders,
  retryAfterMs,
} from './http.js';

/**
 * HTTP/1.1 over undici's connections. It uses dispatch() instead of request(), because dispatch() reports when a request
 * is written to its socket, and needs no stream for each response.
 *
 * @import { Transport } from '../contracts/chain.d.ts'
 * @import { TransportError } from '../errors.js'
 * @import { TransportOptions } from '../contracts/chain.d.ts'
 * @import { IncomingHttpHeaders } from 'node:http'
 * @import { Dispatcher } from 'undici'
 */

/** @param {TransportOptions} options @returns {Transport} */
export function createUndiciTransport({
  url,
  connections,
  timeoutMs,
  maxBodyBytes = MAX_BODY_BYTES,
  headers: own,
  insecure = false,
}) {
  const stats = { requests: 0, connectionsOpened: 0, bytesReceived: 0 };
  const poolOptions = {
    connections,
    pipelining: 1,
    keepAliveTimeout: 60_000,
    // One deadline for the whole exchange instead: undici's time-outs start again with every chunk.
    headersTimeout: 0,
    bodyTimeout: 0,
    connect: buildConnector({ timeout: timeoutMs, rejectUnauthorized: !insecure }),
  };
  const open = () =>
    new Pool(url.origin, poolOptions).on('connect', () => {
      stats.connectionsOpened += 1;
    });
  let pool = open();
  const path = url.pathname + url.search;
  const headers = requestHeaders(url, own);
  const deadlines = new Deadlines(createClock(), timeoutMs);

  return {
    post: (body, onSent) =>
      new Promise((resolve, reject) => {
        stats.requests += 1;
        pool.dispatch(
          { method: 'POST', path, headers, body },
          new ReplyHandler(stats, maxBodyBytes, body, onSent, deadlines, resolve, reject),
        );
      }),
    stats: () => ({ ...stats }),
    // Requests under way finish on their connections.
    closeIdle: () => {
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
class ReplyHandler extends Exchange {
  status = 0;
  /** @type {number | null} */
  retryAfterMs = null;
  /** Encoding of the body. @type {string | string[] | undefined} */
  encoding;
  bytes = 0;
  /** @type {Buffer[]} */
  chunks = [];
  /** @type {Dispatcher.DispatchController | null} */
  controller = null;

  /** @param {{bytesReceived: number}} stats @param {number} maxBodyBytes @param {ConstructorParameters<typeof Exchange>} exchange */
  constructor(stats, maxBodyBytes, ...exchange) {
    super(...exchange);
    this.stats = stats;
    this.maxBodyBytes = maxBodyBytes;
    this.connection = this;
  }

  /** @param {Dispatcher.DispatchController} controller */
  onRequestStart(controller) {
    this.controller = controller;
    if (this.isOver || this.onSent?.() === false) {
      // Thrown, because abort() would close the connection.
      throw failureOf('not_sent');
    }
  }

  /**
   * Also called for interim responses, before the real one.
   * @param {Dispatcher.DispatchController} controller
   * @param {number} status
   * @param {IncomingHttpHeaders} headers
   */
  onResponseStart(controller, status, headers) {
    this.status = status;
    this.encoding = headers['content-encoding'];
    const retryAfter = headers['retry-after'];
    this.retryAfterMs = retryAfter === undefined ? null : retryAfterMs([retryAfter].flat()[0], Date.now());
    if (Number(headers['content-length']) > this.maxBodyBytes) controller.abort(bodyTooLarge(this.maxBodyBytes));
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
    let body = this.chunks.length === 1 ? this.chunks[0] : Buffer.concat(this.chunks);
    try {
      if (this.encoding !== undefined) body = decoded(body, String(this.encoding), this.maxBodyBytes);
    } catch (error) {
      return this.fail(/** @type {TransportError} */ (error));
    }
    this.succeed({ status: this.status, text: body.toString(), retryAfterMs: this.retryAfterMs });
  }

  /** @param {unknown} _controller @param {Error & {code?: string}} error */
  onResponseError(_controller, error) {
    // The connection has the same time limit, which may end first.
    if (error.code === 'UND_ERR_CONNECT_TIMEOUT') this.expire();
    else this.fail(asTransportError(error));
  }

  /** A request without a connection is not sent later, because onRequestStart sees isOver. */
  giveUp() {
    this.controller?.abort(failureOf('timeout'));
  }
}
