import { IntervalLog, stagesFrom } from '../metrics/intervals.js';

/**
 * @import { IntervalRow, Phase } from '../metrics/intervals.js'
 * @import { Readings } from '../metrics/readings.js'
 * @import { Output } from '../output/index.js'
 * @import { Plan, Report } from './engine.js'
 * @import { Watch } from './watch.js'
 */

/** Without an answer for so long the endpoint is named in the row. */
const SILENT_MS = 1500;

/**
 * Makes the row of an interval, hands it to the outputs, and keeps it for the run file.
 */
export class Reporter {
  #log = new IntervalLog();
  #watch;
  #outputs;
  #plan;
  #windowVerified = 0;
  /** In the order of the intervals. @type {Promise<void>} */
  #settled = Promise.resolve();
  /** CPU time of this process over the window, in microseconds. */
  cpuUs = 0;

  /**
   * @param {Plan} plan
   * @param {Output[]} outputs
   * @param {Watch} watch
   */
  constructor(plan, outputs, watch) {
    this.#plan = plan;
    this.#outputs = outputs;
    this.#watch = watch;
  }

  /** @returns {IntervalRow[]} */
  get rows() {
    return this.#log.rows;
  }

  /**
   * The probes are read at once; the row is made when the last of them has answered, and the next interval does not wait
   * for that.
   * @param {Phase} phase
   * @param {Report} report
   */
  add(phase, report) {
    const readings = this.#watch.sample(report.loop, report.transport);
    // One that fails fails whoever asks whether all is settled.
    readings.catch(() => {});
    this.#settled = this.#settled.then(async () => this.#addRow(phase, report, await readings));
    this.#settled.catch(() => {});
  }

  /** @returns {Promise<void>} when every row is made */
  settled() {
    return this.#settled;
  }

  /**
   * @param {Phase} phase
   * @param {Report} report
   * @param {Readings} probes
   */
  #addRow(phase, { interval, inFlight, blocks, totals, silence }, probes) {
    const { startUs, endUs, counts, failures, byEndpoint, distributions } = interval;
    const { loadStartUs } = this.#plan;
    const seconds = (endUs - startUs) / 1e6;
    if (phase === 'load') {
      this.cpuUs += probes.self.cpuUs;
      this.#windowVerified += counts.verified;
    }
    /** @type {IntervalRow} */
    const row = {
      phase,
      startMs: (startUs - loadStartUs) / 1000,
      endMs: (endUs - loadStartUs) / 1000,
      counts,
      failures,
      inFlight,
      byEndpoint,
      tps: phase !== 'drain' && seconds > 0 ? counts.verified / seconds : null,
      latency: distributions.latency,
      lag: distributions.lag,
      stages: stagesFrom((stage) => distributions[stage]),
      blocks: { ...blocks, gapMaxMs: Math.max(blocks.gapMaxMs ?? 0, silence?.stillMs ?? 0) },
      probes,
    };
    if (silence !== null && silence.silentMs >= SILENT_MS)
      row.silence = { ms: silence.silentMs, words: silence.words || 'no answer in time' };
    this.#log.add(row);
    const windowS = (endUs - this.#plan.startUs) / 1e6;
    const { queued, submit, inclusion, visibility, readBack } = distributions;
    const sums = {
      attempts: totals.started,
      verified: totals.verified,
      runTps: phase === 'load' && windowS > 0 ? this.#windowVerified / windowS : null,
      ...(distributions.censored.count > 0 && { censored: distributions.censored }),
      stages: { queued, submit, inclusion, visibility, readBack },
    };
    for (const output of this.#outputs) output.interval(row, sums);
  }
}
