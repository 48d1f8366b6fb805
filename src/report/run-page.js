import { writeFileAtomically } from '../files.js';
import { END_WORDS } from '../outputs/summary.js';
import { auditResult } from '../stats/audit-result.js';
import { LISTED_COUNTS } from '../stats/metrics.js';
import { censoredOf } from '../stats/figures.js';
import { countedWords, isPlain } from '../stats/sample.js';
import { LIMIT_WORDS } from '../stats/verdict.js';
import { chartFigure, middle, missingFigure, sentence } from './charts.js';
import { quantity } from './client/quantity.js';
import { details, html, row, section, table } from './html.js';
import { commandLine, settingsOf } from './repeat.js';
import { noIntervals, runData } from './run-charts.js';
import * as sections from './run-sections.js';
import {
  badBadge,
  badge,
  chartBox,
  keyOf,
  latencyFigure,
  listSection,
  minuteOf,
  note,
  pageOf,
  passedBadge,
} from './sections.js';

/**
 * @import { Output, OutputOptions, RunFile } from '../types.d.ts'
 * @import { Chart } from './charts.js'
 * @import { Page, Part } from './html.js'
 * @import { OptionFacts, Setting } from './repeat.js'
 * @import { Drawn, RunData, Section } from './run-charts.js'
 * @import { LatencyName } from './sections.js'
 * @import { KeyFigure } from './sections.js'
 */

/** The page of one run: its verdict and key figures, charts, tables, and how to repeat the run. */

/**
 * @param {RunFile} run
 * @param {{options: readonly OptionFacts[], live?: Page['live']}} how options: all, for the command line
 * @returns {string} an HTML document
 */
export function runPage(run, { options, live }) {
  const { config, environment, startedAt } = run;
  const data = runData(run);
  const endpoint = environment.embeddedChain === true ? 'the embedded chain' : environment.endpoint;
  const where = endpoint === undefined || endpoint === null ? '' : ` on ${endpoint}`;
  const wallets = typeof config.threads === 'number' ? `${quantity(config.threads, 'count')} wallets, ` : '';
  return pageOf({
    title: `Run${where}, ${wallets}${minuteOf(startedAt)}`,
    verdict: verdict(run),
    badges: badges(run),
    figures: figures(run),
    main: mainOf(run, data, options),
    charts: [data.heat, ...data.drawn.flatMap((one) => ('chart' in one ? [one.chart] : []))],
    time: data.time,
    live,
  });
}

/** Writes the page to a file when the run is over. @param {OutputOptions} options @returns {Output} */
export function createReportOutput({ html: file, options }) {
  return {
    finish: (run) => writeFileAtomically(/** @type {string} */ (file), runPage(run, { options })),
  };
}

/** @param {RunFile} run @param {RunData} data @param {readonly OptionFacts[]} options */
function mainOf(run, data, options) {
  const charts = (/** @type {Section} */ name) =>
    data.drawn.filter(({ plan }) => plan.section === name).map((one) => figureOf(run, one));
  const [tps, latency, ...others] = charts('load');
  const heat = chartFigure(data.heat, { summary: heatSummary(run), isWide: true });
  const time =
    run.intervals.length > 0
      ? [zoomBar(), timeNote(data), chartBox([tps, latency, heat, ...others])]
      : [html`<p class="missing">${sentence(noIntervals(run))} There is nothing to draw over time.</p>`];
  return html`${listSection('warned', 'Warnings', run.warnings)}${sections.instances(run)}
  ${section('time', 'Over time', time)}
  ${sections.stages(run)}${sections.names(run)}${sections.rateStages(run)}${sections.endpoints(run)}
  ${sections.failures(run)} ${!isPlain(run) && section('blocks', 'Blocks', chartBox(charts('blocks')))}
  ${section('generator', 'The generator and its machine', chartBox(charts('generator')))}
  ${section('node', 'The node', chartBox(charts('node')), sections.nodeMetrics(run))}
  ${sections.thresholds(run)}${sections.audit(run)}${configuration(run, options)}${definitions(run)}`;
}

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
    html`<pre tabindex="0" role="group" aria-label="Command line">${commandLine(run.config, options)}</pre>`,
    note(notes),
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

