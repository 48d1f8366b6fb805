import { closed } from './closed.js';

/**
 * A pacer decides when the next operation starts. It is a pure function.
 *
 * @callback Pacer
 * @param {number} elapsedUs since the start of the load
 * @param {number} started operations started so far
 * @returns {number} microseconds until the next one is due, 0 for now
 */

/** @type {Record<string, () => Pacer>} */
export const pacers = {
  closed,
};
