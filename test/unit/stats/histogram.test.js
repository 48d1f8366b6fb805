/** Histograms as run files have them, which may come from anywhere. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { deflateSync } from 'node:zlib';
import fc from 'fast-check';
import { decodeFromCompressedBase64 } from 'hdr-histogram-js';
import { InputError } from '../../../src/errors.js';
import { Distribution, recordedValues } from '../../../src/stats/histogram.js';

/** @import { DistributionJson } from '../../../src/types.d.ts' */

/** @param {number[]} values */
function jsonOf(values) {
  const distribution = new Distribution();
  for (const value of values) distribution.record(value);
  return distribution.toJSON();
}

/** @param {{payload?: Buffer, cookie?: number, digits?: number, length?: number}} [changes] */
function encoded({ payload = Buffer.from([2]), cookie = 0x1c849303, digits = 3, length = payload.length } = {}) {
  const header = Buffer.alloc(40);
  header.writeInt32BE(cookie | 0x10, 0);
  header.writeInt32BE(length, 4);
  header.writeInt32BE(digits, 12);
  header.writeBigInt64BE(1n, 16);
  header.writeBigInt64BE(2n ** 40n, 24);
  const packed = deflateSync(Buffer.concat([header, payload]));
  const start = Buffer.alloc(8);
  start.writeInt32BE(0x1c849304 | 0x10, 0);
  start.writeInt32BE(packed.length, 4);
  return Buffer.concat([start, packed]).toString('base64');
}

/** Everything that reads a histogram. @type {Record<string, (json: DistributionJson) => unknown>} */
const READERS = {
  'Distribution.from()': (json) => Distribution.from(json),
  'recordedValues()': (json) => recordedValues(json),
};

describe('a histogram', () => {
  it('has what was recorded, in the buckets of the library', () => {
    const values = fc.array(fc.oneof(fc.nat({ max: 5000 }), fc.nat({ max: 2 ** 31 - 1 }), fc.maxSafeNat()), {
      minLength: 1,
    });
    fc.assert(
      fc.property(values, (list) => {
        const json = jsonOf(list);
        const theirs = /** @type {any} */ (decodeFromCompressedBase64(json.hdr, 32, false));
        const found = recordedValues(json);
        assert.equal(
          found.reduce((sum, { count }) => sum + count, 0),
          list.length,
        );
        for (const { valueUs, count } of found) assert.equal(theirs.getCountAtValue(valueUs), count);
        assert.ok(found[0].valueUs >= Math.min(...list) && (found.at(-1)?.valueUs ?? 0) <= Math.max(...list));
        assert.deepEqual(Distribution.from(json).toJSON(), json);
      }),
      { seed: 5 },
    );
  });

  it('holds more values of one kind than 32 bits can count', () => {
    const sum = new Distribution();
    const part = { ...new Distribution().toJSON(), count: 3e9, minUs: 0, maxUs: 0 };
    sum.add(part).add(part);
    const json = sum.toJSON();
    assert.deepEqual([json.count, json.p50Us, json.p99Us], [6e9, 0, 0]);
    const read = new Distribution();
    read.add({ ...json, maxUs: 1 });
    assert.equal(read.count, 6e9, 'its histogram has them all');
  });

  for (const [name, read] of Object.entries(READERS)) {
    it(`${name}: is refused with a one-line message`, () => {
      const json = jsonOf([1, 2, 3]);
      /** @type {Array<[string, RegExp]>} */
      const bad = [
        ['', /cannot be decoded/],
        ['AAAA', /cannot be decoded/],
        [json.hdr.slice(0, 40), /cannot be decoded/],
        [encoded({ cookie: 1 }), /cannot be decoded/],
        [encoded({ digits: 5 }), /cannot be decoded/],
        // The library would read 2^30 places.
        [encoded({ length: 2 ** 30 }), /cannot be decoded/],
        [encoded(), /holds 1 values, and its count is 3/],
        // Nothing at places 0 to 5000, then three values.
        [encoded({ payload: Buffer.from([0x91, 0x4e, 6]) }), /above its maximum/],
      ];
      for (const [hdr, words] of bad) {
        assert.throws(
          () => read({ ...json, hdr }),
          (error) => error instanceof InputError && words.test(error.message),
          String(words),
        );
      }
    });

    it(`${name}: does not allocate 50 MB for a decompression bomb`, () => {
      const hdr = encoded({ payload: Buffer.alloc(50_000_000) });
      assert.ok(hdr.length < 100_000, `${hdr.length} characters`);
      const before = process.memoryUsage().arrayBuffers;
      assert.throws(() => read({ ...jsonOf([1, 2, 3]), hdr }), /a histogram cannot be decoded/);
      assert.ok(process.memoryUsage().arrayBuffers - before < 20_000_000);
    });
  }
});
