import { createBlocksInclusion } from './blocks.js';
import { createReceiptsInclusion } from './receipts.js';
import { createSyncInclusion } from './sync.js';

/**
 * @import { Purpose, Rpc } from '../chain/rpc.js'
 * @import { Clock } from '../clock.js'
 * @import { Ability } from './choose.js'
 */

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
 * @property {Submit} [submit] sends a transaction, where that is how its block is learned of
 * @property {(hash: string) => void} unwatch forgets a hash, found or not
 * @property {(number: number) => boolean} hasPassed whether that block was read, and has its confirmations
 * @property {() => {source: 'poll' | 'subscription', resolutionMs: number, failedPolls: number, lastError: Error | null, silentMs: number, stillMs: number, behindMs: number, blockMs: number, newestBlock: number, warning: string | null}} stats
 *   source: how new heads are learned of now; resolutionMs: how late a block can be seen because of polling, 0 where
 *   heads are pushed; silentMs: how long nothing was heard, in answer or unasked; stillMs: how long there was no new
 *   block; behindMs: how long the node's head has been below blocks that were read; blockMs: mean time between two
 *   blocks, lately; newestBlock: number of the last one that was read; warning: what the user should know, in words
 * @property {() => Promise<void>} stop looks once more whether the last block still counts
 *
 * @callback Submit used in place of eth_sendRawTransaction
 * @param {string} raw
 * @param {string} hash
 * @param {Purpose} purpose
 * @param {(endpoint?: number) => unknown} [onSent] as for Rpc.call
 * @returns {Promise<string>} the node has it: its hash. Rejects as Rpc.call does.
 *
 * @typedef {object} InclusionOptions
 * @property {Rpc} rpc
 * @property {Clock} clock
 * @property {number} head number of the latest block when the load starts
 * @property {string | null} [headHash] its hash
 * @property {string | null} [genesisHash] of the first block of the chain
 * @property {number} [connections] most requests to the endpoint at once
 * @property {number} [answerMs] longest wait for one answer of it
 * @property {number} [confirmations] blocks on top of its own before a transaction is told of; none unless given
 * @property {(reorg: Reorg) => void} [onReorg] called before the blocks that replace them are read; transactions in them
 *   that were told of are not watched for any more
 * @property {(words: string) => void} [onReplaced] the endpoint serves another chain, or no longer has the block where
 *   the load began
 * @property {(block: Block) => void} onBlock called for each new block, in order, before anybody is told of a transaction in it
 */

/** @type {Record<string, (options: InclusionOptions) => InclusionDetector>} */
export const detectors = {
  heads: createBlocksInclusion,
  blocks: createBlocksInclusion,
  sync: createSyncInclusion,
  receipts: createReceiptsInclusion,
};

/**
 * What an endpoint must be able to do for each of them, the cheapest first: `auto` takes the first one that it can do.
 * @type {Record<keyof detectors, readonly Ability[]>}
 */
export const needs = Object.freeze({
  heads: ['pushesHeads', 'listsTransactions'],
  blocks: ['listsTransactions'],
  sync: ['submitsSync'],
  receipts: ['servesReceipts'],
});
