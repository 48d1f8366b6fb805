/** Reads what --samples and --blocks have written, as a stranger would: by RFC 4180, JSON and gzip. */
import { readFileSync } from 'node:fs';
import { constants, gunzipSync } from 'node:zlib';

/**
 * @param {string} text
 * @returns {Array<Array<string | null>>} an empty field is null, an empty text in quotes is not
 */
export function parseCsv(text) {
  /** @type {Array<Array<string | null>>} */
  const rows = [];
  /** @type {Array<string | null>} */
  let row = [];
  const field = /(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\n|$)/gy;
  while (field.lastIndex < text.length) {
    const at = field.lastIndex;
    const match = field.exec(text);
    if (match === null) throw new Error(`no CSV at ${at}: ${JSON.stringify(text.slice(at, at + 40))}`);
    const [, quoted, plain, end] = match;
    row.push(quoted === undefined ? (plain === '' ? null : plain) : quoted.replaceAll('""', '"'));
    if (end === ',') continue;
    rows.push(row);
    row = [];
  }
  return rows;
}

/**
 * @param {string} file
 * @param {{isCut?: boolean}} [how] isCut: a compressed file may have no end, as that of a killed run
 * @returns {Array<Record<string, any>>} numbers as numbers where the column's name says so
 */
export function readRows(file, { isCut = false } = {}) {
  const bytes = readFileSync(file);
  const text = (
    file.endsWith('.gz') ? gunzipSync(bytes, isCut ? { finishFlush: constants.Z_SYNC_FLUSH } : {}) : bytes
  ).toString();
  if (!/\.csv(\.gz)?$/.test(file)) {
    const lines = text.split('\n').slice(0, -1);
    return lines.map((line) => JSON.parse(line));
  }
  const [names, ...rows] = parseCsv(text);
  return rows.map((row) => Object.fromEntries(row.map((value, i) => [names[i], toValue(String(names[i]), value)])));
}

/** Texts, whatever they look like. */
const TEXTS = Object.freeze(['hash', 'outcome', 'code', 'effect', 'target', 'name']);

/** @param {string} name @param {string | null} value */
function toValue(name, value) {
  return value === null || TEXTS.includes(name) ? value : Number(value);
}
