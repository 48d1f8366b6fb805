import { byCode, count, figure, seconds } from '../outputs/format.js';
import { auditText, auditWord, measuredText, mergedLines, mergedOf } from '../outputs/summary.js';
import { auditResult } from '../stats/audit-result.js';
import { censoredOf } from '../stats/figures.js';
import { endpointsOf } from '../stats/recorder.js';
import { countedWords, isPlain, shownStages } from '../stats/sample.js';
import { missingFigure, ms, sentence } from './charts.js';
import { digits, quantity } from './client/quantity.js';
import { latencyFigure } from './figures.js';
import { details, html, list, row, scrollTable, section, table } from './html.js';
import { STAGE_WORDS } from './run-charts.js';
import { figureCell, note, passedCell } from './sections.js';

/**
 * @import { DistributionJson, EndpointFacts, EndpointFigures, RunFile } from '../types.d.ts'
 * @import { LatencyName } from './figures.js'
 */

/** The sections of a run's page. */

/** @typedef {Parameters<typeof latencyFigure>[1]} Censored */

/** @param {string} prefix of their names @param {DistributionJson} json @param {Censored} censored @param {readonly LatencyName[]} names */
function latencyCells(prefix, json, censored, names) {
  return names.map((name) => {
    const { value, text } = latencyFigure(json, censored, name);
    return figureCell(`${prefix}.${name}`, value, text);
  });
}

/** @param {RunFile} run */
export function failures({ failures: codes, failureWords, counts }) {
  const all = { ...codes, timed_out: counts.timedOut, abandoned: counts.abandoned };
  const rows = Object.entries(all)
    .filter(([, times]) => times > 0)
    .sort((a, b) => b[1] - a[1])
    .map(([code, times]) =>
      row(html`<code>${code}</code>`, [
        figureCell(`failed.${code}`, times, quantity(times, 'count')),
        quantity((100 * times) / Math.max(1, counts.started), 'percent'),
        failureWords[code] ?? '',
      ]),
    );
  const heads = ['code', 'operations', 'of those begun', 'words of the first'];
  return section(
    'failed',
    'Failures',
    rows.length === 0
      ? html`<p class="good">✓ No operation failed, timed out or was abandoned.</p>`
      : scrollTable('Failures by code', { heads, rows, style: 'wraps' }),
  );
}

