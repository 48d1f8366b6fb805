import { toNumber } from '../chain/rpc.js';
import { HIGHEST_RATE } from './pacer.js';

/**
 * The rate of operations for --rate 30Mgas: the gas that is asked for, divided by the mean gas of an operation in the
 * blocks of the warm-up. It is set once, at the end of the warm-up, because a rate that follows the measurement would
 * hide a drift.
 *
 * @import { GasOfOperations, Member, Rpc, SeenBlock } from '../types.d.ts'
 *
 * @typedef {Record<string, {gasOutside: GasOfOperations}>} Groups
 *
 * @typedef {Pick<SeenBlock, 'number' | 'transactions' | 'ours' | 'gasUsed'>} GasBlock
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

/** Operations of each wallet in the warm-up: the first half of all is not measured. */
export const OPERATIONS_EACH = 2;

const NO_GAS = Object.freeze({ operations: 0, used: 0 });
const NO_BLOCKS = Object.freeze({ transactions: 0, gasUsed: 0 });

/** @typedef {{transactions: number, gasUsed: number}} Sums @param {Sums} sums @param {Sums} block @returns {Sums} */
function addBlock(sums, { transactions, gasUsed }) {
  return { transactions: sums.transactions + transactions, gasUsed: sums.gasUsed + gasUsed };
}

export class GasRate {
  /** @type {GasRateFacts} */
  facts;
  /** Set if the gas could not be measured. @type {string | null} */
  warning = null;
  /** The latest blocks with a transaction of ours. @type {GasBlock[]} */
  #blocks = [];
  #rpc;
  #wallets;
  #members;
  /** @type {Groups} */
  #before = {};

  /**
   * @param {number} gasPerSecond
   * @param {number} perSecond operations, estimated
   * @param {Pick<Rpc, 'call'>} rpc
   * @param {readonly {address: string}[]} wallets
   * @param {readonly Member[]} [members] of a mix, whose operations have these names
   */
  constructor(gasPerSecond, perSecond, rpc, wallets, members = []) {
    this.facts = { gasPerSecond, gasPerOperation: null, perSecond };
    this.#rpc = rpc;
    this.#wallets = wallets;
    this.#members = members;
  }

  /**
   * The first operation of a wallet often costs more, because it fills storage: the operations after this call count.
   * @param {Groups} groups of the operations so far, by name
   */
  begin(groups) {
    this.#blocks = [];
    this.#before = groups;
  }

  /** @param {GasBlock} block of the warm-up */
  onBlock(block) {
    if (block.ours > 0) this.#blocks.push(block);
    if (this.#blocks.length > MAX_BLOCKS) this.#blocks.shift();
  }

  /** Ends the measurement. @param {Groups} groups */
  async measure(groups) {
    const gasPerOperation = this.#meanOfMembers(groups) ?? (await this.#meanOfBlocks());
    if (gasPerOperation === null) {
      this.warning = `the gas of an operation could not be measured in the warm-up: the rate of ${this.facts.perSecond.toFixed(1)} per second is based on an estimate`;
      return;
    }
    const perSecond = Math.min(HIGHEST_RATE, this.facts.gasPerSecond / gasPerOperation);
    this.facts = { ...this.facts, gasPerOperation, perSecond };
  }

  /** By receipts: weighted, because a few operations of a costly member decide the mean. @param {Groups} groups */
  #meanOfMembers(groups) {
    let [gas, weights] = [0, 0];
    for (const { name, weight } of this.#members) {
      const [now, before] = [groups, this.#before].map((all) => all[name]?.gasOutside ?? NO_GAS);
      const operations = now.operations - before.operations;
      if (operations === 0) return null;
      gas += (weight * (now.used - before.used)) / operations;
      weights += weight;
    }
    return weights === 0 ? null : gas / weights;
  }

  async #meanOfBlocks() {
    const own = this.#blocks.filter(({ ours, transactions }) => ours === transactions);
    const { transactions, gasUsed } = own.length > 0 ? own.reduce(addBlock, NO_BLOCKS) : await this.#readReceipts();
    return transactions === 0 ? null : gasUsed / transactions;
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
