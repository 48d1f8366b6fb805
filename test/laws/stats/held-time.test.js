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
