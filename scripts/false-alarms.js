/**
 * How often `stress compare` sees a difference that is not there, and how often one that is, and how often `stress trend`
 * names something that does not grow: simulated studies, put to the decision that the command itself makes. Prints the tables of docs/studies.md.
 *
 *     node scripts/false-alarms.js [TRIALS]
 */
import { fileURLToPath } from 'node:url';
import { randomNumbers } from '../src/random.js';
import { decide, decideSequentially } from '../src/studies/compare.js';
import { METRICS as TREND_METRICS } from '../src/studies/metrics.js';
import { MAX_FALSE_ALARMS } from '../src/studies/statistics.js';
import { trend } from '../src/studies/trend.js';
import { table } from './bench/lib.js';
import { autocorrelated, drifting, heavyTailed, normal, percent } from './noise.js';

/**
 * @import { Noise } from './noise.js'
 *
 * @typedef {object} Plan
 * @property {'paired' | 'unpaired' | 'until sure'} test
 * @property {number} runs of each side
 * @property {string} noise
 * @property {string} [order] of the runs, again and again; A and B are the sides. Until sure it is drawn by chance
 */

/** The primary metric and as many others as a comparison has. */
const METRICS = 7;
/** Of the log of a figure from run to run. */
const NOISE = 0.05;
/** Of all metrics the same share of the noise: a slow moment is slow for all. */
const SHARED = Math.SQRT1_2;

/** @type {Readonly<Record<string, Noise>>} */
const NOISES = Object.freeze({
  'log-normal': normal,
  'one run in ten up to three times slower': (random) => {
    const next = normal(random);
    return () => next() - (random() < 0.1 ? (random() * Math.log(3)) / NOISE : 0);
  },
  'heavy tails (t, 2 degrees of freedom)': heavyTailed,
  'linear drift, 2 % a run': drifting(-0.02 / NOISE),
  'slow drift (autocorrelation 0.95)': autocorrelated,
});

/** @type {readonly Plan[]} */
export const PLANS = Object.freeze([
  ...Object.keys(NOISES).flatMap((noise) =>
    [6, 8, 12].map((runs) => ({ test: /** @type {const} */ ('paired'), runs, noise, order: 'ABBA' })),
  ),
  ...Object.keys(NOISES)
    .slice(0, 3)
    .flatMap((noise) => [4, 8].map((runs) => ({ test: /** @type {const} */ ('unpaired'), runs, noise }))),
  // Whatever is shown after any pair is still said after the last.
  ...Object.keys(NOISES).map((noise) => ({ test: /** @type {const} */ ('until sure'), runs: 20, noise })),
]);

/** What the tests take for granted is not so here, and stress compare says it. @type {readonly Plan[]} */
const BROKEN = Object.freeze([
  { test: 'paired', runs: 8, noise: 'linear drift, 2 % a run', order: 'AB' },
  { test: 'unpaired', runs: 8, noise: 'linear drift, 2 % a run' },
  { test: 'unpaired', runs: 8, noise: 'slow drift (autocorrelation 0.95)' },
]);

/**
 * @param {Plan} plan
 * @param {{trials: number, seed: number, change?: number, metrics?: number, changed?: number}} options change: of the
 *   candidate, as a fraction; changed: so many metrics change, the last of them; the others are those that are counted
 * @returns {{primary: number, secondaries: number, any: number}} share of the trials in which a difference was said to be shown
 */
export function alarms({ test, runs, noise, order }, options) {
  const { trials, seed, change = 0, metrics = METRICS, changed = 0 } = options;
  const random = randomNumbers(seed);
  const sequence = order?.repeat(Math.ceil((2 * runs) / order.length)).slice(0, 2 * runs);
  let [primary, secondaries, any] = [0, 0, 0];
  for (let trial = 0; trial < trials; trial += 1) {
    const coins = () => Array.from({ length: runs }, () => (random() < 0.5 ? 'AB' : 'BA')).join('');
    const sides = [...(test === 'until sure' ? coins() : (sequence ?? 'A'.repeat(runs) + 'B'.repeat(runs)))];
    const shared = NOISES[noise](random);
    const shifts = sides.map(() => shared());
    const compared = Array.from({ length: metrics }, (_, metric) => {
      const isChanged = changed === 0 || metric >= metrics - changed;
      const own = NOISES[noise](random);
      const values = shifts.map((shift, i) => {
        const log = NOISE * (SHARED * shift + Math.sqrt(1 - SHARED ** 2) * own());
        return 1000 * Math.exp(log) * (isChanged && sides[i] === 'B' ? 1 + change : 1);
      });
      const of = (/** @type {string} */ side) => values.filter((_, i) => sides[i] === side);
      return { better: /** @type {const} */ ('higher'), base: of('A'), candidate: of('B') };
    });
    const decisions = test === 'until sure' ? decideSequentially(compared, 1, 0) : decide(compared, test === 'paired');
    const [first, ...others] = decisions.map(({ word }) => word);
    if (changed > 0) others.splice(-changed);
    if (isAlarm(first)) primary += 1;
    if (others.some(isAlarm)) secondaries += 1;
    if ([first, ...others].some(isAlarm)) any += 1;
  }
  return { primary: primary / trials, secondaries: secondaries / trials, any: any / trials };
}

/**
 * @typedef {object} TrendPlan of runs of which nothing depends on the option
 * @property {number} values of the option
 * @property {number} repeats of each
 * @property {string} noise
 */

