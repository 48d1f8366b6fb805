import { amount } from '../coin.js';
import { auditResult } from '../stats/audit-result.js';
import { LISTED_COUNTS, STAGES, censoredOf, shownFigure, spreadPerSecond } from '../stats/figures.js';
import { heldRate } from '../stats/growth.js';
import { endpointsOf } from '../stats/recorder.js';
import { countedWords, hasBothKinds, isPlain } from '../stats/sample.js';
import { byCode, count, counted, digits, partOf, percent, quantity, seconds } from '../text.js';
import { boundedMs } from './format.js';
import { tableOf } from './table.js';

/**
 * The figures of a run as tables. run-facts.js has the sentences, summary.js the order of all tables.
 *
 * @import { DistributionJson, MergedInstance, RunFile, Stage, ThresholdResult } from '../contracts/run-file.d.ts'
 * @import { Table } from './table.js'
 */

/** The main figures: each with its label, and what it is. @param {RunFile} run @returns {Table} */
export function overviewTable(run) {
  const { counts, rates, generator } = run;
  const isOpenLoop = rates.askedPerSecond !== null;
  const words = countedWords(isPlain(run));
  const hasCalls = hasBothKinds(run);
  const rows = [
    ...(isOpenLoop ? [rateRow(run)] : []),
    [
      words.tps,
      digits(rates.verifiedPerSecond),
      run.unmeasured['/rates/verifiedPerSecond'] ??
        `${words.verified} per second of the window${hasCalls ? ', calls included' : ''}`,
    ],
    ...gasRateRow(run),
    ...paceRows(run),
    ['attempts', count(counts.started), ''],
    ...(isOpenLoop || counts.dropped > 0 ? [droppedRow(run)] : []),
    [words.verified, count(counts.verified), inWindowText(run)],
    ['failed', count(counts.failed), byCode(run.failures)],
    ['timed out', count(counts.timedOut), ''],
    ...LISTED_COUNTS.map(({ name, label, help }) => [
      label,
      count(/** @type {Record<string, number>} */ (counts)[name] ?? null),
      help,
    ]),
    ...(run.inFlight > 0 ? [['in flight', count(run.inFlight), '']] : []),
    ['abandoned', count(counts.abandoned), counts.abandoned > 0 ? 'still open when the drain ended' : ''],
    [
      'generator',
      digits(generator.cpuUsPerVerified),
      `us of CPU per ${words.verified} ${words.one}; peak memory ${quantity(generator.peakRssBytes / 1e6, 'MB')}`,
    ],
  ];
  return tableOf('figures', 'Figures', [], rows);
}

/** The last operations may be verified after the end of the window. @param {RunFile} run */
function inWindowText({ counts, rates, window, environment, intervals }) {
  const { verifiedPerSecond: perSecond, spreadMs = window.durationMs } = rates;
  if (perSecond === null) return '';
  const counted = Math.round((perSecond * spreadMs) / 1000);
  return counted === counts.verified
    ? ''
    : `${count(counted)} of them in the window (as ${countedWords(isPlain({ environment })).tps} counts), the others ${intervals.some(({ phase }) => phase === 'warmup') ? 'before or after it' : 'after it'}`;
}

/** The most frequent first. @param {RunFile} run @returns {Table} */
export function failuresTable({ failures, failureWords, counts }) {
  const rows = Object.entries(failures)
    .sort((a, b) => b[1] - a[1])
    .map(([code, times]) => [code, count(times), percent(times / counts.started), failureWords[code] ?? '']);
  return tableOf('failed', 'Failures', ['', 'operations', 'of those started', 'words of the first'], rows);
}

/** Submissions that were refused, by what the refusal means. @param {RunFile} run @returns {Table} */
export function refusalsTable({ generator: { refusals = {} } }) {
  const rows = Object.entries(refusals)
    .sort(([, a], [, b]) => b.count - a.count)
    .map(([name, { count: times, words }]) => [name, count(times), words]);
  return tableOf('refused', 'Refused submissions', ['', 'times', 'words of the first'], rows);
}

/** @param {RunFile} run @returns {string[]} */
function rateRow(run) {
  const held = heldRate(run);
  // A merge may know the asked rate without the achieved rate.
  if (held === null) {
    const why = run.unmeasured['/rates/achievedPerSecond'] ?? 'no operation was due in the window';
    return ['rate', 'unknown', `${digits(run.rates.askedPerSecond ?? 0)} per second were asked for; ${why}`];
  }
  const { asked, rate, isHeld, growth } = held;
  const of =
    growth === null
      ? `achieved of ${digits(asked)} asked per second`
      : `of ${digits(asked)} asked per second in the window, the rest after it`;
  const short = isHeld ? '' : `: ${percent(1 - rate / asked)} SHORT of the rate asked for`;
  return ['rate', digits(rate), of + short];
}

