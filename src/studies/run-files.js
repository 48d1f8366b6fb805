import { existsSync, readFileSync, statSync } from 'node:fs';
import { InputError, displayName, oneLine, withoutKeys } from '../errors.js';
import { RUN_SCHEMA } from '../stats/run-file.js';

/** @import { Axis, Comparison, RunFile, SweepFile } from '../types.d.ts' */

/**
 * Reads the JSON files of studies: run files, comparisons and sweeps. A file may have been written, cut or edited by
 * another program, so each is checked against its schema first.
 *
 * @typedef {object} Kind
 * @property {string} name for messages
 * @property {string} schema expected in the file
 * @property {string} [source] advice for other files
 *
 * @typedef {{instancePath: string, keyword: string, message?: string, params: Record<string, any>}} SchemaError
 */

export const SWEEP_SCHEMA = 'evm-stress/sweep@1';
export const COMPARE_SCHEMA = 'evm-stress/compare@1';

const RUN = { name: 'run file', schema: RUN_SCHEMA, source: 'a file that --out has written' };
const SWEEP = { name: 'sweep file', schema: SWEEP_SCHEMA };
const COMPARISON = { name: 'comparison', schema: COMPARE_SCHEMA };

/** Formats that the schemas use. @type {Record<string, RegExp | ((text: string) => boolean)>} */
const FORMATS = Object.freeze({
  'date-time': (/** @type {string} */ text) => !Number.isNaN(Date.parse(text)),
  uuid: /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/,
});

/** @type {Record<string, string>} */
const WORDS = {
  ENOENT: 'there is no such file',
  EACCES: 'permission denied',
  ERR_FS_FILE_TOO_LARGE: 'it is too large',
  ERR_STRING_TOO_LONG: 'it is too large',
};

/**
 * @param {Kind} kind
 * @returns {Promise<(json: any, name: string) => any>} checks parsed JSON; throws an InputError with the name
 */
async function checkerOf(kind) {
  // Loading the validator and the schema takes time, so only commands that read files do it.
  const { Ajv2020 } = await import('ajv/dist/2020.js');
  const [, file] = /\/(\w+)@/.exec(kind.schema) ?? [];
  const rules = JSON.parse(readFileSync(new URL(`../../docs/${file}.schema.json`, import.meta.url), 'utf8'));
  const validate = new Ajv2020({ allowUnionTypes: true, formats: FORMATS }).compile(rules);
  return (json, name) => {
    if (json?.schema !== kind.schema) throw new InputError(`${name} is ${describeForeign(json?.schema, kind)}`);
    if (!validate(json)) throw new InputError(`${name} is no whole ${kind.name}: ${errorWords(validate.errors ?? [])}`);
    return json;
  };
}

/** @param {Kind} kind @returns {Promise<(file: string) => any>} throws an InputError that names the file and the error */
async function readerOf(kind) {
  const check = await checkerOf(kind);
  return (file) => check(parse(file, kind.source), displayName(file));
}

/** @param {string} file @returns {unknown} the schema that it names; other errors are left to its reader */
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
    // Reading a device or a pipe may never end, and cannot be interrupted.
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

/** @param {unknown} found the schema that a file names @param {Kind} kind */
function describeForeign(found, { name, schema }) {
  if (typeof found !== 'string') return `no ${name}: it does not say "schema": "${schema}"`;
  const quoted = JSON.stringify(oneLine(found, 60));
  // A schema of another version of one of these files.
  const known = [RUN, SWEEP, COMPARISON].find((one) => found.startsWith(`${one.schema.split('@')[0]}@`));
  return known === undefined || found === known.schema
    ? `no ${name}, but ${quoted}`
    : `a ${known.name} of another version, ${quoted}: this stress reads ${known.schema}`;
}

