import { IntervalLog } from '../metrics/intervals.js';
import { probes } from '../probe/index.js';

/** Makes the row of an interval, hands it to the outputs, and keeps it for the run file. */
export class Reporter {
  #self = probes.self();
  #log = new IntervalLog();
  /** CPU time of this process over the window, in microseconds. */
  cpuUs = 0;

  /** @param {number} startUs of the window @param {import('../output/index.js').Output[]} outputs */
  constructor(startUs, outputs) {
    this.startUs = startUs;
    this.outputs = outputs;
  }

  /** @returns {import('../metrics/intervals.js').IntervalRow[]} */
  get rows() {
    return this.#log.rows;
  }

  /**
   * @param {'load' | 'drain'} phase
   * @param {import('./engine.js').Report} report
   */
  add(phase, { interval, inFlight, blocks, totals }) {
    const self = this.#self.sample();
    if (phase === 'load') this.cpuUs += self.cpuUs;
    const seconds = (interval.endUs - interval.startUs) / 1e6;
    const elapsedS = (interval.endUs - this.startUs) / 1e6;
    /** @type {import('../metrics/intervals.js').IntervalRow} */
    const row = {
      phase,
      startMs: (interval.startUs - this.startUs) / 1000,
      endMs: (interval.endUs - this.startUs) / 1000,
      counts: interval.counts,
      failures: interval.failures,
      inFlight,
      tps: phase === 'load' && seconds > 0 ? interval.counts.verified / seconds : null,
      latency: interval.latency,
      blocks,
      probes: { self },
    };
    this.#log.add(row);
    const { started, verified } = totals;
    const sums = { attempts: started, verified, runTps: phase === 'load' ? verified / elapsedS : null };
    for (const output of this.outputs) output.interval(row, sums);
  }
}
