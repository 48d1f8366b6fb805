import * as hdr from 'hdr-histogram-js';
import { decodeHistogram } from './histogram.js';

/** @import { InputError } from '../errors.js' */

/**
 * The distribution of a duration: an HDR histogram (three significant digits) beside the exact count, sum, sum
 * of squares, minimum and maximum, which a histogram alone would round. Distributions merge exactly.
 *
 * @typedef {object} DistributionJson
 * @property {number} count
 * @property {number} sumUs
 * @property {string} sumOfSquaresUs2 a decimal integer, in microseconds squared
 * @property {number | null} minUs null when nothing was recorded, as are all figures below
 * @property {number | null} maxUs
 * @property {number | null} meanUs
 * @property {number | null} stddevUs of the population
 * @property {number | null} p50Us
 * @property {number | null} p75Us
 * @property {number | null} p90Us
 * @property {number | null} p95Us
 * @property {number | null} p99Us
 * @property {number | null} p999Us
 * @property {string} hdr the histogram, compressed and in base64 (HdrHistogram V2 encoding), in microseconds
 *
 * @typedef {object} Bounds of a figure. Censored values are known to be at least the time waited; they may be infinite.
 * @property {number | null} us with censored values as the time waited; null when nothing was recorded
 * @property {number} atMostUs with censored values as infinity; the same as us where that makes no difference
 *
 * @typedef {'avg' | 'min' | 'max' | 'stddev'} Statistic
 */

/** Above this, in microseconds, a square no longer fits into an integer that a double holds exactly. */
const EXACT_SQUARE_LIMIT_US = Math.floor(Math.sqrt(Number.MAX_SAFE_INTEGER / 2));

/** More than one count of 32 bits can be. */
const MOST_IN_32_BITS = 2 ** 32 - 1;

export class Distribution {
  count = 0;
  sumUs = 0;
  minUs = Infinity;
  maxUs = -Infinity;
  #squaresLow = 0;
  #squaresHigh = 0n;
  #histogram = emptyHistogram();

  /** @param {number} valueUs a whole number of microseconds, not negative */
  record(valueUs) {
    this.count += 1;
    this.sumUs += valueUs;
    if (valueUs < this.minUs) this.minUs = valueUs;
    if (valueUs > this.maxUs) this.maxUs = valueUs;
    this.#addSquare(valueUs);
    this.#histogram.recordValue(valueUs);
  }

  /** @param {Distribution} other */
  merge(other) {
    this.count += other.count;
    this.sumUs += other.sumUs;
    this.minUs = Math.min(this.minUs, other.minUs);
    this.maxUs = Math.max(this.maxUs, other.maxUs);
    this.#squaresHigh += other.sumOfSquaresUs2;
    this.#histogram.add(other.#histogram);
  }

  /** @returns {bigint} */
  get sumOfSquaresUs2() {
    return this.#squaresHigh + BigInt(this.#squaresLow);
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
    const value = this.#histogram.getValueAtPercentile(percentile);
    return Math.min(Math.max(value, this.minUs), this.maxUs);
  }

