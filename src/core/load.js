import { WARMUP_BLOCKS, MIN_WARMUP_MS } from './costs.js';
import { EXIT, InternalError, UnavailableError } from '../errors.js';
import { Standstill } from './standstill.js';
import { endedOf } from '../stats/recorder.js';
import { asJson } from '../stats/merge.js';
import { noReorgs, reorgInWords } from '../stats/reorgs.js';
import { IntervalLog, Stats, noneUsed, rowOf, zeroCounts } from '../stats/stats.js';
import { Throughput } from '../stats/throughput.js';

/**
 * @import { ThreadStats } from '../contracts/chain.d.ts'
 * @import { Clock, Stop } from '../contracts/common.d.ts'
 * @import { RunContext } from '../contracts/config.d.ts'
 * @import { EngineReport, LoadConfig, LoadPlan, MeasuredRate, Snapshot, Stopped } from '../contracts/load.d.ts'
 * @import { Output, Totals } from '../contracts/output.d.ts'
 * @import { Counts, GeneratorFacts, IntervalRow, Phase, Readings, RunFile } from '../contracts/run-file.d.ts'
 * @import { RunObservers } from '../observers/index.js'
 * @import { LoadFigures } from '../stats/run-file.js'
 * @import { Ledger } from './ledger.js'
 * @import { Checkpoints, Watch } from './reports.js'
 * @import { Engine } from './engine.js'
 */

/**
 * @typedef {object} LoadOptions
 * @property {Pick<LoadConfig, 'warmupMs' | 'durationMs' | 'intervalMs' | 'drainTimeoutMs'> & {txTimeoutMs: number}} times
 * @property {Clock} clock
 * @property {Output[]} outputs
 * @property {Stop} stop
 * @property {Engine} engine
 * @property {Watch} watch
 * @property {WarmUp | null} [warmUp] null unless --warmup auto
 * @property {readonly string[]} [names] of the endpoints
 * @property {RunObservers} [observers]
 * @property {Checkpoints} checkpoints started here, stopped by the caller
 * @property {(loaded: LoadFigures) => RunFile} describeSoFar
 * @property {(atUs: number) => number} timeOfDayMs time of day of an instant of the clock
 * @property {Throughput} [throughput] of the run; the caller gives it the blocks
 * @property {boolean} [isPlain] plain calls
 * @property {RunContext['onProgress']} [onProgress] of the drain
 * @property {() => Promise<number>} begin waits for the common start; resolves with the start of the load
 *
 * @typedef {Pick<Snapshot, 'atUs' | 'counts' | 'window' | 'generator' | 'traffic'> & {rest: NonNullable<Snapshot['rest']>}} Figures a snapshot with figures
 */

/** Time without a block from which on a warning is given. */
const STILL_MS = 30_000;

/** Silence of the endpoint from which on the row mentions it. */
const SILENT_MS = 1500;

const MAX_TIMER_MS = 2 ** 31 - 1;

/** Time between two showings of the running interval. */
const LIVE_MS = 500;

/** A row waits for its rate as long as the longer of so many intervals, or of the times over which operations are usually spread. */
const WAIT = 2;
/** In place of the interval, when the load is over. */
const DRAIN_WAIT_MS = 1000;

/** @type {ThreadStats} */
export const NO_TRAFFIC = Object.freeze({
  rpcCalls: {},
  transport: { requests: 0, connectionsOpened: 0, bytesReceived: 0 },
  batches: { limit: 1, largest: 1, refused: 0, why: null },
  endpoints: [],
});

