import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { createServer, request } from 'node:http';
import { connect } from 'node:net';
import { describe, it } from 'node:test';
import { isOwnHost } from '../../src/outputs/listen.js';
import { createPrometheusOutput } from '../../src/outputs/prometheus.js';
import { totalsOfBlock } from '../../src/stats/blocks.js';
import { STAGES } from '../../src/stats/figures.js';
import { freePort } from '../helpers/anvil.js';
import { readPage, valueOf } from '../helpers/prometheus-page.js';
import { blockOf, distributionOf, readingsOf, rowOf } from '../helpers/samples.js';

/**
 * @import { OutputOptions, Totals } from '../../src/contracts/output.d.ts'
 * @import { AddressInfo } from 'node:net'
 * @import { TestContext } from 'node:test'
 */

const INFO = Object.freeze({ version: '1.2.3', workload: 'counter', transport: 'tcp' });

/** @param {number[]} [valuesUs] @param {number | null} [runTps] @returns {Totals} */
function totalsOf(valuesUs = [], runTps = 0) {
  const stages = Object.fromEntries(
    STAGES.map(({ name }, i) => [name, distributionOf(...valuesUs.map((v) => v * (i + 1)))]),
  );
  return /** @type {Totals} */ ({ attempts: 0, verified: 0, runTps, stages });
}

/** Every probe with a reading. */
const ALL_READINGS = readingsOf({
  self: { cpuUs: 1_500_000, rssBytes: 1000 },
  connections: { opened: 3, reused: 7 },
  loop: { utilization: 0.5, delayMeanUs: 100, delayP99Us: 2000, delayMaxUs: 30_000, gcUs: 4000 },
  sockets: {
    timeWait: 12,
    range: { from: 32_768, to: 60_999, ports: 28_232 },
    endpoints: [{ endpoint: '127.0.0.1:8545', timeWait: 5, portsInUse: 9, portsLeft: 28_223 }],
  },
  pool: { pending: 4, queued: 0 },
  node: { cpuUs: 2_000_000, rssBytes: 5000, threads: 6 },
  why: {},
});

/** @param {TestContext} t @param {OutputOptions['instance']} [instance] */
async function opened(t, instance) {
  const port = await freePort();
  let text = '';
  const stream = { write: (/** @type {string} */ line) => (text += line) };
  const options = { prometheus: { host: '127.0.0.1', port }, info: INFO, instance, quiet: false, stream };
  const output = createPrometheusOutput(/** @type {OutputOptions} */ (/** @type {unknown} */ (options)));
  await output.open?.();
  t.after(() => output.close?.());
  const url = `http://127.0.0.1:${port}/metrics`;
  assert.equal(text, `prometheus at ${url}\n`);
  return { output, port, url, page: () => readPage(url) };
}

