import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { SAME_TIME, merge } from '../../../src/stats/merge.js';
import { REORGS } from '../../../src/stats/metrics.js';
import { noReorgs, reorgInWords, reorgsOf as reorgOf } from '../../../src/stats/reorgs.js';
import { equalBy } from '../../helpers/equal-by.js';

/** @import { ReorgEvent, Reorgs } from '../../../src/contracts/run-file.d.ts' */

/** Events that are kept one by one, and operations of one of them, as src/stats/reorgs.js has it. */
const KEPT = 100;
const TOUCHED = 20;

/** @param {Partial<ReorgEvent>} [given] @returns {ReorgEvent} */
const eventOf = (given) => ({
  atMs: 1000,
  blockNumber: 7,
  blockHash: '0x7',
  depth: 1,
  operations: 2,
  touched: [],
  isComplete: true,
  ...given,
});

/** @param {ReorgEvent[]} events */
function reorgsOf(...events) {
  return events.reduce((sum, event) => merge(REORGS, sum, reorgOf(event), 0.5), noReorgs());
}

/** @param {Reorgs[]} all @returns {Reorgs} */
function mergeReorgs(all) {
  return all.reduce((a, b) => merge(REORGS, a, b, SAME_TIME), noReorgs());
}

/** @param {number} walletIndex */
const touchedOf = (walletIndex) => ({ walletIndex, nonce: 0, hash: null });

describe('reorgs of several threads', () => {
  it('what several threads saw of one reorganisation is one event, with the operations of all', () => {
    const [a, b] = [
      eventOf({ atMs: 1010, operations: 2, touched: [touchedOf(1), touchedOf(2)] }),
      eventOf({ atMs: 1000, operations: 3, depth: 4, touched: [touchedOf(3)], isComplete: false }),
    ];
    const before = structuredClone([a, b]);
    assert.deepEqual(mergeReorgs([reorgsOf(a), reorgsOf(b)]), {
      count: 1,
      deepest: 4,
      operations: 5,
      events: [
        eventOf({
          atMs: 1000,
          depth: 4,
          operations: 5,
          isComplete: false,
          touched: [touchedOf(1), touchedOf(2), touchedOf(3)],
        }),
      ],
    });
    assert.deepEqual([a, b], before, 'what the threads said is not changed');
  });

  it('another block, or another one of the same number, is another reorganisation', () => {
    const merged = mergeReorgs([
      reorgsOf(eventOf({ atMs: 3 }), eventOf({ atMs: 9, blockHash: '0x77' })),
      reorgsOf(eventOf({ atMs: 1, blockNumber: 8 })),
    ]);
    assert.equal(merged.count, 3);
    equalBy(merged.events, ({ atMs }) => atMs, [1, 3, 9], 'in the order in which they were noticed');
  });

  it('is bounded as one thread is', () => {
    const threads = [0, 1].map((thread) =>
      reorgsOf(
        eventOf({ atMs: -1, touched: Array.from({ length: TOUCHED - 5 }, (_, i) => touchedOf(i)) }),
        ...Array.from({ length: KEPT - 1 }, (_, i) => eventOf({ atMs: i, blockHash: `0x${thread}-${i}` })),
      ),
    );
    const { count, events } = mergeReorgs(threads);
    assert.deepEqual([count, events.length, events[0].touched.length], [2 * KEPT - 1, KEPT, TOUCHED]);
  });
});

it('reorgInWords(): has depth, first block, number of own operations and completeness', () => {
  assert.equal(reorgInWords(eventOf()), 'reorg: 1 block from 7 on left the chain, with 2 of our operations');
  assert.equal(
    reorgInWords(eventOf({ depth: 3, isComplete: false })),
    'reorg: 3 blocks from 7 on left the chain, with 2 of our operations, and older ones that are not remembered',
  );
});
