import { createServer } from 'node:http';
import { noBlocks } from '../stats/blocks.js';
import { Distribution } from '../stats/histogram.js';
import { merge } from '../stats/merge.js';
import { COUNTED, INTERVALS } from '../stats/metrics.js';
import { shownStages } from '../stats/sample.js';
import { stagesOf, zeroCounts } from '../stats/stats.js';
import { foreignHost, isOwnHost, listen } from './listen.js';
import { Output } from './output.js';

/**
 * @import { Address, IntervalRow, Readings, Totals } from '../types.d.ts'
 * @import { OutputOptions } from './output.js'
 * @import { IncomingMessage, ServerResponse } from 'node:http'
 * @import { Metric, Registry } from 'prom-client'
 */

/** Upper bounds of the buckets, in seconds: 0.1 ms to 2 min, six to a decade where most latencies are. */
export const BUCKETS = Object.freeze([
  ...[0.0001, 0.0002, 0.0005, 0.001, 0.0015, 0.002, 0.003, 0.005, 0.007, 0.01, 0.015, 0.02, 0.03, 0.05, 0.07],
  ...[0.1, 0.15, 0.2, 0.3, 0.5, 0.7, 1, 1.5, 2, 3, 5, 7, 10, 15, 20, 30, 50, 70, 100, 120],
]);

/** Totals since the start, and the last interval. */
class PrometheusState {
  counts = zeroCounts();
  /** @type {Record<string, number>} */
  failures = {};
  /** The rows of COUNTED. @type {Record<string, number>} */
  figures = {};
  blocks = noBlocks();
  /** Null: not read yet. @type {Readings | null} */
  probes = null;
  latency = new Distribution();
  lag = new Distribution();
  stages = stagesOf(() => new Distribution());
  /** @type {IntervalRow | null} */
  row = null;
  /** @type {number | null} */
  runTps = null;
  /** @type {number | null} */
  startedAtMs = null;

  /** @param {Record<string, string>} info describes the run @param {number | null} [instances] of the run, if known */
  constructor(info, instances = null) {
    this.info = info;
    this.instances = instances;
  }

  /** @param {IntervalRow} row @param {Totals} totals */
  add(row, { runTps, stages }) {
    this.row = row;
    this.runTps = runTps;
    const { counts, figures, failures, blocks, probes, latency, lag } = row;
    const more = { counts, figures, failures, blocks, probes, latency, lag, stages };
    Object.assign(this, merge(INTERVALS, this, more, 0.5));
  }
}

/**
 * Every metric family of the page: name, type, help and how it is read from the state. It is read on each request and
 * updated at each interval, so that it costs an operation nothing.
 *
 * @typedef {{metricName?: string, labels: Record<string, string | number>, value: number}} Value
 *
 * @typedef {object} Family
 * @property {string} name
 * @property {'counter' | 'gauge' | 'histogram'} type
 * @property {string} help
 * @property {(state: PrometheusState) => Value[]} values none for what could not be measured
 */