/** What --rate 30Mgas asked for. @param {RunFile} run @returns {string[][]} */
function gasRateRow(run) {
  const { gasRate } = run;
  if (gasRate === undefined) return [];
  const { gasPerSecond, gasPerOperation, perSecond } = gasRate;
  const own = shownFigure('gas', run);
  const per = gasPerOperation === null ? 'an estimated gas' : `${count(gasPerOperation)} gas`;
  const asked = `of ${digits(gasPerSecond / 1e6)} asked for: ${digits(perSecond)} operations per second of ${per}`;
  return [['Mgas/s', digits(own === null ? null : own / 1e6), asked]];
}

/** What held the load back. @param {RunFile} run @returns {string[][]} */
function paceRows({ pace, window }) {
  if (pace === undefined) return [];
  const { poolTarget, depth, maxBaseFeeWei, pauses, pausedMs } = pace;
  const rows = [];
  if (poolTarget !== null) {
    const [mean, near] = depth === null ? [null, null] : [depth.sum / depth.samples, depth.near / depth.samples];
    const range =
      depth === null || near === null
        ? ''
        : `; ${count(depth.min)} to ${count(depth.max)}, ${percent(near)} of the time within 20 %`;
    rows.push(['pool', digits(mean), `transactions in the pool on average, of ${count(poolTarget)} asked for${range}`]);
  }
  if (maxBaseFeeWei !== null) {
    const share = percent(window.durationMs === 0 ? 0 : Math.min(1, pausedMs / window.durationMs));
    const above = `the base fee was above ${amount(BigInt(maxBaseFeeWei))} ${counted(pauses, 'time')}`;
    rows.push([
      'paused',
      seconds(pausedMs),
      `${share} of the window: ${above}; rates that were asked for and achieved are of the rest`,
    ]);
  }
  return rows;
}

/** Drops in the window, as in thresholds and warnings. @param {RunFile} run @returns {string[]} */
function droppedRow({ window, counts }) {
  const { dropped, scheduled } = window.counts;
  const share = percent(scheduled === 0 ? 0 : dropped / scheduled);
  const why = dropped === 0 ? '' : ': no wallet was idle';
  const others = counts.dropped - dropped;
  const outside = others > 0 ? `; ${count(others)} more outside of it` : '';
  return ['dropped', count(dropped), `${share} of ${count(scheduled)} due in the window${why}${outside}`];
}

/** @param {RunFile} run @returns {Table} */
export function latencyTable(run) {
  const { latency, rates } = run;
  const { stages } = latency;
  const names = /** @type {const} */ (['avg', 'min', 'p50', 'p90', 'p99', 'p99.9', 'max']);
  const censored = censoredOf(run);
  /** @type {Array<[string, DistributionJson, DistributionJson?]>} */
  const parts = [
    ['latency ms', latency.total, censored],
    ['from start', latency.fromStart, latency.fromStartCensored ?? censored],
  ];
  // In a closed loop an operation is due when it starts.
  if (rates.askedPerSecond === null) parts.pop();
  for (const { name, label, isOfCalls } of STAGES)
    if ((isOfCalls || !isPlain(run)) && stages[name] !== undefined) parts.push([`  ${label}`, stages[name]]);
  const words = `${partOf(censored.count, latency.total.count, 'operation')} got no good answer in time`;
  const rows = parts.map(([name, json, others]) => [name, ...boundedMs(json, others, names)]);
  const notes =
    censored.count === 0 ? [] : [`${words}: figures with >= are lower bounds; stages leave these operations out`];
  return tableOf('where', 'Where the time goes', ['', ...names], rows, notes);
}

/** Figures by rung of the ladder, operation name, endpoint and load stage; without rows where there is one group. @param {RunFile} run @returns {Table[]} */
export function groupTables(run) {
  return [levelsTable(run), namesTable(run), endpointsTable(run), loadStagesTable(run)];
}

