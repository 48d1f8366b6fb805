import { STAGES, countedWords } from '../stats/sample.js';
import { MIN_INTERVAL_MS, megabytes, ms, perSecond, share } from './charts.js';

/**
 * @import { IntervalRow, Stage } from '../types.d.ts'
 * @import { Chart } from './charts.js'
 */

/**
 * The charts over the time of a run, for run files and for the live page: which series they have, and how each is read
 * from an interval.
 *
 * @typedef {IntervalRow & {buckets?: Map<number, number>}} Row buckets: counts of its latencies, if computed before
 *
 * @typedef {(row: Row) => number | null | undefined} Read
 *
 * @typedef {'load' | 'blocks' | 'generator' | 'node'} Section
 *
 * @typedef {object} ChartPlan
 * @property {string} id
 * @property {string} title
 * @property {Chart['unit']} unit
 * @property {Section} section
 * @property {Record<string, Read>} series by label
 * @property {Chart['kind']} [kind] default: lines
 * @property {boolean} [isWide]
 * @property {string} [note]
 * @property {'loop' | 'sockets' | 'pool' | 'node'} [probe] its source
 * @property {boolean} [isOptional] left out if it has no values
 *
 * @typedef {{isOpenLoop: boolean, isPlain: boolean, isApart: boolean, failureCodes: string[]}} RunKind isPlain: plain
 *   calls; isApart: effects are read at another endpoint
 */

/** @param {RunKind} kind @returns {ChartPlan[]} without the heat map */
export function chartPlans(kind) {
  return [...loadPlans(kind), ...(kind.isPlain ? [] : BLOCKS), ...GENERATOR, ...NODE];
}

/** Run files count these apart from the failures by code. */
export const TIMED_OUT = 'timed_out';

/** @type {Record<Stage, string>} */
export const STAGE_WORDS = {
  queued: 'queued',
  submit: 'submit',
  inclusion: 'inclusion',
  visibility: 'visibility',
  readBack: 'read-back',
};

/** @param {RunKind} kind @returns {ChartPlan[]} */
function loadPlans({ isOpenLoop, isPlain, isApart, failureCodes }) {
  const words = countedWords(isPlain);
  const stages = STAGES.filter((stage) => stage !== 'visibility' || isApart);
  /** @type {Record<string, Read>} */
  const tps = { [words.verified]: (row) => ratePerSecond(row, row.counts.verified) };
  if (isOpenLoop) tps['asked for'] = (row) => ratePerSecond(row, row.counts.scheduled);
  /** @type {ChartPlan} */
  const lag = {
    id: 'lag',
    title: 'Begun later than due',
    unit: 'ms',
    section: 'load',
    series: { p50: (row) => ms(row.lag.p50Us), p99: (row) => ms(row.lag.p99Us) },
  };
  return [
    {
      id: 'tps',
      title: isPlain ? 'Calls per second' : 'Operations per second',
      unit: 'perSecond',
      section: 'load',
      isWide: true,
      series: tps,
    },
    {
      id: 'latency',
      title: 'Latency',
      unit: 'ms',
      section: 'load',
      isWide: true,
      note: `Of the ${words.many} that were ${words.verified} in each interval; those without a good answer are among the failures.`,
      series: {
        p50: ({ latency }) => ms(latency.p50Us),
        p90: ({ latency }) => ms(latency.p90Us),
        p99: ({ latency }) => ms(latency.p99Us),
        slowest: ({ latency }) => ms(latency.maxUs),
      },
    },
    {
      id: 'stages',
      title: 'Latency by stage, on average',
      kind: 'stacked',
      unit: 'ms',
      section: 'load',
      isOptional: true,
      isWide: true,
      series: Object.fromEntries(stages.map((stage) => [STAGE_WORDS[stage], (row) => meanMs(row.stages?.[stage])])),
    },
    {
      id: 'failures',
      title: 'Failures',
      kind: 'stacked',
      unit: 'count',
      section: 'load',
      isOptional: true,
      note: 'Operations that failed or timed out in each interval, by code.',
      series: Object.fromEntries(
        failureCodes.map((code) => [
          code,
          ({ failures, counts }) => (code === TIMED_OUT ? counts.timedOut : (failures[code] ?? 0)),
        ]),
      ),
    },
    {
      id: 'flight',
      title: 'Operations in flight',
      unit: 'count',
      section: 'load',
      series: { 'at the end of the interval': ({ inFlight }) => inFlight },
    },
    ...(isOpenLoop ? [lag] : []),
  ];
}

