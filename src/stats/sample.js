/** @import { Sample, Stage } from '../types.d.ts' */

/**
 * What became of one iteration. A sample is made once, frozen, and never changed.
 *
 * @typedef {object} Stages durations that add up to the total, in microseconds
 * @property {number} queuedUs from due to sent
 * @property {number} submitUs from sent to accepted
 * @property {number} inclusionUs from accepted to seen in a block
 * @property {number | null} visibilityUs from seen in a block to seen where it is read back; null where that is the same
 * @property {number} readBackUs from there to read back
 */

export const STAGES = Object.freeze(/** @type {const} */ (['queued', 'submit', 'inclusion', 'visibility', 'readBack']));

/** Those that there are: where nothing is read elsewhere, nothing is seen later there. @param {Partial<Record<Stage, {count: number}>>} stages */
export function shownStages(stages) {
  return STAGES.filter((stage) => stage !== 'visibility' || (stages.visibility?.count ?? 0) > 0);
}

/** Whether the operations of a run were calls, which no block includes. @param {{environment: Record<string, unknown>}} run */
export function isPlain({ environment }) {
  return environment.inclusion === null;
}

/** What people call the operations that count: calls are answered, and are no transactions. @param {boolean} isOfCalls */
export function countedWords(isOfCalls) {
  return isOfCalls
    ? { verified: 'answered', tps: 'calls/s', one: 'call', many: 'calls' }
    : { verified: 'verified', tps: 'TPS', one: 'operation', many: 'operations' };
}

/**
 * Whether time ran out before there was a good answer: how long it takes is not known, only that it is at least as long
 * as it was waited for.
 * @param {Pick<Sample, 'outcome' | 'code'>} sample
 */
export function isCensored({ outcome, code }) {
  return outcome === 'timed_out' || outcome === 'abandoned' || code === 'transport_timeout' || code === 'lost';
}

/** How many of the operations that ended in an interval are censored. @param {{counts: {timedOut: number, abandoned: number}, failures: Record<string, number>}} interval */
export function censoredIn({ counts, failures }) {
  return counts.timedOut + counts.abandoned + (failures.transport_timeout ?? 0) + (failures.lost ?? 0);
}

/** Seen from when it was due, so that what a stall delays is measured. @param {Pick<Sample, 'intendedAtUs' | 'endedAtUs'>} sample */
export function totalUs(sample) {
  return sample.endedAtUs - sample.intendedAtUs;
}

/**
 * @param {Sample} sample a verified one, whose instants are all set
 * @returns {Stages}
 */
export function stagesUs({ intendedAtUs, sentAtUs, acceptedAtUs, includedAtUs, visibleAtUs, endedAtUs }) {
  const sent = sentAtUs ?? intendedAtUs;
  const accepted = acceptedAtUs ?? sent;
  const included = includedAtUs ?? accepted;
  return {
    queuedUs: sent - intendedAtUs,
    submitUs: accepted - sent,
    inclusionUs: included - accepted,
    visibilityUs: visibleAtUs === null ? null : visibleAtUs - included,
    readBackUs: endedAtUs - (visibleAtUs ?? included),
  };
}
