import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { sliceIndexes, splitSlice } from '../../../src/core/nonces.js';

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

  it('consecutive slices cover every index once', () => {
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

describe('splitSlice()', () => {
  /** @type {Array<[number, number, number, string]>} offset, threads, parts, what becomes of them */
  const table = [
    [0, 4, 1, '0+4'],
    [5, 6, 3, '5+2 7+2 9+2'],
    [100, 3, 3, '100+1 101+1 102+1'],
    [2 ** 31 - 5, 5, 2, '2147483643+3 2147483646+2'],
  ];
  for (const [offset, threads, parts, expected] of table) {
    it(`${threads} from ${offset} in ${parts}`, () => {
      const split = splitSlice({ offset, threads }, parts);
      assert.equal(split.map((part) => `${part.offset}+${part.threads}`).join(' '), expected);
    });
  }

  it('parts cover the slice without overlap, are not empty and differ by at most one', () => {
    const slices = fc.integer({ min: 1, max: 100_000 }).chain((threads) =>
      fc.record({
        offset: fc.nat({ max: 2 ** 31 - threads }),
        threads: fc.constant(threads),
        parts: fc.integer({ min: 1, max: Math.min(threads, 64) }),
      }),
    );
    fc.assert(
      fc.property(slices, ({ offset, threads, parts }) => {
        const split = splitSlice({ offset, threads }, parts);
        assert.equal(split.length, parts);
        let next = offset;
        for (const part of split) {
          assert.equal(part.offset, next, 'each begins where the one before it ended');
          next += part.threads;
        }
        assert.equal(next, offset + threads);
        const sizes = split.map((part) => part.threads);
        assert.ok(Math.min(...sizes) >= 1, `an empty part: ${sizes}`);
        assert.ok(Math.max(...sizes) - Math.min(...sizes) <= 1, `uneven parts: ${sizes}`);
      }),
      { seed: 5, numRuns: 1000 },
    );
  });
});