/** @param {RunFile} run @returns {Table} empty without --ladder */
function levelsTable({ ladder, unmeasured }) {
  const all = Object.entries(ladder?.rungs ?? {});
  const rows = all.flatMap(([rung, figures]) => {
    if (figures === null) return [];
    const { reached, notReached, latency, censored, broken, restored } = figures;
    const times = boundedMs(latency, censored, ['p50', 'p99', 'max']);
    const { unknown = null, ...proven } = broken ?? {};
    const causes = Object.values(proven).some((times) => times > 0) ? `: ${byCode(proven)}` : '';
    const brokenText = broken === null ? '-' : `${count(sumOf(Object.values(proven)))}${causes}`;
    return [[rung, count(reached), count(notReached), ...times, brokenText, count(unknown), count(restored)]];
  });
  const off = all.flatMap(([rung, figures]) => {
    if (figures === null) return unmeasured[`/ladder/rungs/${rung}`];
    return figures.notMeasured > 0 ? `${counted(figures.notMeasured, 'operation')} not measured at ${rung}` : [];
  });
  const columns = ['', 'reached', 'not reached', 'p50 ms', 'p99', 'max', 'broken', 'unknown', 'restored'];
  return tableOf('levels', 'Finality levels', columns, rows, off);
}

/** @param {number[]} values */
function sumOf(values) {
  return values.reduce((sum, value) => sum + value, 0);
}

/** The most frequent first; empty with one name. @param {RunFile} run @returns {Table} */
function namesTable(run) {
  const { byName = {} } = run;
  const groups = Object.entries(byName).sort(([, a], [, b]) => endedOf(b) - endedOf(a));
  const isGasKnown = groups.some(([, { gas }]) => (gas?.operations ?? 0) > 0);
  const rows = groups.map(([name, { counts, windowVerified, gas, latency, censored }]) => {
    const perSecond = spreadPerSecond(run, windowVerified);
    return [
      ...[name, count(endedOf({ counts })), digits(perSecond), count(counts.failed), count(counts.timedOut)],
      ...(isGasKnown ? [count(gas && gas.operations > 0 ? gas.used / gas.operations : null)] : []),
      ...boundedMs(latency, censored, ['avg', 'p50', 'p90', 'p95', 'p99', 'max']),
    ];
  });
  const counted = ['', 'count', 'per second', 'failed', 'timed out', ...(isGasKnown ? ['gas'] : [])];
  return tableOf('by-name', 'By name', [...counted, 'avg ms', 'p50', 'p90', 'p95', 'p99', 'max'], rows);
}

/** Operations of the whole run that ended. @param {{counts: Record<string, number>}} group */
function endedOf({ counts }) {
  return Object.values(counts).reduce((sum, value) => sum + value, 0);
}

/** By the endpoint that operations were sent to last. @param {RunFile} run @returns {Table} empty with one endpoint */
function endpointsTable(run) {
  const words = countedWords(isPlain(run));
  const rows = endpointsOf(run).map(({ display, group: { counts, latency, censored }, tps, outages, awayMs }) => [
    ...[display, count(counts.verified), count(counts.failed), count(counts.timedOut), digits(tps)],
    ...boundedMs(latency, censored, ['avg', 'p50', 'p99']),
    ...[count(outages), outages === 0 ? '' : awayMs === null ? '-' : seconds(awayMs)],
  ]);
  const counted = ['', words.verified, 'failed', 'timed out', words.tps];
  return tableOf('by-endpoint', 'By endpoint', [...counted, 'avg ms', 'p50', 'p99', 'outages', 'down'], rows);
}

/** Figures of the stages of --stages. @param {RunFile} run @returns {Table} empty without them */
function loadStagesTable({ byStage = [] }) {
  const rows = byStage.map(({ stage, startMs, endMs, fromPerSecond: from, toPerSecond: to, counts, tps, ...group }) => [
    ...[`${stage}`, seconds(startMs), seconds(endMs)],
    ...[from === to ? digits(to) : `${digits(from)}..${digits(to)}`, count(counts.scheduled)],
    ...[count(counts.dropped), count(counts.verified), digits(tps)],
    ...boundedMs(group.latency, group.censored, ['avg', 'p50', 'p99']),
  ]);
  const columns = ['', 'from', 'to', 'asked/s', 'due', 'dropped', 'verified', 'TPS', 'avg ms', 'p50', 'p99'];
  return tableOf('by-stage', 'By load stage', columns, rows);
}

/** Instances with their own row. */
const INSTANCES_SHOWN = 50;