/** In the drain nothing is due. @param {Row} row @param {number} amount */
function ratePerSecond(row, amount) {
  return row.phase === 'drain' ? null : perSecond(row, amount);
}

/** @param {{count: number, sumUs: number} | undefined} stage */
function meanMs(stage) {
  return stage === undefined || stage.count === 0 ? null : stage.sumUs / stage.count / 1000;
}

/** @type {ChartPlan[]} */
const BLOCKS = [
  {
    id: 'blocks',
    title: 'Transactions in blocks',
    kind: 'stacked',
    unit: 'perSecond',
    section: 'blocks',
    series: {
      ours: (row) => perSecond(row, row.blocks.ours),
      "others'": (row) => perSecond(row, Math.max(0, row.blocks.transactions - row.blocks.ours)),
    },
  },
  {
    id: 'gas',
    title: 'Gas used of the block gas limit',
    unit: 'percent',
    section: 'blocks',
    series: {
      used: ({ blocks: { count, gasUsed, gasLimit } }) =>
        count === 0 || !gasLimit ? null : (100 * gasUsed) / (count * gasLimit),
    },
  },
  {
    id: 'block-rate',
    title: 'Blocks',
    unit: 'perSecond',
    section: 'blocks',
    series: { seen: (row) => perSecond(row, row.blocks.count) },
  },
];

/** @type {ChartPlan[]} */
const GENERATOR = [
  {
    id: 'cpu',
    title: 'Time of this process',
    unit: 'percent',
    section: 'generator',
    series: {
      'CPU, of one core': (row) => share(row, row.probes.self.cpuUs),
      'event loop busy': ({ startMs, endMs, probes: { loop } }) =>
        loop === null || endMs - startMs < MIN_INTERVAL_MS ? null : 100 * loop.utilization,
      'collecting garbage': (row) => share(row, row.probes.loop?.gcUs),
    },
  },
  {
    id: 'delay',
    title: 'Event loop: timers late by',
    unit: 'ms',
    section: 'generator',
    probe: 'loop',
    series: {
      'on average': ({ probes }) => ms(probes.loop?.delayMeanUs),
      p99: ({ probes }) => ms(probes.loop?.delayP99Us),
      most: ({ probes }) => ms(probes.loop?.delayMaxUs),
    },
  },
  {
    id: 'memory',
    title: 'Resident memory',
    unit: 'megabytes',
    section: 'generator',
    series: { 'this process': ({ probes }) => megabytes(probes.self.rssBytes) },
  },
  {
    id: 'sockets',
    title: 'Sockets of this machine',
    unit: 'count',
    section: 'generator',
    probe: 'sockets',
    series: {
      'in TIME_WAIT': ({ probes }) => probes.sockets?.timeWait,
      'local ports in use towards the endpoint': ({ probes: { sockets } }) =>
        sockets === null || sockets.endpoints.length === 0
          ? null
          : Math.max(...sockets.endpoints.map((endpoint) => endpoint.portsInUse)),
    },
  },
  {
    id: 'connections',
    title: 'Connections opened',
    unit: 'perSecond',
    section: 'generator',
    series: { opened: (row) => perSecond(row, row.probes.connections.opened) },
  },
];

/** @type {ChartPlan[]} */
const NODE = [
  {
    id: 'pool',
    title: "The node's pool",
    kind: 'stacked',
    unit: 'count',
    section: 'node',
    probe: 'pool',
    series: {
      pending: ({ probes }) => probes.pool?.pending,
      'queued, behind a missing nonce': ({ probes }) => probes.pool?.queued,
    },
  },
  {
    id: 'node-cpu',
    title: "The node's CPU, of one core",
    unit: 'percent',
    section: 'node',
    probe: 'node',
    series: { CPU: (row) => share(row, row.probes.node?.cpuUs) },
  },
  {
    id: 'node-memory',
    title: "The node's resident memory",
    unit: 'megabytes',
    section: 'node',
    probe: 'node',
    series: { resident: ({ probes }) => megabytes(probes.node?.rssBytes) },
  },
];
