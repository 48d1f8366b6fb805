/**
 * Counts the law files (test/laws) that import internals: a module of src other than the index of its room, its errors or a
 * contract. Such a file changes with the inside of a room, so that their number may only fall. Part of npm run lint.
 */
import { readFileSync, readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { join } from 'node:path';

const LAWS = fileURLToPath(new URL('../test/laws', import.meta.url));

/** Lower it when the number has fallen. */
const MOST = 122;

const IMPORT = /^(?:import|export)\b[^;]*?from '((?:\.\.\/)+src\/[^']+)'/gms;
const OPEN = /\/src\/(?:\w[\w-]*\/)?(?:index|errors)\.js$|\/src\/contracts\//;

const files = readdirSync(LAWS, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.test.js'));
const inside = files.filter((name) => {
  const text = readFileSync(join(LAWS, name), 'utf8');
  return [...text.matchAll(IMPORT)].some(([, path]) => !OPEN.test(path));
});
console.log(`law files that import internals: ${inside.length} of ${files.length}, at most ${MOST}`);
if (inside.length > MOST) {
  console.error('test through the contracts, the command line or the simulation (docs/contributing.md)');
  process.exitCode = 1;
}
