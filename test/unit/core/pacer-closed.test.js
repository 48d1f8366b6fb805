import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { closed } from '../../../src/core/pacer.js';

describe('closed()', () => {
  it('every operation is due at once', () => {
    const pacer = closed();
    assert.equal(pacer.isOpen, false);
    for (const ordinal of [0, 1, 1000, 1_000_000]) assert.equal(pacer.dueUs(ordinal), 0);
  });
});
