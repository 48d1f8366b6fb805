import { countedWords, STAGES } from '../metrics/sample.js';
import { generatorPlans, nodePlans } from './probe-charts.js';
import { DASHED, DASH_DOTTED, DOTTED, ms, perSecond } from './row-units.js';

/**
 * @import { IntervalRow } from '../metrics/intervals.js'
 * @import { Stage } from '../metrics/sample.js'
 * @import { Chart } from './charts.js'
 */

/**
 * The charts over the time of a run: what each of their series is of one interval. The same for a run file as for a run
 * that goes on.
 *
 * @typedef {IntervalRow & {buckets?: Map<number, number>}} Row buckets: counts of its latencies, where they were made before
 *
 * @typedef {object} SeriesPlan
 * @property {string} label
 * @property {number} color
 * @property {number[]} [dash]
 * @property {(row: Row) => number | null | undefined} of
 *
 * @typedef {Pick<Chart, 'id' | 'title' | 'kind' | 'unit'> & {section: Section, series: SeriesPlan[],
 *   isWide?: boolean, note?: string, ceiling?: number, probe?: 'loop' | 'sockets' | 'pool' | 'node', isOptional?: boolean}} ChartPlan
 *   probe: what measures it; isOptional: without anything to show it is left out, and nobody misses it
 *
 * @typedef {'load' | 'blocks' | 'generator' | 'node'} Section
 *
 * @typedef {{isOpenLoop: boolean, isPlain: boolean, isApart: boolean, failureCodes: string[]}} RunKind isPlain: calls that are in no
 *   block; isApart: effects are read at another endpoint
 */

/** @param {RunKind} kind @returns {ChartPlan[]} without the heat map, which is of another kind */
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
    {
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
    },
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

/** What the run file counts apart from the failures by code. */
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
