import { PairedSequence } from './sequential.js';

/**
 * Finds the first bad commit of a range from noisy comparisons: a probability of each commit to be the first bad one is
 * updated by Bayes' rule with each pair of runs, and the next pair is made where its result is most uncertain (M.
 * Horstein, Sequential transmission using noiseless feedback, 1963; M. Ben-Or and A. Hassidim, The Bayesian learner is
 * optimal for noisy binary search, 2008; R. Waeber, P. Frazier and S. Henderson, Bisection search with noisy responses,
 * 2013).
 *
 * A pair gives x, the log ratio of the metric at a commit and at the good commit, positive if the commit is worse. It
 * scatters around 0 before the first bad commit, and around an unknown loss from there on. Loss and scatter are
 * estimated at the same time, on a grid, so that the doubt about them is part of every probability. The scatter has
 * heavy tails (Student's t), so that no single run decides. The order of the runs of a pair is drawn by chance: drift
 * and autocorrelation then give x both signs alike, and move no commit to one side.
 *
 * Before that, pairs of the bad commit and the good one are made until a sequential test is sure of a loss, or that it
 * is smaller than a margin.
 *
 * @typedef {object} Figures
 * @property {number[]} probabilities of each position to be the first bad one; the first is that of position 1
 * @property {number} none probability that even the last position is not bad
 * @property {number} entropy in nats
 *
 * @typedef {object} BisectionEnd
 * @property {'found' | 'range' | 'equal' | 'better' | 'undecided'} reason found: one commit; range: the first bad one is
 *   among several; equal: the bad one is not worse; better: it is better than the good one; undecided: neither is sure
 * @property {number} from first position that may be the first bad one
 * @property {number} to last one
 * @property {number} probability that it is among them
 */

export const CONFIDENCE = 0.95;

/** Most pairs that are made. */
const MOST_PAIRS = 500;

/** Pairs that the named commit and the one before it have at least. */
const LEAST_PAIRS = 2;

/** Entropy of a distribution with CONFIDENCE on one position, about. */
const LAST_ENTROPY = 0.2;

/** Degrees of freedom of the scatter. */
const DEGREES = 4;

/** Prior probability that the last position is not bad. */
const NO_LOSS = 0.5;

/** Exponent of the likelihood: runs are less independent than the formula assumes. */
const TEMPER = 0.8;

/** Losses and scatters, as logarithms of the metric, at equal distances on a log scale. */
const LOSSES = steps(0.005, 3, 26);
const SCATTERS = steps(0.002, 1, 20);

const CELLS = LOSSES.length * SCATTERS.length;

/** Smaller likelihoods, as logarithms below the highest, are left out. */
const NEGLIGIBLE = 40;

/** Among positions whose outcome is about as uncertain, a measured one is preferred: it is built already. */
const EVEN = 0.12;

/** @param {number} from @param {number} to @param {number} count */
function steps(from, to, count) {
  return Object.freeze(Array.from({ length: count }, (_, i) => from * (to / from) ** (i / (count - 1))));
}

export class Bisection {
  #count;
  #margin;
  #first = new PairedSequence();
  /** By position, the log likelihood of its pairs in each cell of the grid, if it is good and if it is bad. @type {Map<number, {good: Float64Array, bad: Float64Array}>} */
  #logs = new Map();
  /** @type {Map<number, number>} */
  #pairs = new Map();
  /** Positions that cannot be measured. @type {Set<number>} */
  #skipped = new Set();
  /** @type {Figures | null} */
  #figures = null;

  /** @param {number} count of positions: 1 is the commit after the good one, the last one is the bad commit @param {number} equivalent loss without practical meaning, as a fraction */
  constructor(count, equivalent) {
    this.#count = count;
    this.#margin = Math.log1p(equivalent);
  }