/** @param {RunFile} run */
export function thresholds({ thresholds: all, end }) {
  const rows = all.map((result) =>
    row(html`<code>${result.expression}</code>`, [passedCell(result.passed), measuredText(result)]),
  );
  return (
    all.length > 0 &&
    section('limits', `Thresholds${end === 'running' ? ' so far' : ''}`, table({ rows, style: 'wraps' }))
  );
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

/** @type {readonly LatencyName[]} */
const NAMES = ['avg', 'min', 'p50', 'p90', 'p99', 'p99.9', 'max'];

/** @param {RunFile} run */
export function stages(run) {
  const { latency, rates } = run;
  const names = shownStages(latency.stages);
  const parts = names.map((stage, color) => ({ stage, color, words: STAGE_WORDS[stage], of: latency.stages[stage] }));
  const shown = isPlain(run) ? parts.filter(({ of }) => of.sumUs > 0) : parts;
  const allUs = parts.reduce((sum, { of }) => sum + of.sumUs, 0);
  const censored = censoredOf(run);
  const words = countedWords(isPlain(run));
  const fromStart = latency.fromStartCensored ?? censored;
  const percent = (/** @type {DistributionJson} */ { sumUs }) => `${Math.round((100 * sumUs) / allUs)} %`;
  const averages = shown.map(({ words: name, of }) => `${name} ${quantity(ms(of.meanUs), 'ms')} (${percent(of)})`);
  const [late, all] = [censored.count, latency.total.count].map((value) => quantity(value, 'count'));
  const rows = [
    row(`from due to ${words.verified}`, [...latencyCells('total', latency.total, censored, NAMES), '']),
    rates.askedPerSecond !== null &&
      row(`from begun to ${words.verified}`, [...latencyCells('start', latency.fromStart, fromStart, NAMES), '']),
    ...shown.map(({ stage, color, words: name, of }) =>
      row(
        html`<svg class="swatch" aria-hidden="true"><rect width="12" height="12" class="fill-${color}" /></svg>${name}`,
        [...latencyCells(stage.toLowerCase(), of, 0, NAMES), allUs > 0 && percent(of)],
      ),
    ),
  ];
  return section(
    'where',
    'Where the time goes',
    allUs > 0
      ? [html`<p>${sentence(`On average: ${averages.join(', ')}`)}</p>`, bar(shown, allUs)]
      : html`<p class="missing">No ${words.one} was ${words.verified} in the window.</p>`,
    scrollTable('Latency by stage', { heads: ['Latency in the window', ...NAMES, 'share'], rows }),
    censored.count > 0 &&
      note(
        `${late} of ${all} ${words.many} got no good answer in time: figures with >= are lower bounds. Stages leave these operations out.`,
      ),
  );
}

/** @param {Array<{color: number, words: string, of: DistributionJson}>} parts @param {number} allUs */
function bar(parts, allUs) {
  let left = 0;
  const rects = parts.map(({ color, of }) => {
    const width = (100 * of.sumUs) / allUs;
    left += width;
    return html`<rect
      x="${(left - width).toFixed(2)}%"
      y="0"
      width="${width.toFixed(2)}%"
      height="28"
      class="fill-${color}"
    />`;
  });
  return html`<svg
    class="share"
    role="img"
    aria-label="Shares of the stages in the latency; the table below has the numbers"
  >
    ${rects}
  </svg>`;
}

/** @type {readonly LatencyName[]} */
const NAME_COLUMNS = ['avg', 'min', 'p50', 'p90', 'p95', 'p99', 'max'];

/** @param {RunFile} run */
export function names(run) {
  const { byName = {}, window, failures } = run;
  const groups = Object.entries(byName).sort(([, a], [, b]) => b.latency.sumUs - a.latency.sumUs);
  if (groups.length === 0) return '';
  const hasFailures = Object.keys(failures).length > 0;
  const { verified } = countedWords(isPlain(run));
  const heads = ['Name', verified, 'per second', 'failed', ...NAME_COLUMNS, ...(hasFailures ? ['failed with'] : [])];
  return section(
    'by-name',
    'By name',
    html`<p>The kinds of calls, those first that took the most time in all. Latency is that of the window.</p>`,
    scrollTable('Figures by name', {
      heads,
      rows: groups.map(([name, { counts, windowVerified, latency, censored, failures: codes }]) =>
        row(name, [
          quantity(counts.verified, 'count'),
          quantity(window.durationMs === 0 ? null : (1000 * windowVerified) / window.durationMs, 'perSecond'),
          quantity(counts.failed, 'count'),
          ...latencyCells(`calls.${name}`, latency, censored, NAME_COLUMNS),
          ...(hasFailures ? [byCode(codes)] : []),
        ]),
      ),
    }),
  );
}

/** Figures of the stages of --stages; empty without them. @param {RunFile} run */
export function rateStages({ byStage = [] }) {
  if (byStage.length === 0) return '';
  const words =
    'Operations by the stage of --stages in which they were due; TPS is those verified per second of the stage.';
  return section(
    'by-stage',
    'By load stage',
    html`<p>${words}</p>`,
    scrollTable('Figures by load stage', {
      heads: ['Stage', 'asked per second', 'due', 'dropped', 'verified', 'TPS', ...NAME_COLUMNS],
      rows: byStage.map((one) =>
        row(`${one.stage}: ${seconds(one.startMs)} to ${seconds(one.endMs)}`, [
          `${figure(one.fromPerSecond)} to ${figure(one.toPerSecond)}`,
          ...[one.counts.scheduled, one.counts.dropped, one.counts.verified].map((count) => quantity(count, 'count')),
          quantity(one.tps, 'perSecond'),
          ...latencyCells(`stage.${one.stage}`, one.latency, one.censored, NAME_COLUMNS),
        ]),
      ),
    }),
  );
}

/** @type {readonly LatencyName[]} */
const ENDPOINT_COLUMNS = ['avg', 'p50', 'p99', 'max'];

/** @param {RunFile} run */
export function endpoints(run) {
  const all = endpointsOf(run);
  if (all.length === 0) return '';
  const { verified, tps } = countedWords(isPlain(run));
  const columns = ['node', verified, 'failed', 'timed out', tps, ...ENDPOINT_COLUMNS, 'outages', 'down'];
  return section(
    'by-endpoint',
    'By endpoint',
    html`<p>Operations by the endpoint that they were sent to last. Latency is that of the window.</p>`,
    scrollTable('Figures by endpoint', { heads: ['Endpoint', ...columns], rows: all.map(endpointRow) }),
    eventsOf(run, all),
  );
}

/** @param {EndpointFigures} endpoint @param {number} i */
function endpointRow({ display, clientVersion, group, tps, left, awayMs }, i) {
  const { counts, latency, censored } = group;
  return row(display, [
    clientVersion ?? 'not known',
    ...[counts.verified, counts.failed, counts.timedOut].map((value) => quantity(value, 'count')),
    figureCell(`endpoint.${i}.tps`, tps, quantity(tps, 'perSecond')),
    ...latencyCells(`endpoint.${i}`, latency, censored, ENDPOINT_COLUMNS),
    quantity(left, 'count'),
    left > 0 && `${(awayMs / 1000).toFixed(1)} s`,
  ]);
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

/** The instances of a merged run. @param {RunFile} run */
export function instances(run) {
  const merged = mergedOf(run);
  if (merged === null) return '';
  const { verified, tps } = countedWords(isPlain(run));
  const more = merged.instances.length - MAX_INSTANCES;
  const rows = merged.instances
    .slice(0, MAX_INSTANCES)
    .map((/** @type {any} */ one) =>
      row(one.index ?? '-', [
        `${one.offset}..${one.offset + one.threads - 1}`,
        one.host ?? '-',
        one.windowStartedAt,
        seconds(one.durationMs),
        count(one.counts.verified),
        figure(one.verifiedPerSecond),
        one.partial ? 'PARTIAL' : auditWord(one),
      ]),
    );
  return section(
    'instances',
    'Instances',
    mergedLines(run).map((line) => note(line)),
    details('all-instances', `${count(merged.instances.length)} instances`, [
      table({ heads: ['instance', 'wallets', 'host', 'began', 'window', verified, tps, 'audit'], rows }),
      more > 0 && html`<p class="note">... and ${count(more)} more</p>`,
    ]),
  );
}

const MAX_INSTANCES = 200;

/**
 * The node's own metrics: first and last value and change. A metrics page does not reliably tell counters from gauges,
 * so both are shown.
 * @param {RunFile} run
 */
export function nodeMetrics({ intervals, probes }) {
  const read = intervals.flatMap(({ endMs, probes: { metrics } }) => (metrics === null ? [] : [{ endMs, ...metrics }]));
  const [first] = read;
  const last = read.at(-1);
  if (first === undefined || last === undefined) {
    const why = probes?.why.metrics ?? intervals.at(-1)?.probes.why.metrics ?? 'the run ended before its first report';
    return missingFigure('metrics', "The node's own metrics", why);
  }
  const seconds = (last.endMs - first.endMs) / 1000;
  const rows = Object.entries(last.series).map(([name, value]) => {
    const before = first.series[name] ?? null;
    const change = before === null || seconds <= 0 ? null : (value - before) / seconds;
    return row(html`<code>${name}</code>`, [digits(before), digits(value), quantity(change, 'perSecond')]);
  });
  const heads = ['series', 'first', 'last', 'change'];
  const own = scrollTable("The node's own metrics", { heads, rows });
  return details('node-metrics', `The node's own metrics (${rows.length})`, own);
}
