/**
 * @import { Head } from './call-head.js'
 * @import { DataSet } from './dataset.js'
 */

/**
 * What templates draw from, and one draw of it for each call. Random figures come from a seed, for each user its own
 * sequence, so that users of the same seed ask for the same in the same order wherever they run.
 *
 * @typedef {object} Sources
 * @property {Head | null} head null where no template asks for it
 * @property {readonly string[]} addresses of the whole slice, by position in it
 * @property {DataSet | null} data
 *
 * @typedef {object} User
 * @property {number} position in the slice
 * @property {number} random state of its sequence
 * @property {number} page the next one, from 0
 */

/** @param {number} seed @param {number} position @returns {User} */
export function newUser(seed, position) {
  return { position, random: scramble(seed ^ Math.imul(position + 1, 0x9e3779b9)), page: 0 };
}

/** The next random figure of a user: at least 0, below 1 (mulberry32). @param {User} user */
export function random(user) {
  user.random = (user.random + 0x6d2b79f5) | 0;
  return scramble(user.random) / 2 ** 32;
}

/** @param {number} value @returns {number} a whole number of 32 bits, none of which tells what it came from */
function scramble(value) {
  let mixed = Math.imul(value ^ (value >>> 15), value | 1);
  mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
  return (mixed ^ (mixed >>> 14)) >>> 0;
}

/** One call's. What was drawn once stays. */
export class Draw {
  /** @type {Map<string, number> | null} */
  #drawn = null;
  #user;
  #sources;
  #pageNumber;

  /** @param {User} user @param {Sources} sources */
  constructor(user, sources) {
    this.#user = user;
    this.#sources = sources;
    this.#pageNumber = user.page;
  }

  latest() {
    return /** @type {Head} */ (this.#sources.head).number;
  }

  /** @param {number} among so many of the latest blocks, or all of them where there are fewer */
  recent(among) {
    const latest = this.latest();
    return latest - this.#pick(`recent ${among}`, Math.min(among, latest + 1));
  }

  blockHash() {
    const { blockHashes } = /** @type {Head} */ (this.#sources.head);
    return blockHashes[this.#pick('block', blockHashes.length)];
  }

  transaction() {
    const { transactions } = /** @type {Head} */ (this.#sources.head);
    return transactions[this.#pick('transaction', transactions.length)];
  }

  /** So many blocks in a row, if there are so many, of which the last is one of the latest. @param {number} length @param {number} among */
  range(length, among) {
    const latest = this.latest();
    const to = latest - this.#pick(`range ${length} ${among}`, Math.min(among, Math.max(1, latest + 2 - length)));
    return { from: Math.max(0, to - length + 1), to };
  }

  address() {
    const { addresses } = this.#sources;
    return addresses[this.#pick('address', addresses.length)];
  }

  ownAddress() {
    return this.#sources.addresses[this.#user.position];
  }

  data() {
    return /** @type {DataSet} */ (this.#sources.data);
  }

  pageNumber() {
    return this.#pageNumber;
  }

  page() {
    return this.data().pages[this.#pageNumber];
  }

  /** @param {string} key @param {number} below */
  #pick(key, below) {
    this.#drawn ??= new Map();
    const known = this.#drawn.get(key);
    if (known !== undefined) return known;
    const picked = Math.floor(random(this.#user) * below);
    this.#drawn.set(key, picked);
    return picked;
  }
}
