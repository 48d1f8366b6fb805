/**
 * What limited a run: some of the cases of scripts/verdict-cases.js, in each of which one thing limits. (Ports are in
 * test/ports, which needs a network namespace.)
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { runCase } from '../../scripts/verdict-cases.js';
import { CASES } from '../../scripts/verdict/cases.js';
import { assertRunFile } from '../helpers/run-file.js';

/**
 * @import { RunFile } from '../helpers/run-file.js'
 */

/** @param {string} words of its name */
const caseOf = (words) =>
  CASES.find(({ name }) => name.includes(words)) ?? assert.fail(`there is no case with ${words}`);

/**
 * A case of scripts/verdict-cases.js, whatever else keeps the machine busy.
 * @param {string} words of its name
 */
async function judged(words) {
  const one = caseOf(words);
  const { run, ...ended } = await runCase(one);
  assert.ok(run !== null, ended.stderr);
  assertRunFile(run);
  const { name, evidence } = run.verdict ?? assert.fail('there is no verdict');
  assert.equal(name, one.right, evidence);
  // Its sentence may take more than one line.
  assert.ok(ended.stdout.replace(/\s+/g, ' ').includes(` verdict ${name}: ${evidence}`), ended.stdout);
  return { run, ...ended };
}

// One at a time: the start of another process delays operations that are due.
describe('the verdict', { concurrency: 1 }, () => {
  for (const words of [
    ...[
      '20 wallets, embedded chain',
      '40/s asked of 10 wallets',
      'takes 10 in 100 ms',
      'open loop, 3 % of the transactions',
    ],
    ...['funds for a few operations', '20/s of what a chain could do', 'stopped for nine tenths'],
  ])
    test(words, async () => void (await judged(words)));

  test('an endpoint that dies in mid-run is named at once, in the rows, in the summary and in the verdict', async () => {
    const { run, stdout, stderr } = await judged('closed loop, the endpoint dies');
    assert.match(stderr, /http:\/\/127\.0\.0\.1:\d+\/? does not answer: connection refused/);
    assert.match(stdout, /no answer for \d\.\d s: .*connection refused/);
    assert.match(stdout, /^Summary: ran for its duration, but the endpoint was down, window/m);
    const { intervals, generator } = /** @type {RunFile} */ (run);
    const [outage] = generator.outages ?? [];
    const silent = intervals.findIndex(({ silence }) => silence !== undefined);
    assert.ok(intervals[silent].endMs - outage.fromMs < 5000, `named at ${intervals[silent].endMs} ms`);
  });
});
