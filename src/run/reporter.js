import { addBlock, noBlocks } from '../metrics/blocks.js';
import { IntervalLog } from '../metrics/intervals.js';
import { probes } from '../probe/index.js';

/**
 * Ends an interval, hands it to the outputs, keeps it for the run file, and asserts the law of conservation.
 */
export class Reporter {
  #self = probes.self();
  #blocks = noBlocks();
  #log = new IntervalLog();
  /** CPU time of this process over the window, in microseconds. */
  cpuUs = 0;

  /**
   * @param {import('../metrics/recorder.js').Recorder} recorder
   * @param {Map<number, unknown>} live iterations in flight, by position
   * @param {import('../output/index.js').Output[]} outputs
   */
  constructor(recorder, live, outputs) {
    this.recorder = recorder;
    this.live = live;
    this.outputs = outputs;
  }

  /** @returns {import('../metrics/intervals.js').IntervalRow[]} */
  get rows() {
    return this.#log.rows;
  }

  /** @param {import('../inclusion/index.js').Block} block */
  addBlock(block) {
    addBlock(this.#blocks, block);
  }

  /**
   * @param {'load' | 'drain'} phase
   * @param {number} nowUs
   * @throws {import('../errors.js').InternalError} when conservation is broken
   */
  report(phase, nowUs) {
    const { recorder, live, outputs } = this;
    const interval = recorder.rotate(nowUs);
    const self = this.#self.sample();
    if (phase === 'load') this.cpuUs += self.cpuUs;
    const seconds = (interval.endUs - interval.startUs) / 1e6;
    const elapsedS = (nowUs - recorder.startUs) / 1e6;
    /** @type {import('../metrics/intervals.js').IntervalRow} */
    const row = {
      phase,
      startMs: (interval.startUs - recorder.startUs) / 1000,
      endMs: (interval.endUs - recorder.startUs) / 1000,
      counts: interval.counts,
      failures: interval.failures,
      inFlight: live.size,
      tps: phase === 'load' && seconds > 0 ? interval.counts.verified / seconds : null,
      latency: interval.latency.toJSON(),
      blocks: this.#blocks,
      probes: { self },
    };
    this.#blocks = noBlocks();
    this.#log.add(row);
    const { started, verified } = recorder.counts;
    const totals = { attempts: started, verified, runTps: phase === 'load' ? verified / elapsedS : null };
    for (const output of outputs) output.interval(row, totals);
    recorder.assertConservation(new Map([...live.keys()].map((position) => [position, 1])));
  }
}
