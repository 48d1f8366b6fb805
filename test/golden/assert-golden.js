import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const EXPECTED = fileURLToPath(new URL('expected', import.meta.url));

/** @param {string} name */
export const expected = (name) => readFileSync(join(EXPECTED, name), 'utf8');

/** GOLDEN=write makes the expected files anew; each change in them is to be looked at. @param {string} name @param {string} text */
export function assertGolden(name, text) {
  if (process.env.GOLDEN === 'write') writeFileSync(join(EXPECTED, name), text);
  else assert.equal(text, expected(name), `${name}: GOLDEN=write accepts what is new`);
}
