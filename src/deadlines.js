/** @import { Clock } from './contracts/common.d.ts' */

/**
 * Deadlines with one common time-out, which therefore fall due in the order in which they are set: one timer, because a
 * timer for each request would cost more than the request.
 *
 * @typedef {{expire: () => void}} Expiring an object instead of a callback: one closure less for each operation in flight
 * @typedef {{dueUs: number, target: Expiring}} Deadline
 */
export class Deadlines {
  /** In the order in which they fall due. @type {Set<Deadline>} */
  #all = new Set();
  /** Cancels the timer. @type {(() => void) | null} */
  #cancel = null;
  #isStopped = false;
  #clock;

  /** @param {Pick<Clock, 'nowUs' | 'after'>} clock @param {number} timeoutMs */
  constructor(clock, timeoutMs) {
    this.#clock = clock;
    this.timeoutMs = timeoutMs;
  }

  /** @param {Expiring} target @returns {Deadline} */
  set(target) {
    const deadline = { dueUs: this.#clock.nowUs() + this.timeoutMs * 1000, target };
    this.#all.add(deadline);
    // The timer keeps running when there is no deadline, because the next one usually comes soon.
    if (!this.#isStopped) this.#cancel ??= this.#clock.after(() => this.#expire(), this.timeoutMs);
    return deadline;
  }

  /** @param {Deadline} deadline may already be cleared */
  clear(deadline) {
    this.#all.delete(deadline);
  }

  /** No deadline falls due any more, including ones set later. */
  stop() {
    this.#isStopped = true;
    this.#cancel?.();
  }

  #expire() {
    // #cancel is still set here, so that a deadline set by expire() does not start a second timer.
    for (const deadline of this.#all) {
      if (this.#isStopped || deadline.dueUs > this.#clock.nowUs()) break;
      this.#all.delete(deadline);
      deadline.target.expire();
    }
    this.#cancel = null;
    const [first] = this.#all;
    if (first === undefined || this.#isStopped) return;
    const waitMs = (first.dueUs - this.#clock.nowUs()) / 1000;
    this.#cancel = this.#clock.after(() => this.#expire(), Math.max(waitMs, 1));
  }
}
