import { blobGasOf } from '../chain/blobs.js';

/**
 * @import { Block, Call, Fee, Fees } from '../contracts/chain.d.ts'
 * @import { Account } from './nonces.js'
 * @import { Operation } from './operation.js'
 */

/**
 * The fee limit of a load (--max-spend), and the limit of the value that it transfers (--max-value). Amounts are upper bounds: a transaction in flight counts with its highest
 * offered price, an included one with the price of its block and its gas limit, or what is left of the gas of the
 * block. What was really spent is read from the balances after the load.
 *
 * @typedef {object} Reservation of an operation
 * @property {bigint} gasLimit
 * @property {bigint} priceWei highest price offered per gas
 * @property {bigint} tipWei highest priority fee offered
 * @property {bigint} blobGas
 * @property {bigint} blobPriceWei highest price offered per blob gas
 * @property {bigint} valueWei
 */

/** Blocks whose gas price is kept; operations in older blocks are charged in full. */
const BLOCKS_KEPT = 256;

export class FeeBudget {
  #capWei;
  #capValueWei;
  /** Value of operations that were sent, or are about to be. */
  #valueWei = 0n;
  #fees;
  #callOf;
  #feeAhead;
  /** Charged or reserved. */
  #usedWei = 0n;
  /** Base fee of the block that was observed last. @type {bigint | null} */
  #lastBaseFeeWei;
  /** Whether the last operation that was not allowed would have exceeded the limit of value. */
  isOutOfValue = false;
  /** Whether charge() was last answered with false. */
  hasRefused = false;
  /**
   * By hash, with the gas charged so far and its highest price.
   * @type {Map<string, {baseFeeWei: bigint | null, blobPriceWei: bigint, gasUsed: bigint, gas: bigint, priceWei: bigint}>}
   */
  #blocks = new Map();

  /**
   * @param {object} options
   * @param {bigint | null} options.capWei null: no limit
   * @param {bigint | null} [options.capValueWei] null: no limit
   * @param {Pick<Fees, 'current' | 'blobPriceWei'>} options.fees
   * @param {(position: number, nonce: number) => Pick<Call, 'gasLimit' | 'sidecar' | 'value'>} options.callOf
   * @param {(position: number, nonce: number) => Fee | null} options.feeAhead of a transaction signed ahead of time
   * @param {bigint | null} options.baseFeeWei of the block before the first that is observed
   */
  constructor({ capWei, capValueWei = null, fees, callOf, feeAhead, baseFeeWei }) {
    this.#lastBaseFeeWei = baseFeeWei;
    this.#capWei = capWei;
    this.#capValueWei = capValueWei;
    this.#fees = fees;
    this.#callOf = callOf;
    this.#feeAhead = feeAhead;
  }

