import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { Intervals, intervalState, mergeIntervals } from '../../../src/stats/intervals.js';
import { Recorder } from '../../../src/stats/recorder.js';
import { sampleOf } from '../../helpers/samples.js';

/** @import { Outcome } from '../../../src/types.d.ts' */

/** @typedef {ReturnType<Intervals['rotate']>} Interval */

const [LOAD, START, END] = [1000, 5000, 9000];

/** Of a run with a warm-up. */
function intervalsOf() {
  const intervals = new Intervals(LOAD);
  intervals.setWindow(START, END);
  return intervals;
}

/** @param {Intervals} intervals @param {...number} instants */
function count(intervals, ...instants) {
  for (const us of instants) intervals.at(us).counts.started += 1;
}

/** @param {Interval} interval */
const figures = ({ startUs, endUs, counts }) => [startUs, endUs, counts.started];

describe('Intervals: the borders of the window', () => {
  it('the start belongs to the window, the end too', () => {
    const intervals = intervalsOf();
    count(intervals, START - 1, START, END, END + 1);
    assert.deepEqual(
      [START, END, END + 1].map((us) => figures(intervals.rotate(us))),
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
    assert.deepEqual(figures(intervals.rotate(START)), [LOAD, START, 3]);
    assert.deepEqual(figures(intervals.rotate(END)), [START, END, 2]);
    assert.deepEqual(figures(intervals.rotate(END + 100)), [END, END + 100, 2]);
  });

  it('intervals inside a phase go on where the last one ended', () => {
    const intervals = intervalsOf();
    count(intervals, LOAD + 1);
    assert.deepEqual(figures(intervals.rotate(3000)), [LOAD, 3000, 1]);
    count(intervals, 3001, START + 1); // a border is crossed
    assert.deepEqual(figures(intervals.rotate(4000)), [3000, 4000, 1]);
    assert.deepEqual(figures(intervals.rotate(START)), [4000, START, 0]);
    assert.deepEqual(figures(intervals.rotate(END)), [START, END, 1]);
  });

  it('late reports count in the current interval', () => {
    const intervals = intervalsOf();
    intervals.rotate(3000);
    count(intervals, 1500, 2999);
    assert.deepEqual(figures(intervals.rotate(4000)), [3000, 4000, 2]);
  });

  it('without a warm-up the load begins with the window', () => {
    const intervals = new Intervals(START);
    intervals.setWindow(START, END);
    count(intervals, START, END, END + 1);
    assert.deepEqual(figures(intervals.rotate(END)), [START, END, 2]);
  });

  it('an end that is not known yet may come at any time', () => {
    const intervals = new Intervals(START);
    intervals.setWindow(START, Infinity);
    count(intervals, START, 1e9);
    intervals.setWindow(START, 1e9);
    count(intervals, 1e9, 1e9 + 1);
    assert.deepEqual(figures(intervals.rotate(1e9)), [START, 1e9, 3]);
    assert.deepEqual(figures(intervals.rotate(2e9)), [1e9, 2e9, 1]);
  });

  it('a run that ends in its warm-up has no window: all that comes after is of the drain', () => {
    const intervals = intervalsOf();
    count(intervals, LOAD);
    intervals.setWindow(START, 3000);
    count(intervals, 3001, START + 1, END + 1);
    assert.deepEqual(figures(intervals.rotate(3000)), [LOAD, 3000, 1]);
    assert.deepEqual(figures(intervals.rotate(END + 2)), [3000, END + 2, 3]);
  });

  it('in flight at the end of an interval: what happened after it is taken off again', () => {
    const intervals = intervalsOf();
    intervals.at(LOAD).counts.started += 5;
    intervals.at(LOAD).counts.verified += 1;
    assert.equal(intervals.inFlightAtEnd(4), 4);
    intervals.at(START).counts.started += 3;
    intervals.at(START + 1).counts.verified += 1;
    intervals.at(START + 1).counts.failed += 1;
    intervals.at(END + 1).counts.timedOut += 1;
    intervals.at(END + 2).counts.abandoned += 1;
    assert.equal(intervals.inFlightAtEnd(3), 4, 'of 4 + 3, 4 ended since');
    intervals.rotate(START);
    assert.equal(intervals.inFlightAtEnd(3), 5);
    intervals.rotate(END);
    assert.equal(intervals.inFlightAtEnd(3), 3);
  });
});

describe('Intervals under a Recorder', () => {
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
        const endUs = Math.min(stopUs ?? END, END);
        let live = 0;
        /** @type {Array<{phase: string, interval: Interval, inFlight: number}>} */
        const rows = [];
        /** @param {string} phase @param {number} us */
        const report = (phase, us) => {
          const inFlight = recorder.intervals.inFlightAtEnd(live);
          rows.push({ phase, interval: recorder.intervals.rotate(us), inFlight });
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
          assert.equal(interval.latency.count, verified);
          assert.equal(interval.lag.count, interval.counts.scheduled);
          const { visibility, ...stages } = interval.stages;
          assert.equal(visibility.count, 0);
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
          const sum = load.reduce((all, { interval }) => all + interval.counts[name], 0);
          assert.equal(sum, recorder.windowCounts[name], `${name} of the window`);
        }
        recorder.assertConservation(new Map([[0, live]]));
      }),
      { seed: 31, numRuns: 1000 },
    );
  });
});

describe('mergeIntervals()', () => {
  /** @param {number} verified @param {number} endUs */
  function stateOf(verified, endUs) {
    const recorder = new Recorder([0], 0);
    for (let i = 0; i < verified; i += 1) {
      recorder.start(0, 0, 3);
      recorder.add(sampleOf());
    }
    recorder.start(0, 0);
    recorder.add(sampleOf({ outcome: 'failed', code: 'reverted' }));
    return intervalState(recorder.intervals.rotate(endUs));
  }

  it('adds up what threads saw of the same interval, which ends with the last of them', () => {
    const { startUs, endUs, counts, failures, distributions } = mergeIntervals([stateOf(2, 1000), stateOf(3, 1010)], 5);
    assert.deepEqual([startUs, endUs], [0, 1010]);
    assert.deepEqual([counts.started, counts.verified, counts.failed], [7, 5, 2]);
    assert.deepEqual(failures, { reverted: 2 });
    assert.deepEqual([distributions.latency.count, distributions.latency.sumUs], [5, 5000]);
    assert.deepEqual([distributions.lag.count, distributions.lag.sumUs], [7, 15]);
    for (const [stage, sumUs] of /** @type {const} */ ([
      ...[['queued', 500]],
      ...[['submit', 1000]],
      ...[['inclusion', 1500]],
      ...[['readBack', 2000]],
    ])) {
      assert.deepEqual([distributions[stage].count, distributions[stage].sumUs], [5, sumUs]);
    }
  });

  it('of one thread is its own, of none is empty', () => {
    const own = stateOf(1, 1000);
    assert.deepEqual(mergeIntervals([own], 5), own);
    const none = mergeIntervals([], 77);
    assert.deepEqual([none.startUs, none.endUs, none.counts.started, none.distributions.latency.count], [77, 77, 0, 0]);
  });

  it('leaves what it was given as it was', () => {
    const [a, b] = [stateOf(1, 1000), stateOf(2, 1000)];
    const before = structuredClone([a, b]);
    mergeIntervals([a, b], 0);
    assert.deepEqual([a, b], before);
  });
});
