import { EXIT, InternalError, StressError, UnavailableError } from '../errors.js';
import { foreignInWords, indexRanges } from '../chain/funding.js';
import { auditWarning } from '../metrics/audit-result.js';
import { shortWindow } from '../metrics/pace.js';

/**
 * @import { RunFile } from '../metrics/summary.js'
 * @import { Output } from '../output/index.js'
 * @import { Foreign, Ledger } from './ledger.js'
 * @import { Stop } from './stop.js'
 * @import { Logger } from 'pino'
 */

/**
 * What is left to do when a run is over: its files, and the few lines that nobody must miss.
 */

/**
 * What is still on its way into files is given its time.
 * @param {Output[]} outputs
 * @returns {Promise<{samplesDropped: number, errors: StressError[]}>} samples that the disk was too slow for, and what
 *   could not be written
 */
export async function settleAll(outputs) {
  let samplesDropped = 0;
  /** @type {StressError[]} */
  const errors = [];
  for (const output of outputs) {
    const settled = await output.settle?.();
    samplesDropped += settled?.samplesDropped ?? 0;
    if (settled?.error) errors.push(settled.error);
  }
  return { samplesDropped, errors };
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
 * @param {Logger} log
 * @param {Stop} stop
 * @param {Ledger} ledger
 * @param {RunFile} run
 * @param {string[]} said warnings that were given while it went on
 */
export function sayWhatWentWrong(log, stop, { foreign }, run, said) {
  const messages = [...new Set(stop.errors.splice(0).map((error) => error.message))];
  for (const message of messages) log.error(message);
  if (foreign.length > 0) log.error(foreignSender(foreign));
  // What the probes found was said when they found it; the rest is not to be missed, not even with --quiet.
  // The summary says that the window is short.
  const heard = [...said, shortWindow(run)?.words];
  for (const warning of run.warnings) if (!heard.includes(warning)) log.error(warning);
  const warning = auditWarning(run);
  if (warning !== null && !messages.some((message) => warning.endsWith(message))) log.error(warning);
  const poor = run.failures?.insufficient_funds ?? 0;
  if (poor > 0)
    log.error(
      `${poor} operation${poor === 1 ? '' : 's'} failed because a wallet had too little left: --fund-amount sets what each must have`,
    );
  const failed = run.thresholds.filter(({ passed }) => !passed);
  if (failed.length > 0) {
    const names = failed.map(({ expression }) => expression).join(', ');
    log.error(`${failed.length} of ${run.thresholds.length} thresholds failed: ${names}`);
  }
}

/** @param {Foreign[]} foreign */
function foreignSender(foreign) {
  const indexes = foreign.map(({ walletIndex }) => walletIndex);
  return foreignInWords(`wallets ${indexRanges(indexes)}`, foreign[0]);
}

/** Nothing that is in flight can arrive any more. @param {Stop} stop @param {string} words */
export function chainEnded(stop, words) {
  const error = new UnavailableError(`the embedded chain ended: ${words}`);
  stop.request('chain_ended', EXIT.unavailable, error);
  stop.hurry(error.message);
}
