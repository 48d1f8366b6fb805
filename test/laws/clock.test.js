import assert from 'node:assert/strict';
import { getEventListeners } from 'node:events';
import { describe, it } from 'node:test';
import { createClock, within } from '../../src/clock.js';
import { createFakeClock } from '../helpers/clock.js';

/** Long enough that a test which waited for it would be noticed. */
const LONG_MS = 60_000;

describe('createClock()', () => {
  it('counts whole microseconds, forwards', () => {
    const clock = createClock();
    const first = clock.nowUs();
    const second = clock.nowUs();
    assert.ok(Number.isInteger(first) && Number.isInteger(second) && second >= first);
    assert.ok(Math.abs(clock.wallMs() - Date.now()) < 1000);
  });

  it('calls back once, unless it is cancelled', async () => {
    const clock = createClock();
    /** @type {string[]} */
    const called = [];
    const cancel = clock.after(() => called.push('cancelled'), 0);
    cancel();
    await new Promise((/** @type {(value?: undefined) => void} */ resolve) => clock.after(resolve, 0));
    await clock.sleep(0);
    assert.deepEqual(called, []);
  });
});

for (const [name, create] of /** @type {const} */ ([
  ['the real clock', createClock],
  ['the fake clock', createFakeClock],
])) {
  describe(`${name}: sleep()`, () => {
    it('ends when the signal aborts', async () => {
      const controller = new AbortController();
      const slept = create().sleep(LONG_MS, controller.signal);
      controller.abort();
      await slept;
    });

    it('does not begin when the signal has aborted', () => create().sleep(LONG_MS, AbortSignal.abort()));

    it('has one listener on a signal that ends many sleeps', async () => {
      const controller = new AbortController();
      const { signal } = controller;
      const clock = create();
      const sleeps = Array.from({ length: 20 }, () => clock.sleep(LONG_MS, signal));
      assert.equal(getEventListeners(signal, 'abort').length, 1);
      controller.abort();
      await Promise.all(sleeps);
      assert.equal(getEventListeners(signal, 'abort').length, 0);
    });

    it('leaves no listener behind', async () => {
      const controller = new AbortController();
      const clock = create();
      let listeners = 0;
      const { signal } = controller;
      const spy = /** @type {AbortSignal} */ (
        /** @type {unknown} */ ({
          aborted: false,
          addEventListener: () => (listeners += 1),
          removeEventListener: () => (listeners -= 1),
        })
      );
      const slept = clock.sleep(0, spy);
      if ('advance' in clock) await /** @type {ReturnType<typeof createFakeClock>} */ (clock).advance(0);
      await slept;
      assert.equal(listeners, 0);
      assert.equal(signal.aborted, false);
    });
  });
}

describe('within()', () => {
  it('gives what the work gives in time, and leaves no timer', async () => {
    const clock = createFakeClock();
    assert.equal(await within(clock, 1000, Promise.resolve('done'), () => 'late'), 'done');
    await assert.rejects(
      within(clock, 1000, Promise.reject(new Error('failed')), () => 'late'),
      /^Error: failed$/,
    );
    assert.equal(clock.pending(), 0);
  });

  it('gives what late() gives, or throws, when the time is over', async () => {
    const clock = createFakeClock();
    const never = new Promise(() => {});
    const late = within(clock, 1000, never, () => 'late');
    const failed = assert.rejects(
      within(clock, 1000, never, () => {
        throw new Error('too late');
      }),
      /^Error: too late$/,
    );
    await clock.advance(1000);
    assert.equal(await late, 'late');
    await failed;
  });
});
