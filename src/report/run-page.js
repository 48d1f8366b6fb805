import { END_WORDS } from '../outputs/summary.js';
import { auditResult } from '../stats/audit-result.js';
import { LISTED_COUNTS, censoredOf } from '../stats/metrics.js';
import { countedWords, isPlain } from '../stats/sample.js';
import { chartFigure, middle, missingFigure, sentence, spread } from './charts.js';
import { quantity } from './client/quantity.js';
import { details, html, renderPage, row, section, table } from './html.js';
import { commandLine, settingsOf } from './repeat.js';
import { runData } from './run-data.js';
import {
  audit,
  badge,
  endpoints,
  failures,
  instances,
  keyFigure,
  names,
  nodeMetrics,
  rateStages,
  stages,
  thresholds,
  warnings,
} from './run-sections.js';
import { latencyFigure } from './figures.js';

/**
 * @import { RunFile } from '../types.d.ts'
 * @import { Chart } from './charts.js'
 * @import { Page, Part } from './html.js'
 * @import { OptionFacts, Setting } from './repeat.js'
 * @import { Section } from './run-charts.js'
 * @import { Drawn, RunData } from './run-data.js'
 * @import { LatencyName } from './figures.js'
 * @import { KeyFigure } from './run-sections.js'
 */

/** The page of one run: its lead with verdict and key figures, charts, tables, and how to repeat the run. */

/** @param {RunFile} run @param {readonly OptionFacts[]} options */
function configuration(run, options) {
  const settings = settingsOf(run.config, options);
  const rows = (/** @type {Setting[]} */ all) =>
    table({ rows: all.map(({ name, text }) => row(html`<code>--${name}</code>`, [text])), style: 'wraps' });
  const secrets = settings.flatMap(({ variable }) => variable ?? []);
  const notes = [
    secrets.length > 0 && `Secrets are in no run file: set ${secrets.join(' and ')} as before. `,
    run.environment.embeddedChain === true && 'The chain was embedded: a new one is started each time.',
  ];
  return section(
    'repeat',
    'How to repeat it',
    html`<pre tabindex="0" aria-label="Command line">${commandLine(run.config, options)}</pre>`,
    html`<p class="note">${notes}</p>`,
    details(
      'settings',
      'Configuration: what differs from the defaults',
      rows(settings.filter((one) => !one.isDefault)),
    ),
    details('defaults', 'Configuration: defaults', rows(settings.filter((one) => one.isDefault))),
    details(
      'environment',
      'Environment',
      table({ rows: flat(run.environment).map(([name, value]) => row(name, [value])), style: 'wraps' }),
    ),
  );
}

/** @param {Record<string, unknown>} object @param {string} [prefix] @returns {Array<[string, string]>} */
function flat(object, prefix = '') {
  return Object.entries(object).flatMap(([name, value]) => {
    if (value !== null && typeof value === 'object' && !Array.isArray(value))
      return flat(/** @type {Record<string, unknown>} */ (value), `${prefix}${name}.`);
    return [
      /** @type {[string, string]} */ ([`${prefix}${name}`, Array.isArray(value) ? value.join(', ') : String(value)]),
    ];
  });
}

/** @param {RunFile} run */
function definitions({ id, startedAt, endedAt, schema, definitions: words, unmeasured }) {
  const pairs = (/** @type {Array<[Part, string]>} */ all) =>
    html`<dl class="words">
      ${all.map(
        ([name, text]) =>
          html`<dt>${name}</dt>
            <dd>${text}</dd>`,
      )}
    </dl>`;
  const missing = Object.entries(unmeasured).map(
    ([name, why]) => /** @type {[Part, string]} */ ([html`<code>${name}</code>`, sentence(why)]),
  );
  return section(
    'meaning',
    'What the figures mean',
    details('words', 'Definitions', pairs(Object.entries(words))),
    missing.length > 0 && details('unmeasured', 'What was not measured, and why', pairs(missing)),
    html`<p class="note">Run ${id}, ${startedAt} to ${endedAt}, ${schema}.</p>`,
  );
}

