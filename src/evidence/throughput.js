import { digits } from '../text.js';
import { valuesOf } from './figures.js';

/**
 * The throughput of the window by the timestamps of its blocks, against the one that was reported. Timestamps have whole
 * seconds, and say when a block was made and not when the reporter saw it, so that they give bounds.
 *
 * @import { Values } from './figures.js'
 * @import { BlockRow, End } from './format.js'
 *
 * @typedef {{name: string, state: 'confirmed' | 'contradicted' | 'not checkable', words: string}} Judged
 */

/** Timestamps are rounded down, and a clock and a chain differ by parts of a second. */
const ROUNDING_S = 1.5;

/** Above it the timestamps of the chain do not follow time, as on chains that are made for tests. */
const MOST_SKEW_S = 10;

/** Share of the window of which the throughput must be known: the end of a run may be cut short. */
const KNOWN = 0.99;

/** Bounds that are further apart say nothing. */
const WIDEST = 2;

/** @param {Values} values @param {readonly string[]} names @returns {Record<string, number> | null} null: one is not known */
function known(values, names) {
  const all = names.map((name) => [name, values[name] ?? null]);
  return all.some(([, value]) => value === null) ? null : Object.fromEntries(all);
}

/** @param {BlockRow[]} rows in order of numbers @param {End} end @returns {Judged[]} */
export function judgeRates(rows, end) {
  const values = valuesOf(end);
  return [
    judge('throughput', 'operations per second', values, values.verifiedPerSecond, () => {
      if (values.calls === null) return { why: 'whether plain calls are a part of it is not known without an audit' };
      if (values.calls !== 0) return { why: 'plain calls, which are in no block, may be a part of it' };
      const late = values.includedLate ?? 0;
      const bounds = boundsOf(rows, values, 'windowVerified', ({ succeeded }) => succeeded);
      return !('least' in bounds)
        ? bounds
        : { ...bounds, least: Math.max(0, bounds.least - late / (bounds.seconds || 1)) };
    }),
    judge('gas per second', 'gas per second', values, values.chainGasPerSecond, () =>
      boundsOf(rows, { ...values, confirmations: 0 }, 'windowGas', ({ gasUsed }) => gasUsed),
    ),
  ];
}

/**
 * No more can have been verified in the window than all blocks of the file have, nor than they have in any time of its length.
 * @param {readonly BlockRow[]} rows
 * @param {Values} values
 * @returns {string | null} null: it is not more, or the timestamps do not follow time
 */
export function overBlocks(rows, { windowVerified, spreadMs, skewMinMs, skewMaxMs, reorgs, reorgedOut }) {
  if (windowVerified === null || spreadMs === null) return null;
  const all = rows.reduce((sum, { succeeded }) => sum + succeeded, 0);
  const isMore = (/** @type {number} */ most) => windowVerified > (1 + ROUNDING) * most;
  // An operation of a removed block may have been verified before that.
  if (isMore(all + (reorgedOut ?? Infinity)))
    return `${digits(windowVerified)} operations in the window, and all blocks have ${digits(all)}`;
  const hasSkew = skewMinMs !== null && skewMaxMs !== null;
  const times = rows.map(({ timestampS }) => timestampS);
  if (reorgs !== 0 || times.includes(null) || !hasSkew || skewMaxMs - skewMinMs > 1000 * MOST_SKEW_S) return null;
  const gaps = times.slice(1).map((timeS, i) => Number(timeS) - Number(times[i]));
  // A block is spread over the time before it, and both ends are rounded.
  const lengthS = spreadMs / 1000 + 2 * (Math.max(0, ...gaps) + ROUNDING_S) + (skewMaxMs - skewMinMs) / 1000;
  let [from, sum, most] = [0, 0, 0];
  for (const { timestampS, succeeded } of rows) {
    sum += succeeded;
    while (Number(timestampS) - Number(times[from]) > lengthS) sum -= rows[(from += 1) - 1].succeeded;
    most = Math.max(most, sum);
  }
  const words = `${digits(windowVerified)} operations in ${digits(spreadMs / 1000)} s, and blocks of ${digits(lengthS)} s have at most ${digits(most)}`;
  return isMore(most) ? words : null;
}

/** Sums of floating-point numbers in another order. */
const ROUNDING = 1e-6;

/** @param {number} value @param {{least: number, most: number}} bounds */
function isOutside(value, { least, most }) {
  return value < (1 - ROUNDING) * least || value > (1 + ROUNDING) * most;
}