/** @param {Record<string, any>} object @param {string} [prefix] @returns {Array<[string, string]>} */
function flat(object, prefix = '') {
  return Object.entries(object).flatMap(([name, value]) => {
    // Merged runs have no value where their instances differ.
    if (value === undefined) return [];
    if (value !== null && typeof value === 'object' && !Array.isArray(value)) return flat(value, `${prefix}${name}.`);
    return [[`${prefix}${name}`, Array.isArray(value) ? value.join(', ') : String(value)]];
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
    note(`Run ${id}, ${startedAt} to ${endedAt}, ${schema}.`),
  );
}

/** @param {RunFile} run */
function verdict(run) {
  const tps = run.rates.verifiedPerSecond;
  const p99 = latencyFigure(run.latency.total, censoredOf(run), 'p99');
  const what = isPlain(run) ? 'calls' : 'operations verified';
  const speed =
    tps === null
      ? 'Nothing was measured'
      : `${quantity(tps, 'plain')} ${what} per second${p99.value === null ? '' : `, p99 ${p99.text}`}`;
  if (run.end === 'running') return html`So far: ${speed}. The run has not ended.`;
  const limit =
    run.verdict === null ? 'there was nothing to judge' : (LIMIT_WORDS[run.verdict.name] ?? run.verdict.name);
  const result = auditResult(run);
  const audit =
    result === null
      ? 'no audit'
      : html`<span class="${result === 'exact' ? 'good' : 'bad'}">audit ${result.replace('_', ' ')}</span>`;
  return html`${speed}; ${limit}; ${audit}.`;
}

/** @param {RunFile} run */
function badges(run) {
  const { thresholds, counts, reorgs, warnings, end, exitCode } = run;
  const result = auditResult(run);
  const broken = counts.failed + counts.timedOut;
  return [
    result === null
      ? end !== 'running' && badge('no audit', 'plain')
      : badge(`audit ${result.replace('_', ' ')}`, result === 'exact' ? 'good' : 'bad'),
    passedBadge(thresholds, 'thresholds'),
    broken === 0 ? badge('no failures', 'good') : badge(`${quantity(broken, 'count')} failed or timed out`, 'bad'),
    reorgs.count > 0 && badge(`${reorgs.count} reorgs`, 'bad'),
    badBadge(warnings.length, 'warning'),
    badge(END_WORDS[end] ?? end, GOOD_ENDS.has(end) ? 'plain' : 'bad'),
    exitCode !== null && badge(`exit code ${exitCode}`, exitCode === 0 ? 'plain' : 'bad'),
  ];
}

const GOOD_ENDS = new Set(['duration', 'interrupted', 'running']);

/** @param {RunFile} run */
function droppedWords({ counts, window }) {
  const { dropped, scheduled } = window.counts;
  const where = dropped === counts.dropped ? '' : `${quantity(dropped, 'count')} of them in the window, `;
  return `no wallet was idle; ${where}where ${quantity(scheduled, 'count')} were due`;
}

/** @param {RunFile} run @returns {KeyFigure[]} */
function figures(run) {
  const { rates, latency, counts, generator, window, end } = run;
  const isOpenLoop = rates.askedPerSecond !== null;
  const { verified, one } = countedWords(isPlain(run));
  /** @param {LatencyName} name @param {string} label */
  const time = (name, label) => ({ name, label, ...latencyFigure(latency.total, censoredOf(run), name) });
  const { cpuUsPerVerified: cpuUs } = generator;
  const why = run.unmeasured['/generator/cpuUsPerVerified'];
  const all = [
    keyOf('tps', isPlain(run) ? 'Calls per second' : 'TPS', rates.verifiedPerSecond, 'plain', `${verified} per second`),
    isOpenLoop && keyOf('asked', 'Asked per second', rates.askedPerSecond, 'plain'),
    isOpenLoop && end !== 'running' && keyOf('achieved', 'Achieved per second', rates.achievedPerSecond, 'plain'),
    time('p50', 'Latency p50'),
    time('p99', 'Latency p99'),
    time('max', 'Slowest'),
    keyOf('counts.verified', isPlain(run) ? 'Answered' : 'Verified', counts.verified, 'count'),
    keyOf('counts.failed', 'Failed', counts.failed, 'count'),
    keyOf('counts.timedOut', 'Timed out', counts.timedOut, 'count'),
    (isOpenLoop || counts.dropped > 0) &&
      keyOf('counts.dropped', 'Dropped', counts.dropped, 'count', droppedWords(run)),
    ...LISTED_COUNTS.map(({ name, label, help }) =>
      keyOf(name, label, /** @type {Record<string, number>} */ (counts)[name] ?? null, 'count', help),
    ),
    { name: 'window', label: 'Window', value: window.durationMs, text: quantity(window.durationMs / 1000, 'seconds') },
    {
      ...keyOf('cpu', `CPU per ${one}`, cpuUs, 'plain', why === undefined ? 'of this generator' : sentence(why)),
      ...(cpuUs === null ? {} : { text: `${quantity(cpuUs, 'plain')} µs` }),
    },
  ];
  return all.filter((figure) => figure !== false);
}

function zoomBar() {
  const buttons = [
    ['left', '←', 'Earlier'],
    ['right', '→', 'Later'],
    ['in', '+', 'Zoom in'],
    ['out', '−', 'Zoom out'],
    ['all', 'Show all', 'Show all of the run'],
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
    return series.length === 1 ? sentence(middle(inWindow, unit)) : `${label}: ${middle(inWindow, unit)}`;
  });
  // Labels stay as they are in the legend: some are codes.
  const all = series.length === 1 ? parts[0] : `${parts.join('; ')}.`;
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
