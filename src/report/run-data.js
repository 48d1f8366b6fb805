import { recordedValues } from '../stats/histogram.js';
import { reorgInWords } from '../stats/reorgs.js';
import { isPlain } from '../stats/sample.js';
import { TIMED_OUT, chartPlans } from './run-charts.js';
import { LOOKS, isSkewed } from './charts.js';
import { rounded } from './figures.js';

/**
 * @import { ReorgEvent, RunFile } from '../types.d.ts'
 * @import { Chart, TimeAxis } from './charts.js'
 * @import { ChartPlan, Row, RunKind } from './run-charts.js'
 */

/**
 * The data of a run's page, from its run file, without any HTML.
 *
 * @typedef {{plan: ChartPlan, chart: Chart} | {plan: ChartPlan, why: string}} Drawn why: it cannot be drawn
 *
 * @typedef {object} RunData
 * @property {TimeAxis} time
 * @property {Drawn[]} drawn
 * @property {Chart} heat
 */

/** Buckets per factor of ten, halved while there are more than MAX_ROWS rows or MAX_CELLS cells. */
const PER_DECADE = 64;

/** With more, a row of the picture is too low to be seen. */
const MAX_ROWS = 40;
const MAX_CELLS = 60_000;

/** @param {RunFile} run @returns {RunKind} */
function kindOf(run) {
  const { rates, config, failures, counts, intervals } = run;
  const codes = [...Object.keys(failures), ...intervals.flatMap((row) => Object.keys(row.failures))];
  return {
    isOpenLoop: rates.askedPerSecond !== null || (config.ratePerSecond !== null && config.ratePerSecond !== undefined),
    isPlain: isPlain(run),
    isApart: config.spread === 'apart',
    failureCodes: [...new Set([...codes, ...(counts.timedOut > 0 ? [TIMED_OUT] : [])])],
  };
}

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
  return chartPlans(kindOf(run)).flatMap((plan) => {
    const series = Object.entries(plan.series).map(([label, read], i) => ({
      label,
      ...LOOKS[i % LOOKS.length],
      values: rows.map((row) => rounded(read(row))),
    }));
    const isEmpty = series.every(({ values }) => values.every((value) => value === null));
    if (isEmpty) return plan.isOptional ? [] : [/** @type {Drawn} */ ({ plan, why: whyMissing(run, plan) })];
    const { id, title, kind = 'lines', unit } = plan;
    const isLog = id === 'latency' && isSkewed(series);
    return [{ plan, chart: { id, title, kind, unit, series, ...(isLog ? { isLog } : {}) } }];
  });
}

/** @param {number} ms */
function seconds(ms) {
  return Math.round(ms) / 1000;
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
function failureMarks({ failures, counts, startMs, endMs }) {
  const codes = { ...failures, ...(counts.timedOut > 0 ? { [TIMED_OUT]: counts.timedOut } : {}) };
  const words = Object.entries(codes).map(([code, count]) => `${count} ${code}`);
  return words.length === 0 ? [] : [{ at: seconds((startMs + endMs) / 2), kind: 'failure', words: words.join(', ') }];
}

/** @param {ReorgEvent} event @returns {TimeAxis['marks'][number]} */
function reorgMark(event) {
  return { at: seconds(event.atMs), kind: 'reorg', words: reorgInWords(event) };
}

/** @param {RunFile} run @param {ChartPlan} plan */
function whyMissing(run, { probe, section }) {
  if (run.intervals.length === 0) return 'the run ended before its first report';
  const why = probe === undefined ? undefined : (run.probes?.why[probe] ?? run.intervals.at(-1)?.probes.why[probe]);
  if (why !== undefined) return why;
  if (section === 'blocks') return 'no block was seen';
  return run.counts.verified === 0 ? 'nothing was verified' : 'there was no report of it';
}

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
    columns = columns.map(halved);
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

/** Joins pairs of neighbouring buckets. @param {Map<number, number>} counts @returns {Map<number, number>} */
function halved(counts) {
  const sums = new Map();
  for (const [bucket, count] of counts) {
    const wide = Math.floor(bucket / 2);
    sums.set(wide, (sums.get(wide) ?? 0) + count);
  }
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
  const counts = new Map();
  for (const { valueUs, count } of recordedValues(latency)) {
    const bucket = Math.floor(PER_DECADE * Math.log10(Math.max(1, valueUs)));
    counts.set(bucket, (counts.get(bucket) ?? 0) + count);
  }
  return counts;
}
