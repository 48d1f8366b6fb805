import { RpcError } from '../errors.js';
import { toBigInt } from './rpc.js';

/** @import { Fee, Fees, Rpc } from '../types.d.ts' */

/**
 * What a transaction offers for its gas. The fee follows the base fee of blocks that were fetched anyway, so
 * following costs no call of its own.
 *
 * @typedef {object} FeeOptions
 * @property {boolean} legacy legacy transactions although blocks have a base fee
 * @property {bigint | null} gasPriceWei a fixed gas price, which implies legacy
 * @property {bigint | null} maxFeeWei upper bound of what is offered per gas
 */

/**
 * The offer is this many times the base fee. A block can raise the base fee by an eighth (EIP-1559), so five
 * times lasts for 13 full blocks of waiting; what is not needed is not paid.
 */
const DYNAMIC_HEADROOM = 5n;

/** A legacy transaction pays all it offers, hence the smaller margin: 5 full blocks. */
const LEGACY_HEADROOM = 2n;

/**
 * Pools replace a transaction when both of its fees are raised by a tenth at least (geth's --txpool.pricebump); an
 * eighth leaves room for those that ask for a little more.
 */
const RAISED_BY = 8n;

/**
 * @param {Rpc} rpc
 * @param {bigint | null} baseFeeWei of the latest block, null where blocks have none
 * @param {FeeOptions} options
 * @returns {Promise<Fees>}
 */
export async function readFees(rpc, baseFeeWei, options) {
  if (options.gasPriceWei !== null) return createFees({ baseFeeWei: null, tipWei: options.gasPriceWei, ...options });
  if (baseFeeWei === null) {
    const gasPriceWei = toBigInt(await rpc.call('eth_gasPrice', [], 'setup'));
    return createFees({ baseFeeWei, tipWei: gasPriceWei, ...options });
  }
  return createFees({ baseFeeWei, tipWei: await readTip(rpc), ...options });
}

/** @param {Rpc} rpc */
async function readTip(rpc) {
  try {
    const tip = toBigInt(await rpc.call('eth_maxPriorityFeePerGas', [], 'setup'));
    return tip > 0n ? tip : 1n;
  } catch (error) {
    if (!(error instanceof RpcError)) throw error;
    return 1_000_000_000n;
  }
}

/**
 * @typedef {object} FeeState
 * @property {bigint | null} baseFeeWei null where blocks have none
 * @property {bigint} tipWei where blocks have no base fee the whole gas price
 * @property {boolean} legacy
 * @property {bigint | null} maxFeeWei
 */

/** @param {FeeState} options @returns {Fees} */
export function createFees({ baseFeeWei, tipWei, legacy, maxFeeWei }) {
  const mode = legacy || baseFeeWei === null ? 'legacy' : 'eip1559';
  const headroom = mode === 'legacy' ? LEGACY_HEADROOM : DYNAMIC_HEADROOM;
  let baseFee = baseFeeWei ?? 0n;
  let fee = offer();

  /** @returns {Fee} */
  function offer() {
    const wanted = baseFee * headroom + tipWei;
    const price = maxFeeWei !== null && wanted > maxFeeWei ? maxFeeWei : wanted;
    if (mode === 'legacy') return { gasPriceWei: price };
    return { maxFeePerGasWei: price, maxPriorityFeePerGasWei: tipWei < price ? tipWei : price };
  }

  return {
    mode,
    current: () => fee,
    state: () => ({ baseFeeWei: baseFeeWei === null ? null : baseFee, tipWei, legacy, maxFeeWei }),
    holds: (earlier) => {
      // Two blocks can move the base fee by a quarter.
      const isEnough = priceOf(earlier) * 4n >= priceOf(fee) * 3n;
      // What a dynamic fee offers too much is not paid.
      return isEnough && (mode === 'eip1559' || priceOf(earlier) * 3n <= priceOf(fee) * 4n);
    },
    raise: (earlier) => {
      const raised = higherOf(earlier, fee);
      return maxFeeWei !== null && priceOf(raised) > maxFeeWei ? null : raised;
    },
    isTooLow: (earlier) => baseFeeWei !== null && priceOf(earlier) < baseFee,
    worstPriceWei: () => priceOf(fee),
    priceWei: () => {
      const wei = baseFee + tipWei;
      return mode === 'eip1559' && wei < priceOf(fee) ? wei : priceOf(fee);
    },
    observe: (newBaseFee) => {
      if (baseFeeWei === null || newBaseFee === null || newBaseFee === baseFee) return;
      baseFee = newBaseFee;
      fee = offer();
    },
  };
}

/**
 * @param {Fee} earlier @param {Fee} current
 * @returns {Fee} the current offer, but as much above the earlier one as a replacement must be
 */
function higherOf(earlier, current) {
  /** @param {bigint | undefined} before @param {bigint | undefined} now */
  const higher = (before = 0n, now = 0n) => {
    const least = before + before / RAISED_BY + 1n;
    return now > least ? now : least;
  };
  if (earlier.gasPriceWei !== undefined) return { gasPriceWei: higher(earlier.gasPriceWei, current.gasPriceWei) };
  const maxPriorityFeePerGasWei = higher(earlier.maxPriorityFeePerGasWei, current.maxPriorityFeePerGasWei);
  const price = higher(earlier.maxFeePerGasWei, current.maxFeePerGasWei);
  return {
    maxFeePerGasWei: price > maxPriorityFeePerGasWei ? price : maxPriorityFeePerGasWei,
    maxPriorityFeePerGasWei,
  };
}

/** @param {Fee} fee @returns {bigint} in wei, the most that one gas can cost */
function priceOf(fee) {
  return fee.gasPriceWei ?? fee.maxFeePerGasWei ?? 0n;
}
