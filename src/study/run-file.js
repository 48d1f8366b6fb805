import { InputError, oneLine } from '../errors.js';
import { RUN_SCHEMA } from '../metrics/summary.js';
import { documentChecker, documentReader } from './document.js';

/** @import { RunFile } from '../metrics/summary.js' */

const RUN_FILE = Object.freeze({
  name: 'run file',
  schema: RUN_SCHEMA,
  source: 'a file that --out has written',
  schemaFile: new URL('../../docs/run.schema.json', import.meta.url),
});

/**
 * @param {readonly string[]} files
 * @returns {Promise<RunFile[]>} in the same order
 * @throws {InputError} which names the first that is none, and what is wrong with it
 */
export async function readRunFiles(files) {
  return files.map(await runFileReader());
}

/** @returns {Promise<(file: string) => RunFile>} for many files, one at a time; throws as readRunFiles() does */
export function runFileReader() {
  return documentReader(RUN_FILE);
}

/** @returns {Promise<(json: any, name: string) => RunFile>} for what did not come as a file; throws as readRunFiles() does */
export function runFileChecker() {
  return documentChecker(RUN_FILE);
}

/**
 * A run file of the right form may still have histograms that cannot be read, which is seen when they are needed.
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
