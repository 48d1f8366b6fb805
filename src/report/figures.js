import { boundsOf } from '../metrics/distribution.js';
import { atLeast, LATENCY_FIGURES } from '../output/format.js';
import { quantity } from './client/quantity.js';
import { html } from './html.js';

/** @import { DistributionJson } from '../metrics/distribution.js' */

/**
 * Figures of a run file on a page: each carries its value as the file has it, so that nothing that was rounded for
 * people is lost to programs.
 *
 * @typedef {object} KeyFigure
 * @property {string} name such as a threshold would call it
 * @property {string} label
 * @property {number | null} value as it is in the file
 * @property {string} text as people read it
 * @property {string} [note]
 *
 * @typedef {keyof typeof LATENCY_FIGURES} LatencyName
 */

/** Stands in `<dl class="figures">`. @param {KeyFigure} figure */
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
 * A figure of a latency, with >= where it may be larger, because operations are censored.
 * @param {DistributionJson} json
 * @param {Parameters<typeof boundsOf>[1]} censored
 * @param {LatencyName} name
 */
export function latencyFigure(json, censored, name) {
  const { us, atMostUs } = boundsOf(json, censored, LATENCY_FIGURES[name]);
  const text = us === null ? quantity(null, 'ms') : atLeast(quantity(us / 1000, 'ms'), quantity(atMostUs / 1000, 'ms'));
  return { value: us, text };
}

/**
 * @param {string} prefix of their names
 * @param {Parameters<typeof latencyFigure>[0]} json
 * @param {Parameters<typeof latencyFigure>[1]} censored
 * @param {readonly LatencyName[]} names
 */
export function latencyCells(prefix, json, censored, names) {
  return names.map((name) => {
    const { value, text } = latencyFigure(json, censored, name);
    return figureCell(`${prefix}.${name}`, value, text);
  });
}

/** @param {string} name @param {number | null} value */
export function marks(name, value) {
  return html`data-figure="${name}" data-value="${value === null ? 'null' : String(value)}"`;
}

/** A word that is worth a colour; the word alone says it, too. @param {string} word @param {'good' | 'bad' | 'plain'} kind */
export function badge(word, kind) {
  const sign = { good: '✓ ', bad: '✗ ', plain: '' }[kind];
  return html`<li class="${kind}">${sign}${word}</li>`;
}

/** Six digits are more than any screen shows, and take half the room. @param {number | null | undefined} value */
export function rounded(value) {
  return value === null || value === undefined || !Number.isFinite(value) ? null : Number(value.toPrecision(6));
}