/** @param {RunFile} run */
function titleOf({ config, environment, startedAt }) {
  const endpoint = environment.embeddedChain === true ? 'the embedded chain' : environment.endpoint;
  const where = endpoint === undefined || endpoint === null ? '' : ` of ${endpoint}`;
  return `Run${where}, ${wallets(config)}${startedAt.slice(0, 16).replace('T', ' ')} UTC`;
}

/** @param {Record<string, unknown>} config */
function wallets({ threads }) {
  return typeof threads === 'number' ? `${quantity(threads, 'count')} wallets, ` : '';
}

/** @param {RunFile} run */
function lead(run) {
  const censored = censoredOf(run);
  return html`<p class="verdict">${verdict(run, censored)}</p>
    <ul class="badges">
      ${badges(run)}
    </ul>
    <dl class="figures">${figures(run, censored).map(keyFigure)}</dl>`;
}

/** @typedef {Parameters<typeof latencyFigure>[1]} Censored */

/** @param {RunFile} run @param {Censored} censored */
function verdict(run, censored) {
  const { rates, latency } = run;
  const tps = rates.verifiedPerSecond;
  const p99 = latencyFigure(latency.total, censored, 'p99');
  const what = isPlain(run) ? 'calls' : 'operations verified';
  const speed =
    tps === null
      ? 'Nothing was measured'
      : `${quantity(tps, 'plain')} ${what} per second${p99.value === null ? '' : `, p99 ${p99.text}`}`;
  if (run.end === 'running') return html`So far: ${speed}. The run had not ended.`;
  return html`${speed}; ${limit(run)}; ${auditWords(run)}.`;
}

/** @param {RunFile} run */
function limit({ verdict: found }) {
  if (found === null) return 'there was nothing to judge';
  return (
    {
      'endpoint-down': 'the endpoint was down',
      funds: 'wallets without funds were the limit',
      'port-bound': 'local ports were the limit',
      'endpoint-limited': 'a limit that the endpoint sets (429, Retry-After) was the limit',
      'generator-bound': 'this generator was the limit',
      'rate-bound': 'the rate asked for was the limit',
      'node-bound': 'the node was the limit',
      'concurrency-bound': 'the number of wallets was the limit, not the node',
      unknown: 'the limit is unknown',
    }[found.name] ?? found.name
  );
}

/** @param {RunFile} run */
function auditWords(run) {
  const result = auditResult(run);
  return result === null
    ? 'no audit'
    : html`<span class="${result === 'exact' ? 'good' : 'bad'}">audit ${result.replace('_', ' ')}</span>`;
}

/** @param {RunFile} run */
function badges(run) {
  const result = auditResult(run);
  const failed = run.thresholds.filter(({ passed }) => !passed).length;
  const broken = run.counts.failed + run.counts.timedOut;
  return [
    result === null
      ? run.end !== 'running' && badge('no audit', 'plain')
      : badge(`audit ${result.replace('_', ' ')}`, result === 'exact' ? 'good' : 'bad'),
    run.thresholds.length > 0 &&
      badge(
        failed === 0
          ? `all ${run.thresholds.length} thresholds hold`
          : `${failed} of ${run.thresholds.length} thresholds failed`,
        failed === 0 ? 'good' : 'bad',
      ),
    badge(
      broken === 0 ? 'no failures' : `${quantity(broken, 'count')} failed or timed out`,
      broken === 0 ? 'good' : 'bad',
    ),
    run.reorgs.count > 0 && badge(`${run.reorgs.count} reorgs`, 'bad'),
    run.warnings.length > 0 && badge(`${run.warnings.length} warning${run.warnings.length === 1 ? '' : 's'}`, 'bad'),
    badge(END_WORDS[run.end] ?? run.end, GOOD_ENDS.has(run.end) ? 'plain' : 'bad'),
    run.exitCode !== null && badge(`exit code ${run.exitCode}`, run.exitCode === 0 ? 'plain' : 'bad'),
  ];
}

