import { RUN_SCHEMA } from '../metrics/summary.js';
import { documentChecker, documentReader } from './document.js';

/** Run files as they come back. @typedef {import('../metrics/summary.js').RunFile} RunFile */

const RUN_FILE = Object.freeze({
  ...{ name: 'run file', schema: RUN_SCHEMA, source: 'a file that --out has written' },
  schemaFile: new URL('../../docs/run.schema.json', import.meta.url),
});

/**
 * @param {readonly string[]} files
 * @returns {Promise<RunFile[]>} in the same order
 * @throws {import('../errors.js').InputError} which names the first that is none, and what is wrong with it
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
