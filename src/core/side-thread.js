import { displayUrl } from '../chain/rpc.js';
import { within } from '../clock.js';
import { Thread } from './thread.js';

/**
 * Threads beside the load that ask the endpoints over connections of their own: for checks that would cost the load
 * thread too much.
 *
 * @import { NetworkConfig, Rpc } from '../contracts/chain.d.ts'
 * @import { Clock } from '../contracts/load.d.ts'
 *
 * @typedef {object} SideTask plain data
 * @property {string} module exports a SideWork as its default
 * @property {{connections?: number, sendUrl?: string | null}} task connections: to each endpoint, one at random for each
 *   call; 1 by default; sendUrl: of submissions, where that is another endpoint
 * @property {string[]} urls
 * @property {string[]} names of the endpoints in messages, without credentials
 * @property {NetworkConfig} network
 *
 * @typedef {{why: string}} Failure the reason why there is no result
 */

/**
 * What such a thread does.
 * @template Task, Message, Result
 * @typedef {(task: Task, rpcs: Rpc[], onMessage: (listener: (message: Message) => void) => void, post: (message: object) => void) => Promise<Result>} SideWork
 */

export class SideThread {
  #thread;
  #clock;
  /** Its result, or a Failure. @type {Promise<any>} */
  result;

  /** @param {SideTask} task @param {Clock} clock @param {(message: any) => void} [onMessage] for messages before the result */
  constructor(task, clock, onMessage = () => {}) {
    this.#clock = clock;
    let why = 'its thread ended';
    /** @param {Error | null} error */
    const onEnd = (error) => {
      if (error !== null) why = `its thread failed: ${error.message}`;
    };
    this.#thread = new Thread(new URL('side-thread-main.js', import.meta.url), task, { onMessage, onEnd });
    this.result = this.#thread.ask('work').then((result) => result ?? { why });
  }

  /** @param {object} message */
  post(message) {
    this.#thread.post(message);
  }

  /**
   * Asks for the result and ends the thread.
   * @param {object} message
   * @param {number} timeoutMs
   * @returns {Promise<any>} the result, or a Failure
   */
  async finish(message, timeoutMs) {
    this.post(message);
    const why = 'its thread did not answer in time';
    const result = await within(this.#clock, timeoutMs, this.result, () => ({ why }));
    await this.close();
    return result;
  }

  async close() {
    await this.#thread.terminate();
  }
}

/** Those of a run. */
export class SideThreads {
  #options;
  /** @type {SideThread[]} */
  #threads = [];

  /** @param {{network: NetworkConfig, urls: URL[], clock: Clock}} options */
  constructor(options) {
    this.#options = options;
  }

  /** @param {URL} module @param {object} task plain data @param {(message: any) => void} [onMessage] @returns {SideThread} */
  open(module, task, onMessage) {
    const { network, urls, clock } = this.#options;
    const endpoints = { urls: urls.map(String), names: urls.map(displayUrl), network };
    const thread = new SideThread({ module: String(module), task, ...endpoints }, clock, onMessage);
    this.#threads.push(thread);
    return thread;
  }

  async close() {
    await Promise.all(this.#threads.map((thread) => thread.close()));
  }
}
