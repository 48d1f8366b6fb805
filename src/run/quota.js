/**
 * How many operations each wallet may still be given, where that is bounded (--iterations).
 */
export class Quota {
  /** By position. */
  #left;
  #allLeft;

  /** @param {number} wallets @param {number} each operations of each of them; Infinity: as many as there is time for */
  constructor(wallets, each) {
    this.#left = new Float64Array(wallets).fill(each);
    this.#allLeft = wallets * each;
  }

  /** Nobody may be given any more. */
  get isSpent() {
    return this.#allLeft === 0;
  }

  /** @param {number} position */
  isSpentOf(position) {
    return this.#left[position] === 0;
  }

  /** @param {number} position */
  take(position) {
    this.#left[position] -= 1;
    this.#allLeft -= 1;
  }

  /** A wallet can do no more. @param {number} position */
  forfeit(position) {
    if (this.#left[position] < Infinity) this.#allLeft -= this.#left[position];
    this.#left[position] = 0;
  }
}
