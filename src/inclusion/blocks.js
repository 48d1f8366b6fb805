import { followChain } from './chain.js';

/**
 * @import { Found, Watched } from './chain.js'
 * @import { InclusionDetector, InclusionOptions } from './index.js'
 */

/**
 * Inclusion by block: one head check and one block fetch serve every waiting transaction, so the cost is per
 * block and not per transaction.
 *
 * @param {InclusionOptions} options
 * @returns {InclusionDetector}
 */
export function createBlocksInclusion(options) {
  return followChain(options, (watched) => ({ find: (block, number) => takeListed(watched, block, number) }));
}

/**
 * @param {Watched} watched
 * @param {any} block
 * @param {number} number
 * @returns {Found[]} what the block lists
 */
export function takeListed(watched, block, number) {
  /** @type {Found[]} */
  const found = [];
  for (const hash of block.transactions) {
    const callback = watched.get(hash);
    if (callback === undefined) continue;
    watched.delete(hash);
    found.push({ hash, blockNumber: number, blockHash: block.hash, callback });
  }
  return found;
}
