import { IntervalLog } from '../metrics/intervals.js';

/**
 * Makes the row of an interval, hands it to the outputs, and keeps it for the run file.
 *
 * @typedef {import('../metrics/intervals.js').Phase} Phase
 */
export class Reporter {
  #log = new IntervalLog();
  #watch;
  #outputs;
  #plan;
  #windowVerified = 0;
  /** CPU time of this process over the window, in microseconds. */
  cpuUs = 0;

  /**
   * @param {import('./engine.js').Plan} plan
   * @param {import('../output/index.js').Output[]} outputs
   * @param {import('./watch.js').Watch} watch
   */
  constructor(plan, outputs, watch) {
    this.#plan = plan;
    this.#outputs = outputs;
    this.#watch = watch;
  }

  /** @returns {import('../metrics/intervals.js').IntervalRow[]} */
  get rows() {
    return this.#log.rows;
  }

  /**
   * @param {Phase} phase
   * @param {import('./engine.js').Report} report
   */
  async add(phase, { interval, inFlight, blocks, totals, loop, transport }) {
    const probes = await this.#watch.sample(loop, transport);
    const { startUs, endUs, counts, failures, distributions } = interval;
    const { loadStartUs } = this.#plan;
    const seconds = (endUs - startUs) / 1e6;
    if (phase === 'load') {
      this.cpuUs += probes.self.cpuUs;
      this.#windowVerified += counts.verified;
    }
    /** @type {import('../metrics/intervals.js').IntervalRow} */
    const row = {
      phase,
      startMs: (startUs - loadStartUs) / 1000,
      endMs: (endUs - loadStartUs) / 1000,
      ...{ counts, failures, inFlight },
      tps: phase !== 'drain' && seconds > 0 ? counts.verified / seconds : null,
      latency: distributions.latency,
      lag: distributions.lag,
      ...{ blocks, probes },
    };
    this.#log.add(row);
    const windowS = (endUs - this.#plan.startUs) / 1e6;
    const { queued, submit, inclusion, readBack } = distributions;
    const sums = {
      attempts: totals.started,
      verified: totals.verified,
      runTps: phase === 'load' && windowS > 0 ? this.#windowVerified / windowS : null,
      stages: { queued, submit, inclusion, readBack },
    };
    for (const output of this.#outputs) output.interval(row, sums);
  }
}