/** @param {string} name @param {string} unit @param {Values} values @param {number | null} reported @param {() => ReturnType<typeof boundsOf>} bounds @returns {Judged} */
function judge(name, unit, { reorgs }, reported, bounds) {
  if (reported === null) return { name, state: 'not checkable', words: 'none was reported' };
  const found = bounds();
  const value = `${digits(reported)} ${unit} reported`;
  const isOpen = 'wrong' in found || ('least' in found && isOutside(reported, found));
  if (isOpen && reorgs !== 0)
    return { name, state: 'not checkable', words: `${value}: blocks left the chain during the run` };
  if ('wrong' in found) return { name, state: 'contradicted', words: `${value}: ${found.wrong}` };
  if ('why' in found) return { name, state: 'not checkable', words: `${value}: ${found.why}` };
  const { least, most, where } = found;
  const range = `${digits(least)} to ${digits(most)} by the timestamps of ${where}`;
  if (isOutside(reported, found)) return { name, state: 'contradicted', words: `${value}, and ${range}` };
  if (most > WIDEST * least)
    return {
      name,
      state: 'not checkable',
      words: `${value}: the window is too short for timestamps of whole seconds (${range})`,
    };
  return { name, state: 'confirmed', words: `${value}, ${range}` };
}

/**
 * @param {BlockRow[]} rows
 * @param {Values} values
 * @param {'windowVerified' | 'windowGas'} amount
 * @param {(row: BlockRow) => number} of
 * @returns {{least: number, most: number, seconds: number, where: string} | {why: string} | {wrong: string}}
 */
function boundsOf(rows, values, amount, of) {
  const names = ['firstBlock', 'lastBlock', 'windowMs', 'spreadMs', 'skewMinMs', 'skewMaxMs', 'confirmations', amount];
  const all = known(values, names);
  if (all === null) return { why: 'the file does not have all that it is computed of' };
  const at = (/** @type {number} */ number) => rows.findIndex((row) => row.number >= number);
  const [first, last] = [at(all.firstBlock), at(all.lastBlock)];
  if (first === -1 || last === -1) return { wrong: 'the file does not have the blocks of the window' };
  const times = rows.map(({ timestampS }) => timestampS);
  if (times.includes(null)) return { why: 'blocks of this chain have no timestamps' };
  const timeOf = (/** @type {number} */ i) => Number(times[Math.min(rows.length - 1, Math.max(0, i))]);
  const skewS = (all.skewMaxMs - all.skewMinMs) / 1000;
  if (skewS > MOST_SKEW_S) return { why: 'the timestamps of its blocks did not follow the clock of the reporter' };
  const seconds = all.spreadMs / 1000;
  const [fromS, toS] = [timeOf(first), timeOf(last)];
  // What a reading of the chain finds is spread over the time since the one before.
  const beforeS = Math.max(0, timeOf(first) - timeOf(first - 1)) + skewS + ROUNDING_S;
  const afterS = Math.max(0, timeOf(last + 1) - timeOf(last)) + skewS + ROUNDING_S;
  const where = `blocks ${all.firstBlock} to ${all.lastBlock}`;
  const windowS = all.windowMs / 1000;
  const isShort = windowS < toS - fromS - skewS - ROUNDING_S;
  const isLong = windowS > toS - fromS + beforeS + afterS;
  // A node that answered nothing: when the next block was made is not known. A longer window makes the rate lower.
  if (isLong && (first === 0 || last === rows.length - 1))
    return { why: `the file has no block ${first === 0 ? 'before' : 'after'} those of the window` };
  if (isShort || isLong || seconds > windowS + 0.001)
    return { wrong: `the window has ${digits(windowS)} s, and ${digits(toS - fromS)} s by the timestamps of ${where}` };
  if (seconds < KNOWN * windowS) return { why: 'it is known of a part of the window only' };
  const earliest = timeOf(first - all.confirmations) - beforeS;
  const latest = timeOf(last - all.confirmations) - afterS;
  const sumIn = (/** @type {number} */ from, /** @type {number} */ to) =>
    rows.reduce(
      (sum, row) => (Number(row.timestampS) >= from && Number(row.timestampS) <= to ? sum + of(row) : sum),
      0,
    );
  const [least, most] = [sumIn(fromS + beforeS, latest), sumIn(earliest, toS + afterS)];
  return { least: least / seconds, most: most / seconds, seconds, where };
}
