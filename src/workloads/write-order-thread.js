import { HEAD, ask, headerAt, receiptsAt } from '../chain/answers.js';
import { StressError, UnavailableError } from '../errors.js';
import { drawBits } from '../random.js';
import { WriteOrder } from './write-order.js';
import { slotsByWeight } from './zipf.js';

/**
 * The thread of the workload `contention`: reads the blocks of the run when they are older than a reorg, because
 * nodes do not keep them until the end.
 *
 * @import { ChainReceipt, Header, Rpc } from '../contracts/chain.d.ts'
 * @import { Failure, SideWork } from '../core/side-thread.js'
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
export default async function follow({ seed, slots, theta, wallets, startBlock, depth }, [rpc], { onMessage, clock }) {
  const draw = slotsByWeight(slots, theta);
  const order = new WriteOrder({ wallets, slotOf: (position, nonce) => draw(drawBits(seed, position, nonce)) });
  let last = Infinity;
  onMessage(({ blockNumber }) => (last = blockNumber));
  let done = startBlock;
  /** The last block that was read. @type {{number: number, hash: string} | null} */
  let newest = null;
  /** @type {string | null} */
  let trouble = null;
  while (done < last) {
    try {
      const to = last < Infinity ? last : (await ask(rpc, HEAD, 'audit')) - depth;
      const numbers = Array.from({ length: Math.min(AT_ONCE, to - done) }, (_, i) => done + 1 + i);
      const headers = await Promise.all(numbers.map((number) => ask(rpc, headerAt(number), 'audit')));
      for (const [i, header] of headers.entries()) {
        const isHole = header === null && newest !== null && nextOf(headers, i)?.parentHash === newest.hash;
        if (!isHole) {
          if (newest !== null && header?.parentHash !== newest.hash && (await isReplaced(rpc, newest)))
            return {
              why: `block ${newest.number} was replaced after it was read: a reorg of more than ${depth} blocks`,
            };
          order.add(await receiptsOf(rpc, numbers[i], header));
          newest = header;
        }
        done += 1;
      }
      trouble = null;
      if (numbers.length === AT_ONCE) continue;
    } catch (error) {
      if (!(error instanceof StressError)) throw error;
      if (last < Infinity && trouble === error.message) return { why: error.message };
      trouble = error.message;
    }
    if (done < last) await clock.sleep(PAUSE_MS);
  }
  const { slots: left, writes, succeeded, reverted, fault } = order;
  return { slots: left, writes, succeeded, reverted, fault };
}

/** @param {Array<Header | null>} headers @param {number} at */
const nextOf = (headers, at) => headers.slice(at + 1).find((header) => header !== null);

/** Whether a block that was read has another hash now. Not all chains have parents that can be compared. @param {Rpc} rpc @param {{number: number, hash: string}} block */
async function isReplaced(rpc, { number, hash }) {
  const now = await ask(rpc, headerAt(number), 'audit');
  return now !== null && now.hash !== hash;
}

/** @param {Rpc} rpc @param {number} number @param {Header | null} header @returns {Promise<ChainReceipt[]>} */
async function receiptsOf(rpc, number, header) {
  const receipts = header && (await ask(rpc, receiptsAt(number), 'audit'));
  // anvil answers as if a block that it has dropped were empty.
  if (header === null || receipts === null || (receipts.length === 0 && (header.gasUsed ?? 0) > 0))
    throw new UnavailableError(`the node does not have the receipts of block ${number} any more`);
  if (receipts.some(({ blockHash }) => blockHash !== null && blockHash !== header.hash))
    throw new UnavailableError(`block ${number} is being replaced`);
  return receipts;
}
