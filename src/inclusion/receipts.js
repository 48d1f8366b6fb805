import { toNumber } from '../chain/rpc.js';
import { RpcError } from '../errors.js';
import { followChain } from './follow.js';

/**
 * @import { InclusionDetector } from '../types.d.ts'
 * @import { Found } from './follow.js'
 * @import { InclusionOptions } from './index.js'
 */

/** Receipts asked for at once. */
const ASK_AT_ONCE = 64;

/**
 * Inclusion by receipt: after each new head every waiting transaction is asked for. It costs a call for each
 * transaction and block, and is here for nodes that do not list the transactions of a block, and to compare with.
 *
 * @param {InclusionOptions} options
 * @returns {InclusionDetector}
 */
export function createReceiptsInclusion(options) {
  const { rpc } = options;
  return followChain(options, (watched) => {
    /** Receipts whose blocks are not read yet, by block. @type {Map<number, Found[]>} */
    const byBlock = new Map();

    /** @param {string} hash */
    async function ask(hash) {
      const receipt = await rpc
        .call('eth_getTransactionReceipt', [hash], 'inclusion')
        .catch((/** @type {unknown} */ error) => {
          // Some nodes answer with an error, not null, while a transaction is in no accepted block.
          if (error instanceof RpcError) return null;
          throw error;
        });
      const callback = watched.get(hash);
      if (receipt === null || callback === undefined) return;
      const blockNumber = toNumber(receipt.blockNumber);
      watched.delete(hash);
      const found = byBlock.get(blockNumber) ?? [];
      found.push({ hash, blockNumber, blockHash: receipt.blockHash, callback });
      byBlock.set(blockNumber, found);
    }

    return {
      prepare: async (to) => {
        const hashes = [...watched.keys()];
        for (let at = 0; at < hashes.length; at += ASK_AT_ONCE)
          await Promise.all(hashes.slice(at, at + ASK_AT_ONCE).map(ask));
        // One of a block that came meanwhile is asked for again with that: by then another block may have its place.
        for (const number of [...byBlock.keys()].filter((known) => known > to)) {
          for (const { hash, callback } of byBlock.get(number) ?? []) watched.set(hash, callback);
          byBlock.delete(number);
        }
      },
      find: (block, number) => {
        /** @type {Found[]} */
        const all = [];
        // One whose block was read before its receipt is told of with the next block.
        for (const blockNumber of [...byBlock.keys()].filter((known) => known <= number)) {
          all.push(...(byBlock.get(blockNumber) ?? []));
          byBlock.delete(blockNumber);
        }
        // The receipt may be of a block that another one has replaced meanwhile.
        const isThere = (/** @type {Found} */ found) => found.blockNumber < number || found.blockHash === block.hash;
        for (const { hash, callback } of all.filter((found) => !isThere(found))) watched.set(hash, callback);
        return all.filter(isThere);
      },
    };
  });
}
