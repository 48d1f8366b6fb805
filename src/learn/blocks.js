import { ask, callsAt, gather, nullIfAbsent, receiptOf, receiptsAt } from '../chain/answers.js';
import { isRetryable } from '../chain/retries.js';
import { RpcError, StressError, UnavailableError } from '../errors.js';
import { seenOf } from './transactions.js';

/**
 * Reads blocks with the receipts of their transactions, a few at a time: first the oldest one, so that a node that no longer
 * has it is found at once, then from the newest one back.
 *
 * @import { Rpc } from '../contracts/chain.d.ts'
 * @import { ChainCall } from '../chain/answers.js'
 * @import { Seen } from './transactions.js'
 *
 * @typedef {object} SeenBlock null: the node does not state it
 * @property {number} number
 * @property {string} hash
 * @property {number | null} timestampS
 * @property {number | null} gasUsed
 * @property {number | null} gasLimit
 * @property {boolean} hasBaseFee
 * @property {number | null} senders different ones
 * @property {Seen[]} transactions
 */

/** Blocks whose requests are in flight. */
const AT_ONCE = 8;

/** Transactions that are enough, so that they fit into memory. */
export const MOST_TRANSACTIONS = 1_000_000;

/** Numbers without a block before the first one that is there: Filecoin has none at some heights. */
const MOST_GAPS = 8;

/** What a node with fewer blocks, or without receipts, is told. */
const CURE = 'give fewer --blocks, or the URL of a node that keeps more (an archive node)';

export class BlockReader {
  /** Numbers that have no block. @type {Set<number>} */
  gaps = new Set();
  #rpc;
  /** What the node said of the last block that it does not have, in brackets. */
  #words = '';
  /** Whether the node has receipts of whole blocks. */
  #servesBlocks = true;

  /** @param {Rpc} rpc */
  constructor(rpc) {
    this.#rpc = rpc;
  }

  /**
   * @param {{from: number, to: number}} range
   * @param {Map<number, SeenBlock>} blocks those that are there already; the others are added
   * @param {{signal: AbortSignal, onBlock: () => unknown}} options signal: ends the reading, without an error
   */
  async read({ from, to }, blocks, { signal, onBlock }) {
    let left = MOST_TRANSACTIONS;
    for (const { transactions } of blocks.values()) left -= transactions.length;
    const add = async (/** @type {number} */ number) => {
      const block = await this.block(number);
      if (block === null) return void this.gaps.add(number);
      left -= block.transactions.length;
      blocks.set(number, block);
      await onBlock();
    };
    let next = to;
    const takeTurns = async () => {
      while (next >= from && left > 0 && !signal.aborted) {
        const number = next;
        next -= 1;
        if (!blocks.has(number) && !this.gaps.has(number)) await add(number);
      }
    };
    try {
      // Alone: they say whether the node has what is needed.
      for (let oldest = from; oldest <= to && this.#hasNone(blocks, from, oldest); oldest += 1) await add(oldest);
      await Promise.all(Array.from({ length: AT_ONCE }, takeTurns));
      if (blocks.size === 0) throw this.#missing(from);
    } catch (error) {
      // The connections are closed then.
      if (!signal.aborted) throw error;
    }
  }

  /**
   * Whether no block is there from the first number to this one.
   * @param {ReadonlyMap<number, SeenBlock>} blocks
   * @param {number} from
   * @param {number} number
   * @throws {UnavailableError} so many numbers have none that the node has lost its blocks
   */
  #hasNone(blocks, from, number) {
    if (blocks.has(number) || (number > from && blocks.has(number - 1))) return false;
    if (this.gaps.size < MOST_GAPS) return true;
    throw this.#missing(from);
  }

  /** @param {number} number */
  #missing(number) {
    return new UnavailableError(`${this.#rpc.display} has no block ${number}${this.#words}: ${CURE}`);
  }

  /** @param {number} number @returns {Promise<SeenBlock | null>} null: the node does not have it */
  async block(number) {
    const block = await ask(this.#rpc, callsAt(number), 'setup').catch((error) => {
      if (!(error instanceof RpcError)) throw error;
      this.#words = ` (${error.message})`;
      return null;
    });
    if (block === null) return null;
    const { hash, timestampS, gasUsed, gasLimit, baseFeeWei, transactions: calls } = block;
    const receipts = await this.#receiptsOf(number, calls);
    const senders = calls.map(({ from }) => from);
    return {
      ...{ number, hash, timestampS, gasUsed, gasLimit, hasBaseFee: baseFeeWei !== null },
      senders: senders.includes(null) ? null : new Set(senders).size,
      transactions: calls.map((call, i) => seenOf(call, receipts[i])),
    };
  }

  /** In the order of the transactions. @param {number} number @param {readonly ChainCall[]} calls */
  async #receiptsOf(number, calls) {
    if (calls.length === 0) return [];
    // Some nodes leave some of them out.
    const known = new Map((await this.#ofBlock(number))?.map((receipt) => [receipt.hash, receipt]));
    return Promise.all(
      calls.map(async ({ hash }) => {
        const receipt = known.get(hash) ?? (await nullIfAbsent(gather(this.#rpc, receiptOf(hash), 'setup')));
        if (receipt !== null) return receipt;
        throw new UnavailableError(`${this.#rpc.display} has no receipt of ${hash} in block ${number}: ${CURE}`);
      }),
    ).catch((error) => {
      if (!(error instanceof RpcError)) throw error;
      throw new UnavailableError(
        `stress learn needs receipts of transactions: ${this.#rpc.display}: ${error.message}`,
        error,
      );
    });
  }

  /** @param {number} number */
  async #ofBlock(number) {
    if (!this.#servesBlocks) return null;
    try {
      return await ask(this.#rpc, receiptsAt(number), 'setup');
    } catch (error) {
      if (!(error instanceof StressError) || isRetryable(error)) throw error;
      this.#servesBlocks = false;
      return null;
    }
  }
}