  /**
   * The percentile with censored values as infinity.
   * @param {number} percentile from 0 to 100
   * @param {Distribution | number} censored values: those in this distribution, or how many there are beside it
   * @returns {number} in microseconds; Infinity where it is a censored one
   */
  percentileAtMostUs(percentile, censored) {
    const isBeside = typeof censored === 'number';
    const known = this.count - (isBeside ? 0 : censored.count);
    const exactRank = (percentile / 100) * (isBeside ? this.count + censored : this.count);
    // A product that is whole may come out a little larger; the histogram allows for that, too.
    const rank = Math.max(1, Math.ceil(exactRank * (1 - Number.EPSILON)));
    if (rank > known) return Infinity;
    const histogram = /** @type {hdr.JsHistogram} */ (this.#histogram);
    const others = isBeside ? null : /** @type {hdr.JsHistogram} */ (censored.#histogram);
    for (let i = 0, seen = 0, all = 0; all < this.count; i += 1) {
      const count = histogram.getCountAtIndex(i);
      all += count;
      seen += count - (others?.getCountAtIndex(i) || 0);
      if (seen < rank) continue;
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
      sumOfSquaresUs2: String(this.sumOfSquaresUs2),
      minUs: empty ? null : this.minUs,
      maxUs: empty ? null : this.maxUs,
      meanUs: this.meanUs,
      stddevUs: empty ? null : this.#stddevUs(),
      p50Us: this.percentileUs(50),
      p75Us: this.percentileUs(75),
      p90Us: this.percentileUs(90),
      p95Us: this.percentileUs(95),
      p99Us: this.percentileUs(99),
      p999Us: this.percentileUs(99.9),
      hdr: hdr.encodeIntoCompressedBase64(this.#histogram),
    };
  }

  /**
   * @param {DistributionJson} json
   * @returns {Distribution}
   * @throws {InputError} which says what is wrong with its histogram
   */
  static fromJSON(json) {
    const { count, sumUs, minUs, maxUs } = json;
    const exact = { count, sumUs, minUs: minUs ?? Infinity, maxUs: maxUs ?? -Infinity };
    const distribution = Distribution.of({ ...exact, sumOfSquaresUs2: BigInt(json.sumOfSquaresUs2) }, []);
    const histogram = /** @type {hdr.JsHistogram} */ (distribution.#histogram);
    // Makes room for all of them; one by one they would take five times as long.
    histogram.recordValueWithCount(maxUs ?? 0, 0);
    decodeHistogram(json, (place, times) => histogram.addToCountAtIndex(place, times));
    histogram.establishInternalTackingValues();
    return distribution;
  }

  /**
   * What was added up elsewhere.
   * @param {{count: number, sumUs: number, sumOfSquaresUs2: bigint, minUs: number, maxUs: number}} exact
   * @param {Iterable<[number, number]>} values as the histogram rounds them, and how often there is each
   * @returns {Distribution}
   */
  static of({ count, sumUs, sumOfSquaresUs2, minUs, maxUs }, values) {
    const distribution = new Distribution();
    Object.assign(distribution, { count, sumUs, minUs, maxUs });
    distribution.#squaresHigh = sumOfSquaresUs2;
    if (count > MOST_IN_32_BITS) distribution.#histogram = emptyHistogram(64);
    for (const [valueUs, times] of values) distribution.#histogram.recordValueWithCount(valueUs, times);
    return distribution;
  }

  /** Kept in a double while that is exact, because a BigInt for each sample would cost more than the histogram. @param {number} valueUs */
  #addSquare(valueUs) {
    if (valueUs > EXACT_SQUARE_LIMIT_US) {
      this.#squaresHigh += BigInt(valueUs) ** 2n;
      return;
    }
    this.#squaresLow += valueUs * valueUs;
    if (this.#squaresLow > Number.MAX_SAFE_INTEGER / 2) {
      this.#squaresHigh += BigInt(this.#squaresLow);
      this.#squaresLow = 0;
    }
  }

  /** Computed in integers, so that it does not lose digits to cancellation. */
  #stddevUs() {
    const count = BigInt(this.count);
    const sum = BigInt(this.sumUs);
    return Math.sqrt(Number(count * this.sumOfSquaresUs2 - sum * sum)) / this.count;
  }
}

/** @type {Readonly<Record<Statistic, 'meanUs' | 'minUs' | 'maxUs' | 'stddevUs'>>} */
export const STATISTICS = Object.freeze({ avg: 'meanUs', min: 'minUs', max: 'maxUs', stddev: 'stddevUs' });

/** @type {ReadonlyMap<number, 'p50Us' | 'p75Us' | 'p90Us' | 'p95Us' | 'p99Us' | 'p999Us'>} */
const STORED_PERCENTILES = new Map([
  [50, 'p50Us'],
  [75, 'p75Us'],
  [90, 'p90Us'],
  [95, 'p95Us'],
  [99, 'p99Us'],
  [99.9, 'p999Us'],
]);

/**
 * A figure of a distribution, and how large it may really be.
 * @param {DistributionJson} json
 * @param {DistributionJson | number | undefined} censored values: those in it, or how many there are beside it
 * @param {Statistic | number} statistic a number is a percentile
 * @returns {Bounds}
 */
export function boundsOf(json, censored = 0, statistic) {
  const count = typeof censored === 'number' ? censored : censored.count;
  const isPercentile = typeof statistic === 'number';
  const stored = isPercentile ? STORED_PERCENTILES.get(statistic) : STATISTICS[statistic];
  if (stored !== undefined && count === 0) return { us: json[stored], atMostUs: json[stored] ?? Infinity };
  const all = Distribution.fromJSON(json);
  const us = stored === undefined ? all.percentileUs(Number(statistic)) : json[stored];
  if (us === null || count === 0) return { us, atMostUs: us ?? Infinity };
  const part = typeof censored === 'number' ? censored : Distribution.fromJSON(censored);
  if (isPercentile) return { us, atMostUs: Math.max(us, all.percentileAtMostUs(statistic, part)) };
  if (statistic !== 'min') return { us, atMostUs: Infinity };
  const isKnown = typeof part === 'number' || part.minUs > us;
  return { us, atMostUs: isKnown ? us : all.percentileAtMostUs(0, part) };
}

/** @param {DistributionJson} a @param {DistributionJson} b @returns {DistributionJson} */
export function mergeJson(a, b) {
  const merged = Distribution.fromJSON(a);
  merged.merge(Distribution.fromJSON(b));
  return merged.toJSON();
}

/** @param {32 | 64} [bitBucketSize] of each count */
function emptyHistogram(bitBucketSize = 32) {
  return hdr.build({ bitBucketSize, autoResize: true, numberOfSignificantValueDigits: 3, useWebAssembly: false });
}
