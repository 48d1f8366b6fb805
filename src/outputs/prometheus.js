import { createServer } from 'node:http';
import { noBlocks } from '../stats/blocks.js';
import { Distribution } from '../stats/histogram.js';
import { merge } from '../stats/merge.js';
import { INTERVALS } from '../stats/metrics.js';
import { stagesOf, zeroCounts } from '../stats/stats.js';
import { foreignHost, isOwnHost, listen } from './listen.js';

/**
 * @import { Address, Output, OutputOptions, Totals } from '../contracts/output.d.ts'
 * @import { IntervalRow, RunFile } from '../contracts/run-file.d.ts'
 * @import { Page, Rule } from '../stats/merge.js'
 */

/** Upper bounds of the buckets, in seconds: 0.1 ms to 2 min, six to a decade where most latencies are. */
export const BUCKETS = Object.freeze([
  ...[0.0001, 0.0002, 0.0005, 0.001, 0.0015, 0.002, 0.003, 0.005, 0.007, 0.01, 0.015, 0.02, 0.03, 0.05, 0.07],
  ...[0.1, 0.15, 0.2, 0.3, 0.5, 0.7, 1, 1.5, 2, 3, 5, 7, 10, 15, 20, 30, 50, 70, 100, 120],
]);

/** Totals since the start, and the last interval. */
export class PrometheusState {
  sum = {
    counts: zeroCounts(),
    blocks: noBlocks(),
    probes: { self: { cpuUs: 0 }, connections: { opened: 0, reused: 0 } },
    latency: new Distribution(),
    lag: new Distribution(),
    // From 0 on, so that rates contain the first interval.
    stages: stagesOf(() => new Distribution()),
  };
  /** @type {IntervalRow | null} */
  row = null;
  /** @type {number | null} */
  runTps = null;
  /** @type {number | null} */
  startedAtMs = null;
  /** Once the run is over. @type {RunFile['spending'] | null} */
  spending = null;

  /** @param {Record<string, string>} info describes the run @param {number | null} [instances] of the run, if known */
  constructor(info, instances = null) {
    this.info = info;
    this.instances = instances;
  }

  /** @param {IntervalRow} row @param {Totals} totals */
  add(row, { runTps, stages, facts }) {
    // The rate of an interval may not be known yet.
    const isOver = row.phase === 'drain';
    this.row = { ...row, tps: row.tps ?? (isOver ? null : (this.row?.tps ?? null)) };
    this.runTps = runTps ?? (isOver ? null : this.runTps);
    this.sum = merge(INTERVALS, this.sum, { ...row, stages, facts }, 0.5);
  }
}

/**
 * A metric family of the page. It is read on each request and changes at each interval, so that it costs an operation
 * nothing.
 *
 * @typedef {Record<string, string | number>} Labels
 * @typedef {{metricName?: string, labels: Labels, value: number}} Value
 *
 * @typedef {object} Family
 * @property {string} name
 * @property {Page['type']} type
 * @property {string} help
 * @property {(state: PrometheusState) => Value[]} values none for what could not be measured
 */

/** @param {string} name @param {string} help @param {(state: PrometheusState) => number | null | undefined} read @returns {Family} */
function gaugeOfRun(name, help, read) {
  return { name, type: 'gauge', help, values: (state) => one(read(state), {}) };
}

const RULES = rulesIn(INTERVALS);

const PAGES = new Map(RULES.flatMap(({ page }) => (page === undefined ? [] : [[page.family, page]])));

/** Those of the run as a whole, and of each figure of the intervals. @type {readonly Family[]} */
export const FAMILIES = Object.freeze([
  { name: 'stress_info', type: 'gauge', help: 'What the run is', values: ({ info }) => one(1, info) },
  gaugeOfRun('stress_instances', 'How many instances the run has (--instances)', ({ instances }) => instances),
  gaugeOfRun('stress_load_begun', '0 before the load, while the run is set up, then 1', (state) =>
    Number(state.startedAtMs !== null),
  ),
  gaugeOfRun(
    'stress_load_start_time_seconds',
    'Time of day at which the load began',
    ({ startedAtMs: ms }) => ms && ms / 1000,
  ),
  {
    name: 'stress_spent_ether',
    type: 'gauge',
    help: 'What the set-up cost, and what left the wallets in the load, at the end of the run (--push)',
    values: ({ spending }) => [...spent(spending?.setUpWei, 'set_up'), ...spent(spending?.leftWei, 'load')],
  },
  gaugeOfRun('stress_run_tps', 'Verified operations per second of the window so far', ({ runTps }) => runTps),
  ...[...PAGES.values()].map(({ family, type, help }) => {
    const values = (/** @type {PrometheusState} */ { sum, row }) => valuesOf(family, INTERVALS, { sum, row });
    return { name: family, type, help: `${help} (changes at each interval)`, values };
  }),
]);

/** @param {string | null | undefined} wei @param {string} phase @returns {Value[]} none if it is not known */
function spent(wei, phase) {
  return wei === null || wei === undefined ? [] : one(Number(wei) / 1e18, { phase });
}

/** Names of the labels that tell series of a family apart. */
export const LABEL_NAMES = Object.freeze([
  ...new Set(['phase', ...RULES.flatMap(({ page, tag = [] }) => [...Object.keys(page?.labels ?? {}), tag].flat())]),
]);