/** @param {RunFile} run @returns {Table} empty for one instance */
export function instancesTable(run) {
  const all = run.merged?.instances ?? [];
  const words = countedWords(isPlain(run));
  const hasHosts = all.some(({ host, partial }) => partial || host !== null);
  const rows = all.slice(0, INSTANCES_SHOWN).map((one) => {
    const { index, attempt, offset, threads, counts, partial, host, durationMs, verifiedPerSecond: tps } = one;
    return [
      `${index ?? 'no index'}${attempt > 0 ? `, attempt ${attempt}` : ''}`,
      `${offset}..${offset + threads - 1}`,
      ...[durationMs > 0 ? one.windowStartedAt.slice(11, 23) : 'no window', seconds(durationMs)],
      ...[count(counts.verified), count(counts.failed + counts.timedOut + counts.abandoned)],
      ...[tps === null ? 'unknown' : digits(tps), instanceAudit(one)],
      ...(hasHosts ? [partial ? 'PARTIAL' : (host ?? 'not stated')] : []),
    ];
  });
  const columns = ['', 'wallets', 'began', 'window', words.verified, 'failed', words.tps, 'audit'];
  const more = all.length - INSTANCES_SHOWN;
  const isUnknown = all.some(({ verifiedPerSecond }) => verifiedPerSecond === null);
  const notes = [
    ...(isUnknown ? [`${words.tps} is unknown where an instance has no window, or no report of it`] : []),
    ...(more > 0 ? [`... and ${counted(more, 'more instance')}`] : []),
  ];
  const title = counted(all.length, 'instance');
  return tableOf('all-instances', title, hasHosts ? [...columns, 'host'] : columns, rows, notes);
}

/** @param {MergedInstance} instance */
function instanceAudit({ auditExact, auditResult: result = null }) {
  if (result === 'incomplete') return 'INCOMPLETE';
  return auditExact === null ? 'none' : auditExact ? 'exact' : 'NOT EXACT';
}

/** The result of an audit in a table. @param {RunFile} run */
export function auditWord(run) {
  const result = auditResult(run);
  return result === null ? 'none' : { exact: 'exact', incomplete: 'INCOMPLETE', not_exact: 'NOT EXACT' }[result];
}

/** @param {RunFile} run @returns {Table} empty without thresholds */
export function thresholdsTable({ thresholds, end }) {
  const title = `Thresholds${end === 'running' ? ' so far' : ''}`;
  const rows = thresholds.map((one) => [
    one.expression.replace(/\s+/g, ' '),
    one.passed ? 'passed' : 'FAILED',
    measuredText(one),
  ]);
  return tableOf('limits', title, ['', 'result', 'measured'], rows);
}

/** @param {ThresholdResult} result */
export function measuredText({ value, unit, why, atMost, censored, limit }) {
  if (value === null) return `not measured: ${why}`;
  if (typeof value === 'string') return value;
  const text = (/** @type {number} */ one) => valueText(one, Number(limit), unit);
  if (atMost === undefined) return text(value);
  const bounds = atMost === null ? `>= ${text(value)}` : `${text(value)} to ${text(atMost)}`;
  return `${bounds}; ${count(censored ?? null)} ${unit === 'count' ? 'not known' : 'censored'}`;
}

/** How the summary shows a figure. @type {Readonly<Partial<Record<NonNullable<ThresholdResult['unit']>, [number, string]>>>} */
const SHOWN = Object.freeze({
  bytes: [1e6, 'MB'],
  percent: [1, '%'],
  perSecond: [1, 'per second'],
  gasPerSecond: [1e6, 'Mgas/s'],
});

/** @param {number} value @param {number} limit @param {ThresholdResult['unit']} unit */
function valueText(value, limit, unit) {
  // Counts are exact, as elsewhere.
  const [scale, name] =
    unit === 'us'
      ? Math.abs(value) < 1000
        ? [1, 'us']
        : [1000, 'ms']
      : (SHOWN[/** @type {'percent'} */ (unit)] ?? []);
  if (scale === undefined) return count(value);
  return `${besides(value / scale, limit / scale).toLocaleString('en-US', { maximumFractionDigits: 20 })} ${name}`;
}

/**
 * Three digits or all before the point, as in the summary, and as many more as tell it from the limit: beside 100, 99.96
 * must not be 100.
 * @param {number} value
 * @param {number} limit
 */
function besides(value, limit) {
  const least = Math.max(3, Math.trunc(Math.abs(value)).toString().length);
  const rounded = [0, 1, 2, 3].map((more) => Number(value.toPrecision(Math.min(least + more, 100))));
  return rounded.find((one) => Math.sign(one - limit) === Math.sign(value - limit)) ?? value;
}
