/**
 * Runs many command lines in one process: what `bin/stress.js` does, without a new process for each. For tables of
 * cases that end before anything starts, where the start of a process would be nearly all of the time.
 */
import assert from 'node:assert/strict';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { runStress } from './cli.js';
import { temporaryFolder } from './temporary.js';

/** @import { TestContext } from 'node:test' */

/**
 * @typedef {object} TableRow
 * @property {string[]} args
 * @property {Record<string, string>} [env]
 * @property {string} [cwd]
 *
 * @typedef {{code: number, stdout: string, stderr: string, tookMs: number}} TableResult
 */

const RUNNER = fileURLToPath(new URL('table-runner.js', import.meta.url));

/** Ends what one row has said: the ASCII record separator, which the program itself never prints. */
const SEPARATOR = '\u001e';

/**
 * @param {TableRow[]} rows
 * @param {string} folder a place for files of its own, in which they run unless they say another
 * @param {number} [timeoutMs] for all of them
 * @returns {Promise<TableResult[]>}
 */
export async function runTable(rows, folder, timeoutMs) {
  const file = join(folder, 'table.json');
  const complete = rows.map(({ args, env = {}, cwd = folder }) => ({ args, env, cwd }));
  writeFileSync(file, JSON.stringify({ separator: SEPARATOR, rows: complete }));
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

/**
 * Command lines that are refused, each in one line and before anything is started; each is a test of its own.
 * @param {TestContext} t
 * @param {Array<[args: string[], exit: number, says: RegExp]>} rows
 * @param {Record<string, string>} [env]
 */
export async function assertRefused(t, rows, env) {
  const folder = temporaryFolder(t);
  const results = await runTable(
    rows.map(([args]) => ({ args, env })),
    folder,
  );
  for (const [i, [args, exit, says]] of rows.entries()) {
    await t.test(`stress ${args.join(' ').replaceAll(folder, '')} -> ${exit}`, () => {
      const { code, stdout, stderr } = results[i];
      assert.deepEqual([code, stdout], [exit, ''], stderr);
      assert.match(stderr, /^stress: .*\n$/);
      assert.match(stderr, says);
    });
  }
}
