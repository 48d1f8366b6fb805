import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { sliceIndexes } from '../../../src/run/slice.js';

describe('sliceIndexes()', () => {
  /** @type {Array<[number, number, number[]]>} offset, threads, indexes */
  const table = [
    [0, 1, [0]],
    [0, 3, [0, 1, 2]],
    [250, 2, [250, 251]],
    [2 ** 31 - 2, 2, [2 ** 31 - 2, 2 ** 31 - 1]],
    [5, 0, []],
  ];
  for (const [offset, threads, expected] of table) {
    it(`${threads} from ${offset}`, () => assert.deepEqual(sliceIndexes({ offset, threads }), expected));
  }

  it('slices that follow each other cover every index once', () => {
    fc.assert(
      fc.property(fc.nat({ max: 1e6 }), fc.array(fc.nat({ max: 50 }), { minLength: 1 }), (first, sizes) => {
        let offset = first;
        const indexes = sizes.flatMap((threads) => {
          const slice = sliceIndexes({ offset, threads });
          offset += threads;
          return slice;
        });
        assert.deepEqual(
          indexes,
          Array.from({ length: offset - first }, (_, i) => first + i),
        );
      }),
      { seed: 4 },
    );
  });
});
