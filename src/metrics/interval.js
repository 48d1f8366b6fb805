import { Distribution, mergeJson } from './distribution.js';
import { STAGES } from './sample.js';

/**
 * @import { DistributionJson } from './distribution.js'
 * @import { Stage } from './sample.js'
 */

/**
 * What happens between two reports.
 *
 * @typedef {object} Counts
 * @property {number} scheduled operations that the pacer asked for
 * @property {number} dropped scheduled, but no wallet was idle
 * @property {number} started
 * @property {number} verified
 * @property {number} failed
 * @property {number} timedOut
 * @property {number} abandoned
 *
 * @typedef {ReturnType<typeof newInterval>} Interval
 *
 * @typedef {object} IntervalState an interval that is over, as one thread hands it to another
 * @property {number} startUs
 * @property {number} endUs
 * @property {Counts} counts
 * @property {Record<string, number>} failures by code
 * @property {Record<string, EndpointSums>} byEndpoint what ended in it, where there are several
 * @property {Record<IntervalDistribution, DistributionJson>} distributions
 *
 * @typedef {{verified: number, failed: number, timedOut: number, abandoned: number, sumUs: number}} EndpointSums sumUs: of the
 *   latency of those verified
 *
 * @typedef {'latency' | 'censored' | 'lag' | Stage} IntervalDistribution
 */

/** @returns {Counts} */
export function zeroCounts() {
  return { scheduled: 0, dropped: 0, started: 0, verified: 0, failed: 0, timedOut: 0, abandoned: 0 };
}

/** @param {number} startUs */
function newInterval(startUs) {
  return {
    startUs,
    endUs: startUs,
    counts: zeroCounts(),
    /** Of the operations verified in it, as are the stages. */
    latency: new Distribution(),
    /** The time waited for those that ended in it without a good answer in time. */
    censored: new Distribution(),
    /** Of the operations due in it. */
    lag: new Distribution(),
    stages: {
      queued: new Distribution(),
      submit: new Distribution(),
      inclusion: new Distribution(),
      visibility: new Distribution(),
      readBack: new Distribution(),
    },
    /** @type {Record<string, number>} */
    failures: {},
    /** @type {Record<string, EndpointSums>} */
    byEndpoint: {},
  };
}

/**
 * The interval under way, and what happened already after the next border of the window: no interval reaches over a
 * border, however late it is taken.
 */
export class Intervals {
  /** In order; the first is the one under way. @type {[Interval, ...Interval[]]} */
  #open;
  #windowStartUs = -Infinity;
  #windowEndUs = Infinity;

  /** @param {number} startUs */
  constructor(startUs) {
    this.#open = [newInterval(startUs)];
  }

  /** @param {number} startUs @param {number} endUs */
  setWindow(startUs, endUs) {
    this.#windowStartUs = startUs;
    this.#windowEndUs = endUs;
  }

  /** The interval that an instant lies in; what lies before the one under way is told late, and counts with it. @param {number} atUs */
  at(atUs) {
    for (let i = 0; ; i += 1) {
      const interval = this.#open[i];
      const borderUs = this.#borderAfter(interval.startUs);
      // Both ends of the window are inside it.
      if (atUs < borderUs || (atUs === borderUs && borderUs === this.#windowEndUs)) return interval;
      if (i + 1 === this.#open.length) this.#open.push(newInterval(borderUs));
    }
  }

  /** @param {number} startUs */
  #borderAfter(startUs) {
    // A run that ends in its warm-up has no window, only an end.
    const windowStartUs = Math.min(this.#windowStartUs, this.#windowEndUs);
    if (startUs < windowStartUs) return windowStartUs;
    return startUs < this.#windowEndUs ? this.#windowEndUs : Infinity;
  }

  /** Operations in flight at the end of the interval under way, seen from now. @param {number} live those in flight now */
  inFlightAtEnd(live) {
    const [, ...later] = this.#open;
    return later.reduce((sum, { counts }) => {
      const { started, verified, failed, timedOut, abandoned } = counts;
      return sum - started + verified + failed + timedOut + abandoned;
    }, live);
  }

  /** Ends the interval under way, starts the next. @param {number} nowUs @returns {Interval} */
  rotate(nowUs) {
    const [interval, ...later] = this.#open;
    interval.endUs = nowUs;
    const [next] = later;
    const isNextDue = next !== undefined && nowUs >= next.startUs;
    this.#open = isNextDue ? [next, ...later.slice(1)] : [newInterval(nowUs), ...later];
    return interval;
  }
}

/** @param {Interval} interval @returns {IntervalState} */
export function intervalState({ startUs, endUs, counts, failures, byEndpoint, latency, censored, lag, stages }) {
  const distributions = /** @type {IntervalState['distributions']} */ (
    Object.fromEntries(
      Object.entries({ latency, censored, lag, ...stages }).map(([name, value]) => [name, value.toJSON()]),
    )
  );
  return { startUs, endUs, counts, failures, byEndpoint, distributions };
}

/** The same interval as several threads saw it. @param {IntervalState[]} states @param {number} nowUs its end, where no thread has told one @returns {IntervalState} */
export function mergeIntervals(states, nowUs) {
  const sum = intervalState(newInterval(nowUs));
  const [first, ...rest] = states;
  if (first === undefined) return sum;
  return rest.reduce(
    (merged, { startUs, endUs, counts, failures, byEndpoint, distributions }) => ({
      startUs: Math.max(merged.startUs, startUs),
      endUs: Math.max(merged.endUs, endUs),
      counts: addUp(merged.counts, counts),
      failures: addUp(merged.failures, failures),
      byEndpoint: addUpEach(merged.byEndpoint, byEndpoint),
      distributions: /** @type {IntervalState['distributions']} */ (
        Object.fromEntries(
          INTERVAL_DISTRIBUTIONS.map((name) => [name, mergeJson(merged.distributions[name], distributions[name])]),
        )
      ),
    }),
    first,
  );
}

const INTERVAL_DISTRIBUTIONS = Object.freeze(/** @type {const} */ (['latency', 'censored', 'lag', ...STAGES]));

/** @template {Record<string, number>} T @param {T} a @param {T} b @returns {T} */
export function addUp(a, b) {
  /** @type {Record<string, number>} */
  const sum = { ...a };
  for (const [key, value] of Object.entries(b)) sum[key] = (sum[key] ?? 0) + value;
  return /** @type {T} */ (sum);
}

/** @param {Record<string, EndpointSums>} a @param {Record<string, EndpointSums>} b */
export function addUpEach(a, b) {
  const sum = { ...a };
  for (const [key, sums] of Object.entries(b)) sum[key] = sum[key] === undefined ? sums : addUp(sum[key], sums);
  return sum;
}
