import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { closed } from '../../../src/pacer/closed.js';

describe('closed()', () => {
  it('an operation is due at once, whenever and however many there were', () => {
    const pacer = closed();
    for (const [elapsedUs, started] of [
      [0, 0],
      [0, 1000],
      [1, 0],
      [3_600_000_000, 1_000_000],
    ]) {
      assert.equal(pacer(elapsedUs, started), 0);
    }
  });
});
