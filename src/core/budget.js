/**
 * @import { Block, Fee, Fees } from '../types.d.ts'
 * @import { Account } from './nonces.js'
 * @import { Operation } from './operation.js'
 */

/**
 * What a run may spend on fees, and what it has spent. Both figures are upper bounds that hold whatever becomes of a
 * transaction: what is on its way is reserved at the highest price that it offers, and of what is in a block the price
 * is known, while the gas is its limit or what is left of the gas of the whole block.
 *
 * @typedef {object} Held what is reserved for one nonce of a wallet: of all transactions sent with it one is paid for
 * @property {bigint} gasLimit
 * @property {bigint} priceWei the highest price offered for a gas
 * @property {bigint} tipWei the highest tip
 *
 * @typedef {object} Spending
 * @property {bigint} spentWei at most
 * @property {number} transactions that are paid for, or may be
 */

/** Blocks of which is known what gas cost in them; an operation whose block is older is charged in full. */
const BLOCKS_KEPT = 256;

/** The budget of a load. Without a cap there is none, so that nothing is reckoned for nothing. */
export class FeeBudget {
  #capWei;
  #fees;
  #gasLimitOf;
  #spentWei = 0n;
  #heldWei = 0n;
  #transactions = 0;
  /** By wallet and nonce. @type {Map<string, Held>} */
  #held = new Map();
  /** By hash, with the gas that is charged and its highest price. @type {Map<string, {baseFeeWei: bigint | null, gasUsed: bigint, gas: bigint, priceWei: bigint}>} */
  #blocks = new Map();

  /**
   * @param {object} options
   * @param {bigint} options.capWei
   * @param {Pick<Fees, 'current'>} options.fees
   * @param {(position: number, nonce: number) => bigint} options.gasLimitOf a transaction of a wallet
   */
  constructor({ capWei, fees, gasLimitOf }) {
    this.#capWei = capWei;
    this.#fees = fees;
    this.#gasLimitOf = gasLimitOf;
  }

  /**
   * Before the wallet's next operation begins.
   * @param {Pick<Account, 'position' | 'nextNonce' | 'ahead'>} account
   * @returns {boolean} false: it must not begin
   */
  reserve({ position, nextNonce, ahead }) {
    const key = keyOf(position, nextNonce);
    const offers = [this.#fees.current()];
    // What is signed already is sent if its offer still holds.
    if (ahead?.nonce === nextNonce) offers.push(ahead.signed.fee);
    return this.#hold(key, this.#gasLimitOf(position, nextNonce), offers);
  }

  /**
   * Before another transaction with the nonce of an operation is sent.
   * @param {{account: Pick<Account, 'position'>, nonce: number}} operation
   * @param {Fee} fee that it offers
   * @returns {boolean} false: it must not be sent
   */
  raise({ account, nonce }, fee) {
    const key = keyOf(account.position, nonce);
    return this.#hold(key, this.#held.get(key)?.gasLimit ?? this.#gasLimitOf(account.position, nonce), [fee]);
  }

  /** Each new block, before anybody is told of a transaction in it. @param {Pick<Block, 'hash' | 'baseFeeWei' | 'gasUsed'>} block */
  observe({ hash, baseFeeWei, gasUsed }) {
    this.#blocks.set(hash, { baseFeeWei, gasUsed: BigInt(gasUsed), gas: 0n, priceWei: 0n });
    for (const oldest of this.#blocks.keys()) {
      if (this.#blocks.size <= BLOCKS_KEPT) return;
      this.#blocks.delete(oldest);
    }
  }

  /**
   * When an operation has ended, and again when it was found out what became of it. As long as that is not known, its
   * fee stays reserved, also for the next operation with the same nonce.
   * @param {Pick<Operation, 'nonce' | 'inclusion' | 'sentAtUs' | 'hashes'> & {account: Pick<Account, 'position' | 'slotOf'>}} operation
   */
  settle({ account, nonce, inclusion, sentAtUs, hashes }) {
    const key = keyOf(account.position, nonce);
    const held = this.#held.get(key);
    if (held === undefined) return;
    const standing = account.slotOf(nonce)?.standing ?? 'spent';
    const isUsed = standing === 'executed' || standing === 'spent';
    if (!isUsed && (sentAtUs !== null || hashes.length > 1)) return;
    this.#held.delete(key);
    this.#heldWei -= held.gasLimit * held.priceWei;
    if (!isUsed) return;
    this.#spentWei += this.#costOf(held, inclusion);
    this.#transactions += 1;
  }

  /** @returns {Spending} */
  total() {
    return { spentWei: this.#spentWei + this.#heldWei, transactions: this.#transactions + this.#held.size };
  }

  /** @param {string} key @param {bigint} gasLimit @param {Fee[]} offers */
  #hold(key, gasLimit, offers) {
    const before = this.#held.get(key) ?? { gasLimit: 0n, priceWei: 0n, tipWei: 0n };
    const held = { ...before, gasLimit: larger(before.gasLimit, gasLimit) };
    for (const { gasPriceWei, maxFeePerGasWei, maxPriorityFeePerGasWei } of offers) {
      const priceWei = gasPriceWei ?? maxFeePerGasWei ?? 0n;
      held.priceWei = larger(held.priceWei, priceWei);
      // A legacy transaction pays all that it offers.
      held.tipWei = larger(held.tipWei, maxPriorityFeePerGasWei ?? priceWei);
    }
    const moreWei = held.gasLimit * held.priceWei - before.gasLimit * before.priceWei;
    if (moreWei > 0n && this.#spentWei + this.#heldWei + moreWei > this.#capWei) return false;
    this.#held.set(key, held);
    this.#heldWei += moreWei;
    return true;
  }

  /** @param {Held} held @param {{hash: string} | null} inclusion */
  #costOf({ gasLimit, priceWei, tipWei }, inclusion) {
    const block = inclusion === null ? undefined : this.#blocks.get(inclusion.hash);
    if (block === undefined) return gasLimit * priceWei;
    const { baseFeeWei, gasUsed, gas } = block;
    const paidWei = baseFeeWei === null ? priceWei : smaller(priceWei, baseFeeWei + tipWei);
    const beforeWei = gas * block.priceWei;
    // All of ours together cannot have used more gas than the block did.
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
