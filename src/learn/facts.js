import { asMembers, computed, ratio, unknown } from '../stats/unknown.js';
import { walletsFor } from './config.js';
import { distance } from './distance.js';

/**
 * What stress learn has found: the figures of the chain beside those of the fitted mix. Unknown figures are null, with the
 * reason in `unmeasured`.
 *
 * @import { Unknown } from '../contracts/run-file.d.ts'
 * @import { SeenBlock } from './blocks.js'
 * @import { Points } from './distance.js'
 * @import { Member } from './fit.js'
 * @import { Rest } from './groups.js'
 * @import { Source } from './learn.js'
 * @import { Seen } from './transactions.js'
 *
 * @typedef {ReturnType<typeof factsOf>} Facts
 */

/** Gas and bytes that differ by less count as equal in the second distance. */
const TOLERANCE = 0.05;

/** Part of the transactions from which the load sends legacy ones, too. */
const LEGACY_SHARE = 0.5;

const LEGACY = '0x0';
const NO_GAS = 'a receipt does not state its gas';
const NO_DATA = 'the node does not show all calldata';
const NOTHING = 'nothing could be fitted';

/** @param {{blocks: readonly SeenBlock[], source: Source, version: string, members: readonly Member[], rest: readonly Rest[]}} found */
export function factsOf({ blocks, source, version, members, rest }) {
  const all = blocks.flatMap(({ transactions }) => transactions);
  const fittedShare = members.reduce((total, { share }) => total + share, 0);
  const types = sharesOf(all.map(([, type]) => (type === null ? 'not stated' : typeText(type))));
  const hasBaseFee = blocks.some((block) => block.hasBaseFee);
  const legacyShare = [LEGACY, '0x1', 'not stated'].reduce((total, name) => total + (types[name] ?? 0), 0);
  const isLegacy = hasBaseFee && legacyShare >= LEGACY_SHARE;
  const typeOf = (/** @type {Member} */ { type }) =>
    type === 2 && (isLegacy || !hasBaseFee) ? LEGACY : typeText(type);
  const meanOf = (/** @type {'gas' | 'bytes'} */ figure) =>
    ratio(
      members.reduce((total, { share, operation }) => total + share * operation[figure], 0),
      fittedShare,
      NOTHING,
    );
  const chain = chainOf(blocks, all);
  const { threads } = walletsFor(asMembers(chain).members);
  const { members: facts, unmeasured } = asMembers({
    ...{ stress: version, ...source },
    blocks: { from: blocks[0].number, to: blocks[blocks.length - 1].number, count: blocks.length },
    transactions: all.length,
    ...{ fittedShare, isLegacy, hasBaseFee },
    chain: { ...chain, types },
    mix: {
      ...{ gas: meanOf('gas'), bytes: meanOf('bytes') },
      sendersPerBlock: Math.min(threads, chain.transactionsPerBlock),
      types: summed(members.map((one) => [typeOf(one), one.share / fittedShare])),
    },
    members: members.map(({ name, words, share, groups, operation: { gas, bytes } }) => ({
      ...{ name, words, share },
      chain: { gas: medianOf(groups, 'gas', share), bytes: medianOf(groups, 'bytes', share) },
      mix: { gas, bytes },
    })),
    notFitted: rest.map(({ words, share }) => ({ words, share })),
    distance: { gas: distancesOf(all, members, 'gas'), bytes: distancesOf(all, members, 'bytes') },
  });
  return { ...facts, unmeasured };
}

/** @param {number} type */
function typeText(type) {
  return `0x${type.toString(16)}`;
}

/** Mean of the medians of several groups. @param {Member['groups']} groups @param {'gas' | 'bytes'} figure @param {number} share of them */
function medianOf(groups, figure, share) {
  return Math.round(groups.reduce((total, group) => total + (group.share / share) * group[figure], 0));
}

/** @param {readonly SeenBlock[]} blocks @param {readonly Seen[]} all */
function chainOf(blocks, all) {
  const later = blocks.slice(1);
  const transactions = later.reduce((total, block) => total + block.transactions.length, 0);
  const length = lengthOf(blocks);
  const gasOf = (/** @type {readonly SeenBlock[]} */ some) =>
    total(
      some.map(({ gasUsed }) => gasUsed),
      'a block does not state its gas',
    );
  const limit = total(
    blocks.map(({ gasLimit }) => gasLimit),
    'blocks have no gas limit',
  );
  const senders = total(
    blocks.map((block) => block.senders),
    'a transaction has no sender',
  );
  const [gas, bytes] = [
    total(
      all.map(([, , one]) => one),
      NO_GAS,
    ),
    total(
      all.map(([, , , one]) => one),
      NO_DATA,
    ),
  ];
  const per = (/** @type {number | Unknown} */ amount, /** @type {number | Unknown} */ count) =>
    computed((a, b) => a / b, amount, count);
  return {
    ...{ gas: per(gas, all.length), bytes: per(bytes, all.length) },
    sendersPerBlock: per(senders, blocks.length),
    transactionsPerBlock: all.length / blocks.length,
    transactionsPerSecond: per(transactions, length),
    gasPerSecond: per(gasOf(later), length),
    blockSeconds: per(length, later.length),
    fullness: ratio(gasOf(blocks), limit, 'blocks have no gas limit'),
  };
}

/** From the first block to the last one, in seconds. @param {readonly SeenBlock[]} blocks @returns {number | Unknown} */
function lengthOf(blocks) {
  const [from, to] = [blocks[0].timestampS, blocks[blocks.length - 1].timestampS];
  if (from === null || to === null) return unknown('blocks have no timestamps');
  if (to > from) return to - from;
  return unknown(blocks.length === 1 ? 'one block has no length' : 'the blocks have one timestamp');
}

/** @param {ReadonlyArray<number | null>} values @param {string} why one of them may be null @returns {number | Unknown} */
function total(values, why) {
  let all = 0;
  for (const value of values) {
    if (value === null) return unknown(why);
    all += value;
  }
  return all;
}

/** @param {readonly string[]} names @returns {Record<string, number>} */
function sharesOf(names) {
  const counts = Object.entries(summed(names.map((name) => [name, 1])));
  return Object.fromEntries(counts.map(([name, many]) => [name, many / names.length]));
}

/** @param {ReadonlyArray<readonly [string, number]>} parts @returns {Record<string, number>} */
function summed(parts) {
  /** @type {Record<string, number>} */
  const sums = {};
  for (const [name, part] of parts) sums[name] = (sums[name] ?? 0) + part;
  return sums;
}

/** @param {readonly Seen[]} all @param {readonly Member[]} members @param {'gas' | 'bytes'} figure */
function distancesOf(all, members, figure) {
  const values = Float64Array.from(all.flatMap((one) => one[figure === 'gas' ? 2 : 3] ?? [])).sort();
  /** @type {Points} */
  const points = members.map(({ share, operation }) => [operation[figure], share]);
  const within = (/** @type {number} */ tolerance) =>
    points.length === 0 ? unknown(NOTHING) : distance(values, points, tolerance);
  return { exact: within(0), within5Percent: within(TOLERANCE) };
}
