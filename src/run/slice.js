/**
 * Slice arithmetic: which wallets an instance owns.
 *
 * @typedef {object} Slice
 * @property {number} offset index of the first wallet
 * @property {number} threads how many wallets
 */

/**
 * @param {Slice} slice
 * @returns {number[]} the wallet indexes offset .. offset + threads - 1
 */
export function sliceIndexes({ offset, threads }) {
  return Array.from({ length: threads }, (_, i) => offset + i);
}
