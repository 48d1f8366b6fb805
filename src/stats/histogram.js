import { inflateSync } from 'node:zlib';
import * as hdr from 'hdr-histogram-js';
import { InputError } from '../errors.js';

/**
 * @import * as Contract from '../contracts/load.d.ts'
 * @import { DistributionState } from '../contracts/load.d.ts'
 * @import { DistributionJson } from '../contracts/run-file.d.ts'
 */

/**
 * Distributions of durations, and the histograms of run files in HdrHistogram's V2 encoding. A run file can come from
 * anywhere, so reading a histogram takes bounded memory and time. Values whose first three digits differ are in different
 * buckets.
 *
 * @typedef {object} Bounds censored values are known to be at least the time waited; they may be infinite
 * @property {number | null} us with censored values as the time waited; null when nothing was recorded
 * @property {number} atMostUs with them as infinity, the same where that makes no difference
 *
 * @typedef {Pick<DistributionJson, 'count' | 'sumUs' | 'maxUs' | 'hdr'>} Encoded
 */

const DIGITS = 3;
/** Bits of each count: a merge may have more values than 32 bits can count. */
const COUNT_BITS = 64;
const HEADER_BYTES = 40;
/** Buckets for all values that a double holds exactly, with nine bytes a count. */
const MOST_BYTES = HEADER_BYTES + 9 * 44 * 1024;

/**
 * @param {Encoded} json
 * @returns {hdr.JsHistogram}
 * @throws {InputError} which says what is wrong with it
 */
function decoded({ count, sumUs, maxUs, hdr: text }) {
  // All values are 0, as the lag of a closed loop is: decoding is not needed.
  if (maxUs === 0 && sumUs === 0) {
    const zeros = emptyHistogram();
    zeros.recordValueWithCount(0, count);
    return zeros;
  }
  let histogram;
  try {
    histogram = /** @type {hdr.JsHistogram} */ (hdr.decodeFromCompressedBase64(checked(text), COUNT_BITS));
  } catch (error) {
    throw new InputError('a histogram cannot be decoded', error);
  }
  const { totalCount } = histogram;
  if (totalCount !== count) throw new InputError(`a histogram holds ${totalCount} values, and its count is ${count}`);
  if (histogram.lowestEquivalentValue(histogram.maxValue) > (maxUs ?? 0))
    throw new InputError('a histogram holds values above its maximum');
  return histogram;
}

/** The library believes the header and inflates without a limit. @param {string} base64 @returns {string} the text of the bytes that were checked */
function checked(base64) {
  const packed = Buffer.from(base64, 'base64');
  const bytes = inflateSync(packed.subarray(8), { maxOutputLength: MOST_BYTES });
  const payloadBytes = bytes.readInt32BE(4);
  if (payloadBytes < 0 || payloadBytes > bytes.length - HEADER_BYTES) throw new RangeError('it is cut');
  const [offset, digits] = [bytes.readInt32BE(8), bytes.readInt32BE(12)];
  // Older encoders wrote 1 as the offset; it has no meaning for counts that are not shifted.
  if (offset < 0 || offset > 1 || digits !== DIGITS || bytes.readBigInt64BE(16) !== 1n)
    throw new RangeError('it has other units or digits than those of stress');
  return packed.toString('base64');
}

/**
 * The recorded values: for each bucket its middle, limited to the minimum and maximum, and the count.
 * @param {DistributionJson} json
 * @returns {Array<{valueUs: number, count: number}>} ascending
 * @throws {InputError} which says what is wrong with its histogram
 */
export function recordedValues(json) {
  if (json.count === 0) return [];
  const { minUs, maxUs } = json;
  const histogram = decoded(json);
  /** @type {Array<{valueUs: number, count: number}>} */
  const values = [];
  eachValue(histogram, minUs ?? 0, maxUs ?? Infinity, (valueUs, count) => values.push({ valueUs, count }));
  return values;
}

/**
 * @typedef {'avg' | 'min' | 'max' | 'stddev'} Statistic
 */

/** @implements {Contract.Distribution} */
export class Distribution {
  count = 0;
  sumUs = 0;
  minUs = Infinity;
  maxUs = -Infinity;
  /** Created with the first value: most distributions of an interval stay empty. @type {hdr.JsHistogram | null} */
  #histogram = null;
  /** Whether the histogram knows its total and maximum, which add() leaves for later. */
  #isSettled = true;

  /** @param {number} valueUs a whole number of microseconds, not negative */
  record(valueUs) {
    this.count += 1;
    this.sumUs += valueUs;
    if (valueUs < this.minUs) this.minUs = valueUs;
    if (valueUs > this.maxUs) this.maxUs = valueUs;
    (this.#histogram ??= emptyHistogram()).recordValue(valueUs);
  }

