import { InternalError } from '../errors.js';
import { Distribution } from './distribution.js';
import { stagesUs, totalUs } from './sample.js';

/**
 * Counts and distributions of a run: whole run, window, current interval. It takes samples and nothing else.
 *
 * @typedef {import('./sample.js').Sample} Sample
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
 * @typedef {object} WindowCounts operations by where their instants lie: inside the window or not
 * @property {number} started
 * @property {number} accepted
 * @property {number} included
 * @property {number} verified
 * @property {number} failed
 * @property {number} timedOut
 */

/**
 * @typedef {object} IntervalState an interval that is over
 * @property {number} startUs
 * @property {number} endUs
 * @property {Counts} counts
 * @property {import('./distribution.js').DistributionJson} latency
 * @property {Record<string, number>} failures
 *
 * @typedef {object} RecorderState a recorder as one thread hands it to another
 * @property {number} endUs of the window
 * @property {Counts} counts
 * @property {Record<string, number>} failures
 * @property {WindowCounts} windowCounts
 * @property {Record<string, import('./distribution.js').DistributionJson>} latency total, timedOut and the stages
 * @property {Float64Array} startedBy by position
 * @property {Float64Array} endedBy by position
 * @property {Float64Array} verifiedBy by position
 */

const OUTCOME_COUNT = Object.freeze(
  /** @type {const} */ ({ verified: 'verified', failed: 'failed', timed_out: 'timedOut', abandoned: 'abandoned' }),
);

/** @returns {Counts} */
function zeroCounts() {
  return { scheduled: 0, dropped: 0, started: 0, verified: 0, failed: 0, timedOut: 0, abandoned: 0 };
}

export class Recorder {
  counts = zeroCounts();
  /** @type {Record<string, number>} failures of the whole run, by code */
  failures = {};
  /** @type {WindowCounts} */
  windowCounts = { started: 0, accepted: 0, included: 0, verified: 0, failed: 0, timedOut: 0 };
  total = new Distribution();
  timedOut = new Distribution();
  stages = {
    queued: new Distribution(),
    submit: new Distribution(),
    inclusion: new Distribution(),
    readBack: new Distribution(),
  };

  /**
   * @param {number[]} walletIndexes of the slice, by position
   * @param {number} startUs start of the window on the run's clock
   */
  constructor(walletIndexes, startUs) {
    this.walletIndexes = walletIndexes;
    this.startUs = startUs;
    this.endUs = Infinity;
    this.startedBy = new Float64Array(walletIndexes.length);
    this.endedBy = new Float64Array(walletIndexes.length);
    this.verifiedBy = new Float64Array(walletIndexes.length);
    this.interval = newInterval(startUs);
    /** What happens after the window, before its last interval is taken. @type {Interval | null} */
    this.next = null;
  }

  /** The window, when it is known only later where it begins. @param {number} startUs @param {number} endUs Infinity: not known yet */
  open(startUs, endUs) {
    this.startUs = startUs;
    this.endUs = endUs;
    this.interval.startUs = startUs;
  }

