/**
 * How often `stress compare --until-sure` is wrong, and how many pairs of runs it needs: simulated comparisons, decided
 * by the code of the command, against the analysis of 8 pairs. Prints a table in Markdown.
 *
 *     node scripts/simulate-compare.js [TRIALS]
 */
import { fileURLToPath } from 'node:url';
import { randomNumbers } from '../src/random.js';
import { decide } from '../src/studies/compare.js';
import { PairedSequence } from '../src/studies/sequential.js';
import { median } from '../src/studies/statistics.js';
import { table } from './bench/lib.js';
import { autocorrelated, bimodal, drifting, heavyTailed, normal, percent } from './noise.js';

/** @import { Noise } from './noise.js' */

/** Of the log of a figure, from run to run. */
const NOISE = 0.02;
const EQUIVALENT = 0.02;
const MAX_PAIRS = 200;
const FIXED_PAIRS = 8;

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
 * @param {{seed: number, change: number, equivalent?: number, isEndless?: boolean}} options change: true log ratio of B
 *   and A; isEndless: 200 pairs in any case
 */
export function simulate(noise, { seed, change, equivalent = EQUIVALENT, isEndless = false }) {
  const random = randomNumbers(seed);
  const next = NOISES[noise](random);
  const sequence = new PairedSequence({ equivalent });
  let isMissed = false;
  /** @type {ReturnType<PairedSequence['decision']>} */
  let decision = null;
  while (sequence.pairs < MAX_PAIRS && (isEndless || decision === null)) {
    const [first, second] = [NOISE * next(), NOISE * next()];
    sequence.add(change + (random() < 0.5 ? second - first : first - second));
    decision ??= sequence.decision();
    const { low, high } = sequence.interval();
    isMissed ||= change < low || change > high;
  }
  return { decision, pairs: sequence.pairs, isMissed };
}

/** Whether 8 pairs in the order A B B A show a difference. @param {string} noise @param {{seed: number, change: number}} options */
function isShownByFixed(noise, { seed, change }) {
  const random = randomNumbers(seed);
  const next = NOISES[noise](random);
  /** @type {{A: number[], B: number[]}} */
  const values = { A: [], B: [] };
  for (const side of /** @type {Array<'A' | 'B'>} */ ([...'ABBA'.repeat(FIXED_PAIRS / 2)]))
    values[side].push(1000 * Math.exp(NOISE * next() + (side === 'B' ? change : 0)));
  const [{ word }] = decide([{ better: 'higher', base: values.A, candidate: values.B }], true);
  return word === 'faster' || word === 'slower';
}

/** @param {number} trials @param {(trial: number) => boolean} isSo */
function share(trials, isSo) {
  return Array.from({ length: trials }, (_, i) => isSo(i)).filter(Boolean).length / trials;
}

/** @param {number} trials */
function main(trials) {
  let worst = 0;
  const rates = Object.keys(NOISES).map((noise, n) => {
    const seedOf = (/** @type {number} */ trial) => 1_000_000 * (n + 1) + trial;
    const equal = Array.from({ length: trials }, (_, i) =>
      simulate(noise, { seed: seedOf(i), change: 0, equivalent: 0, isEndless: true }),
    );
    const rate = (/** @type {(one: ReturnType<typeof simulate>) => boolean} */ isSo) =>
      equal.filter(isSo).length / trials;
    const same = Array.from({ length: trials }, (_, i) => simulate(noise, { seed: seedOf(i), change: 0 }));
    const wrong = share(
      trials,
      (i) => simulate(noise, { seed: seedOf(i), change: Math.log(1.03) }).decision === 'equivalent',
    );
    const shares = [rate(({ decision }) => decision === 'different'), rate(({ isMissed }) => isMissed), wrong];
    worst = Math.max(worst, ...shares);
    const found = same.filter(({ decision }) => decision === 'equivalent');
    return [
      ...[noise, ...shares.map(percent)],
      percent(share(trials, (i) => isShownByFixed(noise, { seed: seedOf(i), change: 0 }))),
      `${percent(found.length / trials)}, ${median(same.map(({ pairs }) => pairs))}`,
    ];
  });
  const powers = Object.keys(NOISES).flatMap((noise, n) =>
    [3, 10, 50].map((size) => {
      const change = Math.log1p(size / 100);
      const seedOf = (/** @type {number} */ trial) => 1_000_000 * (n + 11) + trial;
      const runs = Array.from({ length: trials }, (_, i) =>
        simulate(noise, { seed: seedOf(i), change, equivalent: 0 }),
      );
      const shown = runs.filter(({ decision }) => decision === 'different').length;
      const pairs = runs.map((run) => run.pairs).sort((a, b) => a - b);
      return [
        ...[
          noise,
          `${size} %`,
          percent(shown / trials),
          String(median(pairs)),
          String(pairs[Math.floor(0.9 * trials)]),
        ],
        percent(share(trials, (i) => isShownByFixed(noise, { seed: seedOf(i), change }))),
      ];
    }),
  );
  process.stdout.write(
    [
      `Wrong, of ${trials.toLocaleString('en-US')} comparisons each, after any of ${MAX_PAIRS} pairs (noise ${percent(NOISE)} a run); the worst is ${percent(worst)}:`,
      table(
        [
          ...['noise', 'equal sides: different', 'true change ever outside of the interval'],
          ...['true +3 %: "no difference above 2 %"', 'equal sides, 8 pairs: different'],
          'equal sides: "no difference above 2 %", median pairs',
        ],
        rates,
      ),
      'Differences shown:',
      table(['noise', 'true', 'until sure', 'median pairs', 'pairs in 90 %', '8 pairs'], powers),
    ].join('\n\n') + '\n',
  );
  if (worst > 0.05) process.exitCode = 1;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) main(Number(process.argv[2] ?? 1000));
