/**
 * Slice arithmetic: which wallets an instance owns.
 *
 * @typedef {object} Slice
 * @property {number} offset index of the first wallet
 * @property {number} threads how many wallets
 */

/**
 * Parts of a slice, one after another, of nearly equal size.
 * @param {Slice} slice
 * @param {number} parts no more than there are wallets
 * @returns {Slice[]}
 */
export function splitSlice({ offset, threads }, parts) {
  const end = (/** @type {number} */ part) => Math.round((threads * part) / parts);
  return Array.from({ length: parts }, (_, i) => ({ offset: offset + end(i), threads: end(i + 1) - end(i) }));
}

/**
 * @param {Slice} slice
 * @returns {number[]} the wallet indexes offset .. offset + threads - 1
 */
export function sliceIndexes({ offset, threads }) {
  return Array.from({ length: threads }, (_, i) => offset + i);
}
