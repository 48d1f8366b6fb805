import { Worker, isMainThread, parentPort, workerData } from 'node:worker_threads';
import { createRpc, secretsOf } from '../chain/rpc.js';
import { chooseTransport, transports } from './index.js';

/**
 * A thread beside the load that asks the endpoints over connections of its own: for checks that would cost the load
 * thread too much.
 *
 * @import { MessagePort } from 'node:worker_threads'
 * @import { Clock, Rpc } from '../types.d.ts'
 * @import { Headers } from './headers.js'
 *
 * @typedef {object} ThreadEndpoints plain data
 * @property {string[]} urls
 * @property {string[]} names of them in messages, without credentials
 * @property {Headers} [headers] of the user
 * @property {boolean} insecure
 * @property {number} requestTimeoutMs
 *
 * @typedef {{why: string}} Failure the reason why there is no result
 */

/** The thread as the main thread sees it. */
export class SideThread {
  #worker;
  #clock;
  /** @type {Promise<any>} */
  #result;

  /**
   * @param {URL} module that calls serveThread()
   * @param {{endpoints: ThreadEndpoints, task: unknown}} data plain data
   * @param {Clock} clock
   */
  constructor(module, data, clock) {
    this.#clock = clock;
    this.#worker = new Worker(module, { workerData: data });
    this.#result = new Promise((resolve) => {
      this.#worker.once('message', resolve);
      this.#worker.once('error', (error) => resolve({ why: `its thread failed: ${error.message}` }));
      this.#worker.once('exit', () => resolve({ why: 'its thread ended' }));
    });
  }

  /** @param {object} message */
  post(message) {
    this.#worker.postMessage(message);
  }

  /**
   * Asks for the result and ends the thread.
   * @param {object} message
   * @param {number} timeoutMs
   * @returns {Promise<any>} the result, or a Failure
   */
  async finish(message, timeoutMs) {
    this.post(message);
    const over = new AbortController();
    const late = this.#clock.sleep(timeoutMs, over.signal).then(() => ({ why: 'its thread did not answer in time' }));
    const result = await Promise.race([this.#result, late]);
    over.abort();
    await this.close();
    return result;
  }

  async close() {
    await this.#worker.terminate();
  }
}

/**
 * The other side: called by the module of the thread.
 * @template Task, Message
 * @param {(task: Task, rpcs: Rpc[], names: string[], onMessage: (listener: (message: Message) => void) => void) => Promise<unknown>} work
 *   resolves with the result
 */
export async function serveThread(work) {
  if (isMainThread) return;
  const port = /** @type {MessagePort} */ (parentPort);
  /** @type {{endpoints: ThreadEndpoints, task: Task}} */
  const { endpoints, task } = workerData;
  const { urls, names, headers, insecure, requestTimeoutMs: timeoutMs } = endpoints;
  const rpcs = urls.map((text, i) => {
    const url = new URL(text);
    const open = transports[chooseTransport('auto', url)];
    return createRpc(open({ url, connections: 1, timeoutMs, headers, insecure }), names[i], {
      secrets: secretsOf(url),
    });
  });
  port.postMessage(await work(task, rpcs, names, (listener) => void port.on('message', listener)));
}
