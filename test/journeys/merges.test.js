/** What stress merge makes of run files with members that those of release 0.1 have not, and its thresholds. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { it } from 'node:test';
import { equalBy } from '../helpers/equal-by.js';
import { readBy } from '../helpers/reports.js';

/** @import { TestContext } from 'node:test' */

const FIXTURES = new URL('../fixtures/runs-0.1/merge/', import.meta.url);

/**
 * The two instances of the fixtures as one.
 * @param {TestContext} t
 * @param {Array<(run: any) => object>} changes of each instance
 * @param {{words?: string[], exit?: number}} [options]
 */
async function mergedOf(t, changes, { words = [], exit = 0 } = {}) {
  const files = changes.map((change, i) => {
    const run = JSON.parse(readFileSync(new URL(`golden-0000${i}-0.json`, FIXTURES), 'utf8'));
    return [`instance-${i}`, { ...run, ...change(run) }];
  });
  const { stdout, stderr } = await readBy(t, ['merge', '--out=-', ...words], Object.fromEntries(files), { exit });
  return { run: JSON.parse(stdout), text: stderr };
}

const EXAMPLE = {
  endpoint: 'http://a',
  at: '2026-01-01T00:00:00.000Z',
  words: 'the count was <5>',
  commands: ['curl'],
};
const GOOD = {
  share: 0.01,
  requests: 500,
  checks: { head: 200, block: 212 },
  off: {},
  violations: {},
  lag: { 'http://a': { blocks: 2, ms: 1500 } },
};
const BAD = { ...GOOD, violations: { stale_read: { count: 3, examples: [EXAMPLE, EXAMPLE] } } };

/** @param {TestContext} t @param {Array<object | null>} checks of each instance @param {number} exit */
async function checked(t, checks, exit) {
  const changes = checks.map((consistency) => (/** @type {any} */ { unmeasured }) => ({
    consistency,
    unmeasured: { ...unmeasured, ...(consistency === null && { '/consistency': 'its thread ended' }) },
  }));
  const { run } = await mergedOf(t, changes, { words: ['--threshold', 'violations=0'], exit });
  return { ...run, threshold: run.thresholds[0] };
}

it('refusals add up; the first words and the lowest limit of a wallet stay', async (t) => {
  const sender_limit = { count: 30, words: 'maximum number of transactions per sender reached' };
  const all = [
    {
      refusals: { nonce_high: { count: 2, words: 'nonce too high' }, sender_limit },
      nodeLimits: { perWallet: 16, pool: 64 },
    },
    { refusals: { nonce_high: { count: 1, words: 'other' } }, nodeLimits: { perWallet: 15, pool: 60 } },
  ];
  const changes = all.map((given) => (/** @type {any} */ { generator }) => ({ generator: { ...generator, ...given } }));
  const { generator } = (await mergedOf(t, changes)).run;
  assert.deepEqual(generator.refusals, { nonce_high: { count: 3, words: 'nonce too high' }, sender_limit });
  assert.deepEqual(generator.nodeLimits, { perWallet: 15, pool: 124 });
});

it('contradictions add up, and fail a threshold', async (t) => {
  const { consistency, exitCode, threshold } = await checked(t, [BAD, BAD], 99);
  const { share, requests, checks, lag, violations } = consistency;
  assert.deepEqual([share, requests, checks.block, lag], [0.01, 1000, 424, GOOD.lag]);
  assert.deepEqual([violations.stale_read.count, violations.stale_read.examples.length], [6, 3]);
  assert.deepEqual([exitCode, threshold.value], [99, 6]);
});

it('without a contradiction the threshold passes; answers that could not be judged are its upper bound', async (t) => {
  const good = await checked(t, [GOOD, GOOD], 0);
  const doubtful = await checked(t, [{ ...GOOD, undecided: { receipt: 2, head: 1 } }, GOOD], 99);
  equalBy([good, doubtful], ({ threshold: { passed, value, atMost } }) => [passed, value, atMost], [
    [true, 0, undefined],
    [false, 0, 3],
  ]);
});

it('a check that is missing, or without any check, fails the threshold', async (t) => {
  for (const other of [GOOD, null]) {
    const { consistency, threshold } = await checked(t, [null, other], 99);
    assert.deepEqual([consistency, threshold.passed, threshold.why], [null, false, 'its thread ended']);
  }
  const none = { ...GOOD, checks: {} };
  assert.equal((await checked(t, [none, none], 99)).threshold.passed, false);
});
