import assert from 'node:assert/strict';
import { it } from 'node:test';
import fc from 'fast-check';
import { Queue } from '../../../src/core/queue.js';

it('Queue: behaves like an array for any order of push and shift', () => {
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
