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
 * @property {number} seenAtUs
 *
 * @typedef {object} InclusionDetector
 * @property {(hash: string, found: (inclusion: Inclusion) => void) => void} watch calls back once; watch before sending
 * @property {(hash: string) => void} unwatch forgets a hash, found or not
 * @property {() => {source: 'poll' | 'subscription', resolutionMs: number, failedPolls: number, lastError: Error | null, silentMs: number}} stats
 *   source: how new heads are learned of now; resolutionMs: how late a block can be seen because of polling, 0 where
 *   heads are pushed; silentMs: how long nothing was heard, in answer or unasked
 * @property {() => Promise<void>} stop
 *
 * @typedef {object} InclusionOptions
 * @property {import('../chain/rpc.js').Rpc} rpc
 * @property {import('../clock.js').Clock} clock
 * @property {number} head number of the latest block when the load starts
 * @property {(block: Block) => void} onBlock called for each new block, in order, before anybody is told of a transaction in it
 */

/** @type {Record<string, (options: InclusionOptions) => InclusionDetector>} */
export const detectors = {
  blocks: createBlocksInclusion,
  receipts: createReceiptsInclusion,
};
