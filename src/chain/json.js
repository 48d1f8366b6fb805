import { ProtocolError, oneLine } from '../errors.js';

/** @import { Reply } from '../transport/index.js' */

/**
 * JSON from outside. What parsing costs is not a matter of bytes but of the objects and arrays it makes: 64 MB of {},
 * or of [, take a minute and 2 GB, a block of that size a second. No answer that is worth having is made of so little.
 */

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

/**
 * What the body of an answer says.
 * @param {Reply} reply
 * @param {{display: string, secrets: readonly string[]}} endpoint that it is of
 * @returns {any}
 * @throws {ProtocolError}
 */
export function parseReply({ status, text, retryAfterMs }, { display, secrets }) {
  try {
    const answer = parseJson(text);
    // Nodes may say a JSON-RPC error with any status; what a gateway says in JSON is no answer of the node.
    const isAnswer = Array.isArray(answer) || answer?.jsonrpc === '2.0' || answer?.error?.code !== undefined;
    if (status === 200 || isAnswer) return answer;
    throw new ProtocolError('not JSON-RPC');
  } catch (cause) {
    if (status === 401 || status === 403)
      throw new ProtocolError(`${display} refuses us (HTTP ${status}): check its credentials`, cause, status);
    if (status === 404)
      throw new ProtocolError(`${display} has nothing there (HTTP 404): check the path of the URL`, cause, status);
    if (status !== 200) {
      throw new ProtocolError(`${display} answered HTTP ${status} without JSON-RPC`, cause, status, retryAfterMs);
    }
    const start = oneLine(text, 40, secrets);
    throw new ProtocolError(
      `${display} does not speak JSON-RPC: it answered ${start === '' ? 'an empty body' : `"${start}"`}`,
      cause,
    );
  }
}
