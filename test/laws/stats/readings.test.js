import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { SAME_TIME, merge } from '../../../src/stats/merge.js';
import { LOOP, READINGS } from '../../../src/stats/metrics.js';

/** @import { LoopReading, Readings } from '../../../src/contracts/run-file.d.ts' */

/** @param {Readings} a @param {Readings} b @param {number} aMs @param {number} bMs @returns {Readings} */
const mergeReadings = (a, b, aMs, bMs) => merge(READINGS, a, b, aMs / (aMs + bMs));

/** @param {LoopReading} a @param {LoopReading} b @returns {LoopReading} */
const worstLoop = (a, b) => merge(LOOP, a, b, SAME_TIME);

/** @type {Readings} */
const A = {
  self: { cpuUs: 10, rssBytes: 300 },
  loop: { utilization: 0.2, delayMeanUs: 100, delayP99Us: 900, delayMaxUs: 1000, gcUs: 5, cpuUs: 30, waitedUs: 2 },
  connections: { opened: 1, reused: 2 },
  sockets: {
    timeWait: 7,
    range: { from: 1, to: 100, ports: 100 },
    endpoints: [
      { endpoint: 'x:1', timeWait: 5, portsInUse: 6, portsLeft: 94 },
      { endpoint: 'old:1', timeWait: 1, portsInUse: 1, portsLeft: 99 },
    ],
  },
  pool: { pending: 5, queued: 1 },
  node: { cpuUs: 100, rssBytes: 20, threads: 3 },
  metrics: { series: { a: 1, gone: 1 } },
  why: {},
};

/** @type {Readings} */
const B = {
  self: { cpuUs: 20, rssBytes: 200 },
  loop: { utilization: 0.6, delayMeanUs: 200, delayP99Us: 800, delayMaxUs: 2000, gcUs: 6 },
  connections: { opened: 10, reused: 20 },
  sockets: {
    timeWait: 4,
    range: { from: 1, to: 200, ports: 200 },
    endpoints: [
      { endpoint: 'new:1', timeWait: 0, portsInUse: 0, portsLeft: 200 },
      { endpoint: 'x:1', timeWait: 6, portsInUse: 3, portsLeft: 197 },
    ],
  },
  pool: { pending: 2, queued: 4 },
  node: { cpuUs: 200, rssBytes: 10, threads: 4 },
  metrics: { series: { a: 2 } },
  why: {},
};

/** @type {Readings} */
const NOTHING = {
  self: B.self,
  loop: null,
  connections: B.connections,
  sockets: null,
  pool: null,
  node: null,
  metrics: null,
  why: { loop: 'l', sockets: 's', pool: 'p', node: 'n', metrics: 'm' },
};

describe('mergeReadings()', () => {
  it('adds counters, keeps the worse of gauges, and weights means', () => {
    const { loop, ...merged } = mergeReadings(A, B, 1000, 3000);
    assert.ok(loop !== null && Math.abs(loop.utilization - 0.5) < 1e-12 && Math.abs(loop.delayMeanUs - 175) < 1e-9);
    assert.deepEqual([loop.delayP99Us, loop.delayMaxUs, loop.gcUs], [900, 2000, 11]);
    assert.deepEqual(merged, {
      self: { cpuUs: 30, rssBytes: 300 },
      connections: { opened: 11, reused: 22 },
      sockets: {
        timeWait: 7,
        range: { from: 1, to: 200, ports: 200 },
        endpoints: [
          { endpoint: 'x:1', timeWait: 6, portsInUse: 6, portsLeft: 94 },
          { endpoint: 'old:1', timeWait: 1, portsInUse: 1, portsLeft: 99 },
          { endpoint: 'new:1', timeWait: 0, portsInUse: 0, portsLeft: 200 },
        ],
      },
      pool: { pending: 5, queued: 4 },
      node: { cpuUs: 300, rssBytes: 20, threads: 4 },
      metrics: { series: { a: 2 } },
      why: {},
    });
  });

  it('a reading takes precedence over null on either side', () => {
    for (const merged of [mergeReadings(A, NOTHING, 1, 1), mergeReadings(NOTHING, A, 1, 1)]) {
      for (const name of /** @type {const} */ (['loop', 'sockets', 'pool', 'node', 'metrics']))
        assert.deepEqual(merged[name], A[name], name);
      assert.deepEqual(merged.why, {});
    }
  });

  it('without any reading the reason of the later interval is kept', () => {
    const later = { ...NOTHING, pool: { pending: 1, queued: 1 }, why: { loop: 'L', sockets: 'S', node: 'N' } };
    const { why, pool } = mergeReadings(NOTHING, later, 1, 1);
    assert.deepEqual(why, { loop: 'L', sockets: 'S', node: 'N', metrics: 'm' });
    assert.deepEqual(pool, { pending: 1, queued: 1 });
  });
});

it('worstLoop(): CPU and waiting time: the maximum over threads, the sum over intervals', () => {
  const loop = /** @type {LoopReading} */ (A.loop);
  const other = { ...loop, cpuUs: 20, waitedUs: 40 };
  const { cpuUs, waitedUs } = worstLoop(loop, other);
  assert.deepEqual([cpuUs, waitedUs], [30, 40]);
  const merged = mergeReadings(A, { ...A, loop: other }, 1000, 1000).loop;
  assert.deepEqual([merged?.cpuUs, merged?.waitedUs], [50, 42]);
});
