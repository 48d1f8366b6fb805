/** The reports of a load, with a clock whose reading takes time. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Load } from '../../../src/core/load.js';
import { Stop } from '../../../src/core/stop.js';
import { Checkpoints } from '../../../src/core/reports.js';
import { noBlocks } from '../../../src/stats/blocks.js';
import { Recorder } from '../../../src/stats/recorder.js';
import { zeroCounts } from '../../../src/stats/stats.js';
import { createFakeClock } from '../../helpers/clock.js';
import { readingsOf } from '../../helpers/samples.js';

/**
 * @import { Clock, Counts, IntervalRow, LiveFigures, Output } from '../../../src/types.d.ts'
 * @import { EngineReport, Plan } from '../../../src/core/engine.js'
 * @import { WarmUp } from '../../../src/core/load.js'
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
 * @param {WarmUp | null} [options.warmUp]
 * @param {Clock} [options.clock]
 * @param {number} [options.intervalMs]
 * @param {(nowUs: number) => Counts} [options.counts]
 * @param {Output['live']} [options.live]
 * @param {() => Promise<void>} [options.drain]
 * @param {(label: string, done: number, all: number) => void} [options.onProgress]
 */
async function loadOf({
  silence = null,
  names,
  warmUp = null,
  intervalMs = 100,
  counts = zeroCounts,
  live,
  ...others
}) {
  const { clock = coarseClock(), drain = async () => {}, onProgress } = others;
  const stop = new Stop();
  /** @type {IntervalRow[]} */
  const rows = [];
  const outputs = /** @type {any[]} */ ([{ interval: (/** @type {IntervalRow} */ row) => rows.push(row), live }]);
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
    }),
    setWindow: (/** @type {Plan} */ { startUs, endUs }) => void intervals.setWindow(startUs, endUs),
  });
  const watch = /** @type {any} */ ({
    prepare: async () => {},
    begin: () => {},
    sample: async () => readingsOf({ self: { cpuUs: 7, rssBytes: 0 } }),
  });
  const load = new Load({
    times: {
      warmupMs: warmUp === null ? 0 : 'auto',
      durationMs: 1000,
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
    warmUp,
    checkpoints: new Checkpoints({ clock, outputs, stop, warn: () => {} }),
    describeSoFar: () => /** @type {any} */ ({}),
    timeOfDayMs: (/** @type {number} */ atUs) => atUs,
    onProgress,
    begin: async () => clock.nowUs(),
  });
  const { generator } = await load.run();
  return { stop, rows, generator };
}

it("a timer that fires just before an interval's end costs no report", async () => {
  const { rows } = await loadOf({});
  assert.equal(rows.filter(({ phase }) => phase === 'load').length, 10);
});

it('the CPU time is that of the window', async () => {
  const { generator } = await loadOf({});
  assert.equal(generator.cpuUs, 10 * 7);
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

it('an automatic warm-up sets the window, and no row crosses its start', async () => {
  const warmUp = /** @type {any} */ ({
    windowStartUs: async (/** @type {number} */ us) => us + 350_000,
    warning: null,
  });
  const { rows } = await loadOf({ warmUp });
  const [warmup, window] = ['warmup', 'load'].map((phase) => rows.filter((row) => row.phase === phase));
  assert.ok(warmup.length > 0);
  assert.deepEqual([warmup.at(-1)?.endMs, window[0].startMs, window.at(-1)?.endMs], [350, 350, 1350]);
});

it('a failing warm-up ends the run without a window', async () => {
  const error = new Error('a bug');
  const warmUp = /** @type {any} */ ({ windowStartUs: async () => Promise.reject(error) });
  const { rows, stop } = await loadOf({ warmUp });
  assert.deepEqual([stop.reason, stop.errors], ['internal', [error]]);
  assert.ok(rows.length > 0 && rows.every(({ phase }) => phase !== 'load'));
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

  it('the running interval, every 500 ms, but none younger than 250 ms', async () => {
    for (const [intervalMs, times] of /** @type {Array<[number, number[]]>} */ ([
      [5000, [500]],
      [400, []],
    ])) {
      const clock = createFakeClock({ startUs });
      /** @type {LiveFigures[]} */
      const shown = [];
      const running = loadOf({ clock, counts, intervalMs, live: (figures) => shown.push(figures) });
      await clock.advance(1000);
      await running;
      assert.equal(clock.pending(), 0);
      const figures = { phase: 'load', lengthMs: 1000, inFlight: 5, tps: 100 };
      assert.deepEqual(
        shown,
        times.map((ms) => ({ ...figures, elapsedMs: ms, verified: ms / 10 })),
      );
    }
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
