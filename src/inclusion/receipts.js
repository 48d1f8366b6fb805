import { nullIfRefused, toNumber } from '../chain/rpc.js';
import { followChain } from './follow.js';

/**
 * @import { InclusionDetector } from '../types.d.ts'
 * @import { Found } from './follow.js'
 * @import { InclusionOptions } from './index.js'
 */

/** Receipts fetched at once. */
const MAX_IN_FLIGHT = 64;

/**
 * Inclusion by receipt: after each new head the receipt of every waiting transaction is fetched. It costs a call per
 * transaction and block, and is for nodes whose blocks do not list their transactions, and for comparisons.
 *
 * @param {InclusionOptions} options
 * @returns {InclusionDetector}
 */
export function createReceiptsInclusion(options) {
  const { rpc } = options;
  return followChain(options, (watched) => {
    /** Receipts of blocks that are not read yet, by block number. @type {Map<number, Found[]>} */
    const byBlock = new Map();

    /** @param {string} hash */
    async function fetchReceipt(hash) {
      const receipt = await nullIfRefused(rpc.call('eth_getTransactionReceipt', [hash], 'inclusion'));
      const watcher = watched.get(hash);
      if (receipt === null || watcher === undefined) return;
      const blockNumber = toNumber(receipt.blockNumber);
      watched.delete(hash);
      const found = byBlock.get(blockNumber) ?? [];
      found.push({ hash, blockNumber, blockHash: receipt.blockHash, watcher });
      byBlock.set(blockNumber, found);
    }

    return {
      prepare: async (to) => {
        const hashes = [...watched.keys()];
        for (let at = 0; at < hashes.length; at += MAX_IN_FLIGHT)
          await Promise.all(hashes.slice(at, at + MAX_IN_FLIGHT).map(fetchReceipt));
        // A receipt of a newer block is fetched again with that block, because a reorg may replace the block before.
        for (const number of [...byBlock.keys()].filter((known) => known > to)) {
          for (const { hash, watcher } of byBlock.get(number) ?? []) watched.set(hash, watcher);
          byBlock.delete(number);
        }
      },
      find: (block, number) => {
        /** @type {Found[]} */
        const all = [];
        // A receipt that came after its block was read is reported with the next block.
        for (const blockNumber of [...byBlock.keys()].filter((known) => known <= number)) {
          all.push(...(byBlock.get(blockNumber) ?? []));
          byBlock.delete(blockNumber);
        }
        // The block of a receipt may have been replaced.
        const isIncluded = (/** @type {Found} */ found) => found.blockNumber < number || found.blockHash === block.hash;
        for (const { hash, watcher } of all.filter((found) => !isIncluded(found))) watched.set(hash, watcher);
        return all.filter(isIncluded);
      },
    };
  });
}
