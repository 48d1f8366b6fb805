import { closed } from './closed.js';
import { open } from './open.js';

/**
 * A pacer decides when each operation is due. It knows neither the clock nor what became of the ones before: a pure
 * function of an operation's number, so that lateness never adds up.
 *
 * @typedef {object} Pacer
 * @property {boolean} isOpen false: the next one is due as soon as a wallet is idle, and dueUs is not asked
 * @property {(ordinal: number) => number} dueUs when operation number `ordinal` (from 0, and asked for in ascending
 *   order) is due, in microseconds since the start of the load; Infinity when the schedule is over
 *
 * @typedef {object} Schedule what an open loop asks for
 * @property {Stage[]} stages one after the other
 * @property {Arrival} arrival
 * @property {number} seed of random arrivals
 *
 * @typedef {object} Stage a time in which the rate goes evenly from one figure to another
 * @property {number} fromPerSecond
 * @property {number} toPerSecond
 * @property {number} durationUs Infinity: to the end of the run
 *
 * @typedef {'uniform' | 'poisson'} Arrival uniform: at the rate; poisson: independent of each other, at the rate on average
 *
 * @typedef {object} Share the part of a schedule that is one thread's: of every `of` operations in a row those of the
 *   given numbers, in ascending order. What a thread starts is decided without asking the others.
 * @property {readonly number[]} numbers
 * @property {number} of
 */

/** @type {Share} */
const WHOLE = Object.freeze({ numbers: Object.freeze([0]), of: 1 });

/**
 * A schedule shared by threads, each by the number of wallets it has, and as evenly as these allow: the next operation is
 * that of the thread that is furthest behind.
 * @param {number[]} wallets of each thread
 * @returns {Share[]}
 */
export function shares(wallets) {
  const of = wallets.reduce((sum, count) => sum + count, 0);
  /** @type {number[][]} */
  const numbers = wallets.map(() => []);
  for (let number = 0; number < of; number += 1) {
    const behind = wallets.map((count, i) => (count * (number + 1)) / of - numbers[i].length);
    numbers[behind.indexOf(Math.max(...behind))].push(number);
  }
  return numbers.map((own) => ({ numbers: own, of }));
}

/**
 * @param {Schedule | null} schedule null for a closed loop
 * @param {Share} [share]
 * @returns {Pacer}
 */
export function createPacer(schedule, share = WHOLE) {
  return schedule === null ? closed() : open(schedule, share);
}
