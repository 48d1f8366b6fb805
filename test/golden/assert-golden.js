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

/** A page without what is the same in all pages; of its data a chart a line. @param {string} name @param {string} page */
export function assertGoldenPage(name, page) {
  const own = page.replaceAll(/<(script|style)>[^]*?<\/\1>/g, '<$1></$1>').replaceAll(/sha256-[\w+/=]+/g, 'HASH');
  assertGolden(`page-${name}.html`, own.replaceAll('{"id":', '\n{"id":'));
}
