import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { measuredText } from '../../../src/outputs/run-tables.js';
import { summaryText } from '../../../src/outputs/summary.js';
import { Recorder } from '../../../src/stats/recorder.js';
import { parseThreshold } from '../../../src/stats/thresholds.js';
import { assertGolden } from '../../golden/assert-golden.js';
import { ones, wrongPlurals } from '../../helpers/plurals.js';
import { addressOf, exactAudit, readingsOf, runFileOf } from '../../helpers/samples.js';

/**
 * @import { AuditReport, FindCommand, Mismatch, RunFile, VerdictName } from '../../../src/contracts/run-file.d.ts'
 */

/** @param {Partial<AuditReport>} given */
const withAudit = (given) => runFileOf({ audit: { ...exactAudit(), ...given } });

const HASH = `0x${'cd'.repeat(32)}`;

/** @param {number} walletIndex @returns {Mismatch} */
const mismatch = (walletIndex) => ({
  walletIndex,
  address: addressOf(walletIndex),
  target: addressOf(0xc0),
  expectedEffect: '9',
  effect: '10',
  expectedNonce: 11,
  nonce: 12,
  pendingNonce: 14,
});

/** @param {Partial<ReturnType<typeof runFileOf>>} given */
const runWith = (given) => ({ ...runFileOf(), ...given });

/** @param {Partial<ReturnType<typeof runFileOf>['spending']>} given */
const withFees = (given) => runWith({ spending: { capWei: null, setUpWei: '0', spentWei: null, ...given } });

/** @param {number} askedPerSecond @param {number} achievedPerSecond */
function atRate(askedPerSecond, achievedPerSecond) {
  const run = runFileOf({ isOpenLoop: true });
  return { ...run, rates: { ...run.rates, askedPerSecond, achievedPerSecond } };
}

/** @param {Record<string, number>} given */
function resubmitted(given) {
  const { generator } = runFileOf();
  return runWith({
    generator: { ...generator, resubmissions: { repeated: 0, rebroadcast: 0, lost: 0, replaced: 0, ...given } },
  });
}

/** @param {number} portsInUse */
function withSockets(portsInUse) {
  const node = { cpuUs: 2_500_000, rssBytes: 512e6, threads: 3 };
  const all = { endpoint: 'all', timeWait: 5, portsInUse, portsLeft: 1000 - portsInUse };
  const sockets = { timeWait: 5, range: { from: 1, to: 1000, ports: 1000 }, endpoints: [all] };
  return runWith({ probes: readingsOf({ sockets, node }) });
}

function differing() {
  const run = runFileOf();
  const key = 'answers_differ of eth_call, line 3';
  const calls = { requests: 6, order: 'random', calls: 'calls.ndjson' };
  return runWith({
    environment: { ...run.environment, inclusion: null, workload: calls },
    failures: { answers_differ: 250 },
    failureWords: { [key]: 'line 3: URL2 answers differently: $ is "0x6" instead of "0x5"; curl -s A; curl -s B' },
    generator: { ...run.generator, rpcCalls: { ...run.generator.rpcCalls, check: 300 } },
  });
}

function withOutages() {
  const run = runFileOf();
  const words = 'connection refused';
  return runWith({
    generator: {
      ...run.generator,
      outages: [
        { fromMs: 12_000, toMs: 22_200, words },
        { fromMs: 50_000, words },
      ],
    },
    window: { ...run.window, durationMs: 60_000 },
    blocks: { ...run.blocks, count: 100, gapMaxMs: 21_300 },
    verdict: { name: 'endpoint-down', evidence: 'gone' },
  });
}

/** Every second operation is dropped, a third of them in the warm-up. */
function dropped() {
  const recorder = new Recorder([0], 0);
  recorder.open(0, 1_000_000, 3_000_000);
  for (let dueUs = 0; dueUs < 3_000_000; dueUs += 10_000)
    if (dueUs % 20_000 === 0) recorder.drop(dueUs);
    else recorder.start(0, dueUs);
  return runFileOf({ stats: recorder.rest(), isOpenLoop: true });
}

function nothingVerified() {
  const recorder = new Recorder([0], 0);
  recorder.closeWindow(1_000_000);
  const unmeasured = { '/audit': 'ended at once, on request' };
  return runFileOf({ stats: recorder.rest(), durationUs: 1_000_000, intervals: [], audit: null, unmeasured });
}

