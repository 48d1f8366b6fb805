import { writeFileAtomically } from '../files.js';
import { boundedMs, figure } from '../outputs/format.js';
import { groupTables, latencyTable, overviewTable, thresholdsTable } from '../outputs/run-tables.js';
import { endText } from '../outputs/summary.js';
import { auditResult } from '../stats/audit-result.js';
import { censoredOf, figureOf } from '../stats/figures.js';
import { isPlain } from '../stats/sample.js';
import { LIMIT_WORDS } from '../stats/verdict.js';
import { chartBox, sentence } from './charts.js';
import { quantity } from './client/quantity.js';
import { details, html, renderPage, section } from './html.js';
import { noIntervals, runData } from './run-charts.js';
import * as sections from './run-sections.js';
import { badBadge, badge, dataTable, listSection, minuteOf, note, passedBadge, tableSection } from './sections.js';

/**
 * @import { Output, OutputOptions } from '../contracts/output.d.ts'
 * @import { RunFile } from '../contracts/run-file.d.ts'
 * @import { Part } from './html.js'
 * @import { RunData } from './run-charts.js'
 */

/** The page of one run: its verdict and figures, charts, tables, and how to repeat the run. */

/**
 * @param {RunFile} run
 * @param {number} [live] version of the page, while the run goes on
 * @returns {string} an HTML document
 */
export function runPage(run, live) {
  const { config, environment, startedAt } = run;
  const data = runData(run);
  const endpoint = environment.embeddedChain === true ? 'the embedded chain' : environment.endpoint;
  const where = endpoint === undefined || endpoint === null ? '' : ` on ${endpoint}`;
  const wallets = typeof config.threads === 'number' ? `${quantity(config.threads)} wallets, ` : '';
  return renderPage({
    title: `Run${where}, ${wallets}${minuteOf(startedAt)}`,
    verdict: verdict(run),
    badges: badges(run),
    figures: figures(run),
    main: mainOf(run, data),
    charts: Object.values(data.charts).flat(),
    time: data.time,
    live,
  });
}

/** Writes the page to a file when the run is over. @param {OutputOptions} options @returns {Output} */
export function createReportOutput({ html: file }) {
  return {
    finish: async (run) => {
      if (run.end !== 'set_up_failed') await writeFileAtomically(/** @type {string} */ (file), runPage(run));
    },
  };
}

/** The main figures, and the latencies that matter most. @param {RunFile} run @returns {string[][]} */
function figures(run) {
  const { head, rows } = latencyTable(run);
  const latencies = ['p50', 'p99', 'max'].map((name) => [`latency ${name}`, `${rows[0][head.indexOf(name)]} ms`, '']);
  const { rows: all } = overviewTable(run);
  // In an open loop the rate that was held comes first.
  const main = all.splice(0, run.rates.askedPerSecond === null ? 1 : 2);
  return [...main, ...latencies, ...all, ['window', quantity(run.window.durationMs / 1000, 's'), '']];
}

/** @param {RunFile} run @param {RunData} data */
function mainOf(run, data) {
  const { load, blocks, generator, node } = data.charts;
  const time =
    run.intervals.length > 0
      ? [timeNote(data), chartBox(load)]
      : [html`<p class="missing">${sentence(noIntervals(run))} There is nothing to draw over time.</p>`];
  return html`${listSection('warned', 'Warnings', run.warnings)}${sections.instances(run)}
  ${section('time', 'Over time', time)} ${sections.stages(run)}
  ${groupTables(run).map((table) => tableSection(table))}${sections.endpointEvents(run)} ${sections.failures(run)}
  ${sections.reorgs(run)} ${blocks.length > 0 && section('blocks', 'Blocks', chartBox(blocks))}
  ${section('generator', 'The generator and its machine', chartBox(generator))}
  ${section('node', 'The node', chartBox(node), sections.nodeMetrics(run))}
  ${run.thresholds.length > 0 && tableSection(thresholdsTable(run))}${sections.audit(run)}${sections.consistency(run)}${configuration(run)}${definitions(run)}`;
}

/** @param {RunFile} run */
function configuration(run) {
  const { config, environment } = run;
  const { commandLine, ...facts } = environment;
  /** @param {string} id @param {string} title @param {Record<string, unknown>} all */
  const table = (id, title, all) => details(id, title, dataTable({ title, head: [], rows: flat(all) }));
  const isKnown = typeof commandLine === 'string';
  return section(
    'repeat',
    'How to repeat it',
    isKnown && html`<pre tabindex="0" role="group" aria-label="Command line">${commandLine}</pre>`,
    note([
      Object.values(config).includes('[redacted]') && 'Secrets are in no run file: set them as before. ',
      environment.embeddedChain === true && 'The chain was embedded: a new one is started each time. ',
      isKnown && Boolean(run.merged) && 'The command line is that of the first instance.',
    ]),
    table('settings', 'Configuration', config),
    table('environment', 'Environment', facts),
  );
}

/** @param {Record<string, any>} object @param {string} [prefix] @returns {Array<[string, string]>} */
function flat(object, prefix = '') {
  return Object.entries(object).flatMap(([name, value]) => {
    // Merged runs have no value where their instances differ.
    if (value === undefined || value === null) return [];
    if (typeof value === 'object' && !Array.isArray(value)) return flat(value, `${prefix}${name}.`);
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
  const { latency } = run;
  const p99 = latency.total.count === 0 ? '' : `, p99 ${boundedMs(latency.total, censoredOf(run), ['p99'])} ms`;
  const what = isPlain(run) ? 'calls' : 'operations verified';
  const speed = tps === null ? 'Nothing was measured' : `${figure(tps)} ${what} per second${p99}`;
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
    broken === 0 ? badge('no failures', 'good') : badge(`${quantity(broken)} failed or timed out`, 'bad'),
    badBadge(figureOf('violations')?.read(run) ?? 0, 'contradiction'),
    reorgs.count > 0 && badge(`${reorgs.count} reorgs`, 'bad'),
    badBadge(warnings.length, 'warning'),
    badge(endText(run), GOOD_ENDS.has(end) ? 'plain' : 'bad'),
    exitCode !== null && badge(`exit code ${exitCode}`, exitCode === 0 ? 'plain' : 'bad'),
  ];
}

const GOOD_ENDS = new Set(['duration', 'interrupted', 'running']);

/** @param {RunData} data */
function timeNote({ time: { phases } }) {
  const names = [...new Set(phases.map(({ name }) => name))];
  return html`<p class="note">
    <span class="needs-script">Drag over a chart to zoom all of them; double-click shows the whole run again.</span>
    ${names.length > 0 && html` Shaded: ${names.join(' and ')}, outside of the measured window.`}
  </p>`;
}
