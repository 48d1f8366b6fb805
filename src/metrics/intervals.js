import { mergeBlocks } from './blocks.js';
import { mergeJson } from './distribution.js';
import { addUp, addUpEach } from './interval.js';
import { mergeReadings } from './readings.js';
import { STAGES } from './sample.js';

/**
 * @import { BlockTotals } from './blocks.js'
 * @import { DistributionJson } from './distribution.js'
 * @import { Counts, EndpointSums } from './interval.js'
 * @import { Readings } from './readings.js'
 * @import { Stage } from './sample.js'
 */

/**
 * The intervals of a run, bounded: above the limit neighbours are merged pairwise, so a run of any length keeps
 * between half the limit and the limit.
 *
 * @typedef {object} IntervalRow
 * @property {Phase} phase
 * @property {number} startMs since the start of the load
 * @property {number} endMs
 * @property {Counts} counts what happened in it
 * @property {Record<string, number>} failures by code
 * @property {number} inFlight at its end
 * @property {number | null} tps verified operations per second; null for the drain
 * @property {DistributionJson} latency of the operations verified in it
 * @property {DistributionJson} lag of the operations due in it: from due to begun
 * @property {Record<string, EndpointSums>} byEndpoint where there are several
 * @property {Stages} stages of the latency of those operations
 * @property {BlockTotals} blocks
 * @property {Readings} probes
 * @property {{ms: number, words: string}} [silence] at its end: for how long no look at the chain was answered, and why
 *
 * @typedef {Record<Stage, {count: number, sumUs: number}>} Stages enough for their means
 * @typedef {'warmup' | 'load' | 'drain'} Phase
 */

export const INTERVAL_LIMIT = 2000;

export class IntervalLog {
  /** @type {IntervalRow[]} */
  rows = [];

  /** @param {number} [limit] */
  constructor(limit = INTERVAL_LIMIT) {
    this.limit = limit;
  }

  /** @param {IntervalRow} row */
  add(row) {
    this.rows.push(row);
    if (this.rows.length <= this.limit) return;
    const merged = [];
    for (let i = 0; i < this.rows.length; i += 2) {
      const next = this.rows[i + 1];
      const isPair = next !== undefined && next.phase === this.rows[i].phase;
      merged.push(isPair ? mergeRows(this.rows[i], next) : this.rows[i]);
      if (!isPair && next !== undefined) merged.push(next);
    }
    this.rows = merged;
  }
}

/** @param {IntervalRow} a @param {IntervalRow} b the one after it @returns {IntervalRow} */
function mergeRows(a, b) {
  const counts = addUp(a.counts, b.counts);
  return {
    phase: a.phase,
    startMs: a.startMs,
    endMs: b.endMs,
    counts,
    failures: addUp(a.failures, b.failures),
    byEndpoint: addUpEach(a.byEndpoint ?? {}, b.byEndpoint ?? {}),
    inFlight: b.inFlight,
    tps: a.tps === null ? null : counts.verified / ((b.endMs - a.startMs) / 1000),
    latency: mergeJson(a.latency, b.latency),
    lag: mergeJson(a.lag, b.lag),
    stages: mergeStages(a.stages, b.stages),
    blocks: mergeBlocks(a.blocks, b.blocks),
    probes: mergeReadings(a.probes, b.probes, a.endMs - a.startMs, b.endMs - b.startMs),
    silence: b.silence ?? a.silence,
  };
}

/** @param {Stages} a @param {Stages} b @returns {Stages} */
function mergeStages(a, b) {
  return stagesFrom((stage) => ({ count: a[stage].count + b[stage].count, sumUs: a[stage].sumUs + b[stage].sumUs }));
}

/** @param {(stage: Stage) => {count: number, sumUs: number}} sumOf @returns {Stages} */
export function stagesFrom(sumOf) {
  const [queued, submit, inclusion, visibility, readBack] = STAGES.map((stage) => {
    const { count, sumUs } = sumOf(stage);
    return { count, sumUs };
  });
  return { queued, submit, inclusion, visibility, readBack };
}