const UNCHECKED = { name: 'b', words: 'the fees', expected: null, found: null, holds: null, why: 'no receipts' };
const EXPRESSIONS = ['tps>=8.6', 'p99 <  200ms', 'rss<1GB', 'timed_out<5.1%', 'failed=0', 'asked>1', 'p50<9us'];
const PAGED = { config: { iterations: 5, threads: 4 }, end: 'iterations' };
const GWEI = 10n ** 9n;

/** @type {Record<string, ReturnType<typeof runFileOf>>} */
const RUNS = {
  'one recorded request that differs again and again': differing(),
  'at a glance': runFileOf(),
  iterations: runFileOf(PAGED),
  'iterations of several calls': runFileOf({ ...PAGED, environment: { workload: { callsPerIteration: 3 } } }),
  'fees of set-up and load': withFees({
    setUpWei: String((10n ** 9n * GWEI) / 400n),
    leftWei: String(1_700_000n * GWEI),
    spentWei: String(4_200_000n * GWEI),
  }),
  'fees of the load': withFees({ leftWei: String(357_000n * GWEI), spentWei: String(357_000n * GWEI) }),
  'fees that are not known': withFees({ leftWei: '34' }),
  'a chain without fees': withFees({ leftWei: '0', spentWei: '0' }),
  'plain calls': withFees({ setUpWei: null, leftWei: null }),
  'fees of older files': withFees({}),
  'a rate that was held': atRate(500, 498.94),
  'a rate that was not held': atRate(600, 495),
  'a rate that was just held': atRate(100, 95),
  'a rate that was nearly held': atRate(100, 94.9),
  'a high rate': atRate(12_345, 12_346),
  'a rate of nothing': atRate(0, 0),
  'dropped operations': dropped(),
  'sockets of the machine': withSockets(600),
  'sockets enough': withSockets(599),
  'no probes': runWith({ probes: null }),
  'nothing probed': runWith({ probes: readingsOf() }),
  outages: withOutages(),
  thresholds: runFileOf({ thresholds: EXPRESSIONS.map(parseThreshold) }),
  'sent again': resubmitted({ rebroadcast: 5, lost: 5, replaced: 1 }),
  'sent again for several reasons': resubmitted({ repeated: 3, refused: 2, rebroadcast: 5, lost: 2 }),
  'sent again, in a run file of before': resubmitted({ repeated: 3 }),
  rebroadcast: resubmitted({ rebroadcast: 50 }),
  'a long verdict': runWith({
    verdict: { name: 'rate-bound', evidence: Array.from({ length: 60 }, (_, i) => `word${i}`).join(' ') },
  }),
  'no verdict': runWith({ verdict: null }),
  'nothing verified': nothingVerified(),
  'an audit that is not exact': withAudit({
    exact: false,
    effectsOnChain: '19',
    bounds: { atLeast: '18', atMost: '19' },
    replaced: 1,
    pending: 2,
    mismatchCount: 1,
    mismatches: [mismatch(4)],
    foreign: [{ walletIndex: 4, nonce: 11, hash: HASH, blockNumber: 77 }],
    resolutions: [
      { walletIndex: 5, nonce: 3, hash: '0xpending', outcome: 'timed_out', code: null, fate: 'pending' },
      { walletIndex: 5, nonce: 4, hash: '0xreplaced', outcome: 'failed', code: 'nonce_too_low', fate: 'replaced' },
      { walletIndex: 5, nonce: 5, hash: '0xincluded', outcome: 'timed_out', code: null, fate: 'included' },
    ],
  }),
  'an incomplete audit': withAudit({
    exact: false,
    result: 'incomplete',
    pending: 1,
    incomplete: ['the fees: no receipts', 'more'],
    resolutions: [{ walletIndex: 5, nonce: 3, hash: HASH, outcome: 'timed_out', code: null, fate: 'pending' }],
    checks: [{ name: 'a', words: 'what arrived', expected: '5', found: '5', holds: true, why: null }, UNCHECKED],
  }),
  'an incomplete audit of an older version': withAudit({ exact: true, checks: [UNCHECKED] }),
  'mismatches of many wallets': withAudit({
    ...{ exact: false, mismatchCount: 150, mismatches: Array.from({ length: 100 }, (_, i) => mismatch(i)) },
  }),
  'mismatches of ten wallets': withAudit({
    ...{ exact: false, mismatchCount: 10, mismatches: Array.from({ length: 10 }, (_, i) => mismatch(i)) },
  }),
};

