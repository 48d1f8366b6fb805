import { countedWords, isPlain } from '../metrics/sample.js';
import { quantity } from './client/quantity.js';
import { latencyCells } from './figures.js';
import { html } from './html.js';

/**
 * @import { RunFile } from '../metrics/summary.js'
 * @import { LatencyName } from './figures.js'
 */

/**
 * The kinds of calls of a run, each with its latency.
 */

/** @type {readonly LatencyName[]} */
const NAMES = ['avg', 'min', 'p50', 'p90', 'p95', 'p99', 'max'];

/** @param {RunFile} run */
export function names(run) {
  const { byName = {}, window, failures } = run;
  const groups = Object.entries(byName).sort(([, a], [, b]) => b.latency.sumUs - a.latency.sumUs);
  if (groups.length === 0) return '';
  const hasFailures = Object.keys(failures).length > 0;
  return html`<section aria-labelledby="by-name">
    <h2 id="by-name">By name</h2>
    <p>The kinds of calls, those first that took the most time in all. Latency is that of the window.</p>
    <div class="scroll" tabindex="0" role="region" aria-label="Figures by name">
      <table>
        <thead>
          <tr>
            <th scope="col">Name</th>
            ${[countedWords(isPlain(run)).verified, 'per second', 'failed', ...NAMES].map((name) => html`<th scope="col">${name}</th>`)}
            ${hasFailures && html`<th scope="col">failed with</th>`}
          </tr>
        </thead>
        <tbody>
          ${groups.map(
            ([name, { counts, windowVerified, latency, censored, failures: codes }]) =>
              html`<tr>
                <th scope="row">${name}</th>
                <td>${quantity(counts.verified, 'count')}</td>
                <td>${quantity(perSecond(windowVerified, window.durationMs), 'perSecond')}</td>
                <td>${quantity(counts.failed, 'count')}</td>
                ${latencyCells(`calls.${name}`, latency, censored, NAMES)}
                ${hasFailures && html`<td>${codesInWords(codes)}</td>`}
              </tr>`,
          )}
        </tbody>
      </table>
    </div>
  </section>`;
}

/** @param {number} verified @param {number} durationMs */
function perSecond(verified, durationMs) {
  return durationMs === 0 ? null : (1000 * verified) / durationMs;
}

/** @param {Record<string, number>} codes */
function codesInWords(codes) {
  return Object.entries(codes)
    .map(([code, times]) => `${code} ${quantity(times, 'count')}`)
    .join(', ');
}
