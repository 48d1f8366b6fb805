import { STAGES, countedWords } from '../stats/sample.js';
import { DASHED, DASH_DOTTED, DOTTED, MIN_INTERVAL_MS, megabytes, ms, perSecond, share } from './charts.js';

/**
 * @import { IntervalRow, Stage } from '../types.d.ts'
 * @import { Chart } from './charts.js'
 */

/**
 * The charts over the time of a run, for run files and for the live page: which series they have, and how each is read
 * from an interval.
 */

/** @returns {ChartPlan[]} */
function generatorPlans() {
  return [
    {
      id: 'cpu',
      title: 'Time of this process',
      kind: 'lines',
      unit: 'percent',
      section: 'generator',
      series: [
        { label: 'CPU, of one core', color: 0, of: (row) => share(row, row.probes.self.cpuUs) },
        {
          label: 'event loop busy',
          color: 1,
          dash: DASHED,
          of: busyPercent,
        },
        { label: 'collecting garbage', color: 2, dash: DOTTED, of: (row) => share(row, row.probes.loop?.gcUs) },
      ],
    },
    {
      id: 'delay',
      title: 'Event loop: timers late by',
      kind: 'lines',
      unit: 'ms',
      section: 'generator',
      probe: 'loop',
      series: [
        { label: 'on average', color: 2, of: ({ probes }) => ms(probes.loop?.delayMeanUs) },
        { label: 'p99', color: 1, dash: DASH_DOTTED, of: ({ probes }) => ms(probes.loop?.delayP99Us) },
        { label: 'most', color: 4, dash: DOTTED, of: ({ probes }) => ms(probes.loop?.delayMaxUs) },
      ],
    },
    {
      id: 'memory',
      title: 'Resident memory',
      kind: 'lines',
      unit: 'megabytes',
      section: 'generator',
      series: [{ label: 'this process', color: 0, of: ({ probes }) => megabytes(probes.self.rssBytes) }],
    },
    {
      id: 'sockets',
      title: 'Sockets of this machine',
      kind: 'lines',
      unit: 'count',
      section: 'generator',
      probe: 'sockets',
      series: [
        { label: 'in TIME_WAIT', color: 1, of: ({ probes }) => probes.sockets?.timeWait },
        { label: 'local ports in use towards the endpoint', color: 0, dash: DASHED, of: portsInUse },
      ],
    },
    {
      id: 'connections',
      title: 'Connections opened',
      kind: 'lines',
      unit: 'perSecond',
      section: 'generator',
      series: [{ label: 'opened', color: 0, of: (row) => perSecond(row, row.probes.connections.opened) }],
    },
  ];
}

/** @param {Row} row */
function busyPercent({ startMs, endMs, probes: { loop } }) {
  return loop === null || endMs - startMs < MIN_INTERVAL_MS ? null : 100 * loop.utilization;
}

/** @param {Row} row */
function portsInUse({ probes: { sockets } }) {
  return sockets === null || sockets.endpoints.length === 0
    ? null
    : Math.max(...sockets.endpoints.map((endpoint) => endpoint.portsInUse));
}

/** @returns {ChartPlan[]} */
function nodePlans() {
  return [
    {
      id: 'pool',
      title: "The node's pool",
      kind: 'stacked',
      unit: 'count',
      section: 'node',
      probe: 'pool',
      series: [
        { label: 'pending', color: 0, of: ({ probes }) => probes.pool?.pending },
        { label: 'queued, behind a missing nonce', color: 1, dash: DASHED, of: ({ probes }) => probes.pool?.queued },
      ],
    },
    {
      id: 'node-cpu',
      title: "The node's CPU, of one core",
      kind: 'lines',
      unit: 'percent',
      section: 'node',
      probe: 'node',
      series: [{ label: 'CPU', color: 0, of: (row) => share(row, row.probes.node?.cpuUs) }],
    },
    {
      id: 'node-memory',
      title: "The node's resident memory",
      kind: 'lines',
      unit: 'megabytes',
      section: 'node',
      probe: 'node',
      series: [{ label: 'resident', color: 2, of: ({ probes }) => megabytes(probes.node?.rssBytes) }],
    },
  ];
}

/**
 * @typedef {IntervalRow & {buckets?: Map<number, number>}} Row buckets: counts of its latencies, if computed before
 *
 * @typedef {object} SeriesPlan
 * @property {string} label
 * @property {number} color
 * @property {number[]} [dash]
 * @property {(row: Row) => number | null | undefined} of
 *
 * @typedef {Pick<Chart, 'id' | 'title' | 'kind' | 'unit'> & {section: Section, series: SeriesPlan[],
 *   isWide?: boolean, note?: string, ceiling?: number, probe?: 'loop' | 'sockets' | 'pool' | 'node', isOptional?: boolean}} ChartPlan
 *   probe: its source; isOptional: left out if it has no values
 *
 * @typedef {'load' | 'blocks' | 'generator' | 'node'} Section
 *
 * @typedef {{isOpenLoop: boolean, isPlain: boolean, isApart: boolean, failureCodes: string[]}} RunKind isPlain: plain
 *   calls; isApart: effects are read at another endpoint
 */

