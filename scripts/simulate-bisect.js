/**
 * How often `stress bisect` names the right commit, and with how many runs: simulated bisections over 64 commits, put to
 * the decisions that the command itself makes, against plain `git bisect` with the majority of three runs.
 *
 *     node scripts/simulate-bisect.js [BISECTIONS]
 */
import { fileURLToPath } from 'node:url';
import { randomNumbers } from '../src/random.js';
import { Bisection } from '../src/studies/bisection.js';
import { median } from '../src/studies/statistics.js';
import { table } from './bench/lib.js';
import { autocorrelated, bimodal, drifting, heavyTailed, normal, percent } from './noise.js';

/**
 * @import { Noise } from './noise.js'
 * @import { Random } from '../src/random.js'
 */

const COMMITS = 64;
/** The default of --equivalent. */
const EQUIVALENT = 0.02;

/** @type {Readonly<Record<string, Noise>>} */
export const NOISES = Object.freeze({
  normal,
  'heavy-tailed (t, 2 degrees)': heavyTailed,
  'drifting (a third per run)': (random) => drifting((random() < 0.5 ? -1 : 1) / 3, 0.7)(random),
  'bimodal (3 of 10 runs 3 lower)': bimodal(0.4, 3),
  'autocorrelated (0.95)': autocorrelated,
});

/** Loss of the bad commits and noise of a run. @type {ReadonlyArray<readonly [number, number]>} */
const CASES = [
  [0.08, 0.03],
  [0.08, 0.06],
  [0.03, 0.03],
  [0, 0.03],
];

/** @param {{noise: string, scale: number, loss: number, random: Random, commits?: number}} world */
function worldOf({ noise, scale, loss, random, commits = COMMITS }) {
  const next = NOISES[noise](random);
  const first = 1 + Math.floor(random() * commits);
  let runs = 0;
  /** Log of the metric. @param {number} position 0: the good commit */
  const run = (position) => {
    runs += 1;
    return scale * next() + (position >= first ? Math.log1p(-loss) : 0);
  };
  return { first, run, runs: () => runs };
}

/** @param {Parameters<typeof worldOf>[0]} given */
export function bisectOnce({ commits = COMMITS, ...given }) {
  const { first, run, runs } = worldOf({ commits, ...given });
  const bisection = new Bisection(commits, EQUIVALENT);
  for (;;) {
    const step = bisection.next();
    if ('reason' in step) {
      const { reason, from, to } = step;
      return { reason, isRight: from <= first && first <= to, runs: runs() };
    }
    const { position } = step;
    const isGoodFirst = given.random() < 0.5;
    const [a, b] = [run(isGoodFirst ? 0 : position), run(isGoodFirst ? position : 0)];
    bisection.add(position, isGoodFirst ? a - b : b - a);
  }
}

/** Each commit has up to three runs, compared with the middle between three runs of good and three of bad. @param {Parameters<typeof worldOf>[0]} given */
function plainOnce(given) {
  const { first, run, runs } = worldOf(given);
  const ofThree = (/** @type {number} */ position) => median([run(position), run(position), run(position)]);
  const limit = (ofThree(0) + ofThree(COMMITS)) / 2;
  let [good, bad] = [0, COMMITS];
  while (bad - good > 1) {
    const middle = (good + bad) >> 1;
    let votes = 0;
    for (let tried = 0; tried < 3 && Math.abs(votes) < 2; tried += 1) votes += run(middle) < limit ? 1 : -1;
    if (votes > 0) bad = middle;
    else good = middle;
  }
  return { isRight: bad === first, runs: runs() };
}

/** @param {readonly [number, number]} sizes @param {string} noise @param {number} times @param {number} seed */
function row([loss, scale], noise, times, seed) {
  const random = randomNumbers(seed);
  const given = { noise, scale, loss, random };
  const ours = Array.from({ length: times }, () => bisectOnce(given));
  const plain = Array.from({ length: times }, () => plainOnce(given));
  const of = (/** @type {string[]} */ ...reasons) => ours.filter(({ reason }) => reasons.includes(reason));
  const right = (/** @type {{isRight: boolean}[]} */ ends) => ends.filter(({ isRight }) => isRight).length;
  const [found, range] = [of('found'), of('range')];
  const isNull = loss === 0;
  return [
    ...[`${100 * loss} % / ${100 * scale} %`, noise],
    ...[percent(found.length / times), isNull ? '-' : percent(right(found) / found.length)],
    ...[percent(range.length / times), isNull ? '-' : percent(right(range) / range.length)],
    ...[
      percent(of('equal').length / times),
      percent(of('better').length / times),
      percent(of('undecided').length / times),
    ],
    ...[`${median(ours.map(({ runs }) => runs))}`],
    ...[isNull ? '-' : percent(right(plain) / times), `${median(plain.map(({ runs }) => runs))}`],
  ];
}

/** @param {number} times */
function main(times) {
  const head = [
    ...['loss / noise', 'noise', 'one named', 'right', 'range named', 'right', 'not slower', 'faster', 'undecided'],
    ...['runs (median)', 'plain: right', 'plain: runs'],
  ];
  const rows = CASES.flatMap((sizes, i) =>
    Object.keys(NOISES).map((noise, j) => {
      const cells = row(sizes, noise, times, 5000 + 100 * i + j);
      process.stderr.write(`${cells.join(' | ')}\n`);
      return cells;
    }),
  );
  process.stdout.write(
    `${times.toLocaleString('en-US')} bisections over ${COMMITS} commits each:\n\n${table(head, rows)}\n`,
  );
}

if (process.argv[1] === fileURLToPath(import.meta.url)) main(Number(process.argv[2] ?? 2000));
