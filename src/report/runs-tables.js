import { oneLine } from '../errors.js';
import { auditResult } from '../metrics/audit-result.js';
import { quantity } from './client/quantity.js';
import { censoredOf } from '../metrics/figures.js';
import { countedWords, isPlain } from '../metrics/sample.js';
import { figureCell, latencyFigure } from './figures.js';
import { html } from './html.js';
import { measureOf } from './measure.js';
import { commandLine, settingsOf } from './repeat.js';

/**
 * @import { RunFile } from '../metrics/summary.js'
 * @import { LatencyName } from './figures.js'
 * @import { OptionFacts } from './repeat.js'
 * @import { NamedRun } from './runs-page.js'
 */

/**
 * What the page of several runs has in tables: a row for each run.
 *
 * @typedef {{name: string, label: string, of: (run: RunFile) => number | null, text?: (value: number | null, run: RunFile) => string}} Column
 */

const count = (/** @type {number | null} */ value) => quantity(value, 'count');

/** @param {ReturnType<typeof countedWords>} words @returns {Column[]} */
const columnsOf = ({ verified, tps }) => [
  { name: 'tps', label: tps, of: ({ rates }) => rates.verifiedPerSecond },
  latencyColumn('p50'),
  latencyColumn('p99'),
  latencyColumn('max'),
  { name: 'verified', label: verified, of: ({ counts }) => counts.verified, text: count },
  { name: 'failed', label: 'failed', of: ({ counts }) => counts.failed, text: count },
  { name: 'timedOut', label: 'timed out', of: ({ counts }) => counts.timedOut, text: count },
  { name: 'cpu', label: `CPU per ${verified}`, of: ({ generator }) => generator.cpuUsPerVerified },
];

/** @param {LatencyName} name @returns {Column} */
function latencyColumn(name) {
  const figure = (/** @type {RunFile} */ run) => latencyFigure(run.latency.total, censoredOf(run), name);
  return { name, label: name, of: (run) => figure(run).value, text: (_, run) => figure(run).text };
}

/** @param {NamedRun[]} runs */
export function overview(runs) {
  const columns = columnsOf(countedWords(runs.every(({ run }) => isPlain(run))));
  const labels = columns.map(({ label }) => label);
  const heads = ['run', ...labels, 'verdict', 'audit', 'exit code', 'window', 'started (UTC)'];
  return html`<div class="scroll" tabindex="0" role="region" aria-label="The runs and their figures">
    <table class="cells runs" id="overview">
      <thead>
        <tr>
          ${heads.map((head) => html`<th scope="col">${head}</th>`)}
          <th scope="col" class="words">file</th>
        </tr>
      </thead>
      <tbody>
        ${runs.map(
          ({ name, file, run }, i) =>
            html`<tr>
              <th scope="row">${name}${run.partial && html` <strong class="bad">partial</strong>`}</th>
              ${columns.map(({ name: figure, of, text = measureOf(figure).text }) => figureCell(`runs.${i}.${figure}`, of(run), text(of(run), run)))}
              <td>${run.verdict?.name ?? '–'}</td>
              ${auditCell(run)} ${exitCell(run, i)}
              ${figureCell(`runs.${i}.window`, run.window.durationMs, quantity(run.window.durationMs / 1000, 'seconds'))}
              <td>${run.startedAt.slice(0, 19).replace('T', ' ')}</td>
              <td class="words">${file}</td>
            </tr>`,
        )}
      </tbody>
    </table>
  </div>`;
}

/** @param {RunFile} run */
function auditCell(run) {
  const result = auditResult(run);
  if (result === null) return html`<td>none</td>`;
  const words = { exact: '✓ exact', incomplete: '– incomplete', not_exact: '✗ not exact' }[result];
  return html`<td class="${result === 'exact' ? 'good' : 'bad'}">${words}</td>`;
}

/** @param {RunFile} run @param {number} i */
function exitCell({ exitCode }, i) {
  return figureCell(`runs.${i}.exitCode`, exitCode, exitCode === null ? '–' : String(exitCode));
}

/** Longer values are told apart by their beginnings. */
const LONGEST = 60;

/** @param {NamedRun[]} runs @param {readonly OptionFacts[]} options */
export function differences(runs, options) {
  const columns = [...optionColumns(runs, options), ...environmentColumns(runs)];
  return html`<section aria-labelledby="differences">
    <h2 id="differences">What differs in how they were made</h2>
    ${columns.length === 0 ? html`<p>All of them were made in the same way.</p>` : differencesTable(runs, columns)}
  </section>`;
}

/** @param {NamedRun[]} runs @param {Array<{name: string, texts: string[]}>} columns */
function differencesTable(runs, columns) {
  return html`<div class="scroll" tabindex="0" role="region" aria-label="What differs">
    <table class="cells runs" id="options">
      <thead>
        <tr>
          ${['run', ...columns.map(({ name }) => name)].map((head) => html`<th scope="col">${head}</th>`)}
        </tr>
      </thead>
      <tbody>
        ${runs.map(
          ({ name }, i) =>
            html`<tr>
              <th scope="row">${name}</th>
              ${columns.map(({ texts }) => html`<td>${oneLine(texts[i], LONGEST)}</td>`)}
            </tr>`,
        )}
      </tbody>
    </table>
  </div>`;
}

/** Whether the runs were asked for different things. @param {NamedRun[]} runs @param {readonly OptionFacts[]} options */
export function areDifferent(runs, options) {
  return optionColumns(runs, options).length > 0;
}

/** Those that a command line would not have in common. @param {NamedRun[]} runs @param {readonly OptionFacts[]} options */
function optionColumns(runs, options) {
  return options
    .filter((option) => differs(runs.map(({ run }) => commandLine(run.config, [option]))))
    .map((option) => ({
      name: option.name,
      texts: runs.map(({ run }) => settingsOf(run.config, [option])[0]?.text ?? '–'),
    }));
}

/** @param {NamedRun[]} runs */
function environmentColumns(runs) {
  return Object.entries({ clientVersion: 'node', stress: 'stress' })
    .map(([key, name]) => ({ name, texts: runs.map(({ run }) => String(run.environment[key] ?? '–')) }))
    .filter(({ texts }) => differs(texts));
}

/** @param {string[]} texts */
function differs(texts) {
  return new Set(texts).size > 1;
}
