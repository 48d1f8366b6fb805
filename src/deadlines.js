/** @import { Clock } from './types.d.ts' */

/**
 * Deadlines that all lie the same time ahead, so that they fall due in the order they were set: a linked list and
 * one timer, where a timer for each would cost more than what it guards.
 *
 * @typedef {object} Deadline
 * @property {number} dueUs
 * @property {() => void} onDue
 * @property {boolean} isSet
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

  /** @param {() => void} onDue @returns {Deadline} */
  set(onDue) {
    /** @type {Deadline} */
    const deadline = {
      dueUs: this.#clock.nowUs() + this.#timeoutMs * 1000,
      onDue,
      isSet: true,
      previous: this.#last,
      next: null,
    };
    if (this.#last === null) this.#first = deadline;
    else this.#last.next = deadline;
    this.#last = deadline;
    // It is left running when the list empties: most deadlines are met, and the next one is near.
    if (!this.#isStopped) this.#cancel ??= this.#clock.after(() => this.#expire(), this.#timeoutMs);
    return deadline;
  }

  /** @param {Deadline} deadline set here; one that is not set any more stays so */
  clear(deadline) {
    if (!deadline.isSet) return;
    deadline.isSet = false;
    const { previous, next } = deadline;
    if (previous === null) this.#first = next;
    else previous.next = next;
    if (next === null) this.#last = previous;
    else next.previous = previous;
    // One that the garbage collector takes for old would keep all that came after it alive.
    deadline.previous = null;
    deadline.next = null;
    deadline.onDue = nothing;
  }

  /** No deadline falls due any more, not even one that is set later. */
  stop() {
    this.#isStopped = true;
    this.#cancel?.();
  }

  #expire() {
    // Not null yet: one that is set meanwhile does not set the timer, which is for the first one.
    for (
      let first = this.#first;
      first !== null && !this.#isStopped && first.dueUs <= this.#clock.nowUs();
      first = this.#first
    ) {
      const { onDue } = first;
      this.clear(first);
      onDue();
    }
    this.#cancel = null;
    if (this.#first === null || this.#isStopped) return;
    const waitMs = (this.#first.dueUs - this.#clock.nowUs()) / 1000;
    this.#cancel = this.#clock.after(() => this.#expire(), Math.max(waitMs, 1));
  }
}

function nothing() {}
