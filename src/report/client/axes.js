import { clockTime, quantity } from '../../quantity.js';

/**
 * @import uPlot from 'uplot'
 */

/**
 * The axes of all charts: labels at 1, 2 and 5 times powers of ten, as many as fit, and at least three.
 *
 * @typedef {object} Axis
 * @property {'linear' | 'log' | 'time'} kind
 * @property {number} low
 * @property {number} high
 * @property {(value: number) => string} text of its label
 * @property {(value: number) => number} place in pixels
 * @property {(value: number) => number} size of its label in the direction of the axis, with the gap to the next one
 * @property {number} distance of labels that is good, if there is space
 */

/** Distances of labels on an axis of times, in seconds. */
const TIME_STEPS = [
  ...[0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800],
  ...[3600, 7200, 10_800, 21_600, 43_200, 86_400, 172_800, 432_000, 864_000],
];

const DIGITS = [1, 2, 5];

/** An axis with fewer labels cannot be read. */
const LEAST = 3;

/** @param {Axis} axis @returns {number[]} the values that have a label, ascending */
export function ticksOf(axis) {
  // Texts are rounded, and two labels must not be the same.
  const isEnough = (/** @type {number[]} */ ticks) =>
    ticks.length >= LEAST && new Set(ticks.map(axis.text)).size === ticks.length;
  const enough = candidatesOf(axis).filter(isEnough);
  const fitting = (/** @type {number} */ px) => enough.find((ticks) => fits(ticks, axis, px));
  // Where none fits, some of the fewest.
  const some = enough.toReversed().map((ticks) => spaced(ticks, axis));
  return fitting(axis.distance) ?? fitting(0) ?? some.find(({ length }) => length >= LEAST) ?? some[0] ?? [];
}

/** From many to few. @param {Axis} axis @returns {number[][]} */
function candidatesOf({ kind, low, high }) {
  if (kind === 'time')
    return TIME_STEPS.filter((step) => (high - low) / step < 100).map((step) => multiples(step, low, high));
  const span = Math.floor(Math.log10(high - low));
  const linear = [span - 2, span - 1, span]
    .flatMap((exponent) => DIGITS.map((digit) => powerOf(exponent, digit)))
    .map((step) => multiples(step, low, high));
  if (kind === 'linear') return linear;
  const [first, last] = [Math.floor(Math.log10(low)), Math.ceil(Math.log10(high))];
  const within = (/** @type {number} */ value) => value >= low && value <= high;
  const log = [DIGITS, [1]].map((digits) =>
    Array.from({ length: last - first + 1 }, (_, i) => digits.map((digit) => powerOf(first + i, digit))).flat(),
  );
  const [, decades] = log;
  log.push(...[2, 3, 4].map((step) => decades.filter((_, i) => (first + i) % step === 0)));
  // Within a factor of ten there may be too few of these.
  const few = log[0].filter(within).length < LEAST ? linear : [];
  return [...log.map((values) => values.filter(within)), ...few];
}

/** Without the errors of multiplication: 3 * 0.1 is not 0.3. @param {number} exponent @param {number} digit */
function powerOf(exponent, digit) {
  return Number(`${digit}e${exponent}`);
}

/** @param {number} step @param {number} low @param {number} high */
function multiples(step, low, high) {
  const first = Math.ceil(low / step);
  const count = Math.max(0, Math.floor(high / step) - first + 1);
  return Array.from({ length: count }, (_, i) => Number(((first + i) * step).toPrecision(12)));
}

/** @param {readonly number[]} ticks @param {Pick<Axis, 'place' | 'size'>} axis @param {number} [px] least distance */
function fits(ticks, { place, size }, px = 0) {
  return ticks.every(
    (tick, i) =>
      i === 0 || Math.abs(place(tick) - place(ticks[i - 1])) >= Math.max(px, (size(tick) + size(ticks[i - 1])) / 2),
  );
}

/** Width of a character, gap between two labels, height of a label, and good distances of labels, in pixels. */
const CHARACTER = 6.6;
const GAP = 8;
const LINE = 16;
const DISTANCES = Object.freeze({ x: 56, y: 26 });

/**
 * The labels of an axis of uPlot.
 * @param {'x' | 'y'} scale
 * @param {Axis['kind']} kind
 * @param {string} [unit]
 * @param {ReadonlyArray<[number, string]>} [names] labels at these places instead, as many as fit
 */
export function axisOf(scale, kind, unit, names) {
  const texts = new Map(names);
  const text = (/** @type {number} */ value) =>
    texts.get(value) ?? (kind === 'time' ? clockTime(value) : quantity(value, unit));
  const size = (/** @type {number} */ value) => (scale === 'x' ? CHARACTER * text(value).length + GAP : LINE);
  return {
    size: scale === 'x' ? 28 : 80,
    splits: (
      /** @type {uPlot} */ u,
      /** @type {number} */ _,
      /** @type {number} */ low,
      /** @type {number} */ high,
    ) => {
      const place = (/** @type {number} */ value) => u.valToPos(value, scale);
      return names === undefined
        ? ticksOf({ kind, low, high, text, place, size, distance: DISTANCES[scale] })
        : spaced(
            names.map(([at]) => at),
            { place, size },
          );
    },
    // uPlot would leave out labels of a logarithmic axis.
    filter: (/** @type {uPlot} */ _, /** @type {number[]} */ splits) => splits,
    values: (/** @type {uPlot} */ _, /** @type {number[]} */ splits) => splits.map(text),
  };
}

/** Those beside which there is space. @param {readonly number[]} ticks @param {Pick<Axis, 'place' | 'size'>} axis */
function spaced(ticks, axis) {
  /** @type {number[]} */
  const shown = [];
  for (const tick of ticks) if (fits([...shown.slice(-1), tick], axis)) shown.push(tick);
  return shown;
}

/** The range of a logarithmic axis around values that are above 0. @param {number} low @param {number} high @returns {[number, number]} */
export function logRange(low, high) {
  return [low / 1.15, high * 1.15];
}
