import { instancesTable, latencyTable } from '../outputs/run-tables.js';
import { auditLines, consistencyLines, mergedLines } from '../outputs/summary.js';
import { auditResult } from '../stats/audit-result.js';
import { endpointsOf } from '../stats/recorder.js';
import { reorgInWords } from '../stats/reorgs.js';
import { STAGES } from '../stats/figures.js';
import { countedWords, isPlain } from '../stats/sample.js';
import { LOOKS, missingFigure, sentence } from './charts.js';
import { digits, quantity } from './client/quantity.js';
import { details, html, list, section } from './html.js';
import { ms, noIntervals } from './run-charts.js';
import { dataTable, listSection, note, tableSection } from './sections.js';

/**
 * The sections of a run's page with tables; '' or false where the run has nothing to show.
 *
 * @import { DistributionJson, EndpointFacts, RunFile } from '../contracts/run-file.d.ts'
 */

/** @param {RunFile} run */
export function failures({ failures: codes, failureWords, counts }) {
  const rows = Object.entries({ ...codes, timed_out: counts.timedOut, abandoned: counts.abandoned })
    .filter(([, times]) => times > 0)
    .sort((a, b) => b[1] - a[1])
    .map(([code, times]) => [
      ...[code, quantity(times), quantity((100 * times) / Math.max(1, counts.started), '%')],
      failureWords[code] ?? Object.entries(failureWords).find(([key]) => key.startsWith(`${code} of `))?.[1] ?? '',
    ]);
  const head = ['code', 'operations', 'of those begun', 'words of the first'];
  const none = html`<p class="good">✓ No operation failed, timed out or was abandoned.</p>`;
  return rows.length === 0
    ? section('failed', 'Failures', none)
    : tableSection({ id: 'failed', title: 'Failures', head, rows });
}

/** @param {RunFile} run */
export function reorgs({ reorgs: { count, events } }) {
  const more = count > events.length ? [`and ${quantity(count - events.length)} more`] : [];
  const lines = events.map((event) => `${(event.atMs / 1000).toFixed(1)} s: ${reorgInWords(event)}`);
  return listSection('reorgs', 'Reorgs', [...lines, ...more]);
}

/** @param {RunFile} run */
export function audit(run) {
  const { verdict } = run;
  const result = auditResult(run);
  const kind = result === null ? 'missing' : result === 'exact' ? 'good' : 'bad';
  const sign = result === null ? '' : { exact: '✓ ', incomplete: '– ', not_exact: '✗ ' }[result];
  const [first, ...lines] = auditLines(run);
  const limit = verdict && html`<p><strong>${verdict.name}</strong>: ${sentence(verdict.evidence)}</p>`;
  return html`${limit && section('limit', 'What limited the run', limit)}
  ${section(
    'audited',
    'Audit on the chain',
    html`<p class="${kind}">${sign}${sentence(first)}</p>`,
    lines.length > 0 && list(lines.map(sentence)),
  )}`;
}

/** What --check consistency found, with commands that show the first examples. @param {RunFile} run */
export function consistency(run) {
  const [first, ...lines] = consistencyLines(run);
  if (first === undefined) return '';
  const examples = Object.entries(run.consistency?.violations ?? {}).flatMap(([code, violation]) =>
    violation.examples.map(
      ({ endpoint, at, words, commands }) =>
        html`<p>${`${code}, ${endpoint}, ${at}: ${words}`}</p>
          <pre tabindex="0" role="group" aria-label="Commands">${commands.join('\n')}</pre>`,
    ),
  );
  const kind = first.includes('no contradiction') ? 'good' : 'bad';
  return section(
    'consistent',
    'Consistency of the answers',
    html`<p class="${kind}">${kind === 'good' ? '✓' : '✗'} ${sentence(first)}</p>`,
    lines.length > 0 && list(lines.map(sentence)),
    examples.length > 0 && details('contradictions', 'Examples, and two requests that contradict each other', examples),
  );
}

