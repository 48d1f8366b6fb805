import { isBlob, maxPriceWei, tipOf } from './fees.js';
import { TIP, ask, balanceOf, fullBlockAt, gather, headerAt, nullIfOdd } from './answers.js';

/**
 * Whether blocks have left out a transaction that the node has and that they could have taken: then a higher fee is the
 * remedy. Without this evidence the reason is not known, and nothing is replaced.
 *
 * @import { Fee, Header, Purpose, Rpc } from '../contracts/chain.d.ts'
 *
 * @typedef {object} Waiting a transaction whose nonce is the next of its sender, and that the node has shown by its hash
 * @property {string} address
 * @property {bigint} gasLimit
 * @property {bigint} valueWei
 * @property {Fee} fee
 *
 * @typedef {object} LeftOut
 * @property {bigint} leastTipWei what a replacement offers at least
 * @property {boolean} isTipLow the blocks have taken no tip as low as that of the transaction
 * @property {boolean} isTipKnown they have transactions; otherwise they are empty
 */

/** So many blocks that could have taken it. */
export const SKIPPED_BLOCKS = 3;

/** Blocks with other transactions of the same tip leave one out for so many times longer until it is replaced. */
const TURNS = 10;

/** Replacements of one nonce. */
export const MAX_REPLACEMENTS = 3;

/** Without a block for so long, one transaction of the run is replaced: some chains make a block for a new hash only. */
export const NO_BLOCK_MS = 15_000;

/** Blocks that are kept. */
const KEPT = 64;

export class BlockRoom {
  /** @type {Map<number, Promise<Header | null>>} */
  #headers = new Map();
  /** @type {Map<number, Promise<bigint | null>>} */
  #tips = new Map();
  #rpc;
  #purpose;

  /** @param {Rpc} rpc @param {Purpose} purpose */
  constructor(rpc, purpose) {
    this.#rpc = rpc;
    this.#purpose = purpose;
  }

  /**
   * @param {Waiting} waiting
   * @param {number} fromBlock the node had it then
   * @param {number} toBlock the newest
   * @returns {Promise<LeftOut | null>} null: it is not proved
   */
  async evidence({ address, gasLimit, valueWei, fee }, fromBlock, toBlock) {
    if (isBlob(fee) || toBlock - fromBlock < SKIPPED_BLOCKS) return null;
    const headers = await this.#headersTo(toBlock);
    if (!headers.every((header) => hasRoom(header, gasLimit) && isPaidBy(fee, header))) return null;
    const balanceWei = await gather(this.#rpc, balanceOf(address, 'latest'), this.#purpose);
    if (balanceWei < valueWei + gasLimit * maxPriceWei(fee)) return null;
    const tips = await Promise.all(newestTo(toBlock).map((number) => this.#lowestTipAt(number)));
    const suggestedWei = (await nullIfOdd(ask(this.#rpc, TIP, this.#purpose))) ?? 0n;
    const taken = tips.filter((tip) => tip !== null);
    const lowestWei = taken.length === 0 ? null : taken.reduce((a, b) => (a < b ? a : b));
    // Blocks that have transactions, and do not say what they pay, prove nothing.
    if (lowestWei === null && headers.some((header) => header?.gasUsed !== 0)) return null;
    const tipWei = tipOf(fee);
    const leastTipWei = [2n * tipWei, suggestedWei, lowestWei ?? 0n].reduce((a, b) => (a > b ? a : b));
    return { leastTipWei, isTipLow: lowestWei !== null && lowestWei > tipWei, isTipKnown: lowestWei !== null };
  }

  /**
   * Whether the newest blocks are at most half full, which is room for any usual transaction: for one that the node does not show.
   * @param {number} toBlock
   */
  async isAmple(toBlock) {
    const headers = await this.#headersTo(toBlock);
    return headers.every((header) => header !== null && hasRoom(header, BigInt(header.gasLimit ?? 0) / 2n));
  }

  /** Whether the base fee of the newest blocks is above its price: a remedy is a higher one. @param {Fee} fee @param {number} toBlock */
  async isTooDear(fee, toBlock) {
    const headers = await this.#headersTo(toBlock);
    return headers.every((header) => header !== null && !isPaidBy(fee, header));
  }

  /** @param {number} toBlock */
  #headersTo(toBlock) {
    return Promise.all(newestTo(toBlock).map((number) => this.#headerAt(number)));
  }

  /** @param {number} number */
  #headerAt(number) {
    return kept(this.#headers, number, () => ask(this.#rpc, headerAt(number), this.#purpose).catch(() => null));
  }

  /** @param {number} number @returns {Promise<bigint | null>} null: it has no transaction, or is not there */
  #lowestTipAt(number) {
    return kept(this.#tips, number, async () => {
      const block = await ask(this.#rpc, fullBlockAt(number), this.#purpose).catch(() => null);
      const baseWei = block?.baseFeeWei ?? 0n;
      const tips = (block?.transactions ?? []).flatMap(({ maxPriceWei: price, maxTipWei: tip }) => {
        if (price === null || tip === null) return [];
        return price - baseWei < tip ? price - baseWei : tip;
      });
      return tips.length === 0 ? null : tips.reduce((a, b) => (a < b ? a : b));
    });
  }
}

/** Steps of the tip to the highest offer, as powers of two below it, where no block tells which one is taken. */
const STEPS = Object.freeze([6n, 3n, 0n]);

/**
 * @param {LeftOut} evidence
 * @param {number} times replacements before this one
 * @param {bigint} mostWei highest offer
 * @returns {bigint} tip of the replacement
 */
export function tipAfter({ leastTipWei, isTipKnown }, times, mostWei) {
  if (isTipKnown || times >= STEPS.length) return leastTipWei;
  const stepWei = mostWei >> STEPS[times];
  return leastTipWei > stepWei ? leastTipWei : stepWei;
}

/**
 * A chain that takes less than its gas limit lets those with the same tip wait for their turn.
 * @param {LeftOut} evidence
 * @param {number} blocks that have left it out
 */
export function mayBeInTurn({ isTipKnown, isTipLow }, blocks) {
  return isTipKnown && !isTipLow && blocks < TURNS * SKIPPED_BLOCKS;
}

/** @param {number} toBlock */
function newestTo(toBlock) {
  return Array.from({ length: SKIPPED_BLOCKS }, (_, i) => toBlock - i);
}

/** @param {Header | null} header @param {bigint} gasLimit */
function hasRoom(header, gasLimit) {
  if (header === null || header.gasUsed === null || header.gasLimit === null) return false;
  return BigInt(header.gasLimit - header.gasUsed) >= gasLimit;
}

/** @param {Fee} fee @param {Header | null} header */
function isPaidBy(fee, header) {
  return (header?.baseFeeWei ?? null) === null || maxPriceWei(fee) >= /** @type {bigint} */ (header?.baseFeeWei);
}

/** @template T @param {Map<number, Promise<T>>} map @param {number} number @param {() => Promise<T>} make */
function kept(map, number, make) {
  const known = map.get(number) ?? make();
  map.set(number, known);
  for (const oldest of map.keys()) {
    if (map.size <= KEPT) break;
    map.delete(oldest);
  }
  return known;
}
