import { markOf, wordColumns } from '../outputs/table.js';
import { counted } from '../text.js';
import { sentence } from './charts.js';
import { Html, details, html, list, scrollBox, section } from './html.js';

/**
 * The parts that all pages have: tables, badges and notes.
 *
 * @import { Table } from '../outputs/table.js'
 * @import { Part } from './html.js'
 *
 * @typedef {Omit<Table, 'rows'> & {rows: ReadonlyArray<readonly Part[]>}} Cells a table whose cells may have HTML
 */

/** Before words that have a colour. */
export const SIGNS = Object.freeze({ good: '✓ ', doubt: '✗ ', bad: '✗ ', plain: '' });

/** Classes of page.css. */
const COLORS = Object.freeze({ good: 'good', doubt: 'bad', bad: 'bad', plain: '' });

/** Columns with longer texts are broken into lines. */
const LONG = 40;

/**
 * A table that scrolls sideways on small screens.
 * @param {Cells} table
 * @param {(row: number, column: number) => string} [classOf] of a cell
 */
export function dataTable({ title, columns, rows }, classOf = () => '') {
  const classes = wordColumns(rows).map((isWords, i) => {
    const isLong = rows.some((cells) => String(cells[i]).length > LONG && !(cells[i] instanceof Html));
    return `${isWords ? 'words' : ''} ${isLong ? 'long' : ''}`;
  });
  const heads = columns.map((text, i) =>
    text === '' ? html`<td></td>` : html`<th scope="col" class="${classes[i]}">${text}</th>`,
  );
  const cell = (/** @type {Part} */ content, /** @type {number} */ row, /** @type {number} */ i) => {
    const { kind = 'plain' } = markOf(String(content)) ?? {};
    return html`<td class="${classes[i]} ${COLORS[kind]} ${classOf(row, i)}">${SIGNS[kind]}${content}</td>`;
  };
  const lines = rows.map(
    ([first, ...rest], row) =>
      html`<tr>
        <th scope="row">${first}</th>
        ${rest.map((content, i) => cell(content, row, i + 1))}
      </tr>`,
  );
  const head =
    columns.length > 0 &&
    html`<thead>
      <tr>
        ${heads}
      </tr>
    </thead>`;
  return scrollBox(
    `Table: ${title}`,
    html`<table>
      ${head}
      <tbody>
        ${lines}
      </tbody>
    </table>`,
  );
}

/** @param {Cells} table @param {readonly Part[]} [before] above the table @param {readonly Part[]} [after] below its notes */
export function tableSection(table, before = [], after = []) {
  const { id, title, notes } = table;
  return section(id, title, ...before, dataTable(table), ...notes.map(noteOrCommand), ...after);
}

/** A command that is copied keeps its form. @param {string} words */
function noteOrCommand(words) {
  const isCommand = words.startsWith('curl ');
  return isCommand ? html`<pre tabindex="0" role="group" aria-label="Command">${words}</pre>` : note(words);
}

/** A table that is opened by its title. @param {Cells} table */
export function tableDetails(table) {
  return table.rows.length > 0 && details(table.id, table.title, dataTable(table));
}

/** A word with a sign and a colour. @param {string} word @param {'good' | 'bad' | 'plain'} kind */
export function badge(word, kind) {
  return html`<li class="${kind}">${SIGNS[kind]}${word}</li>`;
}

/** @param {number} count @param {string} noun in the singular @param {string} [rest] */
export function badBadge(count, noun, rest = '') {
  return count > 0 && badge(`${counted(count, noun)}${rest}`, 'bad');
}

/** @param {ReadonlyArray<{passed: boolean}>} all @param {string} noun of several @returns {Part} */
export function passedBadge(all, noun) {
  const failed = all.filter(({ passed }) => !passed).length;
  if (all.length === 0) return false;
  return failed === 0
    ? badge(`all ${all.length} ${noun} passed`, 'good')
    : badge(`${failed} of ${all.length} ${noun} failed`, 'bad');
}

/** The headline of a page, and what follows it. @param {string} words @param {number} at the place of a separator of two characters; -1: none */
export function headline(words, at) {
  if (at < 0) return { verdict: sentence(words) };
  return { verdict: sentence(words.slice(0, at)), limit: sentence(words.slice(at + 2)) };
}

/** @param {Part | readonly Part[]} words @param {string} [id] */
export function note(words, id) {
  return html`<p class="note" ${id !== undefined && html`id="${id}"`}>${words}</p>`;
}

/** A section with a list; nothing without lines. @param {string} id @param {string} title @param {readonly string[]} lines */
export function listSection(id, title, lines) {
  return lines.length > 0 && section(id, title, list(lines));
}

/** @param {string} time in ISO format */
export function minuteOf(time) {
  return `${time.slice(0, 16).replace('T', ' ')} UTC`;
}
