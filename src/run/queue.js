/**
 * First in, first out, in O(1) for both ends: Array.shift() moves everything behind it.
 * @template T
 */
export class Queue {
  /** @type {T[]} */
  #items = [];
  #first = 0;

  /** @param {T} item */
  push(item) {
    this.#items.push(item);
  }

  /** @returns {T | null} null when it is empty */
  shift() {
    if (this.#first === this.#items.length) return null;
    const item = this.#items[this.#first];
    this.#first += 1;
    // What was taken is let go once it is half of what is held, so that each item is moved once at most on average.
    if (this.#first * 2 >= this.#items.length) {
      this.#items.splice(0, this.#first);
      this.#first = 0;
    }
    return item;
  }
}
