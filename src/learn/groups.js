import { counted } from '../text.js';
import { NOT_FITTED, describe } from './transactions.js';

/**
 * Groups of transactions that are alike: of one kind and one selector, and within twice the gas.
 *
 * @import { SeenBlock } from './blocks.js'
 * @import { Seen } from './transactions.js'
 *
 * @typedef {object} Group
 * @property {string} kind
 * @property {string} selector empty: of all
 * @property {number} level from 0: groups of one selector, by their gas
 * @property {string} words
 * @property {readonly Seen[]} transactions by their gas
 * @property {number} share of all transactions
 * @property {number} gas median
 * @property {number} meanGas
 * @property {number} bytes median, of calldata
 * @property {number} events median
 *
 * @typedef {{words: string, count: number, share: number}} Rest transactions that are not fitted, and why
 */

/** Groups of one selector differ by this factor. */
const TWICE = 2;

/** Between them there is a gap of at least this factor. */
const GAP = 1.2;

/** Part of a selector's transactions, and of all, that a group of its own has at least. */
const LEAST_PART = 0.05;
const LEAST_SHARE = 0.005;

/** The same of the gas: few creations may use much of it. */
const LEAST_GAS_SHARE = 0.01;

/** Members of a mix that anybody reads. */
const MOST_GROUPS = 30;

/** @param {readonly SeenBlock[]} blocks @returns {{groups: Group[], rest: Rest[]}} both with the largest first */
export function groupsOf(blocks) {
  /** @type {Map<string, Seen[]>} */
  const byGroup = new Map();
  let all = 0;
  for (const { transactions } of blocks) {
    for (const one of transactions) {
      const list = byGroup.get(one[0]);
      if (list === undefined) byGroup.set(one[0], [one]);
      else list.push(one);
      all += 1;
    }
  }
  /** @type {Rest[]} */
  const rest = [];
  /** @type {Group[]} */
  const groups = [];
  for (const [group, list] of byGroup) {
    if (group.startsWith(NOT_FITTED))
      rest.push({ words: group.slice(NOT_FITTED.length), count: list.length, share: list.length / all });
    else {
      list.sort((a, b) => gasOf(a) - gasOf(b));
      const least = Math.ceil(Math.max(LEAST_PART * list.length, LEAST_SHARE * all));
      groups.push(...levelsOf(list, least).map((level, i) => described(group, i, level, all)));
    }
  }
  const [kept, rare] = withoutRare(groups);
  const count = rare.reduce((sum, { transactions }) => sum + transactions.length, 0);
  if (count > 0)
    rest.push({ words: `rare: ${counted(rare.length, 'group')} of less than 0.5 %`, count, share: count / all });
  return { groups: kept, rest: rest.sort((a, b) => b.count - a.count) };
}

/** @param {Seen} transaction whose gas is known */
function gasOf([, , gas]) {
  return /** @type {number} */ (gas);
}

/**
 * Divides transactions at the widest gaps of their gas, as long as the parts differ by twice the gas.
 * @param {readonly Seen[]} sorted
 * @param {number} least transactions of a part
 * @returns {Array<readonly Seen[]>}
 */
function levelsOf(sorted, least) {
  let [at, widest] = [0, GAP];
  for (let i = least; i <= sorted.length - least; i += 1) {
    const gap = gasOf(sorted[i]) / gasOf(sorted[i - 1]);
    if (gap < widest || medianGas(sorted, i) < TWICE * medianGas(sorted, 0, i)) continue;
    [at, widest] = [i, gap];
  }
  return at === 0 ? [sorted] : [sorted.slice(0, at), sorted.slice(at)].flatMap((part) => levelsOf(part, least));
}

/** @param {readonly Seen[]} sorted */
function medianGas(sorted, from = 0, to = sorted.length) {
  return gasOf(sorted[(from + to) >> 1]);
}

/** @param {string} group @param {number} level @param {readonly Seen[]} transactions @param {number} all @returns {Group} */
function described(group, level, transactions, all) {
  const { kind, selector, words } = describe(group);
  const sum = transactions.reduce((total, one) => total + gasOf(one), 0);
  return {
    ...{ kind, selector, level, transactions },
    words: level === 0 ? words : `${words} (${level + 1})`,
    share: transactions.length / all,
    gas: medianGas(transactions),
    meanGas: sum / transactions.length,
    bytes: middle(transactions.map((one) => Number(one[3]))),
    events: middle(transactions.map((one) => one[4])),
  };
}

/** The upper median. @param {number[]} values */
function middle(values) {
  return values.sort((a, b) => a - b)[values.length >> 1];
}

/** @param {Group[]} groups @returns {[Group[], Group[]]} those that count, the largest first, and the others */
function withoutRare(groups) {
  const gas = groups.reduce((sum, { share, meanGas }) => sum + share * meanGas, 0);
  const counts = (/** @type {Group} */ { share, meanGas }) =>
    share >= LEAST_SHARE || (share * meanGas) / gas >= LEAST_GAS_SHARE;
  const sorted = groups.sort((a, b) => b.share - a.share || (a.words < b.words ? -1 : 1));
  const kept = sorted.filter(counts).slice(0, MOST_GROUPS);
  return [kept, sorted.filter((group) => !kept.includes(group))];
}
