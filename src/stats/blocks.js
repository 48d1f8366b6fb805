import { EARLIER, merge, zero } from './merge.js';
import { BLOCKS } from './metrics.js';

/**
 * @import { SeenBlock } from '../contracts/chain.d.ts'
 * @import { BlockTotals } from '../contracts/run-file.d.ts'
 */

/** The blocks of the chain while a run goes on. */

/** @returns {BlockTotals} */
export function noBlocks() {
  return zero(BLOCKS);
}

/** @param {SeenBlock} block @returns {BlockTotals} */
export function totalsOfBlock({
  number,
  seenAtMs,
  transactions,
  ours,
  gasUsed,
  gasLimit,
  ownGasLimit = 0,
  skewMs,
  gapMs,
  isAboveMaxFee,
}) {
  // Nodes reserve a transaction's gas limit. Those of others are not known: they may be twice the gas used, but a block that
  // is half empty proves nothing.
  const areLimitsKnown = ours === transactions && ownGasLimit > 0;
  const nextGas = areLimitsKnown ? ownGasLimit / ours : (2 * gasUsed) / transactions;
  const isUsedUp = transactions > 0 && gasUsed + nextGas > gasLimit && (areLimitsKnown || gasUsed >= gasLimit / 2);
  // Some chains fill blocks by the gas limits of transactions: they never go above that of the block.
  const isReserved = ours > 0 && ownGasLimit <= gasLimit && ownGasLimit + ownGasLimit / ours > gasLimit;
  const isFull = gasLimit > 0 && (isUsedUp || isReserved);
  const fullness = gasLimit > 0 ? gasUsed / gasLimit : null;
  return {
    count: 1,
    firstNumber: number,
    lastNumber: number,
    firstSeenAtMs: seenAtMs,
    lastSeenAtMs: seenAtMs,
    transactions,
    ours,
    aboveMaxFee: isAboveMaxFee === true ? 1 : 0,
    gasUsed,
    own: ours === transactions ? { transactions, gasUsed } : { transactions: 0, gasUsed: 0 },
    gasLimit,
    fullnessSum: fullness ?? 0,
    fullness: fullness === null ? {} : { [fullnessKey(100 * fullness)]: 1 },
    full: isFull ? 1 : 0,
    gapMaxMs: gapMs,
    skewMinMs: skewMs,
    skewMaxMs: skewMs,
    skewSumMs: skewMs ?? 0,
  };
}

/** Few different ones, and two digits also of blocks that are nearly empty. @param {number} percent */
function fullnessKey(percent) {
  return percent >= 1 || percent === 0 ? percent.toFixed(1) : String(Number(percent.toPrecision(2)));
}

/** The blocks of consecutive times. @param {BlockTotals} a @param {BlockTotals} b the later ones @returns {BlockTotals} */
export function addBlocks(a, b) {
  return merge(BLOCKS, a, b, EARLIER);
}

/** A gap this many times longer than the others is a halt of the chain, not its pace. */
const STILL = 5;
/** Blocks are seen a little earlier or later than they come. */
const NEARLY = 0.9;

/**
 * From the first block to the last one: the ends of the window lie anywhere between two blocks.
 * @param {BlockTotals} totals
 * @param {number} durationMs of the time in which they were seen
 * @returns {number} the mean time between two blocks, without the gap of a halt
 */
export function blockIntervalMs(totals, durationMs) {
  const { count, gapMaxMs = 0, skewMinMs, skewMaxMs, firstSeenAtMs, lastSeenAtMs } = totals;
  const gapMs = Math.min(gapMaxMs, durationMs);
  const othersMs = (durationMs - gapMs) / Math.max(1, count - 1);
  // Blocks produced in the gap but seen after it have a larger skew: no halt.
  const isLate = (skewMaxMs ?? 0) - (skewMinMs ?? 0) > gapMs / 2;
  if (count > 2 && gapMs > STILL * othersMs && !isLate) return othersMs;
  const spanMs = (lastSeenAtMs ?? NaN) - (firstSeenAtMs ?? NaN);
  // A window of n blocks is shorter than n + 1 intervals. Blocks that are all seen within a smaller part of it were seen late.
  const leastMs = durationMs * Math.min(1 / 2, (NEARLY * (count - 1)) / (count + 1));
  // Older files do not have the instants.
  return count > 1 && spanMs >= leastMs ? spanMs / (count - 1) : durationMs / count;
}

/** Each thread sees every block, but only its own transactions in it. A block counts once all threads have seen it. */
export class SharedBlocks {
  #totals = noBlocks();
  /** By number and hash: blocks that some threads have not seen yet. @type {Map<string, {block: SeenBlock, seen: number}>} */
  #open = new Map();
  #onWhole;
  #isCounted;

  /**
   * @param {(block: SeenBlock) => void} onWhole called with each block once all threads have seen it
   * @param {(block: SeenBlock) => boolean} [isCounted] by its first sighting, because a block may be new to one thread only
   */
  constructor(onWhole, isCounted = () => true) {
    this.#onWhole = onWhole;
    this.#isCounted = isCounted;
  }

  /** @param {SeenBlock} block as one thread saw it @param {number} threads number of threads */
  add(block, threads) {
    // After a reorg two blocks have the same number.
    const key = `${block.number}:${block.hash}`;
    const known = this.#open.get(key);
    if (known === undefined) this.#open.set(key, { block, seen: 1 });
    else {
      // The first sighting counts, not the first report.
      const first = block.seenAtMs < known.block.seenAtMs ? block : known.block;
      const [ours, { ownGasLimit = 0 }] = [known.block.ours + block.ours, known.block];
      known.block = { ...first, ours, ownGasLimit: ownGasLimit + (block.ownGasLimit ?? 0) };
      known.seen += 1;
    }
    if ((this.#open.get(key)?.seen ?? 0) < threads) return;
    // Threads see blocks in order: no thread will report an earlier block any more.
    for (const [other, { block: merged }] of this.#open) {
      this.#add(merged);
      this.#open.delete(other);
      if (other === key) break;
    }
  }

  /** @param {SeenBlock} block */
  #add(block) {
    if (!this.#isCounted(block)) return;
    this.#totals = addBlocks(this.#totals, totalsOfBlock(block));
    this.#onWhole(block);
  }

  /** @param {boolean} isLast includes blocks that some threads have not seen @returns {BlockTotals} since the previous call */
  take(isLast) {
    if (isLast) {
      for (const { block } of this.#open.values()) this.#add(block);
      this.#open.clear();
    }
    const totals = this.#totals;
    this.#totals = noBlocks();
    return totals;
  }
}