/** A rule and all rules in it. @param {Rule} rule @returns {Rule[]} */
function rulesIn(rule) {
  const { each = [], members = {} } = rule;
  return [rule, ...[...Object.values(members), each].flat().flatMap(rulesIn)];
}

/**
 * The values of a family in a part of the figures.
 * @param {string} family
 * @param {Rule} rule of this part
 * @param {{sum: any, row: any}} part since the start, and in the last interval
 * @param {Labels} [labels]
 * @returns {Value[]}
 */
function valuesOf(family, { each, tag = '', members = {} }, { sum, row }, labels = {}) {
  const own = Object.entries(members).flatMap(([name, rule]) => {
    const [value, inRow] = [sum?.[name], row?.[name]];
    const inside = valuesOf(family, rule, { sum: value, row: inRow }, labels);
    return rule.page?.family === family ? [...valuesIn(rule.page, { name, sum, row }, labels), ...inside] : inside;
  });
  if (each === undefined) return own;
  const tagged = (Array.isArray(row) ? row : Object.keys(sum ?? {})).flatMap((one, i) => {
    const [name, text] = Array.isArray(row) ? [i, one[tag]] : [one, one];
    if (text === undefined) return [];
    const more = { ...labels, [tag]: text };
    if (each.page?.family === family) return valuesIn(each.page, { name, sum, row }, more);
    return valuesOf(family, each, { sum: sum?.[name], row: row?.[name] }, more);
  });
  return [...own, ...tagged];
}

/** @param {Page} page @param {{name: string, sum: any, row: any}} figure with what it is a member of @param {Labels} given @returns {Value[]} */
function valuesIn({ family, labels, value: read, isSum }, { name, sum, row }, given) {
  const parent = isSum ? sum : row;
  const value = (read === undefined ? parent?.[name] : parent && read(parent)) ?? null;
  const all = { ...given, ...labels };
  if (value instanceof Distribution) return histogramValues(family, all, value);
  return one(value && value / (/Us$/.test(name) ? 1e6 : /Ms$/.test(name) ? 1e3 : 1), all);
}

/** @param {string} name @param {Labels} labels @param {Distribution} distribution @returns {Value[]} */
function histogramValues(name, labels, distribution) {
  const below = Array.from(BUCKETS, () => 0);
  // A bucket only grows, because the lowest value of a bucket never changes. They ascend.
  let bucket = 0;
  for (const [valueUs, count] of distribution.lowestValues()) {
    while (valueUs > BUCKETS[bucket] * 1e6) bucket += 1;
    if (bucket < BUCKETS.length) below[bucket] += count;
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

/** @param {number | null | undefined} value @param {Labels} labels @returns {Value[]} */
function one(value, labels) {
  return value === null || value === undefined ? [] : [{ labels, value }];
}

/**
 * A page for Prometheus on its own port, from before the set-up to the end of the run.
 * @param {OutputOptions} options
 * @returns {Output}
 */
export function createPrometheusOutput({ prometheus, info, instance = null, quiet, stream }) {
  const { host, port } = /** @type {Address} */ (prometheus);
  const state = new PrometheusState(info, instance?.instances);
  const labels = labelsOf(instance);
  const server = createServer((request, response) => {
    /** @param {number} status @param {string} text @param {string} [version] */
    const answer = (status, text, version = '') =>
      response.writeHead(status, { 'content-type': `text/plain${version}; charset=utf-8` }).end(text);
    if (!isOwnHost(request, host)) answer(403, `${foreignHost('prometheus')}\n`);
    else if (request.url?.split('?')[0] !== '/metrics') answer(404, 'the metrics are at /metrics\n');
    else if (!['GET', 'HEAD'].includes(request.method ?? '')) answer(405, 'the metrics are read with GET\n');
    else answer(200, pageOf(state, labels), '; version=0.0.4');
  });
  return {
    open: () => listen(server, { host, port }, { option: 'prometheus', path: '/metrics', quiet, stream }),
    begin: ({ startedAtMs }) => {
      state.startedAtMs = startedAtMs;
    },
    interval: (row, totals) => state.add(row, totals),
    close: async () => {
      server.closeAllConnections();
      if (server.listening) await new Promise((resolve) => server.close(resolve));
    },
  };
}

/**
 * Labels of every series of an instance. Prometheus sets `instance` and `job` itself.
 * @param {OutputOptions['instance']} [instance]
 * @returns {Record<string, string>}
 */
export function labelsOf(instance) {
  const { runId = null, index = null } = instance ?? {};
  return { ...(runId !== null && { run_id: runId }), ...(index !== null && { index: `${index}` }) };
}

/**
 * The page in the text format of Prometheus.
 * @param {PrometheusState} state
 * @param {Record<string, string>} common labels of every series
 */
function pageOf(state, common) {
  const families = FAMILIES.map(({ name, type, help, values }) => {
    const series = values(state).map(({ metricName = name, labels, value }) => {
      return `${metricName}${labelsText({ ...labels, ...common })} ${value}\n`;
    });
    return `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n${series.join('')}`;
  });
  return families.join('\n');
}

/** @param {Labels} labels */
function labelsText(labels) {
  const escaped = (/** @type {string | number} */ value) =>
    String(value).replace(/["\\]/g, '\\$&').replaceAll('\n', '\\n');
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${escaped(value)}"`);
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`;
}
