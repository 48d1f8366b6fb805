/** @import { Card } from './merge-card.js' */

/**
 * Clocks of machines may differ. All instances see the same blocks, each with its own clock, so that the difference of
 * what two call the time of the same blocks is that of their clocks, to within the time that it takes to see a block.
 *
 * @typedef {object} Clocks
 * @property {Array<number | null>} offsetsMs of each card: how much its clock is ahead of the middle one; null: no blocks say
 * @property {number[]} correctionsMs to be added to each card's instants; 0 where clocks agree
 * @property {number} knownToMs clocks closer than this agree, as far as blocks tell
 * @property {number | null} skewMs between the clock furthest ahead and that furthest behind
 */

/** No two see a block at the same time, even where they ask without a pause: what a busy machine adds. */
const LEAST_KNOWN_MS = 100;
/** Each sees a block up to one resolution late; its answer takes time, too. */
const RESOLUTIONS = 2;

/** @param {Card[]} cards @returns {Clocks} */
export function compareClocks(cards) {
  const reference = cards.reduce((best, card) => (card.blocks.length > best.blocks.length ? card : best));
  const ahead = cards.map((card) => differenceMs(card, reference));
  const known = ahead.flatMap((ms) => ms ?? []).sort((a, b) => a - b);
  // One clock is no proof of another's, and the reference need not be the one that is right.
  const knownToMs = cards.reduce((ms, card) => Math.max(ms, RESOLUTIONS * card.resolutionMs), LEAST_KNOWN_MS);
  const none = ahead.map(() => 0);
  if (known.length < 2) return { offsetsMs: ahead.map(() => null), correctionsMs: none, skewMs: null, knownToMs };
  const middle = known[Math.floor((known.length - 1) / 2)];
  const offsetsMs = ahead.map((ms) => (ms === null ? null : ms - middle));
  const skewMs = known[known.length - 1] - known[0];
  // Where any two do not agree all are corrected: those that are left would be as far from each other as before.
  const correctionsMs = skewMs > knownToMs ? offsetsMs.map((ms) => 0 - (ms ?? 0)) : none;
  return { offsetsMs, correctionsMs, skewMs, knownToMs };
}

/**
 * The least skew that each saw of the blocks that both saw.
 * @param {Card} card
 * @param {Card} reference
 * @returns {number | null}
 */
function differenceMs(card, reference) {
  if (card.blocks.length === 0 || reference.blocks.length === 0) return null;
  const from = Math.max(card.blocks[0], reference.blocks[0]);
  const to = Math.min(lastOf(card.blocks), lastOf(reference.blocks));
  const [one, other] = [leastSkewMs(card.blocks, from, to), leastSkewMs(reference.blocks, from, to)];
  return one === null || other === null ? null : one - other;
}

/** @param {Float64Array} blocks */
function lastOf(blocks) {
  return blocks[blocks.length - 2];
}

/** Of the intervals whose blocks are all among those; where there is none, of those that have some. @param {Float64Array} blocks @param {number} from @param {number} to */
function leastSkewMs(blocks, from, to) {
  let whole = Infinity;
  let touched = Infinity;
  for (let i = 0; i < blocks.length; i += 3) {
    const [first, last, skewMs] = blocks.subarray(i, i + 3);
    if (first >= from && last <= to) whole = Math.min(whole, skewMs);
    if (first <= to && last >= from) touched = Math.min(touched, skewMs);
  }
  const least = whole === Infinity ? touched : whole;
  return least === Infinity ? null : least;
}
