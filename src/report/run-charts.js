import { boundedMs } from '../outputs/format.js';
import { STAGES, censoredOf, fullnessOf, statesGas } from '../stats/figures.js';
import { recordedValues } from '../stats/histogram.js';
import { countedWords, isPlain } from '../stats/sample.js';
import { Series } from '../stats/throughput.js';
import { IN_WINDOW, LOGARITHMIC, LOOKS, isSkewed, middle, rounded, sentence } from './charts.js';
import { quantity } from '../text.js';

/**
 * The charts over the time of a run, of run files and of the live page: which series they have, how each is read from an
 * interval, and the data of the page, without any HTML.
 *
 * @import { BlockRates, EndpointFacts, IntervalRow, RunFile, Series as SeriesJson } from '../contracts/run-file.d.ts'
 * @import { Chart, TimeAxis } from './charts.js'
 *
 * @typedef {IntervalRow & {buckets?: Map<number, number>}} Row buckets: counts of its latencies, if computed before
 * @typedef {Record<string, (row: Row) => number | null | undefined>} Reads of the series by their labels
 *
 * @typedef {object} ChartPlan
 * @property {string} id
 * @property {string} title
 * @property {string} unit
 * @property {Reads} series
 * @property {Chart['kind']} [kind] default: lines
 * @property {string} [note]
 * @property {readonly string[]} [caption] series that the sentence is about; default: all
 * @property {'loop' | 'sockets' | 'pool' | 'node'} [probe] its source
 * @property {Chart['panel']} [panel]
 * @property {boolean} [isOptional] left out if it has no values
 * @property {boolean} [isOfLevels] each value is level over its interval
 * @property {boolean} [isOfSeries] drawn by the points of the throughput, where they are closer than the intervals
 *
 * @typedef {{time: TimeAxis, charts: Record<'answer' | 'load' | 'blocks' | 'generator' | 'node', Chart[]>}} RunData by section of the page
 */

/** Charts that are logarithmic if their lines differ by factors. */
const LATENCIES = ['latency', 'over-time'];

/** Run files count these apart from the failures by code. */
const TIMED_OUT = 'timed_out';

/** @param {RunFile} run @returns {RunData} */
export function runData(run) {
  const rows = /** @type {Row[]} */ (run.intervals);
  const time = timeOf(rows, marksOf(run));
  const without = run.counts.verified === 0 ? 'nothing was verified' : 'there was no report of it';
  const of = (/** @type {ChartPlan[]} */ plans, why = without) => plans.flatMap((plan) => chartOf(run, plan, why));
  const [tps, latency, ...others] = of(loadPlans(run));
  return {
    time,
    charts: {
      answer: [tps, latency],
      load: [heatOf(run), ...others],
      blocks: isPlain(run) ? [] : of(BLOCKS, 'no block was seen'),
      generator: of(GENERATOR),
      node: of(NODE),
    },
  };
}

/** @param {RunFile} run @param {ChartPlan} plan @param {string} without why it has no values, if nothing else is known @returns {Chart[]} one, or none */
function chartOf(run, plan, without) {
  const { id, title, kind = 'lines', unit, note, panel, isOptional, isOfLevels, isOfSeries } = plan;
  const { caption = Object.keys(plan.series) } = plan;
  const points = isOfSeries ? pointsOf(run) : [];
  const rows = points.length > 0 ? points : /** @type {Row[]} */ (run.intervals);
  const time = points.length > 0 ? { time: timeOf(points, marksOf(run)) } : {};
  const series = Object.entries(plan.series).map(([label, read], i) => ({
    label,
    ...LOOKS[i % LOOKS.length],
    values: rows.map((row) => rounded(read(row))),
  }));
  const isEmpty = series.every(({ values }) => values.every((value) => value === null));
  if (isEmpty && isOptional) return [];
  const isLog = LATENCIES.includes(id) && isSkewed(series);
  const chart = { id, title, kind, unit, note, panel, isLog, isOfLevels, series, ...time };
  const said = { ...chart, series: series.filter(({ label }) => caption.includes(label)) };
  return [{ ...chart, summary: summaryOf(rows, said), why: isEmpty ? (whyMissing(run, plan) ?? without) : undefined }];
}

