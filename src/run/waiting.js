/**
 * @import { Clock } from '../clock.js'
 * @import { Health } from './health.js'
 */

/**
 * What waits for the answer of one of several endpoints. One that hangs says nothing, and its requests would wait for as
 * long as the transport lets them: they are given up as soon as it is left for another one.
 */

/** Given up: another endpoint may be asked. */
export const LEFT = Symbol('left');

/** Any thread may leave an endpoint, and only shared memory tells of it; how often that is looked at, in milliseconds. */
const LOOK_MS = 100;

export class Waiting {
  /** @type {Set<{index: number, giveUp: () => void}>} */
  #all = new Set();
  #isLooking = false;
  #health;
  #clock;

  /** @param {Pick<Health, 'isLeft'>} health @param {Pick<Clock, 'after'>} clock */
  constructor(health, clock) {
    this.#health = health;
    this.#clock = clock;
  }

  /**
   * @template T
   * @param {number} index of the endpoint
   * @param {Promise<T>} answer whatever becomes of it after that is nobody's business
   * @returns {Promise<T | typeof LEFT>}
   */
  untilLeft(index, answer) {
    return new Promise((resolve, reject) => {
      const one = { index, giveUp: () => resolve(LEFT) };
      this.#all.add(one);
      this.#look();
      answer.then(resolve, reject).finally(() => this.#all.delete(one));
    });
  }

  #look() {
    if (this.#isLooking || this.#all.size === 0) return;
    this.#isLooking = true;
    this.#clock.after(() => {
      this.#isLooking = false;
      for (const one of this.#all) {
        if (!this.#health.isLeft(one.index)) continue;
        this.#all.delete(one);
        one.giveUp();
      }
      this.#look();
    }, LOOK_MS);
  }
}
