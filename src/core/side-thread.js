import { displayUrl } from '../chain/rpc.js';
import { within } from '../clock.js';
import { newSeed } from './platform.js';
import { Thread } from './thread.js';

/**
 * Threads beside the load that ask the endpoints over connections of their own: for checks that would cost the load
 * thread too much.
 *
 * @import { NetworkConfig, Rpc } from '../contracts/chain.d.ts'
 * @import { Clock } from '../contracts/common.d.ts'
 * @import { OpenPages, Platform } from '../contracts/load.d.ts'
 *
 * @typedef {object} SideTask plain data
 * @property {string} module exports a SideWork as its default
 * @property {{connections?: number, sendUrl?: string | null}} task connections: to each endpoint, one at random for each
 *   call; 1 by default; sendUrl: of submissions, where that is another endpoint
 * @property {string[]} urls
 * @property {string[]} names of the endpoints in messages, without credentials
 * @property {NetworkConfig} network
 * @property {number} seed of its random numbers
 *
 * @typedef {{why: string}} Failure the reason why there is no result
 */

/**
 * What such a thread does.
 * @template Task, Message, Result
 * @typedef {(task: Task, rpcs: Rpc[], tools: SideTools<Message>) => Promise<Result>} SideWork
 */

/**
 * @template Message
 * @typedef {object} SideTools
 * @property {(listener: (message: Message) => void) => void} onMessage
 * @property {(message: object) => void} post
 * @property {Clock} clock
 * @property {() => number} random from 0 to 1
 * @property {OpenPages} openPages
 */

export class SideThread {
  #thread;
  #clock;
  /** Its result, or a Failure. @type {Promise<any>} */
  result;

  /** @param {SideTask} task @param {Pick<Platform, 'clock' | 'startThread'>} platform @param {(message: any) => void} [onMessage] for messages before the result */
  constructor(task, { clock, startThread }, onMessage = () => {}) {
    this.#clock = clock;
    let why = 'its thread ended';
    /** @param {Error | null} error */
    const onEnd = (error) => {
      if (error !== null) why = `its thread failed: ${error.message}`;
    };
    const program = new URL('side-thread-main.js', import.meta.url);
    this.#thread = new Thread(startThread, program, task, { onMessage, onEnd });
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

  /** @param {Pick<Platform, 'clock' | 'random' | 'startThread'> & {network: NetworkConfig, urls: URL[]}} options */
  constructor(options) {
    this.#options = options;
  }

  /** @param {URL} module @param {object} task plain data @param {(message: any) => void} [onMessage] @returns {SideThread} */
  open(module, task, onMessage) {
    const { network, urls, random } = this.#options;
    const endpoints = { urls: urls.map(String), names: urls.map(displayUrl), network };
    const own = { module: String(module), task, ...endpoints, seed: newSeed(random) };
    const thread = new SideThread(own, this.#options, onMessage);
    this.#threads.push(thread);
    return thread;
  }

  async close() {
    await Promise.all(this.#threads.map((thread) => thread.close()));
  }
}