/** @param {RunKind} kind @returns {ChartPlan[]} without the heat map */
export function chartPlans(kind) {
  return [...loadPlans(kind), ...blockPlans(kind), ...generatorPlans(), ...nodePlans()];
}

/** @param {RunKind} kind @returns {ChartPlan[]} */
function loadPlans({ isOpenLoop, isPlain, isApart, failureCodes }) {
  const words = countedWords(isPlain);
  return [
    {
      id: 'tps',
      title: isPlain ? 'Calls per second' : 'Operations per second',
      kind: 'lines',
      unit: 'perSecond',
      section: 'load',
      isWide: true,
      series: [
        {
          label: words.verified,
          color: 0,
          of: (row) => (row.phase === 'drain' ? null : perSecond(row, row.counts.verified)),
        },
        ...(isOpenLoop ? [askedSeries()] : []),
      ],
    },
    {
      id: 'latency',
      title: 'Latency',
      kind: 'lines',
      unit: 'ms',
      section: 'load',
      isWide: true,
      note: `Of the ${words.many} that were ${words.verified} in each interval; those without a good answer are among the failures.`,
      series: [
        { label: 'p50', color: 2, of: ({ latency }) => ms(latency.p50Us) },
        { label: 'p90', color: 0, dash: DASHED, of: ({ latency }) => ms(latency.p90Us) },
        { label: 'p99', color: 1, dash: DASH_DOTTED, of: ({ latency }) => ms(latency.p99Us) },
        { label: 'slowest', color: 4, dash: DOTTED, of: ({ latency }) => ms(latency.maxUs) },
      ],
    },
    stagesPlan(isApart),
    {
      id: 'failures',
      title: 'Failures',
      kind: 'stacked',
      unit: 'count',
      section: 'load',
      isOptional: true,
      note: 'Operations that failed or timed out in each interval, by code.',
      series: failureCodes.map((code, i) => ({
        label: code,
        color: (i + 1) % 6,
        dash: [[], DASHED, DOTTED, DASH_DOTTED][i % 4],
        of: ({ failures, counts }) => (code === TIMED_OUT ? counts.timedOut : (failures[code] ?? 0)),
      })),
    },
    {
      id: 'flight',
      title: 'Operations in flight',
      kind: 'lines',
      unit: 'count',
      section: 'load',
      series: [{ label: 'at the end of the interval', color: 0, of: ({ inFlight }) => inFlight }],
    },
    ...(isOpenLoop ? [lagPlan()] : []),
  ];
}

/** @param {boolean} isApart whether effects are read at another endpoint @returns {ChartPlan} */
function stagesPlan(isApart) {
  return {
    id: 'stages',
    title: 'Latency by stage, on average',
    kind: 'stacked',
    unit: 'ms',
    section: 'load',
    isOptional: true,
    isWide: true,
    series: STAGES.filter((stage) => stage !== 'visibility' || isApart).map((stage, color) => ({
      label: STAGE_WORDS[stage],
      color,
      of: (row) => meanMs(row.stages?.[stage]),
    })),
  };
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

/** @param {{count: number, sumUs: number} | undefined} stage */
function meanMs(stage) {
  return stage === undefined || stage.count === 0 ? null : stage.sumUs / stage.count / 1000;
}

/** @returns {SeriesPlan} */
function askedSeries() {
  return {
    label: 'asked for',
    color: 1,
    dash: DASHED,
    of: (row) => (row.phase === 'drain' ? null : perSecond(row, row.counts.scheduled)),
  };
}

/** @returns {ChartPlan} */
function lagPlan() {
  return {
    id: 'lag',
    title: 'Begun later than due',
    kind: 'lines',
    unit: 'ms',
    section: 'load',
    series: [
      { label: 'p50', color: 2, of: ({ lag }) => ms(lag.p50Us) },
      { label: 'p99', color: 1, dash: DASH_DOTTED, of: ({ lag }) => ms(lag.p99Us) },
    ],
  };
}

/** @param {RunKind} kind @returns {ChartPlan[]} */
function blockPlans({ isPlain }) {
  if (isPlain) return [];
  return [
    {
      id: 'blocks',
      title: 'Transactions in blocks',
      kind: 'stacked',
      unit: 'perSecond',
      section: 'blocks',
      series: [
        { label: 'ours', color: 0, of: (row) => perSecond(row, row.blocks.ours) },
        {
          label: "others'",
          color: 1,
          dash: DASHED,
          of: (row) => perSecond(row, Math.max(0, row.blocks.transactions - row.blocks.ours)),
        },
      ],
    },
    {
      id: 'gas',
      title: 'Gas used of the block gas limit',
      kind: 'lines',
      unit: 'percent',
      section: 'blocks',
      series: [{ label: 'used', color: 2, of: gasPercent }],
    },
    {
      id: 'block-rate',
      title: 'Blocks',
      kind: 'lines',
      unit: 'perSecond',
      section: 'blocks',
      series: [{ label: 'seen', color: 0, of: (row) => perSecond(row, row.blocks.count) }],
    },
  ];
}

/** @param {Row} row */
function gasPercent({ blocks: { count, gasUsed, gasLimit } }) {
  return count === 0 || !gasLimit ? null : (100 * gasUsed) / (count * gasLimit);
}
