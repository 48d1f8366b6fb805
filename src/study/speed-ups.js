import { metricOf } from './metrics.js';
import { mean } from './statistics.js';

/** @typedef {import('./comparable.js').Entry} Entry */

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
    const { read } = metricOf(name);
    const [baseUs, candidateUs] = [base, candidate].map((side) => geometricMean(side.map(({ run }) => read(run))));
    return { baseUs, candidateUs };
  };
  const [average, slowest, fastest] = [of('avg'), of('max'), of('min')];
  return {
    words: SPEED_UPS,
    onAverage: { ...average, speedUp: lessOne(average.baseUs, average.candidateUs), words: ratioWords(average) },
    onSlowest: { ...slowest, speedUp: lessOne(slowest.baseUs, slowest.candidateUs), words: ratioWords(slowest) },
    onFastest: { ...fastest, slowDown: lessOne(fastest.candidateUs, fastest.baseUs), words: ratioWords(fastest, true) },
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

/**
 * So exact that the percentage beside it follows.
 * @param {{baseUs: number | null, candidateUs: number | null}} means
 * @param {boolean} [isSlowDown]
 */
function ratioWords({ baseUs, candidateUs }, isSlowDown = false) {
  const [base, candidate] = [baseUs, candidateUs].map((us) =>
    us === null ? 'not measured' : `${fiveDigits.format(us / 1000)} ms`,
  );
  return isSlowDown
    ? `${candidate} in CANDIDATE / ${base} in BASE, less 1`
    : `${base} in BASE / ${candidate} in CANDIDATE, less 1`;
}