/** The load from the first operation to the end of the drain, with a row for the outputs and the run file at every interval. */
export class Load {
  #options;
  /** An automatic warm-up sets the window later. @type {LoadPlan} */
  #plan = { loadStartUs: Infinity, startUs: Infinity, endUs: Infinity };
  #throughput;
  #log;
  #isStopped = false;
  /** Rows that the outputs do not have yet. @type {Array<{row: IntervalRow, sums: Omit<Totals, 'runTps'>}>} */
  #unsettled = [];
  /** The sum of the intervals that have ended. @type {Stats | null} */
  #past = null;
  /** The latest snapshot with figures. @type {Figures} */
  #latest;
  #counts = zeroCounts();
  #standstill = new Standstill();
  /** CPU time of this process in the window. */
  #cpuUs = 0;
  /** Resolved when all rows so far are written. @type {Promise<void>} */
  #written = Promise.resolve();

  /** @param {LoadOptions} options */
  constructor(options) {
    this.#options = options;
    this.#throughput = options.throughput ?? new Throughput(new IntervalLog());
    this.#log = this.#throughput.log;
    this.#latest = nothingKnown(options.clock.nowUs());
  }

  /** The figures of a load that does not begin. @param {Pick<LoadOptions, 'clock' | 'timeOfDayMs'>} options @returns {LoadFigures} */
  static none(options) {
    return new Load(/** @type {LoadOptions} */ (options)).#soFar();
  }