const GOOD_ENDS = new Set(['duration', 'interrupted', 'running']);

/** @param {RunFile} run */
function droppedWords({ counts, window }) {
  const { dropped, scheduled } = window.counts;
  const where = dropped === counts.dropped ? '' : `${quantity(dropped, 'count')} of them in the window, `;
  return `no wallet was idle; ${where}where ${quantity(scheduled, 'count')} were due`;
}

/** @param {RunFile} run @param {Censored} censored @returns {KeyFigure[]} */
function figures(run, censored) {
  const { rates, latency, counts, generator, window } = run;
  const isOpenLoop = rates.askedPerSecond !== null;
  /** @param {LatencyName} name @param {string} label */
  const time = (name, label) => ({ name, label, ...latencyFigure(latency.total, censored, name) });
  /** @param {string} name @param {string} label @param {number | null} value */
  const rate = (name, label, value) => ({ name, label, value, text: quantity(value, 'plain') });
  /** @param {string} name @param {string} label @param {number} value */
  const count = (name, label, value) => ({ name, label, value, text: quantity(value, 'count') });
  const why = run.unmeasured['/generator/cpuUsPerVerified'];
  return [
    {
      ...rate('tps', isPlain(run) ? 'Calls per second' : 'TPS', rates.verifiedPerSecond),
      note: `${countedWords(isPlain(run)).verified} per second`,
    },
    ...(isOpenLoop
      ? [
          rate('asked', 'Asked per second', rates.askedPerSecond),
          ...(run.end === 'running' ? [] : [rate('achieved', 'Achieved per second', rates.achievedPerSecond)]),
        ]
      : []),
    time('p50', 'Latency p50'),
    time('p99', 'Latency p99'),
    time('max', 'Slowest'),
    count('counts.verified', isPlain(run) ? 'Answered' : 'Verified', counts.verified),
    count('counts.failed', 'Failed', counts.failed),
    count('counts.timedOut', 'Timed out', counts.timedOut),
    ...(isOpenLoop || counts.dropped > 0
      ? [{ ...count('counts.dropped', 'Dropped', counts.dropped), note: droppedWords(run) }]
      : []),
    ...LISTED_COUNTS.map(({ name, label, help }) => {
      const value = /** @type {Record<string, number>} */ (counts)[name] ?? null;
      return { name, label, value, text: quantity(value, 'count'), note: help };
    }),
    { name: 'window', label: 'Window', value: window.durationMs, text: quantity(window.durationMs / 1000, 'seconds') },
    {
      name: 'cpu',
      label: `CPU per ${countedWords(isPlain(run)).one}`,
      value: generator.cpuUsPerVerified,
      text: generator.cpuUsPerVerified === null ? '–' : `${quantity(generator.cpuUsPerVerified, 'plain')} µs`,
      note: why === undefined ? 'of this generator' : sentence(why),
    },
  ];
}

/**
 * @param {RunFile} run
 * @param {{options: readonly OptionFacts[], live?: Page['live']}} how options: all, for the command line
 * @returns {string} an HTML document
 */
export function runPage(run, { options, live }) {
  const drawn = runData(run);
  const charts = [drawn.heat, ...drawn.drawn.flatMap((one) => ('chart' in one ? [one.chart] : []))];
  const data = { time: drawn.time, charts };
  return renderPage({ title: titleOf(run), lead: lead(run), main: mainOf(run, drawn, options), data, live });
}

