import { CheckError, oneLine, withoutKeys } from '../errors.js';
import { compile } from './templates.js';

/** @import { Compiled } from './templates.js' */

/**
 * What an answer must be. Places in it are named by a path of ours, and nothing more than that: names of members and
 * numbers of elements with dots between them, such as transactions.0.hash; $ is the whole answer, and may stand before.
 *
 * @typedef {object} CheckRule as a calls file has it: a path and one of the others
 * @property {string} path
 * @property {unknown} [equals] templates in it are those of the call
 * @property {boolean} [exists] whether there is something there but null
 * @property {number | string} [length] of an array, a text or an object; a template is one of the call's
 *
 * @typedef {object} Check
 * @property {readonly string[]} path
 * @property {'equals' | 'exists' | 'length'} kind
 * @property {Compiled} expected
 */

/** What a path must look like. */
export const PATH = '^(\\$|(\\$\\.)?[\\w-]+(\\.[\\w-]+)*)$';

/** How much of a value is shown. */
const MOST_WORDS = 60;
/** No answer of a node is nested more deeply; somebody else's may be. */
const DEEPEST = 100;
const KEYS_NAMED = 8;

/** @param {CheckRule} rule @returns {Check} @throws {Error} with words for the middle of a sentence */
export function compileCheck(rule) {
  const { path } = rule;
  const kinds = /** @type {const} */ (['equals', 'exists', 'length']).filter((kind) => Object.hasOwn(rule, kind));
  if (kinds.length !== 1)
    throw new Error(`its check has ${kinds.length} of equals, exists and length, and it needs one of them`);
  const [kind] = kinds;
  const expected = compile(rule[kind]);
  if (kind === 'length' && typeof rule.length === 'string' && expected.isConstant)
    throw new Error(`its check has a length that is neither a number nor a template`);
  return { path: partsOf(path), kind, expected };
}

/** @param {string} path */
function partsOf(path) {
  return path.split('.').filter((part) => part !== '$');
}

/**
 * @param {Check} check
 * @param {unknown} answer
 * @param {unknown} expected made for this call
 * @throws {CheckError}
 */
export function holdAgainst({ path, kind }, answer, expected) {
  const { value } = look(answer, path);
  const where = ['$', ...path].join('.');
  if (kind === 'exists') {
    if ((value !== undefined && value !== null) === expected) return;
    throw new CheckError(
      `${where} is ${expected ? 'not there' : shown(value)}, and it must${expected ? '' : ' not'} be there`,
    );
  }
  if (kind === 'length') {
    const length = lengthOf(value);
    if (length === Number(expected)) return;
    throw new CheckError(
      `${where} ${length === null ? `is ${shown(value)}` : `has the length ${length}`}, and it must have the length ${expected}`,
    );
  }
  const difference = differenceOf(value, expected, where);
  if (difference !== null) throw new CheckError(difference);
}

/**
 * Whether a path leads anywhere in an answer: one that does not, in an answer that has members, is a mistake in the file.
 * @param {Check} check
 * @param {unknown} answer
 * @returns {string | null} what is wrong, for the middle of a sentence
 */
export function pathNotFound({ path, kind }, answer) {
  if (kind === 'exists') return null;
  const { value, parent, part } = look(answer, path);
  if (value !== undefined || parent === null || typeof parent !== 'object') return null;
  const names = Object.keys(parent);
  const has = Array.isArray(parent) ? `${names.length} elements` : names.slice(0, KEYS_NAMED).join(', ') || 'no member';
  // An empty list is an answer, too.
  if (Array.isArray(parent) && /^\d+$/.test(part)) return null;
  return `its check looks at "${path.join('.')}", and there is no "${part}" in the answer, which has ${oneLine(withoutKeys(has), 200)}`;
}

/** @param {unknown} answer @param {readonly string[]} path @returns {{value: any, parent: any, part: string}} with the last part that was looked for */
function look(answer, path) {
  let value = /** @type {any} */ (answer);
  let parent = null;
  for (const part of path) {
    parent = value;
    value = value !== null && typeof value === 'object' && Object.hasOwn(value, part) ? value[part] : undefined;
    if (value === undefined) return { value, parent, part };
  }
  return { value, parent, part: path.at(-1) ?? '' };
}

/** @param {unknown} value */
function lengthOf(value) {
  if (typeof value === 'string' || Array.isArray(value)) return value.length;
  return value !== null && typeof value === 'object' ? Object.keys(value).length : null;
}

/**
 * Where two values are not the same, in words; the order of members does not count.
 * @param {unknown} found
 * @param {unknown} expected
 * @param {string} [where]
 * @param {number} [depth]
 * @returns {string | null}
 */
export function differenceOf(found, expected, where = '$', depth = 0) {
  if (Object.is(found, expected)) return null;
  if (depth > DEEPEST) return `${shortPath(where)} is nested too deeply to be compared`;
  const areObjects = [found, expected].every((value) => value !== null && typeof value === 'object');
  if (!areObjects || Array.isArray(found) !== Array.isArray(expected))
    return `${shortPath(where)} is ${shown(found)}, and it must be ${shown(expected)}`;
  const [a, b] = /** @type {any[]} */ ([found, expected]);
  if (Array.isArray(a) && a.length !== b.length)
    return `${shortPath(where)} has ${a.length} elements, and it must have ${b.length}`;
  for (const key of new Set([...Object.keys(b), ...Object.keys(a)])) {
    const difference = differenceOf(own(a, key), own(b, key), `${where}.${key}`, depth + 1);
    if (difference !== null) return difference;
  }
  return null;
}

/** @param {any} object @param {string} key */
function own(object, key) {
  return Object.hasOwn(object, key) ? object[key] : undefined;
}

/** @param {string} where */
function shortPath(where) {
  return oneLine(withoutKeys(where), MOST_WORDS);
}

/** @param {unknown} value of an answer, which may be anything */
function shown(value) {
  if (value === undefined) return 'not there';
  return oneLine(typeof value === 'string' ? JSON.stringify(value) : value, MOST_WORDS);
}
