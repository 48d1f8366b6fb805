import { COMPARE_SCHEMA } from './compare.js';
import { readDocument } from './document.js';

/**
 * @import { InputError } from '../errors.js'
 * @import { Comparison } from './compare.js'
 */

/**
 * Comparisons as they come back.
 */

const KIND = Object.freeze({
  name: 'comparison',
  schema: COMPARE_SCHEMA,
  schemaFile: new URL('../../docs/compare.schema.json', import.meta.url),
});

/** Whether a file says that it is one. @param {unknown} json */
export function isCompare(json) {
  return /** @type {any} */ (json)?.schema === COMPARE_SCHEMA;
}

/** @param {string} file @returns {Promise<Comparison>} @throws {InputError} */
export function readCompare(file) {
  return readDocument(file, KIND);
}
