import assert from 'node:assert/strict';
import { it } from 'node:test';
import { Stop } from '../../../src/core/stop.js';

it('Stop: keeps the first reason, and every exit code and error', () => {
  const stop = new Stop();
  const [first, second] = [new Error('a'), new Error('b')];
  stop.request('duration', 0);
  stop.request('interrupted', 130);
  stop.request('foreign_sender', 76, first);
  stop.request('internal', 70, second);
  assert.deepEqual([stop.drain.aborted, stop.now.aborted], [true, false]);
  assert.equal(stop.reason, 'duration');
  assert.deepEqual(stop.exitCodes, [130, 76, 70]);
  assert.deepEqual(stop.errors, [first, second]);
  stop.abort();
  assert.equal(stop.now.aborted, true);
});
