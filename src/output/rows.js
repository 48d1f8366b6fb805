import { BoundedFile } from './bounded-file.js';

/**
 * Rows of named columns, as CSV (RFC 4180, with \n) or NDJSON, whichever the name of the file says. Nothing is an empty field in
 * CSV, and null in NDJSON.
 *
 * @typedef {string | number | null} Cell
 */

/** What names of files of rows end in. */
export const ROW_EXTENSIONS = Object.freeze(['.csv', '.ndjson', '.jsonl'].flatMap((name) => [name, `${name}.gz`]));

export class RowFile extends BoundedFile {
  /** @type {readonly string[]} */
  #columns;
  /** @type {(cells: Cell[]) => string} */
  #line;

  /**
   * @param {string} file
   * @param {readonly string[]} columns
   * @param {ConstructorParameters<typeof BoundedFile>[1]} [limits]
   */
  constructor(file, columns, limits) {
    super(file, limits);
    this.#columns = columns;
    this.#line = isCsv(file) ? csvLine : jsonLine(columns);
  }

  /** Empties the file; CSV begins with the names of the columns. */
  beginRows() {
    this.begin(isCsv(this.file) ? csvLine(this.#columns) : '');
  }

  /** @param {Cell[]} cells one for each column */
  addRow(cells) {
    this.add(this.#line(cells));
  }
}

/** @param {string} file */
function isCsv(file) {
  return /\.csv(\.gz)?$/.test(file);
}

/** @param {readonly Cell[]} cells */
export function csvLine(cells) {
  let line = csvField(cells[0]);
  for (let i = 1; i < cells.length; i += 1) line += `,${csvField(cells[i])}`;
  return `${line}\n`;
}

/** An empty text is quoted, so that it is not taken for nothing. @param {Cell} cell */
function csvField(cell) {
  if (cell === null) return '';
  if (typeof cell === 'number') return String(cell);
  return cell === '' || /[",\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell;
}

/** @param {readonly string[]} columns */
export function jsonLine(columns) {
  const names = columns.map((name, i) => `${i === 0 ? '{' : ','}${JSON.stringify(name)}:`);
  return (/** @type {readonly Cell[]} */ cells) => {
    let line = '';
    for (let i = 0; i < names.length; i += 1) {
      const cell = cells[i];
      line += names[i] + (typeof cell === 'string' ? jsonText(cell) : cell);
    }
    return `${line}}\n`;
  };
}

/** Most texts are plain, and looking is cheaper than JSON.stringify(). @param {string} text */
function jsonText(text) {
  return /^[\w ]*$/.test(text) ? `"${text}"` : JSON.stringify(text);
}
