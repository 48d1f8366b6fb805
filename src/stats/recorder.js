import { InternalError } from '../errors.js';
import { numbered } from '../text.js';
import { STAGES, spreadPerSecond } from './figures.js';
import { OTHERS, addUp } from './merge.js';
import { MAX_GROUPS } from './metrics.js';
import { isCensored, totalUs } from './sample.js';
import { Stats, groupJson, newGroup, zeroCounts } from './stats.js';
import { SpanLog, shareIn } from './throughput.js';

/**
 * @import { Span } from '../contracts/common.d.ts'
 * @import { GroupFigures, Latencies, Sample } from '../contracts/load.d.ts'
 * @import { Counts, GasOfOperations, GroupJson, RunFile } from '../contracts/run-file.d.ts'
 *
 * @typedef {object} EndpointFigures
 * @property {string} display with its number if another one looks the same
 * @property {string | null} clientVersion
 * @property {GroupJson} group operations whose last submission went to this endpoint
 * @property {number | null} tps
 * @property {number | null} outages null: files of older versions do not tell
 * @property {number | null} awayMs
 */

const OUTCOME_COUNT = Object.freeze(
  /** @type {const} */ ({ verified: 'verified', failed: 'failed', timed_out: 'timedOut', abandoned: 'abandoned' }),
);

/**
 * Records the operations of one thread. Each is recorded once, in the interval of its instant; the caller adds the
 * intervals up. An interval ends at the border of the window, however late it is taken.
 */
export class Recorder {
  /** The counts of the intervals that were taken. */
  #pastCounts = zeroCounts();
  /** The current interval and later ones, in order. @type {[Stats, ...Stats[]]} */
  #open;
  startUs;
  endUs = Infinity;
  #middleUs = Infinity;
  #loadStartUs;
  #stageEndsUs;
  /** The names of operations that have a group of their own. @type {Set<string>} */
  #names = new Set();
  #spans = new SpanLog();

  /**
   * @param {number[]} walletIndexes of the slice, by position
   * @param {number} startUs start of the window on the run's clock
   * @param {number[]} [stageEndsUs] ends of the stages of --stages, since the start of the load
   */
  constructor(walletIndexes, startUs, stageEndsUs = []) {
    this.#stageEndsUs = stageEndsUs;
    this.#loadStartUs = startUs;
    this.walletIndexes = walletIndexes;
    this.startUs = startUs;
    this.startedBy = new Float64Array(walletIndexes.length);
    this.endedBy = new Float64Array(walletIndexes.length);
    this.verifiedBy = new Float64Array(walletIndexes.length);
    this.#open = [new Stats(startUs)];
  }

  /**
   * Sets the window when it is known only after construction.
   * @param {number} loadStartUs when operations may be due; those due before the window are the warm-up
   * @param {number} startUs Infinity: not known yet, setWindow() follows
   * @param {number} endUs Infinity: not known yet
   */
  open(loadStartUs, startUs, endUs) {
    this.#loadStartUs = loadStartUs;
    this.#pastCounts = zeroCounts();
    this.#open = [new Stats(loadStartUs)];
    this.setWindow(startUs, endUs);
  }

  /** Both instants must be in the future. @param {number} startUs @param {number} endUs */
  setWindow(startUs, endUs) {
    this.startUs = startUs;
    this.endUs = endUs;
    this.#middleUs = (startUs + endUs) / 2;
  }

  /** Ends the window, unless it ended before. @param {number} nowUs */
  closeWindow(nowUs) {
    this.endUs = Math.min(this.endUs, nowUs);
  }

  /** The interval of an instant; what precedes the current interval was reported late and counts in it. @param {number} atUs */
  #at(atUs) {
    for (let i = 0; ; i += 1) {
      const stats = this.#open[i];
      const borderUs = this.#borderAfter(stats.startUs);
      if (atUs < borderUs || (atUs === borderUs && borderUs === this.endUs)) return stats;
      if (i + 1 === this.#open.length) this.#open.push(new Stats(borderUs));
    }
  }

