import { amountAtMost, exactAmount } from '../coin.js';
import { UsageError } from '../errors.js';
import { GAS_PRICE, TIP, ask, nullIfOdd } from './answers.js';

/** @import { BlobFeeState, Fee, Fees, FeeState, OfferLimits, Rpc, StatedPrice } from '../contracts/chain.d.ts' */

/**
 * The fee that transactions offer. It follows the base fee of blocks that are fetched anyway, without calls of its own.
 *
 * @typedef {object} FeeOptions
 * @property {boolean} legacy use legacy transactions although blocks have a base fee
 * @property {bigint | null} gasPriceWei a fixed gas price, which implies legacy
 * @property {bigint | null} tipWei a fixed priority fee; null: what the node suggests
 * @property {bigint | null} maxFeeWei upper bound of the offer per gas
 * @property {boolean} isGuarded fees are real money (--allow-chain): without --max-fee nothing is raised by itself
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

/** Without --max-fee the offer is raised to so many times the first one, which counts as a gwei at least: base fees of idle chains decay to a few wei. */
const MOST_TIMES = 10n;
const LEAST_FIRST_WEI = 1_000_000_000n;

/** Refusals without a stated minimum that raise the offer. */
const MAX_RAISES = 6;

/** @type {OfferLimits} */
const UNLIMITED = Object.freeze({ fixedBy: null, mostWei: null, leastWei: 0n, raises: 0 });

/**
 * @param {Rpc} rpc
 * @param {bigint | null} baseFeeWei of the latest block; null on chains without a base fee
 * @param {FeeOptions} options
 * @returns {Promise<Fees>}
 * @throws {UsageError} --tip where it means nothing
 */
export async function readFees(rpc, baseFeeWei, { gasPriceWei, tipWei, maxFeeWei, legacy, isGuarded }) {
  const fixedBy =
    gasPriceWei !== null
      ? '--gas-price'
      : tipWei !== null
        ? '--tip'
        : isGuarded && maxFeeWei === null
          ? '--allow-chain'
          : null;
  const openWith = (/** @type {bigint | null} */ base, /** @type {bigint} */ tip) => {
    const parts = { baseFeeWei: base, tipWei: tip, legacy, maxFeeWei };
    const first = createFees(parts).worstPriceWei();
    const mostWei = MOST_TIMES * larger(first, LEAST_FIRST_WEI);
    return createFees({ ...parts, offer: { ...UNLIMITED, fixedBy, mostWei } });
  };
  if (gasPriceWei !== null) return openWith(null, gasPriceWei);
  if (tipWei !== null) {
    if (baseFeeWei === null)
      throw new UsageError('--tip is for chains with a base fee, and blocks of this one have none: give --gas-price');
    if (maxFeeWei !== null && tipWei > maxFeeWei)
      throw new UsageError(
        `--tip ${exactAmount(tipWei)} is above --max-fee ${exactAmount(maxFeeWei)}: the tip is part of the fee`,
      );
    return openWith(baseFeeWei, tipWei);
  }
  if (baseFeeWei === null) return openWith(baseFeeWei, await ask(rpc, GAS_PRICE, 'setup'));
  return openWith(baseFeeWei, await readTip(rpc, baseFeeWei));
}

/** Offered where a node proposes none. */
const USUAL_TIP_WEI = 1_000_000_000n;

/** Nothing is offered where gas is free: a base fee of 0, and a suggested price of 0. @param {Rpc} rpc @param {bigint} baseFeeWei */
async function readTip(rpc, baseFeeWei) {
  if (baseFeeWei === 0n && (await nullIfOdd(ask(rpc, GAS_PRICE, 'setup'))) === 0n) return 0n;
  const tipWei = (await nullIfOdd(ask(rpc, TIP, 'setup'))) ?? USUAL_TIP_WEI;
  return tipWei > 0n ? tipWei : 1n;
}

/** @param {Pick<FeeState, 'legacy' | 'baseFeeWei'>} state @returns {Fees['mode']} */
function modeOf({ legacy, baseFeeWei }) {
  return legacy || baseFeeWei === null ? 'legacy' : 'eip1559';
}

