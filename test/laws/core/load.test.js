/** The reports of a load, with a clock whose reading takes time. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { warmupSeconds } from '../../../src/core/costs.js';
import { Load, WarmUp } from '../../../src/core/load.js';
import { Checkpoints } from '../../../src/core/reports.js';
import { Stop } from '../../../src/core/stop.js';
import { noBlocks } from '../../../src/stats/blocks.js';
import { Recorder } from '../../../src/stats/recorder.js';
import { zeroCounts } from '../../../src/stats/stats.js';
import { createFakeClock } from '../../helpers/clock.js';
import { equalBy } from '../../helpers/equal-by.js';
import { readingsOf } from '../../helpers/samples.js';

/**
 * @import { Clock } from '../../../src/contracts/common.d.ts'
 * @import { EngineReport, LoadPlan, SpanCount } from '../../../src/contracts/load.d.ts'
 * @import { LiveFigures, Output, Totals } from '../../../src/contracts/output.d.ts'
 * @import { Counts, IntervalRow } from '../../../src/contracts/run-file.d.ts'
 * @import { WarmUpOptions } from '../../../src/core/load.js'
 */

/** Timers fire early by this time, and each reading takes it. */
const TICK_US = 40;

/** @returns {Clock} */
function coarseClock() {
  let nowUs = 0;
  return /** @type {any} */ ({
    nowUs: () => (nowUs += TICK_US),
    wallMs: () => nowUs / 1000,
    after: () => () => {},
    sleep: async (/** @type {number} */ ms) => void (nowUs += Math.max(ms * 1000 - 2 * TICK_US, 0)),
  });
}

/**
 * @param {object} options
 * @param {EngineReport['silence']} [options.silence]
 * @param {string[]} [options.names]
 * @param {Clock} [options.clock]
 * @param {number} [options.intervalMs]
 * @param {number} [options.durationMs]
 * @param {(nowUs: number) => Counts} [options.counts]
 * @param {(nowUs: number) => SpanCount[]} [options.spansAt] what counts since the last snapshot
 * @param {(nowUs: number) => number} [options.settledAt]
 * @param {number | null} [options.periodUs] typical time between two sightings
 * @param {number | null} [options.spanUs] over how long operations are spread
 * @param {Output['live']} [options.live]
 * @param {() => Promise<void>} [options.drain]
 * @param {(label: string, done: number, all: number) => void} [options.onProgress]
 */
async function loadOf({
  silence = null,
  names,
  intervalMs = 100,
  durationMs = 1000,
  counts = zeroCounts,
  spansAt = () => [],
  settledAt = (nowUs) => nowUs,
  periodUs = null,
  spanUs = null,
  live,
  ...others
}) {
  const { clock = coarseClock(), drain = async () => {}, onProgress } = others;
  const stop = new Stop();
  /** @type {IntervalRow[]} */
  const rows = [];
  /** @type {Totals[]} */
  const totals = [];
  const outputs = /** @type {any[]} */ ([
    {
      interval: (/** @type {IntervalRow} */ row, /** @type {Totals} */ sums) => {
        rows.push({ ...row });
        totals.push(sums);
      },
      live,
    },
  ]);
  const intervals = new Recorder([0], 0);
  const engine = /** @type {any} */ ({
    prepare: async () => {},
    start: () => {},
    stop: () => {},
    drain,
    snapshot: async (/** @type {number} */ nowUs, /** @type {boolean} */ endsInterval) => ({
      atUs: nowUs,
      counts: counts(nowUs),
      interval: endsInterval
        ? {
            stats: intervals.take(nowUs),
            inFlight: 0,
            silence,
            reorgs: [],
            warnings: {},
            loop: null,
            blocks: noBlocks(),
          }
        : null,
      rest: intervals.rest(),
      window: { startUs: 0, endUs: Infinity },
      generator: {},
      traffic: { transport: {} },
      violation: null,
      spread: { spans: spansAt(nowUs), settledUs: settledAt(nowUs), sightedUs: nowUs, periodUs, spanUs },
    }),
    setWindow: (/** @type {LoadPlan} */ { startUs, endUs }) => void intervals.setWindow(startUs, endUs),
  });
  const watch = /** @type {any} */ ({
    prepare: async () => {},
    begin: () => {},
    sample: async () => readingsOf({ self: { cpuUs: 7, rssBytes: 0 } }),
  });
  const load = new Load({
    times: {
      warmupMs: 0,
      durationMs,
      intervalMs,
      txTimeoutMs: 1000,
      drainTimeoutMs: 0,
    },
    clock,
    outputs,
    stop,
    engine,
    watch,
    names,
    warmUp: null,
    checkpoints: new Checkpoints({ clock, outputs, stop, warn: () => {} }),
    describeSoFar: () => /** @type {any} */ ({}),
    timeOfDayMs: (/** @type {number} */ atUs) => atUs,
    onProgress,
    begin: async () => clock.nowUs(),
  });
  const { generator } = (await load.run()).loaded;
  return { stop, rows, totals, generator };
}

