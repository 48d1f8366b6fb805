/** JSON from outside, rejected if it would take too long to parse. */

/**
 * The time of JSON.parse grows with the number of objects and arrays, not of bytes: 64 MB of {} or [ take a minute and
 * 2 GB. Texts above this length are checked for that first; below it the worst case is a few hundred milliseconds.
 */
const DENSITY_CHECK_CHARS = 1024 * 1024;
/** The least average length of an object or array in a text that is accepted. Blocks, receipts and traces have far more. */
const MIN_CHARS_PER_OBJECT = 16;

const BRACE = '{'.charCodeAt(0);
const BRACKET = '['.charCodeAt(0);

/** @param {string} text @returns {any} @throws {SyntaxError} */
export function parseJson(text) {
  if (text.length > DENSITY_CHECK_CHARS && isTooDense(text)) throw new SyntaxError('too many objects and arrays');
  return JSON.parse(text);
}

/** @param {string} text */
function isTooDense(text) {
  let left = text.length / MIN_CHARS_PER_OBJECT;
  for (let at = 0; at < text.length && left >= 0; at += 1) {
    const character = text.charCodeAt(at);
    if (character === BRACE || character === BRACKET) left -= 1;
  }
  return left < 0;
}
