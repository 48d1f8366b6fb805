import { recordedValues } from '../stats/histogram.js';
import { reorgInWords } from '../stats/reorgs.js';
import { STAGES, countedWords, isPlain } from '../stats/sample.js';
import { LOOKS, MIN_INTERVAL_MS, isSkewed, megabytes, ms, perSecond, share } from './charts.js';
import { rounded } from './sections.js';

/**
 * The charts over the time of a run, of run files and of the live page: which series they have, how each is read from an
 * interval, and the data of the page, without any HTML.
 *
 * @import { IntervalRow, ReorgEvent, RunFile, Stage } from '../types.d.ts'
 * @import { Chart, TimeAxis } from './charts.js'
 *
 * @typedef {IntervalRow & {buckets?: Map<number, number>}} Row buckets: counts of its latencies, if computed before
 * @typedef {Record<string, (row: Row) => number | null | undefined>} Reads of the series by their labels
 * @typedef {'load' | 'blocks' | 'generator' | 'node'} Section
 *
 * @typedef {object} ChartPlan
 * @property {Section} section
 * @property {string} id
 * @property {string} title
 * @property {Chart['unit']} unit
 * @property {Reads} series
 * @property {Chart['kind']} [kind] default: lines
 * @property {boolean} [isWide]
 * @property {string} [note]
 * @property {'loop' | 'sockets' | 'pool' | 'node'} [probe] its source
 * @property {boolean} [isOptional] left out if it has no values
 *
 * @typedef {{plan: ChartPlan, chart: Chart} | {plan: ChartPlan, why: string}} Drawn why: it cannot be drawn
 * @typedef {{time: TimeAxis, drawn: Drawn[], heat: Chart}} RunData
 */

/** Run files count these apart from the failures by code. */
const TIMED_OUT = 'timed_out';

/** @type {Record<Stage, string>} */
export const STAGE_WORDS = {
  queued: 'queued',
  submit: 'submit',
  inclusion: 'inclusion',
  readBack: 'read-back',
};

/** @param {RunFile} run @returns {RunData} */
export function runData(run) {
  const rows = /** @type {Row[]} */ (run.intervals);
  const time = {
    from: rows.map(({ startMs }) => seconds(startMs)),
    to: rows.map(({ endMs }) => seconds(endMs)),
    phases: phasesOf(rows),
    marks: [...rows.flatMap(failureMarks), ...run.reorgs.events.map(reorgMark)],
  };
  return { time, drawn: chartsOf(run), heat: heatOf(rows) };
}

/** All charts except the heat map. @param {RunFile} run @returns {Drawn[]} */
function chartsOf(run) {
  const rows = /** @type {Row[]} */ (run.intervals);
  const plans = [...loadPlans(run), ...(isPlain(run) ? [] : BLOCKS), ...GENERATOR, ...NODE];
  return plans.flatMap((plan) => {
    const { id, title, kind = 'lines', unit } = plan;
    const series = Object.entries(plan.series).map(([label, read], i) => ({
      label,
      ...LOOKS[i % LOOKS.length],
      values: rows.map((row) => rounded(read(row))),
    }));
    const isEmpty = series.every(({ values }) => values.every((value) => value === null));
    if (isEmpty) return plan.isOptional ? [] : [/** @type {Drawn} */ ({ plan, why: whyMissing(run, plan) })];
    const isLog = id === 'latency' && isSkewed(series);
    return [{ plan, chart: { id, title, kind, unit, series, ...(isLog ? { isLog } : {}) } }];
  });
}

/** @param {Pick<RunFile, 'end'>} run */
export function noIntervals({ end }) {
  return end === 'running' ? 'no interval has ended yet' : 'the run ended before its first report';
}

/** @param {RunFile} run @param {ChartPlan} plan */
function whyMissing(run, { probe, section }) {
  if (run.intervals.length === 0) return noIntervals(run);
  const why = probe === undefined ? undefined : (run.probes?.why[probe] ?? run.intervals.at(-1)?.probes.why[probe]);
  if (why !== undefined) return why;
  if (section === 'blocks') return 'no block was seen';
  return run.counts.verified === 0 ? 'nothing was verified' : 'there was no report of it';
}

/**
 * @param {Section} section
 * @param {string} id
 * @param {string} title
 * @param {Chart['unit']} unit
 * @param {Reads} series
 * @param {Partial<ChartPlan>} [how]
 * @returns {ChartPlan}
 */
