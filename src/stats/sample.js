/**
 * What became of one iteration. A sample is made once, frozen, and never changed.
 *
 * @typedef {'verified' | 'failed' | 'timed_out' | 'abandoned'} Outcome
 *
 * @typedef {object} Sample
 * @property {number} position of the wallet in the slice, from 0
 * @property {number} walletIndex
 * @property {number} nonce
 * @property {string | null} hash null when nothing was signed
 * @property {Outcome} outcome
 * @property {string | null} code why it failed, null unless it did
 * @property {number} intendedAtUs when it was due, on the run's clock
 * @property {number} startedAtUs when it was begun: later than due when the generator was late
 * @property {number | null} sentAtUs when the transaction was written to the socket
 * @property {number | null} acceptedAtUs when the node's hash was read
 * @property {number | null} includedAtUs when its block was seen, not before it was accepted
 * @property {number | null} visibleAtUs when that block was seen where the effect is read back, not before it was seen at
 *   all; null where it is read at the same endpoint
 * @property {number} endedAtUs when the effect was read back, or when it was given up
 * @property {number | null} blockNumber
 * @property {string | null} effect what was read back, for instance the count
 * @property {string | null} target what was acted on, for instance the contract
 * @property {string | null} name of its kind, where there are several
 * @property {number | null} endpoint that it was sent to last, by its place among them; null where there is one
 *
 * @typedef {object} Stages durations that add up to the total, in microseconds
 * @property {number} queuedUs from due to sent
 * @property {number} submitUs from sent to accepted
 * @property {number} inclusionUs from accepted to seen in a block
 * @property {number | null} visibilityUs from seen in a block to seen where it is read back; null where that is the same
 * @property {number} readBackUs from there to read back
 */

/** @typedef {typeof STAGES[number]} Stage */

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
