import { mean, median, squaresOf } from './statistics.js';

/**
 * A comparison by pairs of runs that may be looked at, and ended, after any pair.
 *
 * A fair coin decides which side of a pair runs first. Let u1 and u2 be the logs of what side A would measure in the
 * first and in the second run of the pair. Hypothesis of theta: B measures exp(theta) times what A would measure at the
 * same time, and what the second run measures does not depend on which side ran before it. Then x = log(B / A) is
 * theta + (u2 - u1) if the coin says A B, and theta - (u2 - u1) if it says B A. Given the past and the size
 * |x - theta|, the sign is therefore that of a fair coin: whatever distribution, drift or autocorrelation u has, and
 * also if u depends on earlier pairs and their order.
 *
 * So a bet on this sign whose stake depends only on the past and on the size is fair, and its wealth, the product of
 * 1 + g(x - theta) with g odd and at most 1, is a martingale that starts at 1 (symmetric increments: V. de la Peña, A
 * general class of exponential inequalities, 1999; martingales are all one needs: A. Ramdas, J. Ruf, M. Larsson,
 * W. Koolen, Admissible anytime-valid sequential inference must rely on nonnegative martingales, 2020). By Ville's
 * inequality it ever reaches 1 / alpha with a probability of at most alpha. The values of theta whose wealth has not
 * reached it are a confidence sequence: at all times together it lacks the true value with a probability of at most
 * alpha (I. Waudby-Smith, A. Ramdas, Estimating means of bounded random variables by betting, 2024).
 *
 * The stakes decide only how soon. With a density f for the next x, learned from the earlier pairs,
 * g = (f(x) - f(2 theta - x)) / (f(x) + f(2 theta - x)) makes log wealth grow fastest if f is true (J. Kelly, 1956).
 * Two densities are used, with half of the wealth each: one for normal noise and one that outliers do not widen.
 */

/**
 * The density of Student's t distribution, which the next log ratio is expected to have.
 *
 * @typedef {object} Expected
 * @property {number} centre
 * @property {number} variance squared scale
 * @property {number} degrees of freedom
 */

/** What is known of the first pair: no difference, with the weight of a tenth of a pair, and noise of 0.5 %. */
const PRIOR = Object.freeze({ pairs: 0.1, degrees: 1, scale: 0.005 });
/** Pairs from which on the noise can be estimated by the median deviation. */
const ENOUGH = 4;
/** Least scale of that estimate, because equal ratios do not mean that there is no noise. */
const LEAST_SCALE = 0.002;
const MOST_DEGREES = 5;
/** Of a normal distribution the standard deviation is this many median deviations. */
const PER_MEDIAN_DEVIATION = 1.4826;
/** Log ratios beyond this are not looked at. */
const FARTHEST = 30;
/** Steps of the search for a bound, and the precision of the bound as a log ratio. */
const STEPS = 200;
const PRECISION = 1e-5;

/** @typedef {'different' | 'equivalent' | null} SequenceDecision null: go on */

export class PairedSequence {
  #alpha;
  #margin;
  /** @type {number[]} */
  #ratios = [];
  /** Of each pair, from the pairs before it. @type {Expected[][]} */
  #expected = [];
  #low = -FARTHEST;
  #high = FARTHEST;
  /** Highest wealth so far of the bets against no difference. */
  #most = 1;

  /** @param {{alpha?: number, equivalent?: number}} [options] equivalent: largest change without practical meaning, as a fraction */
  constructor({ alpha = 0.05, equivalent = 0 } = {}) {
    this.#alpha = alpha;
    this.#margin = Math.log1p(equivalent);
  }

  get pairs() {
    return this.#ratios.length;
  }

  /** @param {number} logRatio of the next pair: log(B / A), also if B ran first */
  add(logRatio) {
    this.#expected.push([expectNormal(this.#ratios), expectRobust(this.#ratios)]);
    this.#ratios.push(logRatio);
    this.#most = Math.max(this.#most, this.wealth(0));
    this.#low = this.#bound(this.#low, this.#high);
    this.#high = this.#bound(this.#high, this.#low);
  }

