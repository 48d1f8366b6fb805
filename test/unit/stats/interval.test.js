import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { Recorder } from '../../../src/stats/recorder.js';
import { Stats } from '../../../src/stats/stats.js';
import { sampleOf } from '../../helpers/samples.js';

/** @import { Outcome } from '../../../src/types.d.ts' */

/** @typedef {ReturnType<Recorder['take']>} Interval */

const [LOAD, START, END] = [1000, 5000, 9000];

/** @param {number} loadStartUs @param {number} startUs @param {number} endUs */
function openRecorder(loadStartUs, startUs, endUs) {
  const recorder = new Recorder([0], loadStartUs);
  recorder.open(loadStartUs, startUs, endUs);
  return recorder;
}

/** Of a run with a warm-up. */
function intervalsOf() {
  return openRecorder(LOAD, START, END);
}

/** @param {Recorder} intervals @param {...number} instants */
function count(intervals, ...instants) {
  for (const us of instants) intervals.start(0, us);
}

/** @param {Interval} interval */
const figures = ({ startUs, endUs, counts }) => [startUs, endUs, counts.started];

describe('Intervals: the borders of the window', () => {
  it('the start belongs to the window, the end too', () => {
    const intervals = intervalsOf();
    count(intervals, START - 1, START, END, END + 1);
    assert.deepEqual(
      [START, END, END + 1].map((us) => figures(intervals.take(us))),
      [
        [LOAD, START, 1],
        [START, END, 2],
        [END, END + 1, 1],
      ],
    );
  });

  it('both may be crossed before one interval is taken: what happened is in the right ones all the same', () => {
    const intervals = intervalsOf();
    count(intervals, LOAD, START + 5, END + 5, END + 6, START - 1, END, LOAD + 1);
    assert.deepEqual(figures(intervals.take(START)), [LOAD, START, 3]);
    assert.deepEqual(figures(intervals.take(END)), [START, END, 2]);
    assert.deepEqual(figures(intervals.take(END + 100)), [END, END + 100, 2]);
  });

  it('intervals inside a phase go on where the last one ended', () => {
    const intervals = intervalsOf();
    count(intervals, LOAD + 1);
    assert.deepEqual(figures(intervals.take(3000)), [LOAD, 3000, 1]);
    count(intervals, 3001, START + 1); // a border is crossed
    assert.deepEqual(figures(intervals.take(4000)), [3000, 4000, 1]);
    assert.deepEqual(figures(intervals.take(START)), [4000, START, 0]);
    assert.deepEqual(figures(intervals.take(END)), [START, END, 1]);
  });

  it('late reports count in the current interval', () => {
    const intervals = intervalsOf();
    intervals.take(3000);
    count(intervals, 1500, 2999);
    assert.deepEqual(figures(intervals.take(4000)), [3000, 4000, 2]);
  });

  it('without a warm-up the load begins with the window', () => {
    const intervals = openRecorder(START, START, END);
    count(intervals, START, END, END + 1);
    assert.deepEqual(figures(intervals.take(END)), [START, END, 2]);
  });

  it('an end that is not known yet may come at any time', () => {
    const intervals = openRecorder(START, START, Infinity);
    count(intervals, START, 1e9);
    intervals.setWindow(START, 1e9);
    count(intervals, 1e9, 1e9 + 1);
    assert.deepEqual(figures(intervals.take(1e9)), [START, 1e9, 3]);
    assert.deepEqual(figures(intervals.take(2e9)), [1e9, 2e9, 1]);
  });

  it('a run that ends in its warm-up has no window: all that comes after is of the drain', () => {
    const intervals = intervalsOf();
    count(intervals, LOAD);
    intervals.setWindow(START, 3000);
    count(intervals, 3001, START + 1, END + 1);
    assert.deepEqual(figures(intervals.take(3000)), [LOAD, 3000, 1]);
    assert.deepEqual(figures(intervals.take(END + 2)), [3000, END + 2, 3]);
  });

  it('in flight at the end of an interval: what happened after it is taken off again', () => {
    const intervals = intervalsOf();
    const end = (/** @type {number} */ endedAtUs) =>
      intervals.add(sampleOf({ outcome: 'failed', code: 'x', endedAtUs }));
    count(intervals, LOAD, LOAD, LOAD, LOAD, LOAD);
    end(LOAD);
    assert.equal(intervals.inFlightAtEnd(4), 4);
    count(intervals, START, START, START);
    for (const us of [START + 1, START + 1, END + 1, END + 2]) end(us);
    assert.equal(intervals.inFlightAtEnd(3), 4, 'of 4 + 3, 4 ended since');
    intervals.take(START);
    assert.equal(intervals.inFlightAtEnd(3), 5);
    intervals.take(END);
    assert.equal(intervals.inFlightAtEnd(3), 3);
  });
});

