import { filled, hangingIndent, printable } from '../text.js';
import { noPaint } from './terminal.js';

/**
 * Tables of results. A fact is put into a table once; there is a renderer for the terminal here, one for Markdown in
 * markdown.js, and one for pages in src/report/sections.js.
 *
 * @import { Paint, Style } from './terminal.js'
 *
 * @typedef {object} Table
 * @property {string} id of its section on a page
 * @property {string} title
 * @property {readonly string[]} columns their names; none: the first cells of the rows say enough
 * @property {ReadonlyArray<readonly string[]>} rows the first cell says what the others are of
 * @property {readonly string[]} notes
 *
 * @typedef {object} Result of a study
 * @property {string} title what was made, and how far it came
 * @property {string} verdict one sentence
 * @property {readonly string[]} [reasons] listed below the verdict
 * @property {Table[]} tables
 * @property {string[]} notes
 */

/**
 * @param {string} id
 * @param {string} title
 * @param {readonly string[]} columns
 * @param {ReadonlyArray<readonly string[]>} rows
 * @param {readonly string[]} [notes]
 * @returns {Table}
 */
export function tableOf(id, title, columns, rows, notes = []) {
  return { id, title, columns, rows, notes };
}

/** Words in cells that have a colour, and on a page a sign. @type {ReadonlyArray<[kind: 'good' | 'doubt' | 'bad', words: RegExp]>} */
const MARKS = Object.freeze([
  ['good', /^(passed|exact|faster)(?=:|$)|no contradiction$/],
  ['doubt', /^INCOMPLETE(?=:|$)/],
  ['bad', /^(FAILED|NOT EXACT|NOT CHECKED|PARTIAL|slower)(?=:|$)|\d CONTRADICTIONS?$/],
]);

/** @type {Readonly<Record<'good' | 'doubt' | 'bad', Style>>} */
const STYLES = Object.freeze({ good: 'green', doubt: 'yellow', bad: 'red' });

/** Rows with these first cells are painted as a whole. @type {Readonly<Record<string, Style>>} */
const ROW_STYLES = Object.freeze({ warning: 'yellow', verdict: 'bold' });

/** @param {string} cell @returns {{kind: 'good' | 'doubt' | 'bad', word: string} | null} */
export function markOf(cell) {
  for (const [kind, words] of MARKS) {
    const word = words.exec(cell)?.[0];
    if (word !== undefined) return { kind, word };
  }
  return null;
}

/** A number, perhaps with a bound, a unit, a deviation, an upper end or a mark; a dash or unknown: not measured. */
const FIGURE = /^-?$|^unknown$|^(>= |< )?[-+]?\d[\d.,:]*( [^\s:;]{1,6})?( (\.\.|±|x) .*)?[ *]*$/;

/** Columns of words begin at their left edge, columns of figures end at the right one. @param {ReadonlyArray<readonly unknown[]>} rows @returns {boolean[]} whether each column has words */
export function wordColumns(rows) {
  return (rows[0] ?? []).map((_, i) => i === 0 || rows.some((row) => !FIGURE.test(String(row[i]))));
}

/** The names of the columns; the title is in the place of the first one if it has none. @param {Table} table */
export function namedColumns({ title, columns: [first, ...others] }) {
  return [first || title, ...others];
}

/** Before each column. */
const GAP = '  ';

/** Least width of the labels of facts, so that those of several tables stand below each other. */
const LABEL_WIDTH = 10;

/** Facts that are longer are broken into lines, also in files and pipes. */
const LINE_LENGTH = 120;

/**
 * Tables without names of columns have no title here: their labels say enough.
 * @param {Table} table
 * @param {number} [width] of the terminal
 * @param {readonly number[]} [droppable] indexes of columns that are left out if the table is too wide, the first one goes first
 * @param {Paint} [paint]
 * @returns {string} printable
 */
export function tableText(table, width = Infinity, droppable = [], paint = noPaint) {
  const { title, columns, rows, notes } = table;
  const all = columns.length === 0 ? rows : [namedColumns(table), ...rows];
  const isFacts = columns.length === 0 && rows[0]?.length === 2;
  const isWords = wordColumns(rows);
  const widths = (all[0] ?? []).map((_, i) => Math.max(...all.map((row) => row[i].length)));
  if (isFacts) widths[0] = Math.max(widths[0], LABEL_WIDTH);
  const places = [...widths.keys()];
  const end = () => places.reduce((sum, i) => sum + GAP.length + widths[i], 0);
  for (const index of droppable) if (end() > width) places.splice(places.indexOf(index), 1);
  const last = places[places.length - 1];
  const start = end() - widths[last];
  const room = (isFacts ? Math.min(width, LINE_LENGTH) : width) - start;
  const lines = all.map((row) => {
    const cells = places.map((i) => (isWords[i] ? row[i].padEnd(widths[i]) : row[i].padStart(widths[i])));
    const line = `${GAP}${cells.join(GAP)}`.trimEnd();
    // Words of a wide last column go on below themselves, if there is space.
    const isBroken = isWords[last] && line.length > start + room && room >= start;
    return isBroken ? line.slice(0, start) + filled(row[last], room).join(`\n${' '.repeat(start)}`) : line;
  });
  const painted = lines.map((line, i) => paintedRow(printable(line), all[i], paint));
  const heading = columns[0] && title !== '' ? [printable(`${GAP}${title}`)] : [];
  const below = notes.map((words) => {
    const line = printable(`${GAP}${GAP}${words}`);
    // A command that is copied stays in one line.
    return /^([A-Z_]+="\S+" )*(curl|stress) /.test(words) ? line : hangingIndent(line, width);
  });
  return [...heading, ...painted, ...below].join('\n');
}

/** Escape codes are added last, because printable() removes them. @param {string} line @param {readonly string[]} row @param {Paint} paint */
function paintedRow(line, [label, ...cells], paint) {
  if (Object.hasOwn(ROW_STYLES, label)) return paint(ROW_STYLES[label], line);
  const mark = cells.map(markOf).find((found) => found !== null) ?? null;
  return mark === null ? line : line.replace(mark.word, (word) => paint(STYLES[mark.kind], word));
}

const UNDER_VERDICT = ' '.repeat('  verdict   '.length);

/** A result for the terminal, printable. @param {Result} result @param {number} [width] */
export function resultText({ title, verdict, reasons = [], tables, notes }, width) {
  const lines = [
    ...notes.map((note) => `${GAP}${note}`),
    `${GAP}verdict   ${verdict}`,
    ...reasons.map((reason) => `${UNDER_VERDICT}- ${reason}`),
  ];
  const texts = tables.map((table) => `${tableText(table, width, lastFirst(table.columns))}\n`);
  return ['', printable(title), ...texts, printable(lines.join('\n'))].join('\n');
}

/** All columns but the first and the last. @param {readonly string[]} columns */
function lastFirst(columns) {
  return [...columns.keys()].slice(1, -1).reverse();
}
