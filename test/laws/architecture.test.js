/** Every path that docs/architecture.md names exists. */
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const MAP = 'docs/architecture.md';
const TEXT = readFileSync(join(ROOT, MAP), 'utf8');

describe(MAP, () => {
  it('names nothing that does not exist', () => {
    const words = TEXT.split(/[\s()"',;:`|]+/);
    const paths = words.filter((word) => /^(src|bin|contracts|scripts|test)\//.test(word) && !/[*<>{}$]/.test(word));
    assert.ok(paths.length > 20);
    const missing = paths.filter((path) => !existsSync(join(ROOT, path.replace(/[./]+$/, ''))));
    assert.deepEqual(missing, []);
  });
});
