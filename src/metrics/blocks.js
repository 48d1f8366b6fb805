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
