/** The types of the library, as a program sees them that has the packed package installed. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { it } from 'node:test';
import { ROOT } from '../helpers/cli.js';
import { temporaryFolder } from '../helpers/temporary.js';

const [, EXAMPLE] = /```js\n([\s\S]*?)```/.exec(readFileSync(join(ROOT, 'docs/outputs.md'), 'utf8')) ?? [];

it('has types: a TypeScript program compiles against the packed package, and a wrong one does not', (t) => {
  const folder = temporaryFolder(t);
  const packed = spawnSync('npm', ['pack', '--silent', '--pack-destination', folder], { cwd: ROOT, encoding: 'utf8' });
  assert.equal(packed.status, 0, packed.stderr);
  const [tarball = ''] = readdirSync(folder);
  const modules = join(folder, 'node_modules');
  mkdirSync(join(modules, 'evm-stress'), { recursive: true });
  const target = ['-xzf', join(folder, tarball), '-C', join(modules, 'evm-stress'), '--strip-components', '1'];
  assert.equal(spawnSync('tar', target).status, 0);
  for (const name of ['ethers', '@types']) symlinkSync(join(ROOT, 'node_modules', name), join(modules, name));
  writeFileSync(join(folder, 'package.json'), '{"type": "module"}');
  const wrong = `import { run } from 'evm-stress';\nawait run({ wallets: '5' });\n(await run({})).counts.verifed;\n`;
  writeFileSync(join(folder, 'main.ts'), EXAMPLE);
  writeFileSync(join(folder, 'wrong.ts'), wrong);
  const settings = ['--noEmit', '--strict', '--module', 'nodenext', '--target', 'es2023', '--types', 'node'];
  const compiled = (/** @type {string} */ name) => {
    const tsc = join(ROOT, 'node_modules/typescript/bin/tsc');
    return spawnSync(process.execPath, [tsc, ...settings, name], { cwd: folder, encoding: 'utf8' });
  };
  assert.equal(compiled('main.ts').stdout, '');
  const errors = compiled('wrong.ts').stdout.match(/^wrong\.ts.*$/gm) ?? [];
  assert.equal(errors.length, 2);
  assert.match(errors[1], /Property 'verifed' does not exist/);
});
