import { mergeBlocks, noBlocks } from '../metrics/blocks.js';
import { zeroCounts } from '../metrics/interval.js';
import { addTo } from '../metrics/recorder.js';
import { STAGES, shownStages } from '../metrics/sample.js';
import { recordedValues } from '../metrics/histogram.js';

/**
 * @import { DistributionJson } from '../metrics/distribution.js'
 * @import { IntervalRow } from '../metrics/intervals.js'
 * @import { Totals } from './index.js'
 */

/** Upper bounds of the buckets, in seconds: 0.1 ms to 2 min, six to a decade where most latencies are. */
export const BUCKETS = Object.freeze([
  ...[0.0001, 0.0002, 0.0005, 0.001, 0.0015, 0.002, 0.003, 0.005, 0.007, 0.01, 0.015, 0.02, 0.03, 0.05, 0.07],
  ...[0.1, 0.15, 0.2, 0.3, 0.5, 0.7, 1, 1.5, 2, 3, 5, 7, 10, 15, 20, 30, 50, 70, 100, 120],
]);

/** What Prometheus calls a histogram: counts of buckets that only grow. Count and sum are exact. */
export class CumulativeHistogram {
  /** One for each bound, and one for what is above all. */
  counts = new Float64Array(BUCKETS.length + 1);
  count = 0;
  sumUs = 0;

  /** @param {DistributionJson} distribution of an interval */
  add(distribution) {
    this.count += distribution.count;
    this.sumUs += distribution.sumUs;
    let bucket = 0;
    for (const { valueUs, count } of recordedValues(distribution)) {
      while (bucket < BUCKETS.length && valueUs > BUCKETS[bucket] * 1e6) bucket += 1;
      this.counts[bucket] += count;
    }
  }
}

/** The run so far, as Prometheus wants it: everything since the start, and the last interval. */
export class PrometheusState {
  counts = zeroCounts();
  /** @type {Record<string, number>} */
  failures = {};
  blocks = noBlocks();
  /** Null as long as it was not read. */
  used = {
    cpuUs: 0,
    connectionsOpened: 0,
    connectionsReused: 0,
    gcUs: /** @type {number | null} */ (null),
    nodeCpuUs: /** @type {number | null} */ (null),
  };
  latency = new CumulativeHistogram();
  lag = new CumulativeHistogram();
  stages = Object.fromEntries(STAGES.map((stage) => [stage, new CumulativeHistogram()]));
  /** @type {IntervalRow | null} */
  row = null;
  /** @type {number | null} */
  runTps = null;
  /** @type {number | null} */
  startedAtMs = null;

  /** @param {Record<string, string>} info what the run is @param {number | null} [instances] that it has, where somebody said so */
  constructor(info, instances = null) {
    this.info = info;
    this.instances = instances;
  }

  /** @param {IntervalRow} row @param {Totals} totals */
  add(row, { runTps, stages }) {
    this.row = row;
    this.runTps = runTps;
    addTo(this.counts, row.counts);
    addTo(this.failures, row.failures);
    this.blocks = mergeBlocks(this.blocks, row.blocks);
    const { self, loop, connections, node } = row.probes;
    const { used } = this;
    used.cpuUs += self.cpuUs;
    used.connectionsOpened += connections.opened;
    used.connectionsReused += connections.reused;
    if (loop !== null) used.gcUs = (used.gcUs ?? 0) + loop.gcUs;
    if (node !== null) used.nodeCpuUs = (used.nodeCpuUs ?? 0) + node.cpuUs;
    this.latency.add(row.latency);
    this.lag.add(row.lag);
    for (const stage of shownStages(stages)) this.stages[stage].add(stages[stage]);
  }
}
