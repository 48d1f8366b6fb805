import { censoredOf } from '../metrics/figures.js';
import { chartFigure, middle, missingFigure, sentence, spread } from './charts.js';
import { quantity } from './client/quantity.js';
import { latencyFigure } from './figures.js';
import { html } from './html.js';
import { renderPage } from './page.js';
import { chartsOf, runData } from './run-data.js';
import { configuration, definitions } from './run-about.js';
import { endpoints } from './run-endpoints.js';
import { names } from './run-names.js';
import { stages } from './run-stages.js';
import { instances } from './merged-section.js';
import { audit, failures, thresholds, warnings } from './run-sections.js';
import { lead, titleOf } from './run-lead.js';
import { nodeMetrics } from './node-metrics.js';
import { countedWords, isPlain } from '../metrics/sample.js';

/**
 * @import { RunFile } from '../metrics/summary.js'
 * @import { Chart } from './charts.js'
 * @import { Html } from './html.js'
 * @import { OptionFacts } from './repeat.js'
 * @import { Section } from './run-charts.js'
 * @import { Drawn, RunData } from './run-data.js'
 */

/**
 * The page of one run.
 */

/**
 * @param {RunFile} run
 * @param {{options: readonly OptionFacts[], liveSince?: number, top?: Html}} how options: all there are,
 *   to say how to repeat it; liveSince: as a page has it; top: its lead, where that is another
 * @returns {string} an HTML document
 */
export function runPage(run, { options, liveSince, top }) {
  const parts = runParts(run, options);
  return renderPage({ ...parts, lead: top ?? parts.lead, ...(liveSince === undefined ? {} : { liveSince }) });
}

/**
 * What a page consists of, for one that is there already.
 * @param {RunFile} run
 * @param {readonly OptionFacts[]} options
 */
export function runParts(run, options) {
  const drawn = runData(run);
  const charts = [drawn.heat, ...drawn.drawn.flatMap((one) => ('chart' in one ? [one.chart] : []))];
  return {
    title: titleOf(run),
    lead: lead(run),
    main: mainOf(run, drawn, options),
    data: { time: drawn.time, charts },
  };
}

/** The parts of a page that change while the run goes on, by their ids; charts grow by themselves. @param {RunFile} run @returns {Record<string, string>} */
export function runSections(run) {
  const parts = {
    lead: lead(run),
    warnings: warnings(run),
    stages: stages(run),
    names: names(run),
    endpoints: endpoints(run),
    failures: failures(run),
    thresholds: thresholds(run),
  };
  const captions = chartsOf(run).flatMap((one) =>
    'chart' in one ? [[`caption-${one.chart.id}`, html`${summaryOf(run, one.chart)}`]] : [],
  );
  const all = [...Object.entries(parts), ...captions, ['caption-heat', html`${heatSummary(run)}`]];
  return Object.fromEntries(all.map(([id, part]) => [id, String(part || '')]));
}

/** @param {RunFile} run @param {RunData} data @param {readonly OptionFacts[]} options */
function mainOf(run, data, options) {
  const { drawn } = data;
  const section = (/** @type {Section} */ name) =>
    drawn.filter(({ plan }) => plan.section === name).map((one) => figureOf(run, one));
  const [tps, latency, ...others] = section('load');
  const hasTime = run.intervals.length > 0;
  return html`<div id="warnings">${warnings(run)}</div>
    ${instances(run)}
    <section aria-labelledby="time">
      <h2 id="time">Over time</h2>
      ${hasTime ? html`${zoomBar()}${timeNote(data)}` : html`<p class="missing">The run ended before its first report: there is nothing to draw over time.</p>`}
      <div class="charts">
        ${hasTime && html`${tps}${latency}${chartFigure(data.heat, { summary: heatSummary(run), isWide: true })}${others}`}
      </div>
    </section>
    <div id="stages">${stages(run)}</div>
    <div id="names">${names(run)}</div>
    <div id="endpoints">${endpoints(run)}</div>
    <div id="failures">${failures(run)}</div>
    ${
      !isPlain(run) &&
      html`<section aria-labelledby="blocks">
        <h2 id="blocks">Blocks</h2>
        <div class="charts">${section('blocks')}</div>
      </section>`
    }
    <section aria-labelledby="generator">
      <h2 id="generator">The generator and its machine</h2>
      <div class="charts">${section('generator')}</div>
    </section>
    <section aria-labelledby="node">
      <h2 id="node">The node</h2>
      <div class="charts">${section('node')}</div>
      ${nodeMetrics(run)}
    </section>
    <div id="thresholds">${thresholds(run)}</div>
    <div id="audit">${audit(run)}</div>
    ${configuration(run, options)} ${definitions(run)}`;
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

/** What a chart says, in one sentence about the window. @param {RunFile} run @param {Chart} chart */
export function summaryOf(run, chart) {
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
