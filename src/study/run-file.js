import { readFileSync, statSync } from 'node:fs';
import { InputError, displayName, oneLine, withoutKeys } from '../errors.js';
import { RUN_SCHEMA } from '../metrics/summary.js';

/**
 * Run files as they come back: somebody else may have written, cut or edited them, so that nothing in one is believed
 * before its schema was held against it.
 *
 * @typedef {import('../metrics/summary.js').RunFile} RunFile
 * @typedef {{instancePath: string, keyword: string, message?: string, params: Record<string, any>}} SchemaError
 */

const SCHEMA_FILE = new URL('../../docs/run.schema.json', import.meta.url);

/** What the schema says in words that a person would use. @type {Record<string, RegExp | ((text: string) => boolean)>} */
const FORMATS = Object.freeze({
  'date-time': (/** @type {string} */ text) => !Number.isNaN(Date.parse(text)),
  uuid: /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/,
});

/**
 * @param {readonly string[]} files
 * @returns {Promise<RunFile[]>} in the same order
 * @throws {InputError} which names the first that is none, and what is wrong with it
 */
export async function readRunFiles(files) {
  // Only who reads run files waits for the validator to be loaded and made.
  const { Ajv2020 } = await import('ajv/dist/2020.js');
  const schema = JSON.parse(readFileSync(SCHEMA_FILE, 'utf8'));
  const validate = new Ajv2020({ allowUnionTypes: true, formats: FORMATS }).compile(schema);
  return files.map((file) => {
    const json = parse(file);
    if (json?.schema !== RUN_SCHEMA) throw new InputError(`${displayName(file)} is ${whatItIs(json?.schema)}`);
    if (!validate(json))
      throw new InputError(`${displayName(file)} is no whole run file: ${worst(validate.errors ?? [])}`);
    return /** @type {RunFile} */ (json);
  });
}

/** @param {string} file @returns {any} */
function parse(file) {
  let text;
  try {
    // A device may have no end, and a pipe no beginning, for which nobody could interrupt the wait.
    if (!statSync(file).isFile()) throw new InputError(`${displayName(file)} is not a file`);
    text = readFileSync(file, 'utf8');
  } catch (error) {
    if (error instanceof InputError) throw error;
    const { code, message } = /** @type {NodeJS.ErrnoException} */ (error);
    throw new InputError(`cannot read ${displayName(file)}: ${WORDS[code ?? ''] ?? oneLine(message)}`, error);
  }
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new InputError(`${displayName(file)} is not valid JSON: give a file that --out has written`, error);
  }
}

/** @type {Record<string, string>} */
const WORDS = {
  ENOENT: 'there is no such file',
  EACCES: 'permission denied',
  ERR_FS_FILE_TOO_LARGE: 'it is too large for a run file',
  ERR_STRING_TOO_LONG: 'it is too large for a run file',
};

/** @param {unknown} schema that it says it has */
function whatItIs(schema) {
  if (typeof schema !== 'string') return `no run file: it does not say "schema": "${RUN_SCHEMA}"`;
  const name = JSON.stringify(oneLine(schema, 60));
  const [kind] = RUN_SCHEMA.split('@');
  return schema.startsWith(`${kind}@`)
    ? `a run file of another version, ${name}: this stress reads ${RUN_SCHEMA}`
    : `no run file, but ${name}`;
}

/**
 * Of several ways in which a value may be right, the one that it comes closest to says the most.
 * @param {SchemaError[]} errors
 */
function worst(errors) {
  const [error] = [...errors].sort((a, b) => depth(b.instancePath) - depth(a.instancePath));
  const { instancePath, keyword, message, params } = error;
  if (keyword === 'required') return `${shown(instancePath)}/${params.missingProperty} is missing`;
  if (keyword === 'additionalProperties')
    return `${shown(instancePath)}/${shown(params.additionalProperty)} is not known`;
  if (keyword === 'enum') return `${shown(instancePath)} must be one of ${params.allowedValues.join(', ')}`;
  if (keyword === 'const') return `${shown(instancePath)} must be ${JSON.stringify(params.allowedValue)}`;
  return `${shown(instancePath) || 'it'} ${message}`;
}

/** @param {string} pointer */
function depth(pointer) {
  return pointer.split('/').length;
}

/** Of what is in a file the names are somebody else's, too. @param {string} text */
function shown(text) {
  return oneLine(withoutKeys(text), 100);
}
