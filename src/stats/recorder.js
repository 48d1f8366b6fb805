import { InternalError } from '../errors.js';
import { numbered } from '../text.js';
import { Distribution } from './histogram.js';
import { Intervals, newStages, zeroCounts } from './intervals.js';
import { isCensored, stagesUs, totalUs } from './sample.js';

/**
 * @import { Counts, DistributionJson, EndpointFigures, GroupJson, Outage, Outcome, RecorderState, Sample, Stage } from '../types.d.ts'
 * @import { Interval } from './intervals.js'
 * @import { MeasuredRun } from './run-file.js'
 * @import { Stages } from './sample.js'
 */

/**
 * Counts and distributions of a run, fed with samples: the whole run, the window, the intervals and the groups.
 *
 * @typedef {'verified' | 'failed' | 'timedOut' | 'abandoned'} Ended
 *
 * @typedef {ReturnType<typeof newGroup>} Group operations of one name or of one endpoint
 */

/** Bounds the memory if a workload uses unlimited names: further names go into one group. */
const MAX_GROUPS = 64;
const OTHERS = 'others';

const OUTCOME_COUNT = Object.freeze(
  /** @type {const} */ ({ verified: 'verified', failed: 'failed', timed_out: 'timedOut', abandoned: 'abandoned' }),
);

function newGroup() {
  return {
    counts: { verified: 0, failed: 0, timedOut: 0, abandoned: 0 },
    windowVerified: 0,
    /** @type {Record<string, number>} */
    failures: {},
    latency: new Distribution(),
    censored: new Distribution(),
  };
}

export class Groups {
  /** @type {Map<string, Group>} */
  #groups = new Map();

  /**
   * @param {string} key
   * @param {Sample} sample
   * @param {{isDueInside: boolean, isEndInside: boolean}} where it lies in the window
   */
  add(key, sample, { isDueInside, isEndInside }) {
    const group = this.#of(key);
    const { outcome, code } = sample;
    group.counts[OUTCOME_COUNT[outcome]] += 1;
    if (code !== null) group.failures[code] = (group.failures[code] ?? 0) + 1;
    if (outcome === 'verified' && isEndInside) group.windowVerified += 1;
    const isWaitCensored = isCensored(sample);
    if (!isDueInside || !(outcome === 'verified' || isWaitCensored)) return;
    group.latency.record(totalUs(sample));
    if (isWaitCensored) group.censored.record(totalUs(sample));
  }

  /** @param {string} key @returns {Group} */
  #of(key) {
    const known = this.#groups.get(key);
    if (known !== undefined) return known;
    if (this.#groups.size >= MAX_GROUPS - 1 && key !== OTHERS) return this.#of(OTHERS);
    const group = newGroup();
    this.#groups.set(key, group);
    return group;
  }

  /** @returns {Record<string, GroupJson>} by name */
  toJSON() {
    return Object.fromEntries(
      [...this.#groups].map(([key, { counts, failures, windowVerified, latency, censored }]) => [
        key,
        {
          counts: { ...counts },
          windowVerified,
          failures: { ...failures },
          latency: latency.toJSON(),
          censored: censored.toJSON(),
        },
      ]),
    );
  }

  /** Adds the groups of another thread. @param {Record<string, GroupJson>} json */
  adopt(json) {
    for (const [key, { counts, failures, windowVerified, latency, censored }] of Object.entries(json)) {
      const group = this.#of(key);
      for (const [name, count] of Object.entries(counts)) group.counts[/** @type {Ended} */ (name)] += count;
      for (const [code, count] of Object.entries(failures)) group.failures[code] = (group.failures[code] ?? 0) + count;
      group.windowVerified += windowVerified;
      group.latency.merge(Distribution.fromJSON(latency));
      if (censored !== undefined) group.censored.merge(Distribution.fromJSON(censored));
    }
  }
}

/**
 * @typedef {object} WindowCounts operations by instants inside the window
 * @property {number} scheduled due inside
 * @property {number} dropped due inside, but no wallet was idle
 * @property {number} started due inside
 * @property {number} accepted
 * @property {number} included
 * @property {number} verified
 * @property {number} failed
 * @property {number} timedOut
 *
 * @typedef {[Half, Half]} Halves latency of operations due in each half of the planned window;
 *   without a planned end all count in the first half
 * @typedef {{count: number, sumUs: number}} Half
 *
 * @typedef {Pick<Sample, 'intendedAtUs' | 'startedAtUs' | 'endedAtUs'>} Waited
 */

