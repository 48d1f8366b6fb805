/** Text from outside, parsed as JSON unless parsing it would take too long. */

/** Below this size the worst is a few hundred milliseconds, and texts are not looked at. */
const LOOKED_AT_CHARS = 1024 * 1024;

/** What an object or an array takes of a text on average, at least; in a block, a receipt or a trace it is far more. */
const LEAST_CHARS_EACH = 16;

const BRACE = '{'.charCodeAt(0);

const BRACKET = '['.charCodeAt(0);

/**
 * @param {string} text
 * @returns {any}
 * @throws {SyntaxError}
 */
export function parseJson(text) {
  if (text.length > LOOKED_AT_CHARS && isCrowded(text)) throw new SyntaxError('too many objects and arrays');
  return JSON.parse(text);
}

/** @param {string} text */
function isCrowded(text) {
  let left = text.length / LEAST_CHARS_EACH;
  for (let at = 0; at < text.length && left >= 0; at += 1) {
    const character = text.charCodeAt(at);
    if (character === BRACE || character === BRACKET) left -= 1;
  }
  return left < 0;
}
