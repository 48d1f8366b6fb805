import { counted } from '../text.js';

/**
 * @import { Sample } from '../contracts/load.d.ts'
 * @import { RunFile } from '../contracts/run-file.d.ts'
 */

/** Samples: what is derived from the single, frozen record of an operation. */

/** Whether the operations were plain calls, which no block includes. @param {{environment: Record<string, unknown>}} run */
export function isPlain({ environment }) {
  return environment.inclusion === null;
}

/** Whether plain calls ran beside transactions (--mix). @param {{environment: {workload: Record<string, unknown>, inclusion: unknown}}} run */
export function hasBothKinds({ environment: { workload, inclusion } }) {
  return workload.calls !== undefined && inclusion !== null;
}

/** Wallets that send transactions: beside plain calls (--mix) the others are users. @param {Pick<RunFile, 'config' | 'environment'>} run */
export function walletsOf(run) {
  const { calls } = /** @type {any} */ (run.environment.workload);
  return Number(run.config.threads) - (hasBothKinds(run) ? Number(calls.users ?? 0) : 0);
}

/** Who made the load: 10 wallets, 10 users, or 2 wallets and 8 users. @param {Pick<RunFile, 'config' | 'environment'>} run */
export function actorsText(run) {
  const all = Number(run.config.threads);
  if (isPlain(run)) return counted(all, 'user');
  const wallets = walletsOf(run);
  return `${counted(wallets, 'wallet')}${wallets < all ? ` and ${counted(all - wallets, 'user')}` : ''}`;
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
