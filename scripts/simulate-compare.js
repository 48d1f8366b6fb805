/**
 * How often `stress compare --until-sure` is wrong, how many pairs of runs it needs, and how wide its intervals are:
 * simulated comparisons, decided by the code of the command. Prints tables in Markdown.
 *
 *     node scripts/simulate-compare.js [TRIALS]
 */
import { fileURLToPath } from 'node:url';
import { randomNumbers } from '../src/random.js';
import { PairedSequence, decidingAlpha, fewestPairs } from '../src/studies/sequential.js';
import { standardDeviation } from '../src/studies/statistics.js';
import { table } from './bench/lib.js';
import { autocorrelated, bimodal, drifting, heavyTailed, normal, percent } from './noise.js';

/** @import { Noise } from './noise.js' */

/** Of the log of a figure, from run to run. */
const NOISE = 0.02;
const EQUIVALENT = 0.02;
const MAX_PAIRS = 200;

/** @type {Readonly<Record<string, Noise>>} */
export const NOISES = Object.freeze({
  normal,
  'heavy-tailed (t, 2 degrees of freedom)': heavyTailed,
  'drifting, 1 % a run': drifting(-0.01 / NOISE),
  'bimodal, 30 % of runs 5 % slower': bimodal(0.3, 0.05 / NOISE),
  'autocorrelated, 0.95': autocorrelated,
});

/**
 * @param {string} noise
 * @param {object} options
 * @param {number} options.seed
 * @param {number} options.change true log ratio of B and A
 * @param {number} [options.equivalent]
 * @param {number} [options.figures] that decide; this is one of them
 * @param {number} [options.least] pairs that are made in any case
 */
export function simulate(noise, { seed, change, equivalent = EQUIVALENT, figures = 1, least = 0 }) {
  const random = randomNumbers(seed);
  const next = NOISES[noise](random);
  const sequence = new PairedSequence({ alpha: decidingAlpha(figures), equivalent });
  /** @type {number[]} */
  const ratios = [];
  let [isMissed, pairs] = [false, MAX_PAIRS];
  /** @type {ReturnType<PairedSequence['decision']>} */
  let decision = null;
  while (ratios.length < MAX_PAIRS && (ratios.length < least || decision === null)) {
    const [first, second] = [NOISE * next(), NOISE * next()];
    ratios.push(change + (random() < 0.5 ? second - first : first - second));
    sequence.add(Number(ratios.at(-1)));
    if (decision === null) [decision, pairs] = [sequence.decision(), ratios.length];
    const { low, high } = sequence.interval();
    isMissed ||= change < low || change > high;
  }
  const { low, high } = sequence.interval();
  return { decision, pairs, isMissed, widthBySpread: (high - low) / standardDeviation(ratios) };
}

/** @param {readonly number[]} values @param {number} share */
function quantile(values, share) {
  return [...values].sort((a, b) => a - b)[Math.floor(share * (values.length - 1))];
}

/** @param {number} trials */
function main(trials) {
  /** @param {string} noise @param {number} group @param {Omit<Parameters<typeof simulate>[1], 'seed'>} options */
  const all = (noise, group, options) =>
    Array.from({ length: trials }, (_, i) => simulate(noise, { ...options, seed: 1_000_000 * group + i }));
  /** @param {ReturnType<typeof all>} runs @param {(run: ReturnType<typeof simulate>) => boolean} isSo */
  const share = (runs, isSo) => runs.filter(isSo).length / runs.length;
  let worst = 0;
  const rates = Object.keys(NOISES).map((noise, n) => {
    const equal = all(noise, n + 1, { change: 0, equivalent: 0, least: MAX_PAIRS });
    const same = all(noise, n + 1, { change: 0 });
    const other = all(noise, n + 1, { change: Math.log(1.03) });
    const wrong = [
      share(equal, ({ decision }) => decision === 'different'),
      share(equal, ({ isMissed }) => isMissed),
      share(other, ({ decision }) => decision === 'equivalent'),
    ];
    worst = Math.max(worst, ...wrong);
    const found = share(same, ({ decision }) => decision === 'equivalent');
    return [noise, ...[...wrong, found].map(percent), String(quantile(same.map(({ pairs }) => pairs), 0.5))]; // prettier-ignore
  });
  const powers = Object.keys(NOISES).flatMap((noise, n) =>
    [
      [3, 1],
      [10, 1],
      [100 * Math.expm1(10 * NOISE), 1],
      [100 * Math.expm1(10 * NOISE), 7],
    ].map(([size, figures]) => {
      // prettier-ignore
      const least = fewestPairs(decidingAlpha(figures)) + 2;
      const runs = all(noise, n + 11, { change: Math.log1p(size / 100), equivalent: 0, figures, least });
      const pairs = runs.map((run) => run.pairs);
      const early = runs.filter((run) => run.pairs <= least).map(({ widthBySpread }) => widthBySpread);
      return [
        ...[noise, `${size.toFixed(0)} %`, String(figures)],
        percent(share(runs, ({ decision }) => decision === 'different')),
        ...[0.5, 0.9].map((part) => String(quantile(pairs, part))),
        percent(early.length / trials),
        early.length === 0 ? '-' : [0.5, 0.9].map((part) => quantile(early, part).toFixed(1)).join(', '),
      ];
    }),
  );
  process.stdout.write(
    [
      `Wrong, of ${trials.toLocaleString('en-US')} comparisons each, after any of ${MAX_PAIRS} pairs (noise ${percent(NOISE)} a run); the worst is ${percent(worst)}:`,
      table(
        [
          ...['noise', 'equal sides: different', 'true change ever outside of the interval'],
          ...['true +3 %: "no difference above 2 %"', 'equal sides: "no difference above 2 %"', 'median pairs'],
        ],
        rates,
      ),
      'Differences shown; early: at most two pairs above the fewest that any bet needs; width of the interval in standard deviations of the log ratios:',
      table(
        ['noise', 'true', 'figures', 'shown', 'median pairs', 'pairs in 90 %', 'early', 'width then: median, 90 %'],
        powers,
      ),
    ].join('\n\n') + '\n',
  );
  if (worst > 0.05) process.exitCode = 1;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) main(Number(process.argv[2] ?? 1000));
