import { quantity } from './client/quantity.js';
import { chartFigure, sentence } from './charts.js';
import { figureCell } from './figures.js';
import { html } from './html.js';
import { hrefOf } from './sweep-sections.js';

/**
 * @import { Find } from '../study/sweep-file.js'
 * @import { Chart } from './charts.js'
 */

/**
 * What was searched for, and the runs that led to the answer.
 */

/** @param {Find} find @returns {Chart} */
export function findChart({ name, trials, estimate, low, high }) {
  const values = (/** @type {boolean} */ holds) => trials.map((trial) => (trial.holds === holds ? trial.value : null));
  const last = estimate === null ? [] : [estimate];
  const gap = last.map(() => null);
  const none = trials.map(() => null);
  return {
    id: 'find',
    title: `The search for the highest ${name}`,
    kind: 'points',
    unit: 'plain',
    xLabel: 'run',
    x: [...trials, ...last].map((_, i) => i + 1),
    xTexts: [...trials.map((_, i) => String(i + 1)), ...last.map(() => 'answer')],
    series: [
      { label: 'the conditions hold', color: 2, values: [...values(true), ...gap] },
      { label: 'they do not', color: 1, values: [...values(false), ...gap] },
      ...(estimate === null
        ? []
        : [{ label: 'the answer', color: 0, values: [...none, estimate], low: [...none, low], high: [...none, high] }]),
    ],
  };
}

/** @param {Find} find */
export function answerWords({ words, trials }) {
  return words === '' ? `The search has not ended: ${trials.length} runs so far.` : sentence(words);
}

/** @param {Find} find @param {Chart} chart @param {string} folder of the files, seen from the page */
export function findSection(find, chart, folder) {
  const { name, until, rateHeld, trials, confidence, estimate } = find;
  const held = trials.filter(({ holds }) => holds).length;
  const interval =
    estimate === null ? '' : ` The line at the answer is its ${quantity(100 * confidence, 'percent')} interval.`;
  return html`<section aria-labelledby="search">
    <h2 id="search">The search</h2>
    <p>
      Conditions:
      ${until.map((condition, i) => html`${i > 0 && ', '}<code>${condition}</code>`)}${rateHeld && html`, and the rate held, which nobody has to ask for: what was due was verified at least 98 % as fast as it was due`}.
    </p>
    <div class="charts">
      ${chartFigure(chart, { isWide: true, summary: `Each point is a run at one ${name}, in the order in which they were made: ${held} of ${trials.length} held.${interval}` })}
    </div>
    <div class="scroll" tabindex="0" role="region" aria-label="Runs of the search">
      <table class="wraps">
        <thead>
          <tr>
            <th scope="col">run</th>
            <th scope="col">${name}</th>
            <th scope="col" class="words">conditions</th>
            <th scope="col" class="words">what does not hold</th>
            <th scope="col" class="words">file</th>
          </tr>
        </thead>
        <tbody>
          ${trials.map(
            ({ value, holds, failed, file }, i) =>
              html`<tr>
                <th scope="row">${i + 1}</th>
                ${figureCell(`trials.${i}`, value, quantity(value, 'plain'))}
                <td class="${holds ? 'good' : 'bad'}">${holds ? '✓ hold' : '✗ do not'}</td>
                <td>${failed.join('; ')}</td>
                <td><a href="${hrefOf(file, folder)}">run file</a></td>
              </tr>`,
          )}
        </tbody>
      </table>
    </div>
  </section>`;
}
