import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { InternalError } from '../../../src/errors.js';
import { STAGES } from '../../../src/stats/figures.js';
import { Recorder } from '../../../src/stats/recorder.js';
import { Stats } from '../../../src/stats/stats.js';
import { caught } from '../../helpers/caught.js';
import { equalBy } from '../../helpers/equal-by.js';
import { figuresOf, sampleOf } from '../../helpers/samples.js';

/** @import { Sample } from '../../../src/contracts/load.d.ts' */

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
  it('timed out, lost and abandoned operations and calls without an answer are censored', () => {
    const recorder = closedWindow();
    /** @type {Array<Partial<Sample>>} */
    const ended = [
      { outcome: 'timed_out', includedAtUs: null },
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
    const figures = figuresOf(recorder);
    const { total, fromStart, censored, fromStartCensored, timedOut, stages, halves, outside } = figures;
    assert.deepEqual([total.count, fromStart.count, stages.queued.count], [5, 5, 1]);
    assert.deepEqual([censored.count, censored.sumUs, censored.minUs, censored.maxUs], [4, 10_000, 1000, 4000]);
    assert.equal(fromStartCensored.sumUs, 10_000 - 4 * 10);
    assert.deepEqual([timedOut.count, timedOut.sumUs], [1, 1000]);
    assert.equal(total.sumUs, 11_000);
    assert.deepEqual([figures.window.accepted, figures.window.timedOut], [12, 2]);
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
      equalBy(STAGES, ({ name }) => stages[name].sumUs, expected);
    }
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

describe('Recorder: intervals', () => {
  const [LOAD, FIRST, LAST] = [1000, 5000, 9000];

  it('in flight at the end of an interval: what happened after it is taken off again', () => {
    const intervals = new Recorder([0], LOAD);
    intervals.open(LOAD, FIRST, LAST);
    const end = (/** @type {number} */ endedAtUs) =>
      intervals.add(sampleOf({ outcome: 'failed', code: 'x', endedAtUs }));
    for (let i = 0; i < 5; i += 1) intervals.start(0, LOAD);
    end(LOAD);
    assert.equal(intervals.inFlightAtEnd(4), 4);
    for (let i = 0; i < 3; i += 1) intervals.start(0, FIRST);
    for (const us of [FIRST + 1, FIRST + 1, LAST + 1, LAST + 2]) end(us);
    assert.equal(intervals.inFlightAtEnd(3), 4, 'of 4 + 3, 4 ended since');
    intervals.take(FIRST);
    assert.equal(intervals.inFlightAtEnd(3), 5);
    intervals.take(LAST);
    assert.equal(intervals.inFlightAtEnd(3), 3);
  });
});
