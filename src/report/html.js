import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { InternalError, UNSEEN_CHARACTERS } from '../errors.js';

/**
 * @import { Chart, TimeAxis } from './charts.js'
 * @import { Flame } from './flame.js'
 */

/**
 * HTML by a tagged template that escapes all values except HTML itself, because texts in run files may be anything; and
 * the frame, script and style of every page. A page is one file that loads nothing.
 */

/** Text that needs no escaping. */
export class Html {
  /** @param {string} text */
  constructor(text) {
    this.text = text;
  }

  toString() {
    return this.text;
  }
}

/** @typedef {string | number | Html | null | undefined | false} Part */
/** @typedef {Part | readonly Part[]} Content */

/**
 * @param {TemplateStringsArray} strings
 * @param {...Content} values lists are concatenated; null, undefined and false give nothing
 * @returns {Html}
 */
export function html(strings, ...values) {
  return new Html(strings.reduce((text, string, i) => `${text}${contentOf(values[i - 1])}${string}`));
}

/** @param {Content} value @returns {string} */
function contentOf(value) {
  if (value === null || value === undefined || value === false) return '';
  if (value instanceof Html) return value.text;
  if (Array.isArray(value)) return value.map(contentOf).join('');
  return escape(String(value));
}

/** A section with its heading. @param {string} id @param {Content} title @param {...Content} content */
export function section(id, title, ...content) {
  return html`<section aria-labelledby="${id}">
    <h2 id="${id}">${title}</h2>
    ${content.flat()}
  </section>`;
}

/** What is wider than the page scrolls in a box of its own, which says so. @param {string} name @param {Content} [content] */
export function scrollBox(name, content) {
  return html`<div class="scroll" tabindex="0" role="region" aria-label="${name}">${content}</div>`;
}

/** @param {readonly Part[]} items */
export function list(items) {
  return html`<ul>
    ${items.map((item) => html`<li>${item}</li>`)}
  </ul>`;
}

/** A section that is opened by its heading. @param {string} id @param {string} title @param {boolean} isOpen @param {...Content} content */
export function folded(id, title, isOpen, ...content) {
  return html`<details class="section" id="section-${id}" ${isOpen && html`open`}>
    <summary><h2 id="${id}">${title}</h2></summary>
    ${content.flat()}
  </details>`;
}

/** @param {string} id @param {Content} summary @param {Content} content */
export function details(id, summary, content) {
  return html`<details id="${id}">
    <summary>${summary}</summary>
    ${content}
  </details>`;
}

/** @type {Record<string, string>} */
const ENTITIES = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };

/**
 * Escapes for text and for quoted attributes. Control characters, invisible characters and credentials in URLs are
 * replaced.
 * @param {string} text
 */
