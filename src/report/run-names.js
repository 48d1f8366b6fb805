import { quantity } from './client/quantity.js';
import { figureCell } from './figures.js';
import { html } from './html.js';

/**
 * The kinds of calls of a run, each with its latency.
 *
 * @typedef {import('../metrics/summary.js').RunFile} RunFile
 * @typedef {import('../metrics/distribution.js').DistributionJson} DistributionJson
 */

/** @type {Array<[string, (latency: DistributionJson) => number | null]>} */
const STATISTICS = [
  ['avg', ({ meanUs }) => meanUs],
  ['min', ({ minUs }) => minUs],
  ['p50', ({ p50Us }) => p50Us],
  ['p90', ({ p90Us }) => p90Us],
  ['p95', ({ p95Us }) => p95Us],
  ['p99', ({ p99Us }) => p99Us],
  ['max', ({ maxUs }) => maxUs],
];

/** @param {RunFile} run */
export function names({ byName = {}, window, failures }) {
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
            ${['verified', 'per second', 'failed', ...STATISTICS.map(([name]) => name)].map((name) => html`<th scope="col">${name}</th>`)}
            ${hasFailures && html`<th scope="col">failed with</th>`}
          </tr>
        </thead>
        <tbody>
          ${groups.map(
            ([name, { counts, windowVerified, latency, failures: codes }]) =>
              html`<tr>
                <th scope="row">${name}</th>
                <td>${quantity(counts.verified, 'count')}</td>
                <td>${quantity(perSecond(windowVerified, window.durationMs), 'perSecond')}</td>
                <td>${quantity(counts.failed, 'count')}</td>
                ${STATISTICS.map(([statistic, read]) => figureCell(`calls.${name}.${statistic}`, read(latency), quantity(ms(read(latency)), 'ms')))}
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

/** @param {number | null} us */
function ms(us) {
  return us === null ? null : us / 1000;
}

/** @param {Record<string, number>} codes */
function codesInWords(codes) {
  return Object.entries(codes)
    .map(([code, times]) => `${code} ${quantity(times, 'count')}`)
    .join(', ');
}
