import { writeFileAtomically } from '../files.js';
import { boundedMs } from '../outputs/format.js';
import { definitionsTable } from '../outputs/run-facts.js';
import { latencyTable, overviewTable } from '../outputs/run-tables.js';
import { endText, runTables } from '../outputs/summary.js';
import { tableOf } from '../outputs/table.js';
import { auditResult } from '../stats/audit-result.js';
import { censoredOf, figureOf } from '../stats/figures.js';
import { isPlain } from '../stats/sample.js';
import { LIMIT_WORDS } from '../stats/verdict.js';
import { chartBox, sentence } from './charts.js';
import { digits, quantity, seconds } from '../text.js';
import { html, renderPage, section } from './html.js';
import { noIntervals, runData } from './run-charts.js';
import * as sections from './run-sections.js';
import { badBadge, badge, listSection, minuteOf, note, passedBadge, tableDetails, tableSection } from './sections.js';

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
    figures: tiles(run),
    main: html`${sectionsOf(run, data)}`,
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

/** Figures that have no tile; the table has all. */
const WITHOUT_TILE = ['attempts', 'abandoned', 'in flight'];

/** The main figures, and the latencies that matter most. @param {RunFile} run @returns {Array<readonly string[]>} */
function tiles(run) {
  const { columns, rows } = latencyTable(run);
  const latencies = ['p50', 'p99', 'max'].map((name) => [
    `latency ${name}`,
    `${rows[0][columns.indexOf(name)]} ms`,
    '',
  ]);
  const all = overviewTable(run).rows.filter(([label]) => !WITHOUT_TILE.includes(label));
  // In an open loop the rate that was held comes first.
  const main = all.splice(0, run.rates.askedPerSecond === null ? 1 : 2);
  return [...main, ...latencies, ...all, ['window', seconds(run.window.durationMs), '']];
}

/** All sections in their order. @param {RunFile} run @param {RunData} data @returns {Part[]} */
function sectionsOf(run, data) {
  const { blocks, generator, node } = data.charts;
  const tables = runTables(run);
  /** @param {string} id @param {Part[]} [before] @param {Part[]} [after] */
  const table = (id, before, after) => {
    const found = tables.find((one) => one.id === id);
    return found && tableSection(found, before, after);
  };
  const doubts = tables.filter(({ id }) => id === 'doubts').flatMap(({ rows }) => rows.map(([, words]) => words));
  const others = run.warnings.filter((words) => !doubts.includes(words));
  return [
    table('doubts'),
    listSection('warned', 'Warnings', others),
    table('instances'),
    table('all-instances'),
    section('time', 'Over time', overTime(run, data)),
    table('figures'),
    table('where', sections.shares(run)),
    ...['promises', 'by-name', 'by-endpoint', 'by-stage'].map((id) => table(id)),
    sections.endpointEvents(run),
    table('failed'),
    table('differences'),
    sections.reorgs(run),
    blocks.length > 0 && section('blocks', 'Blocks', chartBox(blocks)),
    section('generator', 'The generator and its machine', chartBox(generator)),
    section('node', 'The node', chartBox(node), sections.nodeMetrics(run)),
    table('conditions'),
    table('limits'),
    table('limit'),
    table('audited'),
    table('consistent', [], sections.contradictions(run)),
    configuration(run),
    meaning(run),
  ];
}

/** @param {RunFile} run @param {RunData} data @returns {Part[]} */
function overTime(run, data) {
  return run.intervals.length > 0
    ? [timeNote(data), chartBox(data.charts.load)]
    : [html`<p class="missing">${sentence(noIntervals(run))} There is nothing to draw over time.</p>`];
}

/** @param {RunFile} run */
function configuration(run) {
  const { config, environment } = run;
  const { commandLine, ...facts } = environment;
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
    tableDetails(tableOf('settings', 'Configuration', [], flat(config))),
    tableDetails(tableOf('environment', 'Environment', [], flat(facts))),
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
function meaning(run) {
  const { id, startedAt, endedAt, schema, unmeasured } = run;
  return section(
    'meaning',
    'What the figures mean',
    tableDetails(definitionsTable(run)),
    tableDetails(tableOf('unmeasured', 'What was not measured, and why', [], Object.entries(unmeasured))),
    note(`Run ${id}, ${startedAt} to ${endedAt}, ${schema}.`),
  );
}

/** @param {RunFile} run */
function verdict(run) {
  const tps = run.rates.verifiedPerSecond;
  const { latency } = run;
  const p99 = latency.total.count === 0 ? '' : `, p99 ${boundedMs(latency.total, censoredOf(run), ['p99'])} ms`;
  const what = isPlain(run) ? 'calls' : 'operations verified';
  const speed = tps === null ? 'Nothing was measured' : `${digits(tps)} ${what} per second${p99}`;
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
