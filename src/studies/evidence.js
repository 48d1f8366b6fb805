/**
 * The evidence of a search: what its runs show about the value up to which the conditions hold. A run that was made again,
 * or whose limit was on our side, is no evidence.
 *
 * @import { Trial } from '../contracts/study.d.ts'
 */

/** A rate is at most so many times the highest that held, until one above it has failed. */
export const LARGEST_STEP = 1.6;

/** While none held, the first step down is at most by this factor, and each further one by as much more. */
const LARGEST_STEP_DOWN = 2;

/** No value is tried between the highest that held and a limit on our side, if they differ by less than this factor. */
const SMALLEST_STEP = 1.15;

/** A value is repeated, in effect, if so many more runs say the same of it than the opposite. */
const REPEATED = 2;

/** @param {Trial} trial */
export function isEvidence({ again = null, limit = null }) {
  return again === null && limit?.isOurs !== true;
}

/** A run whose repeat was due when the search ended: the next run is always the repeat. @param {readonly Trial[]} trials @returns {Trial | null} */
export function dueOf(trials) {
  const last = trials.at(-1);
  return last?.again ? last : null;
}

/** @param {readonly Trial[]} trials @returns {Trial[]} ascending */
export function heldOf(trials) {
  return trials.filter((trial) => trial.holds && isEvidence(trial)).sort((a, b) => a.value - b.value);
}

/** @param {readonly Trial[]} trials @returns {Trial[]} ascending */
export function failedOf(trials) {
  return trials.filter((trial) => !trial.holds && isEvidence(trial)).sort((a, b) => a.value - b.value);
}

/** Runs that met a limit on our side, above all that held. @param {readonly Trial[]} trials @returns {Trial[]} ascending */
export function oursOf(trials) {
  const highest = heldOf(trials).at(-1)?.value ?? 0;
  return trials
    .filter(({ holds, again, limit, value }) => !holds && !again && limit?.isOurs === true && value > highest)
    .sort((a, b) => a.value - b.value);
}

/**
 * Runs that say that a value holds, and runs that say that it does not: what holds at a value holds below it.
 * @param {readonly Trial[]} trials
 * @param {number} value
 */
export function votesOn(trials, value) {
  const held = heldOf(trials).filter((trial) => trial.value >= value).length;
  const failed = failedOf(trials).filter((trial) => trial.value <= value).length;
  return { held, failed };
}

/**
 * The highest value that held, and below which each failure is outweighed: more runs held at or above the value that failed
 * than failed at or below it.
 * @param {readonly Trial[]} trials
 * @returns {number | null}
 */
export function highestHeld(trials) {
  const doubtful = failedOf(trials).find(({ value }) => {
    const { held, failed } = votesOn(trials, value);
    return held <= failed;
  });
  return heldOf(trials).findLast(({ value }) => value < (doubtful?.value ?? Infinity))?.value ?? null;
}

/** The highest value that holds and the lowest that fails by repeated runs. @param {readonly Trial[]} trials @returns {{low: number, high: number}} */
export function repeatedBounds(trials) {
  const margin = (/** @type {Trial} */ { value }) => {
    const { held, failed } = votesOn(trials, value);
    return held - failed;
  };
  return {
    low: heldOf(trials).findLast((trial) => margin(trial) >= REPEATED)?.value ?? 0,
    high: failedOf(trials).find((trial) => margin(trial) <= -REPEATED)?.value ?? Infinity,
  };
}

/**
 * The next rate.
 * @param {number} wanted by the estimate
 * @param {readonly Trial[]} trials
 * @param {{lowest: number, guess: number | null}} scale guess: a rate that the node took without being asked for it
 * @returns {number | null} null: each rate that could be tried is about one that met a limit on our side
 */
export function nextRate(wanted, trials, { lowest, guess }) {
  const held = heldOf(trials).at(-1)?.value ?? null;
  const isOpen = !failedOf(trials).some(({ value }) => value > (held ?? 0));
  const most = held === null ? (guess ?? Infinity) : LARGEST_STEP * held;
  const rate = Math.max(lowest, isOpen ? Math.min(wanted, threeDigitsBelow(most)) : wanted, leastOf(trials));
  const [ours] = oursOf(trials);
  if (ours === undefined || rate < ours.value) return rate;
  if (held !== null && ours.value <= SMALLEST_STEP * held) return null;
  if (ours.value <= lowest) return null;
  return Math.max(lowest, threeDigitsBelow(held === null ? ours.value / LARGEST_STEP : Math.sqrt(held * ours.value)));
}

/** While nothing held, each failure allows a larger step down: the first may be chance. @param {readonly Trial[]} trials @returns {number} */
function leastOf(trials) {
  const failed = failedOf(trials);
  if (failed.length === 0 || heldOf(trials).length > 0) return 0;
  return threeDigitsBelow(failed[0].value / LARGEST_STEP_DOWN ** failed.length);
}

/** @param {number} value */
function threeDigitsBelow(value) {
  const step = 10 ** (Math.floor(Math.log10(value)) - 2);
  // A power of ten is no exact number: 0.1 has 17 digits.
  return Number.isFinite(value) ? Number((Math.floor(value / step + 1e-9) * step).toPrecision(3)) : value;
}
