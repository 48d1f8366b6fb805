/**
 * Proves that the lint rules which hold the architecture report what they should, and nothing else. Texts are
 * linted in the place of an existing file, as type information needs one; no file is read or written.
 */
import assert from 'node:assert/strict';
import { existsSync, readdirSync, statSync } from 'node:fs';
import { dirname, join, relative, sep } from 'node:path';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { ESLint } from 'eslint';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const eslint = new ESLint({ cwd: ROOT });

const LEAVES = ['clock', 'deadlines', 'errors', 'random', 'similar-names', 'text'].map((name) => `src/${name}.js`);
const BASE = ['src/chain', 'src/stats', 'src/files.js', 'src/json-file.js', ...LEAVES];
const PLUG_INS = ['src/inclusion', 'src/outputs', 'src/probes', 'src/transport', 'src/workloads'];
const BELOW_CORE = ['src/consistency', ...PLUG_INS, ...BASE];

/**
 * What may be imported from where, besides from the same folder: all that is not listed must be reported.
 * @type {Record<string, string[]>}
 */
const ALLOWED = {
  bin: ['src/cli', ...LEAVES],
  'src/index.js': ['src/cli', 'src/core', ...BELOW_CORE],
  'src/cli': ['src/core', 'src/report', 'src/studies', 'src/scale-out', ...BELOW_CORE],
  'src/core': BELOW_CORE,
  'src/report': ['src/studies', ...BELOW_CORE],
  'src/studies': ['src/core', ...BELOW_CORE],
  'src/scale-out': ['src/studies', ...BELOW_CORE],
  ...Object.fromEntries(PLUG_INS.map((part) => [part, BASE])),
  'src/consistency': ['src/chain', ...LEAVES],
  'src/chain': LEAVES,
  'src/contracts': [],
  'src/stats': LEAVES,
  'src/files.js': ['src/errors.js'],
  'src/json-file.js': ['src/errors.js'],
  ...Object.fromEntries(LEAVES.map((part) => [part, []])),
  'src/text.js': ['src/errors.js'],
};

/**
 * @param {string} part a file or a folder of this repository
 * @returns {string | undefined} that file, or the first one of that folder
 */
function fileOf(part) {
  const path = join(ROOT, part);
  if (!existsSync(path)) return undefined;
  if (statSync(path).isFile()) return part;
  const names = readdirSync(path, { recursive: true, encoding: 'utf8' });
  const name = names.sort().find((entry) => entry.endsWith('.js'));
  return name && join(part, name);
}

/**
 * @param {string} part where the text stands
 * @param {string} text
 * @returns {Promise<{ rule: string | null, line: number, message: string }[]>} what is reported
 */
async function lint(part, text) {
  const file = fileOf(part);
  assert.ok(file, `${part} has no .js file`);
  const [{ messages }] = await eslint.lintText(text, { filePath: join(ROOT, file) });
  for (const { fatal, message } of messages) assert.ok(!fatal, message);
  return messages.map(({ ruleId, line, message }) => ({ rule: ruleId, line, message }));
}

/**
 * @param {string} from
 * @param {string} to
 * @returns {string} the specifier with which a file of `from` imports one of `to`
 */
function specifier(from, to) {
  const path = relative(dirname(fileOf(from) ?? ''), fileOf(to) ?? '').split(sep);
  return [...(path[0] === '..' ? [] : ['.']), ...path].join('/');
}

describe('lint: import direction', () => {
  const parts = Object.keys(ALLOWED);

  it('knows every entry of src/', () => {
    const entries = readdirSync(join(ROOT, 'src')).map((name) => `src/${name}`);
    const others = entries.filter((entry) => !parts.includes(entry) && !entry.endsWith('.d.ts'));
    assert.deepEqual(others, [], 'give it a place in eslint.config.js and in this test');
  });

  for (const from of parts) {
    it(`${from} imports only what lies below it`, async (t) => {
      if (!fileOf(from)) return t.skip(`${from} is empty`);
      const others = [...parts, 'scripts', 'test'].filter((part) => part !== from && fileOf(part));
      const text = others.map((to) => `import '${specifier(from, to)}';\n`).join('');
      const messages = await lint(from, text);
      const reported = messages.filter(({ rule }) => rule === 'import-x/no-restricted-paths');
      const forbidden = others.filter((to) => !ALLOWED[from].includes(to)).sort();
      assert.deepEqual([...new Set(reported.map(({ line }) => others[line - 1]))].sort(), forbidden);
      const unresolved = messages.filter(({ rule }) => rule === 'import-x/no-unresolved');
      assert.deepEqual(unresolved, []);
    });
  }

  for (const form of ["export * from 'FILE';", "await import('FILE');", "import x from 'FILE'; export { x };"]) {
    it(`reports: ${form}`, async () => {
      const messages = await lint('src/errors.js', form.replace('FILE', './clock.js'));
      assert.deepEqual(
        messages.filter(({ rule }) => rule?.startsWith('import-x/')).map(({ rule }) => rule),
        ['import-x/no-restricted-paths'],
      );
    });
  }
});

const lines = (/** @type {number} */ count) => 'f();\n'.repeat(count);
const PROMISE = "import { setTimeout as sleep } from 'node:timers/promises';\n";

/** What may start a shell. */
const SHELLS = [
  "import { exec } from 'node:child_process';",
  "import { execSync as run } from 'child_process';",
  "import * as processes from 'node:child_process';",
  "import processes from 'node:child_process';",
  "export const { exec } = await import('node:child_process');",
  "const { exec } = require('child_process');",
  "import { spawn } from 'node:child_process'; spawn('a', [], { shell: true });",
  "const shell = true; spawn('a', [], { shell });",
];