/** One sentence on the values in the window. @param {Row[]} rows @param {Pick<Chart, 'series' | 'unit' | 'isLog' | 'panel'>} chart */
function summaryOf(rows, { series, unit, isLog, panel }) {
  const isInWindow = rows.map(({ phase }) => phase === 'load');
  const hasWindow = isInWindow.includes(true);
  // The sentence of panels is about all of them.
  const isOne = series.length === 1 && panel === undefined;
  const isPart = hasWindow && series.some(({ values }) => values.some((value, i) => value !== null && !isInWindow[i]));
  const parts = series.map(({ label, values }) => {
    const inWindow = values.filter((_, i) => !hasWindow || isInWindow[i]);
    return isOne ? middle(inWindow, unit) : `${label}: ${middle(inWindow, unit)}`;
  });
  // Labels stay as they are in the legend: some are codes.
  const words = isOne && !isPart ? sentence(parts[0]) : `${parts.join('; ')}.`;
  const all = isPart ? `${IN_WINDOW}${words}` : words;
  return isLog ? `${all}${LOGARITHMIC}` : all;
}

/** Reorgs, outages and restarts. @param {RunFile} run @returns {TimeAxis['marks']} */
function marksOf({ reorgs, generator }) {
  const endpoints = /** @type {EndpointFacts[]} */ (generator.endpoints ?? []);
  const events = endpoints.flatMap(({ events: all = [] }) => all);
  // With one endpoint only its outages are known.
  const outages = events.length > 0 ? [] : (generator.outages ?? []);
  const marks = [
    ...reorgs.events.map(({ atMs }) => ({ at: seconds(atMs), name: 'reorg' })),
    ...events.map(({ atMs, isBack }) => ({ at: seconds(atMs), name: isBack ? 'back' : 'down' })),
    ...outages.map(({ fromMs }) => ({ at: seconds(fromMs), name: 'down' })),
    ...outages.flatMap(({ toMs }) => (toMs === undefined ? [] : { at: seconds(toMs), name: 'back' })),
  ];
  return marks.sort((a, b) => a.at - b.at);
}

/** @param {Row[]} rows @param {TimeAxis['marks']} marks @returns {TimeAxis} */
function timeOf(rows, marks) {
  return {
    from: rows.map(({ startMs }) => seconds(startMs)),
    to: rows.map(({ endMs }) => seconds(endMs)),
    phases: phasesOf(rows),
    marks,
  };
}

/** The points of the throughput, as parts of the intervals. @param {RunFile} run @returns {Row[]} none where intervals are as close */
function pointsOf({ intervals, series: known }) {
  const series = known && toEnd(known, intervals);
  if (series === undefined || series.verified.length <= intervals.length) return [];
  let i = 0;
  const points = Series.from(series)
    .points()
    .flatMap(({ fromMs, toMs, ...amounts }) => {
      while (i < intervals.length && intervals[i].endMs <= (fromMs + toMs) / 2) i += 1;
      if (fromMs < 0 || i >= intervals.length || intervals[i].phase === 'drain') return [];
      const { counts, perSecond: rates, ...row } = intervals[i];
      const lengthMs = toMs - fromMs;
      const scheduled = (counts.scheduled * lengthMs) / Math.max(1, row.endMs - row.startMs);
      return {
        ...row,
        startMs: fromMs,
        endMs: toMs,
        counts: { ...counts, scheduled },
        // The next block may have more of it.
        tps: row.tps === null ? null : (1000 * amounts.verified) / lengthMs,
        ...(rates && { perSecond: { ...rates, gas: (1000 * amounts.gas) / lengthMs } }),
      };
    });
  // All charts end at the same time, so that they are zoomed together.
  const lastMs = points.at(-1)?.endMs ?? 0;
  const drain = intervals.filter(({ phase, endMs }) => phase === 'drain' && endMs > lastMs);
  return [...points, ...drain.map((row) => ({ ...row, startMs: Math.max(row.startMs, lastMs) }))];
}

/** A series ends with its last operation; until the last known rate of the load there was none. @param {SeriesJson} series @param {IntervalRow[]} intervals @returns {SeriesJson} */
function toEnd({ startMs, stepMs, verified, gas = [] }, intervals) {
  const endMs = intervals.findLast(({ phase, tps }) => phase !== 'drain' && tps !== null)?.endMs ?? 0;
  const length = Math.max(verified.length, Math.floor((endMs - startMs) / stepMs));
  const [all, allGas] = [verified, gas].map((values) => Array.from({ length }, (_, at) => values[at] ?? 0));
  return { startMs, stepMs, verified: all, gas: allGas };
}