function plan(section, id, title, unit, series, how) {
  return { section, id, title, unit, series, ...how };
}

/** @param {RunFile} run @returns {ChartPlan[]} */
function loadPlans(run) {
  const { rates, config, failures, counts, intervals } = run;
  const words = countedWords(isPlain(run));
  const isOpenLoop =
    rates.askedPerSecond !== null || (config.ratePerSecond !== null && config.ratePerSecond !== undefined);
  const codes = [failures, ...intervals.map((row) => row.failures)].flatMap((one) => Object.keys(one));
  if (counts.timedOut > 0) codes.push(TIMED_OUT);
  /** In the drain nothing is due. @param {'verified' | 'scheduled'} name @returns {Reads[string]} */
  const rate = (name) => (row) => (row.phase === 'drain' ? null : perSecond(row, row.counts[name]));
  /** @type {Reads} */
  const latency = {
    p50: (row) => ms(row.latency.p50Us),
    p90: (row) => ms(row.latency.p90Us),
    p99: (row) => ms(row.latency.p99Us),
    slowest: (row) => ms(row.latency.maxUs),
  };
  /** @type {Array<[string, Reads[string]]>} */
  const byStage = STAGES.map((stage) => [STAGE_WORDS[stage], (row) => meanMs(row.stages?.[stage])]);
  /** @type {Array<[string, Reads[string]]>} */
  const byCode = codes.map((code) => [code, (row) => failuresOf(row)[code] ?? 0]);
  const tps = { [words.verified]: rate('verified'), ...(isOpenLoop ? { 'asked for': rate('scheduled') } : {}) };
  return [
    plan('load', 'tps', isPlain(run) ? 'Calls per second' : 'Operations per second', 'perSecond', tps, {
      isWide: true,
    }),
    plan('load', 'latency', 'Latency', 'ms', latency, {
      isWide: true,
      note: `Of the ${words.many} that were ${words.verified} in each interval; those without a good answer are among the failures.`,
    }),
    plan('load', 'stages', 'Latency by stage, on average', 'ms', Object.fromEntries(byStage), {
      kind: 'stacked',
      isOptional: true,
      isWide: true,
    }),
    plan('load', 'failures', 'Failures', 'count', Object.fromEntries(byCode), {
      kind: 'stacked',
      isOptional: true,
      note: 'Operations that failed or timed out in each interval, by code.',
    }),
    plan('load', 'flight', 'Operations in flight', 'count', { 'at the end of the interval': (row) => row.inFlight }),
    ...(isOpenLoop
      ? [
          plan('load', 'lag', 'Begun later than due', 'ms', {
            p50: (row) => ms(row.lag.p50Us),
            p99: (row) => ms(row.lag.p99Us),
          }),
        ]
      : []),
  ];
}

/** @param {{count: number, sumUs: number} | undefined} stage */
function meanMs(stage) {
  return stage === undefined || stage.count === 0 ? null : stage.sumUs / stage.count / 1000;
}

/** @param {Row} row @returns {Record<string, number>} */
function failuresOf({ failures, counts }) {
  return counts.timedOut > 0 ? { ...failures, [TIMED_OUT]: counts.timedOut } : failures;
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
  plan('blocks', 'gas-rate', 'Gas per second', 'megagas', {
    'all transactions': (row) => perSecond(row, row.blocks.gasUsed / 1e6),
  }),
  plan('blocks', 'gas', 'Gas used of the block gas limit', 'percent', {
    used: ({ blocks: { count, gasUsed, gasLimit } }) =>
      count === 0 || !gasLimit ? null : (100 * gasUsed) / (count * gasLimit),
  }),
  plan('blocks', 'block-rate', 'Blocks', 'perSecond', { seen: (row) => perSecond(row, row.blocks.count) }),
];

/** @type {Reads} */
const LOOP_DELAYS = {
  'on average': ({ probes }) => ms(probes.loop?.delayMeanUs),
  p99: ({ probes }) => ms(probes.loop?.delayP99Us),
  most: ({ probes }) => ms(probes.loop?.delayMaxUs),
};

