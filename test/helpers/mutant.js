/** A copy of the program with a mistake planted in it, to prove that the mistake would be found. */
import { cpSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from './cli.js';
import { temporaryFolder } from './temporary.js';

/** @import { TestContext } from 'node:test' */

/**
 * @typedef {object} Patch
 * @property {string} file below the checkout
 * @property {string} find text that must be there, once
 * @property {string} replace what stands there instead
 */

/**
 * @param {TestContext} t the copy goes when the test ends
 * @param {Patch[]} patches
 * @returns {string} the copy's bin/stress.js
 */
export function mutant(t, patches) {
  const folder = temporaryFolder(t);
  for (const name of ['bin', 'src', 'contracts', 'package.json']) {
    cpSync(join(ROOT, name), join(folder, name), { recursive: true });
  }
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'), 'junction');
  for (const { file, find, replace } of patches) {
    const path = join(folder, file);
    const parts = readFileSync(path, 'utf8').split(find);
    if (parts.length !== 2) {
      throw new Error(`${file} has ${parts.length - 1} times what this mutant patches: ${JSON.stringify(find)}`);
    }
    writeFileSync(path, parts.join(replace));
  }
  return join(folder, 'bin', 'stress.js');
}
