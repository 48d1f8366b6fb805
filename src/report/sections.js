import { atLeast } from '../outputs/format.js';
import { boundsOf, statisticOf } from '../stats/histogram.js';
import { quantity } from './client/quantity.js';
import { html, list, renderPage, section } from './html.js';

/**
 * The parts that all pages have: lead, key figures, notes and cells. Each figure carries its exact value of the file as
 * an attribute, for programs.
 *
 * @import { Statistic } from '../stats/histogram.js'
 * @import { DistributionJson } from '../types.d.ts'
 * @import { Unit } from './client/quantity.js'
 * @import { Html, Page, PageData, Part } from './html.js'
 *
 * @typedef {'avg' | 'min' | 'max' | `p${number}`} LatencyName
 *
 * @typedef {object} KeyFigure
 * @property {string} name as in a threshold
 * @property {string} label
 * @property {number | null} value exact
 * @property {string} text formatted
 * @property {string} [note]
 */

/**
 * @param {object} page
 * @param {string} page.title
 * @param {Part} page.verdict
 * @param {readonly Part[]} page.badges
 * @param {readonly KeyFigure[]} page.figures
 * @param {Html} page.main
 * @param {PageData['charts']} page.charts
 * @param {PageData['time']} [page.time]
 * @param {Page['live']} [page.live]
 * @returns {string} an HTML document
 */
export function pageOf({ title, verdict, badges, figures, main, charts, time = null, live }) {
  const lead = html`<p class="verdict">${verdict}</p>
    <ul class="badges">
      ${badges}
    </ul>
    ${figures.length > 0 && html`<dl class="figures">${figures.map(keyFigure)}</dl>`}`;
  return renderPage({ title, lead, main, data: { time, charts }, live });
}

/** @param {string} name @param {string} label @param {number | null} value @param {Unit} unit @param {string} [words] @returns {KeyFigure} */
export function keyOf(name, label, value, unit, words) {
  return { name, label, value, text: quantity(value, unit), note: words };
}

/** An item of `<dl class="figures">`. @param {KeyFigure} figure */
export function keyFigure({ name, label, value, text, note }) {
  return html`<div>
    <dt>${label}</dt>
    <dd ${marks(name, value)}>${text}</dd>
    ${note !== undefined && html`<dd>${note}</dd>`}
  </div>`;
}

/** @param {string} name @param {number | null} value */
export function marks(name, value) {
  return html`data-figure="${name}" data-value="${value === null ? 'null' : String(value)}"`;
}

/** @param {string} name @param {number | null} value @param {Part} text */
export function figureCell(name, value, text) {
  return html`<td ${marks(name, value)}>${text}</td>`;
}

/** A word with a sign and a colour. @param {string} word @param {'good' | 'bad' | 'plain'} kind */
export function badge(word, kind) {
  const sign = { good: '✓ ', bad: '✗ ', plain: '' }[kind];
  return html`<li class="${kind}">${sign}${word}</li>`;
}

/** @param {number} count @param {string} noun in the singular @param {string} [rest] */
export function badBadge(count, noun, rest = '') {
  return count > 0 && badge(`${count} ${noun}${count === 1 ? '' : 's'}${rest}`, 'bad');
}

/** @param {ReadonlyArray<{passed: boolean}>} all @param {string} noun of several @returns {Part} */
export function passedBadge(all, noun) {
  const failed = all.filter(({ passed }) => !passed).length;
  if (all.length === 0) return false;
  return failed === 0
    ? badge(`all ${all.length} ${noun} hold`, 'good')
    : badge(`${failed} of ${all.length} ${noun} failed`, 'bad');
}

/** The result of a condition. @param {boolean} passed */
export function passedCell(passed) {
  return html`<td class="${passed ? 'good' : 'bad'}">${passed ? '✓ holds' : '✗ failed'}</td>`;
}

/** @param {string} text */
export function wordsHead(text) {
  return html`<th scope="col" class="words">${text}</th>`;
}

/** @param {Part | readonly Part[]} words @param {string} [id] */
export function note(words, id) {
  return html`<p class="note" ${id !== undefined && html`id="${id}"`}>${words}</p>`;
}

/** @param {readonly Part[]} figures */
export function chartBox(figures) {
  return html`<div class="charts">${figures}</div>`;
}

/** A section with a list; nothing without lines. @param {string} id @param {string} title @param {readonly string[]} lines */
export function listSection(id, title, lines) {
  return lines.length > 0 && section(id, title, list(lines));
}

/** @param {string} time in ISO format */
export function minuteOf(time) {
  return `${time.slice(0, 16).replace('T', ' ')} UTC`;
}

/** @param {string} time in ISO format */
export function secondOf(time) {
  return time.slice(0, 19).replace('T', ' ');
}

/**
 * A latency, with >= if it is a lower bound because of censored operations.
 * @param {DistributionJson} json
 * @param {Parameters<typeof boundsOf>[1]} censored
 * @param {LatencyName} name
 */
export function latencyFigure(json, censored, name) {
  const { us, atMostUs } = boundsOf(json, censored, /** @type {Statistic | number} */ (statisticOf(name)));
  const text = us === null ? quantity(null, 'ms') : atLeast(quantity(us / 1000, 'ms'), quantity(atMostUs / 1000, 'ms'));
  return { value: us, text };
}

/** Six digits are enough for a screen, and halve the size of the data. @param {number | null | undefined} value */
export function rounded(value) {
  return value === null || value === undefined || !Number.isFinite(value) ? null : Number(value.toPrecision(6));
}
