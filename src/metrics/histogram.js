import { inflateSync } from 'node:zlib';
import { InputError } from '../errors.js';

/** @import { DistributionJson } from './distribution.js' */

/**
 * The histograms of run files, in HdrHistogram's V2 encoding. A run file may come from anywhere, so the memory that
 * reading one takes is bounded, and a histogram must hold as many values as its distribution says.
 *
 * A place is the index of a bucket: values that differ in their first three digits have different places.
 *
 * @typedef {Pick<DistributionJson, 'count' | 'sumUs' | 'maxUs' | 'hdr'>} Encoded
 * @callback Take
 * @param {number} place
 * @param {number} count how many values lie there; above 0
 */

/** What each begins with, but for the size of its words. */
const COMPRESSED_COOKIE = 0x1c849304;
const COOKIE = 0x1c849303;
const HEADER_BYTES = 40;

/** Each bucket of three significant digits has so many places, the first of them twice as many. */
export const STEPS = 1024;
/** Of all values that a double holds exactly, with nine bytes for each count. */
const MOST_PLACES = 44 * STEPS;
const MOST_BYTES = HEADER_BYTES + 9 * MOST_PLACES;

/**
 * @param {Encoded} json
 * @param {Take} take called for each place that has values, in order
 * @throws {InputError} which says what is wrong with the histogram
 */
export function decodeHistogram({ count, sumUs, maxUs, hdr }, take) {
  if (count === 0) return;
  // The lag of a closed loop is 0 each time: nothing has to be decoded to know that.
  if (maxUs === 0 && sumUs === 0) return take(0, count);
  const { total, last } = decode(hdr, take);
  if (total !== count) throw new InputError(`a histogram holds ${total} values, and its count is ${count}`);
  if (valueAt(last) > (maxUs ?? 0)) throw new InputError('a histogram holds values above its maximum');
}

/**
 * What was recorded in a distribution: a value for each bucket of its histogram, the middle of it but never beyond
 * what was recorded, and how often.
 * @param {DistributionJson} json
 * @returns {Array<{valueUs: number, count: number}>} ascending
 * @throws {InputError} which says what is wrong with its histogram
 */
export function recordedValues(json) {
  const { minUs, maxUs } = json;
  /** @type {Array<{valueUs: number, count: number}>} */
  const values = [];
  decodeHistogram(json, (place, count) => {
    const middleUs = valueAt(place) + Math.floor(widthOf(place) / 2);
    values.push({ valueUs: Math.min(Math.max(middleUs, minUs ?? 0), maxUs ?? Infinity), count });
  });
  return values;
}

/** @param {number} place @returns {number} the least value that lies there */
export function valueAt(place) {
  return place < 2 * STEPS ? place : ((place % STEPS) + STEPS) * widthOf(place);
}

/** @param {number} place @returns {number} how many values lie there */
function widthOf(place) {
  return place < 2 * STEPS ? 1 : 2 ** (Math.floor(place / STEPS) - 1);
}

/** @param {string} base64 @param {Take} take @returns {{total: number, last: number}} how many values it holds, and the last place */
function decode(base64, take) {
  const bytes = inflated(base64);
  const end = HEADER_BYTES + bytes.readInt32BE(4);
  if (end > bytes.length) throw new InputError('a histogram is cut');
  let total = 0;
  let place = 0;
  let last = 0;
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
    if (isZeros) place += count;
    else if (place < MOST_PLACES) {
      if (count > 0) take((last = place), count);
      total += count;
      place += 1;
    }
    if (place > MOST_PLACES) throw new InputError('a histogram has more places than there are');
  }
  return { total, last };
}

/** @param {string} base64 @returns {Buffer} with its header, which was looked at */
function inflated(base64) {
  const packed = Buffer.from(base64, 'base64');
  if (packed.length < 8 || (packed.readInt32BE(0) & ~0xf0) !== COMPRESSED_COOKIE)
    throw new InputError('a histogram is not in V2 encoding');
  let bytes;
  try {
    bytes = inflateSync(packed.subarray(8), { maxOutputLength: MOST_BYTES });
  } catch {
    throw new InputError('a histogram cannot be decompressed');
  }
  if (bytes.length < HEADER_BYTES || (bytes.readInt32BE(0) & ~0xf0) !== COOKIE || bytes.readInt32BE(4) < 0)
    throw new InputError('a histogram is not in V2 encoding');
  const [offset, digits] = [bytes.readInt32BE(8), bytes.readInt32BE(12)];
  // Older encoders wrote 1 for the offset, which has no meaning for counts that are not shifted.
  if (offset > 1 || digits !== 3 || bytes.readBigInt64BE(16) !== 1n)
    throw new InputError('a histogram is not one of whole microseconds with three significant digits');
  return bytes;
}
