import { ROW_EXTENSIONS } from '../output/rows.js';
import { isWorkloadFile } from '../workload/load-file.js';
import { anyText, oneOf, quote } from './values.js';

/** Parsers of file names, as those of src/cli/values.js. */

/** A key of 64 digits as it may stand in a file, or in an export of a shell. */
const KEY = /^["']?(0x)?[0-9a-f]{64}["']?$/i;

/** The fewest words that a mnemonic has. */
const MNEMONIC_WORDS = 12;

/**
 * The name of a file. What was given in its place by mistake would be the name of one, which everybody may see.
 * @param {string} text
 */
export function pathName(text) {
  const words = text.trim().split(/[\s,]+/);
  if (
    words.some((word) => KEY.test(word)) ||
    words.filter((word) => /^["']?[a-z]+["']?$/i.test(word)).length >= MNEMONIC_WORDS
  )
    throw new Error('must be the name of a file, and what was given looks like a key or a mnemonic');
  return anyText(text);
}

/** Of a workload. @param {readonly string[]} names of the built-in ones */
export function nameOrFile(names) {
  return (/** @type {string} */ text) => (isWorkloadFile(text) ? pathName(text) : oneOf([...names, './FILE.js'])(text));
}

/** @param {string} text */
export function rowFile(text) {
  pathName(text);
  if (!ROW_EXTENSIONS.some((extension) => text.endsWith(extension)))
    throw new Error(`must end in ${ROW_EXTENSIONS.join(', ')}, which says the format, not ${quote(text)}`);
  return text;
}

/** @param {string} text */
export function fileName(text) {
  if (text === '-') throw new Error('must be a file: standard output is for --out');
  return pathName(text);
}