/** @type {readonly Family[]} */
export const FAMILIES = Object.freeze([
  gauge('stress_info', 'What the run is', ({ info }) => one(1, info)),
  gauge('stress_instances', 'How many instances the run has (--instances)', ({ instances }) => one(instances)),
  gauge('stress_load_begun', '0 before the load, while the run is set up and waits for its start, then 1', (state) =>
    one(state.startedAtMs === null ? 0 : 1),
  ),
  gauge('stress_load_start_time_seconds', 'Time of day at which the load began', ({ startedAtMs }) =>
    one(startedAtMs === null ? null : startedAtMs / 1000),
  ),
  gauge('stress_load_elapsed_seconds', 'From the start of the load to the end of the last interval', ({ row }) =>
    one(row === null ? null : row.endMs / 1000),
  ),

  counter('stress_operations_scheduled', 'Operations that were due', ({ counts }) => one(counts.scheduled)),
  counter('stress_operations_started', 'Operations started', ({ counts }) => one(counts.started)),
  counter('stress_operations_dropped', 'Operations that were due while no wallet was idle', ({ counts }) =>
    one(counts.dropped),
  ),
  counter('stress_operations', 'Operations that ended, by outcome', ({ counts }) => [
    ...one(counts.verified, { outcome: 'verified' }),
    ...one(counts.failed, { outcome: 'failed' }),
    ...one(counts.timedOut, { outcome: 'timed_out' }),
    ...one(counts.abandoned, { outcome: 'abandoned' }),
  ]),
  counter('stress_failures', 'Operations that failed, by code', ({ failures }) =>
    Object.entries(failures).flatMap(([code, times]) => one(times, { code })),
  ),
  ...Object.entries(COUNTED).map(([name, { help }]) =>
    counter(`stress_${name}`, help, ({ figures }) => one(figures[name] ?? 0)),
  ),
  gauge('stress_in_flight', 'Operations in flight at the end of the last interval', ({ row }) => one(row?.inFlight)),
  gauge('stress_tps', 'Verified operations per second of the last interval', ({ row }) => one(row?.tps)),
  gauge('stress_run_tps', 'Verified operations per second of the window so far', ({ runTps }) => one(runTps)),

  histogram('stress_latency_seconds', 'From due to verified, of verified operations', ({ latency }) => [
    { labels: {}, distribution: latency },
  ]),
  histogram('stress_stage_seconds', 'The stages of the latency, which add up to it', ({ stages }) =>
    shownStages(stages).map((stage) => ({ labels: { stage }, distribution: stages[stage] })),
  ),
  histogram('stress_lag_seconds', 'From due to begun', ({ lag }) => [{ labels: {}, distribution: lag }]),

  counter('stress_blocks', 'Blocks seen', ({ blocks }) => one(blocks.count)),
  counter('stress_block_transactions', 'Transactions in these blocks, ours and those of others', ({ blocks }) => [
    ...one(blocks.ours, { ours: 'true' }),
    ...one(blocks.transactions - blocks.ours, { ours: 'false' }),
  ]),
  counter('stress_block_gas_used', 'Gas used by these blocks', ({ blocks }) => one(blocks.gasUsed)),
  gauge('stress_block_gas_limit', 'Gas limit of the last block', ({ blocks }) => one(blocks.gasLimit)),
  gauge('stress_block_number', 'Number of the last block', ({ blocks }) => one(blocks.lastNumber)),
  gauge(
    'stress_block_skew_seconds',
    'Most by which a block was seen after its timestamp, in the last interval',
    ({ row }) => seconds(row === null || row.blocks.skewMaxMs === null ? null : row.blocks.skewMaxMs * 1000),
  ),

  counter('stress_process_cpu_seconds', 'CPU time of the generator', ({ probes }) => seconds(probes?.self.cpuUs ?? 0)),
  gauge(
    'stress_process_resident_memory_bytes',
    'Resident memory of the generator',
    last((p) => one(p.self.rssBytes)),
  ),
  counter('stress_gc_seconds', 'Time spent collecting garbage', ({ probes }) => seconds(probes?.loop?.gcUs)),
  gauge(
    ...['stress_event_loop_utilization', 'Share of the last interval in which the event loop was busy'],
    last(({ loop }) => one(loop?.utilization)),
  ),
  gauge(
    ...['stress_event_loop_delay_seconds', 'By how much the event loop was late in the last interval'],
    last(({ loop }) => [
      ...seconds(loop?.delayMeanUs, { statistic: 'mean' }),
      ...seconds(loop?.delayP99Us, { statistic: 'p99' }),
      ...seconds(loop?.delayMaxUs, { statistic: 'max' }),
    ]),
  ),
  counter('stress_connections_opened', 'Connections opened', ({ probes }) => one(probes?.connections.opened ?? 0)),
  counter('stress_connections_reused', 'Requests over a connection that was open already', ({ probes }) =>
    one(probes?.connections.reused ?? 0),
  ),
  gauge(
    'stress_time_wait_sockets',
    'Sockets of this machine in TIME_WAIT',
    last(({ sockets }) => one(sockets?.timeWait)),
  ),
  gauge(
    'stress_ports_used',
    'Ephemeral ports in use towards the endpoint',
    last(({ sockets }) => endpoints(sockets, 'portsInUse')),
  ),
  gauge(
    'stress_ports_left',
    'Ephemeral ports still free towards the endpoint',
    last(({ sockets }) => endpoints(sockets, 'portsLeft')),
  ),

  gauge(
    ...['stress_pool_transactions', "Transactions in the node's pool, by state"],
    last(({ pool }) => [...one(pool?.pending, { state: 'pending' }), ...one(pool?.queued, { state: 'queued' })]),
  ),
  counter('stress_node_cpu_seconds', 'CPU time of the node', ({ probes }) => seconds(probes?.node?.cpuUs)),
  gauge(
    'stress_node_resident_memory_bytes',
    'Resident memory of the node',
    last(({ node }) => one(node?.rssBytes)),
  ),
  gauge(
    'stress_node_threads',
    'Threads of the node',
    last(({ node }) => one(node?.threads)),
  ),
  gauge(
    'stress_node_open_descriptors',
    'Descriptors that the node has open',
    last(({ node }) => one(node?.descriptors)),
  ),
]);

/** @param {string} name @param {string} help @param {Family['values']} values @returns {Family} */
function counter(name, help, values) {
  return { name: `${name}_total`, type: 'counter', help: explained(help), values };
}

/** @param {string} name @param {string} help @param {Family['values']} values @returns {Family} */
function gauge(name, help, values) {
  return { name, type: 'gauge', help: explained(help), values };
}

