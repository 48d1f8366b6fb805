/** @import { Sample } from '../contracts/load.d.ts' */

/** Samples: what is derived from the single, frozen record of an operation. */

/** Whether the operations were plain calls, which no block includes. @param {{environment: Record<string, unknown>}} run */
export function isPlain({ environment }) {
  return environment.inclusion === null;
}

/** Whether plain calls ran beside transactions (--mix). @param {{environment: {workload: Record<string, unknown>, inclusion: unknown}}} run */
export function hasBothKinds({ environment: { workload, inclusion } }) {
  return workload.calls !== undefined && inclusion !== null;
}

/** Words for the operations: plain calls are answered, transactions are verified. @param {boolean} isOfCalls */
export function countedWords(isOfCalls) {
  return isOfCalls
    ? { verified: 'answered', tps: 'calls/s', one: 'call', many: 'calls' }
    : { verified: 'verified', tps: 'TPS', one: 'operation', many: 'operations' };
}

/**
 * Whether time ran out before a good answer: the duration is only known to be at least the time waited.
 * @param {Pick<Sample, 'outcome' | 'code'>} sample
 */
export function isCensored({ outcome, code }) {
  return outcome === 'timed_out' || outcome === 'abandoned' || code === 'transport_timeout' || code === 'lost';
}

/** Measured from the scheduled time, so that a stall of the generator counts. @param {Pick<Sample, 'intendedAtUs' | 'endedAtUs'>} sample */
export function totalUs(sample) {
  return sample.endedAtUs - sample.intendedAtUs;
}
