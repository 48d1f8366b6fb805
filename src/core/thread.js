/**
 * A thread and the requests to it: the host of workers and of the threads beside the load. Messages without an answer go
 * both ways.
 *
 * @import { StartThread } from '../contracts/load.d.ts'
 *
 * @typedef {object} ThreadPort a thread as its program sees it
 * @property {(message: unknown) => void} postMessage
 * @property {(event: 'message', listener: (message: never) => void) => unknown} on
 * @property {() => void} close
 *
 * @typedef {{id?: number, method: string, args: any[]}} ToThread without an id it is a message
 * @typedef {{id: number, result: any} | {id?: undefined, message: any}} FromThread
 */

export class Thread {
  hasEnded = false;
  #worker;
  #onEnd;
  #lastId = 0;
  /** By id of the request. @type {Map<number, (result: any) => void>} */
  #waiting = new Map();

  /**
   * @param {StartThread} start
   * @param {URL} program calls serve()
   * @param {unknown} data plain data
   * @param {object} options
   * @param {(message: any) => void} options.onMessage
   * @param {(error: Error | null, exitCode: number) => void} options.onEnd called once; null: without an error
   */
  constructor(start, program, data, { onMessage, onEnd }) {
    this.#onEnd = onEnd;
    this.#worker = start(program, data);
    this.#worker.on('message', (/** @type {FromThread} */ received) => {
      if (received.id === undefined) onMessage(received.message);
      else this.#answer(received.id, received.result);
    });
    this.#worker.on('error', (error) => this.#end(error, 1));
    this.#worker.on('exit', (exitCode) => this.#end(null, exitCode));
  }

  /** @param {string} method @param {unknown[]} [args] @returns {Promise<any>} null if it has ended */
  ask(method, args = []) {
    if (this.hasEnded) return Promise.resolve(null);
    const id = (this.#lastId += 1);
    this.#worker.postMessage({ id, method, args });
    return new Promise((resolve) => this.#waiting.set(id, resolve));
  }

  /** @param {unknown} message */
  post(message) {
    this.#worker.postMessage({ message });
  }

  async terminate() {
    this.#settle();
    await this.#worker.terminate();
  }

  /** @param {number} id @param {unknown} result */
  #answer(id, result) {
    const resolve = this.#waiting.get(id);
    this.#waiting.delete(id);
    resolve?.(result);
  }

  /** @param {Error | null} error @param {number} exitCode */
  #end(error, exitCode) {
    if (this.hasEnded) return;
    this.#onEnd(error, exitCode);
    this.#settle();
  }

  /** Requests without an answer get null. */
  #settle() {
    this.hasEnded = true;
    for (const id of [...this.#waiting.keys()]) this.#answer(id, null);
  }
}

/**
 * In the thread: answers the requests. An error of `call` ends the thread.
 * @param {ThreadPort} port
 * @param {(method: any, args: any[]) => Promise<unknown>} call
 */
export function serve(port, call) {
  /** @param {ToThread} received */
  const answer = async ({ id, method, args }) => {
    if (id !== undefined) port.postMessage({ id, result: (await call(method, args)) ?? null });
  };
  port.on('message', (received) => void answer(received));
}
