import { readFileSync, statSync } from 'node:fs';
import { InputError, displayName, oneLine } from './errors.js';

/** @import { ErrorObject } from 'ajv' */

/** Reads JSON files, and checks JSON against a schema: a file may have been cut or edited by another program. */

/** @type {Record<string, string>} */
const WORDS = {
  ENOENT: 'there is no such file',
  EACCES: 'permission denied',
  ERR_FS_FILE_TOO_LARGE: 'it is too large',
  ERR_STRING_TOO_LONG: 'it is too large',
};

/**
 * @param {string} file
 * @param {{what?: string, advice?: string}} [words] for messages; what: such as 'data set'
 * @returns {any}
 * @throws {InputError} which names the file
 */
export function readJsonFile(file, { what, advice = '' } = {}) {
  const name = displayName(file);
  const subject = what === undefined ? name : `the ${what} ${name}`;
  let text;
  try {
    // Reading a device or a pipe may never end, and cannot be interrupted.
    if (!statSync(file).isFile())
      throw new InputError(`${subject} is not a file${what === undefined ? '' : `: ${advice}`}`);
    text = readFileSync(file, 'utf8').replace(/^\uFEFF/, '');
  } catch (error) {
    if (error instanceof InputError) throw error;
    const { code, message } = /** @type {NodeJS.ErrnoException} */ (error);
    const why = WORDS[code ?? ''] ?? oneLine(message);
    throw new InputError(`cannot read ${subject}: ${why}${what === undefined ? '' : `; ${advice}`}`, error);
  }
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new InputError(`${name} is not valid JSON${advice === '' ? '' : `: ${advice}`}`, error);
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
  const validate = new Ajv2020({ strict: false, formats: FORMATS }).compile(schema);
  const depth = (/** @type {ErrorObject} */ { instancePath }) => instancePath.split('/').length;
  return (json) => {
    if (validate(json)) return null;
    // Of the alternatives of a schema, the deepest error is the most helpful one.
    const [deepest] = [...(validate.errors ?? [])].sort((a, b) => depth(b) - depth(a));
    return deepest;
  };
}
