import { sentence } from './charts.js';
import { quantity } from './client/quantity.js';
import { figureCell, keyFigure } from './figures.js';
import { intervalWords, kindOf, percent, sign } from './forest.js';
import { html } from './html.js';
import { measureOf, withBound } from './measure.js';

/** @import { Comparison } from '../study/compare.js' */

/**
 * What is said of a comparison beside its charts.
 */

/** @param {string} title @param {readonly string[]} lines */
export function notes(title, lines) {
  if (lines.length === 0) return null;
  return html`<section aria-label="${title}">
    <h2>${title}</h2>
    <ul>
      ${lines.map((line) => html`<li>${line}</li>`)}
    </ul>
  </section>`;
}

/** @param {Comparison} comparison */
export function metricsTable({ metrics }) {
  return html`<div class="scroll" tabindex="0" role="region" aria-label="Metrics of both sides">
    <table class="cells">
      <caption>
        Means of the runs; changes are of geometric means; p of all but the first corrected for being many (Holm).
      </caption>
      <thead>
        <tr>
          ${['metric', 'BASE', 'CANDIDATE', 'change', 'interval', 'p'].map((head) => html`<th scope="col">${head}</th>`)}
          <th scope="col" class="words">verdict</th>
        </tr>
      </thead>
      <tbody>
        ${metrics.map(({ name, label, isPrimary, base, candidate, change, pAdjusted, word }) => {
          const { text } = measureOf(name);
          return html`<tr>
            <th scope="row">${isPrimary ? html`<strong>${label}</strong> (decides)` : label}</th>
            ${figureCell(`${name}.base`, base.mean, withBound(text(base.mean), base.atLeast))}
            ${figureCell(`${name}.candidate`, candidate.mean, withBound(text(candidate.mean), candidate.atLeast))}
            ${figureCell(`${name}.change`, change.estimate, percent(change.estimate))}
            <td>${intervalWords(change).trim().slice(1, -1)}</td>
            ${figureCell(`${name}.p`, pAdjusted, pText(pAdjusted))}
            <td class="words ${kindOf(word)}">${sign(word)}${word}</td>
          </tr>`;
        })}
      </tbody>
    </table>
  </div>`;
}

/** @param {Comparison} comparison */
export function speedUps({ speedUps: { words, onAverage, onSlowest, onFastest } }) {
  return html`<dl class="figures wide">
      ${[
        {
          name: 'speedUps.onAverage.speedUp',
          label: 'Speed-up on average',
          value: onAverage.speedUp,
          note: onAverage.words,
        },
        {
          name: 'speedUps.onSlowest.speedUp',
          label: 'Speed-up on the slowest',
          value: onSlowest.speedUp,
          note: onSlowest.words,
        },
        {
          name: 'speedUps.onFastest.slowDown',
          label: 'Slow-down on the fastest',
          value: onFastest.slowDown,
          note: onFastest.words,
        },
      ].map((figure) => keyFigure({ ...figure, text: percent(figure.value) }))}
    </dl>
    <p class="note">${sentence(words)}</p>`;
}

/** @param {Comparison} comparison */
export function failIf({ failIf: conditions }) {
  if (conditions.length === 0) return null;
  return html`<section aria-labelledby="conditions">
    <h2 id="conditions">Conditions</h2>
    <table class="wraps">
      <caption>
        The comparison fails if
      </caption>
      <tbody>
        ${conditions.map(
          (judged) =>
            html`<tr>
              <th scope="row"><code>${judged.expression}</code></th>
              <td class="${judged.passed ? 'good' : 'bad'}">${judged.passed ? '✓ holds' : '✗ failed'}</td>
              <td>${judged.change === null ? judged.why : `${percent(judged.change)}: ${judged.why}`}</td>
            </tr>`,
        )}
      </tbody>
    </table>
  </section>`;
}

/** @param {Comparison} comparison */
export function method({ method: { words, test, alpha, minimum, pairs }, primary }) {
  const noun = pairs === null ? 'runs on each side' : 'pairs';
  return html`<section aria-labelledby="method">
    <h2 id="method">How it was tested</h2>
    <p>${words}</p>
    <p>
      ${sentence(test)} ${measureOf(primary).label} alone decides; of two sides that do not differ at most
      ${quantity(100 * alpha, 'percent')} are told apart by mistake. A verdict takes at least ${minimum} ${noun}.
    </p>
  </section>`;
}

/** @param {Comparison} comparison */
export function sides({ base, candidate, stress }) {
  /** @type {Array<[string, (side: Comparison['base']) => string]>} */
  const rows = [
    ['label', ({ label }) => label],
    ['node', ({ clientVersion }) => clientVersion ?? 'not known'],
    ['measured by stress', (side) => side.stress],
    ['first run', ({ startedAt }) => [...startedAt].sort()[0] ?? '–'],
    ['last run', ({ startedAt }) => [...startedAt].sort().at(-1) ?? '–'],
    ['run files', ({ files }) => files.join(', ')],
  ];
  return html`<section aria-labelledby="sides">
    <h2 id="sides">The two sides</h2>
    <div class="scroll" tabindex="0" role="region" aria-label="The two sides">
      <table class="wraps">
        <thead>
          <tr>
            <td></td>
            <th scope="col" class="words">BASE</th>
            <th scope="col" class="words">CANDIDATE</th>
          </tr>
        </thead>
        <tbody>
          ${rows.map(
            ([name, of]) =>
              html`<tr>
                <th scope="row">${name}</th>
                <td>${of(base)}</td>
                <td>${of(candidate)}</td>
              </tr>`,
          )}
        </tbody>
      </table>
    </div>
    <p class="note">Compared by stress ${stress}.</p>
  </section>`;
}

/** @param {number} p */
export function pText(p) {
  return p < 0.0005 ? '< 0.001' : p.toFixed(3);
}