export class Recorder {
  counts = zeroCounts();
  /** @type {Record<string, number>} failures of the whole run, by code */
  failures = {};
  /** @type {WindowCounts} */
  windowCounts = {
    scheduled: 0,
    dropped: 0,
    started: 0,
    accepted: 0,
    included: 0,
    verified: 0,
    failed: 0,
    timedOut: 0,
  };
  /** From the scheduled time to verified; for censored operations the time waited. */
  total = new Distribution();
  /** @type {Halves} */
  halves = [
    { count: 0, sumUs: 0 },
    { count: 0, sumUs: 0 },
  ];
  #middleUs = Infinity;
  /** Service time: from the actual start to verified. */
  fromStart = new Distribution();
  timedOut = new Distribution();
  /** The censored operations among total and fromStart. */
  censored = new Distribution();
  fromStartCensored = new Distribution();
  /** Operations due in the window that have ended, with any outcome. */
  endedDueInside = 0;
  /** From the scheduled time to the start or the drop. */
  lag = new Distribution();
  stages = newStages();
  byName = new Groups();
  /** Only with several endpoints. */
  byEndpoint = new Groups();

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
    this.intervals = new Intervals(startUs);
  }

  /**
   * Sets the window when it is known only after construction.
   * @param {number} loadStartUs when operations may be due; those due before the window are the warm-up
   * @param {number} startUs Infinity: not known yet, setWindow() follows
   * @param {number} endUs Infinity: not known yet
   */
  open(loadStartUs, startUs, endUs) {
    this.intervals = new Intervals(loadStartUs);
    this.setWindow(startUs, endUs);
  }

  /** Both instants must be in the future. @param {number} startUs @param {number} endUs */
  setWindow(startUs, endUs) {
    this.startUs = startUs;
    this.endUs = endUs;
    this.#middleUs = (startUs + endUs) / 2;
    this.intervals.setWindow(startUs, endUs);
  }

  /** @param {number} position @param {number} dueUs @param {number} [nowUs] when it starts */
  start(position, dueUs, nowUs = dueUs) {
    this.#schedule('started', dueUs);
    this.startedBy[position] += 1;
    this.#recordLag(dueUs, nowUs);
  }

  /** @param {number} dueUs @param {number} [nowUs] when it is dropped */
  drop(dueUs, nowUs = dueUs) {
    this.#schedule('dropped', dueUs);
    this.#recordLag(dueUs, nowUs);
  }

  /** @param {number} dueUs @param {number} nowUs */
  #recordLag(dueUs, nowUs) {
    this.intervals.at(dueUs).lag.record(nowUs - dueUs);
    if (this.#isInWindow(dueUs)) this.lag.record(nowUs - dueUs);
  }

  /** @param {'started' | 'dropped'} key @param {number} dueUs */
  #schedule(key, dueUs) {
    const { counts } = this.intervals.at(dueUs);
    counts.scheduled += 1;
    counts[key] += 1;
    this.counts.scheduled += 1;
    this.counts[key] += 1;
    if (!this.#isInWindow(dueUs)) return;
    this.windowCounts.scheduled += 1;
    this.windowCounts[key] += 1;
  }

  /** @param {Sample} sample */
  add(sample) {
    const key = OUTCOME_COUNT[sample.outcome];
    this.counts[key] += 1;
    const interval = this.intervals.at(sample.endedAtUs);
    interval.counts[key] += 1;
    this.endedBy[sample.position] += 1;
    if (sample.code !== null) {
      this.failures[sample.code] = (this.failures[sample.code] ?? 0) + 1;
      interval.failures[sample.code] = (interval.failures[sample.code] ?? 0) + 1;
    }
    this.#addToWindow(sample);
    this.#addToGroups(sample, interval);
    if (sample.outcome === 'verified') {
      this.verifiedBy[sample.position] += 1;
      interval.latency.record(totalUs(sample));
      recordStages(interval.stages, stagesUs(sample));
    } else if (isCensored(sample)) interval.censored.record(totalUs(sample));
  }

  /** @param {Sample} sample @param {Interval} interval that it ended in */
  #addToGroups(sample, interval) {
    const { name, endpoint } = sample;
    if (name === null && endpoint === null) return;
    const isDueInside = this.#isInWindow(sample.intendedAtUs);
    const isEndInside = this.#isInWindow(sample.endedAtUs);
    if (name !== null) this.byName.add(name, sample, { isDueInside, isEndInside });
    if (endpoint === null) return;
    this.byEndpoint.add(String(endpoint), sample, { isDueInside, isEndInside });
    const sums = (interval.byEndpoint[endpoint] ??= { verified: 0, failed: 0, timedOut: 0, abandoned: 0, sumUs: 0 });
    sums[OUTCOME_COUNT[sample.outcome]] += 1;
    if (sample.outcome === 'verified') sums.sumUs += totalUs(sample);
  }

  /** @param {Sample} sample */
  #addToWindow(sample) {
    const { windowCounts } = this;
    if (sample.acceptedAtUs !== null && this.#isInWindow(sample.acceptedAtUs)) windowCounts.accepted += 1;
    if (sample.includedAtUs !== null && this.#isInWindow(sample.includedAtUs)) windowCounts.included += 1;
    if (this.#isInWindow(sample.endedAtUs) && sample.outcome !== 'abandoned')
      windowCounts[OUTCOME_COUNT[sample.outcome]] += 1;
    if (!this.#isInWindow(sample.intendedAtUs)) return;
    this.endedDueInside += 1;
    if (sample.outcome === 'verified') this.#addVerified(sample);
    else if (isCensored(sample)) this.#addCensored(sample);
  }

  /** @param {Sample} sample due inside the window */
  #addVerified(sample) {
    const total = totalUs(sample);
    const parts = stagesUs(sample);
    const all = Object.values(parts).map((us) => us ?? 0);
    if (all.some((us) => us < 0) || all.reduce((sum, us) => sum + us, 0) !== total) {
      throw new InternalError(
        `the stages of wallet ${sample.walletIndex}, nonce ${sample.nonce} are no parts of its latency: ${JSON.stringify(parts)}, ${total} us in all`,
      );
    }
    this.#addLatency(sample);
    recordStages(this.stages, parts);
  }

  /** @param {Waited & Pick<Sample, 'outcome'>} sample due inside the window */
  #addCensored(sample) {
    this.#addLatency(sample);
    this.censored.record(totalUs(sample));
    this.fromStartCensored.record(sample.endedAtUs - sample.startedAtUs);
    if (sample.outcome === 'timed_out') this.timedOut.record(totalUs(sample));
  }

  /** @param {Waited} sample */
  #addLatency(sample) {
    const total = totalUs(sample);
    const half = this.halves[sample.intendedAtUs < this.#middleUs ? 0 : 1];
    half.count += 1;
    half.sumUs += total;
    this.total.record(total);
    this.fromStart.record(sample.endedAtUs - sample.startedAtUs);
  }

  /** @param {number} atUs */
  #isInWindow(atUs) {
    return atUs >= this.startUs && atUs <= this.endUs;
  }

  /** Ends the window, unless it ended before. @param {number} nowUs */
  closeWindow(nowUs) {
    this.endUs = Math.min(this.endUs, nowUs);
    this.intervals.setWindow(this.startUs, this.endUs);
  }

  /** Of the whole run, by name. @returns {Record<string, Distribution>} */
  #distributions() {
    const { total, fromStart, timedOut, censored, fromStartCensored, lag, stages } = this;
    return { total, fromStart, timedOut, censored, fromStartCensored, lag, ...stages };
  }

  /** @returns {RecorderState} */
  state() {
    const { endUs, counts, failures, windowCounts, halves, endedDueInside, startedBy, endedBy, verifiedBy } = this;
    const latency = Object.fromEntries(
      Object.entries(this.#distributions()).map(([key, value]) => [key, value.toJSON()]),
    );
    const groups = { byName: this.byName.toJSON(), byEndpoint: this.byEndpoint.toJSON() };
    return {
      endUs,
      counts,
      failures,
      windowCounts,
      halves,
      endedDueInside,
      latency,
      ...groups,
      startedBy,
      endedBy,
      verifiedBy,
    };
  }

  /**
   * Adds the state of a thread that ran a part of the wallets.
   * @param {RecorderState} state
   * @param {number} first position of the part's first wallet
   */
  fromState(state, first) {
    addTo(this.counts, state.counts);
    addTo(this.failures, state.failures);
    addTo(this.windowCounts, state.windowCounts);
    this.halves.forEach((half, i) => addTo(half, state.halves[i]));
    this.endedDueInside += state.endedDueInside;
    for (const [name, distribution] of Object.entries(this.#distributions())) {
      distribution.merge(Distribution.fromJSON(state.latency[name]));
    }
    this.byName.adopt(state.byName);
    this.byEndpoint.adopt(state.byEndpoint);
    this.startedBy.set(state.startedBy, first);
    this.endedBy.set(state.endedBy, first);
    this.verifiedBy.set(state.verifiedBy, first);
  }

  /**
   * Counts the open operations of a thread that died as abandoned.
   * @param {Array<Waited>} open from the thread's last report; their wait ends when the thread died
   */
  abandonOpen(open) {
    for (const { intendedAtUs, startedAtUs, endedAtUs } of open) {
      if (!this.#isInWindow(intendedAtUs)) continue;
      this.endedDueInside += 1;
      this.#addCensored({ intendedAtUs, startedAtUs, endedAtUs, outcome: 'abandoned' });
    }
    this.startedBy.forEach((started, i) => {
      this.counts.abandoned += started - this.endedBy[i];
      this.endedBy[i] = started;
    });
  }

  /**
   * Checks that scheduled = dropped + started and started = verified + failed + timed out + abandoned + in flight. The
   * number in flight is counted from the live operations, in total and per wallet.
   * @param {Map<number, number>} inFlightBy live operations by position
   * @throws {InternalError} which names the wallets
   */
  assertConservation(inFlightBy) {
    const { scheduled, dropped, started, verified, failed, timedOut, abandoned } = this.counts;
    const inFlight = [...inFlightBy.values()].reduce((sum, count) => sum + count, 0);
    const unbalanced = this.walletIndexes.filter(
      (_, i) => this.startedBy[i] !== this.endedBy[i] + (inFlightBy.get(i) ?? 0),
    );
    const ended = verified + failed + timedOut + abandoned;
    if (scheduled === dropped + started && started === ended + inFlight && unbalanced.length === 0) return;
    throw new InternalError(
      `conservation is broken for wallet ${unbalanced.slice(0, 5).join(', ') || '(none alone)'}: scheduled ${scheduled} = dropped ${dropped} + started ${started}; ` +
        `started ${started} = verified ${verified} + failed ${failed} + timed out ${timedOut} + abandoned ${abandoned} + in flight ${inFlight}. This is a bug of stress`,
    );
  }
}

/** @param {Record<string, number>} sums changed in place @param {Record<string, number>} more */
export function addTo(sums, more) {
  for (const [key, value] of Object.entries(more)) sums[key] = (sums[key] ?? 0) + value;
}

/** @param {Record<Stage, Distribution>} stages @param {Stages} parts */
function recordStages({ queued, submit, inclusion, visibility, readBack }, parts) {
  queued.record(parts.queuedUs);
  submit.record(parts.submitUs);
  inclusion.record(parts.inclusionUs);
  if (parts.visibilityUs !== null) visibility.record(parts.visibilityUs);
  readBack.record(parts.readBackUs);
}

/** @param {Pick<MeasuredRun, 'environment' | 'generator' | 'byEndpoint' | 'window'>} run @returns {EndpointFigures[]} empty with one endpoint, or in files of older versions */
export function endpointsOf({ environment, generator, byEndpoint = {}, window }) {
  const all = /** @type {Array<{display: string, clientVersion: string | null}>} */ (environment.endpoints ?? []);
  const endpointOutages = /** @type {Array<{left: number, awayMs: number}>} */ (generator.endpoints ?? []);
  const names = numbered(all.map(({ display }) => display));
  return all.map(({ clientVersion }, i) => {
    const display = names[i];
    const group = byEndpoint[i] ?? nothingSent();
    const tps = window.durationMs === 0 ? null : (1000 * group.windowVerified) / window.durationMs;
    const { left = 0, awayMs = 0 } = endpointOutages[i] ?? {};
    return { display, clientVersion, group, tps, left, awayMs };
  });
}

/**
 * The time in which no thread or instance had a submission accepted.
 * @param {Array<Outage | undefined>} stalls the longest of each
 * @returns {Outage | undefined}
 */
export function commonStall(stalls) {
  return stalls.reduce((a, b) => {
    if (a === undefined || b === undefined) return undefined;
    const fromMs = Math.max(a.fromMs, b.fromMs);
    const toMs = Math.min(a.toMs ?? Infinity, b.toMs ?? Infinity);
    return fromMs > toMs ? undefined : { ...a, fromMs, toMs };
  });
}

/** @returns {GroupJson} */
function nothingSent() {
  const counts = { verified: 0, failed: 0, timedOut: 0, abandoned: 0 };
  return { counts, windowVerified: 0, failures: {}, latency: new Distribution().toJSON() };
}
