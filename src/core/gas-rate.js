import { toNumber } from '../chain/rpc.js';

/**
 * The rate of operations for --rate 30Mgas: the gas that is asked for, divided by the mean gas of an operation in the
 * blocks of the warm-up. It is set once, at the end of the warm-up, because a rate that follows the measurement would
 * hide a drift.
 *
 * @import { Rpc } from '../types.d.ts'
 *
 * @typedef {object} GasBlock
 * @property {number} number
 * @property {number} transactions
 * @property {number} ours
 * @property {number} gasUsed
 *
 * @typedef {object} GasRateFacts for the run file
 * @property {number} gasPerSecond as asked
 * @property {number | null} gasPerOperation as measured in the warm-up; null: not measured
 * @property {number} perSecond operations
 */

/** Blocks whose receipts are read, if no block has our transactions only. */
const BLOCKS_READ = 3;

/** Blocks that are kept. */
const MAX_BLOCKS = 1000;

/** Operations of each wallet before the gas of later ones is measured. */
export const OPERATIONS_EACH = 2;

export class GasRate {
  /** @type {GasRateFacts} */
  facts;
  /** Set if the gas could not be measured. @type {string | null} */
  warning = null;
  /** The latest blocks with a transaction of ours. @type {GasBlock[]} */
  #blocks = [];
  #rpc;
  #wallets;

  /**
   * @param {number} gasPerSecond
   * @param {number} perSecond operations, estimated
   * @param {Pick<Rpc, 'call'>} rpc
   * @param {readonly {address: string}[]} wallets
   */
  constructor(gasPerSecond, perSecond, rpc, wallets) {
    this.facts = { gasPerSecond, gasPerOperation: null, perSecond };
    this.#rpc = rpc;
    this.#wallets = wallets;
  }

  /** @param {GasBlock} block of the warm-up */
  onBlock(block) {
    if (block.ours > 0) this.#blocks.push(block);
    if (this.#blocks.length > MAX_BLOCKS) this.#blocks.shift();
  }

  /** Ends the measurement. */
  async measure() {
    const { transactions, gasUsed } = this.#ownGas() ?? (await this.#readReceipts());
    if (transactions === 0) {
      this.warning = `the gas of an operation could not be measured in the warm-up: the rate of ${this.facts.perSecond.toFixed(1)} per second is based on an estimate`;
      return;
    }
    const gasPerOperation = gasUsed / transactions;
    this.facts = { ...this.facts, gasPerOperation, perSecond: this.facts.gasPerSecond / gasPerOperation };
  }

  /**
   * Of blocks with our transactions only. The first operation of a wallet often costs more, because it fills storage:
   * the later half of the operations counts.
   */
  #ownGas() {
    const own = this.#blocks.filter(({ ours, transactions }) => ours === transactions);
    const half = own.reduce((sum, { transactions }) => sum + transactions, 0) / 2;
    const sums = { transactions: 0, gasUsed: 0 };
    for (const { transactions, gasUsed } of own.reverse()) {
      if (sums.transactions >= half) break;
      sums.transactions += transactions;
      sums.gasUsed += gasUsed;
    }
    return sums.transactions === 0 ? null : sums;
  }

  /** In blocks with transactions of others, such as those of other instances, receipts tell which ones are ours. */
  async #readReceipts() {
    const own = new Set(this.#wallets.map(({ address }) => address.toLowerCase()));
    const sums = { transactions: 0, gasUsed: 0 };
    for (const { number } of this.#blocks.slice(-BLOCKS_READ)) {
      const block = `0x${number.toString(16)}`;
      const receipts = await this.#rpc.call('eth_getBlockReceipts', [block], 'readback').catch(() => []);
      for (const { from, gasUsed } of Array.isArray(receipts) ? receipts : []) {
        if (!own.has(String(from).toLowerCase())) continue;
        sums.transactions += 1;
        sums.gasUsed += toNumber(gasUsed);
      }
    }
    return sums;
  }
}