describe('summaryText()', () => {
  it('is that which is kept, of runs of many kinds', () => {
    const texts = Object.entries(RUNS).map(([name, run]) => `== ${name}\n${summaryText(run, false)}\n`);
    assertGolden('summaries.txt', texts.join('\n'));
  });

  for (const [name, run] of Object.entries(RUNS))
    it(`one is singular: ${name}`, () => assert.deepEqual(wrongPlurals(summaryText(ones(run), false)), []));

  it('figures of thresholds have three digits, and more only beside their limit', () => {
    const held = (/** @type {number} */ value, /** @type {number} */ limit) =>
      measuredText({ expression: '', figure: 'held', operator: '>=', unit: 'percent', passed: false, value, limit });
    assert.deepEqual([held(93.6293, 98), held(99.96, 100), held(98.04, 98), held(98, 98)], ['93.6 %', '99.96 %', '98.04 %', '98 %']); // prettier-ignore
  });

  it('the drops are those of the warning', () => {
    const [warning] = RUNS['dropped operations'].warnings.filter((words) => words.includes('dropped'));
    assert.match(warning, /; 100 of 200 were dropped/);
  });
});

describe('the command to try next', () => {
  const command = 'stress find --max-spend 1';
  const reason = 'find the highest rate';
  /** @type {Array<[string, Partial<FindCommand>, string]>} */
  const table = [
    ['alone', {}, `${reason}:`],
    ['with options left out', { without: ['--stages'] }, `${reason}, without --stages, which a search does not have:`],
    ['with a secret', { variables: ['STRESS_RPC'] }, `${reason}, with the secrets of this run in STRESS_RPC:`],
  ];
  /** @param {object} environment */
  const textOf = (environment) => {
    const run = runFileOf({ environment });
    return summaryText({ ...run, end: 'duration', verdict: { name: 'concurrency-bound', evidence: 'x' } }, false);
  };
  for (const [name, more, why] of table)
    it(name, () => {
      const text = textOf({ findCommand: { command, without: [], variables: [], ...more } });
      assert.ok(text.endsWith(`\n  next        ${why}\n    ${command}`), text);
    });

  /** @param {string} name @param {Partial<RunFile['counts']>} counts @param {Partial<RunFile['generator']>} [more] */
  const endOf = (name, counts, more) => {
    const run = runFileOf({ environment: { findCommand: { command, without: [], variables: [] } } });
    const all = { ...run.counts, verified: 100, failed: 0, timedOut: 0, abandoned: 0, ...counts };
    const verdict = { name: /** @type {VerdictName} */ (name), evidence: 'x' };
    const text = summaryText(
      { ...run, end: 'duration', counts: all, verdict, generator: { ...run.generator, outages: [], ...more } },
      false,
    ).replace(/\s+/g, ' ');
    return text.slice(text.indexOf(' result '));
  };

  for (const name of ['concurrency-bound', 'rate-bound', 'node-bound', 'unknown'])
    it(`is a search after ${name}, if most was done`, () => {
      assert.match(endOf(name, { failed: 20 }), / next find the highest rate: stress find/);
      assert.doesNotMatch(endOf(name, { failed: 200 }), /stress find/);
    });

  it('is what to repair where nothing or most was done wrong', () => {
    assert.match(endOf('unknown', { verified: 0, timedOut: 20 }), / next repair what failed first: see the failures$/);
    assert.match(endOf('refused', { failed: 120 }), / next repair what the node refuses$/);
    assert.match(endOf('left-out', { timedOut: 120 }), / next give a higher --tip, or see what the chain takes$/);
    const outages = [{ fromMs: 2000, toMs: 5100, words: 'gone' }];
    assert.match(endOf('endpoint-down', {}, { outages }), / next see the log .* from 2\.0 s to 5\.1 s after the start/);
    const nodeLimits = { pool: 64 };
    assert.match(
      endOf('lost', {}, { nodeLimits }),
      / next give the node a larger pool \(.*\), or less in flight: -t 64$/,
    );
    assert.match(endOf('endpoint-down', {}), / next bring the endpoint up$/);
    assert.doesNotMatch(endOf('generator-bound', {}), / next /);
  });

  it('the result says failures of 1 % and more', () => {
    assert.match(endOf('unknown', { failed: 1, timedOut: 1, abandoned: 1 }), /; 2\.91 % FAILED; the limit is unknown/);
    assert.doesNotMatch(endOf('unknown', { verified: 1000, failed: 9 }), /FAILED/);
  });

  it('is not known of run files of earlier versions', () =>
    assert.doesNotMatch(textOf({ findCommand: undefined }), /^ {2}next/m));
});
