import { ask, receiptsAt } from '../chain/answers.js';
import { digits } from '../text.js';
import { HIGHEST_RATE } from './pacer.js';

/**
 * The rate of operations for --rate 30Mgas: the gas that is asked for, divided by the mean gas of our transactions in the
 * last blocks of the warm-up. It is set once, because a rate that follows the measurement would hide a drift.
 *
 * @import { Rpc } from '../contracts/chain.d.ts'
 * @import { BlockTotals, GasOfOperations, GasRateFacts } from '../contracts/run-file.d.ts'
 */

/** The measurement ends with as many operations or blocks. Fewer operations tell too little of a mix. */
const OPERATIONS = 1000;
const BLOCKS = 50;

export class GasRate {
  /** @type {GasRateFacts} */
  facts;
  /** Set if the gas could not be measured well. @type {string | null} */
  warning = null;
  /** Numbers of the latest blocks with transactions of ours. @type {number[]} */
  #blocks = [];
  /** Our transactions in all blocks. */
  #seen = 0;
  #rpc;
  #wallets;
  #first;
  #wanted;

  /**
   * @param {number} gasPerSecond
   * @param {number} perSecond operations, estimated
   * @param {Pick<Rpc, 'call'>} rpc
   * @param {readonly {address: string}[]} wallets
   * @param {{first: number, isMix: boolean}} load first: operations that are not measured: the first one of a wallet
   *   often costs more, because it fills storage
   */
  constructor(gasPerSecond, perSecond, rpc, wallets, { first, isMix }) {
    this.facts = { gasPerSecond, gasPerOperation: null, perSecond };
    this.#rpc = rpc;
    this.#wallets = wallets;
    this.#first = first;
    this.#wanted = isMix ? OPERATIONS : Math.min(first, OPERATIONS);
  }

  /** @param {{number: number, ours: number}} block of the warm-up */
  onBlock({ number, ours }) {
    if (ours === 0) return;
    this.#blocks.push(number);
    if (this.#blocks.length > BLOCKS) this.#blocks.shift();
    if (this.#seen < this.#first && this.#seen + ours >= this.#first) this.#blocks = [];
    this.#seen += ours;
  }

  /** Whether the warm-up has enough operations. */
  get isEnough() {
    const isMeasuring = this.#seen >= this.#first;
    return isMeasuring && (this.#blocks.length === BLOCKS || this.#seen - this.#first >= this.#wanted);
  }

  /** Ends the measurement. */
  async measure() {
    const gas = await gasIn(this.#rpc, this.#wallets, this.#blocks.reverse());
    if (gas.length === 0) {
      this.warning = `the gas of an operation could not be measured in the warm-up: the rate of ${digits(this.facts.perSecond)} per second is based on an estimate`;
      return;
    }
    if (this.#seen < this.#first)
      this.warning = `the warm-up ended before each wallet had made two operations: the gas of an operation may be too high, and the rate too low; give a longer --tx-timeout`;
    const gasPerOperation = gas.reduce((sum, used) => sum + used, 0) / gas.length;
    const perSecond = Math.min(HIGHEST_RATE, this.facts.gasPerSecond / gasPerOperation);
    this.facts = { ...this.facts, gasPerOperation, perSecond };
  }
}

/**
 * The gas of our transactions by their receipts. Blocks may have transactions of others.
 * @param {Pick<Rpc, 'call'>} rpc
 * @param {readonly {address: string}[]} wallets
 * @param {readonly number[]} blocks the first ones first
 * @returns {Promise<number[]>} of each of the first transactions; none where the node serves no receipts of blocks
 */
export async function gasIn(rpc, wallets, blocks) {
  const own = new Set(wallets.map(({ address }) => address.toLowerCase()));
  /** @type {number[]} */
  const gas = [];
  for (const number of blocks) {
    if (gas.length >= OPERATIONS) break;
    const receipts = await ask(rpc, receiptsAt(number), 'readback').catch(() => null);
    if (receipts === null) break;
    for (const { from, gasUsed } of receipts) if (own.has(from ?? '') && gasUsed !== null) gas.push(gasUsed);
  }
  return gas;
}

/** Blocks read for the gas of a run. */
const LAST_BLOCKS = 8;

/** The latest blocks with transactions of ours. */
export class OwnBlocks {
  /** @type {number[]} */
  #numbers = [];

  /** @param {{number: number, ours: number}} block */
  add({ number, ours }) {
    if (ours === 0) return;
    this.#numbers.push(number);
    if (this.#numbers.length > LAST_BLOCKS) this.#numbers.shift();
  }

  /**
   * Where neither the workload reads receipts nor a block has transactions of ours only.
   * @param {Pick<Rpc, 'call'>} rpc
   * @param {readonly {address: string}[]} wallets
   * @param {GasOfOperations} gas as the load has counted it
   * @param {ReadonlyArray<{blocks: BlockTotals}>} intervals
   * @returns {Promise<GasOfOperations>}
   */
  async gasOf(rpc, wallets, gas, intervals) {
    if (gas.operations > 0 || intervals.some(({ blocks }) => (blocks.own?.transactions ?? 0) > 0)) return gas;
    const used = await gasIn(rpc, wallets, this.#numbers);
    return { operations: used.length, used: used.reduce((sum, one) => sum + one, 0) };
  }
}