  /** The wealth of the bets against this log ratio; 1 / alpha rejects it. @param {number} theta */
  wealth(theta) {
    const logs = [0, 0];
    this.#ratios.forEach((x, i) =>
      this.#expected[i].forEach(({ centre, variance, degrees }, model) => {
        const spread = degrees * variance;
        const odds = (spread + (x - centre) ** 2) / (spread + (2 * theta - x - centre) ** 2);
        // 1 + g = 2 f(x) / (f(x) + f(2 theta - x))
        logs[model] += Math.LN2 - Math.log1p(odds ** ((degrees + 1) / 2));
      }),
    );
    return mean(logs.map(Math.exp));
  }

  /** The log ratio, by J. Hodges and E. Lehmann (1963): the median of the means of every two; at least one pair */
  estimate() {
    const means = this.#ratios.flatMap((x, i) => this.#ratios.slice(i).map((y) => (x + y) / 2));
    return Math.min(this.#high, Math.max(this.#low, median(means)));
  }

  /** The confidence interval of the log ratio; it never grows. @returns {{low: number, high: number}} infinite: no bound yet */
  interval() {
    return {
      low: this.#low === -FARTHEST ? -Infinity : this.#low,
      high: this.#high === FARTHEST ? Infinity : this.#high,
    };
  }

  /** Estimate and interval as fractions of A. @returns {{estimate: number, low: number | null, high: number | null}} null: no bound yet */
  change() {
    const { low, high } = this.interval();
    const [least, most] = [low, high].map((log) => (Number.isFinite(log) ? Math.expm1(log) : null));
    return { estimate: Math.expm1(this.estimate()), low: least, high: most };
  }

  /** P value of no difference, valid after any pair. */
  p() {
    return 1 / this.#most;
  }

  /** @returns {SequenceDecision} */
  decision() {
    if (this.p() <= this.#alpha && (this.#low > 0 || this.#high < 0)) return 'different';
    return this.#low >= -this.#margin && this.#high <= this.#margin ? 'equivalent' : null;
  }

  /**
   * Moves a bound inwards to the first value that is not rejected. Outside of all points where two densities are equal,
   * (x + centre) / 2, the wealth only grows with the distance, so that bisection finds the border; between them the
   * values are tried in steps.
   * @param {number} from
   * @param {number} to the other bound
   */
  #bound(from, to) {
    if (!this.#rejects(from)) return from;
    const points = this.#ratios.flatMap((x, i) => this.#expected[i].map(({ centre }) => (x + centre) / 2));
    const [least, most] = [Math.min(...points), Math.max(...points)];
    const [near, far] = [from, to].map((bound) => Math.min(most, Math.max(least, bound)));
    let rejected = from;
    for (let step = 0; step <= STEPS; step += 1) {
      const value = near + ((far - near) * step) / STEPS;
      if (!this.#rejects(value)) return this.#border(rejected, value);
      rejected = value;
    }
    // No value is left: the hypothesis of one common ratio is false. The interval stays as it was.
    return from;
  }

  /**
   * Finds the bound between two values by bisection.
   * @param {number} rejected
   * @param {number} kept
   * @returns {number} the bound, on its rejected side, to within PRECISION
   */
  #border(rejected, kept) {
    let [outside, inside] = [rejected, kept];
    while (Math.abs(inside - outside) > PRECISION) {
      const middle = (outside + inside) / 2;
      if (this.#rejects(middle)) outside = middle;
      else inside = middle;
    }
    return outside;
  }

  /** @param {number} theta */
  #rejects(theta) {
    return this.wealth(theta) >= 1 / this.#alpha;
  }
}

/** The posterior predictive density of normal noise with a conjugate prior. @param {readonly number[]} past @returns {Expected} */
function expectNormal(past) {
  const centre = past.length === 0 ? 0 : mean(past);
  const squares = past.length === 0 ? 0 : squaresOf(past);
  const weight = PRIOR.pairs + past.length;
  const degrees = PRIOR.degrees + past.length;
  const surprise = ((PRIOR.pairs * past.length) / weight) * centre ** 2;
  const variance = (PRIOR.degrees * PRIOR.scale ** 2 + squares + surprise) / degrees;
  return { centre: (past.length * centre) / weight, variance: variance * (1 + 1 / weight), degrees };
}

/** @param {readonly number[]} past @returns {Expected} */
function expectRobust(past) {
  const normal = expectNormal(past);
  if (past.length < ENOUGH) return normal;
  const centre = median(past);
  const deviation = median(past.map((x) => Math.abs(x - centre)));
  const scale = Math.max(LEAST_SCALE, PER_MEDIAN_DEVIATION * deviation);
  return { centre, variance: scale ** 2 * (1 + 1 / past.length), degrees: Math.min(past.length, MOST_DEGREES) };
}
