/** The result of the consistency checks in the run file, in thresholds, in merges and in what is printed. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { consistencyTable } from '../../../src/outputs/run-facts.js';
import { summaryText } from '../../../src/outputs/summary.js';
import { runPage } from '../../../src/report/run-page.js';
import { merge } from '../../../src/stats/merge.js';
import { RUN } from '../../../src/stats/metrics.js';
import { parseThreshold } from '../../../src/stats/thresholds.js';
import { equalBy } from '../../helpers/equal-by.js';
import { schemaErrors } from '../../helpers/run-file.js';
import { runFileOf } from '../../helpers/samples.js';

/** @import { Consistency } from '../../../src/contracts/run-file.d.ts' */

const EXAMPLE = {
  endpoint: 'http://a',
  at: '2026-01-01T00:00:00.000Z',
  words: 'the count was <5>',
  commands: ['curl 1', 'curl 2'],
};
/** @type {Consistency} */
const GOOD = {
  share: 0.01,
  requests: 500,
  checks: { head: 200, block: 212 },
  off: { subscription: 'it needs a ws:// URL' },
  violations: {},
  lag: { 'http://a': { blocks: 2, ms: 1500 } },
};
const BAD = { ...GOOD, violations: { stale_read: { count: 3, examples: [EXAMPLE, EXAMPLE] } } };

/** @param {Consistency | null} consistency @param {Record<string, string>} [unmeasured] */
function runOf(consistency, unmeasured = {}) {
  return runFileOf({ observed: { consistency }, thresholds: [parseThreshold('violations=0')], unmeasured });
}

/** @param {object} run */
function assertSchema(run) {
  const wrong = schemaErrors(run).filter((words) => words.startsWith('/consistency'));
  assert.deepEqual(wrong, []);
}

describe('the result of --check consistency', () => {
  it('without a contradiction passes, and says what was checked', () => {
    const run = runOf(GOOD);
    assertSchema(run);
    equalBy(run.thresholds, ({ passed, value }) => [passed, value], [[true, 0]]);
    const { rows, notes } = consistencyTable(run);
    assert.deepEqual(rows, [['consistency', '412 checks of 2 kinds, no contradiction']]);
    assert.deepEqual(notes, [
      'behind: http://a, by 2 blocks and 1.5 s at most',
      'not checked: subscription (it needs a ws:// URL)',
    ]);
  });

  it('with contradictions fails, and shows the commands', () => {
    const run = runOf(BAD);
    assertSchema(run);
    assert.deepEqual([run.exitCode, run.thresholds[0].value], [99, 3]);
    const red = (/** @type {string} */ style, /** @type {string} */ text) => (style === 'red' ? `[${text}]` : text);
    const says =
      /consistency {2}412 checks of 2 kinds, \[3 CONTRADICTIONS\]\n +stale_read 3, the first at http:\/\/a: the count was <5>/;
    assert.match(summaryText(run, false, red), says);
    const page = runPage(run);
    assert.ok(page.includes('the count was &lt;5&gt;') && page.includes('curl 1\ncurl 2'));
    assert.ok(page.includes('3 contradictions'));
  });

  it('that is missing, or without any check, fails the threshold', () => {
    const lost = runOf(null, { '/consistency': 'its thread ended' });
    assertSchema(lost);
    assert.deepEqual([lost.thresholds[0].passed, lost.thresholds[0].why], [false, 'its thread ended']);
    assert.deepEqual(consistencyTable(lost).rows, [['consistency', 'NOT CHECKED: its thread ended']]);
    assert.equal(runOf({ ...GOOD, checks: {} }).thresholds[0].passed, false);
  });

  it('answers that could not be judged are its upper bound', () => {
    const run = runOf({ ...GOOD, undecided: { receipt: 2, head: 1 } });
    assertSchema(run);
    equalBy(run.thresholds, ({ passed, value, atMost }) => [passed, value, atMost], [[false, 0, 3]]);
    assert.match(summaryText(run, false), /violations=0 +FAILED +0 to 3; 3 not known\n/);
    const { rows, notes } = consistencyTable(run);
    assert.deepEqual(rows, [['consistency', '412 checks of 2 kinds, no contradiction, 3 answers NOT JUDGED']]);
    assert.ok(notes.includes('not judged: receipt 2, head 1; each may be a contradiction'), notes.join());
  });

  it('of several instances is added up', () => {
    const sum = [GOOD, BAD, BAD].map((consistency) => ({ consistency })).reduce((a, b) => merge(RUN, a, b)).consistency;
    assert.deepEqual([sum.share, sum.requests, sum.checks.block, sum.lag], [0.01, 1500, 636, GOOD.lag]);
    assert.equal(sum.violations.stale_read.count, 6);
    assert.equal(sum.violations.stale_read.examples.length, 3);
    assert.equal(merge(RUN, { consistency: GOOD }, { consistency: null }).consistency, null);
  });
});