describe('output prometheus', () => {
  it('before the first interval: counters are 0, and unmeasured values are absent', async (t) => {
    const { page } = await opened(t);
    const values = await page();
    assert.equal(valueOf(values, 'stress_operations_total', { outcome: 'verified' }), 0);
    assert.equal(valueOf(values, 'stress_latency_seconds_count'), 0);
    for (const { name: stage } of STAGES)
      assert.equal(valueOf(values, 'stress_stage_seconds_count', { stage }), 0, stage);
    assert.equal(valueOf(values, 'stress_info', INFO), 1);
    for (const name of ['stress_in_flight', 'stress_tps', 'stress_gc_seconds_total', 'stress_load_start_time_seconds'])
      assert.equal(valueOf(values, name), null, name);
  });

  it('refuses requests with the host name of a web page', async (t) => {
    const { port } = await opened(t);
    const headers = { host: `evil.example:${port}` };
    const [response] = await once(request({ host: '127.0.0.1', port, path: '/metrics', headers }).end(), 'response');
    response.resume();
    assert.equal(response.statusCode, 403);
  });

  const [ANY, NAME] = ['0.0.0.0', 'load.example.org'];
  for (const [listening, isOwn, ...hosts] of /** @type {Array<[string, boolean, ...string[]]>} */ ([
    [ANY, true, '127.0.0.1:80', 'localhost:80', '10.1.2.3:80', 'stress-0:9464', '[fe80::1]:9464', '[::1]', ''],
    [ANY, false, 'evil.example', '127.0.0.1.evil.example', '10.1.2.3.nip.io:80', NAME, `${NAME}.evil.example`],
    [NAME, true, NAME, 'LOAD.example.org:9464'],
    [NAME, false, 'other.example.org', `${NAME}.evil.example`],
  ]))
    it(`at ${listening} its own names are ${isOwn ? '' : 'not '}${hosts}`, () => {
      for (const host of hosts)
        assert.equal(isOwnHost(/** @type {any} */ ({ headers: { host } }), listening), isOwn, host);
    });

  it('an instance of a larger run: every series has its labels, from before the load on', async (t) => {
    const { output, page } = await opened(t, { runId: 'night-1', index: 0, instances: 4 });
    const labels = { run_id: 'night-1', index: '0' };
    const waiting = await page();
    assert.equal(valueOf(waiting, 'stress_info', { ...INFO, ...labels }), 1);
    assert.equal(valueOf(waiting, 'stress_instances', labels), 4);
    assert.equal(valueOf(waiting, 'stress_load_begun', labels), 0);
    output.begin?.({ startUs: 5, startedAtMs: 1_767_225_600_500 });
    output.interval?.(rowOf({ probes: ALL_READINGS, failures: { lost: 1 } }), totalsOf([5]));
    const running = await page();
    assert.equal(valueOf(running, 'stress_load_begun', labels), 1);
    assert.equal(valueOf(running, 'stress_latency_seconds_bucket', { ...labels, le: '+Inf' }), 0);
    const without = running.filter(({ labels: { run_id: id, index } }) => id !== 'night-1' || index !== '0');
    assert.deepEqual(without, []);
  });

  it('counters are sums of all intervals, gauges those of the last', async (t) => {
    const { output, page } = await opened(t);
    output.begin?.({ startUs: 5, startedAtMs: 1_767_225_600_500 });
    const counts = { scheduled: 10, dropped: 1, started: 9, verified: 5, failed: 2, timedOut: 1, abandoned: 0 };
    const blocks = totalsOfBlock(blockOf({ transactions: 8, ours: 5, gasUsed: 1000, gasLimit: 30_000 }));
    for (let k = 0; k < 3; k += 1) {
      const row = rowOf({
        counts,
        failures: { lost: 2 },
        inFlight: k,
        tps: k * 10,
        blocks,
        probes: ALL_READINGS,
        endMs: 1500,
      });
      output.interval?.(row, totalsOf([], 11));
    }
    const values = await page();
    /** @type {Array<[string, Record<string, string>, number]>} */
    const expected = [
      ['stress_operations_scheduled_total', {}, 30],
      ['stress_operations_dropped_total', {}, 3],
      ['stress_operations_total', { outcome: 'verified' }, 15],
      ['stress_operations_total', { outcome: 'failed' }, 6],
      ['stress_failures_total', { code: 'lost' }, 6],
      ['stress_in_flight', {}, 2],
      ['stress_tps', {}, 20],
      ['stress_load_start_time_seconds', {}, 1_767_225_600.5],
      ['stress_load_elapsed_seconds', {}, 1.5],
      ['stress_blocks_total', {}, 3],
      ['stress_block_transactions_total', { ours: 'true' }, 15],
      ['stress_block_transactions_total', { ours: 'false' }, 9],
      ['stress_block_skew_seconds', {}, 0.25],
      ['stress_process_cpu_seconds_total', {}, 4.5],
      ['stress_gc_seconds_total', {}, 0.012],
      ['stress_event_loop_utilization', {}, 0.5],
      ['stress_event_loop_delay_seconds', { statistic: 'mean' }, 0.0001],
      ['stress_connections_opened_total', {}, 9],
      ['stress_ports_left', { endpoint: '127.0.0.1:8545' }, 28_223],
      ['stress_pool_transactions', { state: 'pending' }, 4],
      ['stress_node_cpu_seconds_total', {}, 6],
      ['stress_node_threads', {}, 6],
    ];
    for (const [name, labels, value] of expected) {
      assert.equal(valueOf(values, name, labels), value, `${name} ${JSON.stringify(labels)}`);
    }
  });

  it('histograms: count and sum are exact, buckets cumulative and right', async (t) => {
    const { output, page } = await opened(t);
    const intervals = [[50, 150, 1000, 1001], [], [250_000, 119_000_000, 200_000_000], [0]];
    for (const valuesUs of intervals) {
      const latency = distributionOf(...valuesUs);
      output.interval?.(rowOf({ latency, lag: latency }), totalsOf(valuesUs));
    }
    const values = await page();
    const all = intervals.flat();
    for (const [name, labels, factor] of /** @type {Array<[string, Record<string, string>, number]>} */ ([
      ['stress_latency_seconds', {}, 1],
      ['stress_lag_seconds', {}, 1],
      ...STAGES.map(({ name: stage }, i) => ['stress_stage_seconds', { stage }, i + 1]),
    ])) {
      const valuesUs = all.map((value) => value * factor);
      assert.equal(valueOf(values, `${name}_count`, labels), all.length);
      assert.equal(valueOf(values, `${name}_sum`, labels), valuesUs.reduce((sum, value) => sum + value, 0) / 1e6);
      for (const le of ['0.0001', '0.001', '0.0015', '0.3', '100', '120', '+Inf']) {
        const boundUs = le === '+Inf' ? Infinity : Number(le) * 1e6;
        const below = valuesUs.filter((value) => value <= boundUs).length;
        assert.equal(valueOf(values, `${name}_bucket`, { ...labels, le }), below, `${name} ${le}`);
      }
    }
  });

  it('gauges of a probe that stopped disappear; its counters stay', async (t) => {
    const { output, page } = await opened(t);
    output.interval?.(rowOf({ probes: ALL_READINGS }), totalsOf());
    output.interval?.(rowOf({ probes: readingsOf({ loop: null }), phase: 'drain', tps: null }), totalsOf([], null));
    const values = await page();
    for (const name of [
      ...['stress_tps', 'stress_run_tps', 'stress_event_loop_utilization', 'stress_time_wait_sockets'],
      ...['stress_node_threads', 'stress_block_number', 'stress_block_gas_limit', 'stress_block_skew_seconds'],
    ])
      assert.equal(valueOf(values, name), null, name);
    assert.equal(valueOf(values, 'stress_pool_transactions', { state: 'pending' }), null);
    assert.equal(valueOf(values, 'stress_ports_left', { endpoint: '127.0.0.1:8545' }), null);
    assert.equal(valueOf(values, 'stress_gc_seconds_total'), 0.004);
    assert.equal(valueOf(values, 'stress_node_cpu_seconds_total'), 2);
  });

  it('has the content type of Prometheus; elsewhere is nothing', async (t) => {
    const { url } = await opened(t);
    const response = await fetch(`${url}?x=1`);
    assert.match(response.headers.get('content-type') ?? '', /^text\/plain; version=0\.0\.4/);
    assert.deepEqual([response.status, (await fetch(url.replace('/metrics', '/'))).status], [200, 404]);
    assert.equal((await fetch(url, { method: 'POST' })).status, 405);
  });

  it('close() frees the port, also during a request', { timeout: 10_000 }, async (t) => {
    const { output, page, port } = await opened(t);
    await page();
    const socket = connect(port, '127.0.0.1').on('error', () => {});
    t.after(() => socket.destroy());
    await once(socket, 'connect');
    socket.write('GET /metrics HTTP/1.1\r\n');
    await page(); // it has been read by now
    await output.close?.();
    await output.close?.();
    const again = createServer().listen(port, '127.0.0.1');
    await once(again, 'listening');
    again.close();
  });

  it('promtool accepts the page', async (t) => {
    if (spawnSync('promtool', ['--version']).error !== undefined)
      return t.skip('promtool is not installed: apt-get install prometheus');
    const { output, url } = await opened(t);
    output.interval?.(rowOf({ probes: ALL_READINGS, failures: { lost: 1 } }), totalsOf([5, 6000]));
    const input = await (await fetch(url)).text();
    const { status, stdout, stderr } = spawnSync('promtool', ['check', 'metrics'], { input, encoding: 'utf8' });
    assert.deepEqual([status, stdout, stderr], [0, '', '']);
  });
});
