/** Blocks whose hashes are remembered: a reorg that goes deeper is seen, but not where it began. */
const REMEMBERED = 256;

/** The hashes of the newest blocks of the chain, as it was read. */
export class Lineage {
  /** In the order of their numbers. @type {Map<number, string>} */
  #hashes = new Map();
  #startNumber;
  #startHash;

  /** @param {number} number of the block before the first one that is read @param {string | null} hash null where it is not known */
  constructor(number, hash) {
    this.#startNumber = number;
    this.#startHash = hash;
    if (hash !== null) this.#hashes.set(number, hash);
  }

  /** The oldest number whose hash is known, or null. */
  get oldest() {
    return this.#hashes.keys().next().value ?? null;
  }

  /** @param {number} number @returns {string | null} */
  hashOf(number) {
    return this.#hashes.get(number) ?? null;
  }

  /** Whether a block is not known to be a child of another one than the one before it. @param {number} number @param {unknown} parentHash as the block states it */
  isChild(number, parentHash) {
    const known = this.hashOf(number - 1);
    return known === null || typeof parentHash !== 'string' || parentHash === known;
  }

  /** Whether it is the block that the run began at, as far as that is known. @param {string} hash */
  isStart(hash) {
    return this.#startHash === null || this.#startHash === hash;
  }

  get startNumber() {
    return this.#startNumber;
  }

  /** @param {number} number @param {string} hash */
  add(number, hash) {
    this.#hashes.set(number, hash);
    if (this.#hashes.size > REMEMBERED) this.#hashes.delete(/** @type {number} */ (this.oldest));
  }

  /** Forgets what came after a block. @param {number} number */
  cutAfter(number) {
    for (const known of [...this.#hashes.keys()]) if (known > number) this.#hashes.delete(known);
  }
}
