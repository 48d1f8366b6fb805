/**
 * Where a condition that holds for small values ceases to hold, from runs that say yes or no.
 *
 * An adaptive search as in psychophysics: QUEST (A. B. Watson and D. G. Pelli, 1983). What is believed of the threshold
 * is a distribution over its logarithm, and each answer changes the belief by Bayes' rule. How wide the band is in
 * which runs hold and fail by turns is not known either: all widths of a small grid are carried along, and each run is
 * made where its answer is expected to tell the most of both (L. L. Kontsevich and C. W. Tyler, 1999): at the median
 * alone every width would look the same. A few answers are wrong wherever they were asked.
 *
 * @typedef {object} Scale what can be tried
 * @property {number} lowest
 * @property {number} highest
 * @property {number | null} guess where to begin; null: in the middle, because it may be anywhere between the two
 * @property {boolean} isWhole
 *
 * @typedef {object} Figures
 * @property {number} estimate the median of what is believed; of whole numbers the last for which it holds
 * @property {number} low of the interval that has the threshold in it with a probability of CONFIDENCE
 * @property {number} high
 *
 * @typedef {'sharp' | 'noise' | 'trials' | 'at least' | 'below' | null} End why no more is tried; null while there is
 *   more to try
 */

export const CONFIDENCE = 0.95;

/** The most runs of a search. */
export const MOST_TRIALS = 24;

/** An interval of so much on either side is sharp. */
export const SHARP = 0.025;

/** Answers that have nothing to do with the value: something else kept the machine busy just then. */
const LAPSES = 0.02;

/** Half of the changes from yes to no lie within about one of these on either side, as logarithms: up to a quarter. */
const WIDTHS = Object.freeze([0.003, 0.01, 0.03, 0.06, 0.12, 0.25]);

/** What may be tried next, as quantiles of what is believed. */
const CANDIDATES = Object.freeze([0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95]);

/** Of the grid of logarithms: a fifth of what is called sharp. */
const STEP = SHARP / 5;

/** So far beyond the ends a threshold is still told from one at the end. */
const MARGIN = Math.log(1.5);

/** So many runs inside the interval have to have made it shorter by so much; otherwise noise keeps it from shrinking. */
const LATELY = 10;
const SHRUNK = 0.9;

export class ThresholdEstimate {
  /** @type {Scale} */
  #scale;
  /** Logarithms of thresholds. @type {Float64Array} */
  #logs;
  /** By width, then by threshold; it adds up to 1. @type {Float64Array[]} */
  #belief;
  /** By width, then by how far the threshold is from what is asked, in steps. @type {Float64Array[]} */
  #yes;
  /** How little is known of the answer there. @type {Float64Array[]} */
  #unsure;
  /** @type {number[]} */
  #values = [];
  /** How long the interval was after each of them. @type {number[]} */
  #lengths = [];

