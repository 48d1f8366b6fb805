import { writeFileAtomically } from '../files.js';
import { boundedMs, memberRows, wordsOf } from '../outputs/format.js';
import { definitionsTable, speedText } from '../outputs/run-facts.js';
import { overviewTable, refusalsTable } from '../outputs/run-tables.js';
import { endText, runTables } from '../outputs/summary.js';
import { tableOf } from '../outputs/table.js';
import { auditResult } from '../stats/audit-result.js';
import { censoredOf, shownFigure, windowMs } from '../stats/figures.js';
import { STILL_RUNNING, placeOf } from '../stats/run-file.js';
import { actorsText, isPlain } from '../stats/sample.js';
import { LIMIT_WORDS, judge } from '../stats/verdict.js';
import { capital, chartBox, panelsFigure, sentence } from './charts.js';
import { byCode, digits, quantity, seconds } from '../text.js';
import { flamesOf, profileParts } from './flame.js';
import { folded, html, renderPage, section } from './html.js';
import { noIntervals, runData } from './run-charts.js';
import * as sections from './run-sections.js';
import {
  SIGNS,
  badBadge,
  badge,
  dataTable,
  listSection,
  minuteOf,
  note,
  passedBadge,
  tableDetails,
  tableSection,
} from './sections.js';

/**
 * @import { Output, OutputOptions } from '../contracts/output.d.ts'
 * @import { RunFile } from '../contracts/run-file.d.ts'
 * @import { Part, Tile } from './html.js'
 * @import { RunData } from './run-charts.js'
 */

/** The page of one run: its verdict and figures, charts, tables, and how to repeat the run. */

/**
 * @param {RunFile} whole
 * @param {number} [live] version of the page, while the run goes on
 * @returns {string} an HTML document
 */
export function runPage(whole, live) {
  const run = live === undefined ? whole : notYet(whole);
  const { config, environment, startedAt } = run;
  const data = runData(run);
  const where = environment.endpoint == null ? '' : ` on ${placeOf(run)}`;
  const wallets = typeof config.threads === 'number' ? `${actorsText(run)}, ` : '';
  return renderPage({
    title: `${config.workload ?? 'Run'}${where}, ${wallets}${minuteOf(startedAt)}`,
    verdict: verdict(run),
    limit: limitOf(run, live !== undefined),
    badges: badges(run),
    tiles: tilesOf(run, live !== undefined),
    main: html`${sectionsOf(run, data, live !== undefined)}`,
    charts: Object.values(data.charts).flat(),
    flames: flamesOf(run),
    time: data.time,
    live,
  });
}

/** What is not known yet is no matter of a file. @param {RunFile} run @returns {RunFile} */
function notYet(run) {
  const all = Object.entries(run.unmeasured).map(([pointer, why]) => [
    pointer,
    why === STILL_RUNNING ? 'the run goes on' : why,
  ]);
  return { ...run, unmeasured: Object.fromEntries(all) };
}

/** Writes the page to a file when the run is over. @param {OutputOptions} options @returns {Output} */
export function createReportOutput({ html: file }) {
  return {
    finish: async (run) => {
      if (run.end !== 'set_up_failed') await writeFileAtomically(/** @type {string} */ (file), runPage(run));
    },
  };
}

/** Figures without a tile of their own: the table has all. */
const WITHOUT_TILE = ['attempts', 'failed', 'timed out', 'abandoned', 'in flight'];

/** What most readers come for, and below it the rest. @param {RunFile} run @param {boolean} isLive @returns {Tile[][]} */
function tilesOf(run, isLive) {
  const all = overviewTable(run).rows.map(([label, value, words]) => ({ label, value, words }));
  // In an open loop the rate that was held comes first.
  const rates = all.splice(0, run.rates.askedPerSecond === null ? 1 : 2);
  const others = all.filter(({ label }) => !WITHOUT_TILE.includes(label));
  const window = { label: 'window', value: seconds(windowMs(run)) };
  return [
    [...rates, ...latencyTiles(run, ['p50', 'p99']), ...gasTile(run), ...(isLive ? liveTiles(run) : [])],
    [...failureTiles(run), ...latencyTiles(run, ['max']), ...others, window],
  ];
}

/** @param {RunFile} run @param {string[]} names @returns {Tile[]} none without latencies */
function latencyTiles(run, names) {
  const { total } = run.latency;
  const censored = censoredOf(run);
  if (total.count + censored.count === 0) return [];
  return boundedMs(total, censored, names).map((text, i) => ({ label: `latency ${names[i]}`, value: `${text} ms` }));
}

/** @param {RunFile} run @returns {Tile[]} none without blocks */
function gasTile(run) {
  const [gas, fullness] = ['chain.gas', 'fullness'].map((name) => shownFigure(name, run));
  if (gas === null) return [];
  const words = fullness === null ? '' : `blocks ${digits(fullness)} % full`;
  return [{ label: 'gas in all blocks', value: `${digits(gas / 1e6)} Mgas/s`, words }];
}

