import { SideThread } from '../transport/side-thread.js';

/**
 * --check consistency: a thread that compares answers of the endpoints with each other and with what this run has
 * verified, beside the load.
 *
 * @import { Clock, Consistency, Sample } from '../types.d.ts'
 * @import { ThreadEndpoints } from '../transport/side-thread.js'
 * @import { VerifiedOperation } from './checks.js'
 */

/** Time between two operations that are given to the thread. */
const OPERATION_US = 50_000;

/** Time limit for its report: of requests under way. */
const REPORT_MS = 15_000;

export class ConsistencyCheck {
  #thread;
  #operationOf;
  #nextUs = 0;

  /**
   * @param {ThreadEndpoints} endpoints
   * @param {number} share of the requests of the load, 0 to 1
   * @param {Clock} clock
   * @param {(sample: Sample) => VerifiedOperation | null} operationOf null: it has nothing to compare
   */
  constructor(endpoints, share, clock, operationOf) {
    this.#operationOf = operationOf;
    this.#thread = new SideThread(new URL('thread.js', import.meta.url), { endpoints, task: { share } }, clock);
  }

  /** @param {Sample} sample */
  onSample(sample) {
    if (sample.outcome !== 'verified' || sample.endedAtUs < this.#nextUs) return;
    const operation = this.#operationOf(sample);
    if (operation === null) return;
    this.#nextUs = sample.endedAtUs + OPERATION_US;
    this.#thread.post({ type: 'operation', operation });
  }

  /** @param {number} requests of the load so far */
  noteRequests(requests) {
    this.#thread.post({ type: 'requests', requests });
  }

  /** Ends the checks. @returns {Promise<Consistency | {why: string}>} */
  end() {
    return this.#thread.finish({ type: 'report' }, REPORT_MS);
  }
}
