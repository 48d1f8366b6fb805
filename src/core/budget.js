/**
 * @import { Block, Fee, Fees } from '../types.d.ts'
 * @import { Account } from './nonces.js'
 * @import { Operation } from './operation.js'
 */

/**
 * The fee limit of a load (--max-spend). Amounts are upper bounds: a transaction in flight counts with its highest
 * offered price, an included one with the price of its block and its gas limit, or what is left of the gas of the
 * block.
 *
 * @typedef {object} Reservation for one nonce of a wallet: at most one transaction with it is charged
 * @property {bigint} gasLimit
 * @property {bigint} priceWei highest price offered per gas
 * @property {bigint} tipWei highest priority fee offered
 *
 * @typedef {object} Spending
 * @property {bigint} spentWei at most
 * @property {number} transactions charged or reserved
 */

/** Blocks whose gas price is kept; operations in older blocks are charged in full. */
const BLOCKS_KEPT = 256;

export class FeeBudget {
  #capWei;
  #fees;
  #gasLimitOf;
  #spentWei = 0n;
  #reservedWei = 0n;
  #transactions = 0;
  /** By wallet and nonce. @type {Map<string, Reservation>} */
  #reservations = new Map();
  /**
   * By hash, with the gas charged so far and its highest price.
   * @type {Map<string, {baseFeeWei: bigint | null, gasUsed: bigint, gas: bigint, priceWei: bigint}>}
   */
  #blocks = new Map();

  /**
   * @param {object} options
   * @param {bigint} options.capWei
   * @param {Pick<Fees, 'current'>} options.fees
   * @param {(position: number, nonce: number) => bigint} options.gasLimitOf
   */
  constructor({ capWei, fees, gasLimitOf }) {
    this.#capWei = capWei;
    this.#fees = fees;
    this.#gasLimitOf = gasLimitOf;
  }

  /**
   * Reserves fees before the wallet's next operation.
   * @param {Pick<Account, 'position' | 'nextNonce' | 'ahead'>} account
   * @returns {boolean} false: the limit would be exceeded
   */
  reserve({ position, nextNonce, ahead }) {
    const key = keyOf(position, nextNonce);
    const offers = [this.#fees.current()];
    // The transaction signed ahead of time may be sent instead.
    if (ahead?.nonce === nextNonce) offers.push(ahead.signed.fee);
    return this.#increase(key, this.#gasLimitOf(position, nextNonce), offers);
  }

  /**
   * Reserves more for a replacement.
   * @param {{account: Pick<Account, 'position'>, nonce: number}} operation
   * @param {Fee} fee that it offers
   * @returns {boolean} false: the limit would be exceeded
   */
  raise({ account, nonce }, fee) {
    const key = keyOf(account.position, nonce);
    return this.#increase(key, this.#reservations.get(key)?.gasLimit ?? this.#gasLimitOf(account.position, nonce), [
      fee,
    ]);
  }

  /**
   * Called for each new block, before its inclusions are reported.
   * @param {Pick<Block, 'hash' | 'baseFeeWei' | 'gasUsed'>} block
   */
  observe({ hash, baseFeeWei, gasUsed }) {
    this.#blocks.set(hash, { baseFeeWei, gasUsed: BigInt(gasUsed), gas: 0n, priceWei: 0n });
    for (const oldest of this.#blocks.keys()) {
      if (this.#blocks.size <= BLOCKS_KEPT) return;
      this.#blocks.delete(oldest);
    }
  }

  /**
   * Charges or releases the reservation of an operation that has ended. While its status is unknown its fee stays
   * reserved, also for the next operation with this nonce.
   * @param {Pick<Operation, 'nonce' | 'inclusion' | 'sentAtUs' | 'hashes'> & {account: Pick<Account, 'position' | 'slotOf'>}}
   *   operation
   */
  settle({ account, nonce, inclusion, sentAtUs, hashes }) {
    const key = keyOf(account.position, nonce);
    const held = this.#reservations.get(key);
    if (held === undefined) return;
    const state = account.slotOf(nonce)?.state ?? 'used';
    const isUsed = state === 'executed' || state === 'used';
    if (!isUsed && (sentAtUs !== null || hashes.length > 1)) return;
    this.#reservations.delete(key);
    this.#reservedWei -= held.gasLimit * held.priceWei;
    if (!isUsed) return;
    this.#spentWei += this.#costOf(held, inclusion);
    this.#transactions += 1;
  }

  /** @returns {Spending} */
  total() {
    return { spentWei: this.#spentWei + this.#reservedWei, transactions: this.#transactions + this.#reservations.size };
  }

  /** @param {string} key @param {bigint} gasLimit @param {Fee[]} offers */
  #increase(key, gasLimit, offers) {
    const before = this.#reservations.get(key) ?? { gasLimit: 0n, priceWei: 0n, tipWei: 0n };
    const held = { ...before, gasLimit: larger(before.gasLimit, gasLimit) };
    for (const { gasPriceWei, maxFeePerGasWei, maxPriorityFeePerGasWei } of offers) {
      const priceWei = gasPriceWei ?? maxFeePerGasWei ?? 0n;
      held.priceWei = larger(held.priceWei, priceWei);
      // A legacy transaction pays its whole gas price.
      held.tipWei = larger(held.tipWei, maxPriorityFeePerGasWei ?? priceWei);
    }
    const moreWei = held.gasLimit * held.priceWei - before.gasLimit * before.priceWei;
    if (moreWei > 0n && this.#spentWei + this.#reservedWei + moreWei > this.#capWei) return false;
    this.#reservations.set(key, held);
    this.#reservedWei += moreWei;
    return true;
  }

  /** @param {Reservation} held @param {{hash: string} | null} inclusion */
  #costOf({ gasLimit, priceWei, tipWei }, inclusion) {
    const block = inclusion === null ? undefined : this.#blocks.get(inclusion.hash);
    if (block === undefined) return gasLimit * priceWei;
    const { baseFeeWei, gasUsed, gas } = block;
    const paidWei = baseFeeWei === null ? priceWei : smaller(priceWei, baseFeeWei + tipWei);
    const beforeWei = gas * block.priceWei;
    // Our transactions together used at most the gas of the block.
    block.gas = smaller(gas + gasLimit, gasUsed);
    block.priceWei = larger(block.priceWei, paidWei);
    return block.gas * block.priceWei - beforeWei;
  }
}

/** @param {number} position @param {number} nonce */
function keyOf(position, nonce) {
  return `${position}:${nonce}`;
}

/** @param {bigint} a @param {bigint} b */
function larger(a, b) {
  return a > b ? a : b;
}

/** @param {bigint} a @param {bigint} b */
function smaller(a, b) {
  return a < b ? a : b;
}