/** @type {Reads} */
const SOCKETS = {
  'in TIME_WAIT': ({ probes }) => probes.sockets?.timeWait,
  'local ports in use': ({ probes: { sockets } }) =>
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

/** @type {Reads} */
const POOL = {
  pending: ({ probes }) => probes.pool?.pending,
  'queued, behind a missing nonce': ({ probes }) => probes.pool?.queued,
};
/** @type {Reads} */
const NODE_CPU = { CPU: (row) => share(row, row.probes.node?.cpuUs) };
/** @type {Reads} */
const NODE_MEMORY = { resident: ({ probes }) => megabytes(probes.node?.rssBytes) };

const NODE = [
  plan('node', 'pool', "The node's pool", 'count', POOL, { kind: 'stacked', probe: 'pool' }),
  plan('node', 'node-cpu', "The node's CPU, of one core", 'percent', NODE_CPU, { probe: 'node' }),
  plan('node', 'node-memory', "The node's resident memory", 'megabytes', NODE_MEMORY, { probe: 'node' }),
];

/** @param {number} timeMs */
function seconds(timeMs) {
  return Math.round(timeMs) / 1000;
}

/** Phases outside of the window; neighbours are joined. @param {Row[]} rows @returns {TimeAxis['phases']} */
function phasesOf(rows) {
  /** @type {TimeAxis['phases']} */
  const phases = [];
  for (const { phase, startMs, endMs } of rows) {
    const last = phases.at(-1);
    const name = phase === 'warmup' ? 'warm-up' : phase;
    if (last?.name === name) last.to = seconds(endMs);
    else phases.push({ from: seconds(startMs), to: seconds(endMs), name });
  }
  return phases.filter(({ name }) => name !== 'load');
}

/** @param {Row} row @returns {TimeAxis['marks']} */
function failureMarks(row) {
  const words = Object.entries(failuresOf(row)).map(([code, count]) => `${count} ${code}`);
  const at = seconds((row.startMs + row.endMs) / 2);
  return words.length === 0 ? [] : [{ at, kind: 'failure', words: words.join(', ') }];
}

/** @param {ReorgEvent} event @returns {TimeAxis['marks'][number]} */
function reorgMark(event) {
  return { at: seconds(event.atMs), kind: 'reorg', words: reorgInWords(event) };
}

/** Buckets per factor of ten, halved while there are more than MAX_ROWS rows or MAX_CELLS cells. */
const PER_DECADE = 64;

/** With more, a row of the picture is too low to be seen. */
const MAX_ROWS = 40;
const MAX_CELLS = 60_000;

/** @param {Row[]} rows @returns {Chart} */
function heatOf(rows) {
  let columns = rows.map(bucketsOf);
  let perDecade = PER_DECADE;
  const ends = () =>
    columns
      .flatMap((counts) => [...counts.keys()])
      .reduce(([low, high], bucket) => [Math.min(low, bucket), Math.max(high, bucket)], [Infinity, -Infinity]);
  const isTooFine = () => {
    const [first, last] = ends();
    return last - first >= MAX_ROWS || columns.reduce((sum, { size }) => sum + size, 0) > MAX_CELLS;
  };
  while (perDecade > 1 && isTooFine()) {
    columns = columns.map((counts) => summed([...counts].map(([bucket, count]) => [Math.floor(bucket / 2), count])));
    perDecade /= 2;
  }
  const [first, last] = ends();
  const bounds = last < first ? { first: 3 * perDecade, last: 6 * perDecade } : { first, last };
  return {
    id: 'heat',
    title: 'Every operation by its latency',
    kind: 'heat',
    unit: 'count',
    series: [],
    heat: { perDecade, ...bounds, columns: columns.map(deltasOf) },
  };
}

/** @param {Array<[bucket: number, count: number]>} counts @returns {Map<number, number>} */
function summed(counts) {
  const sums = new Map();
  for (const [bucket, count] of counts) sums.set(bucket, (sums.get(bucket) ?? 0) + count);
  return sums;
}

/** Differences of bucket numbers are shorter in JSON. @param {Map<number, number>} counts */
function deltasOf(counts) {
  let before = 0;
  return [...counts].flatMap(([bucket, count]) => {
    const delta = bucket - before;
    before = bucket;
    return [delta, count];
  });
}

/** @param {Row} row @returns {Map<number, number>} */
export function bucketsOf({ latency, buckets }) {
  if (buckets !== undefined) return buckets;
  const bucketOf = (/** @type {number} */ us) => Math.floor(PER_DECADE * Math.log10(Math.max(1, us)));
  return summed(recordedValues(latency).map(({ valueUs, count }) => [bucketOf(valueUs), count]));
}
