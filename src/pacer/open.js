import { arrivals } from './arrivals.js';

/** @import { Pacer, Schedule, Share, Stage } from './index.js' */

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

/** How many operations all stages ask for: those that are due before their end. @param {Stage[]} stages */
export function operationsOf(stages) {
  return withStarts(stages).at(-1)?.owedAtEnd ?? 0;
}

/** @typedef {Stage & {startUs: number, owedAtStart: number, owedAtEnd: number}} Part */

/** @param {Stage[]} stages @returns {Part[]} */
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
