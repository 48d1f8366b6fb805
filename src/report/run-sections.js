import { byCode, count, figure, seconds } from '../outputs/format.js';
import { auditText, auditWord, measuredText, mergedLines, mergedOf } from '../outputs/summary.js';
import { auditResult } from '../stats/audit-result.js';
import { censoredOf } from '../stats/figures.js';
import { endpointsOf } from '../stats/recorder.js';
import { STAGES, countedWords, isPlain } from '../stats/sample.js';
import { LOOKS, missingFigure, ms, sentence } from './charts.js';
import { digits, quantity } from './client/quantity.js';
import { details, html, itemTable, list, row, section, table } from './html.js';
import { STAGE_WORDS, noIntervals } from './run-charts.js';
import { figureCell, latencyFigure, note, passedCell } from './sections.js';

/**
 * The sections of a run's page with tables; '' or false where the run has nothing to show.
 *
 * @import { DistributionJson, EndpointFacts, EndpointFigures, RunFile } from '../types.d.ts'
 * @import { Column } from './html.js'
 * @import { LatencyName } from './sections.js'
 *
 * @typedef {Parameters<typeof latencyFigure>[1]} Censored
 */

/**
 * Columns of the figures of a latency.
 * @template T
 * @param {readonly LatencyName[]} names
 * @param {(item: T, i: number) => [prefix: string, json: DistributionJson, censored: Censored]} of
 * @returns {Array<Column<T>>}
 */
function latencyColumns(names, of) {
  return names.map((name) => [
    name,
    (item, i) => {
      const [prefix, json, censored] = of(item, i);
      const { value, text } = latencyFigure(json, censored, name);
      return figureCell(`${prefix}.${name}`, value, text);
    },
  ]);
}

/** @param {number} value */
const counted = (value) => quantity(value, 'count');

/** @param {RunFile} run */
export function failures({ failures: codes, failureWords, counts }) {
  const all = Object.entries({ ...codes, timed_out: counts.timedOut, abandoned: counts.abandoned })
    .filter(([, times]) => times > 0)
    .sort((a, b) => b[1] - a[1]);
  const failed = itemTable(
    'Failures by code',
    all,
    [
      ['code', ([code]) => html`<code>${code}</code>`],
      ['operations', ([code, times]) => figureCell(`failed.${code}`, times, counted(times))],
      ['of those begun', ([, times]) => quantity((100 * times) / Math.max(1, counts.started), 'percent')],
      ['words of the first', ([code]) => failureWords[code] ?? ''],
    ],
    { style: 'wraps' },
  );
  const none = html`<p class="good">✓ No operation failed, timed out or was abandoned.</p>`;
  return section('failed', 'Failures', all.length === 0 ? none : failed);
}

/** @param {RunFile} run */
export function thresholds({ thresholds: all, end }) {
  const rows = all.map((result) =>
    row(html`<code>${result.expression}</code>`, [passedCell(result.passed), measuredText(result)]),
  );
  const title = `Thresholds${end === 'running' ? ' so far' : ''}`;
  return all.length > 0 && section('limits', title, table({ rows, style: 'wraps' }));
}

/** @param {RunFile} run */
export function audit(run) {
  const { verdict } = run;
  const result = auditResult(run);
  const kind = result === null ? 'missing' : result === 'exact' ? 'good' : 'bad';
  const sign = result === null ? '' : { exact: '✓ ', incomplete: '– ', not_exact: '✗ ' }[result];
  const [first, ...lines] = auditText(run)
    .split('\n')
    .map((line) => line.trim());
  const limit = verdict && html`<p><strong>${verdict.name}</strong>: ${sentence(verdict.evidence)}</p>`;
  return html`${limit && section('limit', 'What limited the run', limit)}
  ${section(
    'audited',
    'Audit on the chain',
    html`<p class="${kind}">${sign}${sentence(first.replace(/^audit\s+/, ''))}</p>`,
    lines.length > 0 && list(lines.map(sentence)),
  )}`;
}

