import { UNSEEN_CHARACTERS, oneLine, withoutKeys } from './errors.js';
import { digits, quantity, threeDigits, whole } from './quantity.js';

export { digits, quantity, threeDigits };

/** Text that is printed. */

/** Replaces control characters in text from outside, so that it cannot control the terminal. @param {string} text */
export function printable(text) {
  return text.replace(/[^\P{Cc}\n]+/gu, ' ').replace(UNSEEN_CHARACTERS, ' ');
}

/** Text from outside in a message, without keys. @param {string} text @param {number} [limit] characters */
export function quote(text, limit = 60) {
  return JSON.stringify(oneLine(withoutKeys(text), limit));
}

/** Quoted if a POSIX shell would change it. @param {string} text */
export function shellWord(text) {
  return /^[\w./:@%+=,-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

/** The command that sends a request. @param {string} url without credentials @param {{method: string, params: unknown}} request */
export function curlOf(url, { method, params }) {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
  const words = [body, url.replace(/^ws/, 'http')].map((text) => shellWord(printable(text)));
  return `curl -s -H 'content-type: application/json' -d ${words.join(' ')}`;
}

/**
 * URLs without their secrets may be equal: these get a number.
 * @param {readonly string[]} displays
 * @returns {string[]}
 */
export function numbered(displays) {
  const isTwice = (/** @type {string} */ display) => displays.indexOf(display) !== displays.lastIndexOf(display);
  return displays.map((display, i) => (isTwice(display) ? `${display} (${i + 1})` : display));
}

const oneDecimal = new Intl.NumberFormat('en-US', { minimumFractionDigits: 1, maximumFractionDigits: 1 });

/** An unmeasured figure is a dash, not a zero. @param {number | null} value */
export function count(value) {
  return value === null ? '-' : whole.format(value);
}

/** Such as "1 run" and "2 runs". @param {number | null} value @param {string} noun in the singular */
export function counted(value, noun) {
  return `${count(value)} ${noun}${value === 1 ? '' : 's'}`;
}

/** Such as "3 of 1,200 wallets". @param {number} part @param {number} all @param {string} noun in the singular */
export function partOf(part, all, noun) {
  return `${count(part)} of ${counted(all, noun)}`;
}

/** @param {number} value */
export function tenths(value) {
  return oneDecimal.format(value);
}

/** @param {number} durationMs */
export function seconds(durationMs) {
  return `${tenths(durationMs / 1000)} s`;
}

/** With a decimal below 10 ms. @param {number} us */
export function milliseconds(us) {
  return `${us < 10_000 ? tenths(us / 1000) : count(us / 1000)} ms`;
}

/** @param {number} part of 1 */
export function percent(part) {
  return quantity(100 * part, '%');
}

/** @param {Record<string, number>} failures by code */
export function byCode(failures) {
  return Object.entries(failures)
    .sort((a, b) => b[1] - a[1])
    .map(([code, times]) => `${code} ${count(times)}`)
    .join(', ');
}

/** Indexes as ranges, such as 0..49, 52. @param {number[]} indexes */
export function indexRanges(indexes) {
  const sorted = [...new Set(indexes)].sort((a, b) => a - b);
  /** @type {Array<[number, number]>} */
  const ranges = [];
  for (const index of sorted) {
    const last = ranges.at(-1);
    if (last !== undefined && last[1] === index - 1) last[1] = index;
    else ranges.push([index, index]);
  }
  const shown = ranges.slice(0, 10).map(([from, to]) => (from === to ? `${from}` : `${from}..${to}`));
  return shown.join(', ') + (ranges.length > 10 ? `, ... (${sorted.length} in all)` : '');
}

/** @param {number} all @returns {string} such as 45s, 1m40s, 2h05m */
export function timeText(all) {
  const seconds = Math.round(all);
  const two = (/** @type {number} */ value) => String(value).padStart(2, '0');
  if (seconds < 60) return `${seconds}s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)}m${two(seconds % 60)}s`;
  const minutes = Math.round(seconds / 60);
  return `${Math.floor(minutes / 60)}h${two(minutes % 60)}m`;
}

/** @param {string} text without line breaks @param {number} width @returns {string[]} lines of whole words */
export function filled(text, width) {
  /** @type {string[]} */
  const lines = [];
  let line = '';
  for (const word of text.split(' ')) {
    if (line !== '' && line.length + 1 + word.length > width) {
      lines.push(line);
      line = word;
    } else line += line === '' ? word : ` ${word}`;
  }
  return [...lines, line];
}

/** Breaks a line at blanks; the next ones begin below its words. Rows of tables stay. @param {string} line @param {number} width @returns {string} */
export function hangingIndent(line, width) {
  const gaps = [...line.matchAll(/\S {2,}/g)];
  if (line.length <= width || gaps.length > WORDS_IN_COLUMN) return line;
  const last = gaps.at(-1);
  const indent = last === undefined ? (/^ */.exec(line)?.[0].length ?? 0) : last.index + last[0].length;
  if (indent > width / 2) return line;
  const lines = filled(line.slice(indent), width - indent);
  return line.slice(0, indent) + lines.join(`\n${' '.repeat(indent)}`);
}

/** Columns before the words of a line, at most. */
const WORDS_IN_COLUMN = 2;