  /** @param {Scale} scale */
  constructor(scale) {
    this.#scale = scale;
    const { guess } = scale;
    const from = Math.log(scale.lowest) - MARGIN;
    const points = Math.ceil((Math.log(scale.highest) + MARGIN - from) / STEP) + 1;
    this.#logs = Float64Array.from({ length: points }, (_, i) => from + i * STEP);
    // Around a guess it falls off so that the next value is twice, or half, the one before until both answers were seen.
    const prior = this.#logs.map((log) => (guess === null ? 1 : Math.exp(-Math.abs(log - Math.log(guess)))));
    this.#belief = scaled(WIDTHS.map(() => prior));
    this.#yes = WIDTHS.map((width) =>
      Float64Array.from({ length: 2 * points - 1 }, (_, i) => chanceOfYes((i - points + 1) * STEP, width)),
    );
    this.#unsure = this.#yes.map((row) => row.map(entropy));
  }

  get trials() {
    return this.#values.length;
  }

  /** @param {number} value that was tried @param {boolean} holds */
  add(value, holds) {
    const log = Math.log(value);
    this.#belief = scaled(
      this.#belief.map((row, i) =>
        row.map((belief, j) => {
          const yes = chanceOfYes(this.#logs[j] - log, WIDTHS[i]);
          return belief * (holds ? yes : 1 - yes);
        }),
      ),
    );
    this.#values.push(value);
    const { low, high } = this.figures();
    this.#lengths.push(high - low);
  }

  /** What to try next: the value whose answer tells the most. @returns {number} */
  next() {
    const { lowest, highest, isWhole } = this.#scale;
    const values = this.#quantiles(CANDIDATES).flatMap((value) =>
      isWhole ? [Math.floor(value), Math.floor(value) + 1] : [Number(value.toPrecision(3))],
    );
    const within = new Set(values.map((value) => Math.min(highest, Math.max(lowest, value))));
    const gains = [...within].map((value) => ({ value, gain: this.#gainOf(value) }));
    return gains.reduce((best, one) => (one.gain > best.gain ? one : best)).value;
  }

  /** @returns {Figures} */
  figures() {
    const tail = (1 - CONFIDENCE) / 2;
    const values = this.#quantiles([tail, 0.5, 1 - tail]);
    const [low, estimate, high] = this.#scale.isWhole ? values.map(Math.floor) : values;
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
    if (this.trials >= MOST_TRIALS) return 'trials';
    const before = this.#lengths.at(-1 - LATELY);
    const isInside = this.#values.slice(-LATELY).every((value) => value >= low && value <= high);
    return before !== undefined && isInside && high - low > SHRUNK * before ? 'noise' : null;
  }

  /** What an answer would tell of threshold and width, as it is to be expected, in nats. @param {number} value */
  #gainOf(value) {
    const last = this.#logs.length - 1;
    const at = Math.min(last, Math.max(0, Math.round((Math.log(value) - this.#logs[0]) / STEP)));
    let [yes, unsure] = [0, 0];
    // This is where a search spends its time: a call for each of the many cells would triple it.
    for (const [i, row] of this.#belief.entries()) {
      const [chances, doubts] = [this.#yes[i], this.#unsure[i]];
      for (let j = 0; j <= last; j += 1) {
        yes += row[j] * chances[j - at + last];
        unsure += row[j] * doubts[j - at + last];
      }
    }
    return entropy(yes) - unsure;
  }

  /** What is believed of each threshold, whatever the width. */
  #marginal() {
    return this.#logs.map((_, j) => this.#belief.reduce((sum, row) => sum + row[j], 0));
  }

  /** @param {number} value @returns {number} how likely the threshold is below it */
  #shareBelow(value) {
    return this.#marginal().reduce((sum, belief, j) => (this.#logs[j] < Math.log(value) ? sum + belief : sum), 0);
  }

  /** @param {readonly number[]} shares @returns {number[]} what the threshold is below with these probabilities */
  #quantiles(shares) {
    const marginal = this.#marginal();
    return shares.map((share) => {
      let left = share;
      const at = marginal.findIndex((belief) => {
        if (belief >= left) return true;
        left -= belief;
        return false;
      });
      // Each point of the grid stands for all that are as near to it.
      return at < 0 ? Math.exp(this.#logs.at(-1) ?? 0) : Math.exp(this.#logs[at] + STEP * (left / marginal[at] - 0.5));
    });
  }
}

/** @param {Float64Array[]} rows @returns {Float64Array[]} so that they add up to 1 */
function scaled(rows) {
  const all = rows.reduce((total, row) => row.reduce((sum, belief) => sum + belief, total), 0);
  return rows.map((row) => row.map((belief) => belief / all));
}

/** @param {number} room from the value to the threshold, as logarithms @param {number} width */
function chanceOfYes(room, width) {
  return LAPSES + (1 - 2 * LAPSES) / (1 + Math.exp(-room / width));
}

/** Of a question with two answers, in nats. @param {number} chance */
function entropy(chance) {
  return -chance * Math.log(chance) - (1 - chance) * Math.log(1 - chance);
}