/** @param {RunFile} run */
export function stages(run) {
  const { latency, rates } = run;
  const { verified, one, many } = countedWords(isPlain(run));
  const parts = STAGES.map((stage, i) => ({
    stage,
    // As in the chart of the stages.
    color: LOOKS[i].color,
    of: latency.stages[stage],
  }));
  const shown = isPlain(run) ? parts.filter(({ of }) => of.sumUs > 0) : parts;
  const allUs = parts.reduce((sum, { of }) => sum + of.sumUs, 0);
  const censored = censoredOf(run);
  const percent = (/** @type {DistributionJson} */ { sumUs }) => `${Math.round((100 * sumUs) / allUs)} %`;
  const averages = shown.map(
    ({ stage, of }) => `${STAGE_WORDS[stage]} ${quantity(ms(of.meanUs), 'ms')} (${percent(of)})`,
  );
  const fromDue = { head: html`from due to ${verified}`, prefix: 'total', of: latency.total, censored, share: '' };
  const fromStart = { head: html`from begun to ${verified}`, prefix: 'start', of: latency.fromStart, share: '' };
  const rows = [
    fromDue,
    ...(rates.askedPerSecond === null ? [] : [{ ...fromStart, censored: latency.fromStartCensored ?? censored }]),
    ...shown.map(({ stage, color, of }) => ({
      head: html`<svg class="swatch" aria-hidden="true"><rect width="12" height="12" class="fill-${color}" /></svg
        >${STAGE_WORDS[stage]}`,
      prefix: stage.toLowerCase(),
      of,
      censored: 0,
      share: allUs > 0 && percent(of),
    })),
  ];
  return section(
    'where',
    'Where the time goes',
    allUs > 0
      ? [html`<p>${sentence(`On average: ${averages.join(', ')}`)}</p>`, bar(shown, allUs)]
      : html`<p class="missing">No ${one} was ${verified} in the window.</p>`,
    itemTable('Latency by stage', rows, [
      ['Latency in the window', ({ head }) => head],
      ...latencyColumns(
        ['avg', 'min', 'p50', 'p90', 'p99', 'p99.9', 'max'],
        (/** @type {(typeof rows)[number]} */ { prefix, of, censored: bound }) => [prefix, of, bound],
      ),
      ['share', ({ share }) => share],
    ]),
    censored.count > 0 &&
      note(
        `${counted(censored.count)} of ${counted(latency.total.count)} ${many} got no good answer in time: figures with >= are lower bounds. Stages leave these operations out.`,
      ),
  );
}

/** @param {Array<{color: number, of: DistributionJson}>} parts @param {number} allUs */
function bar(parts, allUs) {
  let left = 0;
  const rects = parts.map(({ color, of }) => {
    const width = (100 * of.sumUs) / allUs;
    left += width;
    const [x, w] = [left - width, width].map((part) => part.toFixed(2));
    return html`<rect x="${x}%" y="0" width="${w}%" height="28" class="fill-${color}" />`;
  });
  const label = 'Shares of the stages in the latency; the table below has the numbers';
  return html`<svg class="share" role="img" aria-label="${label}">${rects}</svg>`;
}

/** @type {readonly LatencyName[]} */
const NAMES = ['avg', 'min', 'p50', 'p90', 'p95', 'p99', 'max'];

/** @param {RunFile} run */
export function names(run) {
  const { byName = {}, window, failures: codes } = run;
  const groups = Object.entries(byName).sort(([, a], [, b]) => b.latency.sumUs - a.latency.sumUs);
  if (groups.length === 0) return '';
  const perSecond = (/** @type {number} */ times) =>
    window.durationMs === 0 ? null : (1000 * times) / window.durationMs;
  return section(
    'by-name',
    'By name',
    html`<p>The kinds of operations, those first that took the most time in all. Latency is that of the window.</p>`,
    itemTable('Figures by name', groups, [
      ['Name', ([name]) => name],
      [countedWords(isPlain(run)).verified, ([, { counts }]) => counted(counts.verified)],
      ['per second', ([, { windowVerified }]) => quantity(perSecond(windowVerified), 'perSecond')],
      ['failed', ([, { counts }]) => counted(counts.failed)],
      groups.some(([, { gas }]) => gas !== undefined && gas.operations > 0) && [
        'gas',
        ([, { gas }]) => gas !== undefined && gas.operations > 0 && counted(Math.round(gas.used / gas.operations)),
      ],
      ...latencyColumns(NAMES, (/** @type {(typeof groups)[number]} */ [name, { latency, censored }]) => [
        `calls.${name}`,
        latency,
        censored,
      ]),
      Object.keys(codes).length > 0 && ['failed with', ([, group]) => byCode(group.failures)],
    ]),
  );
}

/** Figures of the stages of --stages. @param {RunFile} run */
export function rateStages({ byStage = [] }) {
  if (byStage.length === 0) return '';
  const words =
    'Operations by the stage of --stages in which they were due; TPS is those verified per second of the stage.';
  return section(
    'by-stage',
    'By load stage',
    html`<p>${words}</p>`,
    itemTable('Figures by load stage', byStage, [
      ['Stage', ({ stage, startMs, endMs }) => `${stage}: ${seconds(startMs)} to ${seconds(endMs)}`],
      ['asked per second', ({ fromPerSecond, toPerSecond }) => `${figure(fromPerSecond)} to ${figure(toPerSecond)}`],
      ['due', ({ counts }) => counted(counts.scheduled)],
      ['dropped', ({ counts }) => counted(counts.dropped)],
      ['verified', ({ counts }) => counted(counts.verified)],
      ['TPS', ({ tps }) => quantity(tps, 'perSecond')],
      ...latencyColumns(NAMES, (/** @type {(typeof byStage)[number]} */ { stage, latency, censored }) => [
        `stage.${stage}`,
        latency,
        censored,
      ]),
    ]),
  );
}

