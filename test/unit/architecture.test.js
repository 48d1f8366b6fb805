/** Every path that docs/architecture.md names exists. */
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const MAP = 'docs/architecture.md';
const TEXT = existsSync(join(ROOT, MAP)) ? readFileSync(join(ROOT, MAP), 'utf8') : '';

/**
 * @param {string} markdown
 * @returns {string[]} the texts of its inline code spans and fenced code blocks
 */
function codeIn(markdown) {
  /** @type {string[]} */
  const code = [];
  const withoutBlocks = markdown.replace(/^(`{3,})[^\n]*\n([\s\S]*?)^\1`*\s*$/gm, (_, __, block) => {
    code.push(block);
    return '';
  });
  for (const [, , span] of withoutBlocks.matchAll(/(`+)((?:(?!\1)[\s\S])+?)\1(?!`)/g)) code.push(span);
  return code;
}

/** @param {string} markdown @returns {Set<string>} files and folders of this repository that it names in code */
function pathsIn(markdown) {
  const words = codeIn(markdown).flatMap((code) => code.split(/[\s()"',;:]+/));
  const paths = words.filter((word) => /^(src|bin|contracts|scripts|test)\//.test(word) && !/[*<>{}$]/.test(word));
  return new Set(paths.map((path) => path.replace(/[./]+$/, '')));
}

describe(MAP, () => {
  it('is there', () => assert.ok(TEXT !== '', `${MAP} does not exist yet, or is empty`));

  it('names nothing that does not exist', () => {
    const missing = [...pathsIn(TEXT)].filter((path) => !existsSync(join(ROOT, path)));
    assert.deepEqual(missing, [], `${MAP} names paths that do not exist`);
  });
});

describe('the test of the map', () => {
  it('finds paths in code spans and code blocks, and nowhere else', () => {
    const markdown = [
      'See `src/a.js`, `bin/` and ``src/b.js``; not src/c.js, `other/d.js` or `contracts/*.sol`.',
      '`node scripts/e.js unit` and `test/f.test.js:12`',
      '```text',
      'src/g/    a tree',
      '  src/g/h.js',
      '```',
      'The `end` of src/i.js.',
    ].join('\n');
    assert.deepEqual([...pathsIn(markdown)].sort(), [
      ...['bin', 'scripts/e.js', 'src/a.js', 'src/b.js', 'src/g', 'src/g/h.js', 'test/f.test.js'],
    ]);
  });
});
