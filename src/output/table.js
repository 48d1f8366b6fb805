import Table from 'cli-table3';

/** @import { Table as CliTable3Table, TableConstructorOptions } from 'cli-table3' */

const BORDERLESS = Object.freeze({
  top: '',
  'top-mid': '',
  'top-left': '',
  'top-right': '',
  bottom: '',
  'bottom-mid': '',
  'bottom-left': '',
  'bottom-right': '',
  left: '',
  'left-mid': '',
  mid: '',
  'mid-mid': '',
  right: '',
  'right-mid': '',
  middle: '  ',
});
const STYLE = Object.freeze({ 'padding-left': 0, 'padding-right': 0, head: [], border: [], compact: true });

/** Columns without lines between them. @param {TableConstructorOptions} [options] */
export function borderless(options = {}) {
  return new Table({ chars: BORDERLESS, style: { ...STYLE }, ...options });
}

/** Without blanks at the ends of lines. @param {CliTable3Table} table */
export function textOf(table) {
  return table.toString().replace(/[ \t]+$/gm, '');
}
