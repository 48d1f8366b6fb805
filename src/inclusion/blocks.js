import { followChain } from './chain.js';

/**
 * Inclusion by block: one head check and one block fetch serve every waiting transaction, so the cost is per
 * block and not per transaction.
 *
 * @param {import('./index.js').InclusionOptions} options
 * @returns {import('./index.js').InclusionDetector}
 */
export function createBlocksInclusion(options) {
  return followChain(options, (watched) => ({ find: (block, number) => takeListed(watched, block, number) }));
}

/**
 * @param {import('./chain.js').Watched} watched
 * @param {any} block
 * @param {number} number
 * @returns {import('./chain.js').Found[]} what the block lists
 */
export function takeListed(watched, block, number) {
  /** @type {import('./chain.js').Found[]} */
  const found = [];
  for (const hash of block.transactions) {
    const callback = watched.get(hash);
    if (callback === undefined) continue;
    watched.delete(hash);
    found.push({ hash, blockNumber: number, blockHash: block.hash, callback });
  }
  return found;
}
