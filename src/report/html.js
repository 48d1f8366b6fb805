import { UNSEEN_CHARACTERS } from '../errors.js';

/**
 * HTML by a tagged template. What is put into it is escaped unless it is HTML itself: a run file comes from anywhere,
 * and an error message, a client's version or a URL in it may be anything.
 */

/** HTML that needs no escaping. */
export class Html {
  /** @param {string} text */
  constructor(text) {
    this.text = text;
  }

  toString() {
    return this.text;
  }
}

/** @typedef {string | number | Html | null | undefined | false | ReadonlyArray<string | number | Html | null | undefined | false>} Content */

/**
 * @param {TemplateStringsArray} strings
 * @param {...Content} values lists are put one after the other; null, undefined and false are nothing
 * @returns {Html}
 */
export function html(strings, ...values) {
  return new Html(strings.reduce((text, string, i) => `${text}${contentOf(values[i - 1])}${string}`));
}

/** @param {Content} value @returns {string} */
function contentOf(value) {
  if (value === null || value === undefined || value === false) return '';
  if (value instanceof Html) return value.text;
  if (Array.isArray(value)) return value.map(contentOf).join('');
  return escape(String(value));
}

/** @type {Record<string, string>} */
const ENTITIES = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };

/**
 * For text and for attributes in quotes. What no document may contain is left out, and so is what nobody sees, such as
 * characters that turn the direction of what follows. Of URLs the credentials are hidden: files come from anywhere.
 * @param {string} text
 */
export function escape(text) {
  return seen(text)
    .replace(/[^\P{Cc}\n\t]/gu, ' ')
    .replace(/[&<>"']/g, (character) => ENTITIES[character]);
}

/** @param {string} text */
function seen(text) {
  return text.replace(UNSEEN_CHARACTERS, ' ').replace(/\/\/[^\s/?#@"'<>]*@/g, '//***@');
}

/** JSON in a script element: nothing in it can end the element or begin a comment. @param {unknown} value */
export function scriptJson(value) {
  const text = JSON.stringify(value, (_, inner) => (typeof inner === 'string' ? seen(inner) : inner));
  return new Html(text.replace(/[<>&\u2028\u2029]/g, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`));
}