  get pairs() {
    return [...this.#pairs.values()].reduce((sum, pairs) => sum + pairs, 0);
  }

  /** Whether the bad commit is sure to be worse. */
  get isWorse() {
    return this.#first.interval().low > 0;
  }

  /** @param {number} position */
  skip(position) {
    this.#skipped.add(position);
  }

  /** @param {number} position from 1 @param {number} x log ratio to the good commit, positive: worse */
  add(position, x) {
    if (position === this.#count && !this.isWorse) this.#first.add(x);
    this.#pairs.set(position, (this.#pairs.get(position) ?? 0) + 1);
    this.#figures = null;
    const { good, bad } = this.#logs.get(position) ?? emptyLogs();
    this.#logs.set(position, { good, bad });
    SCATTERS.forEach((scatter, i) => {
      const log = TEMPER * logDensity(x, scatter);
      LOSSES.forEach((loss, j) => {
        good[i * LOSSES.length + j] += log;
        bad[i * LOSSES.length + j] += TEMPER * logDensity(x - loss, scatter);
      });
    });
  }

  /** @returns {Figures} */
  figures() {
    this.#figures ??= this.#compute();
    return this.#figures;
  }

  /** Positions between two measured ones have the same likelihood. @returns {Figures} */
  #compute() {
    const ends = [...new Set([...this.#logs.keys(), this.#count])].sort((a, b) => a - b);
    const logs = ends.map((position) => this.#logs.get(position) ?? emptyLogs());
    const sizes = ends.map((end, i) => end - (ends[i - 1] ?? 0));
    const priors = [...sizes.map((size) => ((1 - NO_LOSS) * size) / this.#count), NO_LOSS];
    const cells = Array.from({ length: CELLS }, (_, cell) => {
      let sum = logs.reduce((total, { bad }) => total + bad[cell], 0);
      return [sum, ...logs.map(({ good, bad }) => (sum += good[cell] - bad[cell]))];
    });
    const highest = cells.reduce((most, row) => Math.max(most, ...row), -Infinity);
    const weights = priors.map(() => 0);
    for (const row of cells)
      row.forEach((log, i) => {
        if (log > highest - NEGLIGIBLE) weights[i] += Math.exp(log - highest) * priors[i];
      });
    const all = weights.reduce((sum, weight) => sum + weight, 0);
    const none = weights[ends.length] / all;
    const probabilities = ends.flatMap((_, i) => new Array(sizes[i]).fill(weights[i] / all / sizes[i]));
    const entropy = [...probabilities, none].reduce((sum, p) => (p > 0 ? sum - p * Math.log(p) : sum), 0);
    return { probabilities, none, entropy };
  }

  /** What to do next: the position of the next pair, or the end. @returns {{position: number} | BisectionEnd} */
  next() {
    const range = this.#range();
    if (!this.isWorse) {
      const { high } = this.#first.interval();
      if (high < 0) return { reason: 'better', ...range };
      if (high <= this.#margin) return { reason: 'equal', ...range };
      return this.pairs < MOST_PAIRS ? { position: this.#count } : this.limit();
    }
    if (this.figures().none >= CONFIDENCE) return { reason: 'equal', ...range };
    const { from, to } = range;
    if (range.probability >= CONFIDENCE && this.#areAllSkipped(from, to)) {
      const unsure = [from - 1, to].find((position) => position > 0 && (this.#pairs.get(position) ?? 0) < LEAST_PAIRS);
      if (unsure !== undefined) return { position: unsure };
      return { reason: from === to ? 'found' : 'range', ...range };
    }
    return this.pairs < MOST_PAIRS ? { position: this.#mostUncertain() } : this.limit();
  }

  /** The end if no more pairs can be made. @returns {BisectionEnd} */
  limit() {
    return { reason: this.isWorse ? 'range' : 'undecided', ...this.#range() };
  }

  /** Pairs that are still needed, as far as those made allow an estimate. */
  pairsLeft() {
    const { entropy } = this.figures();
    const gained = Math.log(this.#count) + Math.LN2 - entropy;
    const left = Math.max(0, entropy - LAST_ENTROPY);
    return Math.min(MOST_PAIRS - this.pairs, Math.max(1, Math.ceil((left * this.pairs) / Math.max(gained, 0.5))));
  }

  /** What is known of the loss of the bad commit, as a logarithm. @returns {number} infinite: no bound yet */
  largestLoss() {
    return this.#first.interval().high;
  }

  /** Nothing between them can be measured. @param {number} from @param {number} to */
  #areAllSkipped(from, to) {
    for (let position = from; position < to; position += 1) if (!this.#skipped.has(position)) return false;
    return true;
  }

  /** The position whose next pair is most uncertain to be good or bad. @returns {number} */
  #mostUncertain() {
    let isBad = 0;
    let best = { position: this.#count, doubt: Infinity };
    this.figures().probabilities.forEach((probability, i) => {
      isBad += probability;
      const position = i + 1;
      if (this.#skipped.has(position)) return;
      const doubt = Math.abs(isBad - 0.5) - (this.#pairs.has(position) ? EVEN : 0);
      if (doubt < best.doubt) best = { position, doubt };
    });
    return best.position;
  }

  /** Positions around the most probable one which have the first bad one with CONFIDENCE. */
  #range() {
    const { probabilities } = this.figures();
    let [from, to] = [1, this.#count];
    let probability = probabilities.reduce((sum, p) => sum + p, 0);
    for (;;) {
      const isLow = probabilities[from - 1] <= probabilities[to - 1];
      const least = probabilities[(isLow ? from : to) - 1];
      if (from === to || probability - least < CONFIDENCE) return { from, to, probability };
      probability -= least;
      if (isLow) from += 1;
      else to -= 1;
    }
  }
}

function emptyLogs() {
  return { good: new Float64Array(CELLS), bad: new Float64Array(CELLS) };
}

/** Logarithm of the density of Student's t, without the constant. @param {number} x @param {number} scatter */
function logDensity(x, scatter) {
  return -Math.log(scatter) - ((DEGREES + 1) / 2) * Math.log1p((x / scatter) ** 2 / DEGREES);
}