/** @param {RunFile} run @param {RunData} data @param {readonly OptionFacts[]} options */
function mainOf(run, data, options) {
  const { drawn } = data;
  const charts = (/** @type {Section} */ name) =>
    drawn.filter(({ plan }) => plan.section === name).map((one) => figureOf(run, one));
  const [tps, latency, ...others] = charts('load');
  const hasTime = run.intervals.length > 0;
  const over = html`<p class="missing">The run ended before its first report: there is nothing to draw over time.</p>`;
  const heat = chartFigure(data.heat, { summary: heatSummary(run), isWide: true });
  const box = (/** @type {Part[]} */ figures) => html`<div class="charts">${figures}</div>`;
  return html`${warnings(run)}${instances(run)}
  ${section('time', 'Over time', hasTime ? [zoomBar(), timeNote(data)] : over, box(hasTime ? [tps, latency, heat, ...others] : []))}
  ${stages(run)}${names(run)}${rateStages(run)}${endpoints(run)}${failures(run)}
  ${!isPlain(run) && section('blocks', 'Blocks', box(charts('blocks')))}
  ${section('generator', 'The generator and its machine', box(charts('generator')))}
  ${section('node', 'The node', box(charts('node')), nodeMetrics(run))}
  ${thresholds(run)}${audit(run)}${configuration(run, options)}${definitions(run)}`;
}

function zoomBar() {
  const buttons = [
    ['left', '←', 'Earlier'],
    ['right', '→', 'Later'],
    ['in', '+', 'Zoom in'],
    ['out', '−', 'Zoom out'],
    ['all', 'Show all', 'Show the whole run'],
  ];
  return html`<div class="zoom" role="toolbar" aria-label="Time shown by all charts">
    <span id="zoomed" role="status"></span>${buttons.map(
      ([name, text, label]) => html`<button type="button" data-zoom="${name}" aria-label="${label}">${text}</button>`,
    )}
  </div>`;
}

/** @param {RunData} data */
function timeNote({ time: { phases, marks } }) {
  const names = [...new Set(phases.map(({ name }) => name))];
  const kinds = new Set(marks.map(({ kind }) => kind));
  return html`<p class="note">
    <span class="needs-script">Drag over a chart to zoom all of them; double-click shows the whole run again.</span>
    ${names.length > 0 && html` Shaded: ${names.join(' and ')}, outside of the measured window.`}
    ${kinds.has('failure') && html` <span class="bad">▾</span> operations failed.`}
    ${kinds.has('reorg') && html` ◆ blocks left the chain.`}
  </p>`;
}

/** @param {RunFile} run @param {Drawn} one */
function figureOf(run, one) {
  const { plan } = one;
  if ('why' in one) return missingFigure(plan.id, plan.title, one.why);
  const { isWide, note } = plan;
  return chartFigure(one.chart, { summary: summaryOf(run, one.chart), isWide, note });
}

/** One sentence on the values in the window. @param {RunFile} run @param {Chart} chart */
function summaryOf(run, chart) {
  const { series, unit, isLog } = chart;
  const isInWindow = run.intervals.map(({ phase }) => phase === 'load');
  const hasWindow = isInWindow.includes(true);
  const parts = series.map(({ label, values }) => {
    const inWindow = values.filter((_, i) => !hasWindow || isInWindow[i]);
    return series.length === 1 ? spread(inWindow, unit) : `${label} ${middle(inWindow, unit)}`;
  });
  const all = sentence(parts.join('; '));
  return isLog ? `${all} The scale is logarithmic.` : all;
}

/** @param {RunFile} run */
function heatSummary(run) {
  const { latency, intervals } = run;
  const all = intervals.reduce((sum, row) => sum + row.latency.count, 0);
  const { verified, many } = countedWords(isPlain(run));
  const words = `All ${quantity(all, 'count')} ${many} that were ${verified}, by when and how long they took`;
  if (latency.total.count === 0) return `${words}.`;
  const names = /** @type {const} */ (['p50', 'p99', 'max']);
  const figures = names.map((name) => `${name} ${latencyFigure(latency.total, censoredOf(run), name).text}`);
  return `${words}. In the window: ${figures.join(', ')}.`;
}