it("a timer that fires just before an interval's end costs no report", async () => {
  const { rows, generator } = await loadOf({});
  assert.equal(rows.filter(({ phase }) => phase === 'load').length, 10);
  assert.equal(generator.cpuUs, 10 * 7, 'of the window');
});

it('a row mentions an endpoint that was silent for 1.5 s', async () => {
  for (const [silentMs, expected] of /** @type {const} */ ([
    [1499, undefined],
    [1500, { ms: 1500, words: 'no answer in time' }],
  ])) {
    const { rows } = await loadOf({ silence: { silentMs, stillMs: 0, words: '' } });
    assert.deepEqual(rows[0].silence, expected);
  }
});

it('a row mentions a silence that ended in it, if it was longer than the one at its end', async () => {
  for (const [pastMs, ms] of [
    [1400, undefined],
    [5500, 5500],
    [1600, 1700],
  ]) {
    const past = { ms: pastMs ?? 0, toUs: 0 };
    const { rows } = await loadOf({ silence: { silentMs: ms === 1700 ? 1700 : 100, stillMs: 0, words: '', past } });
    assert.equal(rows[0].silence?.ms, ms);
  }
});

it('the totals of a row are those of the rows so far, not of what has ended since', async () => {
  const { totals } = await loadOf({ counts: () => ({ ...zeroCounts(), started: 9, verified: 4 }) });
  assert.ok(totals.length > 0);
  equalBy(
    totals,
    ({ attempts, verified }) => attempts + verified,
    totals.map(() => 0),
  );
});

it('a row waits for its rate twice as long as operations are spread', async () => {
  for (const [spanUs, isKnown] of /** @type {const} */ ([
    [100_000, false],
    [300_000, true],
  ])) {
    const settledAt = (/** @type {number} */ nowUs) => nowUs - 350_000;
    const { rows } = await loadOf({ settledAt, spanUs });
    assert.equal(rows[0].tps !== null, isKnown, `${spanUs}`);
  }
});

it('a row has no rate where the window is shorter than the time between two blocks and has none', async () => {
  for (const [periodUs, isKnown] of /** @type {const} */ ([
    [1e9, false],
    [1000, true],
    [null, true],
  ])) {
    const { rows } = await loadOf({ durationMs: 600, intervalMs: 1000, periodUs });
    const load = rows.filter(({ phase }) => phase === 'load');
    equalBy(load, ({ tps }) => tps !== null, [isKnown]);
  }
});

it('silent endpoints end the run and are named', async () => {
  const silence = { silentMs: 11_000, stillMs: 0, words: '' };
  const ended = async (/** @type {string[] | undefined} */ names, words = '') => {
    const { stop } = await loadOf({ silence: { ...silence, words }, names });
    return [stop.reason, ...stop.exitCodes, stop.errors[0].message];
  };
  assert.deepEqual(await ended(['http://a', 'http://b']), [
    ...['endpoint_lost', 69],
    'none of http://a, http://b has answered for 11 s: no answer in time',
  ]);
  assert.deepEqual(await ended(undefined, 'http://a: connection refused'), [
    ...['endpoint_lost', 69],
    'the endpoint has not answered for 11 s: http://a: connection refused',
  ]);
});

describe('what is shown between the rows', () => {
  const startUs = 1_000_000;
  /** 100 operations verified per second, 5 in flight. @param {number} nowUs */
  const counts = (nowUs) => {
    const verified = (nowUs - startUs) / 10_000;
    return { ...zeroCounts(), started: verified + 5, verified };
  };

  it('the running interval, every 500 ms, with the rate of the seconds that are over', async () => {
    const clock = createFakeClock({ startUs });
    /** @type {LiveFigures[]} */
    const shown = [];
    let reportedUs = startUs;
    const spansAt = (/** @type {number} */ nowUs) => {
      const span = { fromUs: reportedUs, toUs: nowUs, verified: (nowUs - reportedUs) / 10_000, included: 0 };
      reportedUs = nowUs;
      return span.verified > 0 ? [span] : [];
    };
    const live = (/** @type {LiveFigures} */ figures) => shown.push(figures);
    const running = loadOf({ clock, counts, spansAt, intervalMs: 5000, durationMs: 2000, live });
    await clock.advance(2000);
    await running;
    assert.equal(clock.pending(), 0);
    const figures = { phase: 'load', lengthMs: 2000, inFlight: 5 };
    assert.deepEqual(
      shown,
      [500, 1000, 1500].map((ms) => ({ ...figures, elapsedMs: ms, verified: ms / 10, tps: ms < 1000 ? null : 100 })),
    );
  });

  it('how many operations the drain waits for', async () => {
    const clock = createFakeClock({ startUs });
    /** @type {any[]} */
    const steps = [];
    const left = (/** @type {number} */ nowUs) => {
      return { ...zeroCounts(), started: 5, verified: nowUs - startUs < 1_200_000 ? 0 : 3 };
    };
    const drain = () => clock.sleep(1200);
    const running = loadOf({ clock, counts: left, drain, onProgress: (_, ...step) => steps.push(step) });
    await clock.advance(3000);
    await running;
    assert.deepEqual(steps, [
      [0, 5],
      [3, 5],
      [3, 5],
      [5, 5],
    ]);
    assert.equal(clock.pending(), 0);
  });
});

