import { digits, quantity } from './client/quantity.js';
import { sentence } from './charts.js';
import { html } from './html.js';

/** @import { RunFile } from '../metrics/summary.js' */

/**
 * The node's own metrics: from one interval to the last. Whether a series counts or shows a level the page of a node does
 * not say reliably, so that both are told.
 * @param {RunFile} run
 */
export function nodeMetrics({ intervals, probes }) {
  const read = intervals.flatMap(({ endMs, probes: { metrics } }) => (metrics === null ? [] : [{ endMs, ...metrics }]));
  const [first] = read;
  const last = read.at(-1);
  if (first === undefined || last === undefined) {
    const why = probes?.why.metrics ?? intervals.at(-1)?.probes.why.metrics ?? 'the run ended before its first report';
    return html`<p class="missing"><strong>The node's own metrics</strong>: not measured. ${sentence(why)}</p>`;
  }
  const seconds = (last.endMs - first.endMs) / 1000;
  const rows = Object.entries(last.series).map(([name, value]) => {
    const before = first.series[name] ?? null;
    const change = before === null || seconds <= 0 ? null : (value - before) / seconds;
    return html`<tr>
      <th scope="row"><code>${name}</code></th>
      <td>${digits(before)}</td>
      <td>${digits(value)}</td>
      <td>${quantity(change, 'perSecond')}</td>
    </tr>`;
  });
  return html`<details id="node-metrics">
    <summary>The node's own metrics (${rows.length})</summary>
    <div class="scroll" tabindex="0" role="region" aria-label="The node's own metrics">
      <table>
        <thead>
          <tr>
            <th scope="col">series</th>
            <th scope="col">first</th>
            <th scope="col">last</th>
            <th scope="col">change</th>
          </tr>
        </thead>
        <tbody>
          ${rows}
        </tbody>
      </table>
    </div>
  </details>`;
}
