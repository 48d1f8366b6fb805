import { randomBytes } from 'node:crypto';
import { GAS_PER_BLOB, readBlobFees } from '../chain/blobs.js';
import { ask, askAll, balanceOf as balanceAt, gasOf, headerAt, nullIfOdd } from '../chain/answers.js';
import { PAYMENT_GAS } from '../chain/funding.js';
import { DEV_CHAIN_IDS } from '../chain/networks.js';
import { amount, amountAtMost, exactAmount } from '../coin.js';
import { RefusedError, StressError, UsageError } from '../errors.js';
import { counted, timeText } from '../text.js';
import { operationsOf } from './pacer.js';

/**
 * @import { ChainInfo, ChainReceipt, Fees, Header, Rpc, Wallet } from '../contracts/chain.d.ts'
 * @import { Gas, LoadSize, TransactionWorkload, WalletPayments } from '../contracts/load.d.ts'
 * @import { AuditReport, Spending } from '../contracts/run-file.d.ts'
 */

/**
 * The estimated cost of a run, printed before anything is sent, and what was spent in the end. Prices change, and in a
 * closed loop the chain decides the number of operations.
 *
 * @typedef {ReturnType<typeof estimateCost>} Cost
 */

/** Operations estimated without a duration. */
const ASSUMED_OPERATIONS = 1000;

/** Blocks used to measure the block time: timestamps are whole seconds. */
const PACE_BLOCKS = 100;
/** Assumed for a chain with too few blocks, or with pauses between them. */
export const DEFAULT_BLOCK_S = 1;
const LONGEST_BLOCK_S = 60;
/** The last gaps between blocks, and how many of them may be pauses. */
const LATE_GAPS = 10;
const LONGEST_GAPS = 2;

/**
 * Prints the estimated cost where fees are real money, and checks it against --max-spend. Before a long load it prints how
 * long the funds last.
 * @param {LoadSize & {maxSpendWei: bigint | null}} load
 * @param {object} parts
 * @param {ChainInfo} parts.chain
 * @param {boolean} parts.isEmbedded
 * @param {Fees} parts.fees
 * @param {TransactionWorkload} parts.workload
 * @param {Wallet[]} parts.wallets
 * @param {bigint} parts.paymentGas of what the funder pays
 * @param {bigint | null} parts.fundsWei what the load can spend; null: it ends before
 * @param {(line: string) => void} parts.notice
 */
export async function estimateRunCost(load, parts) {
  const { chain, workload, wallets, paymentGas, fundsWei } = parts;
  const perSecond = weiPerSecond(load, workload.gas, parts.fees, chain.blockSeconds);
  const lasting = fundsWei === null || parts.isEmbedded ? null : lastingText(fundsWei, perSecond, load.durationMs);
  if (lasting !== null) parts.notice(lasting);
  const isFree = parts.isEmbedded || DEV_CHAIN_IDS.has(chain.chainId);
  if (isFree && load.maxSpendWei === null) return;
  const deployments = await workload.unprepared({ wallets, chain });
  const own = { gas: workload.gas, blockSeconds: chain.blockSeconds };
  const cost = estimateCost({ ...own, load, fees: parts.fees, deployments, paymentGas });
  if (!isFree) parts.notice(costLine(cost));
  checkCost(cost, load.maxSpendWei);
}

/**
 * Prints what the calls of a load are expected to transfer, and checks it against --max-value.
 * @param {LoadSize} load
 * @param {{valueWei: bigint, maxValueWei: bigint | null, chain: Pick<ChainInfo, 'blockSeconds'>, notice: (line: string) => void}} parts
 *   valueWei: of an operation, at most
 * @throws {RefusedError}
 */
export function estimateValue(load, { valueWei, maxValueWei, chain, notice }) {
  if (valueWei === 0n) return;
  const isBounded = load.durationMs !== null;
  const operations = isBounded ? Math.ceil(operationsExpected(load, chain.blockSeconds)) : ASSUMED_OPERATIONS;
  const wei = BigInt(operations) * valueWei;
  const limit = maxValueWei === null ? '' : `; --max-value ${exactAmount(maxValueWei)}`;
  notice(
    `value: ${exactAmount(valueWei)} with each operation, ${amountAtMost(wei)} with ${isBounded ? 'about' : 'each'} ${counted(operations, 'operation')}${limit}`,
  );
  if (maxValueWei !== null && isBounded && wei > maxValueWei)
    throw new RefusedError(
      `this run is expected to transfer ${amountAtMost(wei)}, and --max-value allows ${exactAmount(maxValueWei)}: use a shorter --duration, a lower --rate or --call-value, fewer wallets, or raise --max-value`,
    );
}

