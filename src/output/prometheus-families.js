import { shownStages } from '../metrics/sample.js';
import { BUCKETS } from './prometheus-state.js';

/**
 * @import { Readings } from '../metrics/readings.js'
 * @import { CumulativeHistogram, PrometheusState } from './prometheus-state.js'
 */

/**
 * Every family of metrics on the page, once: its name, its type, what it means, and how it is read off the state. It is
 * read when somebody asks for the page, and changes at each interval, so it costs an operation nothing.
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
  gauge('stress_in_flight', 'Operations in flight at the end of the last interval', ({ row }) => one(row?.inFlight)),
  gauge('stress_tps', 'Verified operations per second of the last interval', ({ row }) => one(row?.tps)),
  gauge('stress_run_tps', 'Verified operations per second of the window so far', ({ runTps }) => one(runTps)),

  histogram('stress_latency_seconds', 'From due to verified, of verified operations', ({ latency }) => [
    { labels: {}, histogram: latency },
  ]),
  histogram('stress_stage_seconds', 'The stages of the latency, which add up to it', ({ stages }) =>
    shownStages(stages).map((stage) => ({ labels: { stage }, histogram: stages[stage] })),
  ),
  histogram('stress_lag_seconds', 'From due to begun', ({ lag }) => [{ labels: {}, histogram: lag }]),

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

  counter('stress_process_cpu_seconds', 'CPU time of the generator', ({ used }) => seconds(used.cpuUs)),
  gauge(
    'stress_process_resident_memory_bytes',
    'Resident memory of the generator',
    last((p) => one(p.self.rssBytes)),
  ),
  counter('stress_gc_seconds', 'Time spent collecting garbage', ({ used }) => seconds(used.gcUs)),
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
  counter('stress_connections_opened', 'Connections opened', ({ used }) => one(used.connectionsOpened)),
  counter('stress_connections_reused', 'Requests over a connection that was open already', ({ used }) =>
    one(used.connectionsReused),
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
  counter('stress_node_cpu_seconds', 'CPU time of the node', ({ used }) => seconds(used.nodeCpuUs)),
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
 * @param {(state: PrometheusState) => Array<{labels: Record<string, string>, histogram: CumulativeHistogram}>} read
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

/** @param {string} name @param {{labels: Record<string, string>, histogram: CumulativeHistogram}} series @returns {Value[]} */
function histogramValues(name, { labels, histogram: { counts, count, sumUs } }) {
  let below = 0;
  const buckets = BUCKETS.map((le, i) => {
    below += counts[i];
    return { metricName: `${name}_bucket`, labels: { ...labels, le }, value: below };
  });
  return [
    ...buckets,
    { metricName: `${name}_bucket`, labels: { ...labels, le: '+Inf' }, value: count },
    { metricName: `${name}_sum`, labels, value: sumUs / 1e6 },
    { metricName: `${name}_count`, labels, value: count },
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
