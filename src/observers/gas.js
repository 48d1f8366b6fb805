import { ask, receiptsAt } from '../chain/answers.js';
import { asMembers, orUnknown } from '../stats/unknown.js';
import { digits } from '../text.js';

/**
 * The gas of our operations, by the receipts of their blocks.
 *
 * @import { Rpc } from '../contracts/chain.d.ts'
 * @import { GasOfOperations, GasRateFacts } from '../contracts/run-file.d.ts'
 * @import { ObserverRow } from './index.js'
 * @import { OpenOptions, RunObserver } from './observer.d.ts'
 */

/** The measurement ends with as many operations or blocks. Fewer operations tell too little of a mix. */
const OPERATIONS = 1000;
const BLOCKS = 50;

/**
 * The rate of operations for --rate 30Mgas: the gas that is asked for, divided by the mean gas of our transactions in the
 * last blocks of the warm-up. It is set once, because a rate that follows the measurement would hide a drift.
 */
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
  #highest;
  #isMeasured = false;

  /**
   * @param {number} gasPerSecond
   * @param {number} perSecond operations, estimated
   * @param {Pick<Rpc, 'call'>} rpc
   * @param {readonly {address: string}[]} wallets
   * @param {{firstOperations: number, isMix: boolean, highestPerSecond: number}} load firstOperations: operations that are not measured: the first one
   *   of a wallet often costs more, because it fills storage
   */
  constructor(gasPerSecond, perSecond, rpc, wallets, { firstOperations, isMix, highestPerSecond }) {
    this.facts = { gasPerSecond, gasPerOperation: null, perSecond };
    this.#rpc = rpc;
    this.#wallets = wallets;
    this.#first = firstOperations;
    this.#highest = highestPerSecond;
    this.#wanted = isMix ? OPERATIONS : Math.min(firstOperations, OPERATIONS);
  }

  /** @param {{number: number, ours: number}} block of the warm-up */
  block({ number, ours }) {
    if (ours === 0 || this.#isMeasured) return;
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
    this.#isMeasured = true;
    const gas = await gasIn(this.#rpc, this.#wallets, this.#blocks.reverse());
    if (gas.length === 0) {
      this.warning = `the gas of an operation could not be measured in the warm-up: the rate of ${digits(this.facts.perSecond)} per second is based on an estimate`;
      return;
    }
    if (this.#seen < this.#first)
      this.warning = `the warm-up ended before each wallet had made two operations: the gas of an operation may be too high, and the rate too low; give a longer --tx-timeout`;
    const gasPerOperation = gas.reduce((sum, used) => sum + used, 0) / gas.length;
    const perSecond = Math.min(this.#highest, this.facts.gasPerSecond / gasPerOperation);
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
async function gasIn(rpc, wallets, blocks) {
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

/** The gas in the run file. @implements {RunObserver} */
class RunGas {
  /** The latest blocks with transactions of ours. @type {number[]} */
  #blocks = [];
  /** Where neither the workload reads receipts nor a block has transactions of ours only. @type {GasOfOperations | null} */
  #gas = null;
  /** @type {Pick<Parameters<NonNullable<RunObserver['begin']>>[0], 'control' | 'warnOf'> | null} */
  #run = null;
  #options;

  /** @param {{rate: GasRate | null, rpc: Pick<Rpc, 'call'>, wallets: readonly {address: string}[]}} options */
  constructor(options) {
    this.#options = options;
    this.rate = options.rate;
  }

  /** @type {NonNullable<RunObserver['begin']>} */
  begin({ control, warnOf }) {
    this.#run = { control, warnOf };
  }

  /** @type {NonNullable<RunObserver['window']>} */
  window({ startUs }) {
    if (this.rate === null) return;
    const { facts, warning } = this.rate;
    this.#run?.control.retime(facts.perSecond, startUs);
    if (warning !== null) this.#run?.warnOf('warmup', warning);
  }

  /** @param {{number: number, ours: number}} block */
  block(block) {
    this.rate?.block(block);
    if (block.ours === 0) return;
    this.#blocks.push(block.number);
    if (this.#blocks.length > LAST_BLOCKS) this.#blocks.shift();
  }

  /** @type {NonNullable<RunObserver['finish']>} */
  async finish({ isAborted, gas, intervals }) {
    const isKnown = gas.operations > 0 || intervals.some(({ blocks }) => (blocks.own?.transactions ?? 0) > 0);
    if (isKnown || isAborted) return;
    const used = await gasIn(this.#options.rpc, this.#options.wallets, this.#blocks);
    this.#gas = { operations: used.length, used: used.reduce((sum, one) => sum + one, 0) };
  }

  /** @returns {ReturnType<RunObserver['describe']>} */
  describe() {
    if (this.rate === null) return { members: { ...(this.#gas && { gas: this.#gas }) } };
    const { facts } = this.rate;
    const why = 'no gas of an operation was known when the warm-up ended';
    return asMembers({
      ...(this.#gas && { gas: this.#gas }),
      gasRate: { ...facts, gasPerOperation: orUnknown(facts.gasPerOperation, why) },
    });
  }
}

/** @type {ObserverRow} */
export const gas = {
  open: async ({ load: { gasPerSecond } }, { rpc, wallets, inclusion, ratePerSecond, ...load }) => {
    if (inclusion === null) return null;
    const isAsked = gasPerSecond !== null && ratePerSecond !== null;
    return new RunGas({
      rpc,
      wallets,
      rate: isAsked ? new GasRate(gasPerSecond, ratePerSecond, rpc, wallets, load) : null,
    });
  },
};
