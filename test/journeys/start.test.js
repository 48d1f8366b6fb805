/** What --version and --help load: no package, so that they answer at once. */
import assert from 'node:assert/strict';
import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { it } from 'node:test';
import { ROOT, readJson, runStress } from '../helpers/cli.js';
import { temporaryFolder } from '../helpers/temporary.js';

it('--version and --help need no package, and a run without them ends with one line', async (t) => {
  const copy = temporaryFolder(t);
  for (const name of ['bin', 'src', 'package.json']) cpSync(join(ROOT, name), join(copy, name), { recursive: true });
  const script = join(copy, 'bin/stress.js');
  const { version } = readJson(join(ROOT, 'package.json'));
  for (const word of ['--version', '-V', 'version']) {
    const printed = { code: 0, signal: null, stdout: `${version}\n`, stderr: '' };
    assert.deepEqual(await runStress([word], { script }), printed);
  }
  for (const args of [['--help'], ['-h'], ['sweep', '--help']]) {
    const { code, stdout, stderr } = await runStress(args, { script });
    assert.deepEqual([code, stderr], [0, ''], args.join(' '));
    assert.match(stdout, /^ {2}-t, --threads N/m);
  }
  const { code, stdout, stderr } = await runStress(['-t', '1'], { script });
  assert.deepEqual([code, stdout], [70, '']);
  assert.match(stderr, /^stress: [^\n]*Cannot find package[^\n]*\n$/);
});
