import { Worker } from 'node:worker_threads';

/**
 * --check consistency: a thread that compares answers of the endpoints with each other and with what this run has
 * verified, beside the load.
 *
 * @import { Clock, Consistency, Sample } from '../types.d.ts'
 * @import { VerifiedOperation } from './checks.js'
 * @import { ConsistencyTask } from './thread.js'
 */

/** Time between two operations that are given to the thread. */
const OPERATION_US = 50_000;

/** Time limit for its report: of requests under way. */
const REPORT_MS = 15_000;

export class ConsistencyCheck {
  #worker;
  #clock;
  #operationOf;
  #nextUs = 0;
  /** @type {Promise<Consistency | {why: string}>} */
  #report;

  /**
   * @param {ConsistencyTask} task
   * @param {Clock} clock
   * @param {(sample: Sample) => VerifiedOperation | null} operationOf null: it has nothing to compare
   */
  constructor(task, clock, operationOf) {
    this.#clock = clock;
    this.#operationOf = operationOf;
    this.#worker = new Worker(new URL('thread.js', import.meta.url), { workerData: task });
    this.#report = new Promise((resolve) => {
      this.#worker.once('message', resolve);
      this.#worker.once('error', (error) => resolve({ why: `its thread failed: ${error.message}` }));
      this.#worker.once('exit', () => resolve({ why: 'its thread ended' }));
    });
  }

  /** @param {Sample} sample */
  onSample(sample) {
    if (sample.outcome !== 'verified' || sample.endedAtUs < this.#nextUs) return;
    const operation = this.#operationOf(sample);
    if (operation === null) return;
    this.#nextUs = sample.endedAtUs + OPERATION_US;
    this.#worker.postMessage({ type: 'operation', operation });
  }

  /** @param {number} requests of the load so far */
  noteRequests(requests) {
    this.#worker.postMessage({ type: 'requests', requests });
  }

  /** Ends the checks. @returns {Promise<Consistency | {why: string}>} */
  async end() {
    this.#worker.postMessage({ type: 'report' });
    const over = new AbortController();
    const late = this.#clock.sleep(REPORT_MS, over.signal).then(() => ({ why: 'its thread did not answer in time' }));
    const report = await Promise.race([this.#report, late]);
    over.abort();
    await this.#worker.terminate();
    return report;
  }
}
