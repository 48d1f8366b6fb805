/** Lines of stress report that only some runs have. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { assertGolden } from '../golden/assert-golden.js';
import { readBy, readableRun, reportPage, reportTexts } from '../helpers/reports.js';
import { rowOf } from '../helpers/samples.js';
import { tableOf } from '../helpers/pages.js';

/**
 * @import { MergedInstance, Phase, RunFile, ThresholdResult } from '../../src/contracts/run-file.d.ts'
 */

const PLAIN = readableRun();

/** @param {Partial<RunFile>} given */
const runWith = (given) => ({ ...PLAIN, ...given });

/** @param {Partial<RunFile['generator']>} given */
const withGenerator = (given) => runWith({ generator: { ...PLAIN.generator, ...given } });

const EXAMPLE = {
  endpoint: 'http://a',
  at: '2026-01-01T00:00:00.000Z',
  words: 'the count was <5>',
  commands: ['curl 1', 'curl 2'],
};
const GOOD = {
  share: 0.01,
  requests: 500,
  checks: { head: 200, block: 212 },
  off: { subscription: 'it needs a ws:// URL' },
  violations: {},
  lag: { 'http://a': { blocks: 2, ms: 1500 } },
};
const BAD = { ...GOOD, violations: { stale_read: { count: 3, examples: [EXAMPLE, EXAMPLE] } } };
const NOT_JUDGED = /** @type {ThresholdResult} */ ({
  ...{ expression: 'violations=0', figure: 'violations', operator: '=', unit: 'count', limit: 0 },
  ...{ value: 0, censored: 3, atMost: 3, passed: false },
});
const REFUSALS = {
  nonce_high: { count: 2, words: 'nonce too high' },
  sender_limit: { count: 30, words: 'maximum number of transactions per sender reached' },
};

/** @param {Array<Partial<MergedInstance>>} given */
function merged(...given) {
  const instance = {
    ...{ index: null, attempt: 0, offset: 0, threads: 10, host: null, partial: false, end: 'duration', exitCode: 0 },
    ...{ windowStartedAt: '2026-01-01T00:00:00.000Z', durationMs: 0, verifiedPerSecond: null, clockOffsetMs: null },
    ...{ id: PLAIN.id, counts: PLAIN.counts, auditExact: null, auditResult: null, auditBlock: null },
  };
  return /** @type {any} */ ({
    ...{ runId: 'r', expected: null, missing: [], damaged: [], superseded: [], unresolved: [], common: null },
    ...{ startSkewMs: 0, rawStartSkewMs: 0, clockSkewMs: null, warmup: { counts: PLAIN.counts, failures: {} } },
    instances: given.map((one) => ({ ...instance, ...one })),
  });
}
const KNOWN = { index: 1, durationMs: 6000, verifiedPerSecond: 9.847, host: 'a' };

/**
 * 50 wallets on a chain with a block a second.
 * @param {{seconds: number, verifiedBlocks?: number, warmupS?: number, inFlight?: number, end?: string, inclusion?: object | null}} given
 */
function windowOf({ seconds, verifiedBlocks = seconds, warmupS = 0, inFlight = 50, end = 'duration', inclusion }) {
  const row = (/** @type {Phase} */ phase, /** @type {number} */ fromS, /** @type {number} */ toS) =>
    rowOf({
      ...{ phase, startMs: 1000 * fromS, endMs: 1000 * toS, tps: null },
      blocks: { ...PLAIN.blocks, count: toS - fromS },
      inFlight: phase === 'drain' ? 0 : inFlight,
    });
  const endS = warmupS + seconds;
  const run = readableRun({ end, ...(inclusion !== undefined && { environment: { inclusion } }) });
  return {
    ...run,
    rates: { ...run.rates, spreadMs: 1000 * seconds },
    window: {
      ...run.window,
      durationMs: 1000 * seconds,
      counts: { ...run.window.counts, verified: 50 * verifiedBlocks },
    },
    blocks: verifiedBlocks === 0 ? rowOf().blocks : { ...PLAIN.blocks, count: verifiedBlocks },
    intervals: [
      ...(warmupS > 0 ? [row('warmup', 0, warmupS)] : []),
      ...[row('load', warmupS, endS), row('drain', endS, endS + 1)],
    ],
  };
}

