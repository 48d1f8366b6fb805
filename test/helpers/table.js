/** Tables of command lines that end before anything starts. */
import assert from 'node:assert/strict';
import { runStress } from './cli.js';
import { temporaryFolder } from './temporary.js';

/** @import { TestContext } from 'node:test' */

/**
 * Command lines that are refused, each in one line and before anything is started; each is a test of its own.
 * @param {TestContext} t
 * @param {Array<[words: string | string[], exit: number, says: RegExp | string]>} rows
 * @param {NodeJS.ProcessEnv} [env]
 */
export async function assertRefused(t, rows, env) {
  const cwd = temporaryFolder(t);
  for (const [words, exit, says] of rows) {
    const args = typeof words === 'string' ? words.split(' ') : words;
    await t.test(`stress ${args.join(' ').replaceAll(cwd, '')} -> ${exit}`, async () => {
      const { code, stdout, stderr } = await runStress(args, { env, cwd });
      assert.deepEqual([code, stdout], [exit, ''], stderr);
      assert.match(stderr, /^stress: .*\n$/);
      if (typeof says === 'string') assert.equal(stderr, `stress: ${says}\n`);
      else assert.match(stderr, says);
    });
  }
}
