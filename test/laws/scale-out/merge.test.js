/** A merge, part by part: which files belong together, whose clock is wrong, which time is common, and what adds up. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { execFileSync } from 'node:child_process';
import { readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { describe, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { InputError } from '../../../src/errors.js';
import { summaryText } from '../../../src/outputs/summary.js';
import { checkConservation, choose } from '../../../src/scale-out/choose.js';
import { commonVerdict, merge } from '../../../src/scale-out/merge.js';
import { findSources, resultsIn } from '../../../src/scale-out/sources.js';
import { Total } from '../../../src/scale-out/totals.js';
import { Grid, commonWindow, compareClocks } from '../../../src/scale-out/window.js';
import { Distribution } from '../../../src/stats/histogram.js';
import { asJson } from '../../../src/stats/merge.js';
import { Recorder } from '../../../src/stats/recorder.js';
import { isUnknown } from '../../../src/stats/unknown.js';
import { equalBy } from '../../helpers/equal-by.js';
import { rowOf, runFileOf, sampleOf } from '../../helpers/samples.js';
import { temporaryFolder } from '../../helpers/temporary.js';

/**
 * @import { TestContext } from 'node:test'
 * @import { IntervalRow } from '../../../src/contracts/run-file.d.ts'
 * @import { RunHeader } from '../../../src/scale-out/choose.js'
 */

const START_MS = Date.UTC(2026, 0, 1);
const NO_WISHES = Object.freeze({ expect: null, runId: null, allowPartial: false });

const SETTINGS = { 'the chain id': 1337, 'the genesis block': '0xaa', '--instances': 4, '--threads': 10, rate: 5 };

/** @param {number} index @param {Partial<RunHeader>} [given] @param {Partial<RunHeader['run']>} [run] @returns {RunHeader} */
function headerOf(index, given = {}, run = {}) {
  const name = `instance ${index}`;
  const read = () => ({});
  return {
    source: { name: `${index}.json`, isGiven: false, index: null, id: null, runId: null, read },
    run: /** @type {any} */ ({
      id: `id ${index}`,
      definitions: { tps: 'a' },
      environment: { stress: '1.0.0' },
      generator: { inclusionResolutionMs: 0 },
      partial: false,
      ...run,
    }),
    name,
    runId: 'run',
    index,
    instances: 4,
    attempt: 0,
    host: null,
    offset: index * 10,
    wallets: 10,
    firstOffset: 0,
    settings: SETTINGS,
    startedAtMs: START_MS,
    endedAtMs: START_MS + 12_000,
    loadStartMs: START_MS,
    windowStartMs: START_MS,
    windowEndMs: START_MS + 10_000,
    knownMs: 10_000,
    intervalMs: 1000,
    hasLoad: true,
    achieved: 1,
    blocks: [],
    ...given,
  };
}

/** @param {Partial<RunHeader>[]} given */
const headersOf = (...given) => given.map((one, i) => headerOf(i, one));

test(
  'a file that cannot be read is an input error, whatever its name',
  { skip: process.platform !== 'linux' },
  async () => {
    const file = '/proc/self/mem'; // no permissions are needed for its EIO
    await assert.rejects(findSources([file], Readable.from([])), {
      name: 'InputError',
      message: `cannot read ${file}: EIO`,
    });
  },
);

test('censored operations add up, including those of older files with timeouts only', () => {
  const headers = headersOf({}, {}, {});
  const common = {
    startMs: START_MS,
    endMs: START_MS + 10_000,
    shares: [1, 1, 1],
    known: { endMs: START_MS + 10_000, shares: [1, 1, 1] },
  };
  const total = new Total(headers, [0, 0, 0], common);
  const old = /** @type {any} */ (runFileOf());
  delete old.latency.censored;
  delete old.latency.fromStartCensored;
  const recorder = new Recorder([0], 0);
  recorder.add(sampleOf({ name: 'a', outcome: 'failed', code: 'lost' }));
  for (const [i, run] of [runFileOf(), old, runFileOf({ stats: recorder.rest() })].entries()) total.add(run, i);
  const { latency, byName } = asJson(total.sum);
  const { total: all, censored, fromStartCensored } = latency;
  assert.deepEqual([all.count, censored?.count, fromStartCensored?.count], [39, 4, 4]);
  assert.equal(censored?.sumUs, 2_050_000 + 500_000 + 1000);
  assert.deepEqual([byName.a.latency.count, byName.a.censored?.count], [1, 1]);
});