export function escape(text) {
  return withoutHidden(text)
    .replace(/[^\P{Cc}\n\t]/gu, ' ')
    .replace(/[&<>"']/g, (character) => ENTITIES[character]);
}

/** @param {string} text */
function withoutHidden(text) {
  return text.replace(UNSEEN_CHARACTERS, ' ').replace(/\/\/[^\s/?#@"'<>]*@/g, '//***@');
}

/** JSON that cannot end its script element or begin a comment. @param {unknown} value */
export function scriptJson(value) {
  const text = JSON.stringify(value, (_, inner) => (typeof inner === 'string' ? withoutHidden(inner) : inner));
  return new Html(text.replace(/[<>&\u2028\u2029]/g, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`));
}

/**
 * The script of every page: modules like all others, so that they are linted, type-checked and tested. A page has them as
 * one plain script, so their top-level names differ.
 */
const SCRIPT = [
  '../quantity.js',
  ...[
    'colors',
    'axes',
    'buckets',
    'heat',
    'shapes',
    'time-marks',
    'plot',
    'numbers',
    'board',
    'flame',
    'live',
    'main',
  ].map((name) => `./client/${name}.js`),
].map((file) => new URL(file, import.meta.url));
const STYLE = new URL('./client/page.css', import.meta.url);

/** The package of uPlot exports only its main file, so the others are located beside it. @param {string} name */
function uplotFile(name) {
  const { resolve } = createRequire(import.meta.url);
  return new URL(name, `file://${resolve('uplot')}`);
}

/** @returns {{script: string, style: string, policy: string}} policy: Content-Security-Policy */
function pageAssets() {
  // The licence asks for its text in every copy.
  const licence = `/*! uPlot, script and style:\n\n${read(uplotFile('../LICENSE'))}\n*/`;
  const script = `${licence}\n${read(uplotFile('uPlot.iife.min.js'))}\n(() => {\n'use strict';\n${SCRIPT.map(plain).join('\n')}\n})();`;
  const style = `${read(uplotFile('uPlot.min.css'))}\n${read(STYLE)}`;
  const policy = `default-src 'none'; script-src '${hashOf(script)}'; style-src '${hashOf(style)}'; img-src data:`;
  return { script, style, policy: `${policy}; base-uri 'none'; form-action 'none'` };
}

/** @param {URL} file */
function read(file) {
  const text = readFileSync(file, 'utf8').trim();
  // It would end its element.
  if (/<\/(script|style)/i.test(text)) throw new InternalError(`${file.pathname} cannot stand in a page`);
  return text;
}

/** @param {string} text */
function hashOf(text) {
  return `sha256-${createHash('sha256').update(text).digest('base64')}`;
}

/** A module without comments that have their own lines, imports and the word export. @param {URL} file */
function plain(file) {
  return read(file).replace(/^ *(?:\/\*\*(?:[^*]|\*(?!\/))*\*\/|\/\/.*)\n|^import .*\n|^export /gm, '');
}

/**
 * @typedef {object} Tile one figure
 * @property {string} label
 * @property {string} value
 * @property {string} [words] what it is
 * @property {'good' | 'bad' | ''} [kind]
 *
 * The data that the script draws.
 *
 * @typedef {object} PageData
 * @property {TimeAxis | null} time the axis that all charts over time share
 * @property {Chart[]} charts
 * @property {readonly Flame[]} [flames]
 *
 * @typedef {object} Page
 * @property {string} title
 * @property {Part} verdict
 * @property {Part} [limit] what follows it: what limited the run, and what to try
 * @property {readonly Part[]} [badges]
 * @property {ReadonlyArray<readonly Tile[]>} [tiles] ranks: the large ones first
 * @property {Html} main
 * @property {readonly Chart[]} [charts]
 * @property {readonly Flame[]} [flames]
 * @property {TimeAxis | null} [time]
 * @property {number} [live] version of the page of a run that goes on
 */

/** @param {Tile} tile */
function tileBox({ label, value, words = '', kind = '' }) {
  return html`<div>
    <dt>${label}</dt>
    <dd${kind !== '' && html` class="${kind}"`}>${value}</dd>
    ${words !== '' && html`<dd>${words}</dd>`}
  </div>`;
}

/** @param {Page} page @returns {string} the whole document */
export function renderPage({
  title,
  verdict,
  limit,
  badges = [],
  tiles = [],
  main,
  charts = [],
  flames = [],
  time = null,
  live,
}) {
  const { script, style, policy } = pageAssets();
  /** @type {PageData} */
  const data = { time, charts: charts.filter(({ why }) => why === undefined), flames };
  const ranks = tiles.map(
    (rank, i) => html`<dl class="${i === 0 ? 'figures' : 'figures small'}">${rank.map(tileBox)}</dl>`,
  );
  return `${html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${`${policy}${live === undefined ? '' : "; connect-src 'self'"}`}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<title>${title}</title>
<link rel="icon" href="data:,">
<style>${new Html(style)}</style>
</head>
<body${live !== undefined && html` data-live="${live}"`}>
<a class="skip" href="#main">Skip to the charts</a>
<header>
<div class="bar"><span class="brand">stress</span>
<h1>${title}</h1>
${live !== undefined && html`<span id="live" role="status">connecting</span>`}</div>
<div id="lead"><p class="verdict">${verdict}</p>
${limit !== undefined && html`<p class="limit">${limit}</p>`}
${
  badges.length > 0 &&
  html`<ul class="badges">
    ${badges}
  </ul>`
}
${ranks}</div>
</header>
<main id="main">
<noscript><p class="note">The charts need scripts; all other figures are below.</p></noscript>
${main}
</main>
<script type="application/json" id="data">${scriptJson(data)}</script>
<script>${new Html(script)}</script>
</body>
</html>`}\n`;
}
