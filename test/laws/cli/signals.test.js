import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { connectSignals } from '../../../src/cli/session.js';
import { Stop } from '../../../src/core/stop.js';
import { InternalError } from '../../../src/errors.js';
import { stdout } from '../../../src/outputs/streams.js';
import { createFakeClock } from '../../helpers/clock.js';

/** @import { TestContext } from 'node:test' */

const EVENTS = ['SIGINT', 'SIGTERM', 'SIGHUP', 'uncaughtException', 'unhandledRejection'];

/** Not emitted: the reporter of the tests listens to standard output, too, and would write nothing more. @param {Error} error */
function failOutput(error) {
  const [own] = stdout.stream.listeners('error').slice(-1);
  own(error);
}

/** @param {TestContext} t */
function connected(t) {
  // The test runner listens, too; what is emitted by hand is for us alone.
  const before = new Map(EVENTS.map((event) => [event, process.rawListeners(event)]));
  for (const event of EVENTS) process.removeAllListeners(event);
  const stop = new Stop();
  const clock = createFakeClock();
  const disconnect = connectSignals(stop, clock);
  t.after(() => {
    disconnect();
    for (const [event, listeners] of before) {
      assert.equal(process.listenerCount(event), 0, event);
      for (const listener of listeners) process.on(event, /** @type {(...args: any[]) => void} */ (listener));
    }
  });
  return { stop, clock };
}

describe('connectSignals()', () => {
  /** @type {Array<[NodeJS.Signals, string, number]>} */
  const table = [
    ['SIGINT', 'interrupted', 130],
    ['SIGTERM', 'terminated', 143],
    ['SIGHUP', 'hangup', 129],
  ];
  for (const [signal, reason, exitCode] of table) {
    it(`${signal}: first an end, then at once`, async (t) => {
      const { stop, clock } = connected(t);
      process.emit(signal);
      assert.deepEqual([stop.reason, stop.exitCodes, stop.now.aborted], [reason, [exitCode], false]);
      await clock.advance(1000);
      process.emit(signal);
      assert.equal(stop.now.aborted, true);
    });
  }

  it('a second signal of another kind ends at once as well, and the first reason stays', async (t) => {
    const { stop, clock } = connected(t);
    process.emit('SIGINT');
    await clock.advance(1000);
    process.emit('SIGTERM');
    assert.deepEqual([stop.reason, stop.now.aborted], ['interrupted', true]);
  });

  it('the same wish twice, as npm passes it on, is one; but not for ever', async (t) => {
    const { stop, clock } = connected(t);
    for (let i = 0; i < 3; i += 1) {
      process.emit('SIGINT');
      await clock.advance(100);
    }
    assert.equal(stop.now.aborted, false);
    await clock.advance(100);
    process.emit('SIGINT');
    assert.equal(stop.now.aborted, true);
  });

  for (const event of /** @type {const} */ (['uncaughtException', 'unhandledRejection'])) {
    it(`${event} is a bug of ours, and ends the run in good order`, (t) => {
      const { stop } = connected(t);
      process.emit(/** @type {any} */ (event), new Error('boom'));
      assert.deepEqual([stop.reason, stop.exitCodes, stop.now.aborted], ['internal', [70], false]);
      assert.ok(stop.errors[0] instanceof InternalError);
      assert.match(stop.errors[0].message, /^unexpected: boom\. This is a bug of stress$/);
    });
  }

  it('a closed reader ends the run with a drain', (t) => {
    const { stop } = connected(t);
    failOutput(new Error('write EPIPE'));
    assert.deepEqual([stop.reason, stop.exitCodes, stop.now.aborted], ['output_closed', [], false]);
  });

  it('a disk that is full ends it, too, and is a fault', (t) => {
    const { stop } = connected(t);
    failOutput(Object.assign(new Error('write'), { code: 'ENOSPC' }));
    assert.deepEqual([stop.reason, stop.exitCodes, stop.now.aborted], ['output_closed', [73], false]);
    assert.equal(stop.errors[0].message, 'cannot write standard output: the disk is full');
  });
});
