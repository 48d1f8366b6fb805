import { MAX_FALSE_ALARMS, mean, median } from './statistics.js';

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
 * Two densities are used, with half of the wealth each: one for normal noise and one that outliers do not widen. Of the
 * first pair hardly anything is known, so that its density is wide: one that expects no change would bet against every
 * change near the true one, and the interval would reach almost to 0.
 */

/** Student's t distribution that the next log ratio is expected to have. @typedef {{centre: number, variance: number, degrees: number}} Expected variance: squared scale */

/** @type {Readonly<Expected>} */
const FIRST = Object.freeze({ centre: 0, variance: 2 ** 2, degrees: 1 });
/** Pairs from which on the noise can be estimated by the median deviation. */
const ENOUGH = 4;
/** Least scale of the noise: equal ratios do not mean that there is none. */
const LEAST_SCALE = 0.0005;
const MOST_DEGREES = 5;
/** The standard deviation of a normal distribution is this many median deviations. */
const PER_MEDIAN_DEVIATION = 1.4826;
/** Log ratios beyond this are not looked at. */
const FARTHEST = 30;
/** Steps of the search for a bound, and the precision of the bound as a log ratio. */
const STEPS = 200;
const PRECISION = 1e-5;

/** Weight of the deciding figures; the others share what is left. */
const DECIDING_WEIGHT = 0.9;

/** The level of each figure that decides, whatever the other figures are. @param {number} figures that decide */
export function decidingAlpha(figures) {
  return (MAX_FALSE_ALARMS * DECIDING_WEIGHT) / figures;
}

/** Pairs below which no bet can reach 1 / alpha: it at most doubles with each. @param {number} alpha */
export function fewestPairs(alpha) {
  return Math.ceil(-Math.log2(alpha));
}

/**
 * All figures of a comparison. Together at most MAX_FALSE_ALARMS of comparisons of equal sides show anything: the weighted mean
 * of the wealths of any set of figures is a martingale, so that a figure is rejected when the mean of every set that it is
 * in has reached 1 / MAX_FALSE_ALARMS (V. Vovk, R. Wang, E-values: calibration, combination and applications, 2021). Where
 * figures agree, none of them pays for their number. The deciding figures are tested as if all others had lost everything,
 * because pairs are made until these are decided, whatever the others are.
 * @param {ReadonlyArray<readonly number[]>} ratios of each figure the log ratios of the pairs
 * @param {number} deciding the first of them
 * @param {number} equivalent as a fraction
 */
export function sequencesOf(ratios, deciding, equivalent) {
  const figures = ratios.map((_, i) =>
    i < deciding
      ? {
          weight: DECIDING_WEIGHT / deciding,
          sequence: new PairedSequence({ alpha: decidingAlpha(deciding), equivalent }),
        }
      : { weight: (1 - DECIDING_WEIGHT) / (ratios.length - deciding), sequence: new PairedSequence() },
  );
  ratios[0].forEach((_, pair) => {
    figures.forEach(({ sequence }, i) => sequence.bet(ratios[i][pair]));
    const bets = figures.map(({ weight, sequence }) => ({ weight, wealth: sequence.wealth(0) }));
    const poorestFirst = [...bets].sort((a, b) => a.wealth - b.wealth);
    figures.forEach(({ sequence }, i) => {
      const others = poorestFirst.filter((bet) => bet !== bets[i]);
      sequence.look(i < deciding ? undefined : (wealth) => leastMean({ ...bets[i], wealth }, others));
    });
  });
  return figures.map(({ sequence }) => sequence);
}

/**
 * The least weighted mean of the sets that have this bet.
 * @param {{weight: number, wealth: number}} bet
 * @param {ReadonlyArray<{weight: number, wealth: number}>} others poorest first
 */
function leastMean(bet, others) {
  let [sum, weights] = [bet.weight * bet.wealth, bet.weight];
  for (const { weight, wealth } of others) {
    if (wealth * weights >= sum) break;
    sum += weight * wealth;
    weights += weight;
  }
  return sum / weights;
}

/** @typedef {'different' | 'equivalent' | null} SequenceDecision null: go on */

export class PairedSequence {
  #alpha;
  #margin;
  /** @type {number[]} */
  #ratios = [];
  /** Expectations of each pair, from the pairs before it. @type {Expected[][]} */
  #expected = [];
  #low = -FARTHEST;
  #high = FARTHEST;
  /** Highest wealth so far of the bets against no difference. */
  #most = 1;

  /** @param {{alpha?: number, equivalent?: number}} [options] equivalent: largest change without practical meaning, as a fraction */
  constructor({ alpha = MAX_FALSE_ALARMS, equivalent = 0 } = {}) {
    this.#alpha = alpha;
    this.#margin = Math.log1p(equivalent);
  }

  get pairs() {
    return this.#ratios.length;
  }

  get alpha() {
    return this.#alpha;
  }

  /** @param {number} logRatio of the next pair: log(B / A), also if B ran first */
  add(logRatio) {
    this.bet(logRatio);
    this.look();
  }

  /** @param {number} logRatio */
  bet(logRatio) {
    this.#expected.push([expectNormal(this.#ratios), expectRobust(this.#ratios)]);
    this.#ratios.push(logRatio);
  }

  /** @param {(wealth: number) => number} [pooled] with those of other figures, at most the wealth itself */
  look(pooled = (wealth) => wealth) {
    this.#most = Math.max(this.#most, pooled(this.wealth(0)));
    /** @param {number} theta */
    const rejects = (theta) => pooled(this.wealth(theta)) >= 1 / this.#alpha;
    this.#low = this.#bound(this.#low, this.#high, rejects);
    this.#high = this.#bound(this.#high, this.#low, rejects);
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
   * (x + centre) / 2, the wealth only grows with the distance, so that bisection finds the border; between them these
   * points and steps are tried.
   * @param {number} from
   * @param {number} to the other bound
   * @param {(theta: number) => boolean} rejects
   */
  #bound(from, to, rejects) {
    if (!rejects(from)) return from;
    const points = this.#ratios.flatMap((x, i) => this.#expected[i].map(({ centre }) => (x + centre) / 2));
    const [least, most] = [Math.min(...points), Math.max(...points)];
    const steps = Array.from({ length: STEPS + 1 }, (_, i) => least + ((most - least) * i) / STEPS);
    const inwards = [...points, ...steps].filter((value) => (value - from) * (value - to) <= 0);
    let rejected = from;
    for (const value of inwards.sort((a, b) => Math.abs(a - from) - Math.abs(b - from))) {
      if (!rejects(value)) return border(rejected, value, rejects);
      rejected = value;
    }
    // No value is left: the hypothesis of one common ratio is false. The interval stays as it was.
    return from;
  }
}

/** The bound between a rejected value and one that is not rejected; the result is rejected. @param {number} outside @param {number} inside @param {(theta: number) => boolean} rejects */
function border(outside, inside, rejects) {
  while (Math.abs(inside - outside) > PRECISION) {
    const middle = (outside + inside) / 2;
    if (rejects(middle)) outside = middle;
    else inside = middle;
  }
  return outside;
}

/** The predictive density of normal noise of unknown size. @param {readonly number[]} past @returns {Expected} */
function expectNormal(past) {
  const { length } = past;
  if (length === 0) return FIRST;
  const centre = mean(past);
  const squares = past.reduce((sum, x) => sum + (x - centre) ** 2, LEAST_SCALE ** 2);
  return { centre, variance: (squares / length) * (1 + 1 / length), degrees: length };
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