test('a throughput that one instance does not know is unknown for all, for its reason', () => {
  const headers = headersOf({}, {});
  const total = new Total(headers, [0, 0], commonWindow(headers, { correctionsMs: [0, 0] }, false));
  const known = runFileOf();
  const why = 'the window has no block';
  const rates = { ...known.rates, verifiedPerSecond: null };
  const unknown = { ...known, rates, unmeasured: { ...known.unmeasured, '/rates/verifiedPerSecond': why } };
  for (const [i, run] of [known, unknown].entries()) total.add(run, i);
  const { verified } = total.window.spread;
  assert.equal(isUnknown(verified) && verified.why, why);
});

describe('selection of run files', () => {
  test('by index, in any order', () => {
    const [a, b, c, d] = headersOf({}, {}, {}, {});
    const { headers, missing, expected } = choose([c, a, d, b], [], NO_WISHES);
    assert.deepEqual([headers, missing, expected], [[a, b, c, d], [], 4]);
  });

  test('copies count once, whole files before partial ones', () => {
    const headers = [headerOf(0, { instances: 1 }, { partial: true })];
    const whole = headerOf(0, { instances: 1 });
    for (const found of [
      [...headers, whole],
      [whole, ...headers],
    ])
      assert.deepEqual(choose(found, [], NO_WISHES).headers, [whole]);
  });

  test('of several attempts the last counts', () => {
    const found = [
      headerOf(0, { instances: 1, attempt: 1 }, { id: 'b' }),
      headerOf(0, { instances: 1 }, { partial: true }),
    ];
    const { headers, superseded } = choose(found, [], NO_WISHES);
    assert.deepEqual([headers, superseded], [[found[0]], [found[1]]]);
  });

  const differs = (/** @type {Record<string, unknown>} */ given) => ({ settings: { ...SETTINGS, ...given } });
  const redefined = { run: /** @type {any} */ ({ ...headerOf(1).run, definitions: { tps: 'b' } }) };
  /** @type {Record<string, [Partial<RunHeader>, RegExp]>} */
  const foreign = {
    'another run': [
      { runId: 'other' },
      /several runs: run \(instance 0\) and other \(instance 1\): choose .* --run-id/,
    ],
    'another chain': [differs({ 'the chain id': 1 }), /instance 0 and instance 1 .*chain id is 1337 and 1/],
    'another genesis': [differs({ 'the genesis block': '0xbb12...' }), /genesis block is 0xaa and 0xbb12\.\.\./],
    'another rate': [differs({ rate: 6 }), /rate is 5 and 6/],
    'an option more': [differs({ warmup: 1 }), /warmup is not given and 1/],
    'other definitions': [redefined, /tps is defined differently \(stress 1\.0\.0 and 1\.0\.0\)/],
    'other wallets': [differs({ '--threads': 11 }), /--threads is 10 and 11/],
    'overlapping slices': [{ offset: 9 }, /overlap: instance 0 has wallets 0\.\.9, instance 1 wallets 9\.\.18/],
    'an index twice': [{ index: 0 }, /instance 0 is there twice, with attempt 0 .* 0\.json and 1\.json/],
    'an index beyond': [{ index: 4, offset: 40 }, /instance 1 is beyond the 4 instances/],
    'no index': [{ index: null }, /only one of them has an index/],
  };
  for (const [name, [given, words]] of Object.entries(foreign))
    test(`${name} is refused`, () => {
      const found = headersOf({}, given);
      assert.throws(() => choose(found, [], { ...NO_WISHES, allowPartial: true }), {
        name: 'InputError',
        message: words,
      });
    });

  test('files of other runs are left out with --run-id', () => {
    const found = [...headersOf({ instances: 1 }), headerOf(1, { runId: 'other' })];
    const { headers, notes } = choose(found, [], { ...NO_WISHES, runId: 'run' });
    assert.deepEqual([headers, notes], [[found[0]], ['1 run file of other runs were left out (--run-id)']]);
    assert.throws(() => choose(found, [], { ...NO_WISHES, runId: 'third' }), /no run file is of the run third/);
  });

  test('missing and partial instances are named by ranges', () => {
    const found = [headerOf(0, { instances: 9 }), headerOf(3, { instances: 9 }, { partial: true })];
    assert.throws(() => choose(found, [], NO_WISHES), {
      name: 'IncompleteError',
      exitCode: 75,
      message:
        '1 of 9 instances are whole; missing: 1..2, 4..8; ended before their runs did: instance 3 (--partial merges what is there)',
    });
    const { missing } = choose(found, [], { ...NO_WISHES, allowPartial: true });
    assert.deepEqual(missing, [1, 2, 4, 5, 6, 7, 8]);
  });

  test('run files without an index differ by their slices, and --expect counts them', () => {
    const found = headersOf({}, {}).map((header) => ({ ...header, index: null, instances: null, runId: null }));
    assert.equal(choose(found, [], NO_WISHES).expected, null);
    assert.throws(
      () => choose(found, [], { ...NO_WISHES, expect: 3 }),
      /1 instance missing \(the run files have no index\)/,
    );
    assert.throws(() => choose(found, [], { ...NO_WISHES, expect: 1 }), /2 instances found, 1 expected/);
  });

  test('a damaged file is refused unless there is another copy', () => {
    const found = headersOf({ instances: 1 });
    const damaged = { name: 'a line', index: 0, id: 'id 0', runId: 'run', why: 'it is cut' };
    assert.deepEqual(choose(found, [damaged], NO_WISHES).damaged, []);
    const other = { ...damaged, id: null };
    assert.throws(() => choose(found, [other], NO_WISHES), {
      name: 'IncompleteError',
      message: /a line is damaged: it is cut \(--partial/,
    });
    assert.deepEqual(choose(found, [other], { ...NO_WISHES, allowPartial: true }).damaged, [other]);
  });
});

describe('clocks', () => {
  /** @param {number} aheadMs @param {number} [firstBlock] */
  const blocksOf = (aheadMs, firstBlock = 100) =>
    [0, 1, 2].map((i) => {
      const firstNumber = firstBlock + 5 * i;
      return { firstNumber, lastNumber: firstNumber + 4, skewMinMs: 40 + 10 * i + aheadMs, lengthMs: 1000 };
    });

  const polled = { run: /** @type {any} */ ({ ...headerOf(0).run, generator: { inclusionResolutionMs: 250 } }) };
  const [b0, b90, b180] = [0, 90, 180].map((aheadMs) => blocksOf(aheadMs));
  const around = [...b0, ...blocksOf(0, 500), ...blocksOf(0, 600)];
  /** Blocks that each has seen, and the offsets and corrections. @type {Array<[string, any[], Array<number | null>, number[], number | null]>} */
  const table = [
    ['that agree are left as they are', [b0, blocksOf(30), b90], [-30, 0, 60], [0, 0, 0], 90],
    ['are all corrected where two do not agree', [b0, b90, b180], [-90, 0, 90], [90, 0, -90], 180],
    ['ten seconds ahead are corrected', [b0, blocksOf(10_000), blocksOf(20)], [-20, 9980, 0], [20, -9980, 0], 10_000],
    ['are not known where no blocks are common', [b0, blocksOf(10_000, 500), []], [null, null, null], [0, 0, 0], null],
    ['are not known of who saw none in a gap', [around, blocksOf(0, 300), b0], [0, null, 0], [0, 0, 0], 0],
  ];
  for (const [name, seen, offsets, corrections, skew] of table)
    test(name, () => {
      const { offsetsMs, correctionsMs, skewMs } = compareClocks(headersOf(...seen.map((blocks) => ({ blocks }))));
      assert.deepEqual([offsetsMs, correctionsMs, skewMs], [offsets, corrections, skew]);
    });

  test('of one host are one clock, whatever its instances saw and when', () => {
    const hosts = (/** @type {string[]} */ ...names) =>
      compareClocks(headersOf(...names.map((host, i) => ({ host, blocks: [b0, blocksOf(907), []][i] }))));
    const one = hosts('a', 'a', 'a');
    assert.deepEqual([one.offsetsMs, one.correctionsMs, one.skewMs], [[0, 0, 0], [0, 0, 0], 0]);
    assert.deepEqual(hosts('a', 'b', 'b').offsetsMs, [-907, 0, 0]);
    const unknown = hosts('a', 'a', 'b').skewMs;
    assert.equal(hosts('b', 'a', 'a').skewMs, 907);
    assert.equal(unknown, null, 'of the other host nothing is known');
  });

  test('are not compared by the first blocks of one of them, which may be old', () => {
    const first = { firstNumber: 110, lastNumber: 111, skewMinMs: 950, lengthMs: 1000 };
    assert.equal(compareClocks(headersOf({ blocks: b0 }, { blocks: [first] })).skewMs, null);
    const overlap = { firstNumber: 113, lastNumber: 130, skewMinMs: 950, lengthMs: 1000 };
    assert.equal(compareClocks(headersOf({ blocks: b0 }, { blocks: [overlap] })).skewMs, null);
  });

  test('are known to 100 ms, or as rarely as heads are polled', () => {
    assert.equal(compareClocks(headersOf({ blocks: b0 }, { blocks: b90 })).knownToMs, 100);
    const rarely = headersOf(...[b0, b90, b180].map((blocks) => ({ blocks, ...polled })));
    assert.deepEqual(compareClocks(rarely).correctionsMs, [0, 0, 0]);
  });
});

describe('the common window', () => {
  const clocksOf = (correctionsMs = [0, 0]) => ({ correctionsMs, knownToMs: 100 });
  const late = { windowStartMs: START_MS + 250, windowEndMs: START_MS + 10_250 };

  test('is from the last start to the first end, by clocks made to agree', () => {
    const { startMs, endMs, shares } = commonWindow(headersOf({}, late), clocksOf(), false);
    assert.deepEqual([startMs - START_MS, endMs - START_MS, shares], [250, 10_000, [0.975, 0.975]]);
    const wrong = commonWindow(
      headersOf({}, { windowStartMs: START_MS + 20_000, windowEndMs: START_MS + 30_000 }),
      clocksOf([0, -20_000]),
      false,
    );
    assert.deepEqual([wrong.startMs - START_MS, wrong.endMs - START_MS], [0, 10_000]);
  });

  test('that is empty is refused, unless a run id connects the files', () => {
    const apart = { windowStartMs: START_MS + 10_000, windowEndMs: START_MS + 20_000 };
    assert.throws(() => commonWindow(headersOf({}, apart), clocksOf(), false), {
      name: 'IncompleteError',
      message: /instance 1 began when others had ended/,
    });
    const { startMs, endMs } = commonWindow(headersOf({}, apart), clocksOf(), true);
    assert.equal(startMs, endMs);
    const headers = headersOf({ runId: null }, { ...apart, runId: null });
    assert.throws(
      () => commonWindow(headers, clocksOf(), true),
      /not instances of one run: instance 1 began when others had ended/,
    );
  });

  test('ignores instances without a window', () => {
    // Killed before its load, as run files of earlier versions have it.
    const none = { windowStartMs: START_MS - 60_000, windowEndMs: START_MS - 60_000 + 0.146, hasLoad: false };
    const { startMs, endMs, shares } = commonWindow(headersOf({}, none), clocksOf(), true);
    assert.deepEqual([endMs - startMs, shares], [10_000, [1, 0]]);
  });

  test('has rates up to the last block of an instance whose drain was cut short', () => {
    const { startMs, endMs, shares, known } = commonWindow(headersOf({}, { knownMs: 4000 }), clocksOf(), false);
    assert.deepEqual([startMs, endMs, shares], [START_MS, START_MS + 10_000, [1, 1]]);
    assert.deepEqual(known, { endMs: START_MS + 4000, shares: [0.4, 1] });
  });

  test('counts intervals whose middle is inside it, in full; rates refer to their length', () => {
    const late = { loadStartMs: START_MS + 2400, windowStartMs: START_MS + 2400 };
    const common = {
      startMs: START_MS + 250,
      endMs: START_MS + 3100,
      shares: [0.9, 0.9],
      known: { endMs: START_MS + 3100, shares: [0.9, 0.9] },
    };
    const total = new Total(headersOf({}, late), [0, 0], common);
    const per = { scheduled: 12, dropped: 2, started: 10, verified: 8, failed: 1, timedOut: 1, abandoned: 0 };
    const rows = Array.from({ length: 4 }, (_, i) => rowOf({ startMs: 1000 * i, endMs: 1000 * (i + 1), counts: per }));
    const drain = rowOf({ phase: 'drain', startMs: 1000, endMs: 2000, counts: per });
    const run = { ...runFileOf(), intervals: [...rows, drain] };
    total.add(run, 0);
    const { counts, durationMs } = total.window;
    assert.deepEqual([counts.scheduled, counts.started, counts.verified, durationMs], [36, 30, 24, 3000]);
    total.add(run, 1);
    assert.equal(total.window.durationMs, 2000, 'the mean of both');
    assert.equal(total.window.counts.verified, 32, 'of two instances');
  });
});

describe('the throughput of instances', () => {
  /** A point per second, of blocks of 0.8 s: some points have one block and others two. */
  const POINTS = [60, 60, 48, 60, 60, 48, 60, 60, 48, 60, 60, 48];
  const rateBetween = (/** @type {number} */ fromMs, /** @type {number} */ toMs) =>
    POINTS.reduce((sum, count, i) => {
      const overlapMs = Math.min(toMs, 1000 * (i + 1)) - Math.max(fromMs, 1000 * i);
      return sum + Math.max(0, overlapMs / 1000) * count;
    }, 0);

  for (const laterMs of [0, 1, 137, 500, 999, 2500, 4001])
    test(`adds up where one began ${laterMs} ms after the other`, () => {
      const later = START_MS + laterMs;
      const header = { loadStartMs: later, windowStartMs: later, windowEndMs: later + 10_000 };
      const headers = headersOf({}, header);
      const common = commonWindow(headers, { correctionsMs: [0, 0] }, false);
      const total = new Total(headers, [0, 0], common);
      const series = { startMs: 0, stepMs: 1000, verified: POINTS, gas: POINTS };
      const rates = { ...runFileOf().rates, verifiedPerSecond: rateBetween(0, 10_000) / 10, spreadMs: 10_000 };
      const run = /** @type {any} */ ({ ...runFileOf(), series, rates });
      for (const i of [0, 1]) total.add(run, i);
      const exact = rateBetween(laterMs, 10_000) + rateBetween(0, 10_000 - laterMs);
      const spread = Number(total.window.spread.verified);
      // Within a point nothing is known of where its operations were.
      assert.ok(Math.abs(spread - exact) < 1, `${spread}, not ${exact}`);
      const { originMs, series: sum } = total.grid;
      const between = sum.between(common.startMs - originMs, common.endMs - originMs).verified;
      assert.ok(Math.abs(between - exact) <= 60, `the series has ${between}, not ${exact}`);
    });
});

test('a rate that an instance does not know is not known of the sum', () => {
  const grid = new Grid({ loadStartMs: START_MS, windowStartMs: START_MS, endMs: START_MS + 2000, stepMs: 1000 });
  const rowsOf = (/** @type {number | null} */ tps) =>
    [8, tps].map((rate, i) => rowOf({ startMs: 1000 * i, endMs: 1000 * (i + 1), tps: rate }));
  for (const tps of [8, null]) grid.add(/** @type {any} */ ({ intervals: rowsOf(tps) }), START_MS);
  equalBy(grid.rows(), ({ tps }) => tps === null, [false, true]);
});

describe('intervals on one grid', () => {
  /** @param {number} startMs @param {number} verified @param {Partial<IntervalRow>} [given] */
  const row = (startMs, verified, given = {}) => {
    const latency = new Distribution();
    for (let i = 0; i < verified; i += 1) latency.record(1000 + startMs + i);
    const none = { dropped: 0, failed: 0, timedOut: 0, abandoned: 0 };
    const counts = { ...none, scheduled: verified, started: verified, verified };
    return rowOf({ startMs, endMs: startMs + 1000, counts, latency: latency.toJSON(), inFlight: 3, ...given });
  };
  const TIMES = { loadStartMs: START_MS, windowStartMs: START_MS, endMs: START_MS + 9000, stepMs: 1000 };
  const gridOf = () => new Grid(TIMES);
  /** As files of release 0.2.0 have it. @param {IntervalRow[]} intervals */
  const runOf = (intervals) => /** @type {any} */ ({ intervals });
  const place = (/** @type {number} */ shiftMs) => START_MS + shiftMs;

  test('go into the row that holds their middle, and the rows add up to what went in', () => {
    const grid = gridOf();
    grid.add(runOf([row(0, 5), row(1000, 6), row(2000, 1, { phase: 'drain', endMs: 2400, inFlight: 0 })]), place(0));
    grid.add(runOf([row(0, 7), row(1000, 8), row(2000, 1, { phase: 'drain', endMs: 2200, inFlight: 0 })]), place(400));
    const rows = grid.rows();
    equalBy(rows, ({ phase, startMs, endMs, counts }) => [phase, startMs, endMs, counts.verified], [
      ['load', 0, 1000, 12],
      ['load', 1000, 2400, 14],
      ['drain', 2400, 2600, 2],
    ]);
    equalBy(rows, ({ latency }) => latency.count, [12, 14, 2]);
    // The rates are those of the time itself, not of the rows that hold the middle.
    equalBy(rows, ({ inFlight, tps }) => [inFlight, tps && Math.round(100 * tps) / 100], [
      [6, 5 + 0.6 * 7],
      [6, 11.09],
      [0, null],
    ]);
  });

  test('of warm-ups and drains during the load of other instances are no part of the load', () => {
    const grid = new Grid({ ...TIMES, windowStartMs: START_MS + 1000 });
    grid.add(runOf([row(0, 5, { phase: 'warmup' }), row(1000, 6), row(2000, 1, { phase: 'drain' })]), place(0));
    grid.add(runOf([row(0, 2, { phase: 'warmup' }), row(1000, 3), row(2000, 4, { phase: 'drain' })]), place(1000));
    equalBy(grid.rows(), ({ phase, startMs, endMs, counts }) => [phase, startMs, endMs, counts.verified], [
      ['warmup', 0, 1000, 7],
      ['load', 1000, 2000, 6],
      ['load', 2000, 3000, 3],
      ['drain', 3000, 4000, 5],
    ]);
  });

  test('have the blocks of one instance, and the transactions of all', () => {
    const grid = gridOf();
    const blocks = { count: 2, firstNumber: 4, lastNumber: 5, transactions: 50, ours: 20, gasUsed: 9, gasLimit: 99 };
    const skew = { skewMinMs: 5, skewMaxMs: 6, skewSumMs: 11 };
    grid.add(runOf([row(0, 1, { blocks: { ...blocks, ...skew } })]), place(0));
    grid.add(runOf([row(0, 1, { blocks: { ...blocks, ...skew, ours: 30, count: 3, firstNumber: 3 } })]), place(0));
    const [{ blocks: seen }] = grid.rows();
    assert.deepEqual([seen.count, seen.transactions, seen.ours], [2, 50, 50]);
  });

  test('name the longest time in which an instance had no answer', () => {
    const grid = gridOf();
    const silence = (/** @type {number} */ ms) => ({ silence: { ms, words: `${ms} ms` } });
    grid.add(runOf([row(0, 5, silence(1500)), row(1000, 6)]), place(0));
    grid.add(runOf([row(0, 7, silence(4000)), row(1000, 8), row(2000, 9, silence(1200))]), place(400));
    equalBy(grid.rows(), (one) => one.silence?.words, ['4000 ms', undefined, '1200 ms']);
  });

  test('stay few, however long the runs were', () => {
    const endMs = START_MS + 100_000_000;
    const grid = new Grid({ ...TIMES, endMs });
    assert.ok(100_000_000 / grid.stepMs < 2000);
  });
});

describe('lines in logs', () => {
  const run = { id: '00000000-0000-4000-8000-000000000001', some: 'text' };
  /** @param {object} [given] @param {Buffer} [bytes] */
  const lineOf = (given = {}, bytes = Buffer.from(JSON.stringify(run))) => {
    const sha256 = createHash('sha256').update(bytes).digest('hex');
    const place = { schema: 'evm-stress/result@1', runId: 'r', index: 3, attempt: 0, id: run.id };
    const gzip = gzipSync(bytes).toString('base64');
    return `STRESS_RESULT ${JSON.stringify({ ...place, bytes: bytes.length, sha256, gzip, ...given })}`;
  };
  const resultsOf = (/** @type {string} */ text) => text.split('\n').flatMap((line) => resultsIn(line));

  for (const chunk of [1, 7, 100_000])
    test(`are found among others, behind what stands before them, in chunks of ${chunk}`, async () => {
      const text = `STRESS_RESULT is what is looked for\n[pod/x] 2026-01-01T00:00:00Z ${lineOf()}\r\n\n3: ${lineOf({ index: 4 })}`;
      const bytes = Buffer.from(text);
      const chunks = Array.from({ length: Math.ceil(bytes.length / chunk) }, (_, i) =>
        bytes.subarray(i * chunk, (i + 1) * chunk),
      );
      const found = await findSources(['-'], Readable.from(chunks));
      equalBy(found, ({ index, read }) => [index, read()], [
        [3, { json: run }],
        [4, { json: run }],
      ]);
    });

  test('that are cut, mixed or wrong are named with their index', () => {
    const cut = lineOf().slice(0, -30);
    const found = resultsOf([cut, `${cut}${lineOf({ index: 5 })}`, lineOf({ id: 7 })].join('\n'));
    equalBy(found, ({ index, read }) => [index, read().damage !== undefined], [
      [3, true],
      [3, true],
      [5, false],
      [3, true],
    ]);
  });

  test('in log files of container runtimes are damaged, unless they are whole and not escaped', () => {
    const docker = JSON.stringify({ log: `${lineOf()}\n`, stream: 'stdout' });
    const cri = `2026-01-01T00:00:00Z stdout P ${lineOf().slice(0, -90)}`;
    const found = resultsOf([docker, cri, `2026-01-01T00:00:00Z stdout F ${lineOf()}`].join('\n'));
    const isDamaged = found.map(({ read }) => read().damage !== undefined);
    assert.deepEqual(isDamaged, [true, true, false]);
  });

  test('are refused if they do not unpack to what their hash says', () => {
    const bomb = gzipSync(Buffer.alloc(100_000_000)).toString('base64');
    for (const text of [lineOf({ gzip: bomb }), lineOf({ sha256: 'aa' }), lineOf({ gzip: 'AAAA' })])
      assert.match(resultsOf(text)[0].read().damage ?? '', /decompressed|sha256/);
  });
});

test('a run file whose counts do not add up is refused', () => {
  const { counts, inFlight } = runFileOf();
  checkConservation(runFileOf(), 'x.json');
  for (const name of /** @type {Array<keyof typeof counts>} */ (Object.keys(counts)).filter(
    (one) => one !== 'started',
  )) {
    const run = { ...runFileOf(), counts: { ...counts, [name]: counts[name] + 1 } };
    assert.throws(() => checkConservation(run, 'x.json'), /^InputError: x\.json contradicts itself: its counts /, name);
  }
  const run = { ...runFileOf(), inFlight: inFlight + 1 };
  assert.throws(() => checkConservation(run, 'x.json'), InputError);
  const both = { ...counts, started: counts.started + 1, verified: counts.verified + 1 };
  assert.throws(() => checkConservation({ ...runFileOf(), counts: both }, 'x.json'), InputError);
});

/** A run file of version 0.1, and the merge of it with a copy that began later. @param {TestContext} t @param {number} laterMs */
async function mergedWithLater(t, laterMs) {
  const folder = temporaryFolder(t);
  const run = JSON.parse(readFileSync(new URL('../../fixtures/runs-0.1/workers.json', import.meta.url), 'utf8'));
  const later = structuredClone(run);
  later.id = later.id.replace(/.$/, (/** @type {string} */ last) => (last === '0' ? '1' : '0'));
  later.config.offset += run.config.threads;
  for (const times of [later, later.window])
    for (const name of ['startedAt', 'endedAt'])
      if (name in times) times[name] = new Date(Date.parse(times[name]) + laterMs).toISOString();
  for (const [name, one] of Object.entries({ a: run, b: later }))
    writeFileSync(join(folder, `${name}.json`), JSON.stringify(one));
  const options = { mayDiffer: new Set(['offset']), ofOneInstance: new Set() };
  const { run: merged } = await merge([folder], { ...NO_WISHES, thresholds: [], options }, Readable.from([]));
  return { run, merged };
}

test('the common window is as long as it is, not as the rows that count in it', async (t) => {
  const { merged } = await mergedWithLater(t, 300);
  assert.equal(merged.merged?.common?.durationMs, 1700);
  assert.match(summaryText(merged, false), /^Summary: .*, window 1\.7 s$/m);
});

test('files of version 0.1 whose windows differ: counts that no interval has are not known', async (t) => {
  const { run, merged } = await mergedWithLater(t, 500);
  const { rates, unmeasured, counts, warnings } = merged;
  assert.deepEqual([rates.acceptedPerSecond, rates.includedPerSecond, rates.achievedPerSecond], [null, null, null]);
  assert.match(unmeasured['/rates/acceptedPerSecond'], /^known of whole windows only/);
  assert.match(warnings.join(), /the common window is 75 % of the longest/);
  const text = summaryText({ ...merged, rates: { ...rates, askedPerSecond: 100 } }, false);
  assert.match(text, /rate +unknown +100 per second were asked for; .+\n/);
  assert.ok((rates.verifiedPerSecond ?? 0) > 0);
  assert.equal(counts.verified, 2 * run.counts.verified);
  const { merged: facts } = /** @type {any} */ (merged);
  // One of them failed in its set-up.
  const [first, second] = facts.instances;
  const never = { ...second, durationMs: 0, verifiedPerSecond: null, end: 'set_up_failed' };
  const failed = { ...merged, end: 'set_up_failed', merged: { ...facts, instances: [first, never] } };
  const some = summaryText(/** @type {any} */ (failed), false);
  assert.match(some, /^Summary: 2 instances as one, 1 of 2 ended before its load began, window/m);
  assert.match(some, /\n {2}no index +5\.\.9 +no window +0\.0 s +\d/);
  assert.match(some, /\n {2}start +1 of 2 instances began\n/);
  const three = summaryText(/** @type {any} */ ({ ...merged, merged: { ...facts, instances: [first, second, never] } }), false); // prettier-ignore
  assert.match(three, /\n {2}start +2 of 3 instances began, within 500 ms; their clocks/);
});

test('what is no file in a folder is left out, and not waited for', async (t) => {
  const folder = temporaryFolder(t);
  symlinkSync(join(folder, 'gone'), join(folder, 'dangling.json'));
  symlinkSync(folder, join(folder, 'folder.json'));
  execFileSync('mkfifo', [join(folder, 'pipe.json')]);
  const found = await findSources([folder], Readable.from([]));
  assert.deepEqual(
    found.map(({ read }) => read()),
    Array(3).fill({ foreign: 'no run file, and no log with a STRESS_RESULT line in it' }),
  );
});

test('an empty folder is no run, and lacks all instances that are expected', async (t) => {
  const folder = temporaryFolder(t);
  const options = { mayDiffer: new Set([]), ofOneInstance: new Set([]) };
  for (const [expect, exitCode] of /** @type {Array<[number | null, number]>} */ ([
    [null, 65],
    [4, 75],
  ]))
    // prettier-ignore
    await assert.rejects(merge([folder], { ...NO_WISHES, expect, thresholds: [], options }, Readable.from([])), { exitCode });
});

test('the merged verdict has the number of instances per verdict', () => {
  assert.equal(commonVerdict([]), null);
  const node = { name: /** @type {const} */ ('node-bound'), evidence: 'the node' };
  const own = { name: /** @type {const} */ ('generator-bound'), evidence: 'the generator' };
  assert.deepEqual(commonVerdict([node, own, null, { ...node, evidence: 'another' }]), {
    name: 'node-bound',
    evidence: 'reported by 2 of 4 instances, 1 generator-bound, 1 without a verdict; the first: the node',
  });
});
