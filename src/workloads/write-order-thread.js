import { setTimeout } from 'node:timers/promises';
import { toHex, toNumber } from '../chain/rpc.js';
import { StressError, UnavailableError } from '../errors.js';
import { drawBits } from '../random.js';
import { WriteOrder } from './write-order.js';
import { slotsByWeight } from './zipf.js';

/**
 * The thread of the workload `contention`: reads the blocks of the run when they are older than a reorg, because
 * nodes do not keep them until the end.
 *
 * @import { Failure, SideWork } from '../core/side-thread.js'
 * @import { Rpc } from '../types.d.ts'
 * @import { Receipt } from './contract.d.ts'
 * @import { SlotState } from './write-order.js'
 *
 * @typedef {object} OrderTask plain data
 * @property {number} seed
 * @property {number} slots
 * @property {number} theta
 * @property {Array<{address: string, nonce: number}>} wallets
 * @property {number} startBlock newest block without a write
 * @property {number} depth of reorgs that are waited for, in blocks
 *
 * @typedef {object} Order the result
 * @property {Map<number, SlotState>} slots as they must be at the block of the audit
 * @property {number} writes
 * @property {number[]} succeeded transactions of each wallet
 * @property {number[]} reverted
 * @property {string | null} fault
 */

const PAUSE_MS = 500;
/** Blocks that are read at once. */
const AT_ONCE = 8;

/** @type {SideWork<OrderTask, {blockNumber: number}, Order | Failure>} a message has the block of the audit */
export default async function follow({ seed, slots, theta, wallets, startBlock, depth }, [rpc], onMessage) {
  const draw = slotsByWeight(slots, theta);
  const order = new WriteOrder({ wallets, slotOf: (position, nonce) => draw(drawBits(seed, position, nonce)) });
  let last = Infinity;
  onMessage(({ blockNumber }) => (last = blockNumber));
  let done = startBlock;
  /** @type {string | null} */
  let hash = null;
  /** @type {string | null} */
  let trouble = null;
  while (done < last) {
    try {
      const to = last < Infinity ? last : toNumber(await rpc.call('eth_blockNumber', [], 'audit')) - depth;
      const numbers = Array.from({ length: Math.min(AT_ONCE, to - done) }, (_, i) => done + 1 + i);
      for (const { block, receipts } of await Promise.all(numbers.map((number) => readBlock(rpc, number)))) {
        if (hash !== null && block.parentHash !== hash)
          return { why: `block ${done} was replaced after it was read: a reorg of more than ${depth} blocks` };
        order.add(receipts);
        ({ hash } = block);
        done += 1;
      }
      trouble = null;
      if (numbers.length === AT_ONCE) continue;
    } catch (error) {
      if (!(error instanceof StressError)) throw error;
      if (last < Infinity && trouble === error.message) return { why: error.message };
      trouble = error.message;
    }
    if (done < last) await setTimeout(PAUSE_MS);
  }
  const { slots: left, writes, succeeded, reverted, fault } = order;
  return { slots: left, writes, succeeded, reverted, fault };
}

/** @param {Rpc} rpc @param {number} number @returns {Promise<{block: any, receipts: Receipt[]}>} */
async function readBlock(rpc, number) {
  const [block, receipts] = await Promise.all([
    rpc.call('eth_getBlockByNumber', [toHex(number), false], 'audit'),
    rpc.call('eth_getBlockReceipts', [toHex(number)], 'audit'),
  ]);
  // anvil answers as if a block that it has dropped were empty.
  if (block === null || !Array.isArray(receipts) || (receipts.length === 0 && toNumber(block.gasUsed) > 0))
    throw new UnavailableError(`the node does not have the receipts of block ${number} any more`);
  if (receipts.some(({ blockHash }) => blockHash !== block.hash))
    throw new UnavailableError(`block ${number} is being replaced`);
  return { block, receipts };
}
