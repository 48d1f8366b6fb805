import { readFileSync, statSync } from 'node:fs';
import { InputError, displayName, oneLine, withoutKeys } from '../errors.js';

/**
 * JSON files of ours as they come back: somebody else may have written, cut or edited them, so that nothing in one is
 * believed before its schema was held against it.
 *
 * @typedef {object} Kind
 * @property {string} name what people call such a file
 * @property {string} schema that it says it has
 * @property {URL} schemaFile that it is held against
 * @property {string} [source] what to give instead of something else
 *
 * @typedef {{instancePath: string, keyword: string, message?: string, params: Record<string, any>}} SchemaError
 */

/** What the schemas say in words that a person would use. @type {Record<string, RegExp | ((text: string) => boolean)>} */
const FORMATS = Object.freeze({
  'date-time': (/** @type {string} */ text) => !Number.isNaN(Date.parse(text)),
  uuid: /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/,
});

/** What this version writes and reads, by what it is of. */
export const SCHEMAS = Object.freeze({
  run: 'evm-stress/run@1',
  sweep: 'evm-stress/sweep@1',
  compare: 'evm-stress/compare@1',
});
/** @type {Readonly<Record<string, string>>} */
const NAMES = Object.freeze({ run: 'run file', sweep: 'sweep file', compare: 'comparison' });

/** @type {Record<string, string>} */
const WORDS = {
  ENOENT: 'there is no such file',
  EACCES: 'permission denied',
  ERR_FS_FILE_TOO_LARGE: 'it is too large',
  ERR_STRING_TOO_LONG: 'it is too large',
};

/**
 * @param {Kind} kind
 * @returns {Promise<(file: string) => any>} reads one; throws an InputError which names the file, and what is wrong with it
 */
export async function documentReader(kind) {
  const check = await documentChecker(kind);
  return (file) => check(parse(file, kind.source), displayName(file));
}

/**
 * @param {Kind} kind
 * @returns {Promise<(json: any, name: string) => any>} of what was parsed elsewhere; throws an InputError with that name
 */
export async function documentChecker(kind) {
  // Only who reads files waits for the validator to be loaded, and for the schema to be understood.
  const { Ajv2020 } = await import('ajv/dist/2020.js');
  const rules = JSON.parse(readFileSync(kind.schemaFile, 'utf8'));
  const validate = new Ajv2020({ allowUnionTypes: true, formats: FORMATS }).compile(rules);
  return (json, name) => {
    if (json?.schema !== kind.schema) throw new InputError(`${name} is ${whatItIs(json?.schema, kind)}`);
    if (!validate(json)) throw new InputError(`${name} is no whole ${kind.name}: ${worst(validate.errors ?? [])}`);
    return json;
  };
}

/** @param {string} file @param {Kind} kind @returns {Promise<any>} */
export async function readDocument(file, kind) {
  return (await documentReader(kind))(file);
}

/** @param {string} file @returns {unknown} the schema that it says it has; whatever else is wrong, its reader will say */
export function schemaOf(file) {
  try {
    return parse(file)?.schema;
  } catch {
    return undefined;
  }
}

/** @param {string} file @param {string} [source] @returns {any} */
function parse(file, source) {
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
    const advice = source === undefined ? '' : `: give ${source}`;
    throw new InputError(`${displayName(file)} is not valid JSON${advice}`, error);
  }
}

/** @param {unknown} found the schema that a file says it has @param {Kind} kind */
function whatItIs(found, { name, schema }) {
  if (typeof found !== 'string') return `no ${name}: it does not say "schema": "${schema}"`;
  const quoted = JSON.stringify(oneLine(found, 60));
  // Whatever was expected, of what is ours the version is what is wrong.
  const [kind, ours] = Object.entries(SCHEMAS).find(([, one]) => found.startsWith(`${one.split('@')[0]}@`)) ?? [];
  return kind === undefined || found === ours
    ? `no ${name}, but ${quoted}`
    : `a ${NAMES[kind]} of another version, ${quoted}: this stress reads ${ours}`;
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
