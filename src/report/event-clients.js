/** @import { ServerResponse } from 'node:http' */

/**
 * Those who watch: each has an answer that does not end, and gets every event. Whoever does not take what it is sent is
 * let go, so that nothing piles up here.
 */

/** How many may watch at once. */
export const MOST_CLIENTS = 16;

/** What may wait in the memory of this process for one of them, in bytes: more than the page of a long run. */
const MOST_WAITING = 4 * 1024 * 1024;

/** How long the last event may be on its way. */
const FLUSH_MS = 2000;

const HEADERS = Object.freeze({
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
});

export class EventClients {
  /** @type {Set<ServerResponse>} */
  #all = new Set();

  get size() {
    return this.#all.size;
  }

  /** @param {ServerResponse} response @returns {boolean} false: there are too many */
  add(response) {
    if (this.#all.size >= MOST_CLIENTS) return false;
    this.#all.add(response);
    response.on('close', () => this.#all.delete(response));
    // Whoever goes away in mid-sentence is gone, and that is all.
    response.on('error', () => this.#all.delete(response));
    response.writeHead(200, HEADERS);
    response.write('retry: 1000\n\n');
    return true;
  }

  /** @param {string} event */
  broadcast(event) {
    for (const response of this.#all) this.send(response, event);
  }

  /** @param {ServerResponse} response @param {string} event */
  send(response, event) {
    if (response.writableLength > MOST_WAITING) response.destroy();
    else response.write(event);
  }

  /** Once all that was sent has left this process, or they had their time. @returns {Promise<void>} */
  async end() {
    const all = [...this.#all].map((response) => new Promise((resolve) => response.once('close', resolve)));
    for (const response of this.#all) response.end();
    const timer = setTimeout(() => this.#all.forEach((response) => response.destroy()), FLUSH_MS);
    await Promise.all(all);
    clearTimeout(timer);
  }
}

/** @param {string} name @param {unknown} data @param {number} [id] what a client that comes back has seen */
export function eventText(name, data, id) {
  return `${id === undefined ? '' : `id: ${id}\n`}event: ${name}\ndata: ${JSON.stringify(data)}\n\n`;
}