/** @param {number} seenAtUs */
const blockOf = (seenAtUs) => ({ seenAtUs, number: 1, ours: 2 });

/**
 * @param {Partial<WarmUpOptions> & {blockMs?: number, firstBlockMs?: number, untilMs?: number, countsAt?: (ms: number) => {started: number, verified: number}}} given
 *   firstBlockMs: from the beginning of the load
 */
async function warmUp({ blockMs = 1000, firstBlockMs = blockMs, untilMs = 120_000, countsAt, ...given }) {
  const clock = createFakeClock();
  const warm = new WarmUp({
    clock,
    operations: 50,
    isOpenLoop: false,
    hasBlocks: blockMs !== Infinity,
    mostMs: 60_000,
    ...given,
  });
  const loadStartUs = clock.nowUs();
  const nowMs = () => (clock.nowUs() - loadStartUs) / 1000;
  // One operation per wallet and block.
  const blocksAt = (/** @type {number} */ ms) =>
    ms < firstBlockMs ? 0 : Math.floor((ms - firstBlockMs) / blockMs) + 1;
  const counts = countsAt ?? ((ms) => ({ started: 50 * (blocksAt(ms) + 1), verified: 50 * blocksAt(ms) }));
  const ended = new AbortController();
  /** @type {number | null | undefined} */
  let startUs;
  let seen = 0;
  // Blocks from before the load do not count.
  for (let i = 0; i < 3; i += 1) warm.onBlock(blockOf(loadStartUs - 1));
  const named = warm
    .windowStartUs(loadStartUs, async () => ({ ...zeroCounts(), ...counts(nowMs()) }), ended.signal)
    .then((us) => (startUs = us));
  while (startUs === undefined && nowMs() < untilMs) {
    await clock.advance(10);
    for (; seen < blocksAt(nowMs()); seen += 1)
      warm.onBlock(blockOf(loadStartUs + 1000 * (firstBlockMs + seen * blockMs)));
  }
  const namedMs = nowMs();
  ended.abort();
  await clock.advance(100);
  await named;
  const { warning } = warm;
  return { namedMs, startMs: startUs == null ? null : (startUs - loadStartUs) / 1000, warning };
}

describe('an automatic warm-up', () => {
  const steadily = (/** @type {number} */ ms) => ({ started: ms + 50, verified: ms });
  const slowly = (/** @type {number} */ ms) => ({ started: 50, verified: Math.floor(ms / 100) });
  /** Ten per second, four seconds each: most wallets are never used. @param {number} ms */
  const late = (ms) => ({ started: ms / 100, verified: Math.max(0, (ms - 4000) / 100) });
  /** @type {Array<[string, Parameters<typeof warmUp>[0], number]>} */
  const table = [
    ['for three blocks', { blockMs: 2000 }, 6000],
    ['until as many operations have ended as are in flight', { blockMs: 100, countsAt: slowly }, 5000],
    [
      'in an open loop, for those started before the first one ended',
      { blockMs: 100, isOpenLoop: true, operations: 1000, countsAt: late },
      8000,
    ],
    ['with plain calls, for a second, not for blocks', { blockMs: Infinity, countsAt: steadily }, 1000],
  ];
  for (const [name, given, leastMs] of table)
    it(`waits ${name}`, async () => {
      const { namedMs, startMs, warning } = await warmUp(given);
      assert.ok(namedMs >= leastMs && namedMs <= leastMs + 400, String(namedMs));
      assert.deepEqual([Number(startMs) - namedMs, warning], [300, null], 'every thread is told before it begins');
    });

  it('ends at its limit with a warning', async () => {
    const { namedMs, startMs, warning } = await warmUp({ blockMs: 40_000 });
    assert.ok(namedMs >= 60_000 && namedMs <= 60_200, String(namedMs));
    assert.ok(Number(startMs) > namedMs);
    assert.match(
      String(warning),
      /^the warm-up ended after 60 s \(--tx-timeout\) with 1 of 3 blocks and 50 operations: /,
    );
  });

  it('sets no window if ended early', async () => {
    assert.equal((await warmUp({ blockMs: 40_000, untilMs: 3000 })).startMs, null);
  });

  it('is expected to take four blocks, or a second', () => {
    assert.deepEqual(
      [warmupSeconds('auto', 12), warmupSeconds('auto', 0.1), warmupSeconds('auto', 0), warmupSeconds(2500, 12)],
      [48, 1, 1, 2.5],
    );
  });
});
