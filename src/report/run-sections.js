import { count, figure, seconds } from '../outputs/format.js';
import { auditWord, mergedLines, mergedOf } from '../outputs/summary.js';
import { auditGaps, auditResult } from '../stats/audit-result.js';
import { censoredOf } from '../stats/metrics.js';
import { endpointsOf } from '../stats/recorder.js';
import { countedWords, isPlain, shownStages } from '../stats/sample.js';
import { sentence } from './charts.js';
import { digits, quantity } from './client/quantity.js';
import { latencyFigure, ms } from './figures.js';
import { html, scrollTable } from './html.js';
import { STAGE_WORDS } from './run-charts.js';

/**
 * @import { AuditReport, AuditResult, Check, DistributionJson, EndpointFacts, EndpointFigures, RunFile } from '../types.d.ts'
 * @import { LatencyName } from './figures.js'
 */

/**
 * The sections of a run's page. Each figure carries its exact value of the run file as an attribute, for programs.
 *
 * @typedef {object} KeyFigure
 * @property {string} name as in a threshold
 * @property {string} label
 * @property {number | null} value exact
 * @property {string} text formatted
 * @property {string} [note]
 */

/** An item of `<dl class="figures">`. @param {KeyFigure} figure */
export function keyFigure({ name, label, value, text, note }) {
  return html`<div>
    <dt>${label}</dt>
    <dd ${marks(name, value)}>${text}</dd>
    ${note !== undefined && html`<dd>${note}</dd>`}
  </div>`;
}

/** @param {string} name @param {number | null} value @param {string} text */
export function figureCell(name, value, text) {
  return html`<td ${marks(name, value)}>${text}</td>`;
}

/**
 * @param {string} prefix of their names
 * @param {Parameters<typeof latencyFigure>[0]} json
 * @param {Parameters<typeof latencyFigure>[1]} censored
 * @param {readonly LatencyName[]} names
 */
function latencyCells(prefix, json, censored, names) {
  return names.map((name) => {
    const { value, text } = latencyFigure(json, censored, name);
    return figureCell(`${prefix}.${name}`, value, text);
  });
}

/** @param {string} name @param {number | null} value */
export function marks(name, value) {
  return html`data-figure="${name}" data-value="${value === null ? 'null' : String(value)}"`;
}

/** A word with a sign and a colour. @param {string} word @param {'good' | 'bad' | 'plain'} kind */
export function badge(word, kind) {
  const sign = { good: '✓ ', bad: '✗ ', plain: '' }[kind];
  return html`<li class="${kind}">${sign}${word}</li>`;
}

/** @param {{warnings: readonly string[]}} file */
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
    ${scrollTable('Failures by code', {
      heads: ['code', 'operations', 'of those begun', 'words of the first'],
      rows: rows.map(
        ([code, count]) =>
          html`<tr>
            <th scope="row"><code>${code}</code></th>
            ${figureCell(`failed.${code}`, count, quantity(count, 'count'))}
            <td>${quantity((100 * count) / Math.max(1, counts.started), 'percent')}</td>
            <td>${failureWords[code] ?? ''}</td>
          </tr>`,
      ),
      style: 'wraps',
    })}
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

/** Limit of a list; the run file has all. */
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

/** @type {readonly LatencyName[]} */
const NAME_COLUMNS = ['avg', 'min', 'p50', 'p90', 'p95', 'p99', 'max'];

/** @param {RunFile} run */
export function names(run) {
  const { byName = {}, window, failures } = run;
  const groups = Object.entries(byName).sort(([, a], [, b]) => b.latency.sumUs - a.latency.sumUs);
  if (groups.length === 0) return '';
  const hasFailures = Object.keys(failures).length > 0;
  return html`<section aria-labelledby="by-name">
    <h2 id="by-name">By name</h2>
    <p>The kinds of calls, those first that took the most time in all. Latency is that of the window.</p>
    ${scrollTable('Figures by name', {
      heads: [
        'Name',
        countedWords(isPlain(run)).verified,
        'per second',
        'failed',
        ...NAME_COLUMNS,
        ...(hasFailures ? ['failed with'] : []),
      ],
      rows: groups.map(
        ([name, { counts, windowVerified, latency, censored, failures: codes }]) =>
          html`<tr>
            <th scope="row">${name}</th>
            <td>${quantity(counts.verified, 'count')}</td>
            <td>${quantity(perSecond(windowVerified, window.durationMs), 'perSecond')}</td>
            <td>${quantity(counts.failed, 'count')}</td>
            ${latencyCells(`calls.${name}`, latency, censored, NAME_COLUMNS)}
            ${hasFailures && html`<td>${codesInWords(codes)}</td>`}
          </tr>`,
      ),
    })}
  </section>`;
}

/** @param {number} verified @param {number} durationMs */
function perSecond(verified, durationMs) {
  return durationMs === 0 ? null : (1000 * verified) / durationMs;
}

/** @param {Record<string, number>} codes */
function codesInWords(codes) {
  return Object.entries(codes)
    .map(([code, times]) => `${code} ${quantity(times, 'count')}`)
    .join(', ');
}

/** @type {readonly LatencyName[]} */
const ENDPOINT_COLUMNS = ['avg', 'p50', 'p99', 'max'];

/** @param {RunFile} run */
export function endpoints(run) {
  const all = endpointsOf(run);
  if (all.length === 0) return '';
  const { verified, tps } = countedWords(isPlain(run));
  const columns = ['node', verified, 'failed', 'timed out', tps, ...ENDPOINT_COLUMNS, 'left', 'away'];
  return html`<section aria-labelledby="by-endpoint">
    <h2 id="by-endpoint">By endpoint</h2>
    <p>Operations by the endpoint that they were sent to last. Latency is that of the window.</p>
    ${scrollTable('Figures by endpoint', { heads: ['Endpoint', ...columns], rows: all.map(row) })} ${eventsOf(run, all)}
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
    ${latencyCells(`endpoint.${i}`, latency, censored, ENDPOINT_COLUMNS)}
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

/** The instances of a merged run. @param {RunFile} run */
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
          ${merged.instances.slice(0, MAX_INSTANCES).map(
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
      ${merged.instances.length > MAX_INSTANCES && html`<p class="note">... and ${count(merged.instances.length - MAX_INSTANCES)} more</p>`}
    </details>
  </section>`;
}

const MAX_INSTANCES = 200;

/**
 * The node's own metrics: first and last value and change. A metrics page does not reliably tell counters from gauges,
 * so both are shown.
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
    ${scrollTable("The node's own metrics", { heads: ['series', 'first', 'last', 'change'], rows: rows })}
  </details>`;
}