/**
 * The gas of the load with what this chain charges for accounts that are new on it (EIP-8037: about 186,000).
 * @param {Rpc} rpc
 * @param {Pick<Wallet, 'address'>} wallet that has funds
 * @param {Gas} gas
 * @returns {Promise<Gas>}
 */
export async function gasOnChain(rpc, { address }, gas) {
  const { created } = gas;
  if (created === undefined || created.perWallet + created.perOperation === 0n) return gas;
  const to = `0x${randomBytes(20).toString('hex')}`;
  const payment = await nullIfOdd(ask(rpc, gasOf({ from: address, to, value: '0x1' }), 'setup'));
  const more = BigInt(Math.max(0, (payment ?? 0) - PAYMENT_GAS));
  const added = (/** @type {{perWallet: bigint, perOperation: bigint}} */ { perWallet, perOperation }) => ({
    perWallet: perWallet + created.perWallet * more,
    perOperation: perOperation + created.perOperation * more,
  });
  return { ...gas, ...added(gas), likely: added(gas.likely) };
}

/** @param {Fees} fees */
function worstBlobPriceWei(fees) {
  return fees.current().maxFeePerBlobGasWei ?? 0n;
}

/**
 * Asks what blobs cost. The funds for them count as value sent: gas has another price.
 * @param {Rpc} rpc
 * @param {Fees} fees
 * @param {Gas} gas
 * @returns {Promise<Gas>}
 */
export async function withBlobs(rpc, fees, gas) {
  if (!gas.blobs) return gas;
  fees.payForBlobs(await readBlobFees(rpc));
  const { perWallet, perOperation } = gas.value ?? { perWallet: 0n, perOperation: 0n };
  const blobsWei = BigInt(gas.blobs) * GAS_PER_BLOB * worstBlobPriceWei(fees);
  return { ...gas, value: { perWallet, perOperation: perOperation + blobsWei } };
}

/**
 * @param {object} parts
 * @param {LoadSize} parts.load
 * @param {Gas} parts.gas
 * @param {Fees} parts.fees
 * @param {number} parts.blockSeconds
 * @param {number} parts.deployments
 * @param {bigint} parts.paymentGas
 */
export function estimateCost({ load, gas, fees, blockSeconds, deployments, paymentGas }) {
  const priceWei = fees.priceWei();
  const isBounded = load.durationMs !== null;
  const blobGas = BigInt(gas.blobs ?? 0) * GAS_PER_BLOB;
  const operations = isBounded ? Math.ceil(operationsExpected(load, blockSeconds)) : ASSUMED_OPERATIONS;
  return {
    priceWei,
    operations,
    /** Whether a duration limits the operations; otherwise they are a round number. */
    isBounded,
    /** Fees of deployments and payments. */
    setUpWei: BigInt(deployments) * gas.likely.perWallet * priceWei + paymentGas * priceWei,
    loadWei: BigInt(operations) * (gas.likely.perOperation * priceWei + blobGas * fees.blobPriceWei()),
    /** At the offered price. */
    worstWei: BigInt(operations) * (gas.perOperation * fees.worstPriceWei() + blobGas * worstBlobPriceWei(fees)),
  };
}

/**
 * The estimate of `stress fund`.
 * @param {object} parts
 * @param {bigint | null} parts.capWei
 * @param {{chainId: number}} parts.chain
 * @param {Fees} parts.fees
 * @param {number} parts.wallets to be paid
 * @param {{gas: bigint, paidWei: bigint} | null} parts.payments null: none
 * @returns {string | null} one line; null: nothing to pay, or a development chain
 */
export function estimatePayments({ capWei, chain, fees, wallets, payments }) {
  const wei = (payments?.gas ?? 0n) * fees.priceWei();
  if (capWei !== null && wei > capWei)
    throw new RefusedError(
      `the payments are expected to cost ${amountAtMost(wei)} in fees, and --max-spend allows ${exactAmount(capWei)}: fund fewer wallets, or raise --max-spend`,
    );
  if (DEV_CHAIN_IDS.has(chain.chainId) || payments === null) return null;
  return `${exactAmount(payments.paidWei)} will be paid to ${counted(wallets, 'wallet')}, for about ${amountAtMost(wei)} in fees (an estimate, at ${amount(fees.priceWei())} a gas)`;
}

