/**
 * Estimates the value at which a condition that holds for small values begins to fail, from runs that answer yes or no.
 *
 * An adaptive search as in psychophysics: QUEST (A. B. Watson and D. G. Pelli, 1983). A probability distribution over
 * the logarithm of the threshold is updated by Bayes' rule with each answer. The width of the band in which some runs
 * hold and some fail is unknown as well: a small grid of widths is estimated at the same time, and each run is made
 * where its answer is expected to give most information about both (L. L. Kontsevich and C. W. Tyler, 1999); runs at
 * the median alone would not distinguish widths. A few answers are wrong at any value.
 *
 * @typedef {object} Scale values that can be tried
 * @property {number} lowest
 * @property {number} highest
 * @property {number | null} guess the first value; null: the middle
 * @property {boolean} isInteger
 *
 * @typedef {object} Figures
 * @property {number} estimate the median of the distribution; of whole numbers the last one that holds
 * @property {number} low bound of the interval that has the threshold with a probability of CONFIDENCE
 * @property {number} high
 *
 * @typedef {'sharp' | 'noise' | 'trials' | 'at least' | 'below' | null} End why the search ended; null: it goes
 *   on
 */

export const CONFIDENCE = 0.95;

export const MAX_TRIALS = 24;

/** Half length of a sharp interval, relative to the estimate. */
export const SHARP = 0.025;

/** Share of answers that do not depend on the value, for example because the machine was busy. */
const LAPSES = 0.02;

/** Widths as logarithms: half of the changes from yes to no lie within about one width of the threshold. */
const WIDTHS = Object.freeze([0.003, 0.01, 0.03, 0.06, 0.12, 0.25]);

/** Wider ones are less likely: nodes seldom hold in some runs and fail in others over more than this. With equal chances few runs gave intervals of a factor of two. */
const USUAL_WIDTH = 0.03;

/** How far a first guess may be off, as a logarithm: after an answer the next value is up to four times as high or as low. */
const GUESS_SCALE = 2;

/** Quantiles of the distribution that are candidates for the next run. */
const CANDIDATES = Object.freeze([0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95]);

/** Step of the grid of logarithms: a fifth of a sharp interval. */
const STEP = SHARP / 5;

/** The grid extends this far beyond the ends, to recognise thresholds outside. */
const MARGIN = Math.log(1.5);

/** If the last LATELY runs inside the interval did not shorten it to SHRUNK of its length, noise prevents a sharper result. */
const LATELY = 10;
const SHRUNK = 0.9;

export class ThresholdEstimate {
  /** @type {Scale} */
  #scale;
  /** Logarithms of thresholds. @type {Float64Array} */
  #logs;
  /** Probability by width and threshold, with sum 1. @type {Float64Array[]} */
  #probabilities;
  /** Chance of a yes by width and by distance between threshold and value, in steps. @type {Float64Array[]} */
  #chances;
  /** Entropy of these answers. @type {Float64Array[]} */
  #entropies;
  /** @type {number[]} */
  #values = [];
  /** Length of the interval after each run. @type {number[]} */
  #lengths = [];

