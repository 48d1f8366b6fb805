/** @import { Arrival } from './index.js' */

/**
 * How operations arrive: how much of the schedule has to be owed before operation number n is due. Uniform: n of them,
 * so that they follow each other evenly. Poisson: the sum of n exponentially distributed figures with a mean of 1, which
 * is how the requests of many users who know nothing of each other arrive.
 *
 * @callback Owed asked for in ascending order
 * @param {number} ordinal from 0
 * @returns {number}
 */

/** @type {Record<Arrival, (seed: number) => Owed>} */
export const arrivals = {
  uniform: () => (ordinal) => ordinal,

  poisson: (seed) => {
    const random = randomNumbers(seed);
    let next = 0;
    let owed = 0;
    return (ordinal) => {
      for (; next <= ordinal; next += 1) owed -= Math.log(1 - random());
      return owed;
    };
  },
};

/**
 * The same figures for the same seed, in every thread: xorshift with 32 bits of state (G. Marsaglia, Xorshift RNGs,
 * 2003), two of its outputs for the 53 bits of a double.
 * @param {number} seed
 * @returns {() => number} at least 0, below 1
 */
function randomNumbers(seed) {
  // Zero is the one state that it never leaves.
  let state = seed >>> 0 || 0x9e3779b9;
  const next = () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return state >>> 0;
  };
  return () => ((next() >>> 5) * 2 ** 26 + (next() >>> 6)) / 2 ** 53;
}
