import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Stop } from '../../../src/core/stop.js';

describe('Stop', () => {
  it('ends gracefully first, then at once', () => {
    const stop = new Stop();
    /** @type {string[]} */
    const events = [];
    stop.drain.addEventListener('abort', () => events.push('drain'));
    stop.now.addEventListener('abort', () => events.push('now'));
    stop.request('interrupted', 130);
    assert.deepEqual([stop.drain.aborted, stop.now.aborted], [true, false]);
    stop.abort();
    assert.deepEqual([stop.drain.aborted, stop.now.aborted], [true, true]);
    assert.deepEqual(events, ['drain', 'now']);
  });

  it('keeps the first reason, and every exit code and error', () => {
    const stop = new Stop();
    const [first, second] = [new Error('a'), new Error('b')];
    stop.request('duration', 0);
    stop.request('interrupted', 130);
    stop.request('foreign_sender', 76, first);
    stop.request('internal', 70, second);
    assert.equal(stop.reason, 'duration');
    assert.deepEqual(stop.exitCodes, [130, 76, 70]);
    assert.deepEqual(stop.errors, [first, second]);
  });
});
