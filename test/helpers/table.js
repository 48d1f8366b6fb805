/** Tables of command lines that end before anything starts. */
import assert from 'node:assert/strict';
import { runStress } from './cli.js';
import { temporaryFolder } from './temporary.js';

/**
 * @import { StressResult } from './cli.js'
 * @import { TestContext } from 'node:test'
 */

/**
 * @typedef {object} TableRow
 * @property {string[]} args
 * @property {Record<string, string>} [env]
 * @property {string} [cwd]
 */

/**
 * @param {TableRow[]} rows
 * @param {string} folder in which they run unless they say another
 * @returns {Promise<StressResult[]>}
 */
export async function runTable(rows, folder) {
  const results = [];
  for (const { args, env, cwd = folder } of rows) results.push(await runStress(args, { env, cwd }));
  return results;
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
