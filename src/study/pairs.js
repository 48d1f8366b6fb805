/** @import { Entry } from './comparable.js' */

/**
 * Which runs stand beside each other. A machine that grows slower with time does so for both runs of a pair, so that
 * pairs see smaller differences than all runs of a side against all of the other.
 *
 * @typedef {object} Arrangement
 * @property {boolean} isPaired
 * @property {Entry[]} base of pairs, the i-th of each side
 * @property {Entry[]} candidate
 * @property {string} words why
 * @property {string[]} warnings
 * @property {boolean} isApart in time: one side always before the other, of all runs or in every pair
 */

/**
 * @param {readonly Entry[]} base
 * @param {readonly Entry[]} candidate
 * @param {boolean} isLive they are pairs as they are
 * @returns {Arrangement}
 */
export function arrange(base, candidate, isLive) {
  const sides = { base: inTime(base), candidate: inTime(candidate) };
  const order = inTime([...base, ...candidate]).map((entry) => (base.includes(entry) ? 'A' : 'B'));
  const couples = order.flatMap((side, i) => (i % 2 === 0 ? [`${side}${order[i + 1] ?? ''}`] : []));
  if (isLive || couples.every((couple) => couple === 'AB' || couple === 'BA')) {
    const warnings = unbalanced(couples);
    const words = isLive
      ? 'each run of BASE was made beside one of CANDIDATE, in the order A B B A'
      : `sorted by when they began, each run of BASE has one of CANDIDATE beside it (${shown(order)})`;
    return {
      isPaired: true,
      ...(isLive ? { base: [...base], candidate: [...candidate] } : sides),
      words,
      warnings,
      isApart: warnings.length > 0,
    };
  }
  const words =
    base.length === candidate.length
      ? `sorted by when they began, the runs do not fall into neighbours of one of each side (${shown(order)})`
      : 'the sides have different numbers of runs';
  const isApart = /^(A+B+|B+A+)$/.test(order.join(''));
  return { isPaired: false, ...sides, words, warnings: isApart ? [APART] : [], isApart };
}

/** @param {readonly Entry[]} entries */
function inTime(entries) {
  return [...entries].sort((a, b) => Date.parse(a.run.startedAt) - Date.parse(b.run.startedAt));
}

/** More would not be read. */
const LONGEST = 16;

/** @param {string[]} order */
function shown(order) {
  return order.length <= LONGEST ? order.join(' ') : `${order.slice(0, LONGEST).join(' ')} ...`;
}

/** A drift that always meets the same side second looks like a difference. @param {string[]} couples */
function unbalanced(couples) {
  const first = couples.filter((couple) => couple === 'AB').length;
  const isAlways = couples.length > 1 && (first === 0 || first === couples.length);
  if (!isAlways) return [];
  return [
    `${first === 0 ? 'CANDIDATE' : 'BASE'} ran first in every pair: what a machine that grows slower or faster does to the second is not told from a difference; run them A B B A`,
  ];
}

const APART =
  'all runs of one side were made before those of the other: what changed meanwhile on the machine is not told from a difference; run them A B B A';
