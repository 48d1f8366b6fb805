/** @import { RateStage } from '../types.d.ts' */

/**
 * Closed loop: an operation is due as soon as a wallet is idle, so the number of wallets is the load.
 * @returns {Pacer}
 */
export function closed() {
  return { isOpen: false, dueUs: () => 0 };
}

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

/**
 * Open loop: operations are due at instants that are fixed beforehand, whatever becomes of them. The instants come from
 * the integral of the rate: operation n is due when n of them are owed.
 *
 * @param {Schedule} schedule
 * @param {Share} share
 * @returns {Pacer}
 */
export function open({ stages, arrival, seed }, { numbers, of }) {
  const owedAt = arrivals[arrival](seed);
  const parts = withStarts(stages);
  let at = 0;
  return {
    isOpen: true,
    dueUs: (ordinal) => {
      const owed = owedAt(Math.floor(ordinal / numbers.length) * of + numbers[ordinal % numbers.length]);
      while (at < parts.length && owed >= parts[at].owedAtEnd) at += 1;
      return at === parts.length ? Infinity : Math.round(instantUs(parts[at], owed));
    },
  };
}

/** How many operations all stages ask for: those that are due before their end. @param {RateStage[]} stages */
export function operationsOf(stages) {
  return withStarts(stages).at(-1)?.owedAtEnd ?? 0;
}

/** @typedef {RateStage & {startUs: number, owedAtStart: number, owedAtEnd: number}} Part */

/** @param {RateStage[]} stages @returns {Part[]} */
function withStarts(stages) {
  let startUs = 0;
  let owed = 0;
  return stages.map((stage) => {
    const { fromPerSecond, toPerSecond, durationUs } = stage;
    const more = ((fromPerSecond + toPerSecond) / 2) * (durationUs / 1e6);
    const part = { ...stage, startUs, owedAtStart: owed, owedAtEnd: owed + more };
    startUs += durationUs;
    owed += more;
    return part;
  });
}

/**
 * When a stage owes that many: the solution of owed = r t + (a / 2) t^2, with the rate r at its start and its growth a,
 * in the form that does not cancel digits when a is small.
 * @param {Part} part
 * @param {number} owed in all, by the end of the stages before as well
 */
function instantUs({ startUs, durationUs, fromPerSecond, toPerSecond, owedAtStart }, owed) {
  const more = owed - owedAtStart;
  if (more <= 0) return startUs;
  const growth = fromPerSecond === toPerSecond ? 0 : (toPerSecond - fromPerSecond) / (durationUs / 1e6);
  const rate = Math.sqrt(Math.max(0, fromPerSecond ** 2 + 2 * growth * more));
  return startUs + ((2 * more) / (fromPerSecond + rate)) * 1e6;
}

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
 * @property {RateStage[]} stages one after the other
 * @property {Arrival} arrival
 * @property {number} seed of random arrivals
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
