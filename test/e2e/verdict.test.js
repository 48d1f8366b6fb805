/**
 * What limited a run: some of the cases of scripts/verdict-cases.js, in each of which one thing limits. (Ports are in
 * test/ports, which needs a network namespace.) And what CI does with it: thresholds, JUnit.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { CASES, runCase } from '../../scripts/verdict-cases.js';
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

/** @param {string} words of its name */
const caseOf = (words) =>
  CASES.find(({ name }) => name.includes(words)) ?? assert.fail(`there is no case with ${words}`);

/** A machine that is busy with other things limits the generator, and saying so is right. */
const OTHERS = /other programs(, or the node,)? had/;
const ATTEMPTS = 3;

/**
 * A case of scripts/verdict-cases.js.
 * @param {TestContext} t
 * @param {string} words of its name
 */
async function judged(t, words) {
  const one = caseOf(words);
  for (let attempt = 1; ; attempt += 1) {
    const { run, ...ended } = await runCase(one);
    assert.ok(run !== null, ended.stderr);
    assertRunFile(run);
    const { name, evidence } = run.verdict ?? assert.fail('there is no verdict');
    if (one.right !== name && OTHERS.test(evidence) && attempt < ATTEMPTS) {
      t.diagnostic(`once more: ${evidence}`);
      continue;
    }
    assert.ok(one.right === name || OTHERS.test(evidence), `${name}: ${evidence}`);
    // Its sentence may take more than one line.
    assert.ok(ended.stdout.replace(/\s+/g, ' ').includes(` verdict ${name}: ${evidence}`), ended.stdout);
    return { run, ...ended };
  }
}

// They wait for blocks and for reports most of the time.
describe('the verdict', { concurrency: 3 }, () => {
  for (const words of [
    ...[
      '20 wallets, embedded chain',
      '40/s asked of 10 wallets',
      'takes 10 in 100 ms',
      'open loop, 3 % of the transactions',
    ],
    ...['funds for a few operations', '20/s of what a chain could do', 'stopped for nine tenths'],
  ])
    test(words, async (t) => void (await judged(t, words)));

  test('an endpoint that dies in mid-run is named at once, in the rows, in the summary and in the verdict', async (t) => {
    const { run, stdout, stderr } = await judged(t, 'closed loop, the endpoint dies');
    assert.match(stderr, /http:\/\/127\.0\.0\.1:\d+\/? does not answer: connection refused/);
    assert.match(stdout, /no answer for \d\.\d s: .*connection refused/);
    assert.match(stdout, /^Summary: ran for its duration, but the endpoint was down, window/m);
    const { intervals, generator } = /** @type {RunFile} */ (run);
    const [outage] = generator.outages ?? [];
    const silent = intervals.findIndex(({ silence }) => silence !== undefined);
    assert.ok(intervals[silent].endMs - outage.fromMs < 5000, `named at ${intervals[silent].endMs} ms`);
  });
});

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