/**
 * What the load is expected to spend per second, in wei, value included; of stages the highest rate.
 * @param {LoadSize} load
 * @param {Gas} gas
 * @param {Fees} fees
 * @param {number} blockSeconds
 */
export function weiPerSecond({ threads, inFlight, ratePerSecond, stages }, gas, fees, blockSeconds) {
  const steady = ratePerSecond ?? (threads * inFlight) / blockSeconds;
  const rates = stages?.flatMap(({ fromPerSecond, toPerSecond }) => [fromPerSecond, toPerSecond]) ?? [steady];
  return Math.max(...rates) * Number(gas.likely.perOperation * fees.priceWei() + (gas.value?.perOperation ?? 0n));
}

/** How long funds last that are not enough for this long are told before a load without an end. */
const LONG_LOAD_S = 7 * 24 * 3600;

/** @param {bigint} fundsWei @param {number} perSecond wei @param {number | null} durationMs @returns {string | null} null: for long */
export function lastingText(fundsWei, perSecond, durationMs) {
  // Gas is free on some private networks.
  const seconds = perSecond === 0 ? Infinity : Number(fundsWei) / perSecond;
  const isLong = seconds > (durationMs === null ? LONG_LOAD_S : (2 * durationMs) / 1000);
  return isLong
    ? null
    : `the load can spend ${exactAmount(fundsWei)}, which lasts for about ${timeText(seconds)} (an estimate)`;
}

/**
 * A wallet is paid at least this long after it has fallen below the threshold: a reading of all balances, which takes longer
 * for many wallets, and the blocks until the payment is in one.
 */
const REFILL_S = 5;
const WALLETS_PER_SECOND = 1000;
const REFILL_BLOCKS = 3;

/**
 * The threshold and the amount of --refill-below.
 * @param {bigint} belowWei
 * @param {bigint} amountWei
 * @param {LoadSize} load
 * @param {{gas: Gas, fees: Fees, blockSeconds: number}} chain
 * @throws {UsageError} wallets would run dry
 */
export function checkRefill(belowWei, amountWei, load, { gas, fees, blockSeconds }) {
  if (belowWei >= amountWei)
    throw new UsageError(
      `--refill-below ${exactAmount(belowWei)} is not less than the ${exactAmount(amountWei)} that wallets are topped up to: give a higher --fund-amount`,
    );
  const seconds = REFILL_S + load.threads / WALLETS_PER_SECOND + REFILL_BLOCKS * blockSeconds;
  const inFlightWei = gas.perOperation * fees.worstPriceWei() + (gas.value?.perOperation ?? 0n);
  const likelyWei = Math.ceil((seconds * weiPerSecond(load, gas, fees, blockSeconds)) / load.threads);
  const leastWei = BigInt(load.inFlight) * inFlightWei + BigInt(likelyWei);
  if (belowWei < leastWei)
    throw new UsageError(
      `--refill-below ${exactAmount(belowWei)} is too low: a wallet may spend ${amountAtMost(leastWei)} in the ${Math.ceil(seconds)} s until a payment arrives, at the present price: give that much, and a higher --fund-amount`,
    );
}

/** @param {LoadSize} load @param {number} blockSeconds */
function operationsExpected({ threads, inFlight, ratePerSecond, stages, warmupMs, durationMs }, blockSeconds) {
  const warmupS = warmupSeconds(warmupMs, blockSeconds);
  const seconds = (durationMs ?? 0) / 1000;
  if (stages !== null) return operationsOf(stages) + warmupS * stages[0].fromPerSecond;
  if (ratePerSecond !== null) return (warmupS + seconds) * ratePerSecond;
  // In a closed loop all operations in flight are started at once, and those of a block after it.
  return threads * inFlight * (1 + (warmupS + seconds) / blockSeconds);
}

/** @param {Rpc} rpc @param {Pick<Header, 'number' | 'timestampS'>} latest block @returns {Promise<number | null>} null: not known */
export async function secondsPerBlock(rpc, { number: head, timestampS }) {
  // The timestamp of the genesis block is arbitrary.
  const from = Math.max(1, head - PACE_BLOCKS);
  if (head - from < 2) return null;
  const first = await nullIfOdd(ask(rpc, headerAt(from), 'setup'));
  if (timestampS === null || (first?.timestampS ?? null) === null) return null;
  const seconds = Math.min(
    (timestampS - Number(first?.timestampS)) / (head - from),
    await lately(rpc, head, timestampS),
  );
  return seconds > 0 && seconds <= LONGEST_BLOCK_S ? seconds : null;
}

