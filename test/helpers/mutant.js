/** A copy of the program with mistakes planted in it, to prove that each of them would be found. */
import { cpSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from './cli.js';
import { temporaryFolder } from './temporary.js';

/**
 * @typedef {object} Mistake
 * @property {string} file below the checkout
 * @property {string} behind text that must be there, once
 * @property {string} code what is done there if PLANTED of the environment names the mistake
 */

/**
 * @param {{after: (end: () => void) => void}} t the copy goes when the test ends
 * @param {Record<string, Mistake>} mistakes
 * @returns {string} the copy's bin/stress.js
 */
export function mutant(t, mistakes) {
  const folder = temporaryFolder(t);
  for (const name of ['bin', 'src', 'contracts', 'package.json'])
    cpSync(join(ROOT, name), join(folder, name), { recursive: true });
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'), 'junction');
  for (const [name, { file, behind, code }] of Object.entries(mistakes)) {
    const path = join(folder, file);
    const parts = readFileSync(path, 'utf8').split(behind);
    if (parts.length !== 2)
      throw new Error(`${file} has ${parts.length - 1} times what ${name} patches: ${JSON.stringify(behind)}`);
    const isWanted = `(process.env.PLANTED ?? '').split(',').includes(${JSON.stringify(name)})`;
    writeFileSync(path, parts.join(`${behind}if (${isWanted}) { ${code} }\n`));
  }
  return join(folder, 'bin', 'stress.js');
}
