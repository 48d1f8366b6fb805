/** Student's t distribution, by the incomplete beta function. Nothing here knows what is measured. */

/** Enough for a double: the fraction converges much sooner. */
const STEPS = 500;
const TINY = 1e-300;

/** P(T <= t). @param {number} t @param {number} degrees of freedom */
export function studentCdf(t, degrees) {
  const tail = regularizedBeta(degrees / (degrees + t * t), degrees / 2, 0.5) / 2;
  return t < 0 ? tail : 1 - tail;
}

/** P(|T| >= |t|): not 1 less something, so that a small one keeps its digits. @param {number} t @param {number} degrees */
export function studentTwoSided(t, degrees) {
  return Number.isFinite(t) ? regularizedBeta(degrees / (degrees + t * t), degrees / 2, 0.5) : 0;
}

/**
 * The t with P(T <= t) = p, by bisection: the distribution grows from one end to the other.
 * @param {number} p more than 0, less than 1
 * @param {number} degrees
 * @returns {number}
 */
export function studentQuantile(p, degrees) {
  if (p === 0.5) return 0;
  if (p < 0.5) return -studentQuantile(1 - p, degrees);
  const tail = 2 * (1 - p);
  let high = 1;
  while (studentTwoSided(high, degrees) > tail) high *= 2;
  let low = 0;
  for (let middle = high / 2; middle > low && middle < high; middle = (low + high) / 2) {
    if (studentTwoSided(middle, degrees) > tail) low = middle;
    else high = middle;
  }
  return high;
}

/**
 * I_x(a, b): its continued fraction, evaluated as by Lentz (Numerical Recipes in C, 6.4).
 * @param {number} x from 0 to 1
 * @param {number} a
 * @param {number} b
 * @returns {number}
 */
export function regularizedBeta(x, a, b) {
  if (x <= 0) return 0;
  if (x >= 1) return 1;
  // On the other side of the mean it would converge slowly.
  if (x > (a + 1) / (a + b + 2)) return 1 - regularizedBeta(1 - x, b, a);
  const factor = Math.exp(logGamma(a + b) - logGamma(a) - logGamma(b) + a * Math.log(x) + b * Math.log1p(-x));
  return (factor * betaFraction(x, a, b)) / a;
}

/** @param {number} x @param {number} a @param {number} b */
function betaFraction(x, a, b) {
  /** @param {number} value */
  const notZero = (value) => (Math.abs(value) < TINY ? TINY : value);
  let c = 1;
  let d = 1 / notZero(1 - ((a + b) * x) / (a + 1));
  let result = d;
  for (let m = 1; m <= STEPS; m += 1) {
    const even = (m * (b - m) * x) / ((a + 2 * m - 1) * (a + 2 * m));
    const odd = (-(a + m) * (a + b + m) * x) / ((a + 2 * m) * (a + 2 * m + 1));
    const before = result;
    for (const term of [even, odd]) {
      d = 1 / notZero(1 + term * d);
      c = notZero(1 + term / c);
      result *= d * c;
    }
    if (result === before) break;
  }
  return result;
}

const LANCZOS = Object.freeze([
  ...[0.99999999999980993, 676.5203681218851, -1259.1392167224028, 771.32342877765313, -176.61502916214059],
  ...[12.507343278686905, -0.13857109526572012, 9.9843695780195716e-6, 1.5056327351493116e-7],
]);

/** By Lanczos, with g = 7 and nine terms. @param {number} z at least 0.5 */
function logGamma(z) {
  const x = z - 1;
  const t = x + 7.5;
  const sum = LANCZOS.reduce((total, term, i) => total + (i === 0 ? term : term / (x + i)));
  return 0.5 * Math.log(2 * Math.PI) + (x + 0.5) * Math.log(t) - t + Math.log(sum);
}