/** @type {readonly TrendPlan[]} */
export const TREND_PLANS = Object.freeze(
  Object.keys(NOISES)
    .slice(0, 3)
    .flatMap((noise) =>
      [
        [4, 2],
        [8, 3],
        [16, 2],
      ].map(([values, repeats]) => ({ values, repeats, noise })),
    ),
);

/** What happens in few runs, and to few operations of them. */
const RARE = new Set(['failed', 'timed_out', 'dropped']);

/**
 * @param {TrendPlan} plan
 * @param {{trials: number, seed: number}} options
 * @returns {number} share of the trials in which anything was said to grow
 */
export function trendAlarms({ values, repeats, noise }, { trials, seed }) {
  const random = randomNumbers(seed);
  let alarms = 0;
  for (let trial = 0; trial < trials; trial += 1) {
    const shared = NOISES[noise](random);
    const points = Array.from({ length: values * repeats }, (_, i) => ({
      settings: { rate: 100 + 10 * (i % values) },
      shift: shared(),
      metrics: /** @type {Record<string, number>} */ ({}),
    }));
    for (const name of TREND_METRICS) {
      // The noises are those of a rate: what is slow has more of the costs.
      const own = NOISES[noise](random);
      for (const { shift, metrics } of points)
        metrics[name] = RARE.has(name)
          ? Math.floor(Math.max(0, random() - 0.8) * 100)
          : 1000 * Math.exp(-NOISE * (SHARED * shift + Math.sqrt(1 - SHARED ** 2) * own()));
    }
    const [{ metrics }] = trend(points).lines;
    if (metrics.some(({ isGrowing }) => isGrowing)) alarms += 1;
  }
  return alarms / trials;
}

/** @param {string} word */
function isAlarm(word) {
  return word === 'faster' || word === 'slower';
}

/** A rate of 5 % gives more than this in one of a thousand tables. @param {number} trials */
export function limit(trials) {
  return 0.05 + 3 * Math.sqrt((0.05 * 0.95) / trials);
}

/** @param {Plan} plan */
function nameOf({ test, runs, order }) {
  if (test === 'until sure') return `until sure, ${runs} pairs`;
  return `${test === 'paired' ? `${runs} pairs` : `${runs} + ${runs} unpaired`}${order === undefined ? '' : `, ${[...order].join(' ')}`}`;
}

/** @param {number} trials */
function main(trials) {
  const rates = PLANS.map((plan, i) => ({ plan, ...alarms(plan, { trials, seed: 1000 + i }) }));
  // Until sure, all metrics share one rate.
  const worst = Math.max(...rates.map((rate) => (rate.plan.test === 'until sure' ? rate.any : Math.max(rate.primary, rate.secondaries)))); // prettier-ignore
  const head = ['noise', 'runs', 'primary', 'any of 6 secondaries', 'anything'];
  const rows = rates.map(({ plan, primary, secondaries, any }) => [
    ...[plan.noise, nameOf(plan), percent(primary), percent(secondaries), percent(any)],
  ]);
  const broken = BROKEN.map((plan, i) => [
    ...[plan.noise, nameOf(plan)],
    percent(alarms(plan, { trials, seed: 2000 + i, metrics: 1 }).primary),
  ]);
  const mixed = PLANS.filter(({ runs }) => runs === 8).map((plan, i) => {
    const { secondaries } = alarms(plan, { trials, seed: 5000 + i, change: -0.2, changed: 2 });
    return { plan, secondaries };
  });
  const worstMixed = Math.max(...mixed.map(({ secondaries }) => secondaries));
  const beside = mixed.map(({ plan, secondaries }) => [plan.noise, nameOf(plan), percent(secondaries)]);
  const powers = PLANS.filter(({ noise }) => noise === 'log-normal').map((plan, i) => [
    nameOf(plan),
    ...[-0.05, -0.1, -0.15].map((change) =>
      percent(alarms(plan, { trials, seed: 3000 + i, change, metrics: 1 }).primary),
    ),
  ]);
  const trends = TREND_PLANS.map((plan, i) => ({ ...plan, share: trendAlarms(plan, { trials, seed: 4000 + i }) }));
  const worstTrend = Math.max(...trends.map(({ share }) => share));
  const named = trends.map(({ noise, values, repeats, share }) => [
    noise,
    `${values} values x ${repeats}`,
    percent(share),
  ]);
  process.stdout.write(
    [
      `False alarms in ${trials.toLocaleString('en-US')} trials each; the worst of them is ${percent(worst)}:`,
      table(head, rows),
      `False alarms where two of the secondaries did change by 20 %; the worst is ${percent(worstMixed)}:`,
      table(['noise', 'runs', 'any of the 4 others'], beside),
      'Where the order of the runs lets a drift look like a difference, which the comparison warns of:',
      table(head.slice(0, 3), broken),
      `Differences found, with ${percent(NOISE)} noise from run to run:`,
      table(['runs', '-5 %', '-10 %', '-15 %'], powers),
      `Trends of noise: what was named although nothing grew; the worst is ${percent(worstTrend)}:`,
      `${table(['noise', 'runs', 'anything named'], named)}\n`,
    ].join('\n\n'),
  );
  if (Math.max(worst, worstMixed, worstTrend) > MAX_FALSE_ALARMS) process.exitCode = 1;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) main(Number(process.argv[2] ?? 1000));
