/** What a receiver of --push has in the end, against the run file. */
import assert from 'node:assert/strict';
import { assertNear } from './recompute.js';
import { sumOf } from './run-file.js';

/** @typedef {Record<string, string>} Labels */

/** @param {string} name @param {Labels} labels */
export function seriesName(name, labels) {
  const all = Object.entries(labels).map((pair) => pair.join('='));
  return [name, ...all.sort()].join(' ');
}

/** All sums of a run file, as the receiver has them. @param {any} run @param {Labels} own of all series @returns {Map<string, number>} */
function sumsOf({ counts, failures, intervals }, own) {
  const sums = new Map();
  const add = (/** @type {string} */ name, /** @type {number} */ value, /** @type {Labels} */ labels = {}) =>
    sums.set(seriesName(name, { ...own, ...labels }), value);
  /** @param {(row: any) => number} figure */
  const sum = (figure) => sumOf(intervals.map(figure));
  /** @param {string} family @param {(row: any) => any} of @param {Labels} [labels] */
  const addHistogram = (family, of, labels) => {
    add(
      `${family}_count`,
      sum((row) => of(row).count),
      labels,
    );
    add(`${family}_sum`, sum((row) => of(row).sumUs) / 1e6, labels);
  };
  for (const name of ['scheduled', 'started', 'dropped']) add(`stress_operations_${name}_total`, counts[name]);
  for (const name of ['verified', 'failed', 'timedOut', 'abandoned'])
    add('stress_operations_total', counts[name], { outcome: name.replace('timedOut', 'timed_out') });
  for (const [code, count] of Object.entries(failures)) add('stress_failures_total', count, { code });
  const ours = sum(({ blocks }) => blocks.ours);
  add(
    'stress_blocks_total',
    sum(({ blocks }) => blocks.count),
  );
  add('stress_block_transactions_total', ours, { ours: 'true' });
  add('stress_block_transactions_total', sum(({ blocks }) => blocks.transactions) - ours, { ours: 'false' });
  add(
    'stress_block_gas_used_total',
    sum(({ blocks }) => blocks.gasUsed),
  );
  add(
    'stress_block_fullness_total',
    sum(({ blocks }) => blocks.fullnessSum),
  );
  for (const name of ['opened', 'reused'])
    add(
      `stress_connections_${name}_total`,
      sum(({ probes }) => probes.connections[name]),
    );
  add('stress_process_cpu_seconds_total', sum(({ probes }) => probes.self.cpuUs) / 1e6);
  add('stress_gc_seconds_total', sum(({ probes }) => probes.loop?.gcUs ?? 0) / 1e6);
  if (intervals.some((/** @type {any} */ { probes }) => probes.node !== null))
    add('stress_node_cpu_seconds_total', sum(({ probes }) => probes.node?.cpuUs ?? 0) / 1e6);
  addHistogram('stress_latency_seconds', ({ latency }) => latency);
  addHistogram('stress_lag_seconds', ({ lag }) => lag);
  for (const stage of ['queued', 'submit', 'inclusion', 'readBack'])
    addHistogram('stress_stage_seconds', ({ stages }) => stages[stage], { stage });
  return sums;
}

/** @typedef {{attributes: Array<{key: string, value: {stringValue: string}}>, asDouble: number, count?: string, sum: number, bucketCounts: string[]}} Point */

/** The last value of each series; JSON of protocol buffers has no counts of 0. @param {string[]} pushes as OTLP in JSON @returns {Map<string, number>} */
export function lastOf(pushes) {
  const series = new Map();
  for (const text of pushes)
    for (const { name, sum, gauge, histogram } of JSON.parse(text).resourceMetrics[0].scopeMetrics[0].metrics)
      for (const point of /** @type {Point[]} */ ((sum ?? gauge ?? histogram).dataPoints)) {
        const labels = Object.fromEntries((point.attributes ?? []).map(({ key, value }) => [key, value.stringValue]));
        /** @param {string} behind @param {number} value */
        const set = (behind, value) => series.set(seriesName(`${name}${behind}`, labels), value);
        if (histogram === undefined) set('', point.asDouble);
        else {
          set('_count', Number(point.count ?? 0));
          set('_sum', point.sum);
          assert.equal(sumOf(point.bucketCounts.map(Number)), Number(point.count ?? 0), name);
        }
      }
  return series;
}

/** The receiver has all sums of the run file, and no others. @param {any} run @param {Map<string, number>} series of the receiver @param {Labels} [own] */
export function assertSums(run, series, own = {}) {
  const sums = sumsOf(run, own);
  const received = [...series.keys()].filter((name) => /^\w+_(total|count|sum)\b/.test(name));
  assert.deepEqual(received.sort(), [...sums.keys()].sort());
  for (const [name, value] of sums) assertNear(/** @type {number} */ (series.get(name)), value, 1e-9, name);
}