/**
 * For each rule: what must be reported by it where, and what must not.
 * @type {Record<string, { bad: [string, string][], good: [string, string][] }>}
 */
const CASES = {
  '@typescript-eslint/no-floating-promises': {
    bad: ['bin', 'src/chain', 'src/core', 'scripts', 'test'].map((part) => [part, `${PROMISE}sleep(1);`]),
    good: [
      ['src/chain', `${PROMISE}await sleep(1);`],
      [
        'test',
        "import { describe, it, test } from 'node:test';\ndescribe('a', () => { it('b', async () => {}); });\ntest('c');",
      ],
    ],
  },
  '@typescript-eslint/no-misused-promises': {
    bad: [['src/chain', `${PROMISE}if (sleep(1)) throw new Error();`]],
    good: [['src/chain', `${PROMISE}if (await sleep(1, true)) throw new Error();`]],
  },
  '@typescript-eslint/await-thenable': {
    bad: [['src/chain', 'await 1;']],
    good: [['src/chain', `${PROMISE}await sleep(1);`]],
  },
  '@typescript-eslint/require-await': { bad: [], good: [['src/chain', 'export const f = async () => 1;']] },
  'import-x/no-unresolved': {
    bad: [['src/chain', "import '../run/no-such-file.js';"]],
    good: [['src/chain', "import 'node:fs'; import 'undici';"]],
  },
  'no-console': {
    bad: ['src/chain', 'src/core', 'src/clock.js'].map((part) => [part, 'console.log(1);']),
    good: ['src/cli', 'src/output', 'bin', 'scripts', 'test'].map((part) => [part, 'console.log(1);']),
  },
  'no-restricted-properties': {
    bad: [
      ...['src/chain', 'src/cli', 'test'].map((part) => /** @type {[string, string]} */ ([part, 'process.exit(1);'])),
      ['src/chain', "process['exit'](1);"],
      ['src/chain', 'const { exit } = process;'],
    ],
    good: [
      ['bin', 'process.exit(1);'],
      ['scripts', 'process.exit(1);'],
      ['src/cli', 'process.exitCode = 1;'],
    ],
  },
  'no-restricted-syntax': {
    bad: [
      ['src/chain', 'let state = 1;'],
      ['src/cli', 'export let state = 1;'],
      ['src/stats', 'var state = 1;'],
      ['src/core/pacer.js', "await import('node:fs');"],
      ['src/core', "rpc.call('eth_getLogs', []);"],
      ['src/inclusion', "f({ method: 'eth_call' });"],
      ['test', "import { test } from 'node:test';\ntest('a', (t) => { t.test('b'); });"],
      ...SHELLS.flatMap((text) => /** @type {[string, string][]} */ (['bin', 'src/core'].map((part) => [part, text]))),
    ],
    good: [
      ['src/chain', 'export const f = () => { let local = 1; return local++; };'],
      ['src/stats', 'for (let i = 0; i < 3; i++);'],
      ['src/core', "await import('node:fs');"],
      ['src/core', "rpc.call('eth_sendRawTransaction', []);"],
      ['scripts', 'let state = 1;'],
      ['src/core', "import { spawn } from 'node:child_process'; spawn('shell', ['exec'], {});"],
      ['test', "import { test } from 'node:test';\ntest('a', async (t) => { await t.test('b'); });"],
    ],
  },
  'no-restricted-imports': {
    bad: [
      ['src/stats', "import 'undici';"],
      ['src/chain', "import { exit } from 'node:process';"],
    ],
    good: [
      ['src/stats', "import 'node:util'; import 'node:events'; import 'hdr-histogram-js';"],
      ['src/core/pacer.js', "import 'node:timers/promises';"],
      ['src/chain', "import 'node:fs';"],
    ],
  },
  'no-restricted-globals': { bad: [['src/stats', "await fetch('/');"]], good: [['src/chain', "await fetch('/');"]] },
  'n/prefer-node-protocol': { bad: [['src/stats', "import 'fs';"]], good: [['src/chain', "import 'node:fs';"]] },
  'max-lines': {
    bad: [['src/chain', lines(601)]],
    good: [
      ['src/chain', `${lines(249)}\n\n// a comment\n${lines(1)}`],
      ['test', lines(601)],
    ],
  },
  'max-lines-per-function': {
    bad: [['src/chain', `function f() {\n${lines(69)}}`]],
    good: [
      ['src/chain', `function f() {\n${lines(68)}\n// a comment\n}`],
      ['scripts', `function f() {\n${lines(69)}}`],
    ],
  },
};

describe('lint: rules', () => {
  const IO = ['fs', 'fs/promises', 'net', 'http', 'https', 'child_process', 'worker_threads', 'process', 'stream'];
  for (const part of ['src/stats', 'src/core/pacer.js']) {
    it(`no-restricted-imports: ${part} does no I/O`, async () => {
      const messages = await lint(part, IO.map((name) => `import 'node:${name}';\n`).join(''));
      assert.deepEqual(
        messages.filter(({ rule }) => rule === 'no-restricted-imports').map(({ line }) => IO[line - 1]),
        IO,
      );
    });
  }

  for (const [rule, { bad, good }] of Object.entries(CASES)) {
    it(rule, async () => {
      const present = (/** @type {[string, string][]} */ cases) => cases.filter(([part]) => fileOf(part));
      for (const [part, text] of present(bad)) {
        const rules = (await lint(part, text)).map((message) => message.rule);
        assert.ok(rules.includes(rule), `${part}: not reported by ${rule}: ${text.slice(0, 80)}`);
      }
      for (const [part, text] of present(good)) {
        const messages = (await lint(part, text)).filter((message) => message.rule === rule);
        assert.deepEqual(messages, [], `${part}: ${text.slice(0, 80)}`);
      }
    });
  }
});
