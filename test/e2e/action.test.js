/** Each step of action.yml, as a runner of GitHub Actions runs it: bash, inputs as environment, outputs in files. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { load } from 'js-yaml';
import { readJson } from '../helpers/cli.js';
import { temporaryFolder } from '../helpers/temporary.js';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const ACTION = /** @type {any} */ (load(readFileSync(join(ROOT, 'action.yml'), 'utf8')));

/** Runs the last step. @param {import('node:test').TestContext} t @param {Record<string, string>} given inputs */
function runAction(t, given) {
  const folder = temporaryFolder(t);
  const files = { GITHUB_OUTPUT: join(folder, 'output'), GITHUB_STEP_SUMMARY: join(folder, 'summary') };
  for (const file of Object.values(files)) writeFileSync(file, '');
  const step = ACTION.runs.steps.at(-1);
  const expand = (/** @type {string} */ text) =>
    text
      .replaceAll('${{ github.action_path }}', ROOT)
      .replaceAll(/\$\{\{ inputs\.([\w-]+) \}\}/g, (_, name) => given[name] ?? ACTION.inputs[name].default);
  const env = Object.fromEntries(Object.entries(step.env).map(([name, text]) => [name, expand(String(text))]));
  const script = join(folder, 'step.sh');
  writeFileSync(script, step.run);
  // The shell of `shell: bash`.
  const { status, stdout, stderr } = spawnSync('bash', ['--noprofile', '--norc', '-eo', 'pipefail', script], {
    env: { ...process.env, ...env, ...files, RUNNER_TEMP: folder },
    encoding: 'utf8',
  });
  const lines = readFileSync(files.GITHUB_OUTPUT, 'utf8').trim().split('\n');
  const outputs = Object.fromEntries(lines.map((line) => line.split(/=(.*)/s).slice(0, 2)));
  return { status, stdout, stderr, outputs, summary: readFileSync(files.GITHUB_STEP_SUMMARY, 'utf8') };
}

test('action.yml: a run with thresholds, of which one fails', (t) => {
  const given = { options: "-t 3 -d 2s --set 'note=a b'", thresholds: 'tps>0\ntps<0.1\n' };
  assert.equal(runAction(t, given).status, 64, 'quotes as in a shell: the counter has no settings');
  const { status, stderr, outputs, summary } = runAction(t, { ...given, options: '-t 3 -d 2s' });
  assert.equal(status, 99, stderr);
  assert.equal(outputs.verdict, 'stress failed (exit code 99): tps<0.1');
  assert.match(summary, /^\*\*stress failed[^]*\| tps>0 \| passed \| [^]*\| tps\\<0\.1 \| FAILED \| /);
  assert.equal(readFileSync(outputs.markdown, 'utf8'), summary);
  assert.equal(readJson(outputs['run-file']).audit.exact, true);
  assert.match(readFileSync(outputs.page, 'utf8'), /<title>/);
  assert.deepEqual(Object.keys(outputs).sort(), Object.keys(ACTION.outputs).sort());
});
