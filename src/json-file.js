import { readFileSync, statSync } from 'node:fs';
import { InputError, displayName, errnoWords } from './errors.js';

/** @import { ErrorObject, ValidateFunction } from 'ajv' */

/** Reads JSON files, and checks JSON against a schema: a file may have been cut or edited by another program. */

/**
 * @param {string} file
 * @param {{what?: string, advice?: string}} [words] for messages; what: such as 'data set'
 * @returns {any}
 * @throws {InputError} which names the file
 */
export function readJsonFile(file, { what, advice = '' } = {}) {
  const subject = what === undefined ? displayName(file) : `the ${what} ${displayName(file)}`;
  const hint = advice === '' ? '' : `; ${advice}`;
  let text;
  try {
    // Reading a device or a pipe may never end, and cannot be interrupted.
    if (!statSync(file).isFile()) throw new Error('it is not a file');
    text = readFileSync(file, 'utf8').replace(/^\uFEFF/, '');
  } catch (error) {
    throw new InputError(`cannot read ${subject}: ${errnoWords(error)}${hint}`, error);
  }
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new InputError(`${subject} is not valid JSON${hint}`, error);
  }
}

/** @type {Record<string, RegExp | ((text: string) => boolean)>} */
const FORMATS = Object.freeze({
  'date-time': (/** @type {string} */ text) => !Number.isNaN(Date.parse(text)),
  uuid: /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/,
});

/**
 * @param {object} schema a JSON Schema
 * @returns {Promise<(json: unknown) => ErrorObject | null>} the error of JSON that does not follow it
 */
export async function schemaCheck(schema) {
  // Loaded on demand, because the validator takes long to load.
  const { Ajv2020 } = await import('ajv/dist/2020.js');
  /** Compiling takes longer than checking, and a new study has nothing to check. @type {ValidateFunction | undefined} */
  let validate;
  const depth = (/** @type {ErrorObject} */ { instancePath }) => instancePath.split('/').length;
  return (json) => {
    // The schemas are ours: a test checks them against the metaschema.
    validate ??= new Ajv2020({ strict: false, formats: FORMATS, validateSchema: false }).compile(schema);
    if (validate(json)) return null;
    // The deepest error of the alternatives of a schema is the most helpful one.
    const [deepest] = [...(validate.errors ?? [])].sort((a, b) => depth(b) - depth(a));
    return deepest;
  };
}