  /** @param {Scale} scale */
  constructor(scale) {
    this.#scale = scale;
    const { guess } = scale;
    const from = Math.log(scale.lowest) - MARGIN;
    const points = Math.ceil((Math.log(scale.highest) + MARGIN - from) / STEP) + 1;
    this.#logs = Float64Array.from({ length: points }, (_, i) => from + i * STEP);
    const prior = this.#logs.map((log) =>
      guess === null ? 1 : Math.exp(-Math.abs(log - Math.log(guess)) / GUESS_SCALE),
    );
    this.#probabilities = normalized(
      WIDTHS.map((width) => prior.map((probability) => probability * Math.min(1, USUAL_WIDTH / width))),
    );
    this.#chances = WIDTHS.map((width) =>
      Float64Array.from({ length: 2 * points - 1 }, (_, i) => chanceOfYes((i - points + 1) * STEP, width)),
    );
    this.#entropies = this.#chances.map((row) => row.map(entropy));
  }

  get trials() {
    return this.#values.length;
  }

  /** @param {number} value of the run @param {boolean} holds */
  add(value, holds) {
    const log = Math.log(value);
    this.#probabilities = normalized(
      this.#probabilities.map((row, i) =>
        row.map((probability, j) => {
          const yes = chanceOfYes(this.#logs[j] - log, WIDTHS[i]);
          return probability * (holds ? yes : 1 - yes);
        }),
      ),
    );
    this.#values.push(value);
    const { low, high } = this.figures();
    this.#lengths.push(high - low);
  }

  /** The value whose answer gives most information. @returns {number} */
  next() {
    const { lowest, highest, isInteger } = this.#scale;
    const values = this.#quantiles(CANDIDATES).flatMap((value) =>
      isInteger ? [Math.floor(value), Math.floor(value) + 1] : [Number(value.toPrecision(3))],
    );
    const within = new Set(values.map((value) => Math.min(highest, Math.max(lowest, value))));
    const gains = [...within].map((value) => ({ value, gain: this.#gainOf(value) }));
    return gains.reduce((best, one) => (one.gain > best.gain ? one : best)).value;
  }

  /** @returns {Figures} */
  figures() {
    const tail = (1 - CONFIDENCE) / 2;
    const values = this.#quantiles([tail, 0.5, 1 - tail]);
    const [low, estimate, high] = this.#scale.isInteger ? values.map(Math.floor) : values;
    return { low, estimate, high };
  }

  /** @returns {End} */
  end() {
    const { lowest, highest } = this.#scale;
    const { low, estimate, high } = this.figures();
    if (this.trials === 0) return null;
    if (this.#shareBelow(highest) < 1 - CONFIDENCE) return 'at least';
    if (this.#shareBelow(lowest) > CONFIDENCE) return 'below';
    if (high - low <= 2 * SHARP * estimate) return 'sharp';
    if (this.trials >= MAX_TRIALS) return 'trials';
    const before = this.#lengths.at(-1 - LATELY);
    const isInside = this.#values.slice(-LATELY).every((value) => value >= low && value <= high);
    return before !== undefined && isInside && high - low > SHRUNK * before ? 'noise' : null;
  }

  /** Expected information of an answer about threshold and width, in nats. @param {number} value */
  #gainOf(value) {
    const last = this.#logs.length - 1;
    const at = Math.min(last, Math.max(0, Math.round((Math.log(value) - this.#logs[0]) / STEP)));
    let [yes, unsure] = [0, 0];
    // The hot loop of a search: a function call per cell would triple its time.
    for (const [i, row] of this.#probabilities.entries()) {
      const [chances, doubts] = [this.#chances[i], this.#entropies[i]];
      for (let j = 0; j <= last; j += 1) {
        yes += row[j] * chances[j - at + last];
        unsure += row[j] * doubts[j - at + last];
      }
    }
    return entropy(yes) - unsure;
  }

  /** Probability of each threshold over all widths. */
  #marginal() {
    return this.#logs.map((_, j) => this.#probabilities.reduce((sum, row) => sum + row[j], 0));
  }

  /** @param {number} value @returns {number} probability that the threshold is below it */
  #shareBelow(value) {
    return this.#marginal().reduce(
      (sum, probability, j) => (this.#logs[j] < Math.log(value) ? sum + probability : sum),
      0,
    );
  }

  /** @param {readonly number[]} shares @returns {number[]} quantiles of the threshold */
  #quantiles(shares) {
    const marginal = this.#marginal();
    return shares.map((share) => {
      let left = share;
      const at = marginal.findIndex((probability) => {
        if (probability >= left) return true;
        left -= probability;
        return false;
      });
      // A grid point represents the values around it.
      return at < 0 ? Math.exp(this.#logs.at(-1) ?? 0) : Math.exp(this.#logs[at] + STEP * (left / marginal[at] - 0.5));
    });
  }
}

/** @param {Float64Array[]} rows @returns {Float64Array[]} with sum 1 */
function normalized(rows) {
  const all = rows.reduce((total, row) => row.reduce((sum, probability) => sum + probability, total), 0);
  return rows.map((row) => row.map((probability) => probability / all));
}

/** @param {number} room distance from the value to the threshold, as logarithms @param {number} width */
function chanceOfYes(room, width) {
  return LAPSES + (1 - 2 * LAPSES) / (1 + Math.exp(-room / width));
}

/** Entropy of a yes-or-no answer, in nats. @param {number} chance */
function entropy(chance) {
  return -chance * Math.log(chance) - (1 - chance) * Math.log(1 - chance);
}
