import { GAS_PRICE, TIP, ask, nullIfOdd } from './answers.js';

/** @import { BlobFeeState, Fee, Fees, FeeState, Rpc } from '../contracts/chain.d.ts' */

/**
 * The fee that transactions offer. It follows the base fee of blocks that are fetched anyway, without calls of its own.
 *
 * @typedef {object} FeeOptions
 * @property {boolean} legacy use legacy transactions although blocks have a base fee
 * @property {bigint | null} gasPriceWei a fixed gas price, which implies legacy
 * @property {bigint | null} maxFeeWei upper bound of the offer per gas
 */

/**
 * The offer as a multiple of the base fee. A block can raise the base fee by an eighth (EIP-1559), so 5 covers 13 full
 * blocks; the unused part of the offer is not charged.
 */
const DYNAMIC_HEADROOM = 5n;

/** A legacy transaction pays its whole offer, so the margin is smaller: 5 full blocks. */
const LEGACY_HEADROOM = 2n;

/** A replacement raises both fees by 1/8. Pools require a tenth (geth's --txpool.pricebump), some slightly more. */
const REPLACEMENT_DIVISOR = 8n;

/** A block can raise the price of blob gas by a sixth: 5 covers 10 full blocks. The unused part is not charged. */
const BLOB_HEADROOM = 5n;

/**
 * @param {Rpc} rpc
 * @param {bigint | null} baseFeeWei of the latest block; null on chains without a base fee
 * @param {FeeOptions} options
 * @returns {Promise<Fees>}
 */
export async function readFees(rpc, baseFeeWei, options) {
  if (options.gasPriceWei !== null) return createFees({ baseFeeWei: null, tipWei: options.gasPriceWei, ...options });
  if (baseFeeWei === null) {
    return createFees({ baseFeeWei, tipWei: await ask(rpc, GAS_PRICE, 'setup'), ...options });
  }
  return createFees({ baseFeeWei, tipWei: await readTip(rpc), ...options });
}

/** Offered where a node proposes none. */
const USUAL_TIP_WEI = 1_000_000_000n;

/** @param {Rpc} rpc */
async function readTip(rpc) {
  const tipWei = (await nullIfOdd(ask(rpc, TIP, 'setup'))) ?? USUAL_TIP_WEI;
  return tipWei > 0n ? tipWei : 1n;
}

/** @param {FeeState} options @returns {Fees} */
export function createFees({ baseFeeWei, tipWei, legacy, maxFeeWei, blobs = null }) {
  const mode = legacy || baseFeeWei === null ? 'legacy' : 'eip1559';
  const headroom = mode === 'legacy' ? LEGACY_HEADROOM : DYNAMIC_HEADROOM;
  let baseFee = baseFeeWei ?? 0n;
  let blobState = blobs;
  let fee = currentOffer();

  /** @returns {Fee} */
  function currentOffer() {
    const wanted = baseFee * headroom + tipWei;
    const price = maxFeeWei !== null && wanted > maxFeeWei ? maxFeeWei : wanted;
    const forBlobs = blobState === null ? null : { maxFeePerBlobGasWei: blobPriceIn(blobState) * BLOB_HEADROOM };
    if (mode === 'legacy') return { gasPriceWei: price, ...forBlobs };
    return { maxFeePerGasWei: price, maxPriorityFeePerGasWei: tipWei < price ? tipWei : price, ...forBlobs };
  }

  return {
    mode,
    current: () => fee,
    state: () => ({ baseFeeWei: baseFeeWei === null ? null : baseFee, tipWei, legacy, maxFeeWei, blobs: blobState }),
    holds: (earlier) => {
      const { maxFeePerBlobGasWei = 0n } = fee;
      // Two blocks can move the base fee by a quarter.
      const isEnough =
        maxPriceWei(earlier) * 4n >= maxPriceWei(fee) * 3n &&
        (earlier.maxFeePerBlobGasWei ?? 0n) * 4n >= maxFeePerBlobGasWei * 3n;
      // The unused part of a dynamic fee is not charged, so an offer that is too high is fine.
      return isEnough && (mode === 'eip1559' || maxPriceWei(earlier) * 3n <= maxPriceWei(fee) * 4n);
    },
    raise: (earlier) => {
      const raised = replacementFee(earlier, fee);
      return maxFeeWei !== null && maxPriceWei(raised) > maxFeeWei ? null : raised;
    },
    isTooLow: (earlier) =>
      (baseFeeWei !== null && maxPriceWei(earlier) < baseFee) ||
      (blobState !== null && (earlier.maxFeePerBlobGasWei ?? 0n) < blobPriceIn(blobState)),
    worstPriceWei: () => maxPriceWei(fee),
    priceWei: () => {
      const wei = baseFee + tipWei;
      return mode === 'eip1559' && wei < maxPriceWei(fee) ? wei : maxPriceWei(fee);
    },
    observe: (newBaseFee, excessBlobGas = null) => {
      const hasMoved = baseFeeWei !== null && newBaseFee !== null && newBaseFee !== baseFee;
      if (hasMoved) baseFee = newBaseFee;
      const isOther = excessBlobGas !== null && excessBlobGas !== blobState?.excessBlobGas;
      if (blobState !== null && isOther) blobState = { updateFraction: blobState.updateFraction, excessBlobGas };
      else if (!hasMoved) return;
      fee = currentOffer();
    },
    payForBlobs: (state) => {
      blobState = state;
      fee = currentOffer();
    },
    blobPriceWei: () => (blobState === null ? 0n : blobPriceIn(blobState)),
  };
}

/** Rounded up, where a chain rounds down (EIP-4844). @param {BlobFeeState} state */
function blobPriceIn({ excessBlobGas, updateFraction }) {
  return BigInt(Math.ceil(Math.exp(excessBlobGas / updateFraction)));
}

/** The current offer, raised where needed to replace the earlier one. @param {Fee} earlier @param {Fee} current @returns {Fee} */
function replacementFee(earlier, current) {
  /** @param {bigint | undefined} before @param {bigint | undefined} now */
  const higher = (before = 0n, now = 0n) => {
    // Pools require that a blob transaction is replaced by one of twice all its fees.
    const least = before + (earlier.maxFeePerBlobGasWei === undefined ? before / REPLACEMENT_DIVISOR + 1n : before);
    return now > least ? now : least;
  };
  const forBlobs = earlier.maxFeePerBlobGasWei !== undefined && {
    maxFeePerBlobGasWei: higher(earlier.maxFeePerBlobGasWei, current.maxFeePerBlobGasWei),
  };
  if (earlier.gasPriceWei !== undefined)
    return { gasPriceWei: higher(earlier.gasPriceWei, current.gasPriceWei), ...forBlobs };
  const maxPriorityFeePerGasWei = higher(earlier.maxPriorityFeePerGasWei, current.maxPriorityFeePerGasWei);
  const price = higher(earlier.maxFeePerGasWei, current.maxFeePerGasWei);
  return {
    maxFeePerGasWei: price > maxPriorityFeePerGasWei ? price : maxPriorityFeePerGasWei,
    maxPriorityFeePerGasWei,
    ...forBlobs,
  };
}

/** @param {Fee} fee @returns {bigint} the most that one gas can cost */
export function maxPriceWei(fee) {
  return fee.gasPriceWei ?? fee.maxFeePerGasWei ?? 0n;
}