/** @param {FeeState} state @returns {Fee} */
function offerOf(state) {
  const { baseFeeWei, tipWei, maxFeeWei, blobs = null, offer = UNLIMITED } = state;
  const isLegacy = modeOf(state) === 'legacy';
  const headroom = isLegacy ? LEGACY_HEADROOM : DYNAMIC_HEADROOM;
  const wanted = larger((baseFeeWei ?? 0n) * headroom + tipWei, offer.leastWei);
  const price = maxFeeWei !== null && wanted > maxFeeWei ? maxFeeWei : wanted;
  const forBlobs = blobs === null ? null : { maxFeePerBlobGasWei: blobPriceIn(blobs) * BLOB_HEADROOM };
  if (isLegacy) return { gasPriceWei: price, ...forBlobs };
  return { maxFeePerGasWei: price, maxPriorityFeePerGasWei: smaller(tipWei, price), ...forBlobs };
}

/** The most that is offered without a request of the user. It follows the base fee, wherever that goes. @param {FeeState} state */
function mostWeiOf(state) {
  const { maxFeeWei, offer = UNLIMITED } = state;
  return maxFeeWei ?? larger(offer.mostWei ?? 0n, maxPriceWei(offerOf(state)));
}

/**
 * @param {FeeState} state
 * @param {bigint} priceWei that is to be offered
 * @param {StatedPrice} [stated] by the node
 * @returns {string | null} why it is not offered
 */
function limitOn(state, priceWei, { tipWei, priceWei: leastPriceWei } = {}) {
  const { maxFeeWei, offer: { fixedBy, mostWei } = UNLIMITED } = state;
  const leastWei = tipWei ?? leastPriceWei;
  // A minimum of the whole price is no tip: a higher limit is enough.
  const isOfPrice = tipWei === undefined && leastPriceWei !== undefined && fixedBy === null;
  const price = leastWei === undefined ? 'PRICE' : exactAmount(leastWei).replace(' ', '');
  const command = `${modeOf(state) === 'legacy' ? '--gas-price' : isOfPrice ? '--max-fee' : '--tip'} ${price}`;
  if (fixedBy === '--allow-chain') return `with --allow-chain no offer is raised by itself: give ${command}`;
  if (fixedBy !== null) return `${fixedBy} is never raised by itself: give ${command}`;
  if (maxFeeWei !== null && priceWei > maxFeeWei)
    return `--max-fee ${exactAmount(maxFeeWei)} allows no higher offer: give ${leastWei === undefined ? 'a higher --max-fee' : `--max-fee ${maxFeeFor(state, { tipWei, priceWei: leastPriceWei })}`}`;
  if (mostWei === null || priceWei <= mostWeiOf(state)) return null;
  return `by itself the offer is raised to ten times the first one, ${exactAmount(mostWeiOf(state))}: give ${command}${isOfPrice ? '' : ', or a --max-fee'}`;
}

/** The limit with which what the node states is offered, also if the base fee rises. @param {FeeState} state @param {StatedPrice} stated */
function maxFeeFor(state, { tipWei = 0n, priceWei = 0n }) {
  const offer = { ...(state.offer ?? UNLIMITED), leastWei: priceWei };
  const wanted = offerOf({ ...state, offer, tipWei: larger(tipWei, state.tipWei), maxFeeWei: null });
  return amountAtMost(maxPriceWei(wanted)).replace(' ', '');
}

/**
 * @param {FeeState} state
 * @param {Fee} refused
 * @param {StatedPrice} stated by the refusal
 * @returns {FeeState | string} string: why no more is offered
 */
