/** @import { Clock } from '../clock.js' */

const POLLS_PER_BLOCK = 10;
const SHORTEST_POLL_MS = 4;
const LONGEST_POLL_MS = 250;
/** A block that was announced comes soon, however long the last one took. */
const NOT_SERVED_MS = 50;
/** Weight of the newest block in the running mean of the block interval. */
const SMOOTHING = 0.3;

/**
 * How often a chain is asked for its head: about ten times a block, every 250 ms at least, and ever more seldom while it
 * does not answer.
 */
export class Pace {
  /** The time to the next poll. */
  pollMs = SHORTEST_POLL_MS;
  isFailing = false;
  #blockMs = 1000;
  /** The newest number we were told of; its block may not be served yet. */
  #announced;
  #announcedAtUs;
  #clock;

  /** @param {Clock} clock @param {number} head */
  constructor(clock, head) {
    this.#clock = clock;
    this.#announced = head;
    this.#announcedAtUs = clock.nowUs();
  }

  /** @param {number} number of the latest block, as the node says */
  announced(number) {
    if (number <= this.#announced) return;
    const nowUs = this.#clock.nowUs();
    const newestMs = (nowUs - this.#announcedAtUs) / 1000 / (number - this.#announced);
    this.#blockMs = Math.min(this.#blockMs * (1 - SMOOTHING) + newestMs * SMOOTHING, newestMs * 2);
    this.#announcedAtUs = nowUs;
    this.#announced = number;
  }

  succeeded() {
    this.isFailing = false;
    this.pollMs = Math.min(Math.max(this.#blockMs / POLLS_PER_BLOCK, SHORTEST_POLL_MS), LONGEST_POLL_MS);
  }

  /** The newest block is not served yet, but will be in a moment. */
  notServed() {
    this.isFailing = true;
    this.pollMs = Math.min(Math.max(this.#blockMs / POLLS_PER_BLOCK, SHORTEST_POLL_MS), NOT_SERVED_MS);
  }

  /** @param {boolean} isAway no answer came at all; one that answers nonsense may be well the next time */
  failed(isAway) {
    this.isFailing = true;
    this.pollMs = Math.min(Math.max(this.pollMs * 2, 50), isAway ? 1000 : LONGEST_POLL_MS);
  }

  /** Running mean of the time between two blocks. */
  get blockMs() {
    return this.#blockMs;
  }
}
