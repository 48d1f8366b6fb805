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

/**
 * @param {Section} section
 * @param {string} id
 * @param {string} title
 * @param {Chart['unit']} unit
 * @param {Record<string, Read>} series
 * @param {Partial<ChartPlan>} [how]
 * @returns {ChartPlan}
 */
function plan(section, id, title, unit, series, how) {
  return { section, id, title, unit, series, ...how };
}

/** @param {RunKind} kind @returns {ChartPlan[]} */
function loadPlans({ isOpenLoop, isPlain, isApart, failureCodes }) {
  const words = countedWords(isPlain);
  const stages = STAGES.filter((stage) => stage !== 'visibility' || isApart);
  /** @type {Record<string, Read>} */
  const tps = { [words.verified]: (row) => ratePerSecond(row, row.counts.verified) };
  if (isOpenLoop) tps['asked for'] = (row) => ratePerSecond(row, row.counts.scheduled);
  /** @type {Record<string, Read>} */
  const latency = {
    p50: (row) => ms(row.latency.p50Us),
    p90: (row) => ms(row.latency.p90Us),
    p99: (row) => ms(row.latency.p99Us),
    slowest: (row) => ms(row.latency.maxUs),
  };
  /** @type {Record<string, Read>} */
  const byStage = Object.fromEntries(stages.map((stage) => [STAGE_WORDS[stage], (row) => meanMs(row.stages?.[stage])]));
  /** @type {Record<string, Read>} */
  const failures = Object.fromEntries(
    failureCodes.map((code) => [code, (row) => (code === TIMED_OUT ? row.counts.timedOut : (row.failures[code] ?? 0))]),
  );
  /** @type {Record<string, Read>} */
  const lag = { p50: (row) => ms(row.lag.p50Us), p99: (row) => ms(row.lag.p99Us) };
  return [
    plan('load', 'tps', isPlain ? 'Calls per second' : 'Operations per second', 'perSecond', tps, { isWide: true }),
    plan('load', 'latency', 'Latency', 'ms', latency, {
      isWide: true,
      note: `Of the ${words.many} that were ${words.verified} in each interval; those without a good answer are among the failures.`,
    }),
    plan('load', 'stages', 'Latency by stage, on average', 'ms', byStage, {
      kind: 'stacked',
      isOptional: true,
      isWide: true,
    }),
    plan('load', 'failures', 'Failures', 'count', failures, {
      kind: 'stacked',
      isOptional: true,
      note: 'Operations that failed or timed out in each interval, by code.',
    }),
    plan('load', 'flight', 'Operations in flight', 'count', {
      'at the end of the interval': (row) => row.inFlight,
    }),
    ...(isOpenLoop ? [plan('load', 'lag', 'Begun later than due', 'ms', lag)] : []),
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

const BLOCKS = [
  plan(
    'blocks',
    'blocks',
    'Transactions in blocks',
    'perSecond',
    {
      ours: (row) => perSecond(row, row.blocks.ours),
      "others'": (row) => perSecond(row, Math.max(0, row.blocks.transactions - row.blocks.ours)),
    },
    { kind: 'stacked' },
  ),
  plan('blocks', 'gas', 'Gas used of the block gas limit', 'percent', {
    used: ({ blocks: { count, gasUsed, gasLimit } }) =>
      count === 0 || !gasLimit ? null : (100 * gasUsed) / (count * gasLimit),
  }),
  plan('blocks', 'block-rate', 'Blocks', 'perSecond', { seen: (row) => perSecond(row, row.blocks.count) }),
];

/** @type {Record<string, Read>} */
const LOOP_DELAYS = {
  'on average': ({ probes }) => ms(probes.loop?.delayMeanUs),
  p99: ({ probes }) => ms(probes.loop?.delayP99Us),
  most: ({ probes }) => ms(probes.loop?.delayMaxUs),
};

/** @type {Record<string, Read>} */
const SOCKETS = {
  'in TIME_WAIT': ({ probes }) => probes.sockets?.timeWait,
  'local ports in use towards the endpoint': ({ probes: { sockets } }) =>
    sockets === null || sockets.endpoints.length === 0
      ? null
      : Math.max(...sockets.endpoints.map((endpoint) => endpoint.portsInUse)),
};

const GENERATOR = [
  plan('generator', 'cpu', 'Time of this process', 'percent', {
    'CPU, of one core': (row) => share(row, row.probes.self.cpuUs),
    'event loop busy': ({ startMs, endMs, probes: { loop } }) =>
      loop === null || endMs - startMs < MIN_INTERVAL_MS ? null : 100 * loop.utilization,
    'collecting garbage': (row) => share(row, row.probes.loop?.gcUs),
  }),
  plan('generator', 'delay', 'Event loop: timers late by', 'ms', LOOP_DELAYS, { probe: 'loop' }),
  plan('generator', 'memory', 'Resident memory', 'megabytes', {
    'this process': ({ probes }) => megabytes(probes.self.rssBytes),
  }),
  plan('generator', 'sockets', 'Sockets of this machine', 'count', SOCKETS, { probe: 'sockets' }),
  plan('generator', 'connections', 'Connections opened', 'perSecond', {
    opened: (row) => perSecond(row, row.probes.connections.opened),
  }),
];

/** @type {Record<string, Read>} */
const POOL = {
  pending: ({ probes }) => probes.pool?.pending,
  'queued, behind a missing nonce': ({ probes }) => probes.pool?.queued,
};
/** @type {Record<string, Read>} */
const NODE_CPU = { CPU: (row) => share(row, row.probes.node?.cpuUs) };
/** @type {Record<string, Read>} */
const NODE_MEMORY = { resident: ({ probes }) => megabytes(probes.node?.rssBytes) };

const NODE = [
  plan('node', 'pool', "The node's pool", 'count', POOL, { kind: 'stacked', probe: 'pool' }),
  plan('node', 'node-cpu', "The node's CPU, of one core", 'percent', NODE_CPU, { probe: 'node' }),
  plan('node', 'node-memory', "The node's resident memory", 'megabytes', NODE_MEMORY, { probe: 'node' }),
];
