import { quantity } from './client/quantity.js';
import { sentence } from './charts.js';
import { latencyCells } from './figures.js';
import { html } from './html.js';
import { censoredOf } from '../metrics/figures.js';
import { countedWords, isPlain, shownStages } from '../metrics/sample.js';
import { STAGE_WORDS } from './run-charts.js';

/**
 * @import { DistributionJson } from '../metrics/distribution.js'
 * @import { RunFile } from '../metrics/summary.js'
 * @import { LatencyName } from './figures.js'
 */

/**
 * Latency over the whole window, and the parts that it is made of.
 */

/** @type {readonly LatencyName[]} */
const NAMES = ['avg', 'min', 'p50', 'p90', 'p99', 'p99.9', 'max'];

/** @param {RunFile} run */
export function stages(run) {
  const { latency, rates } = run;
  const names = shownStages(latency.stages);
  const parts = names.map((stage, color) => ({ stage, color, words: STAGE_WORDS[stage], of: latency.stages[stage] }));
  const shown = isPlain(run) ? parts.filter(({ of }) => of.sumUs > 0) : parts;
  const allUs = parts.reduce((sum, { of }) => sum + of.sumUs, 0);
  const censored = censoredOf(run);
  const words = countedWords(isPlain(run));
  return html`<section aria-labelledby="where">
    <h2 id="where">Where the time goes</h2>
    ${
      allUs > 0
        ? html`<p>${sharesInWords(shown, allUs)}</p>
            ${bar(shown, allUs)}`
        : html`<p class="missing">No ${words.one} was ${words.verified} in the window.</p>`
    }
    <div class="scroll" tabindex="0" role="region" aria-label="Latency by stage">
      <table>
        <thead>
          <tr>
            <th scope="col">Latency in the window</th>
            ${NAMES.map((name) => html`<th scope="col">${name}</th>`)}
            <th scope="col">share</th>
          </tr>
        </thead>
        <tbody>
          <tr>
            <th scope="row">from due to ${words.verified}</th>
            ${latencyCells('total', latency.total, censored, NAMES)}
            <td></td>
          </tr>
          ${
            rates.askedPerSecond !== null &&
            html`<tr>
              <th scope="row">from begun to ${words.verified}</th>
              ${latencyCells('start', latency.fromStart, latency.fromStartCensored ?? censored, NAMES)}
              <td></td>
            </tr>`
          }
          ${shown.map(
            ({ stage, color, words, of }) =>
              html`<tr>
                <th scope="row">
                  <svg class="swatch" aria-hidden="true"><rect width="12" height="12" class="fill-${color}" /></svg
                  >${words}
                </th>
                ${latencyCells(stage.toLowerCase(), of, 0, NAMES)}
                <td>${allUs > 0 && `${Math.round((100 * of.sumUs) / allUs)} %`}</td>
              </tr>`,
          )}
        </tbody>
      </table>
    </div>
    ${censored.count > 0 && html`<p class="note">${censoredWords(run)}</p>`}
  </section>`;
}

/** @param {RunFile} run */
function censoredWords(run) {
  const [count, all] = [censoredOf(run).count, run.latency.total.count].map((value) => quantity(value, 'count'));
  return `${count} of ${all} ${countedWords(isPlain(run)).many} got no good answer in time: figures with >= may be any larger. Stages are of the others.`;
}

/** @param {number | null} us */
function ms(us) {
  return us === null ? null : us / 1000;
}

/** @param {Array<{words: string, of: DistributionJson}>} parts @param {number} allUs */
function sharesInWords(parts, allUs) {
  const words = parts.map(
    ({ words: name, of }) => `${name} ${quantity(ms(of.meanUs), 'ms')} (${Math.round((100 * of.sumUs) / allUs)} %)`,
  );
  return sentence(`On average: ${words.join(', ')}`);
}

/** @param {Array<{color: number, words: string, of: DistributionJson}>} parts @param {number} allUs */
function bar(parts, allUs) {
  let left = 0;
  const rects = parts.map(({ color, of }) => {
    const width = (100 * of.sumUs) / allUs;
    left += width;
    return html`<rect
      x="${(left - width).toFixed(2)}%"
      y="0"
      width="${width.toFixed(2)}%"
      height="28"
      class="fill-${color}"
    />`;
  });
  return html`<svg
    class="share"
    role="img"
    aria-label="Shares of the stages in the latency; the table below has the numbers"
  >
    ${rects}
  </svg>`;
}
