import { auditGaps, auditResult } from '../metrics/audit-result.js';
import { quantity } from './client/quantity.js';
import { sentence } from './charts.js';
import { figureCell } from './figures.js';
import { html } from './html.js';

/**
 * @import { AuditResult } from '../metrics/audit-result.js'
 * @import { RunFile } from '../metrics/summary.js'
 * @import { AuditReport } from '../run/audit.js'
 * @import { Check } from '../workload/index.js'
 */

/**
 * What is said of a run below its charts.
 */

/** @param {RunFile} run */
export function warnings({ warnings: lines }) {
  return (
    lines.length > 0 &&
    html`<section aria-labelledby="warned">
      <h2 id="warned">Warnings</h2>
      <ul>
        ${lines.map((line) => html`<li>${line}</li>`)}
      </ul>
    </section>`
  );
}

/** @param {RunFile} run */
export function failures({ failures: codes, failureWords, counts }) {
  const all = {
    ...codes,
    ...(counts.timedOut > 0 ? { timed_out: counts.timedOut } : {}),
    ...(counts.abandoned > 0 ? { abandoned: counts.abandoned } : {}),
  };
  const rows = Object.entries(all).sort((a, b) => b[1] - a[1]);
  if (rows.length === 0)
    return html`<section aria-labelledby="failed">
      <h2 id="failed">Failures</h2>
      <p class="good">✓ No operation failed, timed out or was abandoned.</p>
    </section>`;
  return html`<section aria-labelledby="failed">
    <h2 id="failed">Failures</h2>
    <div class="scroll" tabindex="0" role="region" aria-label="Failures by code">
      <table class="wraps">
        <thead>
          <tr>
            <th scope="col">code</th>
            <th scope="col">operations</th>
            <th scope="col">of those begun</th>
            <th scope="col">words of the first</th>
          </tr>
        </thead>
        <tbody>
          ${rows.map(
            ([code, count]) =>
              html`<tr>
                <th scope="row"><code>${code}</code></th>
                ${figureCell(`failed.${code}`, count, quantity(count, 'count'))}
                <td>${quantity((100 * count) / Math.max(1, counts.started), 'percent')}</td>
                <td>${failureWords[code] ?? ''}</td>
              </tr>`,
          )}
        </tbody>
      </table>
    </div>
  </section>`;
}

/** @param {RunFile} run */
export function thresholds({ thresholds: all, end }) {
  if (all.length === 0) return null;
  return html`<section aria-labelledby="limits">
    <h2 id="limits">Thresholds${end === 'running' && ' so far'}</h2>
    <table class="wraps">
      <tbody>
        ${all.map(
          ({ expression, passed, ...rest }) =>
            html`<tr>
              <th scope="row"><code>${expression}</code></th>
              <td class="${passed ? 'good' : 'bad'}">${passed ? '✓ holds' : '✗ failed'}</td>
              <td>${valueWords(rest)}</td>
            </tr>`,
        )}
      </tbody>
    </table>
  </section>`;
}

/** @param {Record<string, any>} result */
function valueWords({ value, unit, why, atMost, censored }) {
  if (value === null || value === undefined)
    return why === undefined || why === null ? 'not measured' : sentence(String(why));
  const us = (/** @type {number} */ limit) => quantity(limit / 1000, 'ms');
  if (atMost === null) return `>= ${us(value)}; ${quantity(censored, 'count')} censored`;
  if (atMost !== undefined) return `${us(value)} to ${us(atMost)}; ${quantity(censored, 'count')} censored`;
  if (unit === 'us') return us(value);
  return unit === 'percent' ? quantity(value, 'percent') : quantity(value, 'plain');
}

/** @type {Record<AuditResult, string>} */
const RESULT_WORDS = {
  exact: '✓ Exact: what this run says it did is what the chain says.',
  incomplete: '– Incomplete: nothing disagrees, but not everything could be checked.',
  not_exact: '✗ Not exact: what this run says it did is not what the chain says.',
};

