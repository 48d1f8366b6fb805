/** What stress report prints of runs of many kinds. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { assertGolden } from '../golden/assert-golden.js';
import { ones, wrongPlurals } from '../helpers/plurals.js';
import { readableRun, reportTexts } from '../helpers/reports.js';
import { addressOf, distributionOf, exactAudit, hash32, readingsOf } from '../helpers/samples.js';

/**
 * @import { AuditReport, FindCommand, Mismatch, RunFile, ThresholdResult } from '../../src/contracts/run-file.d.ts'
 */

/** @param {Partial<AuditReport>} given */
const withAudit = (given) => readableRun({ audit: { ...exactAudit(), ...given } });

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

/** @param {Partial<ReturnType<typeof readableRun>>} given */
const runWith = (given) => ({ ...readableRun(), ...given });

/** @param {Partial<ReturnType<typeof readableRun>['spending']>} given */
const withFees = (given) => runWith({ spending: { capWei: null, setUpWei: '0', spentWei: null, ...given } });

/** @param {number} askedPerSecond @param {number} achievedPerSecond */
function atRate(askedPerSecond, achievedPerSecond) {
  const run = readableRun({ isOpenLoop: true });
  return { ...run, rates: { ...run.rates, askedPerSecond, achievedPerSecond } };
}

/** @param {Record<string, number>} given */
function resubmitted(given) {
  const { generator } = readableRun();
  return runWith({
    generator: { ...generator, resubmissions: { repeated: 0, rebroadcast: 0, lost: 0, replaced: 0, ...given } },
  });
}

/** @param {number} portsInUse */
function withSockets(portsInUse) {
  const node = { cpuUs: 2_500_000, rssBytes: 512e6, threads: 3 };
  const all = { endpoint: 'all', timeWait: 5, portsInUse, portsLeft: 1000 - portsInUse };
  const sockets = { timeWait: 5, range: { from: 1, to: 1000, ports: 1000 }, endpoints: [all] };
  return runWith({ probes: readingsOf({ sockets, node, why: { pool: 'not asked', metrics: 'not asked' } }) });
}

function differing() {
  const run = readableRun();
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
  const run = readableRun();
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
  const run = readableRun({ isOpenLoop: true });
  const all = (/** @type {number} */ scheduled) => ({ scheduled, dropped: scheduled / 2, started: scheduled / 2 });
  const window = { ...run.window, counts: { ...run.window.counts, ...all(200) } };
  return { ...run, counts: { ...run.counts, ...all(300) }, window };
}

function killed() {
  const run = readableRun({ end: 'running', audit: null });
  return { ...run, partial: true, inFlight: 150, generator: { ...run.generator, samplesDropped: null } };
}

function nothingVerified() {
  const run = readableRun({
    durationUs: 1_000_000,
    intervals: [],
    audit: null,
    unmeasured: { '/audit': 'ended at once, on request' },
  });
  const none = distributionOf();
  const noneOf = (/** @type {object} */ all) => Object.fromEntries(Object.keys(all).map((name) => [name, none]));
  const zeros = (/** @type {object} */ all) => Object.fromEntries(Object.keys(all).map((name) => [name, 0]));
  return {
    ...run,
    ...{ counts: zeros(run.counts), failures: {}, lag: none, verdict: null },
    window: { ...run.window, counts: zeros(run.window.counts) },
    latency: {
      ...run.latency,
      ...noneOf({ ...run.latency, halves: undefined, stages: undefined }),
      halves: [zeros({ count: 0, sumUs: 0 }), zeros({ count: 0, sumUs: 0 })],
      stages: noneOf(run.latency.stages),
    },
    rates: { ...run.rates, verifiedPerSecond: 0 },
    generator: { ...run.generator, cpuUsPerVerified: null },
  };
}

/** @param {string} name of the verdict @param {Partial<RunFile['counts']>} [counts] @param {Partial<RunFile['generator']>} [more] */
function endedBy(name, counts, more) {
  const run = readableRun({ environment: { findCommand: { command: COMMAND, without: [], variables: [] } } });
  return {
    ...run,
    counts: { ...run.counts, verified: 100, failed: 0, timedOut: 0, abandoned: 0, ...counts },
    verdict: { name, evidence: 'x' },
    generator: { ...run.generator, outages: [], ...more },
  };
}

/** @param {Partial<FindCommand> | undefined} more */
function withCommand(more) {
  const findCommand = more && { command: COMMAND, without: [], variables: [], ...more };
  return { ...readableRun({ environment: { findCommand } }), verdict: { name: 'concurrency-bound', evidence: 'x' } };
}

const UNCHECKED = { name: 'b', words: 'the fees', expected: null, found: null, holds: null, why: 'no receipts' };
const PAGED = { config: { iterations: 5, threads: 4 }, end: 'iterations' };
const GWEI = 10n ** 9n;
const COMMAND = 'stress find --max-spend 1';

/** @param {string} figure @param {Omit<ThresholdResult, 'figure' | 'operator'>} given */
const threshold = (figure, given) =>
  /** @type {ThresholdResult} */ ({ figure, operator: /[<>]?=|[<>]/.exec(given.expression)?.[0], ...given });
/** @param {number} value @param {number} limit */
const held = (value, limit) =>
  threshold('held', { expression: `held>=${limit}%`, unit: 'percent', passed: value >= limit, value, limit });
