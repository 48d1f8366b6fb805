import { existsSync, readFileSync } from 'node:fs';
import { InputError, displayName, oneLine, withoutKeys } from '../errors.js';
import { readJsonFile, schemaCheck } from '../json-file.js';
import { RUN_SCHEMA } from '../stats/run-file.js';

/**
 * Reads the files of studies, each checked against its schema in docs/: run files, comparisons and sweeps.
 *
 * @import { ErrorObject } from 'ajv'
 * @import { Comparison, Environment, RunFile, SweepFile } from '../types.d.ts'
 *
 * @typedef {object} Kind
 * @property {string} name for messages
 * @property {string} schema expected in the file
 * @property {string} [advice] for other files
 */

export const SWEEP_SCHEMA = 'evm-stress/sweep@1';
export const COMPARE_SCHEMA = 'evm-stress/compare@1';

const RUN = { name: 'run file', schema: RUN_SCHEMA, advice: 'give a file that --out has written' };
const SWEEP = { name: 'sweep file', schema: SWEEP_SCHEMA };
const COMPARISON = { name: 'comparison', schema: COMPARE_SCHEMA };

/** @param {Kind} kind @returns {Promise<(json: any, name: string) => any>} checks parsed JSON; throws an InputError with the name */
async function checkerOf(kind) {
  const [, file] = /\/(\w+)@/.exec(kind.schema) ?? [];
  const rules = JSON.parse(readFileSync(new URL(`../../docs/${file}.schema.json`, import.meta.url), 'utf8'));
  const check = await schemaCheck(rules);
  return (json, name) => {
    if (json?.schema !== kind.schema) throw new InputError(`${name} is ${describeForeign(json?.schema, kind)}`);
    const error = check(json);
    if (error !== null) throw new InputError(`${name} is no whole ${kind.name}: ${errorWords(error)}`);
    return json;
  };
}

/** @param {Kind} kind @returns {Promise<(file: string) => any>} throws an InputError that names the file and the error */
async function readerOf(kind) {
  const check = await checkerOf(kind);
  return (file) => check(readJsonFile(file, kind), displayName(file));
}

/** @param {string} file @returns {unknown} the schema that it names; other errors are left to its reader */
export function schemaOf(file) {
  try {
    return readJsonFile(file)?.schema;
  } catch {
    return undefined;
  }
}

/** @param {unknown} found the schema that a file names @param {Kind} kind */
function describeForeign(found, { name, schema }) {
  if (typeof found !== 'string') return `no ${name}: it does not say "schema": "${schema}"`;
  const quoted = JSON.stringify(oneLine(found, 60));
  const known = [RUN, SWEEP, COMPARISON].find((one) => found.startsWith(`${one.schema.split('@')[0]}@`));
  return known === undefined || found === known.schema
    ? `no ${name}, but ${quoted}`
    : `a ${known.name} of another version, ${quoted}: this stress reads ${known.schema}`;
}

/** @param {ErrorObject} error */
function errorWords({ instancePath, keyword, message, params }) {
  const where = safeName(instancePath);
  if (keyword === 'required') return `${where}/${params.missingProperty} is missing`;
  if (keyword === 'additionalProperties') return `${where}/${safeName(params.additionalProperty)} is not known`;
  if (keyword === 'enum') return `${where} must be one of ${params.allowedValues.join(', ')}`;
  if (keyword === 'const') return `${where} must be ${JSON.stringify(params.allowedValue)}`;
  return `${where || 'it'} ${message}`;
}

/** A text from a file, or a JSON pointer (RFC 6901), in a message. @param {string} text */
export function safeName(text) {
  // A name may be a URL with credentials, whose slashes a pointer escapes.
  return oneLine(withoutKeys(text.replaceAll('~1', '/').replaceAll('~0', '~')), 60);
}

/** @param {readonly string[]} files @returns {Promise<RunFile[]>} in the same order @throws {InputError} */
export async function readRunFiles(files) {
  return files.map(await runFileReader());
}

/** @returns {Promise<(file: string) => RunFile>} reads one file at a time; throws an InputError */
export function runFileReader() {
  return readerOf(RUN);
}

/** @returns {Promise<(json: any, name: string) => RunFile>} for JSON that is not in a file; throws an InputError */
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

/** Whether a run had its full length. @param {RunFile} run */
export function isWhole({ partial, end }) {
  return !partial && ['duration', 'no_wallets'].includes(end);
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

/** @param {RunFile} run @returns {Environment} */
export function environmentOf({ environment }) {
  const { endpoint, clientVersion, chainId, cpu, cores, node } = /** @type {any} */ (environment);
  return { endpoint, clientVersion, chainId, cpu, cores, node };
}
