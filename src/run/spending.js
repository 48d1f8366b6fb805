import { ether } from '../chain/funding.js';
import { toBigInt, toHex } from '../chain/rpc.js';
import { RefusedError, StressError } from '../errors.js';

/**
 * @import { Rpc } from '../chain/rpc.js'
 * @import { AuditReport } from './audit.js'
 * @import { Config } from './config.js'
 * @import { Spending } from './purse.js'
 * @import { Ready } from './setup.js'
 */

/**
 * What the set-up spends, and what is said of it and of the load in the end.
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

/** @param {Pick<Config, 'maxSpendWei'>} config @param {{ready: Ready, loaded: {stats: {spending: Spending | null}}}} carriedOut */
export function capReached({ maxSpendWei }, { ready: { costs }, loaded }) {
  const { spentWei, transactions } = loaded.stats.spending ?? { spentWei: 0n, transactions: 0 };
  return new RefusedError(
    `the spend cap of ${ether(maxSpendWei ?? 0n)} is reached: ${ether(costs.spentWei + spentWei)} spent at most in ${costs.transactions + transactions} transactions`,
  );
}

/**
 * What wallets have, all together, at a block. What they have less after a load was spent in it, whatever became of each
 * transaction; to ask for that takes a call for each wallet, and none for each operation.
 * @param {Rpc} rpc
 * @param {ReadonlyArray<{address: string}>} wallets
 * @param {number} blockNumber
 * @param {'setup' | 'audit'} purpose
 * @returns {Promise<{wei: bigint} | {why: string}>} why it is not known
 */
export async function balanceOf(rpc, wallets, blockNumber, purpose) {
  try {
    const params = (/** @type {string} */ address) => [address, toHex(blockNumber)];
    const requests = wallets.map(({ address }) => ({ method: 'eth_getBalance', params: params(address) }));
    const balances = await rpc.batch(requests, purpose);
    return { wei: balances.reduce((sum, balance) => sum + toBigInt(balance), 0n) };
  } catch (error) {
    if (!(error instanceof StressError)) throw error;
    return { why: `the balances of the wallets could not be read: ${error.message}` };
  }
}

/** @typedef {Awaited<ReturnType<typeof balanceOf>>} Balance */

/** Of calls there are no balances. */
export const NOT_PAID = Object.freeze({ why: 'plain calls are not paid for' });

/**
 * What the wallets have less after the load: fees, and value that its transactions sent to others.
 * @param {Balance} before
 * @param {Balance} after
 * @returns {Balance}
 */
export function spentBetween(before, after) {
  if ('why' in before) return before;
  if ('why' in after) return after;
  if (after.wei > before.wei) return { why: 'the wallets have more than before the load: others have paid them' };
  return { wei: before.wei - after.wei };
}

/**
 * The fees in that.
 * @param {Balance} spent
 * @param {bigint | undefined} valueWei what each executed operation sends to others
 * @param {AuditReport | null} audit
 * @returns {Balance}
 */
function feesOf(spent, valueWei, audit) {
  if ('why' in spent || valueWei === 0n) return spent;
  if (valueWei === undefined) return { why: 'a workload of your own may send value: see leftWei' };
  if (!audit?.exact) return { why: 'without an exact audit the value that was sent is not known: see leftWei' };
  return { wei: spent.wei - valueWei * BigInt(audit.effectsOnChain) };
}

/**
 * As the run file states it.
 * @param {Pick<Config, 'maxSpendWei'>} config
 * @param {Ready} ready
 * @param {Spending | null} load null where it was not counted
 * @param {{left: Balance, valueWei: bigint | undefined, report: AuditReport | null}} found
 */
export function describeSpending({ maxSpendWei }, { sender, costs }, load, { left, valueWei, report }) {
  const fees = load === null ? feesOf(left, valueWei, report) : { wei: load.spentWei };
  const facts = {
    capWei: maxSpendWei === null ? null : String(maxSpendWei),
    setUpWei: sender === null ? null : String(costs.spentWei),
    leftWei: 'why' in left ? null : String(left.wei),
    spentWei: 'why' in fees ? null : String(costs.spentWei + fees.wei),
    transactions: load === null ? null : costs.transactions + load.transactions,
  };
  /** @type {Record<string, string>} */
  const unmeasured = {};
  if (sender === null) unmeasured['/spending/setUpWei'] = NOT_PAID.why;
  if ('why' in left) unmeasured['/spending/leftWei'] = left.why;
  if ('why' in fees) unmeasured['/spending/spentWei'] = fees.why;
  if (load === null)
    unmeasured['/spending/transactions'] =
      sender === null ? NOT_PAID.why : 'transactions of the load are counted under a cap (--max-spend)';
  return { facts, unmeasured };
}
