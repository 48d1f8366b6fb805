import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { InternalError } from '../../../src/errors.js';
import { STAGES } from '../../../src/stats/figures.js';
import { Recorder } from '../../../src/stats/recorder.js';
import { Stats } from '../../../src/stats/stats.js';
import { caught } from '../../helpers/caught.js';
import { figuresOf, runRecorder, sampleOf } from '../../helpers/samples.js';

/** @import { Outcome, Sample } from '../../../src/contracts/load.d.ts' */

const START = 1000;
const END = 5000;

function closedWindow() {
  const recorder = new Recorder([10, 11, 12], START);
  recorder.closeWindow(END);
  return recorder;
}

describe('Recorder: names of operations', () => {
  it('may be those of members that every object has', () => {
    const recorder = new Recorder([7], START);
    recorder.closeWindow(END);
    for (const name of ['constructor', 'toString', '__proto__', 'eth_call']) {
      recorder.start(0, START);
      recorder.add(sampleOf({ startUs: START, name }));
    }
    const sum = new Stats(START).add(recorder.rest());
    const counts = Object.entries(sum.byName).map(([name, group]) => [name, group.counts.verified]);
    assert.deepEqual(Object.fromEntries(counts), { constructor: 1, toString: 1, others: 1, eth_call: 1 });
  });

  it('of two threads are 64 together, with the others', () => {
    const sum = new Stats(START);
    for (const thread of ['a', 'b']) {
      const recorder = new Recorder([7], START);
      recorder.closeWindow(END);
      for (let i = 0; i < 40; i += 1) recorder.add(sampleOf({ startUs: START, name: `${thread}${i}` }));
      sum.add(recorder.rest());
    }
    assert.equal(Object.keys(sum.byName).length, 64);
    assert.equal(sum.byName.others.counts.verified, 80 - 63);
  });
});

describe('Recorder: the window', () => {
  it('a timed out one counts in the latency with the time it was waited for, and in no stage', () => {
    const recorder = closedWindow();
    recorder.add(sampleOf({ startUs: START, outcome: 'timed_out', endedAtUs: START + 60_000, includedAtUs: null }));
    assert.equal(figuresOf(recorder).total.maxUs, 60_000);
    assert.equal(figuresOf(recorder).timedOut.count, 1);
    assert.equal(figuresOf(recorder).stages.queued.count, 0);
    assert.equal(figuresOf(recorder).window.timedOut, 0); // it ended in the drain
    assert.equal(figuresOf(recorder).window.accepted, 1);
    assert.equal(figuresOf(recorder).window.included, 0);
  });

  it('so do lost and abandoned operations and calls without an answer: all are censored', () => {
    const recorder = closedWindow();
    /** @type {Array<Partial<Sample>>} */
    const ended = [
      { outcome: 'timed_out' },
      { outcome: 'abandoned' },
      { outcome: 'failed', code: 'lost' },
      { outcome: 'failed', code: 'transport_timeout' },
    ];
    for (const [i, given] of ended.entries()) {
      const startedAtUs = START + 10;
      recorder.add(sampleOf({ startUs: START, startedAtUs, ...given, endedAtUs: START + 1000 * (i + 1) }));
      recorder.add(sampleOf({ startUs: START - 1, ...given })); // due in the warm-up
    }
    for (const code of ['transport_refused', 'rpc_error', 'replaced'])
      recorder.add(sampleOf({ startUs: START, outcome: 'failed', code }));
    recorder.add(sampleOf({ startUs: START }));
    const { total, fromStart, censored, fromStartCensored, timedOut, stages, halves, outside } = figuresOf(recorder);
    assert.deepEqual([total.count, fromStart.count, stages.queued.count], [5, 5, 1]);
    assert.deepEqual([censored.count, censored.sumUs, censored.minUs, censored.maxUs], [4, 10_000, 1000, 4000]);
    assert.equal(fromStartCensored.sumUs, 10_000 - 4 * 10);
    assert.deepEqual([timedOut.count, timedOut.sumUs], [1, 1000]);
    assert.equal(total.sumUs, 11_000);
    assert.equal(halves[0].count + halves[1].count, 5);
    assert.equal(outside.censored.count, 4, 'those of the warm-up are kept apart');
  });

  it('other failures count in no latency', () => {
    const recorder = closedWindow();
    recorder.add(sampleOf({ startUs: START, outcome: 'failed', code: 'reverted' }));
    recorder.add(sampleOf({ startUs: START - 1, outcome: 'abandoned', endedAtUs: END }));
    assert.equal(figuresOf(recorder).total.count, 0);
    assert.equal(recorder.rest().distribution('latency').count, 0);
    assert.equal(figuresOf(recorder).window.failed, 1);
    assert.ok(!('abandoned' in figuresOf(recorder).window));
  });

  it('ends once', () => {
    const recorder = new Recorder([0], START);
    recorder.closeWindow(3000);
    recorder.closeWindow(9000);
    assert.equal(recorder.endUs, 3000);
    recorder.start(0, 3001);
    assert.equal(figuresOf(recorder).window.started, 0);
  });
});

