import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { SharedBlocks, blockIntervalMs, noBlocks } from '../../../src/stats/blocks.js';
import { blockOf as seenBlock } from '../../helpers/samples.js';

/** @import { SeenBlock } from '../../../src/contracts/chain.d.ts' */

/** @param {number} number @param {Partial<SeenBlock>} [given] */
const blockOf = (number, given) =>
  seenBlock({ number, hash: `0x${number}`, transactions: 9, ours: 1, gasUsed: 100, skewMs: 50, ...given });

function setUp() {
  /** @type {SeenBlock[]} */
  const whole = [];
  const shared = new SharedBlocks((block) => whole.push(block));
  return { shared, whole, seen: () => whole.map(({ hash, ours }) => [hash, ours]) };
}

describe('SharedBlocks', () => {
  it('a block counts once all threads have seen it, with the transactions of each', () => {
    const { shared, whole } = setUp();
    shared.add(blockOf(1, { ours: 2, ownGasLimit: 20, skewMs: 50, seenAtMs: 50 }), 3);
    shared.add(blockOf(1, { ours: 3, ownGasLimit: 30, skewMs: 40, seenAtMs: 40 }), 3);
    assert.deepEqual([whole, shared.take(false).count], [[], 0]);
    shared.add(blockOf(1, { ours: 4, ownGasLimit: 40, skewMs: 60, seenAtMs: 60 }), 3);
    assert.deepEqual(whole, [blockOf(1, { ours: 9, ownGasLimit: 90, skewMs: 40, seenAtMs: 40 })]);
    const { count, transactions, ours, skewSumMs, gasUsed } = shared.take(false);
    assert.deepEqual([count, transactions, ours, skewSumMs, gasUsed], [1, 9, 9, 40, 100]);
    assert.equal(shared.take(false).count, 0, 'it was taken');
  });

  it('two of the same number, seen at different times, are not mixed up', () => {
    const { shared, seen } = setUp();
    // One thread is at the block that replaces the other before the second has seen the first.
    for (const [hash, ours] of /** @type {const} */ ([
      ['0xold', 1],
      ['0xnew', 10],
      ['0xold', 2],
      ['0xnew', 20],
    ])) {
      shared.add(blockOf(7, { hash, ours }), 2);
    }
    assert.deepEqual(seen(), [
      ['0xold', 3],
      ['0xnew', 30],
    ]);
    const { count, firstNumber, lastNumber } = shared.take(false);
    assert.deepEqual([count, firstNumber, lastNumber], [2, 7, 7]);
  });

  it('a block that a thread never sees because of a reorg counts with the next block that all have seen', () => {
    const { shared, seen } = setUp();
    shared.add(blockOf(7, { hash: '0xold', ours: 5 }), 2);
    shared.add(blockOf(7, { hash: '0xnew' }), 2);
    assert.deepEqual(seen(), []);
    shared.add(blockOf(7, { hash: '0xnew' }), 2);
    assert.deepEqual(seen(), [
      ['0xold', 5],
      ['0xnew', 2],
    ]);
    assert.equal(shared.take(true).count, 2, 'and not again in the end');
  });

  it('in the end what not all have seen counts too, once', () => {
    const { shared, seen } = setUp();
    shared.add(blockOf(1), 2);
    shared.add(blockOf(2), 2);
    assert.equal(shared.take(false).count, 0);
    assert.equal(shared.take(true).count, 2);
    assert.equal(shared.take(true).count, 0);
    assert.deepEqual(seen(), [
      ['0x1', 1],
      ['0x2', 1],
    ]);
  });
});

it('blockIntervalMs(): from the first block to the last one, however the window lies', () => {
  const blocks = { ...noBlocks(), count: 11, firstSeenAtMs: 5000, lastSeenAtMs: 15_090 };
  for (const durationMs of [10_200, 12_000]) assert.equal(blockIntervalMs(blocks, durationMs), 1009);

  const two = { ...noBlocks(), count: 2, firstSeenAtMs: 5000, lastSeenAtMs: 7000 };
  assert.equal(blockIntervalMs(two, 5000), 2000, 'two blocks, and almost an interval on both sides');
  const late = { ...noBlocks(), count: 4, firstSeenAtMs: 9000, lastSeenAtMs: 9100 };
  assert.equal(blockIntervalMs(late, 4000), 1000, 'seen all at once');

  assert.equal(blockIntervalMs({ ...noBlocks(), count: 4 }, 4000), 1000);
});
