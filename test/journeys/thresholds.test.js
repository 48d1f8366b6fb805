/** What CI does with a run: thresholds, exit code, JUnit. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { anvilFor } from '../helpers/anvil.js';
import { runOf } from '../helpers/run-of.js';

const chain = anvilFor('--block-time 0.1');

test('thresholds: every one that fails is listed, 99 is the exit code, and JUnit has them all', async (t) => {
  const wanted = ['tps>=0.1', 'p99<1us', 'failed<0.1%', 'submit.p95<1m', 'dropped=0', 'readback.max<1us'];
  const words = `-d 1s --junit DIR/junit.xml ${wanted.map((text) => `--threshold ${text}`).join(' ')}`;
  const { run, stdout, stderr, folder } = await runOf(t, words, { chain, threads: 5, exit: 99 });
  const found = run.thresholds.map((/** @type {any} */ { expression, passed }) => [expression, passed]);
  const expected = wanted.map((text) => [text, !text.endsWith('<1us')]);
  assert.deepEqual([run.exitCode, found], [99, expected]);
  assert.match(stderr, /2 of 6 thresholds failed: p99<1us, readback\.max<1us/);
  for (const text of wanted) assert.ok(stdout.includes(text), text);
  const xml = readFileSync(join(folder, 'junit.xml'), 'utf8');
  assert.match(xml, /<testsuite name="stress"[^>]*tests="8"[^>]*failures="[23]"/);
  assert.ok(xml.includes('p99&#60;1us'));
});
