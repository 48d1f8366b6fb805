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
 * @property {number} [full] those without room for another transaction as large as theirs are on average
 * @property {number} [gapMaxMs] the longest time without a block before one of them, or before the end of the interval
 * @property {number | null} skewMinMs time of day when a block was seen, less its timestamp: of all blocks the least
 * @property {number | null} skewMaxMs
 * @property {number} skewSumMs of all blocks
 *
 * @typedef {object} BlockFacts what addBlock() needs of one block
 * @property {number} number
 * @property {string} [hash]
 * @property {number} transactions
 * @property {number} ours
 * @property {number} gasUsed
 * @property {number} gasLimit
 * @property {number} skewMs
 * @property {number} [gapMs] after the block before it was seen
 */

/** @returns {BlockTotals} */
export function noBlocks() {
  return {
    count: 0,
    firstNumber: null,
    lastNumber: null,
    transactions: 0,
    ours: 0,
    gasUsed: 0,
    gasLimit: null,
    full: 0,
    gapMaxMs: 0,
    skewMinMs: null,
    skewMaxMs: null,
    skewSumMs: 0,
  };
}

/**
 * @param {BlockTotals} totals changed in place
 * @param {BlockFacts} block
 */
export function addBlock(totals, block) {
  totals.count += 1;
  totals.firstNumber ??= block.number;
  totals.lastNumber = block.number;
  totals.transactions += block.transactions;
  totals.ours += block.ours;
  totals.gasUsed += block.gasUsed;
  totals.gasLimit = block.gasLimit;
  const { transactions, gasUsed, gasLimit } = block;
  // Nodes reserve the gas limit of a transaction, which may be twice what it uses.
  if (transactions > 0 && gasUsed + (2 * gasUsed) / transactions > gasLimit) totals.full = (totals.full ?? 0) + 1;
  totals.gapMaxMs = Math.max(totals.gapMaxMs ?? 0, block.gapMs ?? 0);
  totals.skewMinMs = Math.min(totals.skewMinMs ?? Infinity, block.skewMs);
  totals.skewMaxMs = Math.max(totals.skewMaxMs ?? -Infinity, block.skewMs);
  totals.skewSumMs += block.skewMs;
}

/** So many times the other gaps on average: the chain stood still, and the gap says nothing of its pace. */
const STILL = 5;

/**
 * @param {BlockTotals} totals
 * @param {number} durationMs in which they were seen
 * @returns {number} the mean time between two blocks, without the longest gap where the chain stood still
 */
export function blockIntervalMs({ count, gapMaxMs = 0, skewMinMs, skewMaxMs }, durationMs) {
  const gapMs = Math.min(gapMaxMs, durationMs);
  const othersMs = (durationMs - gapMs) / Math.max(1, count - 1);
  // Blocks that were made in the gap were seen that much later than their timestamps.
  const isLate = (skewMaxMs ?? 0) - (skewMinMs ?? 0) > gapMs / 2;
  return count > 2 && gapMs > STILL * othersMs && !isLate ? othersMs : durationMs / count;
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
    full: (a.full ?? 0) + (b.full ?? 0),
    gapMaxMs: Math.max(a.gapMaxMs ?? 0, b.gapMaxMs ?? 0),
    skewMinMs:
      a.skewMinMs === null || b.skewMinMs === null ? (a.skewMinMs ?? b.skewMinMs) : Math.min(a.skewMinMs, b.skewMinMs),
    skewMaxMs:
      a.skewMaxMs === null || b.skewMaxMs === null ? (a.skewMaxMs ?? b.skewMaxMs) : Math.max(a.skewMaxMs, b.skewMaxMs),
    skewSumMs: a.skewSumMs + b.skewSumMs,
  };
}

/**
 * Blocks as several threads see them: each sees every block, but only its own transactions in it. A block counts once
 * all have seen it, so that its figures belong together.
 *
 * @template {BlockFacts} T
 */
export class SharedBlocks {
  #totals = noBlocks();
  /** By number and hash, those that not all have seen. @type {Map<string, {block: T, seen: number}>} */
  #open = new Map();
  #onWhole;

  /** @param {(block: T) => void} onWhole called with each block once all threads have seen it */
  constructor(onWhole) {
    this.#onWhole = onWhole;
  }

  /** @param {T} block as one thread saw it @param {number} threads that there are */
  add(block, threads) {
    // Where blocks are replaced, two have the same number.
    const key = `${block.number}:${block.hash ?? ''}`;
    const known = this.#open.get(key);
    if (known === undefined) this.#open.set(key, { block, seen: 1 });
    else {
      // It was seen when the first of them saw it, whoever tells first.
      const first = block.skewMs < known.block.skewMs ? block : known.block;
      known.block = { ...first, ours: known.block.ours + block.ours };
      known.seen += 1;
    }
    if ((this.#open.get(key)?.seen ?? 0) < threads) return;
    // Each sees them in order: what came before one that all have seen, nobody sees any more.
    for (const [other, { block: merged }] of this.#open) {
      this.#add(merged);
      this.#open.delete(other);
      if (other === key) break;
    }
  }

  /** @param {T} block */
  #add(block) {
    addBlock(this.#totals, block);
    this.#onWhole(block);
  }

  /** @param {boolean} isLast also what not all have seen @returns {BlockTotals} since the last time */
  take(isLast) {
    if (isLast) {
      for (const { block } of this.#open.values()) this.#add(block);
      this.#open.clear();
    }
    const totals = this.#totals;
    this.#totals = noBlocks();
    return totals;
  }
}