/** @param {RunFile} run */
export function audit(run) {
  const found = /** @type {AuditReport | null} */ (run.audit);
  const result = auditResult(run);
  const evidence =
    run.verdict &&
    html`<section aria-labelledby="limit">
      <h2 id="limit">What limited the run</h2>
      <p><strong>${run.verdict.name}</strong>: ${sentence(run.verdict.evidence)}</p>
    </section>`;
  if (found === null || result === null)
    return html`${evidence}
      <section aria-labelledby="audited">
        <h2 id="audited">Audit on the chain</h2>
        <p>${result === null ? 'None' : 'Incomplete'}: ${sentence(run.unmeasured['/audit'] ?? 'it was not made')}</p>
      </section>`;
  return html`${evidence}
    <section aria-labelledby="audited">
      <h2 id="audited">Audit on the chain</h2>
      <p class="${result === 'exact' ? 'good' : 'bad'}">${RESULT_WORDS[result]}</p>
      <p>${balance(found)}</p>
      ${(found.checks ?? []).filter(({ holds }) => holds !== null).map((check) => html`<p>${checkWords(check)}</p>`)}
      ${auditGaps(run).map((words) => html`<p>– Not checked: ${words}.</p>`)}
      ${result === 'not_exact' && discrepancies(found)}
    </section>`;
}

/** @param {Check} check */
function checkWords({ words, expected, found, holds }) {
  return holds ? `✓ ${words}: ${found}, as it must be.` : `✗ ${words}: ${found}, and it must be ${expected}.`;
}

/** @param {AuditReport} audit */
function balance({
  wallets,
  effectsOnChain,
  verified,
  includedLate,
  reorgedOut,
  blockNumber,
  bounds,
  exact,
  pending,
  replaced,
  subject = 'counters grew by',
}) {
  const ours = `${quantity(verified, 'count')} verified + ${quantity(includedLate, 'count')} included late${reorgedOut > 0 ? ` − ${quantity(reorgedOut, 'count')} reorged out` : ''}`;
  const grew = `${quantity(wallets, 'count')} ${subject} ${/^\d+$/.test(effectsOnChain) ? quantity(Number(effectsOnChain), 'count') : effectsOnChain}`;
  if (exact) return `At block ${quantity(blockNumber, 'count')} ${grew} = ${ours}.`;
  return `At block ${quantity(blockNumber, 'count')} ${grew}; we know of ${ours}. Of ours at least ${bounds.atLeast} and at most ${bounds.atMost} were executed; ${quantity(pending, 'count')} pending, ${quantity(replaced, 'count')} replaced.`;
}

/** How many are listed one by one; the run file has more. */
const LISTED = 20;

/** @param {AuditReport} audit */
function discrepancies({ mismatches, mismatchCount, foreign, resolutions }) {
  const open = resolutions.filter(({ fate }) => fate === 'pending' || fate === 'replaced');
  const lines = [
    ...mismatches
      .slice(0, LISTED)
      .map(
        (m) =>
          `wallet ${m.walletIndex} (${m.address}): effect ${m.effect}, expected ${m.expectedEffect}; nonce ${m.nonce}, expected ${m.expectedNonce}`,
      ),
    ...foreign
      .slice(0, LISTED)
      .map((f) => `not ours: ${f.hash} (wallet ${f.walletIndex}, nonce ${f.nonce}, block ${f.blockNumber})`),
    ...open.slice(0, LISTED).map((r) => `${r.fate}: ${r.hash} (wallet ${r.walletIndex}, nonce ${r.nonce})`),
  ];
  return html`<details id="discrepancies" open>
    <summary>${quantity(mismatchCount, 'count')} wallets do not agree</summary>
    <ul>
      ${lines.map((line) => html`<li>${line}</li>`)}
    </ul>
  </details>`;
}
