/**
 * The text format of Prometheus, version 0.0.4: a sample a line, comments begin with #.
 *
 * @typedef {object} PrometheusSample
 * @property {string} name of the metric
 * @property {string} key the name and the labels as they are written, which is what tells series apart
 * @property {number} value may be NaN or infinite
 */

const NAME = /^[a-zA-Z_:][a-zA-Z0-9_:]*/;
const NUMBER = /^[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?$/i;
/** A time stamp, and what OpenMetrics writes after it. */
const REST = /^(\d+(\.\d+)?|-\d+(\.\d+)?)?(\s*#.*)?$/;

/** @type {Record<string, number>} */
const SPECIAL = Object.freeze({ nan: NaN, inf: Infinity, '+inf': Infinity, '-inf': -Infinity });

/**
 * @param {string} text
 * @returns {PrometheusSample[]}
 * @throws {Error} names the first line that is none of this format
 */
export function parsePrometheus(text) {
  const samples = [];
  let number = 0;
  for (let at = 0; at < text.length;) {
    const newline = text.indexOf('\n', at);
    const end = newline === -1 ? text.length : newline;
    const line = text.slice(at, end).trim();
    number += 1;
    at = end + 1;
    if (line === '' || line.startsWith('#')) continue;
    const sample = parseLine(line);
    if (sample === null) throw new Error(`line ${number} is not in the text format of Prometheus`);
    samples.push(sample);
  }
  return samples;
}

/** @param {string} line @returns {PrometheusSample | null} */
function parseLine(line) {
  const name = NAME.exec(line)?.[0];
  if (name === undefined) return null;
  // geth writes a space before the labels.
  const open = skipBlanks(line, name.length);
  const hasLabels = line[open] === '{';
  const end = hasLabels ? labelsEnd(line, open) : name.length;
  if (end === -1) return null;
  const labels = hasLabels ? line.slice(open, end) : '';
  const valueAt = skipBlanks(line, end);
  if (valueAt === end && !hasLabels) return null;
  const valueEnd = nextBlank(line, valueAt);
  const value = parseValue(line.slice(valueAt, valueEnd));
  if (value === null || !REST.test(line.slice(skipBlanks(line, valueEnd)))) return null;
  return { name, key: labels === '{}' ? name : name + labels, value };
}

/** @param {string} line @param {number} at @returns {number} */
function skipBlanks(line, at) {
  while (line[at] === ' ' || line[at] === '\t') at += 1;
  return at;
}

/** @param {string} line @param {number} at @returns {number} */
function nextBlank(line, at) {
  while (at < line.length && line[at] !== ' ' && line[at] !== '\t') at += 1;
  return at;
}

/**
 * Braces inside a quoted value are text, and so is a quote behind a backslash.
 * @param {string} line
 * @param {number} open where the brace is
 * @returns {number} behind the closing brace, or -1
 */
function labelsEnd(line, open) {
  let isQuoted = false;
  for (let at = open + 1; at < line.length; at += 1) {
    const character = line[at];
    if (isQuoted && character === '\\') at += 1;
    else if (character === '"') isQuoted = !isQuoted;
    else if (character === '}' && !isQuoted) return at + 1;
  }
  return -1;
}

/** @param {string} text @returns {number | null} */
function parseValue(text) {
  if (NUMBER.test(text)) return Number(text);
  const word = text.toLowerCase();
  return Object.hasOwn(SPECIAL, word) ? SPECIAL[word] : null;
}
