/**
 * Counts in a thread of the load how many operations of this run each block has, by their outcome on the chain.
 *
 * @import { SeenBlock } from '../../contracts/chain.d.ts'
 * @import { ObserverTools, OperationIdentity, Sample, TransactionStatus } from '../../contracts/load.d.ts'
 * @import { Observer, StatusBlock } from '../observer.d.ts'
 *
 * @typedef {[number: number, hash: string | null, succeeded: number, reverted: number]} BlockCounts hash: null: the block was not
 *   read
 */

/** Blocks whose hashes are kept: operations that are resolved late are in older ones. */
const MOST_HASHES = 512;

/** @implements {Observer} */
export class EvidenceThread {
  /** Hashes of the newest blocks. @type {Map<number, string>} */
  #hashes = new Map();
  /** Since the last message. @type {BlockCounts[]} */
  #counts = [];
  /** Those of them by hash, or by number. @type {Map<string | number, BlockCounts>} */
  #byBlock = new Map();
  #post;

  /** @param {Pick<ObserverTools, 'post'>} tools */
  constructor({ post }) {
    this.#post = post;
  }

  /** @param {SeenBlock} block */
  block({ number, hash }) {
    this.#hashes.delete(number);
    this.#hashes.set(number, hash);
    if (this.#hashes.size > MOST_HASHES) this.#hashes.delete(/** @type {number} */ (this.#hashes.keys().next().value));
  }

  /** @param {Sample} sample */
  operation({ outcome, blockNumber }) {
    if (outcome === 'verified' && blockNumber !== null) this.#countsOf(blockNumber)[2] += 1;
  }

  /** Also of one that was verified, and whose block has left the chain: in its new block. @param {OperationIdentity} _ @param {TransactionStatus} status @param {StatusBlock | null} [block] */
  status(_, status, block = null) {
    if (block === null) return;
    // It may be in a block that has replaced the one that was read.
    if (status === 'included') this.#countsOf(block.number, block.hash)[2] += 1;
    if (status === 'reverted') this.#countsOf(block.number, block.hash)[3] += 1;
  }

  /** @param {number} number @param {string | null} [hash] */
  #countsOf(number, hash = this.#hashes.get(number) ?? null) {
    const key = hash ?? number;
    let counts = this.#byBlock.get(key);
    if (counts === undefined) {
      counts = [number, hash, 0, 0];
      this.#byBlock.set(key, counts);
      this.#counts.push(counts);
    }
    return counts;
  }

  /** @param {boolean} endsInterval */
  interval(endsInterval) {
    if (endsInterval) this.#tell();
  }

  async finish() {
    this.#tell();
  }

  #tell() {
    if (this.#counts.length > 0) this.#post(this.#counts);
    this.#counts = [];
    this.#byBlock = new Map();
  }
}
