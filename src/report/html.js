import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { InternalError, UNSEEN_CHARACTERS } from '../errors.js';

/** @import { Chart, TimeAxis } from './charts.js' */

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

/** @param {readonly Part[]} items */
export function list(items) {
  return html`<ul>
    ${items.map((item) => html`<li>${item}</li>`)}
  </ul>`;
}

/** @param {string} id @param {Content} summary @param {Content} content */
export function details(id, summary, content) {
  return html`<details id="${id}">
    <summary>${summary}</summary>
    ${content}
  </details>`;
}

/** @param {Content} head @param {readonly Part[]} cells contents, or `<td>` elements */
export function row(head, cells) {
  const all = cells.map((cell) => (isCell(cell) ? cell : html`<td>${cell}</td>`));
  return html`<tr>
    <th scope="row">${head}</th>
    ${all}
  </tr>`;
}

/** @param {Part} part */
function isCell(part) {
  return part instanceof Html && /^<t[dh][ >]/.test(part.text);
}

/**
 * @param {{heads?: readonly Part[], rows: readonly Part[], style?: string, id?: string, caption?: string}} parts heads:
 *   contents or cells; rows: `<tr>` elements
 */
export function table({ heads = [], rows, style, id, caption }) {
  const cells = heads.map((head) => (isCell(head) ? head : html`<th scope="col">${head}</th>`));
  const attributes = html`${style !== undefined && html` class="${style}"`}${id !== undefined && html` id="${id}"`}`;
  const title =
    caption !== undefined &&
    html`<caption>
      ${caption}
    </caption>`;
  const head =
    cells.length > 0 &&
    html`<thead>
      <tr>
        ${cells}
      </tr>
    </thead>`;
  return html`<table${attributes}>${title}${head}<tbody>${rows}</tbody></table>`;
}

/** A table that scrolls sideways on small screens. @param {string} label @param {Parameters<typeof table>[0]} parts */
export function scrollTable(label, parts) {
  return html`<div class="scroll" tabindex="0" role="region" aria-label="${label}">${table(parts)}</div>`;
}

/**
 * A scrolling table with a row for each item, the first column of which is the head of the row.
 * @template T
 * @typedef {readonly [Part, (item: T, i: number) => Part]} Column its heading, and the content of an item's cell
 */

/**
 * @template T
 * @param {string} label
 * @param {readonly T[]} items
 * @param {ReadonlyArray<Column<T> | false>} columns false: left out
 * @param {{style?: string, id?: string, caption?: string}} [how]
 */
export function itemTable(label, items, columns, how) {
  const shown = columns.filter((column) => column !== false);
  const rows = items.map((item, i) => {
    const [head, ...cells] = shown.map(([, of]) => of(item, i));
    return row(head, cells);
  });
  return scrollTable(label, { heads: shown.map(([heading]) => heading), rows, ...how });
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

/** Modules like all others, so that they are linted, type-checked and tested; a page has them as one plain script. */
const MAIN = new URL('./client/main.js', import.meta.url);
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
  const script = `${licence}\n${read(uplotFile('uPlot.iife.min.js'))}\n${bundle(MAIN)}`;
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

/** Bundles a module with its imports; each becomes a function that returns its exports. @param {URL} main */
function bundle(main) {
  /** Names of the functions' results by module, in the order of execution. @type {Map<string, string>} */
  const names = new Map();
  /** @type {string[]} */
  const parts = [];
  /** @param {URL} file @returns {string} */
  const add = (file) => {
    const known = names.get(file.href);
    if (known !== undefined) return known;
    const body = read(file)
      .replace(COMMENT, '')
      .replace(IMPORT, (_, members, from) => {
        const name = add(new URL(from, file));
        return `const {${members.replaceAll(' as ', ': ')}} = ${name};`;
      });
    const name = `module${names.size}`;
    names.set(file.href, name);
    const exported = [...body.matchAll(EXPORT)].map(([, , word]) => word);
    parts.push(`const ${name} = (() => {\n${body.replace(EXPORT, '$1 $2')}\nreturn {${exported.join(', ')}};\n})();`);
    return name;
  };
  add(main);
  return `(() => {\n'use strict';\n${parts.join('\n')}\n})();`;
}

/** Whole lines of comments, which a page does not need. */
const COMMENT = /^ *(?:\/\*\*(?:[^*]|\*(?!\/))*\*\/|\/\/.*)\n/gm;
const IMPORT = /^import \{([^}]*)\} from '([^']+)';$/gm;
const EXPORT = /^export ((?:async )?function|class|const) (\w+)/gm;

/**
 * The data that the script draws.
 *
 * @typedef {object} PageData
 * @property {TimeAxis | null} time the axis that all charts over time share
 * @property {Chart[]} charts
 *
 * @typedef {object} Page
 * @property {string} title
 * @property {Html} lead verdict and key figures
 * @property {Html} main
 * @property {PageData} data
 * @property {{version: number, now: string}} [live] of a run that goes on; now: a sentence on its last interval
 */

/** @param {Page} page @returns {string} the whole document */
export function renderPage({ title, lead, main, data, live }) {
  const { script, style, policy } = pageAssets();
  return `${html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${`${policy}${live ? "; connect-src 'self'" : ''}`}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<title>${title}</title>
<link rel="icon" href="data:,">
<style>${new Html(style)}</style>
</head>
<body${live && html` data-live="${live.version}"`}>
<a class="skip" href="#main">Skip to the charts</a>
<header>
<div class="bar"><span class="brand">stress</span>
${live && html`<span id="live" role="status">connecting</span>`}
<button type="button" id="theme" class="needs-script">Colours: <span>as the system</span></button></div>
<h1>${title}</h1>
<div id="lead">${lead}</div>
${live && html`<p id="now">${live.now}</p>`}
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