/** @param {RunFile} run */
export function endpoints(run) {
  const all = endpointsOf(run);
  if (all.length === 0) return '';
  const { verified, tps } = countedWords(isPlain(run));
  return section(
    'by-endpoint',
    'By endpoint',
    html`<p>Operations by the endpoint that they were sent to last. Latency is that of the window.</p>`,
    itemTable('Figures by endpoint', all, [
      ['Endpoint', ({ display }) => display],
      ['node', ({ clientVersion }) => clientVersion ?? 'not known'],
      [verified, ({ group }) => counted(group.counts.verified)],
      ['failed', ({ group }) => counted(group.counts.failed)],
      ['timed out', ({ group }) => counted(group.counts.timedOut)],
      [tps, (one, i) => figureCell(`endpoint.${i}.tps`, one.tps, quantity(one.tps, 'perSecond'))],
      ...latencyColumns(['avg', 'p50', 'p99', 'max'], (/** @type {EndpointFigures} */ { group }, i) => [
        `endpoint.${i}`,
        group.latency,
        group.censored,
      ]),
      ['outages', ({ left }) => counted(left)],
      ['down', ({ left, awayMs }) => left > 0 && `${(awayMs / 1000).toFixed(1)} s`],
    ]),
    eventsOf(run, all),
  );
}

/** @param {RunFile} run @param {EndpointFigures[]} all */
function eventsOf({ generator }, all) {
  const known = /** @type {Array<EndpointFacts>} */ (generator.endpoints ?? []);
  const events = known
    .flatMap(({ events: own }, i) => own.map((event) => ({ ...event, display: all[i]?.display })))
    .sort((a, b) => a.atMs - b.atMs);
  const lines = events.map(({ atMs, isBack, words, display }) => {
    const what = isBack ? 'is back ' : 'is down, requests go to the others: ';
    return `${(atMs / 1000).toFixed(1)} s: ${display} ${what}${words}`;
  });
  return lines.length > 0 && list(lines);
}

const MAX_INSTANCES = 200;

/** The instances of a merged run. @param {RunFile} run */
export function instances(run) {
  const merged = mergedOf(run);
  if (merged === null) return '';
  const { verified, tps } = countedWords(isPlain(run));
  const all = /** @type {any[]} */ (merged.instances);
  const more = all.length - MAX_INSTANCES;
  return section(
    'instances',
    'Instances',
    mergedLines(run).map((line) => note(line)),
    details('all-instances', `${count(all.length)} instances`, [
      itemTable('Figures by instance', all.slice(0, MAX_INSTANCES), [
        ['instance', ({ index }) => index ?? '-'],
        ['wallets', ({ offset, threads }) => `${offset}..${offset + threads - 1}`],
        ['host', ({ host }) => host ?? '-'],
        ['began', ({ windowStartedAt }) => windowStartedAt],
        ['window', ({ durationMs }) => seconds(durationMs)],
        [verified, ({ counts }) => count(counts.verified)],
        [tps, ({ verifiedPerSecond }) => figure(verifiedPerSecond)],
        ['audit', (one) => (one.partial ? 'PARTIAL' : auditWord(one))],
      ]),
      more > 0 && note(`... and ${count(more)} more`),
    ]),
  );
}

/** First and last value and change: a metrics page does not reliably tell counters from gauges. @param {RunFile} run */
export function nodeMetrics({ end, intervals, probes }) {
  const read = intervals.flatMap(({ endMs, probes: { metrics } }) => (metrics === null ? [] : [{ endMs, ...metrics }]));
  const [first] = read;
  const last = read.at(-1);
  if (first === undefined || last === undefined) {
    const why = probes?.why.metrics ?? intervals.at(-1)?.probes.why.metrics ?? noIntervals({ end });
    return missingFigure('metrics', "The node's own metrics", why);
  }
  const elapsed = (last.endMs - first.endMs) / 1000;
  const change = (/** @type {string} */ name, /** @type {number} */ value) =>
    name in first.series && elapsed > 0 ? (value - first.series[name]) / elapsed : null;
  const all = Object.entries(last.series);
  const own = itemTable("The node's own metrics", all, [
    ['series', ([name]) => html`<code>${name}</code>`],
    ['first', ([name]) => digits(first.series[name] ?? null)],
    ['last', ([, value]) => digits(value)],
    ['change', ([name, value]) => quantity(change(name, value), 'perSecond')],
  ]);
  return details('node-metrics', `The node's own metrics (${all.length})`, own);
}
