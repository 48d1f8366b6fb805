import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/**
 * Writes a generated file; with --check it only says whether the file is up to date.
 * @param {string} name of the file, from the root of the repository
 * @param {string} text
 * @param {string} command that writes it
 */
export function writeOrCheck(name, text, command) {
  const file = fileURLToPath(new URL(`../${name}`, import.meta.url));
  if (!process.argv.includes('--check')) return writeFileSync(file, text);
  if (existsSync(file) && readFileSync(file, 'utf8') === text) return;
  process.stderr.write(`${name} is not up to date: ${command}\n`);
  process.exitCode = 1;
}
