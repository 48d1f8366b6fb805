import { blockLine, lineOf } from '../../evidence/format.js';

/**
 * The blocks of the run on their way into the file: a line is written when a block is an interval old, so that it has its
 * counts. Later counts, and blocks that leave the chain after that, are lines of their own.
 *
 * @import { BlockRow } from '../../evidence/format.js'
 * @import { BlockCounts } from './thread.js'
 *
 * @typedef {Omit<BlockRow, 'succeeded' | 'reverted'>} ReadBlock
 * @typedef {{number: number, hash: string, transaction: null}} Lowest
 */

/** Limit of blocks that wait, of written ones that are kept, and of counts of blocks that were not read yet. */
const MOST_WAITING = 2048;
const MOST_WRITTEN = 4096;
const MOST_EARLY = 4096;

/** Blocks with proofs. */
const SAMPLED = 4;

export class BlockLines {
  /** Not written yet, in order. @type {Map<number, BlockRow>} */
  #waiting = new Map();
  /** The newest that are written. @type {Map<number, BlockRow>} */
  #written = new Map();
  /** Counts of blocks that were not read yet. @type {BlockCounts[]} */
  #early = [];
  /** Those at the end of the last interval are written at the end of this one. */
  #mark = -1;
  /** Number of the newest block; -1: none. */
  last = -1;
  /** Number of the first block; Infinity: none. */
  first = Infinity;
  /** Written blocks with operations of this run that have the lowest hashes: those that are proved. @type {BlockRow[]} */
  sample = [];
  #write;

  /** @param {(line: string) => void} write */
  constructor(write) {
    this.#write = write;
  }

  /** @param {ReadBlock} block */
  add(block) {
    if (this.#known(block.number)?.hash === block.hash) return;
    if (block.number <= this.last) this.#remove(block.number);
    this.#put({ ...block, succeeded: 0, reverted: 0 });
    if (this.#waiting.size > MOST_WAITING) this.#writeFirst();
  }

  /** Whether it is the known block of its number. @param {ReadBlock} [block] */
  has(block) {
    return block !== undefined && this.#known(block.number)?.hash === block.hash;
  }

  /** The block of this number, if it is kept. @param {number} number */
  #known(number) {
    return this.#waiting.get(number) ?? this.#written.get(number);
  }

  /** @param {BlockRow} row without the counts that came before it */
  #put(row) {
    this.last = row.number;
    this.first = Math.min(this.first, row.number);
    this.#waiting.set(row.number, row);
    const own = this.#early.filter(([number, hash]) => isOf(row, number, hash));
    this.#early = this.#early.filter((one) => !own.includes(one) && one[0] > row.number - MOST_EARLY);
    own.forEach((counts) => this.count(counts));
  }

  /**
   * Replaces blocks that a reorg at the end of the run has removed, of which the load had read the newest or none. A block that is
   * still on the chain keeps its counts. The file shows what was removed: figures of the window count it.
   * @param {readonly ReadBlock[]} blocks in order
   */
  correct(blocks) {
    const rows = blocks.map((block) => {
      const known = this.#known(block.number);
      return known?.hash === block.hash ? known : { ...block, succeeded: 0, reverted: 0 };
    });
    if (blocks.length === 0 || rows.every((row) => this.#known(row.number) === row)) return;
    this.end();
    this.#remove(blocks[0].number);
    rows.forEach((row) => this.#put(row));
  }

  /** The blocks from this number on have left the chain. @param {number} from */
  #remove(from) {
    for (const number of [...this.#waiting.keys()].filter((one) => one >= from)) this.#waiting.delete(number);
    const gone = [...this.#written.keys()].filter((one) => one >= from);
    if (gone.length === 0) return;
    for (const number of gone) this.#written.delete(number);
    this.sample = this.sample.filter(({ number }) => number < from);
    this.#write(lineOf({ reorg: from }));
  }

  /** @param {BlockCounts} counts */
  count(counts) {
    const [number, hash, succeeded, reverted] = counts;
    const row = this.#waiting.get(number);
    const written = this.#written.get(number);
    if (row !== undefined && isOf(row, number, hash)) {
      row.succeeded += succeeded;
      row.reverted += reverted;
    } else if (written !== undefined && isOf(written, number, hash)) {
      written.succeeded += succeeded;
      written.reverted += reverted;
      this.#add(counts);
    } else if (number >= this.first && number < this.#oldest) this.#add(counts);
    // The block was not read yet: another one may have been at its height.
    else this.#early = [...this.#early.slice(-MOST_EARLY), counts];
  }

  /** @param {BlockCounts} counts of a block that is written */
  #add([number, , succeeded, reverted]) {
    this.#write(lineOf({ add: [number, succeeded, reverted] }));
  }

  /** Number of the oldest written block whose hash is kept. */
  get #oldest() {
    return this.#written.keys().next().value ?? -1;
  }

  /** Number of the first block that the file lacks, up to this one. @param {number} end */
  missingFrom(end) {
    if (this.last !== -1) return this.last + 1;
    // No block was read during the load: what was included then is in these.
    return this.#early.reduce((least, [number]) => Math.min(least, number), end);
  }

  /** The end of an interval. */
  interval() {
    for (const number of [...this.#waiting.keys()]) if (number <= this.#mark) this.#writeFirst();
    this.#mark = this.last;
  }

  /** Writes those that are left. */
  end() {
    while (this.#waiting.size > 0) this.#writeFirst();
  }

  #writeFirst() {
    const [row] = this.#waiting.values();
    this.#waiting.delete(row.number);
    this.#written.set(row.number, row);
    if (this.#written.size > MOST_WRITTEN)
      this.#written.delete(/** @type {number} */ (this.#written.keys().next().value));
    this.#write(blockLine(row));
    if (row.succeeded + row.reverted > 0) this.sample = lowestOf([...this.sample, row]);
  }
}

/** @param {Pick<BlockRow, 'number' | 'hash'>} block @param {number} number @param {string | null} hash null: any */
function isOf(block, number, hash) {
  return block.number === number && (hash === null || block.hash === hash);
}

/**
 * The blocks that are proved: a hash is a random number that the reporter did not choose.
 * @template {Pick<BlockRow, 'hash' | 'number'>} T
 * @param {T[]} rows with operations of this run
 */
export function lowestOf(rows) {
  return [...rows].sort((a, b) => (a.hash < b.hash ? -1 : 1)).slice(0, SAMPLED);
}
