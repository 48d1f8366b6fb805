import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { Queue } from '../../../src/core/queue.js';

describe('Queue', () => {
  it('behaves like an array for any order of push and shift', () => {
    // A number: push; null: shift.
    fc.assert(
      fc.property(fc.array(fc.option(fc.nat()), { maxLength: 300 }), (steps) => {
        /** @type {Queue<number>} */
        const queue = new Queue();
        /** @type {number[]} */
        const model = [];
        for (const step of steps) {
          if (step === null) assert.equal(queue.shift(), model.shift() ?? null);
          else {
            queue.push(step);
            model.push(step);
          }
        }
        while (model.length > 0) assert.equal(queue.shift(), model.shift());
        assert.equal(queue.shift(), null);
        assert.equal(queue.shift(), null);
      }),
      { seed: 3 },
    );
  });

  it('may hold an item several times', () => {
    const queue = new Queue();
    for (const item of ['a', 'b', 'a']) queue.push(item);
    assert.deepEqual([queue.shift(), queue.shift(), queue.shift(), queue.shift()], ['a', 'b', 'a', null]);
  });

  it('releases items that were taken', async () => {
    /** @type {Queue<object>} */
    const queue = new Queue();
    let collected = 0;
    const registry = new FinalizationRegistry(() => (collected += 1));
    // In a function of its own, so that nothing of it stays on the stack.
    (() => {
      for (let i = 0; i < 1000; i += 1) {
        const item = { i };
        registry.register(item, i);
        queue.push(item);
      }
      for (let i = 0; i < 900; i += 1) queue.shift();
    })();
    const { setFlagsFromString } = await import('node:v8');
    const { runInNewContext } = await import('node:vm');
    setFlagsFromString('--expose-gc');
    const collect = runInNewContext('gc');
    for (let turns = 0; turns < 50 && collected < 800; turns += 1) {
      collect();
      await new Promise((resolve) => setImmediate(resolve));
    }
    assert.ok(collected >= 800 && collected <= 900, `${collected} of 900 were collected`);
    assert.ok(queue.shift() !== null);
  });

  it('a million pushes and shifts are fast', () => {
    /** @type {Queue<number>} */
    const queue = new Queue();
    const startedAt = process.hrtime.bigint();
    for (let i = 0; i < 200_000; i += 1) queue.push(i);
    for (let i = 0; i < 800_000; i += 1) queue.push(/** @type {number} */ (queue.shift()));
    assert.ok(process.hrtime.bigint() - startedAt < 3_000_000_000n);
  });
});
