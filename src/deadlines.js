/** @import { Clock } from './types.d.ts' */

/**
 * Deadlines with one common time-out, which therefore fall due in the order in which they are set: a linked list and one
 * timer, because a timer for each request would cost more than the request.
 *
 * @typedef {{expire: () => void}} Expiring an object instead of a callback: one closure less for each operation in flight
 *
 * @typedef {object} Deadline
 * @property {number} dueUs
 * @property {Expiring | null} target null: cleared
 * @property {Deadline | null} previous
 * @property {Deadline | null} next
 */
export class Deadlines {
  /** @type {Deadline | null} */
  #first = null;
  /** @type {Deadline | null} */
  #last = null;
  /** Cancels the timer. @type {(() => void) | null} */
  #cancel = null;
  #isStopped = false;
  #clock;
  #timeoutMs;

  /** @param {Pick<Clock, 'nowUs' | 'after'>} clock @param {number} timeoutMs */
  constructor(clock, timeoutMs) {
    this.#clock = clock;
    this.#timeoutMs = timeoutMs;
  }

  /** @param {Expiring} target @returns {Deadline} */
  set(target) {
    /** @type {Deadline} */
    const deadline = {
      dueUs: this.#clock.nowUs() + this.#timeoutMs * 1000,
      target,
      previous: this.#last,
      next: null,
    };
    if (this.#last === null) this.#first = deadline;
    else this.#last.next = deadline;
    this.#last = deadline;
    // The timer keeps running when the list is empty, because the next deadline usually comes soon.
    if (!this.#isStopped) this.#cancel ??= this.#clock.after(() => this.#expire(), this.#timeoutMs);
    return deadline;
  }

  /** @param {Deadline} deadline may already be cleared */
  clear(deadline) {
    if (deadline.target === null) return;
    deadline.target = null;
    const { previous, next } = deadline;
    if (previous === null) this.#first = next;
    else previous.next = next;
    if (next === null) this.#last = previous;
    else next.previous = previous;
    // A cleared deadline in the garbage collector's old generation would keep all later ones alive.
    deadline.previous = null;
    deadline.next = null;
  }

  /** No deadline falls due any more, including ones set later. */
  stop() {
    this.#isStopped = true;
    this.#cancel?.();
  }

  #expire() {
    // #cancel is still set here, so that a deadline set by expire() does not start a second timer.
    for (
      let first = this.#first;
      first !== null && !this.#isStopped && first.dueUs <= this.#clock.nowUs();
      first = this.#first
    ) {
      const { target } = first;
      this.clear(first);
      target?.expire();
    }
    this.#cancel = null;
    if (this.#first === null || this.#isStopped) return;
    const waitMs = (this.#first.dueUs - this.#clock.nowUs()) / 1000;
    this.#cancel = this.#clock.after(() => this.#expire(), Math.max(waitMs, 1));
  }
}
