/** What CI does with a run: thresholds, exit code, JUnit. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { startAnvil } from '../helpers/anvil.js';
import { readJson, runStress } from '../helpers/cli.js';
import { assertRunFile } from '../helpers/run-file.js';
import { temporaryFolder } from '../helpers/temporary.js';

/**
 * @import { RunFile } from '../helpers/run-file.js'
 * @import { TestContext } from 'node:test'
 */

/** @param {TestContext} t @param {string[]} more @returns {{args: string[], readRun: () => RunFile}} */
function stress(t, more) {
  const out = join(temporaryFolder(t), 'run.json');
  return { args: ['--out', out, '--interval', '1s', ...more], readRun: () => readJson(out) };
}

describe('thresholds', () => {
  test('every one that fails is listed, 99 is the exit code, and JUnit has them all', async (t) => {
    const anvil = await startAnvil();
    t.after(anvil.stop);
    const junit = join(temporaryFolder(t), 'junit.xml');
    const wanted = ['tps>=1', 'p99<1us', 'failed<0.1%', 'submit.p95<1m', 'dropped=0', 'readback.max<1us'];
    const { args, readRun } = stress(t, ['--rpc', anvil.url, '-t', '5', '-d', '1s', '--junit', junit]);
    const { code, stdout, stderr } = await runStress([...args, ...wanted.flatMap((text) => ['--threshold', text])]);
    assert.equal(code, 99, stdout + stderr);
    const run = readRun();
    assertRunFile(run);
    assert.equal(run.exitCode, 99);
    assert.deepEqual(
      run.thresholds.map(({ expression, passed }) => [expression, passed]),
      wanted.map((text) => [text, !text.endsWith('<1us')]),
    );
    assert.match(stderr, /2 of 6 thresholds failed: p99<1us, readback\.max<1us/);
    for (const text of wanted) assert.ok(stdout.includes(text), text);
    const xml = readFileSync(junit, 'utf8');
    assert.match(xml, /<testsuite name="stress"[^>]*tests="8"[^>]*failures="[23]"/);
    assert.ok(xml.includes('p99&#60;1us'));
  });

  test('thresholds that hold, from the environment, end with 0', async (t) => {
    const anvil = await startAnvil();
    t.after(anvil.stop);
    const { args, readRun } = stress(t, ['--rpc', anvil.url, '-t', '5', '-d', '1s']);
    const env = { STRESS_THRESHOLD: 'tps>=1,p99<1m' };
    const { code, stdout } = await runStress(args, { env });
    assert.equal(code, 0, stdout);
    assert.deepEqual(
      readRun().thresholds.map(({ passed }) => passed),
      [true, true],
    );
  });
});
