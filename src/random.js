import { createHash } from 'node:crypto';

/**
 * Seeded random numbers: those that a run, an audit or a study must be able to draw again.
 *
 * @typedef {() => number} Random at least 0, below 1
 */

/** A sequence of numbers: mulberry32 (T. Ettinger). @param {number} seed @returns {Random} */
export function randomNumbers(seed) {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let bits = Math.imul(state ^ (state >>> 15), state | 1);
    bits ^= bits + Math.imul(bits ^ (bits >>> 7), bits | 61);
    return ((bits ^ (bits >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** 32 bits for a pair of numbers, without a sequence: nothing has to be stored. @param {number} seed @param {number} a @param {number} b */
export function drawBits(seed, a, b) {
  return mixBits(mixBits(seed + a) ^ Math.imul(b, 0x9e3779b1));
}

/** Bytes without zeros, for the same seed the same. @param {string} seed @param {number} count @returns {string} hexadecimal, without 0x */
export function noise(seed, count) {
  let hex = '';
  for (let i = 0; hex.length < 2 * count; i += 1)
    hex += createHash('sha256').update(`${seed} ${i}`).digest('hex').replaceAll('00', '01');
  return hex.slice(0, 2 * count);
}

/** Spreads a difference of a few bits over all 32 (the last step of MurmurHash3, A. Appleby). @param {number} word */
function mixBits(word) {
  let bits = word | 0;
  bits = Math.imul(bits ^ (bits >>> 16), 0x85ebca6b);
  bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2ae35);
  return (bits ^ (bits >>> 16)) >>> 0;
}