function raisedState(state, refused, stated) {
  const { tipWei: minTipWei, priceWei: minPriceWei, baseFeeWei: statedBaseWei = 0n } = stated;
  const { offer = UNLIMITED } = state;
  let { baseFeeWei } = state;
  if (baseFeeWei !== null) baseFeeWei = larger(baseFeeWei, statedBaseWei);
  const followed = { ...state, baseFeeWei };
  const current = offerOf(followed);
  // Refused was an older offer.
  if (maxPriceWei(refused) < maxPriceWei(current) || tipOf(refused) < tipOf(current)) return followed;
  let { raises } = offer;
  let [tipWei, leastWei] = [larger(state.tipWei, minTipWei ?? 0n), larger(offer.leastWei, minPriceWei ?? 0n)];
  const isStated = minTipWei !== undefined || minPriceWei !== undefined;
  const mostWei = mostWeiOf(followed);
  if (!isStated) {
    if (raises === MAX_RAISES) return limitOn(followed, mostWei + 1n) ?? `the offer was raised ${MAX_RAISES} times`;
    raises += 1;
    // Without --max-fee, what the headroom above the base fee takes is no part of the tip.
    const isWhole = state.maxFeeWei !== null || modeOf(state) === 'legacy';
    const mostTipWei = isWhole ? mostWei : mostWei - (baseFeeWei ?? 0n) * DYNAMIC_HEADROOM;
    // The last one offers all that is allowed; those before are no larger on account of a high --max-fee.
    const left = BigInt(MAX_RAISES - raises);
    const stepWei = (/** @type {bigint} */ wei) => (left === 0n ? wei : smaller(wei, offer.mostWei ?? wei) >> left);
    leastWei = smaller(larger(2n * maxPriceWei(current), stepWei(mostWei)), mostWei);
    tipWei = larger(tipWei, smaller(smaller(larger(2n * tipWei, stepWei(mostTipWei)), leastWei), mostTipWei));
  }
  const next = { ...followed, tipWei, offer: { ...offer, leastWei, raises } };
  // --max-fee allows an offer without headroom above the base fee.
  const payableWei = larger(leastWei, (baseFeeWei ?? 0n) + (isStated ? tipWei : 0n));
  const neededWei = state.maxFeeWei === null ? maxPriceWei(offerOf(next)) : payableWei;
  const why = limitOn(followed, neededWei, stated);
  if (why !== null) return why;
  const raised = offerOf(next);
  if (maxPriceWei(raised) > maxPriceWei(current) || tipOf(raised) > tipOf(current)) return next;
  return isStated ? 'the node refuses more than the minimum that it states' : String(limitOn(followed, mostWei + 1n));
}

