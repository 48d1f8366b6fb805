import { ether, paymentsFor } from '../chain/funding.js';
import { DEV_CHAIN_IDS } from '../chain/networks.js';
import { toBigInt, toHex, toNumber } from '../chain/rpc.js';
import { RefusedError, StressError } from '../errors.js';
import { warmupSeconds } from './load.js';
import { operationsOf } from './pacer.js';

/**
 * @import { AuditReport, ChainInfo, Config, Fees, Gas, Rpc, TransactionWorkload } from '../types.d.ts'
 * @import { Wallet } from '../chain/keys.js'
 * @import { Spending } from './budget.js'
 * @import { Needs } from './funds.js'
 * @import { Ready } from './setup.js'
 */

/**
 * What a run is expected to cost, said before anything is sent. It is an estimate: prices move, and in a closed loop
 * the chain decides how many operations there are.
 *
 * @typedef {object} Cost
 * @property {bigint} priceWei of a gas now
 * @property {number} deployments wallets that have to be prepared
 * @property {number} payments transactions of the funder
 * @property {bigint} setUpWei fees of both
 * @property {bigint} movedWei to the wallets, which is not spent
 * @property {number} operations
 * @property {boolean} isBounded whether a duration says how many; otherwise they are a round number
 * @property {bigint} loadWei
 * @property {bigint} worstWei the most that the load can cost at the price that is offered now
 */

/** Gas of a payment through Disperse, and for each wallet in it that is new to the chain. */
const PAYMENT_GAS = 100_000n;
const PAID_WALLET_GAS = 40_000n;

/** What is reckoned with where no duration says how many operations there are. */
const ROUND_NUMBER = 1000;

/** Blocks over which the pace of the chain is measured: timestamps are whole seconds. */
const PACE_BLOCKS = 100;
/** The pace of a chain that is too young to tell. */
const UNKNOWN_BLOCK_S = 1;

/**
 * Where fees are money, or there is a cap on them, it is said what the run will cost before anything is sent.
 * @param {object} parts
 * @param {Config} parts.config
 * @param {ChainInfo} parts.chain
 * @param {boolean} parts.embedded
 * @param {Fees} parts.fees
 * @param {Rpc} parts.rpc
 * @param {TransactionWorkload} parts.workload
 * @param {Wallet[]} parts.wallets
 * @param {Array<{missingWei: bigint}>} parts.missing
 * @param {(line: string) => void} parts.notice
 */
export async function estimateRunCost({ config, chain, embedded, fees, rpc, workload, wallets, missing, notice }) {
  const isFree = embedded || DEV_CHAIN_IDS.has(chain.chainId);
  if (isFree && config.maxSpendWei === null) return;
  const blockSeconds = await secondsPerBlock(rpc, chain.head);
  const deployments = await workload.unprepared({ wallets, chain });
  const cost = estimateCost({ config, gas: workload.gas, fees, blockSeconds, deployments, missing });
  if (!isFree) notice(costLine(cost, wallets.length));
  checkCost(cost, config.maxSpendWei);
}

/**
 * @param {object} parts
 * @param {Pick<Config, 'threads' | 'inFlight' | 'ratePerSecond' | 'stages' | 'warmupMs' | 'durationMs'>} parts.config
 * @param {Gas} parts.gas
 * @param {Fees} parts.fees
 * @param {number} parts.blockSeconds
 * @param {number} parts.deployments
 * @param {Array<{missingWei: bigint}>} parts.missing
 * @returns {Cost}
 */
export function estimateCost({ config, gas, fees, blockSeconds, deployments, missing }) {
  const priceWei = fees.priceWei();
  const payments = paymentsFor(missing.length);
  const isBounded = config.durationMs !== null;
  const operations = isBounded ? Math.ceil(operationsExpected(config, blockSeconds)) : ROUND_NUMBER;
  return {
    priceWei,
    deployments,
    payments,
    operations,
    isBounded,
    setUpWei: BigInt(deployments) * gas.likely.perWallet * priceWei + paymentsWei(missing.length, fees),
    movedWei: missing.reduce((sum, { missingWei }) => sum + missingWei, 0n),
    loadWei: BigInt(operations) * gas.likely.perOperation * priceWei,
    worstWei: BigInt(operations) * gas.perOperation * fees.worstPriceWei(),
  };
}

/**
 * The same for payments alone.
 * @param {object} parts
 * @param {Pick<Config, 'maxSpendWei'>} parts.config
 * @param {{chainId: number}} parts.chain
 * @param {Fees} parts.fees
 * @param {Needs} parts.needs
 * @returns {string | null} one line, where fees are money and something is to be paid
 */
