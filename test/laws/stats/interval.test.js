import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { Recorder } from '../../../src/stats/recorder.js';
import { Stats } from '../../../src/stats/stats.js';
import { sampleOf } from '../../helpers/samples.js';

/** @import { Outcome } from '../../../src/contracts/load.d.ts' */

/** @typedef {ReturnType<Recorder['take']>} Interval */

const [LOAD, START, END] = [1000, 5000, 9000];

describe('Intervals: the borders of the window', () => {
  it('in flight at the end of an interval: what happened after it is taken off again', () => {
    const intervals = new Recorder([0], LOAD);
    intervals.open(LOAD, START, END);
    const end = (/** @type {number} */ endedAtUs) =>
      intervals.add(sampleOf({ outcome: 'failed', code: 'x', endedAtUs }));
    for (let i = 0; i < 5; i += 1) intervals.start(0, LOAD);
    end(LOAD);
    assert.equal(intervals.inFlightAtEnd(4), 4);
    for (let i = 0; i < 3; i += 1) intervals.start(0, START);
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
