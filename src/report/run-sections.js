import { STAGES } from '../stats/figures.js';
import { endpointsOf } from '../stats/recorder.js';
import { reorgInWords } from '../stats/reorgs.js';
import { countedWords, isPlain } from '../stats/sample.js';
import { tableOf } from '../outputs/table.js';
import { digits, quantity } from '../text.js';
import { LOOKS, missingFigure } from './charts.js';
import { details, html } from './html.js';
import { ms, noIntervals } from './run-charts.js';
import { listSection, tableDetails } from './sections.js';

/**
 * What the page of a run has beside the tables of the summary; '' or false where there is nothing to show.
 *
 * @import { EndpointFacts, RunFile } from '../contracts/run-file.d.ts'
 * @import { Part } from './html.js'
 */

/** @param {RunFile} run */
export function reorgs({ reorgs: { count, events } }) {
  const more = count > events.length ? [`and ${quantity(count - events.length)} more`] : [];
  return listSection('reorgs', 'Reorgs', [...events.map((event) => at(event.atMs, reorgInWords(event))), ...more]);
}

/** When endpoints were down. @param {RunFile} run */
export function endpointEvents(run) {
  const all = endpointsOf(run);
  const known = /** @type {Array<EndpointFacts>} */ (run.generator.endpoints ?? []);
  const events = all.flatMap(({ display }, i) => (known[i]?.events ?? []).map((event) => ({ ...event, display })));
  events.sort((a, b) => a.atMs - b.atMs);
  const lines = events.map(({ atMs, isBack, words, display }) =>
    at(atMs, `${display} ${isBack ? 'is back ' : 'is down, requests go to the others: '}${words}`),
  );
  return listSection('outages', 'Outages of endpoints', lines);
}

/** @param {number} atMs since the load began @param {string} words */
function at(atMs, words) {
  return `${(atMs / 1000).toFixed(1)} s: ${words}`;
}

/** Commands that show the first contradictions of --check consistency. @param {RunFile} run @returns {Part[]} */
export function contradictions({ consistency }) {
  const examples = Object.entries(consistency?.violations ?? {}).flatMap(([code, violation]) =>
    violation.examples.map(
      ({ endpoint, at, words, commands }) =>
        html`<p>${`${code}, ${endpoint}, ${at}: ${words}`}</p>
          <pre tabindex="0" role="group" aria-label="Commands">${commands.join('\n')}</pre>`,
    ),
  );
  if (examples.length === 0) return [];
  return [details('contradictions', 'Examples, and two requests that contradict each other', examples)];
}

/** The shares of the stages in the latency. @param {RunFile} run @returns {Part[]} */
export function shares(run) {
  const { stages: all } = run.latency;
  const { verified, one } = countedWords(isPlain(run));
  // Colours as in the chart of the stages.
  const parts = STAGES.map(({ name, label }, i) => ({ label, color: LOOKS[i].color, of: all[name] })).filter(
    ({ of }) => of?.sumUs > 0,
  );
  if (parts.length === 0) return [html`<p class="missing">No ${one} was ${verified} in the window.</p>`];
  const allUs = parts.reduce((sum, { of }) => sum + of.sumUs, 0);
  const words = parts.map(
    ({ label, of }) => `${label} ${quantity(ms(of.meanUs), 'ms')} (${quantity((100 * of.sumUs) / allUs, '%')})`,
  );
  let left = 0;
  const bar = parts.map(({ color, of }) => {
    const x = left;
    left += (100 * of.sumUs) / allUs;
    return html`<rect x="${x.toFixed(2)}%" width="${(left - x).toFixed(2)}%" height="28" fill="var(--f${color})" />`;
  });
  const legend = parts.map(
    ({ color }, i) =>
      html`<li>
        <svg width="12" height="12" fill="var(--f${color})" aria-hidden="true"><rect width="12" height="12" /></svg
        >${words[i]}
      </li>`,
  );
  return [
    html`<svg class="share" role="img" aria-label="Shares of the stages in the latency">${bar}</svg>`,
    html`<ul class="legend">
      ${legend}
    </ul>`,
  ];
}

/** First and last value and change: a metrics page does not reliably tell counters from gauges. @param {RunFile} run */
export function nodeMetrics({ end, intervals, probes }) {
  const read = intervals.flatMap(({ endMs, probes: { metrics } }) => (metrics === null ? [] : [{ endMs, ...metrics }]));
  const [first] = read;
  const last = read.at(-1);
  const title = "The node's own metrics";
  if (first === undefined || last === undefined) {
    const why = probes?.why.metrics ?? intervals.at(-1)?.probes.why.metrics ?? noIntervals({ end });
    return missingFigure('metrics', title, why);
  }
  const elapsed = (last.endMs - first.endMs) / 1000;
  const rows = Object.entries(last.series).map(([name, value]) => {
    const { [name]: before = null } = first.series;
    const change = before === null || value === null || elapsed <= 0 ? null : (value - before) / elapsed;
    return [name, digits(before), digits(value), quantity(change, '/s')];
  });
  const columns = ['series', 'first', 'last', 'change'];
  return tableDetails(tableOf('node-metrics', `${title} (${rows.length})`, columns, rows));
}