  /** @param {number} startUs */
  #borderAfter(startUs) {
    // A run that ends in its warm-up has no window.
    const windowStartUs = Math.min(this.startUs, this.endUs);
    if (startUs < windowStartUs) return windowStartUs;
    return startUs < this.endUs ? this.endUs : Infinity;
  }

  /** Ends the current interval and starts the next. @param {number} nowUs @returns {Stats} the interval */
  take(nowUs) {
    const [interval, ...later] = this.#open;
    interval.endUs = nowUs;
    const [next] = later;
    const isNextDue = next !== undefined && nowUs >= next.startUs;
    this.#open = isNextDue ? [next, ...later.slice(1)] : [new Stats(nowUs), ...later];
    this.#pastCounts = addUp(this.#pastCounts, interval.counts);
    return interval;
  }

  /** Operations in flight at the end of the current interval. @param {number} live operations in flight now */
  inFlightAtEnd(live) {
    return this.#open.slice(1).reduce((sum, { counts }) => sum - counts.started + endedOf(counts), live);
  }

  /** The sum of the intervals that were not taken. @returns {Stats} */
  rest() {
    return this.#open.reduce((sum, stats) => sum.add(stats), new Stats(this.#open[0].startUs));
  }

  /** The counts of the whole run so far. @returns {Counts} */
  get counts() {
    return this.#open.reduce((sum, { counts }) => addUp(sum, counts), this.#pastCounts);
  }

  /** @param {number} position @param {number} dueUs @param {number} [nowUs] when it starts */
  start(position, dueUs, nowUs = dueUs) {
    this.#schedule('started', dueUs, nowUs);
    this.startedBy[position] += 1;
  }

  /** @param {number} dueUs @param {number} [nowUs] when it is dropped */
  drop(dueUs, nowUs = dueUs) {
    this.#schedule('dropped', dueUs, nowUs);
  }

  /** @param {'started' | 'dropped'} key @param {number} dueUs @param {number} nowUs */
  #schedule(key, dueUs, nowUs) {
    const stats = this.#at(dueUs);
    stats.counts.scheduled += 1;
    stats.counts[key] += 1;
    if (!this.isInWindow(dueUs)) return stats.outside.lag.record(nowUs - dueUs);
    stats.inside.lag.record(nowUs - dueUs);
    stats.window.scheduled += 1;
    stats.window[key] += 1;
    if (this.#stageEndsUs.length === 0) return;
    const { counts } = this.#stageOf(stats, dueUs);
    counts.scheduled += 1;
    counts[key] += 1;
  }

  /** @param {Sample} sample */
  add(sample) {
    const stats = this.#at(sample.endedAtUs);
    const { outcome, code, name, endpoint } = sample;
    const key = OUTCOME_COUNT[outcome];
    stats.counts[key] += 1;
    this.endedBy[sample.position] += 1;
    if (outcome === 'verified') this.verifiedBy[sample.position] += 1;
    if (code !== null) stats.failures[code] = (stats.failures[code] ?? 0) + 1;
    this.#countInWindow(sample, stats);
    this.#recordLatency(sample, stats);
    const windowShare = this.#spread(sample, stats);
    // As for the failures of all operations, the interval decides.
    const isEarly = stats.startUs < this.startUs;
    if (name !== null) this.#addToGroup(this.#groupOf(stats.byName, name), sample, windowShare, isEarly);
    if (endpoint !== null) this.#addToGroup((stats.byEndpoint[endpoint] ??= newGroup()), sample, windowShare, isEarly);
    if (this.#stageEndsUs.length > 0 && this.isInWindow(sample.intendedAtUs))
      this.#addToGroup(this.#stageOf(stats, sample.intendedAtUs), sample, 0, isEarly);
  }

  /** Counts an operation in the throughput. @param {Sample} sample @param {Stats} stats @returns {number} share in the window, if it was verified */
  #spread({ sighting, outcome, includedAtUs, endedAtUs }, stats) {
    const verified = outcome === 'verified' ? 1 : 0;
    if (sighting !== null) this.#spans.add(sighting, this, 1, verified);
    else {
      if (includedAtUs !== null) this.#spans.add(instant(includedAtUs), this, 1, 0);
      if (verified === 1) this.#spans.add(instant(endedAtUs), this, 0, 1);
    }
    if (verified === 0) return 0;
    const span = sighting ?? instant(endedAtUs);
    this.#stageEndsUs.forEach((stageEndUs, i) => {
      const fromUs = Math.max(this.startUs, this.#loadStartUs + (this.#stageEndsUs[i - 1] ?? 0));
      const toUs = Math.min(this.endUs, this.#loadStartUs + stageEndUs);
      const share = toUs > fromUs ? shareIn(span, fromUs, toUs) : 0;
      if (share > 0) this.#stage(stats, i).windowVerified += share;
    });
    return shareIn(span, this.startUs, this.endUs);
  }

  /** Where the operations count that were verified since the last call. */
  takeSpans() {
    return this.#spans.take();
  }

  /** @param {Sample} sample @param {Stats} stats */
  #countInWindow({ acceptedAtUs, includedAtUs, outcome, gasUsed }, { window, gas, startUs }) {
    if (acceptedAtUs !== null && this.isInWindow(acceptedAtUs)) window.accepted += 1;
    if (includedAtUs !== null && this.isInWindow(includedAtUs)) window.included += 1;
    // The interval decides, so that the rows add up: a call that is compared may be reported after the window.
    if (startUs < this.startUs || startUs >= this.endUs || outcome === 'abandoned') return;
    window[OUTCOME_COUNT[outcome]] += 1;
    if (outcome === 'verified' && gasUsed !== null) addGas(gas, gasUsed);
  }

  /** @param {Sample} sample @param {Stats} stats */
  #recordLatency(sample, stats) {
    const isVerified = sample.outcome === 'verified';
    if (!isVerified && !isCensored(sample)) return;
    const isDueInside = this.isInWindow(sample.intendedAtUs);
    const latencies = isDueInside ? stats.inside : stats.outside;
    const latencyUs = totalUs(sample);
    if (isDueInside) {
      const half = stats.halves[sample.intendedAtUs < this.#middleUs ? 0 : 1];
      half.count += 1;
      half.sumUs += latencyUs;
    }
    if (isVerified) {
      latencies.latency.record(latencyUs);
      latencies.fromStart.record(sample.endedAtUs - sample.startedAtUs);
      recordStages(latencies, sample);
      return;
    }
    latencies.censored.record(latencyUs);
    latencies.fromStartCensored.record(sample.endedAtUs - sample.startedAtUs);
    if (sample.outcome === 'timed_out') latencies.timedOut.record(latencyUs);
  }

  /** @param {Stats['byName']} groups @param {string} name */
  #groupOf(groups, name) {
    if (this.#names.size < MAX_GROUPS - 1 && name !== '__proto__') this.#names.add(name);
    const tag = this.#names.has(name) ? name : OTHERS;
    // Every object has members such as constructor.
    if (!Object.hasOwn(groups, tag)) groups[tag] = newGroup();
    return groups[tag];
  }

  /** The stage of --stages in which an operation is due. @param {Stats} stats @param {number} dueUs */
  #stageOf(stats, dueUs) {
    const stage = this.#stageEndsUs.findIndex((endUs) => dueUs - this.#loadStartUs < endUs);
    return this.#stage(stats, stage < 0 ? this.#stageEndsUs.length - 1 : stage);
  }

  /** @param {Stats} stats @param {number} stage */
  #stage({ byStage }, stage) {
    return (byStage[stage] ??= { ...newGroup(), counts: zeroCounts() });
  }

  /**
   * @param {GroupFigures} group
   * @param {Sample} sample
   * @param {number} windowShare
   * @param {boolean} isEarly whether it ended in the warm-up
   */
  #addToGroup(group, sample, windowShare, isEarly) {
    const { outcome, code, gasUsed } = sample;
    group.counts[OUTCOME_COUNT[outcome]] += 1;
    if (isEarly && outcome === 'failed') group.failedInWarmUp += 1;
    if (code !== null) group.failures[code] = (group.failures[code] ?? 0) + 1;
    const isVerified = outcome === 'verified';
    if (isVerified) group.sumUs += totalUs(sample);
    group.windowVerified += windowShare;
    if (isVerified && gasUsed !== null && this.isInWindow(sample.endedAtUs)) addGas(group.gas, gasUsed);
    if (!this.isInWindow(sample.intendedAtUs)) return;
    if (isVerified) group.latency.record(totalUs(sample));
    else if (isCensored(sample)) group.censored.record(totalUs(sample));
  }

  /** @param {number} atUs */
  isInWindow(atUs) {
    return atUs >= this.startUs && atUs <= this.endUs;
  }

  /** The law of conservation for all wallets together. @param {number} inFlight live operations */
  isBalanced(inFlight) {
    const { counts } = this;
    return counts.scheduled === counts.dropped + counts.started && counts.started === endedOf(counts) + inFlight;
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
    if (this.isBalanced(inFlight) && unbalanced.length === 0) return;
    throw new InternalError(
      `conservation is broken for wallet ${unbalanced.slice(0, 5).join(', ') || '(none alone)'}: scheduled ${scheduled} = dropped ${dropped} + started ${started}; ` +
        `started ${started} = verified ${verified} + failed ${failed} + timed out ${timedOut} + abandoned ${abandoned} + in flight ${inFlight}. This is a bug of stress`,
    );
  }
}

