import { printable } from '../text.js';

/**
 * Tables of results. A fact is put into a table once; there is a renderer for the terminal here, one for Markdown in
 * markdown.js, and one for pages in src/report/sections.js.
 *
 * @typedef {object} Table
 * @property {string} [id] of its section on a page
 * @property {string} title of its section on a page
 * @property {string[]} head empty: the first cells of the rows say enough
 * @property {string[][]} rows the first cell says what the others are of
 * @property {string} [note]
 *
 * @typedef {object} Result of a study
 * @property {string} title what was made, and how far it came
 * @property {string} verdict one sentence
 * @property {readonly string[]} [reasons] listed below the verdict
 * @property {Table[]} tables
 * @property {string[]} notes
 */

/** A number, perhaps with a bound, a unit, a deviation, an upper end or a mark; a dash: not measured. */
const FIGURE = /^[-–]?$|^(>= |< )?[-+]?\d[\d.,:]*( [^\s:;]{1,6})?( (\.\.|±|x) .*)?[ *]*$/;

/** Columns of words begin at their left edge, columns of figures end at the right one. @param {ReadonlyArray<readonly unknown[]>} rows @returns {boolean[]} whether each column has words */
export function wordColumns(rows) {
  return (rows[0] ?? []).map((_, i) => i === 0 || rows.some((row) => !FIGURE.test(String(row[i]))));
}

/**
 * @param {Pick<Table, 'head' | 'rows' | 'note'>} table
 * @param {number} [columns] of the terminal
 * @param {readonly number[]} [droppable] indexes of columns that are left out if the table is too wide, the first one goes first
 * @returns {string}
 */
export function tableText({ head, rows, note }, columns = Infinity, droppable = []) {
  const all = head.length === 0 ? rows : [head, ...rows];
  const isWords = wordColumns(rows);
  const widths = (all[0] ?? []).map((_, i) => Math.max(...all.map((row) => row[i].length)));
  const gone = new Set();
  const width = () => widths.reduce((sum, one, i) => sum + (gone.has(i) ? 0 : one + GAP.length), 0);
  for (const index of droppable) if (width() > columns) gone.add(index);
  const lines = all.map((row) => {
    const cells = row.map((text, i) => (isWords[i] ? text.padEnd(widths[i]) : text.padStart(widths[i])));
    return `${GAP}${cells.filter((_, i) => !gone.has(i)).join(GAP)}`.trimEnd();
  });
  return [...lines, ...(note === undefined ? [] : [`${GAP}${GAP}${note}`])].join('\n');
}

/** Before each column. */
const GAP = '  ';

const UNDER_VERDICT = ' '.repeat('  verdict   '.length);

/** A result for the terminal, printable. @param {Result} result @param {number} [columns] */
export function resultText({ title, verdict, reasons = [], tables, notes }, columns) {
  const texts = tables.map((table) => `${tableText(table, columns, lastFirst(table.head))}\n`);
  const lines = [
    ...texts,
    ...notes.map((note) => `${GAP}${note}`),
    `${GAP}verdict   ${verdict}`,
    ...reasons.map((reason) => `${UNDER_VERDICT}- ${reason}`),
  ];
  return printable(['', title, ...lines].join('\n'));
}

/** All columns but the first and the last. @param {readonly string[]} head */
function lastFirst(head) {
  return [...head.keys()].slice(1, -1).reverse();
}
