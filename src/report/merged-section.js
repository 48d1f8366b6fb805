import { count, figure, seconds } from '../output/format.js';
import { auditWord, mergedOf, mergedLines } from '../output/merged.js';
import { countedWords, isPlain } from '../metrics/sample.js';
import { html } from './html.js';

/** @import { RunFile } from '../metrics/summary.js' */

/**
 * Which instances a page is of, where they are many.
 *
 * @param {RunFile} run
 */
export function instances(run) {
  const merged = mergedOf(run);
  if (merged === null) return '';
  const { verified, tps } = countedWords(isPlain(run));
  return html`<section aria-labelledby="instances">
    <h2 id="instances">Instances</h2>
    ${mergedLines(run).map((line) => html`<p class="note">${line}</p>`)}
    <details>
      <summary>${count(merged.instances.length)} instances</summary>
      <table>
        <thead>
          <tr>
            ${['instance', 'wallets', 'host', 'began', 'window', verified, tps, 'audit'].map(
              (name) => html`<th scope="col">${name}</th>`,
            )}
          </tr>
        </thead>
        <tbody>
          ${merged.instances.slice(0, SHOWN).map(
            (/** @type {any} */ one) =>
              html`<tr>
                <th scope="row">${one.index ?? '-'}</th>
                <td>${one.offset}..${one.offset + one.threads - 1}</td>
                <td>${one.host ?? '-'}</td>
                <td>${one.windowStartedAt}</td>
                <td>${seconds(one.durationMs)}</td>
                <td>${count(one.counts.verified)}</td>
                <td>${figure(one.verifiedPerSecond)}</td>
                <td>${one.partial ? 'PARTIAL' : auditWord(one)}</td>
              </tr>`,
          )}
        </tbody>
      </table>
      ${merged.instances.length > SHOWN && html`<p class="note">... and ${count(merged.instances.length - SHOWN)} more</p>`}
    </details>
  </section>`;
}

/** A page of thousands of rows helps nobody. */
const SHOWN = 200;
