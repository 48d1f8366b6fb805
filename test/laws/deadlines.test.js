/** Deadlines that all lie the same time ahead, on a clock that the test turns by hand. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { Deadlines } from '../../src/deadlines.js';
import { createFakeClock } from '../helpers/clock.js';
import { equalBy } from '../helpers/equal-by.js';

/** @import { Deadline } from '../../src/deadlines.js' */

const TIMEOUT_MS = 100;
/** A timer is not set for less than this, so that a deadline may be late by as much. */
const TICK_US = 1000;

/**
 * Deadlines with names, and when each fell due.
 * @param {(clock: ReturnType<typeof createFakeClock>) => ConstructorParameters<typeof Deadlines>[0]} [seenAs]
 */
function create(seenAs = (clock) => clock) {
  const clock = createFakeClock({ startUs: 0 });
  const deadlines = new Deadlines(seenAs(clock), TIMEOUT_MS);
  /** @type {Array<[string, number]>} name, and milliseconds since the start */
  const due = [];
  /** @param {string} name @param {() => void} [then] */
  const set = (name, then) =>
    deadlines.set({
      expire: () => {
        due.push([name, clock.nowUs() / 1000]);
        then?.();
      },
    });
  return { clock, deadlines, set, due, names: () => due.map(([name]) => name) };
}

it('also when timers fire a little early, as those of Node.js do', async () => {
  const { clock, set, due } = create((real) => ({ nowUs: real.nowUs, after: (f, ms) => real.after(f, ms - 0.7) }));
  set('a');
  await clock.advance(50);
  set('b');
  await clock.advance(200);
  equalBy(due, ([name]) => name, ['a', 'b']);
  assert.ok(due[0][1] >= 100 && due[0][1] <= 101, `${due[0]}`);
  assert.ok(due[1][1] >= 150 && due[1][1] <= 151, `${due[1]}`);
});

it('all of them when the event loop was blocked for long', async () => {
  let lateUs = 0;
  const { clock, set, names } = create((real) => ({ nowUs: () => real.nowUs() + lateUs, after: real.after }));
  set('a');
  await clock.advance(40);
  set('b');
  lateUs = 500_000;
  await clock.advance(60);
  assert.deepEqual(names(), ['a', 'b']);
});

it('those that expire() of the one before does not clear', async () => {
  const { clock, deadlines, set, names } = create();
  set('a', () => deadlines.clear(b));
  const b = set('b');
  set('c');
  await clock.advance(1000);
  assert.deepEqual(names(), ['a', 'c']);
});

describe('stop()', () => {
  it('no deadline falls due any more, and no timer is left', async () => {
    const { clock, deadlines, set, names } = create();
    set('a');
    await clock.advance(50);
    set('b');
    deadlines.stop();
    deadlines.stop();
    assert.equal(clock.pending(), 0);
    await clock.advance(1000);
    assert.deepEqual(names(), []);
  });

  it('inside expire(): those behind it do not fall due, and no timer is left', async () => {
    const { clock, deadlines, set, names } = create();
    set('a', () => deadlines.stop());
    set('b');
    await clock.advance(5);
    set('c');
    await clock.advance(1000);
    assert.deepEqual(names(), ['a']);
    assert.equal(clock.pending(), 0);
  });
});

describe('many', () => {
  it('have one timer, and those that are met cost none', async () => {
    const { clock, deadlines, set, names } = create();
    const all = Array.from({ length: 10_000 }, (_, i) => set(`d${i}`));
    assert.equal(clock.pending(), 1);
    for (const deadline of all.slice(0, -1)) deadlines.clear(deadline);
    assert.equal(clock.pending(), 1);
    await clock.advance(TIMEOUT_MS);
    assert.deepEqual(names(), ['d9999']);
    assert.equal(clock.pending(), 0);
  });

  it('in any order of setting, clearing and waiting: each that is not cleared, once, in order, in time', async () => {
    const step = fc.oneof(
      // The value says how often it sets a new one when it falls due.
      fc.record({ kind: fc.constant('set'), value: fc.nat({ max: 2 }) }),
      fc.record({ kind: fc.constant('clear'), value: fc.nat({ max: 30 }) }),
      fc.record({ kind: fc.constant('wait'), value: fc.nat({ max: 70 }) }),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
        const clock = createFakeClock({ startUs: 0 });
        const deadlines = new Deadlines(clock, TIMEOUT_MS);
        /** @typedef {{deadline: Deadline, dueUs: number, calledUs: number | null, isCleared: boolean}} Entry */
        /** @type {Entry[]} */
        const entries = [];
        /** @type {Entry[]} */
        const called = [];
        /** @param {number} again */
        const set = (again) => {
          const dueUs = clock.nowUs() + TIMEOUT_MS * 1000;
          const deadline = deadlines.set({
            expire: () => {
              entry.calledUs = clock.nowUs();
              called.push(entry);
              if (again > 0) set(again - 1);
            },
          });
          /** @type {Entry} */
          const entry = { deadline, dueUs, calledUs: null, isCleared: false };
          entries.push(entry);
        };
        for (const { kind, value } of steps) {
          if (kind === 'set') set(value);
          else if (kind === 'wait') await clock.advance(value);
          else if (value < entries.length) {
            const entry = entries[value];
            if (entry.calledUs === null) entry.isCleared = true;
            deadlines.clear(entry.deadline);
          }
        }
        await clock.advance(10 * TIMEOUT_MS);
        for (const { dueUs, calledUs, isCleared } of entries) {
          if (isCleared) assert.equal(calledUs, null);
          else
            assert.ok(calledUs !== null && calledUs >= dueUs && calledUs <= dueUs + TICK_US, `${calledUs}, ${dueUs}`);
        }
        const others = entries.filter(({ isCleared }) => !isCleared);
        assert.deepEqual(called, others);
        assert.equal(clock.pending(), 0);
      }),
      { seed: 7, numRuns: 100 },
    );
  });
});