describe('Recorder: stages', () => {
  it('without an instant of its own a stage takes no time, and the next one has it', () => {
    for (const [given, expected] of /** @type {Array<[Partial<Sample>, number[]]>} */ ([
      [{}, [100, 200, 300, 400]],
      [{ sentAtUs: null }, [0, 300, 300, 400]],
      [{ sentAtUs: null, acceptedAtUs: null, includedAtUs: null }, [0, 0, 0, 1000]],
    ])) {
      const recorder = new Recorder([0], 0);
      recorder.add(sampleOf(given));
      const { stages } = figuresOf(recorder);
      assert.deepEqual(
        STAGES.map(({ name }) => stages[name].sumUs),
        expected,
      );
    }
  });

  it('sum up to the latency exactly, over any verified samples', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.nat(1e6), fc.nat(1e6), fc.nat(1e6), fc.nat(1e6), fc.nat(1e6))), (list) => {
        const recorder = new Recorder([0], 0);
        for (const [startUs, ...durations] of list) {
          const [sentAtUs, acceptedAtUs, includedAtUs, endedAtUs] = durations.map((_, i) =>
            durations.slice(0, i + 1).reduce((sum, duration) => sum + duration, startUs),
          );
          recorder.add(sampleOf({ startUs, sentAtUs, acceptedAtUs, includedAtUs, endedAtUs }));
        }
        const { total, stages } = figuresOf(recorder);
        assert.equal(
          total.sumUs,
          STAGES.reduce((sum, { name }) => sum + stages[name].sumUs, 0),
        );
        for (const { name } of STAGES) assert.equal(stages[name].count, total.count);
      }),
      { seed: 7 },
    );
  });

  it('that do not, or of negative length, are a bug, and it names the operation', async () => {
    for (const given of [{ sentAtUs: NaN }, { includedAtUs: 200 }]) {
      const recorder = new Recorder([3], 0);
      const error = await caught(() => recorder.add(sampleOf({ walletIndex: 3, nonce: 9, ...given })));
      assert.ok(error instanceof InternalError, String(error));
      assert.match(error.message, /^the stages of wallet 3, nonce 9 are no parts of its latency: /);
    }
  });
});