/**
 * Without the longest gaps, so that pauses of a chain that makes blocks on demand do not count.
 * @param {Rpc} rpc
 * @param {number} head
 * @param {number} timestampS of the head
 * @returns {Promise<number>} infinite: not known
 */
async function lately(rpc, head, timestampS) {
  const numbers = Array.from({ length: Math.min(LATE_GAPS, head - 1) }, (_, i) => head - 1 - i);
  const headers = await nullIfOdd(askAll(rpc, numbers.map(headerAt), 'setup'));
  const timesS = [timestampS, ...(headers ?? []).flatMap((header) => header?.timestampS ?? [])];
  const gapsS = timesS.slice(1).map((timeS, i) => timesS[i] - timeS);
  if (gapsS.length < LATE_GAPS) return Infinity;
  const usual = gapsS.sort((a, b) => a - b).slice(0, -LONGEST_GAPS);
  // Timestamps are whole seconds: the sum may be one too low.
  return (usual.reduce((sum, gapS) => sum + gapS, 0) + 1) / usual.length;
}

/** @param {Cost} cost @returns {string} one line */
export function costLine({ priceWei, setUpWei, loadWei, worstWei, operations, isBounded }) {
  const load = `${amountAtMost(loadWei)} for ${isBounded ? 'about' : 'each'} ${counted(operations, 'operation')}`;
  return `estimated cost at ${amount(priceWei)} a gas: set-up ${amountAtMost(setUpWei)}, load ${load} (${amountAtMost(worstWei)} at most)`;
}

/** @param {Cost} cost @param {bigint | null} capWei @throws {RefusedError} the estimate exceeds the limit */
export function checkCost({ setUpWei, loadWei, isBounded }, capWei) {
  const wei = isBounded ? setUpWei + loadWei : setUpWei;
  if (capWei === null || wei <= capWei) return;
  const remedy = isBounded ? 'a shorter --duration, a lower --rate, fewer wallets' : 'fewer wallets';
  throw new RefusedError(
    `this run is expected to cost ${amountAtMost(wei)} in fees, and --max-spend allows ${exactAmount(capWei)}: use ${remedy}, or raise --max-spend`,
  );
}

/** What the set-up spends, exactly, from its receipts. */
export class SetUpCosts {
  spentWei = 0n;
  /** What transactions may cost that are sent and have no receipt yet, at their highest price. */
  openWei = 0n;
  /** Whether all receipts said what was paid. */
  isStated = true;
  #capWei;

  /** @param {bigint | null} capWei */
  constructor(capWei) {
    this.#capWei = capWei;
  }

  /** Left for the load; null: no limit. @returns {bigint | null} */
  get leftWei() {
    return this.#capWei === null ? null : this.#capWei - this.spentWei - this.openWei;
  }

