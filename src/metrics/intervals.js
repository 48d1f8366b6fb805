import { mergeBlocks } from './blocks.js';
import { Distribution } from './distribution.js';

/**
 * The intervals of a run, bounded: above the limit neighbours are merged pairwise, so a run of any length keeps
 * between half the limit and the limit.
 *
 * @typedef {object} IntervalRow
 * @property {'load' | 'drain'} phase
 * @property {number} startMs since the start of the load
 * @property {number} endMs
 * @property {import('./recorder.js').Counts} counts what happened in it
 * @property {Record<string, number>} failures by code
 * @property {number} inFlight at its end
 * @property {number | null} tps verified operations per second; null for the drain
 * @property {import('./distribution.js').DistributionJson} latency of the operations verified in it
 * @property {import('./blocks.js').BlockTotals} blocks
 * @property {{self: import('../probe/self.js').SelfReading}} probes
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
  const latency = Distribution.fromJSON(a.latency);
  latency.merge(Distribution.fromJSON(b.latency));
  const counts = addUp(a.counts, b.counts);
  return {
    phase: a.phase,
    startMs: a.startMs,
    endMs: b.endMs,
    counts,
    failures: addUp(a.failures, b.failures),
    inFlight: b.inFlight,
    tps: a.tps === null ? null : counts.verified / ((b.endMs - a.startMs) / 1000),
    latency: latency.toJSON(),
    blocks: mergeBlocks(a.blocks, b.blocks),
    probes: {
      self: {
        cpuUs: a.probes.self.cpuUs + b.probes.self.cpuUs,
        rssBytes: Math.max(a.probes.self.rssBytes, b.probes.self.rssBytes),
      },
    },
  };
}

/** @template {Record<string, number>} T @param {T} a @param {T} b @returns {T} */
function addUp(a, b) {
  /** @type {Record<string, number>} */
  const sum = { ...a };
  for (const [key, value] of Object.entries(b)) sum[key] = (sum[key] ?? 0) + value;
  return /** @type {T} */ (sum);
}
