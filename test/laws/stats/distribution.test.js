import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { deflateSync } from 'node:zlib';
import fc from 'fast-check';
import { decodeFromCompressedBase64 } from 'hdr-histogram-js';
import { InputError } from '../../../src/errors.js';
import { boundsOf, Distribution, recordedValues } from '../../../src/stats/histogram.js';
import { histogram, merge } from '../../../src/stats/merge.js';

/** @import { DistributionJson } from '../../../src/contracts/run-file.d.ts' */

const SEED = 11;

/** Durations of loads, and those around the limit of 32 bits. */
const durations = fc.oneof(
  { weight: 5, arbitrary: fc.nat({ max: 10_000_000 }) },
  { weight: 1, arbitrary: fc.constantFrom(0, 1, 2047, 2048) },
  { weight: 1, arbitrary: fc.integer({ min: 2 ** 32 - 5, max: 2 ** 33 }) },
);
const lists = fc.array(durations, { maxLength: 50 });

/** @param {number[]} values */
function distributionOf(values) {
  const distribution = new Distribution();
  for (const value of values) distribution.record(value);
  return distribution;
}

/**
 * Everything a distribution says, the histogram by what is in it: its encoding also states how large a value it has
 * room for, which depends on its history.
 * @param {Distribution} distribution
 */
function contentsOf(distribution) {
  const { hdr, ...figures } = distribution.toJSON();
  const decoded = decodeFromCompressedBase64(hdr, 32, false);
  const steps = Array.from({ length: 41 }, (_, i) => decoded.getValueAtPercentile(i * 2.5));
  return { figures, total: decoded.totalCount, steps };
}

it('merge() changes neither side, and its sum is its own', () => {
  const sides = [distributionOf([1, 2]), distributionOf([3]), new Distribution()];
  const before = sides.map(contentsOf);
  for (const a of sides)
    for (const b of sides) {
      merge(histogram, a, b).record(5);
      merge(histogram, a, null).record(5);
      merge(histogram, undefined, b).record(5);
    }
  assert.deepEqual(sides.map(contentsOf), before);
});

describe('Distribution', () => {
  it('the standard deviation is rounded as percentiles are', () => {
    const of = (/** @type {number[]} */ values) => distributionOf(values).toJSON().stddevUs;
    assert.equal(of(Array.from({ length: 9 }, () => 123_456)), 0);
    const values = Array.from({ length: 1000 }, (_, i) => 1_000_000 + i * 1000);
    const exact = Math.sqrt((1000 ** 2 - 1) / 12) * 1000;
    assert.ok(Math.abs(Number(of(values)) / exact - 1) < 1e-3, String(of(values)));
  });

  it('sums are exact', () => {
    fc.assert(
      fc.property(lists, (values) => {
        const distribution = distributionOf(values);
        const sum = values.map(BigInt).reduce((a, b) => a + b, 0n);
        assert.equal(distribution.count, values.length);
        assert.equal(BigInt(distribution.sumUs), sum);
        assert.equal(distribution.minUs, Math.min(...values));
        assert.equal(distribution.maxUs, Math.max(...values));
        assert.equal(distribution.meanUs, values.length === 0 ? null : Number(sum) / values.length);
      }),
      { seed: SEED },
    );
  });

  it('merging after a round trip through JSON equals recording all', () => {
    fc.assert(
      fc.property(lists, lists, (a, b) => {
        const read = Distribution.from(JSON.parse(JSON.stringify(distributionOf(a))));
        assert.deepEqual(contentsOf(read), contentsOf(distributionOf(a)));
        const other = distributionOf(b);
        const before = JSON.stringify(other);
        assert.deepEqual(contentsOf(read.add(other)), contentsOf(distributionOf([...a, ...b])));
        assert.equal(JSON.stringify(other), before);
      }),
      { seed: SEED },
    );
  });

  it('censored values may be infinite: a percentile is bounded by both ways to see them', () => {
    const percentiles = fc.oneof(fc.constantFrom(1, 50, 75, 90, 95, 99, 99.9), fc.integer({ min: 1, max: 99 }));
    fc.assert(
      fc.property(lists, lists, percentiles, (known, waited, percentile) => {
        const all = [...known, ...waited].sort((a, b) => a - b);
        const json = distributionOf(all).toJSON();
        const censored = distributionOf(waited).toJSON();
        const { us, atMostUs } = boundsOf(json, censored, percentile);
        if (all.length === 0) return assert.equal(us, null);
        const rank = Math.ceil((percentile * all.length) / 100 - 1e-9);
        const near = (/** @type {number | null} */ value, /** @type {number} */ exact) =>
          assert.ok(Number(value) >= exact * 0.999 - 1 && Number(value) <= exact * 1.001 + 1, `${value}, not ${exact}`);
        near(us, all[Math.max(0, rank - 1)]);
        if (rank > known.length) return assert.equal(atMostUs, Infinity);
        near(atMostUs, known.toSorted((a, b) => a - b)[Math.max(0, rank - 1)]);
        // As many that are not in it.
        const beside = boundsOf(distributionOf(known).toJSON(), waited.length, percentile);
        near(Math.max(beside.atMostUs, Number(us)), atMostUs);
      }),
      { seed: SEED, numRuns: 500 },
    );
  });

  it('so are the extremes and the mean', () => {
    const [json, later, earlier] = [[10, 20, 30, 40], [40], [10]].map((values) => distributionOf(values).toJSON());
    for (const statistic of /** @type {const} */ (['avg', 'max', 'stddev'])) {
      assert.equal(boundsOf(json, later, statistic).atMostUs, Infinity, statistic);
      assert.equal(boundsOf(json, undefined, statistic).atMostUs, boundsOf(json, 0, statistic).us, statistic);
    }
    assert.deepEqual(boundsOf(json, later, 'min'), { us: 10, atMostUs: 10 });
    assert.deepEqual(boundsOf(json, earlier, 'min'), { us: 10, atMostUs: 20 });
    assert.deepEqual(boundsOf(json, json, 'min'), { us: 10, atMostUs: Infinity });
  });

  it('refuses values that are not durations', () => assert.throws(() => new Distribution().record(-1)));
});

/** @param {number[]} values */
const jsonOf = (values) => distributionOf(values).toJSON();

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
