import { endpointsOf } from '../metrics/endpoints.js';
import { countedWords, isPlain } from '../metrics/sample.js';
import { quantity } from './client/quantity.js';
import { figureCell, latencyCells } from './figures.js';
import { html } from './html.js';

/**
 * @import { EndpointFigures } from '../metrics/endpoints.js'
 * @import { RunFile } from '../metrics/summary.js'
 * @import { EndpointFacts } from '../run/endpoints.js'
 * @import { LatencyName } from './figures.js'
 */

/**
 * Several endpoints, each with the operations that were sent to it, and when it was left.
 */

/** @type {readonly LatencyName[]} */
const NAMES = ['avg', 'p50', 'p99', 'max'];

/** @param {RunFile} run */
export function endpoints(run) {
  const all = endpointsOf(run);
  if (all.length === 0) return '';
  const { verified, tps } = countedWords(isPlain(run));
  const columns = ['node', verified, 'failed', 'timed out', tps, ...NAMES, 'left', 'away'];
  return html`<section aria-labelledby="by-endpoint">
    <h2 id="by-endpoint">By endpoint</h2>
    <p>Operations by the endpoint that they were sent to last. Latency is that of the window.</p>
    <div class="scroll" tabindex="0" role="region" aria-label="Figures by endpoint">
      <table>
        <thead>
          <tr>
            <th scope="col">Endpoint</th>
            ${columns.map((name) => html`<th scope="col">${name}</th>`)}
          </tr>
        </thead>
        <tbody>
          ${all.map(row)}
        </tbody>
      </table>
    </div>
    ${eventsOf(run, all)}
  </section>`;
}

/** @param {EndpointFigures} endpoint @param {number} i */
function row({ display, clientVersion, group, tps, left, awayMs }, i) {
  const { counts, latency, censored } = group;
  return html`<tr>
    <th scope="row">${display}</th>
    <td>${clientVersion ?? 'does not say'}</td>
    <td>${quantity(counts.verified, 'count')}</td>
    <td>${quantity(counts.failed, 'count')}</td>
    <td>${quantity(counts.timedOut, 'count')}</td>
    ${figureCell(`endpoint.${i}.tps`, tps, quantity(tps, 'perSecond'))}
    ${latencyCells(`endpoint.${i}`, latency, censored, NAMES)}
    <td>${quantity(left, 'count')}</td>
    <td>${left > 0 && `${(awayMs / 1000).toFixed(1)} s`}</td>
  </tr>`;
}

/** @param {RunFile} run @param {EndpointFigures[]} all */
function eventsOf({ generator }, all) {
  const known = /** @type {Array<EndpointFacts>} */ (generator.endpoints ?? []);
  const events = known.flatMap(({ events: own }, i) => own.map((event) => ({ ...event, display: all[i]?.display })));
  if (events.length === 0) return '';
  events.sort((a, b) => a.atMs - b.atMs);
  return html`<ul>
    ${events.map(({ atMs, isBack, words, display }) => html`<li>${(atMs / 1000).toFixed(1)} s: ${display} is ${isBack ? 'back' : 'left for the others'}${isBack ? ' ' : ': '}${words}</li>`)}
  </ul>`;
}
