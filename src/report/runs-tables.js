import { oneLine } from '../errors.js';
import { quantity } from './client/quantity.js';
import { figureCell } from './figures.js';
import { html } from './html.js';
import { measureOf } from './measure.js';
import { settingsOf } from './repeat.js';

/**
 * What the page of several runs has in tables: a row for each run.
 *
 * @typedef {import('./runs-page.js').NamedRun} NamedRun
 * @typedef {import('../metrics/summary.js').RunFile} RunFile
 * @typedef {{name: string, label: string, of: (run: RunFile) => number | null, text?: (value: number | null) => string}} Column
 */

const count = (/** @type {number | null} */ value) => quantity(value, 'count');

/** @type {Column[]} */
const COLUMNS = [
  {
    ...{ name: 'window', label: 'window', of: ({ window }) => window.durationMs },
    text: (ms) => quantity((ms ?? NaN) / 1000, 'seconds'),
  },
  { name: 'tps', label: 'TPS', of: ({ rates }) => rates.verifiedPerSecond },
  { name: 'p50', label: 'p50', of: ({ latency }) => latency.total.p50Us },
  { name: 'p99', label: 'p99', of: ({ latency }) => latency.total.p99Us },
  { name: 'max', label: 'max', of: ({ latency }) => latency.total.maxUs },
  { name: 'verified', label: 'verified', of: ({ counts }) => counts.verified, text: count },
  { name: 'failed', label: 'failed', of: ({ counts }) => counts.failed, text: count },
  { name: 'timedOut', label: 'timed out', of: ({ counts }) => counts.timedOut, text: count },
  { name: 'cpu', label: 'CPU per verified', of: ({ generator }) => generator.cpuUsPerVerified },
];

/** @param {NamedRun[]} runs */
export function overview(runs) {
  return html`<div class="scroll" tabindex="0" role="region" aria-label="The runs and their figures">
    <table class="cells" id="overview">
      <thead>
        <tr>
          ${['run', 'started (UTC)', ...COLUMNS.map(({ label }) => label)].map((label) => html`<th scope="col">${label}</th>`)}
          ${['verdict', 'audit', 'exit code', 'file'].map((label) => html`<th scope="col" class="words">${label}</th>`)}
        </tr>
      </thead>
      <tbody>
        ${runs.map(
          ({ name, file, run }, i) =>
            html`<tr>
              <th scope="row">${name}${run.partial && html` <strong class="bad">partial</strong>`}</th>
              <td>${run.startedAt.slice(0, 19).replace('T', ' ')}</td>
              ${COLUMNS.map(({ name: figure, of, text = measureOf(figure).text }) => figureCell(`runs.${i}.${figure}`, of(run), text(of(run))))}
              <td>${run.verdict?.name ?? '–'}</td>
              ${auditCell(run)} ${exitCell(run, i)}
              <td>${file}</td>
            </tr>`,
        )}
      </tbody>
    </table>
  </div>`;
}

/** @param {RunFile} run */
function auditCell({ audit }) {
  const exact = /** @type {import('../run/audit.js').AuditReport | null} */ (audit)?.exact;
  if (exact === undefined) return html`<td>none</td>`;
  return exact ? html`<td class="good">✓ exact</td>` : html`<td class="bad">✗ not exact</td>`;
}

/** @param {RunFile} run @param {number} i */
function exitCell({ exitCode }, i) {
  return figureCell(`runs.${i}.exitCode`, exitCode, exitCode === null ? '–' : String(exitCode));
}

/** Longer values are told apart by their beginnings. */
const LONGEST = 60;

/** @param {NamedRun[]} runs @param {readonly import('./repeat.js').OptionFacts[]} options */
export function differences(runs, options) {
  const asked = runs.map(({ run }) => new Map(settingsOf(run.config, options).map(({ name, text }) => [name, text])));
  const names = [...options.map(({ name }) => name)].filter(
    (name) => new Set(asked.map((one) => one.get(name))).size > 1,
  );
  return html`<section aria-labelledby="differences">
    <h2 id="differences">How they were asked to differ</h2>
    ${
      names.length === 0
        ? html`<p>All of them were given the same options.</p>`
        : html`<div class="scroll" tabindex="0" role="region" aria-label="Options that differ">
            <table class="cells" id="options">
              <thead>
                <tr>
                  <th scope="col">run</th>
                  ${names.map((name) => html`<th scope="col">${name}</th>`)}
                </tr>
              </thead>
              <tbody>
                ${runs.map(
                  ({ name }, i) =>
                    html`<tr>
                      <th scope="row">${name}</th>
                      ${names.map((option) => html`<td>${oneLine(asked[i].get(option) ?? '–', LONGEST)}</td>`)}
                    </tr>`,
                )}
              </tbody>
            </table>
          </div>`
    }
  </section>`;
}
