import { followHeads } from '../inclusion/heads.js';

/**
 * @import { Rpc } from '../chain/rpc.js'
 * @import { Clock } from '../clock.js'
 */

/**
 * When blocks are there at the endpoint that effects are read back from, where that is another one. It costs a look at its
 * head now and then, and nothing for an operation.
 */

/** Blocks whose instants are remembered; who asks for an older one is told that it is there now. */
const REMEMBERED = 1024;

export class Visibility {
  /** When the newest blocks were first seen, by number. @type {Map<number, number>} */
  #seenAtUs = new Map();
  #head;
  /** Those who wait for a block, by its number. @type {Map<number, Array<(atUs: number) => void>>} */
  #waiting = new Map();
  #heads;
  #clock;

  /**
   * @param {{rpc: Rpc, clock: Clock, head: number}} options rpc: to that
   *   endpoint; head: its newest block now
   */
  constructor({ rpc, clock, head }) {
    this.#clock = clock;
    this.#head = head;
    this.#heads = followHeads({
      rpc,
      clock,
      head,
      onHeads: async (to) => this.saw(to),
      // Another node is asked now, or blocks were replaced: the same number is there soon.
      onBehind: async (number) => (this.#head = number),
    });
  }

  /** All blocks up to a number are there. @param {number} number */
  saw(number) {
    const nowUs = this.#clock.nowUs();
    for (let at = Math.max(this.#head + 1, number - REMEMBERED); at <= number; at += 1) {
      if (!this.#seenAtUs.has(at)) this.#seenAtUs.set(at, nowUs);
      if (this.#seenAtUs.size > REMEMBERED)
        this.#seenAtUs.delete(/** @type {number} */ (this.#seenAtUs.keys().next().value));
    }
    this.#head = number;
    for (const awaited of [...this.#waiting.keys()].filter((one) => one <= number)) {
      const waiting = this.#waiting.get(awaited) ?? [];
      this.#waiting.delete(awaited);
      for (const tell of waiting) tell(this.#seenAtUs.get(awaited) ?? nowUs);
    }
    return number;
  }

  /** @param {number} number of a block @returns {Promise<number>} when it was there, once it is */
  seen(number) {
    if (number <= this.#head) return Promise.resolve(this.#seenAtUs.get(number) ?? this.#clock.nowUs());
    return new Promise((resolve) => {
      const waiting = this.#waiting.get(number) ?? [];
      waiting.push(resolve);
      this.#waiting.set(number, waiting);
    });
  }

  stop() {
    return this.#heads.stop();
  }
}
