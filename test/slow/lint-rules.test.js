/**
 * The lint rules that hold the architecture report what they should. Texts are linted in the place of an existing file,
 * as type information needs one; no file is read or written.
 */
import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { it } from 'node:test';
import { ESLint } from 'eslint';
import { ROOT } from '../helpers/cli.js';

const eslint = new ESLint({ cwd: ROOT });
const lines = (/** @type {number} */ count) => 'f();\n'.repeat(count);
const PROMISE = "import { setTimeout as sleep } from 'node:timers/promises';\n";
const SUBTEST = "import { test } from 'node:test';\ntest('a', async (t) => { t.test('b'); });";

/** By rule: what it must report in the place of a file. @type {Array<[rule: string, file: string, text: string]>} */
const BAD = [
  ...["import './clock.js';", "export * from './clock.js';", "await import('./clock.js');"].map(
    (text) => /** @type {[string, string, string]} */ (['import-x/no-restricted-paths', 'src/errors.js', text]),
  ),
  ['import-x/no-restricted-paths', 'src/outputs/hlog.js', "import '../core/run.js'; import '../probes/index.js';"],
  [
    'import-x/no-restricted-paths',
    'src/core/run.js',
    "import '../studies/find.js'; import '../../test/helpers/cli.js';",
  ],
  ['import-x/no-unresolved', 'src/chain/rpc.js', "import '../run/no-such-file.js';"],
  ['@typescript-eslint/no-floating-promises', 'src/chain/rpc.js', `${PROMISE}sleep(1);`],
  ['@typescript-eslint/no-misused-promises', 'src/chain/rpc.js', `${PROMISE}if (sleep(1)) throw new Error();`],
  ['no-console', 'src/core/run.js', 'console.log(1);'],
  ['no-restricted-properties', 'src/cli/main.js', "process['exit'](1);"],
  ['no-restricted-syntax', 'src/stats/stats.js', 'export let state = 1;'],
  ['no-restricted-syntax', 'src/core/pacer.js', "await import('node:fs');"],
  ['no-restricted-syntax', 'src/core/run.js', "rpc.call('eth_getLogs', []);"],
  ['no-restricted-syntax', 'test/helpers/cli.js', SUBTEST],
  ...[
    "import { execSync as run } from 'child_process';",
    "import * as processes from 'node:child_process';",
    "const { exec } = require('child_process');",
    "import { spawn } from 'node:child_process'; spawn('a', [], { shell: true });",
  ].map((text) => /** @type {[string, string, string]} */ (['no-restricted-syntax', 'bin/stress.js', text])),
  ...['fs', 'net', 'http', 'child_process', 'worker_threads', 'process', 'stream'].map(
    (name) =>
      /** @type {[string, string, string]} */ ([
        'no-restricted-imports',
        'src/core/pacer.js',
        `import 'node:${name}';`,
      ]),
  ),
  ['no-restricted-imports', 'src/stats/stats.js', "import 'undici';"],
  ['no-restricted-globals', 'src/stats/stats.js', "await fetch('/');"],
  ['n/prefer-node-protocol', 'src/stats/stats.js', "import 'fs';"],
  ['max-lines', 'src/chain/rpc.js', lines(601)],
  ['max-lines-per-function', 'src/chain/rpc.js', `function f() {\n${lines(69)}}`],
];

for (const [rule, file, text] of BAD)
  it(`${rule}, in ${file}: ${text.slice(0, 60)}`, async () => {
    const [{ messages }] = await eslint.lintText(text, { filePath: join(ROOT, file) });
    assert.ok(
      messages.some(({ ruleId }) => ruleId === rule),
      JSON.stringify(messages),
    );
  });

it('each entry of src/ has its place in the direction of imports', async () => {
  const { rules } = await eslint.calculateConfigForFile(join(ROOT, 'src/errors.js'));
  const [, { zones }] = rules['import-x/no-restricted-paths'];
  const targets = zones.map((/** @type {any} */ { target }) => target);
  const entries = readdirSync(join(ROOT, 'src')).filter((name) => !name.endsWith('.d.ts'));
  assert.deepEqual(
    entries.filter((name) => !targets.includes(`./src/${name}`)),
    [],
  );
});
