import { brotliDecompressSync, gunzipSync, inflateRawSync, inflateSync } from 'node:zlib';
import { TransportError, oneLine } from '../errors.js';
import { bodyTooLarge } from './http.js';

/**
 * Compressed bodies of HTTP responses (RFC 9110, section 8.4). stress does not ask for them, but some gateways send them
 * all the same, and a user may give the header Accept-Encoding.
 *
 * @typedef {(body: Buffer, options: {maxOutputLength: number}) => Buffer} Decoder
 */

/** Some servers leave out the two bytes in front, of which the first ends in 8 (RFC 1950). @type {Decoder} */
const inflate = (body, options) => ((body[0] & 0x0f) === 8 ? inflateSync : inflateRawSync)(body, options);

/** @type {Readonly<Record<string, Decoder>>} */
const DECODERS = Object.freeze({
  identity: (body) => body,
  gzip: gunzipSync,
  'x-gzip': gunzipSync,
  br: brotliDecompressSync,
  deflate: inflate,
});

/**
 * @param {Buffer} body
 * @param {string} encoding the value of Content-Encoding; of several the last one was applied last
 * @param {number} maxBodyBytes of the decoded body
 * @returns {Buffer}
 * @throws {TransportError}
 */
export function decoded(body, encoding, maxBodyBytes) {
  const names = encoding.toLowerCase().split(/[\t ,]+/);
  let bytes = body;
  for (const name of names.reverse().filter((text) => text !== '')) {
    if (!Object.hasOwn(DECODERS, name)) throw unknownEncoding(name);
    // An answer without a body may name an encoding.
    if (bytes.length === 0) break;
    try {
      bytes = DECODERS[name](bytes, { maxOutputLength: maxBodyBytes });
    } catch (error) {
      const { code } = /** @type {NodeJS.ErrnoException} */ (error);
      if (code === 'ERR_BUFFER_TOO_LARGE') throw bodyTooLarge(maxBodyBytes);
      throw new TransportError(`cannot read the answer: its ${name} body is malformed`, 'bad_response', error);
    }
  }
  return bytes;
}

/** @param {string} name */
function unknownEncoding(name) {
  const words = `it sends answers with the Content-Encoding ${oneLine(name, 20)}, which stress does not read`;
  return new TransportError(`${words}; leave out the Accept-Encoding header`, 'bad_response');
}
