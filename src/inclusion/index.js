import { createBlocksInclusion } from './blocks.js';
import { createReceiptsInclusion } from './receipts.js';

/**
 * An inclusion detector finds out in which block a transaction is.
 *
 * @typedef {object} Block what a detector learned of one block
 * @property {number} number
 * @property {string} hash
 * @property {number} seenAtUs when we read it
 * @property {number} timestampS as the block states it
 * @property {bigint | null} baseFeeWei
 * @property {number} gasUsed
 * @property {number} gasLimit
 * @property {number} transactions all in the block
 * @property {number} ours those somebody watched for
 *
 * @typedef {object} Inclusion
 * @property {number} number of the block
 * @property {string} hash of the block
 * @property {number} seenAtUs when it had its confirmations
 *
 * @typedef {object} Reorg blocks that are no longer part of the chain
 * @property {number} number of the first of them
 * @property {string | null} hash of the first of them, null where it is not known any more
 * @property {number} depth how many
 * @property {string[]} untold hashes of transactions in them that were watched for and not told of, for want of
 *   confirmations; they are watched for again
 *
 * @typedef {object} InclusionDetector
 * @property {(hash: string, found: (inclusion: Inclusion) => void) => void} watch calls back once; watch before sending
 * @property {(hash: string) => void} unwatch forgets a hash, found or not
 * @property {(number: number) => boolean} hasPassed whether that block was read, and has its confirmations
 * @property {() => {source: 'poll' | 'subscription', resolutionMs: number, failedPolls: number, lastError: Error | null, silentMs: number, stillMs: number, blockMs: number}} stats
 *   source: how new heads are learned of now; resolutionMs: how late a block can be seen because of polling, 0 where
 *   heads are pushed; silentMs: how long nothing was heard, in answer or unasked; stillMs: how long there was no new
 *   block; blockMs: mean time between two of them, lately
 * @property {() => Promise<void>} stop looks once more whether the last block still counts
 *
 * @typedef {object} InclusionOptions
 * @property {import('../chain/rpc.js').Rpc} rpc
 * @property {import('../clock.js').Clock} clock
 * @property {number} head number of the latest block when the load starts
 * @property {string | null} [headHash] its hash
 * @property {string | null} [genesisHash] of the first block of the chain
 * @property {number} [confirmations] blocks on top of its own before a transaction is told of; none unless given
 * @property {(reorg: Reorg) => void} [onReorg] called before the blocks that replace them are read; transactions in them
 *   that were told of are not watched for any more
 * @property {(words: string) => void} [onReplaced] the endpoint serves another chain, or no longer has the block where
 *   the load began
 * @property {(block: Block) => void} onBlock called for each new block, in order, before anybody is told of a transaction in it
 */

/** @type {Record<string, (options: InclusionOptions) => InclusionDetector>} */
export const detectors = {
  blocks: createBlocksInclusion,
  receipts: createReceiptsInclusion,
};