/** @param {RunFile} run @returns {Tile[]} */
function failureTiles({ counts: { failed, timedOut, abandoned }, failures }) {
  const all = [
    { label: 'failed', times: failed, words: byCode(failures) },
    { label: 'timed out', times: timedOut, words: '' },
    { label: 'abandoned', times: abandoned, words: '' },
  ].filter(({ times }) => times > 0);
  if (all.length === 0) return [{ label: 'failed or timed out', value: '0' }];
  return all.map(({ label, times, words }) => ({ label, value: quantity(times), words, kind: 'bad' }));
}

/** Tiles of the live page: the last interval, and the time left. @param {RunFile} run @returns {Tile[]} */
function liveTiles({ config: { durationMs }, intervals, window }) {
  const last = intervals.at(-1);
  if (last === undefined) return [];
  const isTimed = typeof durationMs === 'number' && intervals.some(({ phase }) => phase === 'load');
  const leftMs = isTimed ? Math.max(0, durationMs - window.durationMs) : 0;
  const left = isTimed
    ? [{ label: 'time left', value: seconds(leftMs), words: `of a window of ${seconds(durationMs)}` }]
    : [];
  const words = `from ${seconds(last.startMs)} to ${seconds(last.endMs)} after the start`;
  return [{ label: 'last interval', value: quantity(last.tps, '/s'), words }, ...left];
}

/** What limited the run, and what to try. @param {RunFile} run @param {boolean} isLive what limits it so far @returns {Part} */
function limitOf(run, isLive) {
  // Before the first interval of the window little is known, and each advice would be to observe more.
  const isEarly = isLive && run.intervals.every(({ phase }) => phase !== 'load');
  const found = isLive ? judge(run) : run.verdict;
  if (found === null || isEarly) return undefined;
  const { name, evidence } = found;
  const words = `${isLive ? 'so far ' : ''}${LIMIT_WORDS[name] ?? name}`;
  return html`<strong>${sentence(name === 'unknown' ? words : `${words} (${name})`)}</strong> ${sentence(evidence)}`;
}

/** All sections in their order. @param {RunFile} run @param {RunData} data @param {boolean} isLive @returns {Part[]} */
function sectionsOf(run, data, isLive) {
  const { blocks, generator, node } = data.charts;
  const tables = runTables(run);
  const refused = refusalsTable(run);
  /** @param {string} id @param {Part[]} [before] @param {Part[]} [after] */
  const table = (id, before, after) => {
    const found = tables.find((one) => one.id === id);
    return found && tableSection(found, before, after);
  };
  const doubts = tables.filter(({ id }) => id === 'doubts').flatMap(({ rows }) => rows.map(([, words]) => words));
  const others = run.warnings.filter((words) => !doubts.includes(words));
  /** @param {string} id @param {string} title @param {string[]} verdicts for which it is open @param {...Part} content */
  const foldedUnless = (id, title, verdicts, ...content) =>
    folded(id, title, verdicts.includes(run.verdict?.name ?? ''), ...content);
  return [
    section('time', OVER_TIME, overTime(run, data, isLive)),
    table('limits'),
    table('doubts'),
    listSection('warned', 'Warnings', others),
    table('instances'),
    table('all-instances'),
    table('conditions'),
    table('where', sections.shares(run)),
    ...['levels', 'by-name', 'by-endpoint', 'by-stage'].map((id) => table(id)),
    sections.endpointEvents(run),
    table('failed'),
    refused.rows.length > 0 && tableSection(refused),
    table('differences'),
    sections.reorgs(run),
    !isLive && table('audited'),
    table('evidence'),
    table('consistent', [], sections.contradictions(run)),
    table('node-cpu', [], profileParts(run)),
    run.intervals.length > 0 && foldedUnless('more-time', 'More over time', [], chartBox(data.charts.load)),
    blocks.length > 0 && foldedUnless('blocks', 'Blocks', ['node-bound'], chartBox(blocks)),
    foldedUnless('generator', 'The generator and its machine', OF_MACHINE, chartBox(generator)),
    foldedUnless('node', 'The node', ['node-bound'], chartBox(node), sections.nodeMetrics(run)),
    foldedUnless('figures', 'All figures', [], dataTable(overviewTable(run))),
    configuration(run),
    meaning(run),
  ];
}

/** Verdicts that the charts of the generator explain. */
const OF_MACHINE = ['generator-bound', 'port-bound'];

const OVER_TIME = 'Throughput and latency';

/** @param {RunFile} run @param {RunData} data @param {boolean} isLive @returns {Part[]} */
function overTime(run, data, isLive) {
  return run.intervals.length > 0
    ? [panelsFigure('time', OVER_TIME, data.charts.answer), isLive && endNote(run), timeNote(data)]
    : [html`<p class="missing">${sentence(noIntervals(run))} There is nothing to draw over time.</p>`];
}

