import { noise } from '../random.js';
import { quote } from '../text.js';

/**
 * Calldata of a given size that differs in every transaction: a unique prefix and a part of a prepared pool of random
 * bytes, so that a large payload costs little more than a small one. No byte is zero, because zeros cost less gas and one
 * estimate is used for all.
 *
 * @import { Kit } from '../contracts/workload.d.ts'
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
const PREFIX_BYTES = 4 + POSITION_DIGITS + NONCE_DIGITS;

/** Parses `--payload`. @param {string} text */
export function payloadSize(text) {
  const bytes = /^\d{1,9}$/.test(text) ? Number(text) : NaN;
  if (bytes >= SMALLEST && bytes <= LARGEST) return bytes;
  throw new Error(
    `must be a whole number of bytes from ${SMALLEST} to ${LARGEST} (nodes take transactions of up to 128 KiB), not ${quote(text)}`,
  );
}

/** The gas that a payload adds to an operation. @param {number | null} bytes */
export function payloadGas(bytes) {
  const count = BigInt(bytes ?? 0);
  return { most: count * GAS_PER_BYTE.most, likely: count * GAS_PER_BYTE.likely };
}

/** @param {Kit} kit @param {number | null} bytes null: none @returns {(position: number, nonce: number) => string} hexadecimal, without 0x */
export function createPayloads(kit, bytes) {
  if (bytes === null) return () => '';
  const pool = noise(kit.tag, bytes + POOL_BYTES);
  const length = 2 * (bytes - PREFIX_BYTES);
  return (position, nonce) => {
    const prefix = kit.tag + digits(kit.indexOf(position), POSITION_DIGITS) + digits(nonce, NONCE_DIGITS);
    const start = 2 * (kit.draw(position, nonce) & (POOL_BYTES - 1));
    return prefix + pool.slice(start, start + length);
  };
}

/** @param {number} value @param {number} count */
function digits(value, count) {
  const bytes = Buffer.alloc(count);
  for (let rest = value, i = 0; i < count; i += 1, rest = Math.floor(rest / 255)) bytes[i] = (rest % 255) + 1;
  return bytes.toString('hex');
}