describe('Intervals of a run', () => {
  const COUNTS = /** @type {const} */ ([
    'scheduled',
    'dropped',
    'started',
    'verified',
    'failed',
    'timedOut',
    'abandoned',
  ]);

  /** Operations by when they are due and how long they take, and reports in between. */
  const history = fc.record({
    operations: fc.array(
      fc.record({
        dueUs: fc.integer({ min: LOAD, max: 9500 }),
        lateUs: fc.oneof(fc.constant(0), fc.nat({ max: 3000 })),
        tookUs: fc.nat({ max: 4000 }),
        outcome: fc.constantFrom('verified', 'failed', 'timed_out', 'dropped'),
      }),
      { maxLength: 40 },
    ),
    reports: fc.array(fc.integer({ min: LOAD + 1, max: END - 1 }), { maxLength: 6 }),
    /** Whether the load is asked to end before its time. */
    stopUs: fc.option(fc.integer({ min: LOAD, max: END }).filter((us) => us !== START)),
    /** How late the report of a border is made. */
    delayUs: fc.nat({ max: 6000 }),
  });

  it('random events: rows are consecutive, add up to the run and to its window, and have the operations in flight', () => {
    fc.assert(
      fc.property(history, ({ operations, reports, stopUs, delayUs }) => {
        const recorder = new Recorder([0], LOAD);
        recorder.open(LOAD, START, END);
        const sum = new Stats(LOAD);
        const endUs = Math.min(stopUs ?? END, END);
        let live = 0;
        /** @type {Array<{phase: string, interval: Interval, inFlight: number}>} */
        const rows = [];
        /** @param {string} phase @param {number} us */
        const report = (phase, us) => {
          const inFlight = recorder.inFlightAtEnd(live);
          rows.push({ phase, interval: recorder.take(us), inFlight });
          sum.add(rows[rows.length - 1].interval);
        };

        /** All that happens, by when it does. @type {Array<{atUs: number, order: number, run: () => void}>} */
        const events = [];
        let lastUs = endUs;
        // The report of the first border may be late: by then operations have started and ended beyond.
        const inTime = reports.filter((us) => us < endUs && us !== START);
        const borderUs = Math.min(START + delayUs, ...inTime.filter((us) => us > START), endUs);
        const reportsUs = [...inTime, ...(endUs > START ? [borderUs] : []), endUs].sort((a, b) => a - b);
        for (const { dueUs, lateUs, tookUs, outcome } of operations) {
          if (dueUs >= endUs) continue;
          // What is owed is begun before a report is made, however late it is.
          const startedAtUs = Math.min(dueUs + lateUs, reportsUs.find((us) => us >= dueUs) ?? endUs);
          if (outcome === 'dropped') {
            events.push({ atUs: startedAtUs, order: 0, run: () => recorder.drop(dueUs) });
            continue;
          }
          events.push({ atUs: startedAtUs, order: 0, run: () => (recorder.start(0, dueUs, startedAtUs), (live += 1)) });
          const endedAtUs = startedAtUs + tookUs;
          lastUs = Math.max(lastUs, endedAtUs);
          const instants = { sentAtUs: startedAtUs, acceptedAtUs: startedAtUs, includedAtUs: endedAtUs, endedAtUs };
          const code = outcome === 'failed' ? 'reverted' : null;
          const given = {
            ...instants,
            outcome: /** @type {Outcome} */ (outcome),
            code,
            intendedAtUs: dueUs,
            startedAtUs,
          };
          events.push({ atUs: endedAtUs, order: 1, run: () => (recorder.add(sampleOf(given)), (live -= 1)) });
        }
        for (const us of inTime)
          events.push({ atUs: us, order: 2, run: () => report(us < START ? 'warmup' : 'load', us) });
        if (endUs > START) events.push({ atUs: borderUs, order: 1.5, run: () => report('warmup', START) });
        events.push({
          atUs: endUs,
          order: 3,
          run: () => {
            recorder.closeWindow(endUs);
            report(endUs > START ? 'load' : 'warmup', endUs);
          },
        });
        events.push({ atUs: lastUs + 1, order: 4, run: () => report('drain', lastUs + 1) });
        events.sort((a, b) => a.atUs - b.atUs || a.order - b.order);
        for (const { run } of events) run();

        let atUs = LOAD;
        let flying = 0;
        for (const { phase, interval, inFlight } of rows) {
          assert.equal(interval.startUs, atUs, 'each begins where the one before it ended');
          assert.ok(interval.endUs >= atUs);
          atUs = interval.endUs;
          if (phase === 'warmup') assert.ok(interval.endUs <= START);
          const { started, verified, failed, timedOut, abandoned } = interval.counts;
          flying += started - verified - failed - timedOut - abandoned;
          assert.equal(inFlight, flying, 'in flight, counted and computed');
          const { latency, lag, ...stages } = {
            ...interval.stages(),
            latency: interval.distribution('latency'),
            lag: interval.distribution('lag'),
          };
          assert.equal(latency.count, verified);
          assert.equal(lag.count, interval.counts.scheduled);
          for (const stage of Object.values(stages)) assert.equal(stage.count, verified);
          assert.equal(interval.failures.reverted ?? 0, failed);
        }
        for (const name of COUNTS) {
          const sum = rows.reduce((all, { interval }) => all + interval.counts[name], 0);
          assert.equal(sum, recorder.counts[name], name);
        }
        const load = rows.filter(({ phase }) => phase === 'load');
        for (const name of /** @type {const} */ ([
          'scheduled',
          'dropped',
          'started',
          'verified',
          'failed',
          'timedOut',
        ])) {
          const inLoad = load.reduce((all, { interval }) => all + interval.counts[name], 0);
          assert.equal(inLoad, sum.window[name], `${name} of the window`);
        }
        recorder.assertConservation(new Map([[0, live]]));
      }),
      { seed: 31, numRuns: 1000 },
    );
  });
});
