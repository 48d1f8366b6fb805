import { inflateSync } from 'node:zlib';
import { Distribution } from './distribution.js';

/**
 * Many distributions, as run files have them, added up: the same as Distribution.merge() one after the other, bucket by
 * bucket, but a tenth of the work, because no histogram is built for each. What is read may come from anywhere, so what
 * it may take in memory is bounded, and the histogram must hold as many values as it says.
 *
 * @typedef {import('./distribution.js').DistributionJson} DistributionJson
 */

/** Of the V2 encoding: what each begins with, but for the size of its words. */
const COMPRESSED_COOKIE = 0x1c849304;
const COOKIE = 0x1c849303;
const HEADER_BYTES = 40;

/** Each bucket of three significant digits has so many steps, the first of them twice as many. */
const STEPS = 1024;
/** Of all values that a double holds exactly, with nine bytes for each count. */
const MOST_STEPS = 44 * STEPS;
const MOST_BYTES = HEADER_BYTES + 9 * MOST_STEPS;

export class DistributionSum {
  count = 0;
  sumUs = 0;
  sumOfSquaresUs2 = 0n;
  minUs = Infinity;
  maxUs = -Infinity;
  /** By place in the histogram; doubles, because counts of many long runs need more than 32 bits. */
  #counts = new Float64Array(0);

  /** @param {DistributionJson} json @throws {Error} which says what is wrong with it */
  add(json) {
    if (json.count === 0) return;
    // The lag of a closed loop is 0 each time: nothing has to be decoded to know that.
    const found = json.maxUs === 0 && json.sumUs === 0 ? this.#countAt(0, json.count) : this.#decode(json.hdr);
    if (found !== json.count) throw new Error(`a histogram holds ${found} values, and its count is ${json.count}`);
    this.count += json.count;
    this.sumUs += json.sumUs;
    this.sumOfSquaresUs2 += BigInt(json.sumOfSquaresUs2);
    this.minUs = Math.min(this.minUs, json.minUs ?? Infinity);
    this.maxUs = Math.max(this.maxUs, json.maxUs ?? -Infinity);
  }

  /** @returns {DistributionJson} */
  toJSON() {
    return Distribution.of(this, this.#values()).toJSON();
  }

  /** What was recorded, as the histogram rounds it, and how often. @returns {Generator<[number, number]>} */
  *#values() {
    for (const [i, count] of this.#counts.entries()) if (count > 0) yield [valueAt(i), count];
  }

  /** @param {number} i @param {number} count @returns {number} count */
  #countAt(i, count) {
    if (i >= this.#counts.length) {
      const longer = new Float64Array((Math.floor(i / STEPS) + 1) * STEPS);
      longer.set(this.#counts);
      this.#counts = longer;
    }
    this.#counts[i] += count;
    return count;
  }

  /** @param {string} base64 @returns {number} how many values it holds */
  #decode(base64) {
    const bytes = inflated(base64);
    const end = HEADER_BYTES + bytes.readInt32BE(4);
    if (end > bytes.length) throw new Error('a histogram is cut');
    let total = 0;
    let i = 0;
    for (let at = HEADER_BYTES; at < end;) {
      // LEB128, seven bits a byte, of which the lowest bit of all is the sign (ZigZag).
      let value = 0;
      let factor = 1;
      let byte;
      do {
        byte = bytes[at++];
        value += (byte & 0x7f) * factor;
        factor *= 128;
      } while (byte >= 0x80 && at < end);
      const isZeros = value % 2 === 1;
      const count = isZeros ? (value + 1) / 2 : value / 2;
      // So many places without a value, or a place and its count.
      if (isZeros) i += count;
      else if (i < MOST_STEPS) total += this.#countAt(i++, count);
      if (i > MOST_STEPS) throw new Error('a histogram has more places than there are');
    }
    return total;
  }
}

/** @param {string} base64 @returns {Buffer} with its header, which was looked at */
function inflated(base64) {
  const packed = Buffer.from(base64, 'base64');
  if (packed.length < 8 || (packed.readInt32BE(0) & ~0xf0) !== COMPRESSED_COOKIE)
    throw new Error('a histogram is not in V2 encoding');
  let bytes;
  try {
    bytes = inflateSync(packed.subarray(8), { maxOutputLength: MOST_BYTES });
  } catch {
    throw new Error('a histogram cannot be decompressed');
  }
  if (bytes.length < HEADER_BYTES || (bytes.readInt32BE(0) & ~0xf0) !== COOKIE || bytes.readInt32BE(4) < 0)
    throw new Error('a histogram is not in V2 encoding');
  const [offset, digits] = [bytes.readInt32BE(8), bytes.readInt32BE(12)];
  // Older encoders wrote 1 for the offset, which has no meaning for counts that are not shifted.
  if (offset > 1 || digits !== 3 || bytes.readBigInt64BE(16) !== 1n)
    throw new Error('a histogram is not one of whole microseconds with three significant digits');
  return bytes;
}

/** @param {number} i place in the histogram @returns {number} the least value that lies there */
function valueAt(i) {
  return i < 2 * STEPS ? i : ((i % STEPS) + STEPS) * 2 ** (Math.floor(i / STEPS) - 1);
}
