import { TransportError } from '../errors.js';

/** @import { Client, Dispatcher } from 'undici' */

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
