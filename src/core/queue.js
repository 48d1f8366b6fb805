/** A FIFO queue in O(1); Array.shift() is O(n). @template T */
export class Queue {
  /** @type {T[]} */
  #items = [];
  #first = 0;

  get size() {
    return this.#items.length - this.#first;
  }

  /** @param {T} item */
  push(item) {
    this.#items.push(item);
  }

  /** @returns {T | null} null when it is empty */
  shift() {
    if (this.#first === this.#items.length) return null;
    const item = this.#items[this.#first];
    this.#first += 1;
    // Compacted when half is used: each item moves at most once on average.
    if (this.#first * 2 >= this.#items.length) {
      this.#items.splice(0, this.#first);
      this.#first = 0;
    }
    return item;
  }
}
