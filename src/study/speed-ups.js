import { metricOf } from './metrics.js';
import { mean } from './statistics.js';

/** @import { Entry } from './comparable.js' */

/** What the speed-ups are made of. */
const SPEED_UPS =
  "of each run the mean, the longest and the shortest latency; of these the runs' geometric mean on each side";

const fiveDigits = new Intl.NumberFormat('en-US', { maximumSignificantDigits: 5 });

/**
 * As in tables of benchmarks of one build against another: of each run its mean, its longest and its shortest latency, of
 * these the geometric mean over the runs of a side, and of the two sides' the ratio.
 * @param {Entry[]} base
 * @param {Entry[]} candidate
 */
export function speedUps(base, candidate) {
  /** @param {'avg' | 'max' | 'min'} name */
  const of = (name) => {
    const { read, isAtLeast } = metricOf(name);
    const sides = [base, candidate].map((side) => side.map(({ run }) => run));
    const [baseUs, candidateUs] = sides.map((runs) => geometricMean(runs.map(read)));
    const texts = [baseUs, candidateUs].map((us, i) => msText(us, sides[i].some(isAtLeast)));
    return { means: { baseUs, candidateUs }, words: [`${texts[0]} in BASE`, `${texts[1]} in CANDIDATE`] };
  };
  const [average, slowest, fastest] = [of('avg'), of('max'), of('min')];
  const speedUp = (/** @type {typeof average} */ { means: { baseUs, candidateUs } }) => lessOne(baseUs, candidateUs);
  return {
    words: SPEED_UPS,
    onAverage: { ...average.means, speedUp: speedUp(average), words: ratioWords(average.words) },
    onSlowest: { ...slowest.means, speedUp: speedUp(slowest), words: ratioWords(slowest.words) },
    onFastest: {
      ...fastest.means,
      slowDown: lessOne(fastest.means.candidateUs, fastest.means.baseUs),
      words: ratioWords(fastest.words.toReversed()),
    },
  };
}

/** @param {Array<number | null>} values @returns {number | null} null where one was not measured */
function geometricMean(values) {
  const known = values.filter((value) => value !== null);
  return known.length < values.length ? null : Math.exp(mean(known.map(Math.log)));
}

/** @param {number | null} a @param {number | null} b */
function lessOne(a, b) {
  return a === null || b === null || b === 0 ? null : a / b - 1;
}

/** @param {string[]} words */
function ratioWords([above, below]) {
  return `${above} / ${below}, less 1`;
}

/** So exact that the percentage beside it follows. @param {number | null} us @param {boolean} isAtLeast */
function msText(us, isAtLeast) {
  return us === null ? 'not measured' : `${isAtLeast ? '>= ' : ''}${fiveDigits.format(us / 1000)} ms`;
}