  /**
   * Reserves the fee of the wallet's next operation.
   * @param {Pick<Account, 'position' | 'nextNonce'>} account
   * @returns {Reservation | null} null: a limit would be exceeded
   */
  reserve({ position, nextNonce }) {
    const call = this.#callOf(position, nextNonce);
    const blobGas = blobGasOf(call);
    const { gasLimit, value: valueWei } = call;
    this.isOutOfValue = this.#capValueWei !== null && this.#valueWei + valueWei > this.#capValueWei;
    if (this.isOutOfValue) return null;
    const reservation = { gasLimit, priceWei: 0n, tipWei: 0n, blobGas, blobPriceWei: 0n, valueWei };
    const offers = [this.#fees.current()];
    // The transaction signed ahead of time may be sent instead.
    const ahead = this.#feeAhead(position, nextNonce);
    if (ahead !== null) offers.push(ahead);
    if (!this.#increase(reservation, offers)) return null;
    this.#valueWei += valueWei;
    return reservation;
  }

  /**
   * Reserves more for a replacement.
   * @param {Pick<Operation, 'reservation'>} operation
   * @param {Fee} fee that it offers
   * @returns {boolean} false: the limit would be exceeded
   */
  reserveMore({ reservation }, fee) {
    return reservation === null || this.#increase(reservation, [fee]);
  }

  /**
   * Called for each new block, before its inclusions are reported and after its fees were observed.
   * @param {Pick<Block, 'hash' | 'baseFeeWei' | 'gasUsed'>} block
   */
  observe({ hash, baseFeeWei, gasUsed }) {
    // Cosmos EVM charges the base fee that it states for the block before.
    const chargedWei = baseFeeWei === null ? null : larger(baseFeeWei, this.#lastBaseFeeWei ?? 0n);
    this.#lastBaseFeeWei = baseFeeWei;
    // Without a statement of its gas the fees of its transactions stay charged in full.
    if (gasUsed === 0) return;
    const blobPriceWei = this.#fees.blobPriceWei();
    this.#blocks.set(hash, { baseFeeWei: chargedWei, blobPriceWei, gasUsed: BigInt(gasUsed), gas: 0n, priceWei: 0n });
    for (const oldest of this.#blocks.keys()) {
      if (this.#blocks.size <= BLOCKS_KEPT) return;
      this.#blocks.delete(oldest);
    }
  }

  /**
   * Called once, when the operation has ended. What was sent and is in no known block stays charged in full: it may
   * still be included.
   * @param {Pick<Operation, 'reservation' | 'inclusion' | 'sample'>} operation
   */
  settle({ reservation, inclusion, sample }) {
    if (reservation === null) return;
    const { gasLimit, priceWei, blobGas, blobPriceWei, valueWei } = reservation;
    if (sample.sentAtUs === null) this.#valueWei -= valueWei;
    const fullWei = gasLimit * priceWei + blobGas * blobPriceWei;
    if (sample.sentAtUs === null) this.#usedWei -= fullWei;
    else this.#usedWei -= fullWei - this.#costOf(reservation, inclusion?.hash ?? '');
  }

  /**
   * For gas that is not of an operation.
   * @param {bigint} wei negative: given back
   * @returns {boolean} false: the limit would be exceeded
   */
  charge(wei) {
    this.hasRefused = wei > 0n && this.#isTooMuch(wei);
    if (!this.hasRefused) this.#usedWei += wei;
    return !this.hasRefused;
  }

  /** @param {bigint} moreWei */
  #isTooMuch(moreWei) {
    return this.#capWei !== null && this.#usedWei + moreWei > this.#capWei;
  }

  /** @param {Reservation} held @param {Fee[]} offers */
  #increase(held, offers) {
    let { priceWei, tipWei, blobPriceWei } = held;
    for (const { gasPriceWei, maxFeePerGasWei, maxPriorityFeePerGasWei, maxFeePerBlobGasWei = 0n } of offers) {
      const offerWei = gasPriceWei ?? maxFeePerGasWei ?? 0n;
      priceWei = larger(priceWei, offerWei);
      // A legacy transaction pays its whole gas price.
      tipWei = larger(tipWei, maxPriorityFeePerGasWei ?? offerWei);
      blobPriceWei = larger(blobPriceWei, maxFeePerBlobGasWei);
    }
    const moreWei = held.gasLimit * (priceWei - held.priceWei) + held.blobGas * (blobPriceWei - held.blobPriceWei);
    if (this.#isTooMuch(moreWei)) return false;
    Object.assign(held, { priceWei, tipWei, blobPriceWei });
    this.#usedWei += moreWei;
    return true;
  }

  /** @param {Reservation} held @param {string} hash of its block */
  #costOf({ gasLimit, priceWei, tipWei, blobGas, blobPriceWei }, hash) {
    const block = this.#blocks.get(hash);
    if (block === undefined) return gasLimit * priceWei + blobGas * blobPriceWei;
    const { baseFeeWei, gasUsed, gas } = block;
    const paidWei = baseFeeWei === null ? priceWei : smaller(priceWei, baseFeeWei + tipWei);
    const beforeWei = gas * block.priceWei;
    // Our transactions together used at most the gas of the block.
    block.gas = smaller(gas + gasLimit, gasUsed);
    block.priceWei = larger(block.priceWei, paidWei);
    return block.gas * block.priceWei - beforeWei + blobGas * smaller(blobPriceWei, block.blobPriceWei);
  }
}

/** @param {bigint} a @param {bigint} b */
function larger(a, b) {
  return a > b ? a : b;
}

/** @param {bigint} a @param {bigint} b */
function smaller(a, b) {
  return a < b ? a : b;
}
