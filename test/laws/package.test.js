/** What npm and its site read in package.json. */
import assert from 'node:assert/strict';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { describe, it } from 'node:test';

const ROOT = new URL('../../', import.meta.url);
const { files, man, bin, types, exports, ...rest } = JSON.parse(readFileSync(new URL('package.json', ROOT), 'utf8'));

describe('package.json', () => {
  it('has what a page about the package needs', () => {
    for (const name of ['author', 'license', 'homepage', 'repository', 'bugs', 'keywords', 'engines', 'description'])
      assert.ok(rest[name], name);
  });

  it('names files that exist and are packed', () => {
    // npm links the man page only if it is in an array.
    assert.ok(Array.isArray(man));
    const named = [
      ...man,
      ...Object.values(bin),
      types,
      ...Object.values(exports).map((one) => one.default ?? one.types),
    ];
    for (const name of named.filter((one) => typeof one === 'string')) {
      assert.ok(existsSync(new URL(name, ROOT)), name);
      assert.ok(files.includes(name.replace('./', '').split('/')[0]), name);
    }
  });

  it('has all files that the README links to', () => {
    const links = [...readFileSync(new URL('README.md', ROOT), 'utf8').matchAll(/\]\((?!https?:|#)([^)#]+)/g)];
    assert.ok(links.length > 10);
    for (const [, name] of links) {
      assert.ok(existsSync(new URL(name, ROOT)), name);
      assert.ok(files.includes(name.split('/')[0]), `${name} is not packed`);
    }
  });

  it('pictures of the README have less than 300 kB', () => {
    const names = [...readFileSync(new URL('README.md', ROOT), 'utf8').matchAll(/^!\[.*\]\((.*)\)$/gm)];
    assert.ok(names.length >= 2);
    for (const [, name] of names) assert.ok(statSync(new URL(name, ROOT)).size < 300_000, name);
  });
});