  /**
   * How many of these transactions, from the first on, stay within the limit at their highest price.
   * @param {Array<{gasLimit: bigint}>} orders
   * @param {bigint} priceWei highest price per gas
   * @throws {RefusedError} none of them
   */
  reserve(orders, priceWei) {
    let wei = 0n;
    let count = 0;
    for (const { gasLimit } of orders) {
      if (this.leftWei !== null && wei + gasLimit * priceWei > this.leftWei) break;
      wei += gasLimit * priceWei;
      count += 1;
    }
    if (count === 0 && this.#capWei !== null && this.leftWei !== null)
      throw new RefusedError(
        `the next set-up transaction may cost ${exactAmount(orders[0].gasLimit * priceWei)}, but ${exactAmount(this.leftWei)} of --max-spend ${exactAmount(this.#capWei)} is left: raise it, or use fewer wallets`,
      );
    this.openWei += wei;
    return count;
  }

  /**
   * What receipts do not state is charged as it was offered.
   * @param {{gasLimit: bigint}} order
   * @param {ChainReceipt} receipt
   * @param {bigint} offeredWei price per gas
   */
  spend({ gasLimit }, { gasUsed, priceWei, dataFeeWei }, offeredWei) {
    this.release({ gasLimit }, offeredWei);
    if (gasUsed === null || priceWei === null) this.isStated = false;
    this.spentWei += BigInt(gasUsed ?? gasLimit) * (priceWei ?? offeredWei) + dataFeeWei;
  }

  /** It will be in no block. @param {{gasLimit: bigint}} order @param {bigint} offeredWei price per gas */
  release({ gasLimit }, offeredWei) {
    this.openWei -= gasLimit * offeredWei;
  }
}

/**
 * The total balance of the wallets at a block. The decrease during a load was spent by it; this takes a call per
 * wallet, none per operation.
 * @param {Rpc} rpc
 * @param {ReadonlyArray<{address: string}>} wallets
 * @param {number} blockNumber
 * @param {'setup' | 'audit'} purpose
 * @returns {Promise<{wei: bigint} | {why: string}>} why: the reason if unknown
 */
export async function balanceOf(rpc, wallets, blockNumber, purpose) {
  try {
    const questions = wallets.map(({ address }) => balanceAt(address, blockNumber));
    const balances = await askAll(rpc, questions, purpose);
    return { wei: balances.reduce((sum, balance) => sum + balance, 0n) };
  } catch (error) {
    if (!(error instanceof StressError)) throw error;
    return { why: `the balances of the wallets could not be read: ${error.message}` };
  }
}

/** @typedef {Awaited<ReturnType<typeof balanceOf>>} Balance */

export const NOT_PAID = Object.freeze({ why: 'plain calls are not paid for' });

/** What they were offered is an upper bound, which --max-spend is charged with. */
const UNSTATED = Object.freeze({ why: 'a receipt of the node states no gas used, or no price' });

/** They count in the set-up as they were offered. */
const UNSETTLED = Object.freeze({ why: 'transactions of the set-up were in no block yet' });

/**
 * The decrease of the balance: fees and transferred value.
 * @param {Balance} before
 * @param {Balance} after
 * @param {WalletPayments | null} [paid] by the funder in between; null: nothing
 * @returns {Balance}
 */
export function decreaseBetween(before, after, paid) {
  const payments = paid ?? { wei: [] };
  if ('why' in before) return before;
  if ('why' in after) return after;
  if ('why' in payments) return payments;
  const had = payments.wei.reduce((sum, wei) => sum + wei, before.wei);
  if (after.wei > had) return { why: 'the wallets have more than before the load: others have paid them' };
  return { wei: had - after.wei };
}

/**
 * The fees in the decrease.
 * @param {Balance} spent
 * @param {bigint | undefined} valueWei transferred by each executed operation
 * @param {AuditReport | null} audit
 * @returns {Balance}
 */
function feesOf(spent, valueWei, audit) {
  if ('why' in spent) return spent;
  if ((audit?.foreign.length ?? 0) > 0) return { why: 'another sender used a wallet, and paid from it; see leftWei' };
  if (valueWei === 0n) return spent;
  if (valueWei === undefined) return { why: 'a user workload may send value; see leftWei' };
  if (!audit?.exact) return { why: 'without an exact audit the value sent is unknown; see leftWei' };
  return { wei: spent.wei - valueWei * BigInt(audit.effectsOnChain) };
}

/**
 * For the run file.
 * @param {bigint | null} capWei
 * @param {SetUpCosts | null} costs null: plain calls
 * @param {{decrease: Balance, valueWei: bigint | undefined, report: AuditReport | null, refillGasWei?: bigint | null}} found
 *   refillGasWei: null: not known
 */
export function describeSpending(capWei, costs, { decrease, valueWei, report, refillGasWei = 0n }) {
  const { spentWei = 0n, openWei = 0n, isStated = true } = costs ?? {};
  const areKnown = isStated && refillGasWei !== null;
  const fees = openWei > 0n ? UNSETTLED : areKnown ? feesOf(decrease, valueWei, report) : UNSTATED;
  const setUp = costs === null ? NOT_PAID : isStated ? null : UNSTATED;
  /** @type {Spending} */
  const facts = {
    capWei: capWei === null ? null : String(capWei),
    setUpWei: setUp === null ? String(spentWei + openWei) : null,
    leftWei: 'why' in decrease ? null : String(decrease.wei),
    spentWei: 'why' in fees ? null : String(spentWei + fees.wei + (refillGasWei ?? 0n)),
  };
  /** @type {Record<string, string>} */
  const unmeasured = {};
  if (setUp !== null) unmeasured['/spending/setUpWei'] = setUp.why;
  if ('why' in decrease) unmeasured['/spending/leftWei'] = decrease.why;
  if ('why' in fees) unmeasured['/spending/spentWei'] = fees.why;
  return { facts, unmeasured };
}

export const WARMUP_BLOCKS = 3;

export const MIN_WARMUP_MS = 1000;

/** The expected length of the warm-up. @param {number | 'auto'} warmupMs @param {number} blockSeconds */
export function warmupSeconds(warmupMs, blockSeconds) {
  return warmupMs === 'auto' ? Math.max(MIN_WARMUP_MS / 1000, (WARMUP_BLOCKS + 1) * blockSeconds) : warmupMs / 1000;
}