/** @param {Pick<RunFile, 'end'>} run */
export function noIntervals({ end }) {
  return end === 'running' ? 'no interval has ended yet' : 'the run ended before its first report';
}

/** @param {RunFile} run @param {ChartPlan} plan */
function whyMissing(run, { probe }) {
  if (run.intervals.length === 0) return noIntervals(run);
  return probe && (run.probes?.why[probe] ?? run.intervals.at(-1)?.probes.why[probe]);
}

/**
 * @param {string} id
 * @param {string} title
 * @param {string} unit
 * @param {Reads} series
 * @param {Partial<ChartPlan>} [how]
 * @returns {ChartPlan}
 */
function plan(id, title, unit, series, how) {
  return { id, title, unit, series, ...how };
}

/** In the drain nothing is due, and the few operations that end in it are no trend. @param {Reads[string]} read @returns {Reads[string]} */
function beforeDrain(read) {
  return (row) => (row.phase === 'drain' ? null : read(row));
}

/** @param {RunFile} run @returns {ChartPlan[]} */
function loadPlans(run) {
  const { rates, config, failures, counts, intervals } = run;
  const words = countedWords(isPlain(run));
  const isOpenLoop =
    rates.askedPerSecond !== null || (config.ratePerSecond !== null && config.ratePerSecond !== undefined);
  const codes = [failures, ...intervals.map((row) => row.failures)].flatMap((one) => Object.keys(one));
  if (counts.timedOut > 0) codes.push(TIMED_OUT);
  /** @type {Reads} */
  const percentiles = {
    p50: (row) => ms(row.latency.p50Us),
    p90: (row) => ms(row.latency.p90Us),
    p99: (row) => ms(row.latency.p99Us),
    slowest: (row) => ms(row.latency.maxUs),
  };
  const answer = { p50: beforeDrain(percentiles.p50), p99: beforeDrain(percentiles.p99) };
  /** @type {Array<[string, Reads[string]]>} */
  const byStage = STAGES.map(({ name, label }) => [label, (row) => meanMs(row.stages?.[name])]);
  /** @type {Array<[string, Reads[string]]>} */
  const byCode = codes.map((code) => [code, (row) => failuresOf(row)[code] ?? 0]);
  const tps = {
    [words.verified]: tpsOf,
    ...(isOpenLoop && { 'asked for': beforeDrain((row) => perSecond(row, row.counts.scheduled)) }),
  };
  return [
    plan('tps', isPlain(run) ? 'Calls per second' : 'Operations per second', '/s', tps, {
      panel: 'upper',
      isOfLevels: true,
      isOfSeries: true,
    }),
    plan('latency', `Latency of ${words.verified} ${words.many}`, 'ms', answer, { panel: 'lower', caption: ['p99'] }),
    plan('over-time', 'Percentiles of the latency', 'ms', percentiles),
    plan('stages', 'Latency by stage, on average', 'ms', Object.fromEntries(byStage), {
      kind: 'stacked',
      isOptional: true,
    }),
    plan('failures', 'Failures', '', Object.fromEntries(byCode), {
      kind: 'stacked',
      isOptional: true,
      note: 'Operations that failed or timed out in each interval, by code.',
    }),
    plan('flight', 'Operations in flight', '', { 'at the end of the interval': beforeDrain((row) => row.inFlight) }),
    ...(isOpenLoop
      ? [
          plan('lag', 'Start delay after the due time', 'ms', {
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
    'Transactions in blocks',
    '/s',
    {
      ours: beforeDrain((row) => blockRate(row, 'ours')),
      "others'": beforeDrain((row) => {
        const [all, ours] = [blockRate(row, 'transactions'), blockRate(row, 'ours')];
        return all === null || ours === null ? null : Math.max(0, all - ours);
      }),
    },
    { kind: 'stacked' },
  ),
  plan(
    'gas-rate',
    'Gas per second',
    'Mgas/s',
    {
      'all transactions': (row) => {
        const gas = blockRate(row, 'gas');
        return gas === null ? null : gas / 1e6;
      },
    },
    { isOfLevels: true, isOfSeries: true },
  ),
  plan('gas', 'Gas used of the block gas limit', '%', { used: beforeDrain(({ blocks }) => fullnessOf(blocks)) }),
  plan('block-rate', 'Blocks', '/s', { seen: beforeDrain((row) => blockRate(row, 'blocks')) }),
];

/** Older files have the counts only. @param {Row} row @param {keyof BlockRates} name */
function blockRate(row, name) {
  const { blocks, perSecond: rates, phase, tps } = row;
  // The next block may belong to it.
  if (phase === 'load' && tps === null) return null;
  if (name === 'gas' && !statesGas(blocks)) return null;
  if (rates !== undefined) return row.endMs - row.startMs < MIN_INTERVAL_MS ? null : rates[name];
  return perSecond(
    row,
    { blocks: blocks.count, transactions: blocks.transactions, ours: blocks.ours, gas: blocks.gasUsed }[name],
  );
}

/** @param {Row} row */
function tpsOf({ startMs, endMs, tps }) {
  return endMs - startMs < MIN_INTERVAL_MS ? null : tps;
}

/** @type {Reads} */
const LOOP_DELAYS = {
  'on average': ({ probes }) => ms(probes.loop?.delayMeanUs),
  p99: ({ probes }) => ms(probes.loop?.delayP99Us),
  max: ({ probes }) => ms(probes.loop?.delayMaxUs),
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
  plan('cpu', 'Time of this process', '%', {
    'CPU, of one core': (row) => share(row, row.probes.self.cpuUs),
    'event loop busy': ({ startMs, endMs, probes: { loop } }) =>
      loop === null || endMs - startMs < MIN_INTERVAL_MS ? null : 100 * loop.utilization,
    'collecting garbage': (row) => share(row, row.probes.loop?.gcUs),
  }),
  plan('delay', 'Event loop: timers late by', 'ms', LOOP_DELAYS, { probe: 'loop' }),
  plan('memory', 'Resident memory', 'MB', {
    'this process': ({ probes }) => megabytes(probes.self.rssBytes),
  }),
  plan('sockets', 'Sockets of this machine', '', SOCKETS, { probe: 'sockets' }),
  plan('connections', 'Connections opened', '/s', {
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
  plan('pool', "The node's pool", '', POOL, { kind: 'stacked', probe: 'pool' }),
  plan('node-cpu', "The node's CPU, of one core", '%', NODE_CPU, { probe: 'node' }),
  plan('node-memory', "The node's resident memory", 'MB', NODE_MEMORY, { probe: 'node' }),
];

/** In shorter intervals a rate is not meaningful. */
export const MIN_INTERVAL_MS = 100;

/** @param {Row} row @param {number | null | undefined} amount */
export function perSecond({ startMs, endMs }, amount) {
  return amount === null || amount === undefined || endMs - startMs < MIN_INTERVAL_MS
    ? null
    : (1000 * amount) / (endMs - startMs);
}

/** Time used, in percent of one core. @param {Row} row @param {number | null | undefined} us */
function share(row, us) {
  const used = perSecond(row, us);
  return used === null ? null : used / 1e4;
}

/** @param {number | null | undefined} us */
export function ms(us) {
  return us === null || us === undefined ? null : us / 1000;
}

/** @param {number | null | undefined} bytes */
function megabytes(bytes) {
  return bytes === null || bytes === undefined ? null : bytes / 1e6;
}

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

/** Buckets per factor of ten, halved while there are more than MAX_ROWS rows or MAX_CELLS cells. */
const PER_DECADE = 64;

/** With more, a row of the picture is too low to be seen. */
const MAX_ROWS = 40;
const MAX_CELLS = 60_000;

/** @param {RunFile} run @returns {Chart} */
function heatOf(run) {
  let columns = /** @type {Row[]} */ (run.intervals).map(bucketsOf);
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
    summary: heatSummary(run),
    series: [],
    heat: { perDecade, ...bounds, columns: columns.map(deltasOf) },
  };
}

/** @param {RunFile} run */
function heatSummary(run) {
  const { latency, intervals } = run;
  const all = intervals.reduce((sum, row) => sum + row.latency.count, 0);
  const { verified, many } = countedWords(isPlain(run));
  const words = `All ${quantity(all)} ${many} that were ${verified}, by when and how long they took`;
  if (latency.total.count === 0) return `${words}.`;
  const names = /** @type {const} */ (['p50', 'p99', 'max']);
  const figures = boundedMs(latency.total, censoredOf(run), names).map((text, i) => `${names[i]} ${text} ms`);
  return `${words}. Of those that were due in the window: ${figures.join(', ')}.`;
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