  /**
   * Adds the values of another distribution. The figures are those of all values recorded into one.
   * @param {Contract.Distribution | DistributionJson | DistributionState} other
   * @returns {this}
   * @throws {InputError} which says what is wrong with its histogram
   */
  add(other) {
    if (other.count === 0) return this;
    const maxUs = other.maxUs ?? 0;
    const histogram = (this.#histogram ??= emptyHistogram());
    // Allocates it once; growing it value by value takes five times as long.
    histogram.recordValueWithCount(maxUs, 0);
    const add = (/** @type {number} */ bucket, /** @type {number} */ count) =>
      histogram.addToCountAtIndex(bucket, count);
    if (other instanceof Distribution) eachBucket(other.#histogram, add);
    else if ('hdr' in other) eachBucket(decoded(other), add);
    else if ('buckets' in other) other.buckets.forEach((bucket, i) => add(bucket, other.counts[i]));
    this.#isSettled = false;
    this.count += other.count;
    this.sumUs += other.sumUs;
    this.minUs = Math.min(this.minUs, other.minUs ?? Infinity);
    this.maxUs = Math.max(this.maxUs, maxUs);
    return this;
  }

  #settled() {
    const histogram = (this.#histogram ??= emptyHistogram());
    if (!this.#isSettled) histogram.establishInternalTackingValues();
    this.#isSettled = true;
    return histogram;
  }

  /** @returns {number | null} */
  get meanUs() {
    return this.count === 0 ? null : this.sumUs / this.count;
  }

  /**
   * @param {number} percentile from 0 to 100
   * @returns {number | null} in microseconds, rounded as the histogram rounds, never beyond what was recorded
   */
  percentileUs(percentile) {
    if (this.count === 0) return null;
    const value = this.#settled().getValueAtPercentile(percentile);
    return Math.min(Math.max(value, this.minUs), this.maxUs);
  }

  /**
   * The percentile with censored values as infinity.
   * @param {number} percentile from 0 to 100
   * @param {Contract.Distribution | number} censored values: those in this distribution, or how many more there are
   * @returns {number} in microseconds; Infinity where it is a censored one
   */
  percentileAtMostUs(percentile, censored) {
    const [known, all] =
      typeof censored === 'number' ? [this.count, this.count + censored] : [this.count - censored.count, this.count];
    const exactRank = (percentile / 100) * all;
    // A whole product may come out a little larger; the histogram allows for that as well.
    const rank = Math.max(1, Math.ceil(exactRank * (1 - Number.EPSILON)));
    if (rank > known) return Infinity;
    const histogram = this.#settled();
    const others = censored instanceof Distribution ? censored.#histogram : null;
    for (let i = 0, knownBelow = 0, below = 0; below < this.count; i += 1) {
      const count = histogram.getCountAtIndex(i);
      below += count;
      knownBelow += count - (others?.getCountAtIndex(i) || 0);
      if (knownBelow < rank) continue;
      const valueUs = histogram.highestEquivalentValue(histogram.valueFromIndex(i));
      return Math.min(Math.max(valueUs, this.minUs), this.maxUs);
    }
    return Infinity;
  }

  /** @returns {DistributionJson} */
  toJSON() {
    const empty = this.count === 0;
    return {
      count: this.count,
      sumUs: this.sumUs,
      minUs: empty ? null : this.minUs,
      maxUs: empty ? null : this.maxUs,
      meanUs: this.meanUs,
      stddevUs: empty ? null : this.#stddevUs(),
      .../** @type {StoredPercentiles} */ (
        Object.fromEntries(STORED_PERCENTILES.map((p) => [memberOf(p), this.percentileUs(p)]))
      ),
      hdr: hdr.encodeIntoCompressedBase64(this.#settled()),
    };
  }

  /** The lowest value of each bucket, ascending, with its count. @returns {Array<[number, number]>} */
  lowestValues() {
    /** @type {Array<[number, number]>} */
    const values = [];
    eachBucket(this.#histogram, (bucket, count) => {
      values.push([/** @type {hdr.JsHistogram} */ (this.#histogram).valueFromIndex(bucket), count]);
    });
    return values;
  }

  /** Plain data that costs less than JSON. @returns {DistributionState} */
  toState() {
    /** @type {number[]} */
    const buckets = [];
    /** @type {number[]} */
    const counts = [];
    eachBucket(this.#histogram, (bucket, count) => {
      buckets.push(bucket);
      counts.push(count);
    });
    const { count, sumUs, minUs, maxUs } = this;
    return { count, sumUs, minUs, maxUs, buckets: Uint32Array.from(buckets), counts: Float64Array.from(counts) };
  }

  /** @param {DistributionJson | DistributionState} data @throws {InputError} which says what is wrong with its histogram */
  static from(data) {
    return new Distribution().add(data);
  }

  /** The standard deviation of the rounded values: the library's own function takes milliseconds. */
  #stddevUs() {
    const meanUs = this.sumUs / this.count;
    let squares = 0;
    const add = (/** @type {number} */ valueUs, /** @type {number} */ count) => {
      squares += count * (valueUs - meanUs) ** 2;
    };
    eachValue(this.#settled(), this.minUs, this.maxUs, add);
    return Math.sqrt(squares / this.count);
  }
}

/** @type {Readonly<Record<Statistic, 'meanUs' | 'minUs' | 'maxUs' | 'stddevUs'>>} */
export const STATISTICS = Object.freeze({ avg: 'meanUs', min: 'minUs', max: 'maxUs', stddev: 'stddevUs' });

/** Members of the run file. @typedef {Pick<DistributionJson, 'p50Us' | 'p75Us' | 'p90Us' | 'p95Us' | 'p99Us' | 'p999Us'>} StoredPercentiles */
const STORED_PERCENTILES = Object.freeze([50, 75, 90, 95, 99, 99.9]);

/** @param {number} p @returns {keyof StoredPercentiles} */
function memberOf(p) {
  return /** @type {any} */ (`p${String(p).replace('.', '')}Us`);
}

/** @param {string} word such as avg or p99.9 @returns {Statistic | number | null} */
export function statisticOf(word) {
  if (Object.hasOwn(STATISTICS, word)) return /** @type {Statistic} */ (word);
  const percentile = Number(/^p(\d+(?:\.\d+)?)$/.exec(word)?.[1]);
  return percentile > 0 && percentile < 100 ? percentile : null;
}

/**
 * A figure of a distribution with its upper bound.
 * @param {DistributionJson} json
 * @param {DistributionJson | number | undefined} censored values: those in it, or how many more there are
 * @param {Statistic | number} statistic a number is a percentile
 * @returns {Bounds}
 */
export function boundsOf(json, censored = 0, statistic) {
  const count = typeof censored === 'number' ? censored : censored.count;
  const isPercentile = typeof statistic === 'number';
  const member = isPercentile ? memberOf(statistic) : STATISTICS[statistic];
  const stored = !isPercentile || STORED_PERCENTILES.includes(statistic) ? member : undefined;
  if (stored !== undefined && count === 0) return { us: json[stored], atMostUs: json[stored] ?? Infinity };
  const all = Distribution.from(json);
  const us = stored === undefined ? all.percentileUs(Number(statistic)) : json[stored];
  if (us === null || count === 0) return { us, atMostUs: us ?? Infinity };
  const part = typeof censored === 'number' ? censored : Distribution.from(censored);
  if (isPercentile) return { us, atMostUs: Math.max(us, all.percentileAtMostUs(statistic, part)) };
  if (statistic !== 'min') return { us, atMostUs: Infinity };
  const isKnown = typeof part === 'number' || part.minUs > us;
  return { us, atMostUs: isKnown ? us : all.percentileAtMostUs(0, part) };
}

function emptyHistogram() {
  return /** @type {hdr.JsHistogram} */ (
    hdr.build({
      bitBucketSize: COUNT_BITS,
      autoResize: true,
      numberOfSignificantValueDigits: DIGITS,
      useWebAssembly: false,
    })
  );
}

/** @param {hdr.JsHistogram | null} histogram @param {(bucket: number, count: number) => void} visit by index, those with values */
function eachBucket(histogram, visit) {
  for (let bucket = 0; bucket < (histogram?.countsArrayLength ?? 0); bucket += 1) {
    const count = /** @type {hdr.JsHistogram} */ (histogram).getCountAtIndex(bucket);
    if (count > 0) visit(bucket, count);
  }
}

/**
 * The middle of each bucket, within the bounds.
 * @param {hdr.JsHistogram} histogram
 * @param {number} minUs
 * @param {number} maxUs
 * @param {(valueUs: number, count: number) => void} visit
 */
function eachValue(histogram, minUs, maxUs, visit) {
  eachBucket(histogram, (bucket, count) => {
    const lowestUs = histogram.valueFromIndex(bucket);
    const middleUs = lowestUs + Math.floor(histogram.sizeOfEquivalentValueRange(lowestUs) / 2);
    visit(Math.min(Math.max(middleUs, minUs), maxUs), count);
  });
}