describe('Recorder: conservation', () => {
  /** @param {(recorder: Recorder) => void} breakIt @param {Array<[number, number]>} [inFlight] */
  async function violation(breakIt, inFlight = []) {
    const recorder = new Recorder([100, 101, 102], 0);
    for (const position of [0, 1, 2]) {
      recorder.start(position, 0);
      recorder.add(sampleOf({ position }));
    }
    recorder.assertConservation(new Map());
    breakIt(recorder);
    const error = await caught(() => recorder.assertConservation(new Map(inFlight)));
    assert.ok(error instanceof InternalError);
    assert.equal(error.exitCode, 70);
    return error.message;
  }

  it('holds for a whole run, at each step', () => {
    assert.doesNotThrow(runRecorder);
  });

  it('a sample of one wallet that was counted for another: the totals are right, the wallets are not', async () => {
    const message = await violation((recorder) => {
      recorder.start(0, 0);
      recorder.add(sampleOf({ position: 1 }));
    });
    assert.match(message, /for wallet 100, 101: .*started 4 = verified 4 /);
  });

  it('an operation in flight that was never started', async () => {
    assert.match(await violation(() => {}, [[2, 1]]), /for wallet 102: .*in flight 1/);
  });

  it('many wallets: the first five are named', async () => {
    const recorder = new Recorder(
      Array.from({ length: 20 }, (_, i) => i),
      0,
    );
    for (let position = 0; position < 20; position += 1) recorder.start(position, 0);
    const error = await caught(() => recorder.assertConservation(new Map()));
    assert.match(error.message, /for wallet 0, 1, 2, 3, 4: /);
  });
});

describe('Recorders of parts of the wallets', () => {
  const WALLETS = 8;
  const WINDOW = { startUs: 1000, endUs: 2_000_000 };
  const OUTCOMES = /** @type {const} */ (['verified', 'failed', 'timed_out', 'abandoned']);
  const CODES = ['reverted', 'wrong_count', 'transport_timeout'];

  const events = fc.array(
    fc.record({
      position: fc.nat(WALLETS - 1),
      outcome: fc.constantFrom(...OUTCOMES),
      code: fc.constantFrom(...CODES),
      startUs: fc.nat(2_500_000),
      // Long ones, so that squares go beyond what a double holds.
      durations: fc.tuple(fc.nat(1e4), fc.nat(1e5), fc.nat(1e6), fc.nat(1e9)),
      reached: fc.nat(2),
    }),
    { maxLength: 60 },
  );
  /** Where the parts after the first begin. */
  const borders = fc.uniqueArray(fc.integer({ min: 1, max: WALLETS - 1 }), { minLength: 1, maxLength: 3 });

  /** @typedef {{position: number, outcome: Outcome, code: string, startUs: number, durations: number[], reached: number}} Event */

  /** @param {Recorder} recorder @param {Event} event @param {number} first position of the recorder's first wallet */
  function enter(recorder, { position, outcome, code, startUs, durations, reached }, first) {
    const [sentAtUs, acceptedAtUs, includedAtUs, endedAtUs] = durations.map((_, i) =>
      durations.slice(0, i + 1).reduce((sum, duration) => sum + duration, startUs),
    );
    const isWhole = outcome === 'verified';
    recorder.start(position - first, startUs);
    recorder.add(
      sampleOf({
        position: position - first,
        walletIndex: 100 + position,
        startUs,
        outcome,
        endedAtUs,
        sentAtUs,
        code: outcome === 'failed' ? code : null,
        acceptedAtUs: isWhole || reached > 0 ? acceptedAtUs : null,
        includedAtUs: isWhole || reached > 1 ? includedAtUs : null,
      }),
    );
  }

  /** @param {number} first @param {number} count */
  function recorderOf(first, count) {
    const recorder = new Recorder(
      Array.from({ length: count }, (_, i) => 100 + first + i),
      WINDOW.startUs,
    );
    recorder.closeWindow(WINDOW.endUs);
    return recorder;
  }

  it('what parts of the wallets recorded adds up to what one would have recorded, exactly', () => {
    fc.assert(
      fc.property(events, borders, (list, starts) => {
        const one = recorderOf(0, WALLETS);
        for (const event of list) enter(one, event, 0);

        const firsts = [0, ...starts.toSorted((a, b) => a - b)];
        const whole = new Stats(WINDOW.startUs);
        for (const [i, first] of firsts.entries()) {
          const end = firsts[i + 1] ?? WALLETS;
          const part = recorderOf(first, end - first);
          for (const event of list) if (event.position >= first && event.position < end) enter(part, event, first);
          part.assertConservation(new Map());
          whole.add(Stats.fromState(structuredClone(part.rest().toState())));
        }
        assert.deepEqual(whole.toState(), one.rest().toState());
      }),
      { seed: 21, numRuns: 40 },
    );
  });
});