/** @param {FeeState} options @returns {Fees} */
export function createFees(options) {
  let state = { blobs: null, offer: UNLIMITED, ...options };
  const mode = modeOf(state);
  let fee = offerOf(state);
  const hasBaseFee = state.baseFeeWei !== null;
  /** @param {Partial<FeeState>} change */
  const update = (change) => {
    state = { ...state, ...change };
    fee = offerOf(state);
  };
  return {
    mode,
    isFree: state.baseFeeWei === 0n && state.tipWei === 0n && maxPriceWei(fee) === 0n,
    current: () => fee,
    state: () => state,
    raiseOffer: (refused, stated) => {
      const next = raisedState(state, refused, stated);
      if (typeof next === 'string') return next;
      update(next);
      return null;
    },
    holds: (earlier) => {
      const { maxFeePerBlobGasWei = 0n } = fee;
      // Two blocks can move the base fee by a quarter.
      const isEnough =
        maxPriceWei(earlier) * 4n >= maxPriceWei(fee) * 3n &&
        tipOf(earlier) >= smaller(state.tipWei, maxPriceWei(earlier)) &&
        (earlier.maxFeePerBlobGasWei ?? 0n) * 4n >= maxFeePerBlobGasWei * 3n;
      // The unused part of a dynamic fee is not charged, so an offer that is too high is fine.
      return isEnough && (mode === 'eip1559' || maxPriceWei(earlier) * 3n <= maxPriceWei(fee) * 4n);
    },
    replacementFee: (earlier, leastTipWei = 0n) => {
      const raised = replacementFee(earlier, withTip(fee, leastTipWei, mostWeiOf(state)));
      const isLimited = state.maxFeeWei !== null || state.offer.mostWei !== null;
      return isLimited && maxPriceWei(raised) > mostWeiOf(state) ? null : raised;
    },
    learn: (taken) => {
      const headroomWei = (state.baseFeeWei ?? 0n) * (mode === 'legacy' ? LEGACY_HEADROOM : DYNAMIC_HEADROOM);
      const tipWei = smaller(tipOf(taken), mostWeiOf(state) - headroomWei);
      if (state.offer.fixedBy === null && tipWei > state.tipWei) update({ tipWei });
    },
    isFixed: state.offer.fixedBy !== null,
    isPriceFixed: state.offer.fixedBy === '--gas-price',
    mostWei: () => mostWeiOf(state),
    limitWords: () => limitOn(state, mostWeiOf(state) + 1n) ?? 'no higher price is offered',
    isTooLow: (earlier) =>
      (hasBaseFee && maxPriceWei(earlier) < (state.baseFeeWei ?? 0n)) ||
      (state.blobs !== null && (earlier.maxFeePerBlobGasWei ?? 0n) < blobPriceIn(state.blobs)),
    worstPriceWei: () => maxPriceWei(fee),
    priceWei: () => {
      const wei = (state.baseFeeWei ?? 0n) + state.tipWei;
      return mode === 'eip1559' && wei < maxPriceWei(fee) ? wei : maxPriceWei(fee);
    },
    observe: (newBaseFee, excessBlobGas = null) => {
      const { blobs } = state;
      const hasMoved = hasBaseFee && newBaseFee !== null && newBaseFee !== state.baseFeeWei;
      if (hasMoved) state = { ...state, baseFeeWei: newBaseFee };
      const isOther = excessBlobGas !== null && excessBlobGas !== blobs?.excessBlobGas;
      if (blobs !== null && isOther) update({ blobs: { updateFraction: blobs.updateFraction, excessBlobGas } });
      else if (hasMoved) update({});
    },
    payForBlobs: (blobs) => update({ blobs }),
    blobPriceWei: () => (state.blobs === null ? 0n : blobPriceIn(state.blobs)),
  };
}

/** @param {Fee} fee @param {bigint} tipWei @param {bigint} mostWei of the whole offer @returns {Fee} with at least that tip */
function withTip(fee, tipWei, mostWei) {
  if (tipWei <= tipOf(fee)) return fee;
  if (fee.gasPriceWei !== undefined) return { ...fee, gasPriceWei: tipWei };
  const wantedWei = (fee.maxFeePerGasWei ?? 0n) + tipWei - tipOf(fee);
  const price = larger(fee.maxFeePerGasWei ?? 0n, smaller(wantedWei, mostWei));
  return { ...fee, maxPriorityFeePerGasWei: smaller(tipWei, price), maxFeePerGasWei: price };
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

/** @param {Fee} fee */
export function offerText({ gasPriceWei, maxFeePerGasWei = 0n, maxPriorityFeePerGasWei = 0n }) {
  if (gasPriceWei !== undefined) return `a gas price of ${exactAmount(gasPriceWei)}`;
  return `a tip of ${exactAmount(maxPriorityFeePerGasWei)} (${exactAmount(maxFeePerGasWei)} at most in all)`;
}

/** @param {Fee} fee */
export function raisedText(fee) {
  return `the node takes no lower price: ${offerText(fee)} is offered from now on`;
}

/** @param {bigint} a @param {bigint} b */
function larger(a, b) {
  return a > b ? a : b;
}

/** @param {bigint} a @param {bigint} b */
function smaller(a, b) {
  return a < b ? a : b;
}

/** @param {Fee} fee */
export function isBlob({ maxFeePerBlobGasWei }) {
  return maxFeePerBlobGasWei !== undefined;
}

/** A legacy transaction pays its whole price. @param {Fee} fee */
export function tipOf(fee) {
  return fee.maxPriorityFeePerGasWei ?? fee.gasPriceWei ?? 0n;
}

/** @param {Fee} fee @returns {bigint} the most that one gas can cost */
export function maxPriceWei(fee) {
  return fee.gasPriceWei ?? fee.maxFeePerGasWei ?? 0n;
}