/**
 * @param {string} name
 * @param {string} help
 * @param {(state: PrometheusState) => Series[]} read
 * @returns {Family}
 */
function histogram(name, help, read) {
  return {
    name,
    type: 'histogram',
    help: explained(help),
    values: (state) => read(state).flatMap((series) => histogramValues(name, series)),
  };
}

/** @param {string} help */
function explained(help) {
  return `${help} (changes at each interval)`;
}

/** @typedef {{labels: Record<string, string>, distribution: Distribution}} Series */

/** @param {string} name @param {Series} series @returns {Value[]} */
function histogramValues(name, { labels, distribution }) {
  const below = Array.from(BUCKETS, () => 0);
  // A bucket only grows, because the lowest value of a place never changes.
  for (const [valueUs, count] of distribution.places()) {
    const bucket = BUCKETS.findIndex((le) => valueUs <= le * 1e6);
    if (bucket >= 0) below[bucket] += count;
  }
  let sum = 0;
  const buckets = BUCKETS.map((le, i) => ({
    metricName: `${name}_bucket`,
    labels: { ...labels, le },
    value: (sum += below[i]),
  }));
  return [
    ...buckets,
    { metricName: `${name}_bucket`, labels: { ...labels, le: '+Inf' }, value: distribution.count },
    { metricName: `${name}_sum`, labels, value: distribution.sumUs / 1e6 },
    { metricName: `${name}_count`, labels, value: distribution.count },
  ];
}

/** What the probes read in the last interval. @param {(probes: Readings) => Value[]} read @returns {Family['values']} */
function last(read) {
  return ({ row }) => (row === null ? [] : read(row.probes));
}

/** @param {number | null | undefined} value @param {Record<string, string>} [labels] @returns {Value[]} */
function one(value, labels = {}) {
  return value === null || value === undefined ? [] : [{ labels, value }];
}

/** @param {number | null | undefined} valueUs @param {Record<string, string>} [labels] @returns {Value[]} */
function seconds(valueUs, labels) {
  return typeof valueUs === 'number' ? one(valueUs / 1e6, labels) : [];
}

/** @param {Readings['sockets']} sockets @param {'portsInUse' | 'portsLeft'} key @returns {Value[]} */
function endpoints(sockets, key) {
  return (sockets?.endpoints ?? []).flatMap(({ endpoint, [key]: ports }) => one(ports, { endpoint }));
}

/**
 * A page for Prometheus on its own port, from before the set-up to the end of the run.
 * @param {OutputOptions} options
 * @returns {Output}
 */
export function createPrometheusOutput({ prometheus, info, instance = null }) {
  const { host, port } = /** @type {Address} */ (prometheus);
  const state = new PrometheusState(info, instance?.instances);
  /** The library is loaded only with --prometheus. */
  const registry = registryOf(state, labelsOf(instance));
  const server = createServer((request, response) => {
    if (isOwnHost(request, host)) void registry.then((ready) => answer(ready, request, response));
    else response.writeHead(403, { 'content-type': 'text/plain' }).end(`${foreignHost('prometheus')}\n`);
  });
  return new Output({
    open: async () => {
      await registry;
      await listen(server, { host, port }, 'prometheus');
    },
    start: ({ startedAtMs }) => {
      state.startedAtMs = startedAtMs;
    },
    interval: (row, totals) => state.add(row, totals),
    close: async () => {
      server.closeAllConnections();
      if (server.listening) await new Promise((resolve) => server.close(resolve));
    },
  });
}

/**
 * Labels of every series of an instance. Prometheus sets `instance` and `job` itself.
 * @param {OutputOptions['instance']} [instance]
 * @returns {Record<string, string>}
 */
function labelsOf(instance) {
  const { runId = null, index = null } = instance ?? {};
  return { ...(runId !== null && { run_id: runId }), ...(index !== null && { index: `${index}` }) };
}

/**
 * Metrics of prom-client record one observation at a time; these are read from the state as a whole.
 * @param {PrometheusState} state
 * @param {Record<string, string>} labels of every series
 */
async function registryOf(state, labels) {
  const { Registry } = await import('prom-client');
  const registry = new Registry();
  registry.setDefaultLabels(labels);
  for (const { name, type, help, values } of FAMILIES) {
    const metric = { name, type, help, get: () => ({ name, type, help, values: values(state) }) };
    registry.registerMetric(/** @type {Metric} */ (/** @type {unknown} */ (metric)));
  }
  return registry;
}

/** @param {Registry} registry @param {IncomingMessage} request @param {ServerResponse} response */
async function answer(registry, { url = '' }, response) {
  if (url.split('?')[0] !== '/metrics') {
    response.writeHead(404, { 'content-type': 'text/plain' }).end('the metrics are at /metrics\n');
    return;
  }
  response.writeHead(200, { 'content-type': registry.contentType }).end(await registry.metrics());
}
