import { addBlocks, blockIntervalMs, noBlocks } from './blocks.js';
import {
  ENOUGH_BLOCKS,
  byChanceMs,
  halvesUs,
  isLeftOver,
  meanLatencyUs,
  mixChanceUs,
  quartersOf,
  queuesBehindFullBlocks,
  verifiedBeyondHalf,
} from './halves.js';
import { dueMs } from './observed.js';
import { isPlain } from './sample.js';
import { count, digits, milliseconds, percent, seconds as secondsText } from '../text.js';

/**
 * @import { RunFile } from '../contracts/run-file.d.ts'
 */

/** Whether an open loop held its rate, and whether the window was long enough to know. */

/** Share of the asked rate below which a warning is given. */
const HELD = 0.95;

/** A latency that grows by this factor grows not by chance. */
const GROWN = 1.5;

/**
 * What an open loop achieved of its rate. A queue that grows counts as what was verified inside the window.
 * @param {RunFile} run
 * @returns {{asked: number, rate: number, isHeld: boolean, growth: string | null} | null} null: a closed loop
 */
export function heldRate(run) {
  const { askedPerSecond: asked, achievedPerSecond: achieved } = run.rates;
  const verified = verifiedWhileDue(run);
  if (asked === null || achieved === null || verified === null) return null;
  if (achieved < asked * HELD) return { asked, rate: achieved, isHeld: false, growth: null };
  const { share = 1, firstUs = 0 } = verifiedBeyondHalf(run) ?? {};
  if (share < HELD) {
    const growth = `latency was ${milliseconds(firstUs)} in the first half of the window, longer than this half`;
    return { asked, rate: share * asked, isHeld: false, growth };
  }
  const growth = backlog(run);
  return { asked, rate: growth === null ? achieved : verified, isHeld: growth === null, growth };
}

/** The rate of the whole window as one of the time in which operations were due, as what was asked for is. @param {Pick<RunFile, 'rates' | 'window' | 'pace'>} run @returns {number | null} null: not known */
export function verifiedWhileDue({ rates: { verifiedPerSecond }, window: { durationMs }, pace }) {
  const lengthMs = dueMs(durationMs, { pace });
  return verifiedPerSecond === null || lengthMs <= 0 ? null : (verifiedPerSecond * durationMs) / lengthMs;
}

/** The exit code stays 0 without a threshold. */
const EXIT_HINT = " (--threshold 'held>=99%' makes this exit code 99)";

/** @param {RunFile} run @returns {string | null} a warning; null in a closed loop, or if the rate was held */
export function rateNotHeld(run) {
  const { asked = 0, rate = 0, isHeld = true, growth = null } = heldRate(run) ?? {};
  if (isHeld) return null;
  const { dropped, scheduled } = run.window.counts;
  const words = `the rate was not held: ${digits(rate)} of ${digits(asked)} operations per second, ${percent(1 - rate / asked)} short`;
  const why =
    growth === null
      ? `; ${count(dropped)} of ${count(scheduled)} were dropped because no wallet was idle`
      : `, and the rest only after the window; ${growth}`;
  return `${words}${why}${run.thresholds.length === 0 ? EXIT_HINT : ''}`;
}

/** A gas rate is off by more than this if the gas of an operation has changed since the warm-up. */
const GAS_HELD = 0.05;

/** @param {Pick<RunFile, 'gasRate'>} run @param {number | null} own gas per second of this run @returns {string | null} a warning; null without a rate in gas, or if it was held */
export function gasRateNotHeld({ gasRate }, own) {
  if (gasRate === undefined || own === null) return null;
  const share = own / gasRate.gasPerSecond;
  if (Math.abs(share - 1) <= GAS_HELD) return null;
  const [used, asked] = [own, gasRate.gasPerSecond].map((gas) => digits(gas / 1e6));
  return `the gas rate was not held: ${used} of ${asked} Mgas/s, ${percent(share)}`;
}

/**
 * A slow node with enough wallets causes no drops: latency grows instead, and the drain hides the rest.
 * @param {RunFile} run
 * @returns {string | null} null: latency did not grow
 */
export function backlog(run) {
  const { blocks, rates } = run;
  if (blocks.count > 0 && blocks.count < ENOUGH_BLOCKS) return null;
  const [firstUs, secondUs] = halvesUs(run);
  if (firstUs === null || secondUs === null || secondUs - firstUs < mixChanceUs(run)) return null;
  const isSteady = rates.askedPerSecond !== null && growsSteadily(run, (secondUs - firstUs) / 1000);
  const isGrown = isLeftOver(run) && secondUs >= GROWN * firstUs;
  if (!isSteady && !isGrown && !queuesBehindFullBlocks(run)) return null;
  return `latency grew from ${milliseconds(firstUs)} in the first half of the window to ${milliseconds(secondUs)} in the second`;
}

/** A node that falls short of the rate by this share lets latency grow by the same share of the time. */
const SHORTFALL = 0.01;

/**
 * A growing queue raises latency in every quarter of the window; after a stall, latency is as before.
 * @param {RunFile} run
 * @param {number} grownMs from one half to the other
 */
function growsSteadily({ window, intervals, blocks }, grownMs) {
  if (grownMs - byChanceMs({ window, blocks }) < (SHORTFALL * window.durationMs) / 2) return false;
  const means = quartersOf(intervals).map(meanLatencyUs);
  const [first, last] = [means[0] ?? NaN, means[3] ?? NaN];
  // By a quarter in all, a tenth of which is in each step.
  return (
    last >= 1.25 * first &&
    means.every((us, i) => i === 0 || (us ?? NaN) - (means[i - 1] ?? NaN) >= (last - first) / 10)
  );
}

/** With fewer blocks in the window, chance decides too much. */
const BLOCKS_OF_WINDOW = 10;

/**
 * @param {Pick<RunFile, 'environment' | 'end' | 'window' | 'blocks' | 'intervals'> & Partial<Pick<RunFile, 'verdict'>>} run
 * @returns {{blocks: number, words: string} | null} null where the window is long enough
 */
export function shortWindow({ environment, end, blocks, intervals, verdict }) {
  const all = intervals.reduce((sum, row) => addBlocks(sum, row.blocks), noBlocks());
  const hasLoad = intervals.some(({ phase }) => phase === 'load');
  if (isPlain({ environment }) || end === 'iterations' || !hasLoad || all.count === 0) return null;
  // While the endpoint was down, a longer window would not have had more blocks.
  if (blocks.count >= BLOCKS_OF_WINDOW || verdict?.name === 'endpoint-down') return null;
  const blockMs = blockIntervalMs(all, intervals.at(-1)?.endMs ?? 0);
  // One more, because the position of the first block is unknown.
  const seconds = Math.ceil(((BLOCKS_OF_WINDOW + 1) * blockMs) / 1000);
  const words = `the window has ${blocks.count} of the ${BLOCKS_OF_WINDOW} blocks that its figures need: they may differ in the next run; give --duration ${seconds}s or longer`;
  return { blocks: blocks.count, words };
}

/**
 * A warning that the drain ended before the first block after the window. Merged runs have none, because their common window
 * ends with that block; a live run has none yet.
 * @param {Pick<RunFile, 'end' | 'rates' | 'window' | 'merged'>} run
 * @returns {string | null}
 */
export function cutShort({ end, rates: { spreadMs = 0 }, window: { durationMs }, merged }) {
  if (end === 'running' || merged !== undefined || spreadMs <= 0 || spreadMs >= durationMs) return null;
  return `TPS is that of the first ${secondsText(spreadMs)} of the window, up to its last block: the drain ended before the next one`;
}
