/**
 * All test files of a folder in one process, one after the other: starting node and loading the program takes longer than
 * most of them. What the helpers end when tests are over, they end after the last file.
 */
import { readdirSync } from 'node:fs';
import { describe } from 'node:test';
import { fileURLToPath } from 'node:url';
import './anvil.js';
import './cli.js';

// The reporter writes nothing more after an error of standard output: results would be missing without a word.
process.stdout.on('error', () => (process.exitCode = 1));

/** @param {string} index URL of the folder's index.test.js */
export function importTests(index) {
  const folder = new URL('.', index);
  const names = readdirSync(fileURLToPath(folder)).filter((name) => name.endsWith('.test.js'));
  for (const name of names.filter((other) => !index.endsWith(`/${other}`)))
    describe(name, async () => void (await import(new URL(name, folder).href)));
}