/** @param {number} atUs @returns {Span} */
function instant(atUs) {
  return { fromUs: atUs, toUs: atUs };
}

/** @param {GasOfOperations} gas @param {number} gasUsed */
function addGas(gas, gasUsed) {
  gas.operations += 1;
  gas.used += gasUsed;
}

/** @param {Counts} counts */
export function endedOf({ verified, failed, timedOut, abandoned }) {
  return verified + failed + timedOut + abandoned;
}

// Two arrays cost an operation less than rows, whose members differ.
const STAGE_NAMES = STAGES.map(({ name }) => name);
const STAGE_ENDS = STAGES.map(({ until }) => until);

/** @param {Latencies} latencies @param {Sample} sample a verified one */
function recordStages(latencies, sample) {
  let startUs = sample.intendedAtUs;
  for (let i = 0; i < STAGE_ENDS.length; i += 1) {
    const endUs = STAGE_ENDS[i](sample) ?? startUs;
    if (!(endUs >= startUs))
      throw new InternalError(
        `the stages of wallet ${sample.walletIndex}, nonce ${sample.nonce} are no parts of its latency: ${STAGE_NAMES[i]} took ${endUs - startUs} us`,
      );
    latencies[STAGE_NAMES[i]].record(endUs - startUs);
    startUs = endUs;
  }
}

/** @param {Pick<RunFile, 'environment' | 'generator' | 'byEndpoint' | 'window' | 'rates'>} run @returns {EndpointFigures[]} empty with one endpoint, or in files of older versions */
export function endpointsOf(run) {
  const { environment, generator, byEndpoint = {} } = run;
  const all = /** @type {Array<{display: string, clientVersion: string | null}>} */ (environment.endpoints ?? []);
  const known = /** @type {Array<{left: number, awayMs: number}>} */ (generator.endpoints ?? []);
  const names = numbered(all.map(({ display }) => display));
  return all.map(({ clientVersion }, i) => {
    const display = names[i];
    const group = byEndpoint[i] ?? groupJson(newGroup());
    const tps = spreadPerSecond(run, group.windowVerified);
    const { left: outages = null, awayMs = null } = known[i] ?? {};
    return { display, clientVersion, group, tps, outages, awayMs };
  });
}