export function estimatePayments({ config, chain, fees, needs: { wallets, movedWei } }) {
  const wei = paymentsWei(wallets, fees);
  if (config.maxSpendWei !== null && wei > config.maxSpendWei)
    throw new RefusedError(
      `the payments are expected to cost ${rounded(wei)} in fees, and --max-spend allows ${ether(config.maxSpendWei)}: fund fewer wallets, or give it a higher cap`,
    );
  if (DEV_CHAIN_IDS.has(chain.chainId) || wallets === 0) return null;
  return `${ether(movedWei)} will be paid to ${some(wallets, 'wallet')}, for about ${rounded(wei)} in fees (an estimate, at ${gwei(fees.priceWei())} gwei a gas)`;
}

/** What it costs to pay so many wallets. @param {number} wallets @param {Fees} fees */
export function paymentsWei(wallets, fees) {
  return (BigInt(paymentsFor(wallets)) * PAYMENT_GAS + BigInt(wallets) * PAID_WALLET_GAS) * fees.priceWei();
}

/**
 * @param {Parameters<typeof estimateCost>[0]['config']} config
 * @param {number} blockSeconds
 */
function operationsExpected({ threads, inFlight, ratePerSecond, stages, warmupMs, durationMs }, blockSeconds) {
  const warmupS = warmupSeconds(warmupMs, blockSeconds);
  const seconds = (durationMs ?? 0) / 1000;
  if (stages !== null) return operationsOf(stages) + warmupS * stages[0].fromPerSecond;
  return (warmupS + seconds) * (ratePerSecond ?? (threads * inFlight) / blockSeconds);
}

/**
 * The pace of the chain.
 * @param {Rpc} rpc
 * @param {number} head
 * @returns {Promise<number>}
 */
export async function secondsPerBlock(rpc, head) {
  // The genesis block's timestamp may be any.
  const from = Math.max(1, head - PACE_BLOCKS);
  if (head - from < 2) return UNKNOWN_BLOCK_S;
  const [first, last] = await Promise.all(
    [from, head].map((number) => rpc.call('eth_getBlockByNumber', [toHex(number), false], 'setup')),
  );
  const seconds = (toNumber(last?.timestamp ?? 0) - toNumber(first?.timestamp ?? 0)) / (head - from);
  return seconds > 0 ? seconds : UNKNOWN_BLOCK_S;
}

/** @param {Cost} cost @param {number} wallets @returns {string} one line */
export function costLine(
  { priceWei, deployments, payments, setUpWei, movedWei, operations, isBounded, ...load },
  wallets,
) {
  const what = [counted(deployments, 'deployment'), counted(payments, 'payment')].flatMap((words) => words ?? []);
  const setUp = `set-up ${rounded(setUpWei)}${what.length === 0 ? '' : ` (${what.join(', ')})`}`;
  const moved =
    movedWei === 0n
      ? ''
      : `; ${rounded(movedWei)} moves to the wallets, of which 'stress reclaim' gets back what is left`;
  const all = `about ${rounded(setUpWei + load.loadWei)} in all, ${rounded((setUpWei + load.loadWei) / BigInt(wallets))} a wallet`;
  const forLoad = `load ${rounded(load.loadWei)} ${isBounded ? `for some ${operations} operations` : `for each ${operations} operations`}`;
  return (
    `estimated cost, at ${gwei(priceWei)} gwei a gas as of now: ${setUp}, ${forLoad}, ` +
    `at most ${rounded(load.worstWei)} at the price offered${isBounded ? `; ${all}` : ''}${moved}`
  );
}

/**
 * @param {Cost} cost
 * @param {bigint | null} capWei
 * @throws {RefusedError} it is expected to cost more
 */
export function checkCost({ setUpWei, loadWei, isBounded }, capWei) {
  const wei = isBounded ? setUpWei + loadWei : setUpWei;
  if (capWei === null || wei <= capWei) return;
  const remedy = isBounded ? 'a shorter --duration, a lower --rate, fewer wallets' : 'fewer wallets';
  throw new RefusedError(
    `this run is expected to cost ${rounded(wei)} in fees, and --max-spend allows ${ether(capWei)}: give it ${remedy}, or a higher cap`,
  );
}

/** @param {number} count @param {string} name */
function counted(count, name) {
  return count === 0 ? null : some(count, name);
}

/** @param {number} count @param {string} name of one of them */
export function some(count, name) {
  return `${count} ${name}${count === 1 ? '' : 's'}`;
}

/** An amount with three digits that count, never less than it is. @param {bigint} wei */
export function rounded(wei) {
  const unit = 10n ** BigInt(Math.max(0, String(wei).length - 3));
  return ether(((wei + unit - 1n) / unit) * unit);
}

/** @param {bigint} wei */
function gwei(wei) {
  return Number((Number(wei) / 1e9).toPrecision(3)).toString();
}

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
  reserve(orders, priceWei) {
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
  spend(receipts, priceWei) {
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