/** @param {object} [blocks] of the load @param {Partial<RunFile>} [given] */
function withOutage(blocks, given) {
  const run = windowOf({ seconds: 15, verifiedBlocks: 5 });
  Object.assign(run.intervals[0].blocks, { count: 5, gapMaxMs: 11_000, skewMinMs: 200, skewMaxMs: 700 }, blocks);
  return { ...run, ...given };
}

const CUT = readableRun({ ratesUs: 1_500_000 });

/** @type {Record<string, object>} */
const RUNS = {
  'a check without a contradiction': runWith({ consistency: GOOD }),
  'a check with contradictions': runWith({ consistency: BAD }),
  'a check that is missing': runWith({
    consistency: null,
    unmeasured: { ...PLAIN.unmeasured, '/consistency': 'its thread ended' },
  }),
  'a check with answers that could not be judged': runWith({
    consistency: { ...GOOD, undecided: { receipt: 2, head: 1 } },
    thresholds: [NOT_JUDGED],
  }),
  refusals: withGenerator({ refusals: REFUSALS, nodeLimits: { perWallet: 16, pool: 128 } }),
  'instances, one without a window': runWith({ merged: merged(KNOWN, {}) }),
  'an instance that does not state its host': runWith({ merged: merged({ ...KNOWN, host: null }) }),
  'a rate that is unknown': runWith({
    rates: { ...PLAIN.rates, askedPerSecond: 30, achievedPerSecond: null },
    unmeasured: {
      ...PLAIN.unmeasured,
      '/rates/achievedPerSecond': 'the windows of the instances do not overlap',
    },
  }),
  'few blocks': windowOf({ seconds: 4 }),
  'few blocks after a warm-up': windowOf({ seconds: 4, warmupS: 3 }),
  'no block': windowOf({ seconds: 1, verifiedBlocks: 0 }),
  'ten blocks': windowOf({ seconds: 10 }),
  'plain calls': windowOf({ seconds: 1, inclusion: null }),
  'all iterations': windowOf({ seconds: 2, end: 'iterations' }),
  'few blocks, and an outage': withOutage(),
  'few blocks, and an outage without new blocks': withOutage({ skewMaxMs: 10_500 }),
  'few blocks, and no endpoint': withOutage({}, { verdict: { name: 'endpoint-down', evidence: 'gone' } }),
  'a drain that was cut short': CUT,
  'instances of which a drain was cut short': { ...CUT, merged: merged(KNOWN) },
};

it('lines that a plain run does not have are those which are kept', async (t) => {
  const { plain, ...texts } = await reportTexts(t, { plain: PLAIN, ...RUNS });
  const usual = new Set(plain.split('\n'));
  const own = Object.entries(texts).map(([name, text]) => {
    const lines = text.split('\n').filter((line) => !usual.has(line));
    for (const line of lines) assert.ok(line.length <= 130, line);
    return [`== ${name}`, ...lines, ''].join('\n');
  });
  assertGolden('report-lines.txt', own.join('\n'));
});

it('the log has the warnings of the run file', async (t) => {
  const few = readableRun({ intervals: windowOf({ seconds: 4 }).intervals });
  const { stderr } = await readBy(t, ['report'], { few, cut: CUT });
  assert.deepEqual(stderr.match(/^WARN: (the window|TPS) .*$/gm), [
    'WARN: the window has 4 of the 10 blocks that its figures need: they may differ in the next run; give --duration 11s or longer',
    'WARN: TPS is that of the first 1.5 s of the window, up to its last block: the drain ended before the next one',
  ]);
});

it('contradictions are red', async (t) => {
  const { red } = await reportTexts(t, { red: RUNS['a check with contradictions'] }, { FORCE_COLOR: '1' });
  assert.match(red, /412 checks of 2 kinds, \u001b\[31m3 CONTRADICTIONS\u001b\[39m\n/);
});

it('the page has contradictions with their commands, and refusals, the most frequent first', async (t) => {
  const [checked, refused] = [
    await reportPage(t, RUNS['a check with contradictions']),
    await reportPage(t, RUNS.refusals),
  ];
  for (const words of ['the count was &lt;5&gt;', 'curl 1\ncurl 2', '3 contradictions'])
    assert.ok(checked.includes(words), words);
  assert.deepEqual(tableOf(refused, 'Refused submissions').slice(1), [
    ['sender_limit', '30', 'maximum number of transactions per sender reached'],
    ['nonce_high', '2', 'nonce too high'],
  ]);
});
