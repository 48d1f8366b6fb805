import { InternalError, StressError } from '../errors.js';
import { indexRanges } from '../chain/funding.js';

/**
 * What is left to do when a run is over: its files, and the few lines that nobody must miss.
 *
 * @typedef {import('../metrics/summary.js').RunFile} RunFile
 * @typedef {import('../output/index.js').Output} Output
 */

/** By this much a rate may fall short before it is said aloud. */
const SHORTFALL = 0.05;

/**
 * What is still on its way into files is given its time.
 * @param {Output[]} outputs
 * @returns {Promise<number>} samples that the disk was too slow for
 */
export async function settleAll(outputs) {
  let samplesDropped = 0;
  for (const output of outputs) samplesDropped += (await output.settle?.())?.samplesDropped ?? 0;
  return samplesDropped;
}

/**
 * Every output gets the run, also when one of them fails.
 * @param {Output[]} outputs
 * @param {RunFile} runFile
 * @returns {Promise<StressError[]>}
 */
export async function finishAll(outputs, runFile) {
  /** @type {StressError[]} */
  const errors = [];
  for (const output of outputs) {
    try {
      await output.finish(runFile);
    } catch (error) {
      errors.push(error instanceof StressError ? error : new InternalError(unexpected(error), error));
    }
  }
  return errors;
}

/** @param {unknown} error */
export function unexpected(error) {
  return `unexpected: ${error instanceof Error ? error.message : error}. This is a bug of stress`;
}

/**
 * One line for each thing that went wrong, after the summary, where it is seen.
 * @param {import('pino').Logger} log
 * @param {import('./stop.js').Stop} stop
 * @param {import('./ledger.js').Ledger} ledger
 * @param {RunFile} run
 */
export function sayWhatWentWrong(log, stop, { foreign }, run) {
  for (const message of new Set(stop.errors.map((error) => error.message))) log.error(message);
  if (foreign.length > 0) log.error(foreignSender(foreign));
  const shortfall = rateNotHeld(run);
  if (shortfall !== null) log.warn(shortfall);
  if (run.generator.samplesDropped > 0)
    log.warn(`${run.generator.samplesDropped} samples were dropped: the disk could not follow`);
  const failed = run.thresholds.filter(({ passed }) => !passed);
  if (failed.length > 0) {
    const names = failed.map(({ expression }) => expression).join(', ');
    log.error(`${failed.length} of ${run.thresholds.length} thresholds failed: ${names}`);
  }
}

/** @param {import('./ledger.js').Foreign[]} foreign */
function foreignSender(foreign) {
  const [{ walletIndex, nonce, hash }] = foreign;
  const indexes = foreign.map((transaction) => transaction.walletIndex);
  return `another sender uses wallets ${indexRanges(indexes)}: transaction ${hash} (wallet ${walletIndex}, nonce ${nonce}) was mined and is not ours; give each instance its own wallets (-o)`;
}

/** @param {RunFile} run @returns {string | null} */
function rateNotHeld({ rates, window }) {
  const { askedPerSecond: asked, achievedPerSecond: achieved } = rates;
  if (asked === null || achieved === null || achieved >= asked * (1 - SHORTFALL)) return null;
  const short = (100 * (1 - achieved / asked)).toFixed(1);
  const { dropped, scheduled } = window.counts;
  return `THE RATE WAS NOT HELD: ${achieved.toFixed(1)} of ${asked.toFixed(1)} operations per second, ${short} % short; ${dropped} of ${scheduled} were dropped because no wallet was idle`;
}