const THRESHOLDS = [
  threshold('tps', { expression: 'tps>=8.6', limit: 8.6, unit: 'perSecond', value: 8.5, passed: false }),
  threshold('p99', {
    ...{ expression: 'p99 <  200ms', limit: 200_000, unit: 'us', value: 1_550_000, passed: false },
    ...{ atMost: null, censored: 2 },
  }),
  threshold('rss', { expression: 'rss<1GB', limit: 1e9, unit: 'bytes', value: 123_456_789, passed: true }),
  threshold('timed_out', { expression: 'timed_out<5.1%', limit: 5.1, unit: 'percent', value: 5, passed: true }),
  threshold('failed', { expression: 'failed=0', limit: 0, unit: 'count', value: 1, passed: false }),
  threshold('asked', {
    ...{ expression: 'asked>1', limit: 1, unit: 'perSecond', value: null, passed: false },
    why: 'no rate was asked for (--rate, --stages)',
  }),
  threshold('p50', { expression: 'p50<9us', limit: 9, unit: 'us', value: 100_031, passed: false }),
];

/** @type {Record<string, object>} */
const ENDS = {
  'a search, alone': withCommand({}),
  'a search, with options left out': withCommand({ without: ['--stages'] }),
  'a search, with a secret': withCommand({ variables: ['STRESS_RPC'] }),
  'run files of earlier versions': withCommand(undefined),
  ...Object.fromEntries(
    ['concurrency-bound', 'rate-bound', 'node-bound', 'unknown'].flatMap((name) => [
      [`${name}, most was done`, endedBy(name, { failed: 20 })],
      [`${name}, most has failed`, endedBy(name, { failed: 200 })],
    ]),
  ),
  'nothing was done': endedBy('unknown', { verified: 0, timedOut: 20 }),
  refused: endedBy('refused', { failed: 120 }),
  'left out': endedBy('left-out', { timedOut: 120 }),
  'an outage': endedBy('endpoint-down', {}, { outages: [{ fromMs: 2000, toMs: 5100, words: 'gone' }] }),
  'a small pool': endedBy('lost', {}, { nodeLimits: { pool: 64 } }),
  'an endpoint that is down': endedBy('endpoint-down'),
  'a busy generator': endedBy('generator-bound'),
  'failures of 2.91 %': endedBy('unknown', { failed: 1, timedOut: 1, abandoned: 1 }),
  'failures below 1 %': endedBy('unknown', { verified: 1000, failed: 9 }),
};

/** @type {Record<string, object>} */
const RUNS = {
  'one recorded request that differs again and again': differing(),
  'at a glance': readableRun(),
  iterations: readableRun(PAGED),
  'iterations of several calls': readableRun({ ...PAGED, environment: { workload: { callsPerIteration: 3 } } }),
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
  thresholds: runWith({ thresholds: THRESHOLDS }),
  'thresholds with digits beside their limit': runWith({
    thresholds: [held(93.6293, 98), held(99.96, 100), held(98.04, 98), held(98, 98)],
  }),
  'sent again': resubmitted({ rebroadcast: 5, lost: 5, replaced: 1 }),
  'sent again for several reasons': resubmitted({ repeated: 3, refused: 2, rebroadcast: 5, lost: 2 }),
  'sent again, in a run file of before': resubmitted({ repeated: 3 }),
  rebroadcast: resubmitted({ rebroadcast: 50 }),
  'a long verdict': runWith({
    verdict: { name: 'rate-bound', evidence: Array.from({ length: 60 }, (_, i) => `word${i}`).join(' ') },
  }),
  'no verdict': runWith({ verdict: null }),
  'a run that was killed': killed(),
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
      { walletIndex: 5, nonce: 3, hash: hash32('pending'), outcome: 'timed_out', code: null, fate: 'pending' },
      {
        walletIndex: 5,
        nonce: 4,
        hash: hash32('replaced'),
        outcome: 'failed',
        code: 'nonce_too_low',
        fate: 'replaced',
      },
      { walletIndex: 5, nonce: 5, hash: hash32('included'), outcome: 'timed_out', code: null, fate: 'included' },
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

it('a summary is that which is kept, of runs of many kinds', async (t) => {
  const texts = await reportTexts(t, RUNS);
  assertGolden(
    'summaries.txt',
    Object.entries(texts)
      .map(([name, text]) => `== ${name}\n${text}`)
      .join('\n'),
  );
});

it('one is singular in each of them', async (t) => {
  const { blocks } = ones(readableRun());
  const texts = await reportTexts(
    t,
    Object.fromEntries(Object.entries(RUNS).map(([name, run]) => [name, { ...ones(run), blocks, inFlight: 0 }])),
  );
  const wrong = Object.entries(texts).flatMap(([name, text]) => wrongPlurals(text).map((words) => `${name}: ${words}`));
  assert.deepEqual(wrong, []);
});

it('the last lines are those which are kept: the result, and what to do next', async (t) => {
  const texts = Object.entries(await reportTexts(t, ENDS)).map(([name, text]) => [
    name,
    text.slice(text.indexOf('\n  result ') + 1),
  ]);
  assertGolden('summary-ends.txt', texts.map(([name, text]) => `== ${name}\n${text}`).join('\n'));
});
