import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { HeldTime } from '../../../src/stats/held-time.js';

describe('HeldTime', () => {
  it('counts until an instant, and leaves what is later for the next one', () => {
    const held = new HeldTime();
    held.hold('a', 100);
    held.release('a', 160);
    assert.deepEqual(held.take(130), { heldUs: 30, holds: 1 });
    assert.deepEqual(held.take(200), { heldUs: 30, holds: 0 });
    assert.equal(held.totalUs, 60);
  });

  it('several reasons at once hold it once', () => {
    const held = new HeldTime();
    assert.deepEqual([held.hold('a', 10), held.hold('b', 20), held.release('a', 30)], [true, false, false]);
    assert.equal(held.isHeld, true);
    assert.equal(held.release('b', 50), true);
    assert.deepEqual(held.take(1000), { heldUs: 40, holds: 1 });
  });

  it('a release without a hold changes nothing', () => {
    const held = new HeldTime();
    assert.equal(held.release('a', 10), false);
    assert.deepEqual([held.totalUs, held.heldForUs(20)], [0, 0]);
  });

  it('events that come late count at their instants', () => {
    const held = new HeldTime();
    for (const [reason, fromUs, toUs] of /** @type {Array<[string, number, number]>} */ ([
      ['a', 0, 100],
      ['b', 50, 120],
      ['a', 200, 300],
      ['b', 150, 210],
    ])) {
      held.hold(reason, fromUs);
      held.release(reason, toUs);
    }
    assert.equal(held.totalUs, 270);
    assert.deepEqual(held.usByReason, { a: 200, b: 130 });
    assert.deepEqual(held.take(1000), { heldUs: 270, holds: 2 });
  });

  it('a release that is noticed after a time was taken makes the next time shorter', () => {
    const held = new HeldTime();
    held.hold('a', 10);
    assert.deepEqual(held.take(30), { heldUs: 20, holds: 1 });
    held.release('a', 25);
    held.hold('a', 40);
    held.release('a', 50);
    assert.deepEqual(held.take(60), { heldUs: 5, holds: 1 });
  });

  it('is exact over any number of holds, which are kept up to a limit', () => {
    const held = new HeldTime();
    for (let i = 0; i < 1000; i += 1) {
      held.hold('a', 10 * i);
      held.release('a', 10 * i + 4);
    }
    assert.equal(held.totalUs, 4000);
    assert.equal(held.take(9998).heldUs, 4000);
  });

  it('a restart counts a hold that is on from then on', () => {
    const held = new HeldTime();
    held.hold('a', 10);
    held.restart(100);
    assert.equal(held.heldForUs(150), 50);
    assert.deepEqual(held.take(140), { heldUs: 40, holds: 1 });
    held.release('a', 160);
    assert.deepEqual(held.take(200), { heldUs: 20, holds: 0 });
  });
});
