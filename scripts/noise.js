/**
 * Noises of simulated runs, for scripts/false-alarms.js, simulate-compare.js and simulate-bisect.js.
 *
 * @import { Random } from '../src/random.js'
 *
 * @typedef {(random: Random) => () => number} Noise of the log of a figure, run after run, in units of its deviation
 */

/** Box and Muller. @param {Random} random */
function draw(random) {
  return Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
}

/** @type {Noise} */
export const normal = (random) => () => draw(random);

/** t, 2 degrees of freedom. @type {Noise} */
export const heavyTailed = (random) => () => draw(random) / Math.sqrt((draw(random) ** 2 + draw(random) ** 2) / 2);

/** 0.95 from run to run. @type {Noise} */
export const autocorrelated = (random) => {
  let drift = draw(random);
  return () => 0.3 * draw(random) + (drift = 0.95 * drift + Math.sqrt(1 - 0.95 ** 2) * draw(random));
};

/** @param {number} step of each run @param {number} [spread] @returns {Noise} */
export function drifting(step, spread = 1) {
  return (random) => {
    let drift = 0;
    return () => spread * draw(random) + (drift += step);
  };
}

/** Three runs in ten are lower. @param {number} spread @param {number} step @returns {Noise} */
export function bimodal(spread, step) {
  return (random) => () => spread * draw(random) - (random() < 0.3 ? step : 0);
}

/** @param {number} share NaN: of nothing */
export function percent(share) {
  return Number.isNaN(share) ? '-' : `${(100 * share).toFixed(1)} %`;
}
