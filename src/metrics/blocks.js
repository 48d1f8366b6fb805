/**
 * Blocks seen during an interval, added up.
 *
 * @typedef {object} BlockTotals
 * @property {number} count
 * @property {number | null} firstNumber
 * @property {number | null} lastNumber
 * @property {number} transactions all in these blocks
 * @property {number} ours
 * @property {number} gasUsed
 * @property {number | null} gasLimit of the last of them
 */

/** @returns {BlockTotals} */
export function noBlocks() {
  return { count: 0, firstNumber: null, lastNumber: null, transactions: 0, ours: 0, gasUsed: 0, gasLimit: null };
}

/**
 * @param {BlockTotals} totals changed in place
 * @param {{number: number, transactions: number, ours: number, gasUsed: number, gasLimit: number}} block
 */
export function addBlock(totals, block) {
  totals.count += 1;
  totals.firstNumber ??= block.number;
  totals.lastNumber = block.number;
  totals.transactions += block.transactions;
  totals.ours += block.ours;
  totals.gasUsed += block.gasUsed;
  totals.gasLimit = block.gasLimit;
}

/** @param {BlockTotals} a @param {BlockTotals} b the later one @returns {BlockTotals} */
export function mergeBlocks(a, b) {
  return {
    count: a.count + b.count,
    firstNumber: a.firstNumber ?? b.firstNumber,
    lastNumber: b.lastNumber ?? a.lastNumber,
    transactions: a.transactions + b.transactions,
    ours: a.ours + b.ours,
    gasUsed: a.gasUsed + b.gasUsed,
    gasLimit: b.gasLimit ?? a.gasLimit,
  };
}

/**
 * Blocks as several threads see them: each sees every block, but only its own transactions in it. A block counts once
 * all have seen it, so that its figures belong together.
 *
 * @typedef {Parameters<typeof addBlock>[1]} SeenBlock
 */
export class SharedBlocks {
  #totals = noBlocks();
  /** By number, those that not all have seen. @type {Map<number, {block: SeenBlock, seen: number}>} */
  #open = new Map();

  /** @param {SeenBlock} block as one thread saw it @param {number} threads that there are */
  add(block, threads) {
    const known = this.#open.get(block.number);
    if (known === undefined) this.#open.set(block.number, { block, seen: 1 });
    else {
      known.block = { ...known.block, ours: known.block.ours + block.ours };
      known.seen += 1;
    }
    // Threads see blocks in order: what is before one that all have seen, one that died had not.
    for (const [number, { block: merged, seen }] of this.#open) {
      if (seen < threads) break;
      addBlock(this.#totals, merged);
      this.#open.delete(number);
    }
  }

  /** @param {boolean} isLast also what not all have seen @returns {BlockTotals} since the last time */
  take(isLast) {
    if (isLast) {
      for (const { block } of this.#open.values()) addBlock(this.#totals, block);
      this.#open.clear();
    }
    const totals = this.#totals;
    this.#totals = noBlocks();
    return totals;
  }
}
