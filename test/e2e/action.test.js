/** action.yml, without its installation: test/e2e/recipes.test.js has that. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { ROOT, readJson } from '../helpers/cli.js';
import { ACTION, Job } from '../helpers/workflow.js';

/** Runs the last step. @param {import('node:test').TestContext} t @param {Record<string, string>} given inputs */
async function runAction(t, given) {
  const job = new Job(t);
  const outputs = await job.runAction(given, ACTION.runs.steps.slice(-1), { path: ROOT });
  return { job, outputs };
}

test('action.yml: a run with thresholds, of which one fails', async (t) => {
  const given = { options: '-t 3\n-d 2s', thresholds: 'tps>0\ntps<0.1\n' };
  const { job, outputs } = await runAction(t, given);
  assert.match(job.output, /^stress: exit code 99|tps<0\.1/m);
  assert.ok(job.hasFailed);
  assert.equal(outputs.verdict, 'stress failed (exit code 99): tps<0.1');
  assert.match(job.summary, /^\*\*stress failed[^]*\| tps>0 \| passed \| [^]*\| tps\\<0\.1 \| FAILED \| /);
  assert.equal(readFileSync(outputs.markdown, 'utf8'), job.summary);
  const run = readJson(outputs['run-file']);
  assert.equal(run.audit.exact, true);
  assert.equal(Number(outputs.tps), run.rates.verifiedPerSecond);
  assert.match(readFileSync(outputs.html, 'utf8'), /<title>/);
  assert.match(
    readFileSync(outputs.junit, 'utf8'),
    /<testcase classname="stress.thresholds" name="tps&#62;0" time="0"><system-out>tps: \d/,
  );
});

test('action.yml: a run that cannot start', async (t) => {
  const { job, outputs } = await runAction(t, { endpoint: 'http://127.0.0.1:9', options: '-t 3 -d 2s' });
  assert.ok(job.hasFailed);
  assert.equal(outputs.tps, '');
  assert.match(outputs.verdict, /^stress failed \(exit code 69\)/);
  assert.match(readFileSync(outputs.junit, 'utf8'), /connection refused/);
});

test('action.yml: options with quotes, as in a shell', async (t) => {
  const words = await runAction(t, { options: "-t 3 -d 2s --set 'note=a b'" });
  assert.match(words.job.output, /exit code 64|note/, 'the counter has no settings');
  const open = await runAction(t, { options: "-t 3 -d 2s --set 'note" });
  assert.ok(open.job.hasFailed);
  assert.match(open.job.output, /quote/);
});
