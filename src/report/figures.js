import { html } from './html.js';

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
