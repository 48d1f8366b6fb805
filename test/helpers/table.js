/**
 * Runs many command lines in one process: what `bin/stress.js` does, without a new process for each. For tables of
 * cases that end before anything starts, where the start of a process would be nearly all of the time.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { runStress } from './cli.js';

/**
 * @typedef {object} TableRow
 * @property {string[]} args
 * @property {Record<string, string>} env
 * @property {string} cwd
 *
 * @typedef {{code: number, stdout: string, stderr: string, tookMs: number}} TableResult
 */

const RUNNER = fileURLToPath(new URL('table-runner.js', import.meta.url));

/** Ends what one row has said: the ASCII record separator, which the program itself never prints. */
const SEPARATOR = '\u001e';

/**
 * @param {TableRow[]} rows
 * @param {string} folder a place for files of its own
 * @param {number} timeoutMs for all of them
 * @returns {Promise<TableResult[]>}
 */
export async function runTable(rows, folder, timeoutMs) {
  const file = join(folder, 'table.json');
  writeFileSync(file, JSON.stringify({ separator: SEPARATOR, rows }));
  const { code, signal, ...said } = await runStress([file], { script: RUNNER, timeoutMs });
  if (code !== 0 || !existsSync(`${file}.results`)) {
    throw new Error(`the table ended with ${signal ?? code}:\n${said.stdout}\n${said.stderr}`);
  }
  const stdout = said.stdout.split(SEPARATOR);
  const stderr = said.stderr.split(SEPARATOR);
  /** @type {Array<{code: number, tookMs: number}>} */
  const results = JSON.parse(readFileSync(`${file}.results`, 'utf8'));
  return results.map((result, i) => ({ ...result, stdout: stdout[i], stderr: stderr[i] }));
}
