import { parseJson } from '../chain/json.js';

/**
 * As much of a JSON-RPC message as one socket for many requests needs: which request it belongs to.
 *
 * @typedef {object} Outline
 * @property {string[]} ids of a message, or of those in a batch, as JSON; NO_ID alone where there are none
 * @property {boolean} isPush nobody asked for it: it has a method, and no id
 */

/** What a body without an id is known by: one at a time on a connection, so that its answer is known. */
export const NO_ID = '';

/** How most begin, ours among them: they need not be parsed to be told apart. */
const FIRST_ID = /^\[?\{"jsonrpc":"2\.0","id":(\d+)[,}]/;
const PUSH = /^\{"jsonrpc":"2\.0","method":/;

/**
 * The id of a message, or of the first one in a batch, where it stands in the usual place.
 * @param {string} text
 * @returns {string | null}
 */
export function firstId(text) {
  return FIRST_ID.exec(text)?.[1] ?? null;
}

/** @param {string} text @returns {Outline} */
export function outline(text) {
  const first = text.startsWith('{') ? firstId(text) : null;
  if (first !== null) return { ids: [first], isPush: false };
  const messages = [parsed(text)].flat();
  const ids = messages
    .map((message) => message?.id)
    .filter(isId)
    .map((id) => JSON.stringify(id));
  if (ids.length > 0) return { ids, isPush: false };
  return { ids: [NO_ID], isPush: PUSH.test(text) || typeof messages[0]?.method === 'string' };
}

/** @param {string} text @returns {any} null where it is no JSON: whoever asked says so */
function parsed(text) {
  try {
    return parseJson(text);
  } catch {
    return null;
  }
}

/** What else may stand there cannot be ours, and may be nested too deeply to be compared. @param {unknown} id */
function isId(id) {
  return typeof id === 'number' || typeof id === 'string';
}
