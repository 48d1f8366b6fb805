import { ether } from '../chain/funding.js';
import { toBigInt } from '../chain/rpc.js';
import { RefusedError } from '../errors.js';

/**
 * What the set-up spends, and what is said of it and of the load in the end.
 *
 * @typedef {import('./purse.js').Spending} Spending
 */

/** What the set-up spends: its receipts say it exactly, so it is counted with and without a cap. */
export class SetUpCosts {
  spentWei = 0n;
  transactions = 0;
  #capWei;

  /** @param {bigint | null} capWei */
  constructor(capWei) {
    this.#capWei = capWei;
  }

  /** What is left for the load. @returns {bigint | null} null without a cap */
  get leftWei() {
    return this.#capWei === null ? null : this.#capWei - this.spentWei;
  }

  /**
   * How many of these transactions may be sent at once, from the first on, so that they stay within the cap whatever
   * they cost.
   * @param {Array<{gasLimit: bigint}>} orders
   * @param {bigint} priceWei the most that a gas can cost
   * @throws {RefusedError} not even one
   */
  room(orders, priceWei) {
    if (this.#capWei === null) return orders.length;
    let wei = this.spentWei;
    const first = orders.findIndex(
      ({ gasLimit }) => (wei += gasLimit * priceWei) > /** @type {bigint} */ (this.#capWei),
    );
    if (first !== 0) return first === -1 ? orders.length : first;
    throw new RefusedError(
      `the next set-up transaction may cost ${ether(orders[0].gasLimit * priceWei)}, but ${ether(this.#capWei - this.spentWei)} of --max-spend ${ether(this.#capWei)} is left: raise it, or use fewer wallets`,
    );
  }

  /** @param {Array<{gasUsed: string, effectiveGasPrice?: string}>} receipts @param {bigint} priceWei where a receipt does not say it */
  pay(receipts, priceWei) {
    for (const { gasUsed, effectiveGasPrice } of receipts) {
      this.spentWei += toBigInt(gasUsed) * (effectiveGasPrice === undefined ? priceWei : toBigInt(effectiveGasPrice));
      this.transactions += 1;
    }
  }
}

/** @param {Pick<import('./run.js').Config, 'maxSpendWei'>} config @param {{ready: import('./setup.js').Ready, loaded: {stats: {spending: Spending | null}}}} carriedOut */
export function capReached({ maxSpendWei }, { ready: { costs }, loaded }) {
  const { spentWei, transactions } = loaded.stats.spending ?? { spentWei: 0n, transactions: 0 };
  return new RefusedError(
    `the spend cap of ${ether(maxSpendWei ?? 0n)} is reached: ${ether(costs.spentWei + spentWei)} spent at most in ${costs.transactions + transactions} transactions`,
  );
}

/**
 * As the run file states it.
 * @param {Pick<import('./run.js').Config, 'maxSpendWei'>} config
 * @param {import('./setup.js').Ready} ready
 * @param {Spending | null} load null where it was not counted
 */
export function describeSpending({ maxSpendWei }, { sender, costs }, load) {
  const facts = {
    capWei: maxSpendWei === null ? null : String(maxSpendWei),
    setUpWei: sender === null ? null : String(costs.spentWei),
    spentWei: load === null ? null : String(costs.spentWei + load.spentWei),
    transactions: load === null ? null : costs.transactions + load.transactions,
  };
  const why =
    sender === null ? 'plain calls are not paid for' : 'what the load spends is counted under a cap (--max-spend)';
  const names = /** @type {const} */ (['setUpWei', 'spentWei', 'transactions']).filter((name) => facts[name] === null);
  return { facts, unmeasured: Object.fromEntries(names.map((name) => [`/spending/${name}`, why])) };
}
