import { sentence } from './charts.js';
import { html } from './html.js';
import { marks } from './figures.js';
import { across, capital, measureOf } from './measure.js';

/** @import { SweepCell, SweepFile } from '../study/sweep-file.js' */

/**
 * A sweep of two axes as a table for each figure, its cells coloured as in a heat map. Numbers and words say all that
 * the colours say.
 */

/** Classes of page.css, from dark to bright. */
const STEPS = 8;

/** Values that are further apart, as a factor, are told apart by their logarithms. */
const LOG_FROM = 10;

/** @param {SweepFile} sweep of two axes @param {string} name of the figure */
export function gridTable({ axes: [down, right], cells }, name) {
  const { label, text, words } = measureOf(name);
  const means = cells.map(({ metrics }) => across(metrics[name]).mean);
  const known = means.filter((mean) => mean !== null);
  if (known.length === 0) return html`<p class="missing"><strong>${label}</strong>: not measured.</p>`;
  const [low, high] = [Math.min(...known), Math.max(...known)];
  const step = stepper(low, high);
  /** @param {string} value @param {string} other */
  const cellOf = (value, other) => {
    const i = cells.findIndex(({ settings }) => settings[down.name] === value && settings[right.name] === other);
    const mean = means[i] ?? null;
    if (mean === null) return html`<td>–</td>`;
    const isSaturated = cells[i].saturated;
    return html`<td class="heat-${step(mean)}${isSaturated ? ' saturated' : ''}" ${marks(`cells.${i}.${name}`, mean)}>
      ${text(mean)}${isSaturated && html`<span>saturated</span>`}
    </td>`;
  };
  return html`<div>
    <h3>${capital(label)}</h3>
    <p class="note">${words !== '' && sentence(words)} ${legend(text(low), text(high))}</p>
    <div class="scroll" tabindex="0" role="region" aria-label="Grid: ${label}">
      <table class="grid" aria-label="${label}">
        <thead>
          <tr>
            <th scope="col">${down.name} ↓<br />${right.name} →</th>
            ${right.values.map((value) => html`<th scope="col">${value}</th>`)}
          </tr>
        </thead>
        <tbody>
          ${down.values.map(
            (value) =>
              html`<tr>
                <th scope="row">${value}</th>
                ${right.values.map((other) => cellOf(value, other))}
              </tr>`,
          )}
        </tbody>
      </table>
    </div>
  </div>`;
}

/** @param {string} low @param {string} high */
function legend(low, high) {
  const swatches = Array.from({ length: STEPS }, (_, i) => html`<i class="heat-${i}"></i>`);
  return low === high
    ? null
    : html`<span class="heat-steps">${low} <span aria-hidden="true">${swatches}</span> ${high}</span>`;
}

/** @param {number} low @param {number} high @returns {(value: number) => number} the class of a value */
export function stepper(low, high) {
  const isLog = low > 0 && high / low > LOG_FROM;
  const place = (/** @type {number} */ value) => (isLog ? Math.log(value) : value);
  const span = place(high) - place(low);
  return (value) => (span > 0 ? Math.min(STEPS - 1, Math.floor((STEPS * (place(value) - place(low))) / span)) : 0);
}
