/**
 * Deadlines that all lie the same time ahead, so that they fall due in the order they were set: a linked list and
 * one timer, where a timer for each would cost more than the request it guards.
 *
 * @typedef {object} Deadline
 * @property {number} dueMs on the clock of performance.now()
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
  /** @type {NodeJS.Timeout | null} */
  #timer = null;
  #timeoutMs;

  /** @param {number} timeoutMs */
  constructor(timeoutMs) {
    this.#timeoutMs = timeoutMs;
  }

  /** @param {() => void} onDue @returns {Deadline} */
  set(onDue) {
    /** @type {Deadline} */
    const deadline = {
      dueMs: performance.now() + this.#timeoutMs,
      onDue,
      isSet: true,
      previous: this.#last,
      next: null,
    };
    if (this.#last === null) this.#first = deadline;
    else this.#last.next = deadline;
    this.#last = deadline;
    // It is left running when the list empties: most deadlines are met, and the next one is near.
    this.#timer ??= setTimeout(() => this.#expire(), this.#timeoutMs);
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
  }

  /** No deadline falls due any more. */
  stop() {
    if (this.#timer !== null) clearTimeout(this.#timer);
  }

  #expire() {
    this.#timer = null;
    for (let first = this.#first; first !== null && first.dueMs <= performance.now(); first = this.#first) {
      this.clear(first);
      first.onDue();
    }
    if (this.#first === null || this.#timer !== null) return;
    this.#timer = setTimeout(() => this.#expire(), Math.max(this.#first.dueMs - performance.now(), 1));
  }
}
