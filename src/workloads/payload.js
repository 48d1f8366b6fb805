import { randomBytes } from 'node:crypto';
import { oneLine, withoutKeys } from '../errors.js';

/**
 * Calldata of a given size that differs in every transaction: a unique prefix and a part of a prepared pool of random
 * bytes, so that a large payload costs little more than a small one. No byte is zero, because zeros cost less gas and one
 * estimate is used for all.
 *
 * @typedef {object} PayloadState
 * @property {number} bytes of a payload
 * @property {string} pool random bytes, hexadecimal
 * @property {string} tag four bytes of this run, hexadecimal
 */

/** Nodes accept transactions of up to 128 KiB, of which the rest of a transaction takes a few hundred bytes. */
const SMALLEST = 16;
const LARGEST = 100_000;

/** Size of the pool beyond one payload. */
const POOL_BYTES = 65_536;

/** Gas of a byte: 16, or 40 on chains with EIP-7623, plus the margin of an estimate. */
const GAS_PER_BYTE = Object.freeze({ most: 50n, likely: 40n });

/** Digits to the base 255, without zero bytes: enough for all positions and 10^12 nonces. */
const POSITION_DIGITS = 3;
const NONCE_DIGITS = 5;
const TAG_BYTES = 4;
const PREFIX_BYTES = TAG_BYTES + POSITION_DIGITS + NONCE_DIGITS;

const HEX = Object.freeze(Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0')));

/** Parses `--payload`. @param {string} text */
export function payloadSize(text) {
  const bytes = /^\d{1,9}$/.test(text) ? Number(text) : NaN;
  if (bytes >= SMALLEST && bytes <= LARGEST) return bytes;
  throw new Error(
    `must be a whole number of bytes from ${SMALLEST} to ${LARGEST} (nodes take transactions of up to 128 KiB), not "${oneLine(withoutKeys(text), 60)}"`,
  );
}

/** The gas that a payload adds to an operation. @param {number | null} bytes */
export function payloadGas(bytes) {
  const count = BigInt(bytes ?? 0);
  return { most: count * GAS_PER_BYTE.most, likely: count * GAS_PER_BYTE.likely };
}

/** @param {number} bytes @returns {PayloadState} */
export function drawPayloads(bytes) {
  return { bytes, pool: withoutZeros(bytes + POOL_BYTES), tag: withoutZeros(TAG_BYTES) };
}

/** @param {number} bytes */
function withoutZeros(bytes) {
  return Buffer.from(randomBytes(bytes).map((byte) => byte || 1)).toString('hex');
}

/** @param {PayloadState} state @returns {(position: number, nonce: number) => string} hexadecimal, without 0x */
export function createPayloads({ bytes, pool, tag }) {
  const length = 2 * (bytes - PREFIX_BYTES);
  return (position, nonce) => {
    const prefix = tag + digits(position, POSITION_DIGITS) + digits(nonce, NONCE_DIGITS);
    const start = 2 * ((Math.imul(position, 0x85ebca6b) ^ Math.imul(nonce, 0x9e3779b1)) & (POOL_BYTES - 1));
    return prefix + pool.slice(start, start + length);
  };
}

/** @param {number} value @param {number} count */
function digits(value, count) {
  let text = '';
  for (let rest = value, i = 0; i < count; i += 1, rest = Math.floor(rest / 255)) text += HEX[(rest % 255) + 1];
  return text;
}
