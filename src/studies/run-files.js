import { existsSync, readFileSync } from 'node:fs';
import { InputError, displayName, oneLine, withoutKeys } from '../errors.js';
import { readJsonFile, schemaCheck } from '../json-file.js';
import { RUN_SCHEMA, placeOf } from '../stats/run-file.js';

/**
 * Reads the files of studies, each checked against its schema in docs/, if it has one.
 *
 * @import { RunFile } from '../contracts/run-file.d.ts'
 * @import { Comparison, Environment, SweepFile } from '../contracts/study.d.ts'
 * @import { ErrorObject } from 'ajv'
 * @import { BisectFile } from './bisect.js'
 * @import { PairsFile } from './pairs.js'
 *
 * @typedef {{run: RunFile, sweep: SweepFile, compare: Comparison, pairs: PairsFile, bisect: BisectFile}} Files
 * @typedef {keyof Files} Kind
 */

/** @type {Readonly<Record<Kind, {name: string, schema: string, advice?: string}>>} */
const KINDS = Object.freeze({
  run: { name: 'run file', schema: RUN_SCHEMA, advice: 'give a file that --out has written' },
  sweep: { name: 'sweep file', schema: 'evm-stress/sweep@1' },
  compare: { name: 'comparison', schema: 'evm-stress/compare@1' },
  pairs: { name: 'file of a comparison', schema: 'evm-stress/pairs@1' },
  bisect: { name: 'file of a bisection', schema: 'evm-stress/bisect@1' },
});

/** What a file of this kind says that it is. @param {Kind} kind */
export function schemaOf(kind) {
  return KINDS[kind].schema;
}

/** @template {Kind} K @param {K} kind @returns {Promise<(json: any, name: string) => Files[K]>} checks parsed JSON; throws an InputError with the name */
export async function checker(kind) {
  const { name: what, schema } = KINDS[kind];
  const rules = new URL(`../../docs/${kind}.schema.json`, import.meta.url);
  const check = existsSync(rules) ? await schemaCheck(JSON.parse(readFileSync(rules, 'utf8'))) : () => null;
  return (json, name) => {
    const found = json?.schema;
    if (typeof found !== 'string') throw new InputError(`${name} is no ${what}: it does not say "schema": "${schema}"`);
    if (found !== schema)
      throw new InputError(`${name} is no ${what} of this version, but ${JSON.stringify(oneLine(found, 60))}`);
    const error = check(json);
    if (error === null) return json;
    throw new InputError(`${name} is no whole ${what}: ${errorWords(error)}`);
  };
}

/** Names what is wrong, which ajv's own message does not always do. @param {ErrorObject} error */
function errorWords({ instancePath, keyword, message, params }) {
  const where = safeName(instancePath);
  if (keyword === 'required') return `${where}/${params.missingProperty} is missing`;
  if (keyword === 'additionalProperties') return `${where}/${safeName(params.additionalProperty)} is not known`;
  if (keyword === 'enum') return `${where} must be one of ${params.allowedValues.join(', ')}`;
  return `${where || 'it'} ${message}`;
}

/** @template {Kind} K @param {K} kind @returns {Promise<(file: string) => Files[K]>} throws an InputError that names the file and the error */
export async function reader(kind) {
  const check = await checker(kind);
  return (file) => check(readJsonFile(file, KINDS[kind]), displayName(file));
}

/** @param {string} file @returns {Kind} that it says it is of; other files are run files, whose reader says what is wrong */
export function kindOf(file) {
  try {
    const found = readJsonFile(file)?.schema;
    return /** @type {Kind[]} */ (Object.keys(KINDS)).find((kind) => KINDS[kind].schema === found) ?? 'run';
  } catch {
    return 'run';
  }
}

/** A text from a file, or a JSON pointer (RFC 6901), in a message. @param {string} text */
export function safeName(text) {
  // A name may be a URL with credentials, whose slashes a pointer escapes.
  return oneLine(withoutKeys(text.replaceAll('~1', '/').replaceAll('~0', '~')), 60);
}

/** @param {string} file @param {(file: string) => RunFile} read @returns {RunFile | null} null: no run file, or a damaged one */
export function readIfAny(file, read) {
  try {
    return existsSync(file) ? read(file) : null;
  } catch {
    return null;
  }
}

/** Whether a run had its full length. @param {Pick<RunFile, 'partial' | 'end'>} run */
export function isWhole({ partial, end }) {
  return !partial && ['duration', 'iterations', 'no_wallets'].includes(end);
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
export function environmentOf(run) {
  const { clientVersion, chainId, cpu, cores, node } = run.environment;
  return { endpoint: placeOf(run), clientVersion, chainId, cpu, cores, node };
}
