import { failureOf } from './http.js';

/**
 * @import { TransportError } from '../errors.js'
 * @import { Deadlines } from '../deadlines.js'
 * @import { Reply } from '../types.d.ts'
 * @import { OnSent } from './index.js'
 */

/** One body and its answer, with one time limit. */
export class Exchange {
  /** Null while it waits for a connection. @type {{giveUp: (exchange: any) => void} | null} */
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
      this.fail(failureOf('timeout'));
      this.connection?.giveUp(this);
    });
  }

  /** @param {Reply} reply */
  succeed(reply) {
    this.#end();
    this.resolve(reply);
  }

  /** @param {TransportError} error */
  fail(error) {
    this.#end();
    this.reject(error);
  }

  #end() {
    this.isOver = true;
    // A connection may keep a timed-out exchange for a late answer.
    this.body = '';
    this.#deadlines.clear(this.#deadline);
  }
}