/** Where the charts of a run that goes on end, and why not now. @param {RunFile} run */
function endNote({ intervals, config: { intervalMs } }) {
  const endMs = intervals.at(-1)?.endMs ?? 0;
  const knownMs = intervals.findLast(({ tps }) => tps !== null)?.endMs ?? 0;
  const every = typeof intervalMs === 'number' ? ` (each is ${seconds(intervalMs)} long)` : '';
  const later = knownMs < endMs ? `; later blocks may belong to the throughput after ${seconds(knownMs)}` : '';
  return note(
    `The charts end ${seconds(endMs)} after the start, with the last interval that has ended${every}${later}.`,
  );
}

/** @param {RunFile} run */
function configuration(run) {
  const { config, environment } = run;
  const { commandLine, ...facts } = { ...environment, findCommand: undefined };
  const isKnown = typeof commandLine === 'string';
  return folded(
    'repeat',
    'How to repeat it',
    false,
    isKnown && html`<pre tabindex="0" role="group" aria-label="Command line">${commandLine}</pre>`,
    note([
      Object.values(config).includes('[redacted]') && 'Secrets are in no run file: set the variables as before. ',
      environment.embeddedChain === true && 'The chain was embedded: a new one is started each time. ',
      isKnown && Boolean(run.merged) && 'The command line is that of the first instance.',
    ]),
    tableDetails(tableOf('settings', 'Configuration', [], memberRows(config))),
    tableDetails(tableOf('environment', 'Environment', [], memberRows(facts))),
  );
}

/** @param {RunFile} run */
function meaning(run) {
  const { id, startedAt, endedAt, schema, unmeasured } = run;
  const missing = Object.entries(unmeasured).map(([pointer, why]) => [
    pointer
      .split('/')
      .filter((part) => part !== '' && part !== 'why')
      .map(wordsOf)
      .join(': '),
    why,
  ]);
  return folded(
    'meaning',
    'What the figures mean',
    false,
    tableDetails(definitionsTable(run)),
    tableDetails(tableOf('unmeasured', 'What was not measured, and why', [], missing)),
    note(`Run ${id}, ${startedAt} to ${endedAt}, ${schema}.`),
  );
}

/** @param {RunFile} run */
function verdict(run) {
  const speed = capital(speedText(run));
  if (run.end === 'running' && !run.merged) return html`So far: ${speed}.`;
  const result = auditResult(run);
  // Plain calls leave nothing to audit.
  if (isPlain(run)) return html`${speed}.`;
  const audit =
    result === null
      ? 'no audit'
      : html`<span class="${result === 'exact' ? 'good' : 'bad'}"
          >${result !== 'exact' && SIGNS.bad}audit ${result.replace('_', ' ')}</span
        >`;
  return html`${speed}; ${audit}.`;
}

/** @param {RunFile} run */
function badges(run) {
  const { thresholds, counts, reorgs, warnings, end, exitCode } = run;
  const { failed, timedOut, abandoned } = counts;
  const broken = failed + timedOut;
  return [
    passedBadge(thresholds, 'thresholds'),
    broken + abandoned === 0 && counts.started > 0 && badge('no failures', 'good'),
    broken > 0 && badge(`${quantity(broken)} failed or timed out`, 'bad'),
    abandoned > 0 && badge(`${quantity(abandoned)} abandoned`, 'bad'),
    badBadge(shownFigure('violations', run) ?? 0, 'contradiction'),
    badBadge(reorgs.count, 'reorg'),
    badBadge(warnings.length, 'warning'),
    badge(endText(run), GOOD_ENDS.has(end) ? 'plain' : 'bad'),
    exitCode !== null && badge(`exit code ${exitCode}`, exitCode === 0 ? 'plain' : 'bad'),
  ];
}

const GOOD_ENDS = new Set(['duration', 'iterations', 'interrupted', 'running']);

/** Share of the axis. */
const NARROWEST = 0.01;

/** @param {RunData} data */
function timeNote({ time }) {
  const lengthS = (time.to.at(-1) ?? 0) - (time.from[0] ?? 0);
  // A narrower band cannot be seen.
  const seen = time.phases.filter(({ from, to }) => to - from >= NARROWEST * lengthS);
  const [phases, marks] = [seen, time.marks].map((all) => [...new Set(all.map(({ name }) => name))]);
  return html`<p class="note">
    <span class="needs-script">Drag over a chart to zoom all of them; double-click shows the whole run again.</span>
    ${phases.length > 0 && html` Grey: ${phases.map((name) => `the ${name}`).join(' and ')}, outside of the measured window.`}
    ${time.phases.some(({ name }) => name === 'drain') && html` Values of the drain do not set the axes.`}
    ${marks.length > 0 && html` Dashed lines: ${marks.join(' and ')}.`}
  </p>`;
}