  /** @returns {Promise<{loaded: LoadFigures, ledger: Ledger}>} */
  async run() {
    const { times, clock, outputs, stop, engine, watch, warmUp = null, checkpoints, describeSoFar } = this.#options;
    await engine.prepare(stop.drain);
    const source = {
      ask: async () => (await this.#take(clock.nowUs(), false), this.#soFar()),
      describe: describeSoFar,
    };
    // The first checkpoint is the most expensive, so it is made before the load.
    await checkpoints.write(source);
    const loadStartUs = await this.#options.begin();
    const startUs =
      typeof times.warmupMs !== 'number' || warmUp !== null ? Infinity : loadStartUs + times.warmupMs * 1000;
    this.#setPlan({ loadStartUs, startUs, endUs: this.#endOf(startUs) });
    const startedAtMs = this.#options.timeOfDayMs(loadStartUs);
    for (const output of outputs) output.begin?.({ startUs: loadStartUs, startedAtMs, isPlain: this.#options.isPlain });
    watch.begin();
    engine.start(this.#plan);
    checkpoints.begin(source);
    const endLive = this.#showRunning();
    if (startUs > loadStartUs) {
      if (warmUp !== null) await this.#reportUntilWindow(warmUp);
      await this.#reportUntil(this.#plan.startUs, 'warmup', loadStartUs);
      if (clock.nowUs() >= this.#plan.startUs) await this.#report('warmup', this.#plan.startUs);
    }
    const plan = this.#plan;
    await this.#reportUntil(plan.endUs, 'load', plan.startUs);
    if (!stop.drain.aborted) stop.request('duration');

    const endUs = Math.min(Math.max(clock.nowUs(), stop.reason === 'duration' ? plan.endUs : 0), plan.endUs);
    engine.stop(endUs);
    this.#isStopped = true;
    await this.#report(endUs < plan.startUs ? 'warmup' : 'load', endUs);
    const endProgress = this.#showDrain();
    const ledger = await engine.drain(times.drainTimeoutMs, stop.now).finally(endProgress);
    endLive();
    await this.#report('drain', clock.nowUs());
    const loaded = await this.#written
      .then(() => this.#closeRows())
      .catch((error) => {
        stop.request('internal', EXIT.internal, error);
        return this.#soFar();
      });
    return { loaded, ledger };
  }

  /** @param {LoadPlan} plan */
  #setPlan(plan) {
    this.#plan = plan;
    this.#throughput.plan(plan);
  }

  /** Shows the running interval, and rows when their rates are known. @returns {() => void} ends it */
  #showRunning() {
    const shown = this.#options.outputs.flatMap((output) => output.live?.bind(output) ?? []);
    return this.#repeat(
      ({ atUs, counts }) => {
        this.#showSettled(atUs);
        if (this.#isStopped) return;
        const { loadStartUs, startUs, endUs } = this.#plan;
        const isWarmUp = atUs < startUs;
        const [fromUs, toUs] = isWarmUp ? [loadStartUs, startUs] : [startUs, endUs];
        const figures = {
          phase: /** @type {Phase} */ (isWarmUp ? 'warmup' : 'load'),
          elapsedMs: (atUs - fromUs) / 1000,
          lengthMs: toUs === Infinity ? null : (toUs - fromUs) / 1000,
          verified: counts.verified,
          inFlight: inFlightIn(counts),
          tps: this.#throughput.lately(atUs, this.#options.times.intervalMs),
        };
        for (const show of shown) show(figures);
      },
      () => (shown.length > 0 && !this.#isStopped) || this.#unsettled.length > 0,
    );
  }

  /**
   * Gives the outputs the rows whose rates are known, and those that have waited too long, without a rate.
   * @param {number} nowUs Infinity: the load is over
   */
  #showSettled(nowUs) {
    const { settledUs, spanUs } = this.#throughput;
    const { loadStartUs } = this.#plan;
    const leastMs = this.#isStopped ? DRAIN_WAIT_MS : this.#options.times.intervalMs;
    const waitUs = WAIT * Math.max(1000 * leastMs, spanUs ?? 0);
    // Nothing is known of a window without a block that is shorter than the time between two.
    const knownUs = this.#isStopped ? this.#throughput.endUs(nowUs, 0) : Infinity;
    while (this.#unsettled.length > 0) {
      const [{ row, sums }] = this.#unsettled;
      const endUs = loadStartUs + 1000 * row.endMs;
      const isSettled = nowUs === Infinity || settledUs >= endUs;
      if (!isSettled && nowUs < endUs + waitUs) return;
      this.#unsettled.shift();
      const shown =
        isSettled && (row.phase !== 'load' || endUs <= knownUs) ? row : { ...row, tps: null, perSecond: undefined };
      const totals = { ...sums, runTps: row.phase === 'load' && isSettled ? meanTps(this.#log.rows, row.endMs) : null };
      for (const output of this.#options.outputs) output.interval?.(shown, totals);
    }
  }

  /** No rate is known of rows that end after the last block, if the drain was cut short. */
  #closeRows() {
    const loaded = this.#soFar();
    const { loadStartUs } = this.#plan;
    for (const row of this.#log.rows)
      if (row.phase === 'load' && loadStartUs + 1000 * row.endMs > loaded.throughput.endUs) withoutRate(row);
    this.#showSettled(Infinity);
    return loaded;
  }

  /** @returns {() => void} ends it */
  #showDrain() {
    const { onProgress } = this.#options;
    if (onProgress === undefined) return () => {};
    const all = inFlightIn(this.#counts);
    const label = 'waiting for operations in flight';
    onProgress(label, 0, all);
    const end = this.#repeat(({ counts }) => onProgress(label, all - inFlightIn(counts), all));
    return () => {
      end();
      onProgress(label, all, all);
    };
  }

  /**
   * @param {(snapshot: Snapshot) => void} show called with the figures so far
   * @param {() => boolean} [isDue] false: not this time
   * @returns {() => void} ends it
   */
  #repeat(show, isDue = () => true) {
    const { clock } = this.#options;
    let isOver = false;
    const turn = async () => {
      // An error is thrown again by the next report.
      const snapshot = isDue() ? await this.#take(clock.nowUs(), false, false).catch(() => null) : null;
      if (isOver) return;
      if (snapshot !== null) show(snapshot);
      cancel = clock.after(() => void turn(), LIVE_MS);
    };
    let cancel = clock.after(() => void turn(), LIVE_MS);
    return () => {
      isOver = true;
      cancel();
    };
  }

  /** @param {number} startUs of the window */
  #endOf(startUs) {
    const { durationMs } = this.#options.times;
    return durationMs === null ? Infinity : startUs + durationMs * 1000;
  }

  /** The figures of the run so far. @returns {LoadFigures} */
  #soFar() {
    const { atUs, rest, window, generator, traffic } = this.#latest;
    const { failureWords, reorgs, ...engineStats } = generator;
    const stats = new Stats((this.#past ?? rest).startUs);
    if (this.#past !== null) stats.add(this.#past);
    stats.add(rest);
    const { series, inWindow, periodUs } = this.#throughput;
    const endUs = this.#throughput.endUs(atUs, stats.counts.started - endedOf(stats.counts) + stats.counts.abandoned);
    return {
      stats,
      window,
      throughput: { series: series.toJSON(), inWindow: { ...inWindow }, endUs, periodUs },
      ...{ failureWords, reorgs, engineStats },
      traffic,
      untilUs: atUs,
      intervals: this.#log.rows,
      generator: { cpuUs: this.#cpuUs, peakRssBytes: process.resourceUsage().maxRSS * 1024, ...this.#stops() },
      loadStartUs: Math.min(this.#plan.loadStartUs, atUs),
      // If interrupted in the warm-up, the window is empty and begins at the interruption.
      windowStartedAtMs: this.#options.timeOfDayMs(Math.min(this.#plan.startUs, window.endUs, atUs)),
    };
  }

  /** @returns {Pick<GeneratorFacts, 'stops'>} */
  #stops() {
    const { loadStartUs } = this.#plan;
    const sinceMs = (/** @type {number} */ us) => (us - loadStartUs) / 1000;
    // A load that does not begin has no watch.
    const stops = (this.#options.watch?.stops ?? []).map(({ fromUs, toUs }) => {
      return { fromMs: sinceMs(fromUs), toMs: sinceMs(toUs) };
    });
    return stops.length === 0 ? {} : { stops };
  }

  /** @param {number} nowUs @param {boolean} endsInterval @param {boolean} [hasFigures] */
  async #take(nowUs, endsInterval, hasFigures = true) {
    const { engine, stop } = this.#options;
    const snapshot = await engine.snapshot(nowUs, endsInterval, hasFigures);
    const { rest } = snapshot;
    if (rest !== null) this.#latest = { ...snapshot, rest };
    this.#counts = snapshot.counts;
    // The threads end the window a little later than they were told.
    if (this.#isStopped) this.#setPlan({ ...this.#plan, endUs: snapshot.window.endUs });
    this.#throughput.add(snapshot.spread);
    this.#options.observers?.snapshot(snapshot);
    const ended = snapshot.interval?.stats;
    if (ended !== undefined) this.#past = (this.#past ?? new Stats(ended.startUs)).add(ended);
    if (snapshot.violation !== null) stop.request('internal', EXIT.internal, new InternalError(snapshot.violation));
    return snapshot;
  }

  /** Reports until the automatic warm-up has set the window. @param {WarmUp} warmUp */
  async #reportUntilWindow(warmUp) {
    const { clock, engine, stop, watch, observers } = this.#options;
    const { loadStartUs } = this.#plan;
    const isSet = new AbortController();
    const countsNow = async () => {
      await this.#take(clock.nowUs(), false, false);
      return this.#counts;
    };
    const setting = warmUp
      .windowStartUs(loadStartUs, countsNow, stop.drain)
      .then((startUs) => {
        if (startUs === null) return;
        this.#setPlan({ loadStartUs, startUs, endUs: this.#endOf(startUs) });
        engine.setWindow(this.#plan);
        if (warmUp.warning !== null) watch.warnOf('warmup', warmUp.warning);
        observers?.window(this.#plan);
      })
      .catch((error) => stop.request('internal', EXIT.internal, error))
      .finally(() => isSet.abort());
    await this.#reportUntil(Infinity, 'warmup', loadStartUs, AbortSignal.any([isSet.signal, stop.drain]));
    await setting;
  }

  /**
   * Reports at every interval of a phase but the last.
   * @param {number} endUs of the phase
   * @param {Phase} phase
   * @param {number} startUs of the phase
   * @param {AbortSignal} [signal] ends it early
   */
  async #reportUntil(endUs, phase, startUs, signal = this.#options.stop.drain) {
    const { clock, stop, times, names } = this.#options;
    const intervalUs = times.intervalMs * 1000;
    /** @param {number} atUs */
    const borderAfter = (atUs) => startUs + (Math.floor((atUs - startUs) / intervalUs) + 1) * intervalUs;
    let dueUs = borderAfter(clock.nowUs());
    for (let nowUs = clock.nowUs(); nowUs < endUs && !signal.aborted; nowUs = clock.nowUs()) {
      await clock.sleep(Math.min((Math.min(dueUs, endUs) - nowUs) / 1000, MAX_TIMER_MS), signal);
      const wokenUs = clock.nowUs();
      // Timers may fire early.
      if (signal.aborted || wokenUs < dueUs || wokenUs >= endUs) continue;
      dueUs = borderAfter(wokenUs);
      const silence = await this.#report(phase, wokenUs);
      if (silence !== null && silence.silentMs > times.txTimeoutMs)
        stop.request('endpoint_lost', EXIT.unavailable, new UnavailableError(endpointLostMessage(silence, names)));
    }
  }

  /** Reports an interval. A violated law ends the run with a drain and a summary. @param {Phase} phase @param {number} nowUs */
  async #report(phase, nowUs) {
    const { stop, watch } = this.#options;
    try {
      const { interval, traffic, generator } = await this.#take(nowUs, true);
      const report = /** @type {EngineReport} */ (interval);
      const { loop, reorgs, warnings } = report;
      // The row is written when all probes have responded, without delaying the next interval.
      const probes = watch.sample(loop, traffic.transport);
      probes.catch(() => {}); // thrown where the rows are awaited
      const silence = this.#silenceOf(report.silence, nowUs);
      report.silence = silence;
      // Operations that have ended since the end of the interval do not count yet.
      const { started, verified } = /** @type {Stats} */ (this.#past).counts;
      this.#written = this.#written.then(async () => this.#addRow(phase, report, { started, verified }, await probes));
      this.#written.catch(() => {});
      for (const event of reorgs) watch.warnOf('reorg', reorgInWords(event));
      for (const [kind, words] of Object.entries(warnings)) watch.warnOnce(kind, words);
      const stillMs = silence?.stillMs ?? 0;
      const why = this.#isStopped
        ? null
        : this.#standstill.add(seenIn(report, generator, this.#throughput.spanUs ?? this.#throughput.periodUs ?? 0));
      if (why !== null) watch.warnOnce('still', why);
      if (stillMs > STILL_MS) watch.warnOnce('still', `no new block was seen for ${Math.round(stillMs / 1000)} s`);
      return silence;
    } catch (error) {
      stop.request('internal', EXIT.internal, /** @type {Error} */ (error));
      return null;
    }
  }

  /** Without the time in which stress itself was stopped. @param {EngineReport['silence']} silence @param {number} nowUs @returns {EngineReport['silence']} */
  #silenceOf(silence, nowUs) {
    if (silence === null) return null;
    const less = (/** @type {number} */ ms, toUs = nowUs) => {
      const spanUs = { fromUs: toUs - 1000 * ms, toUs };
      return Math.max(0, ms - stoppedUs(this.#options.watch?.stops ?? [], spanUs) / 1000);
    };
    const { past = null } = silence;
    return {
      ...silence,
      ...{ silentMs: less(silence.silentMs), stillMs: less(silence.stillMs) },
      past: past === null ? null : { ...past, ms: less(past.ms, past.toUs) },
    };
  }

  /** @param {Phase} phase @param {EngineReport} report @param {Pick<Counts, 'started' | 'verified'>} totals until its end @param {Readings} probes */
  #addRow(phase, { stats, inFlight, blocks, silence }, totals, probes) {
    const { loadStartUs } = this.#plan;
    if (phase === 'load') this.#cpuUs += probes.self.cpuUs;
    const gapMaxMs = Math.max(blocks.gapMaxMs ?? 0, silence?.stillMs ?? 0);
    const { isPlain } = this.#options;
    const row = rowOf(stats, { phase, loadStartUs, inFlight, blocks: { ...blocks, gapMaxMs }, probes, isPlain });
    const silentMs = Math.max(silence?.silentMs ?? 0, silence?.past?.ms ?? 0);
    if (silentMs >= SILENT_MS) row.silence = { ms: silentMs, words: silence?.words || 'no answer in time' };
    Object.assign(row, this.#options.observers?.row(phase, stats.endUs));
    this.#log.add(row);
    const censored = stats.distribution('censored');
    const sums = {
      attempts: totals.started,
      verified: totals.verified,
      ...(censored.count > 0 && { censored: censored.toJSON() }),
      stages: stats.stages(),
      ...(Object.keys(stats.facts).length > 0 && { facts: asJson(stats.facts) }),
    };
    this.#unsettled.push({ row, sums });
    this.#showSettled(stats.endUs);
  }
}

/** @param {number} atUs @returns {Figures} */
function nothingKnown(atUs) {
  const generator = { ...noneUsed(), failureWords: {}, reorgs: noReorgs() };
  const window = { startUs: atUs, endUs: atUs };
  return { atUs, counts: zeroCounts(), rest: new Stats(atUs), window, generator, traffic: NO_TRAFFIC };
}

/** @param {IntervalRow} row */
function withoutRate(row) {
  row.tps = null;
  delete row.perSecond;
}

/** @param {Stopped[]} stops @param {Stopped} span */
function stoppedUs(stops, span) {
  const within = (/** @type {Stopped} */ { fromUs, toUs }) =>
    Math.max(0, Math.min(toUs, span.toUs) - Math.max(fromUs, span.fromUs));
  return stops.reduce((sum, stop) => sum + within(stop), 0);
}

/** @param {EngineReport} report @param {Snapshot['generator']} generator @param {number} spanUs */
function seenIn({ stats, inFlight, blocks, silence }, generator, spanUs) {
  const { counts, failures, startUs, endUs } = stats;
  const { verified, failed, timedOut, abandoned } = counts;
  return {
    ...{
      verified,
      inFlight,
      generator,
      ended: failed + timedOut + abandoned,
      blocks: blocks.count,
      aboveMaxFee: blocks.aboveMaxFee ?? 0,
    },
    ...{ ms: (endUs - startUs) / 1000, spanMs: spanUs / 1000, stillMs: silence?.stillMs ?? 0 },
    isSilent: silence === null || silence.silentMs >= SILENT_MS,
    failures: timedOut > 0 ? { ...failures, timed_out: timedOut } : failures,
  };
}

/** Mean TPS of the window so far. @param {IntervalRow[]} rows @param {number} untilMs */
function meanTps(rows, untilMs) {
  const load = rows.filter(({ phase, tps, endMs }) => phase === 'load' && tps !== null && endMs <= untilMs);
  const lengthMs = load.reduce((sum, { startMs, endMs }) => sum + endMs - startMs, 0);
  return lengthMs === 0
    ? null
    : load.reduce((sum, { tps, startMs, endMs }) => sum + Number(tps) * (endMs - startMs), 0) / lengthMs;
}

/** @param {Counts} counts */
function inFlightIn(counts) {
  return counts.started - endedOf(counts);
}

/** @param {NonNullable<EngineReport['silence']>} silence @param {readonly string[]} [names] of the endpoints */
function endpointLostMessage({ silentMs, words }, names = []) {
  const who = names.length > 1 ? `none of ${names.join(', ')} has` : 'the endpoint has not';
  return `${who} answered for ${Math.round(silentMs / 1000)} s: ${words || 'no answer in time'}`;
}

/**
 * The automatic warm-up ends when the pipeline is full, so that the operations in flight at both ends of the window are
 * balanced.
 *
 * - Full: as many operations have ended as can be in flight (closed loop), or as were started before the first one
 *   ended (open loop); three blocks have come (not for plain calls), and a second has passed.
 * - Enough operations are in blocks, for a rate that is measured (--rate in gas).
 * - It ends after --tx-timeout at the latest: by then every first operation has ended.
 *
 * @typedef {object} WarmUpOptions
 * @property {Clock} clock
 * @property {number} operations most operations in flight
 * @property {boolean} isOpenLoop
 * @property {boolean} hasBlocks false: plain calls
 * @property {number} mostMs
 * @property {MeasuredRate | null} [rate]
 */

const PERIOD_MS = 100;
/** The window is set so long before it begins, so that every thread knows it in time. */
const AHEAD_MS = 300;

export class WarmUp {
  #options;
  #loadStartUs = Infinity;
  /** Blocks since the start of the load. */
  #blocks = 0;
  /** Operations that have to end; in an open loop known after the first one. @type {number | null} */
  #wanted;
  #isOver = false;
  /** Set if the pipeline was not full. @type {string | null} */
  warning = null;

  /** @param {WarmUpOptions} options */
  constructor(options) {
    this.#options = options;
    this.rate = options.rate ?? null;
    this.#wanted = options.isOpenLoop ? null : options.operations;
  }

  /** @param {{number: number, ours: number, seenAtUs: number}} block */
  onBlock = (block) => {
    if (block.seenAtUs < this.#loadStartUs || this.#isOver) return;
    this.#blocks += 1;
  };

  /**
   * @param {number} loadStartUs
   * @param {() => Promise<Counts>} countsNow
   * @param {AbortSignal} signal ends it early
   * @returns {Promise<number | null>} start of the window; null: ended early
   */
  async windowStartUs(loadStartUs, countsNow, signal) {
    const { clock } = this.#options;
    this.#loadStartUs = loadStartUs;
    await this.#waitUntilOver(loadStartUs, countsNow, signal);
    if (signal.aborted) return null;
    this.#isOver = true;
    await this.rate?.measure();
    return clock.nowUs() + AHEAD_MS * 1000;
  }

  /**
   * @param {number} loadStartUs
   * @param {() => Promise<Counts>} countsNow
   * @param {AbortSignal} signal ends it early
   */
  async #waitUntilOver(loadStartUs, countsNow, signal) {
    const { clock, mostMs, hasBlocks } = this.#options;
    for (;;) {
      await clock.sleep(PERIOD_MS, signal);
      const counts = await countsNow();
      const elapsedMs = (clock.nowUs() - loadStartUs) / 1000;
      if (signal.aborted) return;
      const isFull = elapsedMs >= MIN_WARMUP_MS && this.#isFull(counts);
      if (isFull && this.rate?.isEnough !== false) return;
      if (elapsedMs < mostMs) continue;
      if (!isFull)
        this.warning = `the warm-up ended after ${Math.round(elapsedMs / 1000)} s (--tx-timeout) with ${hasBlocks ? `${this.#blocks} of ${WARMUP_BLOCKS} blocks and ` : ''}${endedOf(counts)} operations: rates and latencies may not be steady yet; give a longer ${this.rate === null ? '--warmup' : '--tx-timeout'}`;
      return;
    }
  }

  /** @param {Counts} counts of the whole run so far */
  #isFull(counts) {
    const ended = endedOf(counts);
    if (ended > 0) this.#wanted ??= Math.min(counts.started, this.#options.operations);
    const hasBlocks = !this.#options.hasBlocks || this.#blocks >= WARMUP_BLOCKS;
    return hasBlocks && this.#wanted !== null && ended >= this.#wanted;
  }
}