  /** @param {number} position @param {number} nowUs */
  start(position, nowUs) {
    this.counts.scheduled += 1;
    this.counts.started += 1;
    const { counts } = this.#intervalAt(nowUs);
    counts.scheduled += 1;
    counts.started += 1;
    this.startedBy[position] += 1;
    if (this.#inside(nowUs)) this.windowCounts.started += 1;
  }

  /** @param {Sample} sample */
  add(sample) {
    const key = OUTCOME_COUNT[sample.outcome];
    this.counts[key] += 1;
    const interval = this.#intervalAt(sample.endedAtUs);
    interval.counts[key] += 1;
    this.endedBy[sample.position] += 1;
    if (sample.code !== null) {
      this.failures[sample.code] = (this.failures[sample.code] ?? 0) + 1;
      interval.failures[sample.code] = (interval.failures[sample.code] ?? 0) + 1;
    }
    this.#addToWindow(sample);
    if (sample.outcome === 'verified') {
      this.verifiedBy[sample.position] += 1;
      interval.latency.record(totalUs(sample));
    }
  }

  /** @param {Sample} sample */
  #addToWindow(sample) {
    const { windowCounts } = this;
    if (sample.acceptedAtUs !== null && this.#inside(sample.acceptedAtUs)) windowCounts.accepted += 1;
    if (sample.includedAtUs !== null && this.#inside(sample.includedAtUs)) windowCounts.included += 1;
    if (this.#inside(sample.endedAtUs) && sample.outcome !== 'abandoned')
      windowCounts[OUTCOME_COUNT[sample.outcome]] += 1;
    if (!this.#inside(sample.intendedAtUs)) return;
    if (sample.outcome === 'timed_out') {
      this.total.record(totalUs(sample));
      this.timedOut.record(totalUs(sample));
    } else if (sample.outcome === 'verified') {
      const total = totalUs(sample);
      const parts = stagesUs(sample);
      const { queuedUs, submitUs, inclusionUs, readBackUs } = parts;
      const isSum = queuedUs + submitUs + inclusionUs + readBackUs === total;
      if (!isSum || queuedUs < 0 || submitUs < 0 || inclusionUs < 0 || readBackUs < 0) {
        throw new InternalError(
          `the stages of wallet ${sample.walletIndex}, nonce ${sample.nonce} are no parts of its latency: ${JSON.stringify(parts)}, ${total} us in all`,
        );
      }
      this.total.record(total);
      const { stages } = this;
      stages.queued.record(queuedUs);
      stages.submit.record(submitUs);
      stages.inclusion.record(inclusionUs);
      stages.readBack.record(readBackUs);
    }
  }

  /** @param {number} atUs */
  #inside(atUs) {
    return atUs >= this.startUs && atUs <= this.endUs;
  }

  /** From here on nothing is inside the window any more. @param {number} nowUs */
  closeWindow(nowUs) {
    this.endUs = Math.min(this.endUs, nowUs);
  }

  /** No interval reaches over the end of the window, however late it is taken. @param {number} atUs */
  #intervalAt(atUs) {
    const isBefore = this.interval.startUs < this.endUs;
    if (!isBefore || atUs <= this.endUs) return this.interval;
    this.next ??= newInterval(this.endUs);
    return this.next;
  }

  /** Operations in flight at the end of the current interval, seen from now. @param {number} live those in flight now */
  inFlightAtEnd(live) {
    if (this.next === null) return live;
    const { started, verified, failed, timedOut, abandoned } = this.next.counts;
    return live - started + verified + failed + timedOut + abandoned;
  }

  /** Ends the current interval, starts the next. @param {number} nowUs */
  rotate(nowUs) {
    const { interval } = this;
    interval.endUs = nowUs;
    const isLast = nowUs >= this.endUs && this.next !== null;
    this.interval = (isLast ? this.next : null) ?? newInterval(nowUs);
    if (isLast) this.next = null;
    return interval;
  }

  /** Those of the run, by name; the interval's is apart. @returns {Record<string, Distribution>} */
  #distributions() {
    return { total: this.total, timedOut: this.timedOut, ...this.stages };
  }

  /** @returns {RecorderState} */
  state() {
    const { endUs, counts, failures, windowCounts, startedBy, endedBy, verifiedBy } = this;
    const latency = Object.fromEntries(
      Object.entries(this.#distributions()).map(([key, value]) => [key, value.toJSON()]),
    );
    return { endUs, counts, failures, windowCounts, latency, startedBy, endedBy, verifiedBy };
  }

  /**
   * Takes over what another thread has recorded of a part of the wallets; exact, as all here adds up.
   * @param {RecorderState} state
   * @param {number} first position of the part's first wallet
   */
  adopt(state, first) {
    addTo(this.counts, state.counts);
    addTo(this.failures, state.failures);
    addTo(this.windowCounts, state.windowCounts);
    for (const [name, distribution] of Object.entries(this.#distributions())) {
      distribution.merge(Distribution.fromJSON(state.latency[name]));
    }
    this.startedBy.set(state.startedBy, first);
    this.endedBy.set(state.endedBy, first);
    this.verifiedBy.set(state.verifiedBy, first);
  }

  /** What was still open when its thread died is abandoned: nobody waits for it any more. */
  abandonOpen() {
    this.startedBy.forEach((started, i) => {
      this.counts.abandoned += started - this.endedBy[i];
      this.endedBy[i] = started;
    });
  }

  /**
   * scheduled = dropped + started; started = verified + failed + timed out + abandoned + in flight. The number
   * in flight is counted from the live iterations, in all and for each wallet.
   * @param {Map<number, number>} inFlightBy live iterations by position
   * @throws {InternalError} names the wallets
   */
  assertConservation(inFlightBy) {
    const { scheduled, dropped, started, verified, failed, timedOut, abandoned } = this.counts;
    const inFlight = [...inFlightBy.values()].reduce((sum, count) => sum + count, 0);
    const broken = this.walletIndexes.filter(
      (_, i) => this.startedBy[i] !== this.endedBy[i] + (inFlightBy.get(i) ?? 0),
    );
    const ended = verified + failed + timedOut + abandoned;
    if (scheduled === dropped + started && started === ended + inFlight && broken.length === 0) return;
    throw new InternalError(
      `conservation is broken for wallet ${broken.slice(0, 5).join(', ') || '(none alone)'}: scheduled ${scheduled} = dropped ${dropped} + started ${started}; ` +
        `started ${started} = verified ${verified} + failed ${failed} + timed out ${timedOut} + abandoned ${abandoned} + in flight ${inFlight}. This is a bug of stress`,
    );
  }
}

/** @param {Record<string, number>} sums changed in place @param {Record<string, number>} more */
export function addTo(sums, more) {
  for (const [key, value] of Object.entries(more)) sums[key] = (sums[key] ?? 0) + value;
}

/** @param {number} startUs */
function newInterval(startUs) {
  return {
    startUs,
    endUs: startUs,
    counts: zeroCounts(),
    latency: new Distribution(),
    /** @type {Record<string, number>} */
    failures: {},
  };
}

/** @typedef {ReturnType<typeof newInterval>} Interval */
