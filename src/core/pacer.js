import { UsageError } from '../errors.js';
import { randomNumbers } from '../random.js';

/** @import { Arrival, LoadConfig, RateStage, Schedule, Workload } from '../contracts/load.d.ts' */

/** The highest rate that is scheduled: an operation a microsecond. */
export const HIGHEST_RATE = 1_000_000;

/**
 * Operations per second. A rate in gas is an estimate, until the gas of an operation is measured in the warm-up.
 * @param {Pick<LoadConfig, 'ratePerSecond' | 'gasPerSecond'>} load
 * @param {Workload} workload
 * @returns {number | null} null: no rate
 */
export function rateOf({ ratePerSecond, gasPerSecond }, workload) {
  if (gasPerSecond === null) return ratePerSecond;
  if (workload.kind === 'call') throw new UsageError('--rate in gas needs transactions: calls use no gas');
  const perSecond = gasPerSecond / Number(workload.gas.likely.perOperation);
  if (perSecond <= HIGHEST_RATE) return perSecond;
  throw new UsageError(
    `--rate ${gasPerSecond / 1e6}Mgas would be about ${Math.round(perSecond)} operations per second: at most ${HIGHEST_RATE} are scheduled`,
  );
}

/**
 * The schedule of the pacer.
 * @param {Pick<LoadConfig, 'ratePerSecond' | 'stages' | 'arrival' | 'warmupMs'>} load
 * @param {number} seed of random arrivals
 * @returns {Schedule | null} null: closed loop
 */
export function scheduleOf({ ratePerSecond, stages, arrival, warmupMs }, seed) {
  const wanted = stages ?? (ratePerSecond === null ? null : [constant(ratePerSecond, Infinity)]);
  if (wanted === null) return null;
  // The warm-up uses the first rate of the window; an automatic one has no stages after it.
  const before = warmupMs !== 'auto' && warmupMs > 0 ? [constant(wanted[0].fromPerSecond, warmupMs * 1000)] : [];
  const schedule = { stages: [...before, ...wanted], seed };
  return { ...schedule, arrival: arrival ?? 'uniform', ...(stages === null ? {} : { firstStage: before.length }) };
}

/** @param {number} perSecond @param {number} durationUs @returns {RateStage} */
function constant(perSecond, durationUs) {
  return { fromPerSecond: perSecond, toPerSecond: perSecond, durationUs };
}

/** The ends of the stages, since the start of the load. @param {Schedule | null} schedule @returns {number[]} empty without --stages */
export function stageEndsUs(schedule) {
  if (schedule?.firstStage === undefined) return [];
  return schedule.stages.map((_, i, all) => all.slice(0, i + 1).reduce((sum, { durationUs }) => sum + durationUs, 0));
}

/** A schedule of one rate, with another one from an instant on. @param {Schedule} schedule @param {number} atUs since the start of the load @param {number} perSecond @returns {Schedule} */
export function changedAt({ stages: [first], ...schedule }, atUs, perSecond) {
  return { ...schedule, stages: [{ ...first, durationUs: atUs }, constant(perSecond, Infinity)] };
}

/** Closed loop: an operation is due as soon as a wallet is idle. @returns {Pacer} */
function closed() {
  return { isOpen: false, dueUs: () => 0 };
}

/**
 * When operation n is due, as an integral of the rate. Uniform: n. Poisson: the sum of n exponential variates with mean
 * 1 (independent arrivals).
 *
 * @callback Owed called in ascending order
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
 * Open loop: operations are due at fixed instants. Operation n is due when the integral of the rate reaches n.
 * @param {Schedule} schedule
 * @param {Share} share
 * @returns {Pacer}
 */
function open({ stages, arrival, seed }, { numbers, of }) {
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

/** The operations that are due in all stages together. @param {RateStage[]} stages */
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
 * When the integral of the rate reaches `owed`: the solution of owed = r t + (a / 2) t^2, with the rate r at the start
 * of the stage and its growth a, in the form that does not cancel digits for a small a.
 * @param {Part} part
 * @param {number} owed including earlier stages
 */
function instantUs({ startUs, durationUs, fromPerSecond, toPerSecond, owedAtStart }, owed) {
  const more = owed - owedAtStart;
  if (more <= 0) return startUs;
  const growth = fromPerSecond === toPerSecond ? 0 : (toPerSecond - fromPerSecond) / (durationUs / 1e6);
  const rate = Math.sqrt(Math.max(0, fromPerSecond ** 2 + 2 * growth * more));
  return startUs + ((2 * more) / (fromPerSecond + rate)) * 1e6;
}

/**
 * A pacer tells when each operation is due: a pure function of its number, so that lateness does not accumulate.
 *
 * @typedef {object} Pacer
 * @property {boolean} isOpen false: closed loop, dueUs is not used
 * @property {(ordinal: number) => number} dueUs of operation `ordinal` (from 0, called in ascending order), in
 *   microseconds since the start of the load; Infinity when the schedule is over
 *
 * @typedef {object} Share a thread's part of the schedule: of every `of` operations in a row, those with these numbers,
 *   in ascending order
 * @property {readonly number[]} numbers
 * @property {number} of
 */

/** @type {Share} */
const WHOLE = Object.freeze({ numbers: Object.freeze([0]), of: 1 });

/**
 * Splits a schedule between threads in proportion to their wallets: the next operation belongs to the thread that is
 * furthest behind.
 * @param {number[]} wallets per thread
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

/** @param {Schedule | null} schedule null: closed loop @param {Share} [share] @returns {Pacer} */
export function createPacer(schedule, share = WHOLE) {
  return schedule === null ? closed() : open(schedule, share);
}