/** @param {RunFile} run */
export function stages(run) {
  const { stages: all } = run.latency;
  const { verified, one } = countedWords(isPlain(run));
  // Colours as in the chart of the stages.
  const parts = STAGES.map(({ name, label }, i) => ({ label, color: LOOKS[i].color, of: all[name] })).filter(
    ({ of }) => of?.sumUs > 0,
  );
  const allUs = parts.reduce((sum, { of }) => sum + of.sumUs, 0);
  const words = parts.map(
    ({ label, of }) => `${label} ${quantity(ms(of.meanUs), 'ms')} (${quantity((100 * of.sumUs) / allUs, '%')})`,
  );
  return tableSection(
    latencyTable(run),
    ...(allUs > 0
      ? [html`<p>${sentence(`On average: ${words.join(', ')}`)}</p>`, bar(parts, allUs, words)]
      : [html`<p class="missing">No ${one} was ${verified} in the window.</p>`]),
  );
}

/** @param {Array<{color: number, of: DistributionJson}>} parts @param {number} allUs @param {string[]} words */
function bar(parts, allUs, words) {
  let left = 0;
  const rects = parts.map(({ color, of }, i) => {
    const width = (100 * of.sumUs) / allUs;
    left += width;
    const [x, w] = [left - width, width].map((part) => part.toFixed(2));
    return html`<rect x="${x}%" y="0" width="${w}%" height="28" class="fill-${color}"
      ><title>${words[i]}</title></rect
    >`;
  });
  const label = 'Shares of the stages in the latency; the table below has the numbers';
  return html`<svg class="share" role="img" aria-label="${label}">${rects}</svg>`;
}

/** When endpoints were down. @param {RunFile} run */
export function endpointEvents(run) {
  const all = endpointsOf(run);
  const known = /** @type {Array<EndpointFacts>} */ (run.generator.endpoints ?? []);
  const lines = known
    .flatMap(({ events }, i) => events.map((event) => ({ ...event, display: all[i]?.display })))
    .sort((a, b) => a.atMs - b.atMs)
    .map(({ atMs, isBack, words, display }) => {
      const what = isBack ? 'is back ' : 'is down, requests go to the others: ';
      return `${(atMs / 1000).toFixed(1)} s: ${display} ${what}${words}`;
    });
  return all.length > 0 && lines.length > 0 && section('outages', 'Outages of endpoints', list(lines));
}

const MAX_INSTANCES = 200;

/** The instances of a merged run. @param {RunFile} run */
export function instances(run) {
  const { merged } = run;
  if (!merged) return '';
  const table = instancesTable(run, merged, MAX_INSTANCES);
  return section(
    'instances',
    'Instances',
    mergedLines(merged).map((line) => note(line)),
    details('all-instances', table.title, [dataTable(table), table.note !== undefined && note(table.note)]),
  );
}

/** First and last value and change: a metrics page does not reliably tell counters from gauges. @param {RunFile} run */
export function nodeMetrics({ end, intervals, probes }) {
  const read = intervals.flatMap(({ endMs, probes: { metrics } }) => (metrics === null ? [] : [{ endMs, ...metrics }]));
  const [first] = read;
  const last = read.at(-1);
  const title = "The node's own metrics";
  if (first === undefined || last === undefined) {
    const why = probes?.why.metrics ?? intervals.at(-1)?.probes.why.metrics ?? noIntervals({ end });
    return missingFigure('metrics', title, why);
  }
  const elapsed = (last.endMs - first.endMs) / 1000;
  const rows = Object.entries(last.series).map(([name, value]) => {
    const { [name]: before = null } = first.series;
    const change = before === null || value === null || elapsed <= 0 ? null : (value - before) / elapsed;
    return [name, digits(before), digits(value), quantity(change, '/s')];
  });
  const table = { title, head: ['series', 'first', 'last', 'change'], rows };
  return details('node-metrics', `${title} (${rows.length})`, dataTable(table));
}