/** Of the alternatives of a schema, the deepest error is the most helpful one. @param {SchemaError[]} errors */
function errorWords(errors) {
  const [error] = [...errors].sort((a, b) => depth(b.instancePath) - depth(a.instancePath));
  const { instancePath, keyword, message, params } = error;
  if (keyword === 'required') return `${safeName(instancePath)}/${params.missingProperty} is missing`;
  if (keyword === 'additionalProperties')
    return `${safeName(instancePath)}/${safeName(params.additionalProperty)} is not known`;
  if (keyword === 'enum') return `${safeName(instancePath)} must be one of ${params.allowedValues.join(', ')}`;
  if (keyword === 'const') return `${safeName(instancePath)} must be ${JSON.stringify(params.allowedValue)}`;
  return `${safeName(instancePath) || 'it'} ${message}`;
}

/** @param {string} pointer */
function depth(pointer) {
  return pointer.split('/').length;
}

/** A name from a file, or a JSON pointer (RFC 6901), in a message. @param {string} text */
function safeName(text) {
  // A name may be a URL with credentials, whose slashes a pointer escapes.
  return oneLine(withoutKeys(text.replaceAll('~1', '/').replaceAll('~0', '~')), 100);
}

/**
 * @param {readonly string[]} files
 * @returns {Promise<RunFile[]>} in the same order
 * @throws {InputError} which names the first bad file and the error
 */
export async function readRunFiles(files) {
  return files.map(await runFileReader());
}

/** @returns {Promise<(file: string) => RunFile>} reads one file at a time; throws like readRunFiles() */
export function runFileReader() {
  return readerOf(RUN);
}

/** @returns {Promise<(json: any, name: string) => RunFile>} for JSON that is not in a file; throws like readRunFiles() */
export function runFileChecker() {
  return checkerOf(RUN);
}

/** @param {string} file @returns {Promise<Comparison>} @throws {InputError} */
export async function readCompare(file) {
  return (await readerOf(COMPARISON))(file);
}

/** @param {string} file @returns {Promise<SweepFile>} @throws {InputError} */
export async function readSweep(file) {
  return (await readerOf(SWEEP))(file);
}

/** @param {string} file @param {(file: string) => RunFile} read @returns {RunFile | null} null: no run file, or a damaged one */
export function readIfAny(file, read) {
  try {
    return existsSync(file) ? read(file) : null;
  } catch {
    return null;
  }
}

/** Ends of complete runs. */
const COMPLETE_ENDS = Object.freeze(['duration', 'no_wallets']);

/** Whether a run had its full length. @param {RunFile} run */
export function isWhole({ partial, end }) {
  return !partial && COMPLETE_ENDS.includes(end);
}

/**
 * A valid run file may have damaged histograms, which is noticed when they are read.
 * @template T
 * @param {string} name of its file
 * @param {() => T} read
 * @returns {T}
 * @throws {InputError}
 */
export function legible(name, read) {
  try {
    return read();
  } catch (error) {
    const { message } = /** @type {Error} */ (error);
    throw new InputError(`${name} has figures that cannot be read: ${oneLine(message)}`, error);
  }
}

/**
 * A run of a cell in sweep.json, which docs/sweep.schema.json describes.
 *
 * @typedef {object} SweepRun one run of a cell
 * @property {number} repeat from 1
 * @property {string} file its run file, relative to sweep.json
 * @property {number} exitCode
 * @property {string} startedAt
 * @property {string | null} complaint error of a run that measured nothing
 *
 * @typedef {object} Saturation of one line of cells
 * @property {string} along the option that raises the load
 * @property {Record<string, string>} at the other settings of the line
 * @property {Record<string, string> | null} settings of the cell from which on all are saturated
 * @property {string} words
 *
 * @typedef {object} Trial
 * @property {number} value
 * @property {boolean} holds
 * @property {string[]} failed conditions that do not hold, with figures
 * @property {string} file
 * @property {string} startedAt
 * @property {{name: string, evidence: string} | null} [verdict] what limited its run
 *
 * @typedef {object} Environment
 * @property {string} endpoint
 * @property {string | null} clientVersion
 * @property {number | null} chainId
 * @property {string} cpu
 * @property {number} cores
 * @property {string} node version of Node.js
 */

/** @param {RunFile} run @returns {Environment} */
export function environmentOf({ environment }) {
  const { endpoint, clientVersion, chainId, cpu, cores, node } = /** @type {any} */ (environment);
  return { endpoint, clientVersion, chainId, cpu, cores, node };
}
