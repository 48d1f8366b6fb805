import { WARMUP_BLOCKS, MIN_WARMUP_MS } from './costs.js';
import { EXIT, InternalError, UnavailableError } from '../errors.js';
import { reorgInWords } from '../stats/reorgs.js';
import { Stats, zeroCounts } from '../stats/stats.js';
import { Reporter } from './reports.js';

/**
 * @import { Stop } from './stop.js'
 * @import { Clock, Config, Counts, Engine, Output, Phase, RunFile, Snapshot } from '../types.d.ts'
 * @import { EngineReport, Plan } from './engine.js'
 * @import { Checkpoints, CheckpointSource, Watch } from './reports.js'
 */

/**
 * The load from the first operation to the end of the drain, with a report at every interval.
 *
 * @typedef {object} LoadOptions
 * @property {Pick<Config, 'warmupMs' | 'durationMs' | 'intervalMs' | 'txTimeoutMs' | 'drainTimeoutMs'>} config
 * @property {Clock} clock
 * @property {Output[]} outputs
 * @property {Stop} stop
 * @property {Engine} engine
 * @property {Watch} watch
 * @property {WarmUp | null} [warmUp] null unless --warmup auto
 * @property {readonly string[]} [names] of the endpoints
 * @property {Checkpoints} checkpoints started here, stopped by the caller
 * @property {(soFar: LoadSoFar) => RunFile} describeSoFar
 * @property {(atUs: number) => number} timeOfDayMs time of day of an instant of the clock
 * @property {boolean} [isPlain] plain calls
 * @property {() => Promise<number>} begin waits for the common start; resolves with the start of the load
 *
 * @typedef {Awaited<ReturnType<typeof load>>} Loaded
 * @typedef {Omit<Loaded, 'ledger'>} LoadSoFar
 */

/** Time without a block, and Retry-After, from which on a warning is given. */
const STILL_MS = 30_000;

const RETRY_AFTER_WARNING_MS = 2000;

const MAX_TIMER_MS = 2 ** 31 - 1;

/** @param {LoadOptions} options */
export async function load(options) {
  const { config, clock, outputs, stop, engine, watch, warmUp = null, checkpoints, timeOfDayMs, begin } = options;
  await watch.prepare();
  await engine.prepare(stop.drain);
  // The first checkpoint is the most expensive, so it is made before the load.
  const figures = new RunFigures(engine, stop);
  await checkpoints.write(knownNow(options, figures, { rows: [], cpuUs: 0 }, { startUs: Infinity }));
  const beginUs = await begin().catch(async (error) => {
    await checkpoints.discard();
    throw error;
  });
  const plan = planFrom(beginUs, config);
  const reporter = new Reporter(plan, outputs, watch);
  const parts = { config, clock, stop, engine, figures, watch, reporter, names: options.names };

  for (const output of outputs)
    output.start?.({ startUs: plan.loadStartUs, startedAtMs: timeOfDayMs(plan.loadStartUs), isPlain: options.isPlain });
  watch.begin();
  engine.start(plan);
  checkpoints.begin(knownNow(options, figures, reporter, plan));
  if (plan.startUs > plan.loadStartUs) {
    if (warmUp !== null) await reportUntilWindow(warmUp, plan, parts);
    await reportUntil(plan.startUs, 'warmup', plan.loadStartUs, parts);
    if (clock.nowUs() >= plan.startUs) await report('warmup', parts, plan.startUs);
  }
  await reportUntil(plan.endUs, 'load', plan.startUs, parts);
  if (!stop.drain.aborted) stop.request('duration');

  const endUs = Math.min(Math.max(clock.nowUs(), stop.reason === 'duration' ? plan.endUs : 0), plan.endUs);
  engine.stop(endUs);
  await report(endUs < plan.startUs ? 'warmup' : 'load', parts, endUs);
  const ledger = await engine.drain(config.drainTimeoutMs, stop.now);
  await report('drain', parts, clock.nowUs());
  await settle(parts);
  // If interrupted in the warm-up, the window is empty and begins at the interruption.
  const windowStartedAtMs = timeOfDayMs(Math.min(plan.startUs, endUs));
  const { loadStartUs } = plan;
  return { ...reported(reporter), loadStartUs, windowStartedAtMs, ...figures.soFar(), ledger };
}

/** The figures of the run so far: the sum of its intervals. */
class RunFigures {
  /** @type {Stats | null} */
  #past = null;
  /** @type {Snapshot | null} */
  #latest = null;
  #engine;
  #stop;

  /** @param {Engine} engine @param {Stop} stop */
  constructor(engine, stop) {
    this.#engine = engine;
    this.#stop = stop;
  }

  /** @param {number} nowUs @param {boolean} endsInterval @returns {Promise<Snapshot | null>} null: not known now */
  async take(nowUs, endsInterval) {
    const snapshot = await this.#engine.snapshot(nowUs, endsInterval);
    if (snapshot === null) return null;
    this.#latest = snapshot;
    const ended = snapshot.interval?.stats;
    if (ended !== undefined) this.#past = (this.#past ?? new Stats(ended.startUs)).add(ended);
    if (snapshot.violation !== null)
      this.#stop.request('internal', EXIT.internal, new InternalError(snapshot.violation));
    return snapshot;
  }

  get counts() {
    return this.#latest?.counts ?? zeroCounts();
  }

  soFar() {
    const { atUs, rest, window, generator, traffic } = /** @type {Snapshot} */ (this.#latest);
    const stats = new Stats(this.#past?.startUs ?? rest.startUs).add(this.#past ?? rest);
    return {
      stats: this.#past === null ? stats : stats.add(rest),
      window,
      engineStats: generator,
      traffic,
      untilUs: atUs,
    };
  }
}

/** @typedef {Pick<Reporter, 'rows' | 'cpuUs'>} Reported */

/** @param {Reported} reporter */
function reported({ rows, cpuUs }) {
  return { generator: { cpuUs, peakRssBytes: process.resourceUsage().maxRSS * 1024 }, intervals: rows };
}

/**
 * The source of checkpoints.
 * @param {LoadOptions} options
 * @param {RunFigures} figures
 * @param {Reported} reporter
 * @param {Pick<Plan, 'startUs'> & Partial<Plan>} plan
 * @returns {CheckpointSource<ReturnType<RunFigures['soFar']>>}
 */
function knownNow({ clock, timeOfDayMs, describeSoFar }, figures, reporter, plan) {
  return {
    ask: async () => {
      const snapshot = await figures.take(clock.nowUs(), false);
      return snapshot && figures.soFar();
    },
    describe: (known) =>
      describeSoFar({
        ...reported(reporter),
        ...known,
        loadStartUs: plan.loadStartUs ?? known.untilUs,
        windowStartedAtMs: timeOfDayMs(Math.min(plan.startUs, known.untilUs)),
      }),
  };
}

/**
 * The start and end of load and window. An automatic warm-up sets those of the window later.
 * @param {number} nowUs
 * @param {Pick<LoadOptions['config'], 'warmupMs' | 'durationMs'>} config
 * @returns {Plan}
 */
function planFrom(nowUs, { warmupMs, durationMs }) {
  const startUs = warmupMs === 'auto' ? Infinity : nowUs + warmupMs * 1000;
  return { loadStartUs: nowUs, startUs, endUs: endOf(startUs, durationMs) };
}

/** @param {number} startUs @param {number | null} durationMs */
function endOf(startUs, durationMs) {
  return durationMs === null ? Infinity : startUs + durationMs * 1000;
}

/**
 * Reports until the automatic warm-up has set the window in the plan.
 * @param {WarmUp} warmUp
 * @param {Plan} plan
 * @param {Parts} parts
 */
async function reportUntilWindow(warmUp, plan, parts) {
  const { config, clock, engine, figures, stop, watch } = parts;
  const named = new AbortController();
  const countsNow = async () => {
    await figures.take(clock.nowUs(), false);
    return figures.counts;
  };
  const naming = warmUp
    .windowStartUs(plan.loadStartUs, countsNow, stop.drain)
    .then((startUs) => {
      if (startUs === null) return;
      Object.assign(plan, { startUs, endUs: endOf(startUs, config.durationMs) });
      engine.setWindow(plan);
      if (warmUp.warning !== null) watch.warnOf('warmup', warmUp.warning);
    })
    .catch((error) => stop.request('internal', EXIT.internal, error))
    .finally(() => named.abort());
  await reportUntil(Infinity, 'warmup', plan.loadStartUs, parts, AbortSignal.any([named.signal, stop.drain]));
  await naming;
}

/** @typedef {Pick<LoadOptions, 'config' | 'clock' | 'stop' | 'engine' | 'watch' | 'names'> & {reporter: Reporter, figures: RunFigures}} Parts */

/**
 * Reports at every interval of a phase but the last.
 * @param {number} endUs of the phase
 * @param {Phase} phase
 * @param {number} startUs of the phase
 * @param {Parts} parts
 * @param {AbortSignal} [signal] ends it early
 */
async function reportUntil(endUs, phase, startUs, parts, signal = parts.stop.drain) {
  const { clock, stop, config } = parts;
  const intervalUs = config.intervalMs * 1000;
  /** @param {number} atUs */
  const borderAfter = (atUs) => startUs + (Math.floor((atUs - startUs) / intervalUs) + 1) * intervalUs;
  let dueUs = borderAfter(clock.nowUs());
  for (let nowUs = clock.nowUs(); nowUs < endUs && !signal.aborted; nowUs = clock.nowUs()) {
    await clock.sleep(Math.min((Math.min(dueUs, endUs) - nowUs) / 1000, MAX_TIMER_MS), signal);
    const wokenUs = clock.nowUs();
    // Timers may fire early.
    if (signal.aborted || wokenUs < dueUs || wokenUs >= endUs) continue;
    dueUs = borderAfter(wokenUs);
    const silence = await report(phase, parts, wokenUs);
    if (silence !== null && silence.silentMs > config.txTimeoutMs) {
      stop.request('endpoint_lost', EXIT.unavailable, new UnavailableError(endpointLostMessage(silence, parts.names)));
    }
  }
}

/** @param {NonNullable<EngineReport['silence']>} silence @param {readonly string[]} [names] of the endpoints */
function endpointLostMessage({ silentMs, words }, names = []) {
  const who = names.length > 1 ? `none of ${names.join(', ')} has` : 'the endpoint has not';
  return `${who} answered for ${Math.round(silentMs / 1000)} s: ${words || 'no answer in time'}`;
}

/** Waits until all rows are written. @param {Pick<Parts, 'stop' | 'reporter'>} parts */
async function settle({ stop, reporter }) {
  try {
    await reporter.settled();
  } catch (error) {
    stop.request('internal', EXIT.internal, /** @type {Error} */ (error));
  }
}

/**
 * Reports an interval. A violated law ends the run with a drain and a summary.
 * @param {Phase} phase
 * @param {Pick<Parts, 'stop' | 'figures' | 'reporter' | 'watch'>} parts
 * @param {number} nowUs
 */
async function report(phase, { stop, reporter, figures, watch }, nowUs) {
  try {
    const snapshot = /** @type {Snapshot} */ (await figures.take(nowUs, true));
    const interval = /** @type {EngineReport} */ (snapshot.interval);
    reporter.add(phase, interval, snapshot);
    for (const event of interval.reorgs) watch.warnOf('reorg', reorgInWords(event));
    for (const [kind, words] of Object.entries(interval.warnings)) watch.warnOnce(kind, words);
    const stillMs = interval.silence?.stillMs ?? 0;
    if (stillMs > STILL_MS) watch.warnOnce('still', `no new block was seen for ${Math.round(stillMs / 1000)} s`);
    const retryAfterMs = interval.silence?.retryAfterMs ?? 0;
    const words = `the endpoint sent Retry-After: nothing is submitted for ${Math.round(retryAfterMs / 1000)} s`;
    if (retryAfterMs > RETRY_AFTER_WARNING_MS) watch.warnOnce('retry-after', words);
    return interval.silence;
  } catch (error) {
    stop.request('internal', EXIT.internal, /** @type {Error} */ (error));
    return null;
  }
}

/**
 * The automatic warm-up ends when the pipeline is full, so that the operations in flight at both ends of the window are
 * balanced.
 *
 * - Full: as many operations have ended as can be in flight (closed loop), or as were started before the first one
 *   ended (open loop); three blocks have come (not for plain calls), and a second has passed.
 * - It ends after --tx-timeout at the latest: by then every first operation has ended.
 *
 * The window then begins at a random time within one block interval. If it always began with a block, it would end at
 * the same distance from one in every run, with the same error.
 *
 * @typedef {object} WarmUpOptions
 * @property {Clock} clock
 * @property {number} operations most operations in flight
 * @property {boolean} isOpenLoop
 * @property {boolean} hasBlocks false: plain calls
 * @property {number} mostMs
 * @property {() => number} [random]
 */

const PERIOD_MS = 100;
/** The window is set so long before it begins, so that every thread knows it in time. */
const AHEAD_MS = 300;

export class WarmUp {
  #options;
  #loadStartUs = Infinity;
  /** Blocks since the start of the load. */
  #blocks = 0;
  #firstBlockUs = 0;
  #lastBlockUs = 0;
  /** Operations that have to end; in an open loop known after the first one. @type {number | null} */
  #wanted;
  /** Set if the pipeline was not full. @type {string | null} */
  warning = null;

  /** @param {WarmUpOptions} options */
  constructor(options) {
    this.#options = options;
    this.#wanted = options.isOpenLoop ? null : options.operations;
  }

  /** @param {{seenAtUs: number}} block */
  onBlock = ({ seenAtUs }) => {
    if (seenAtUs < this.#loadStartUs) return;
    if (this.#blocks === 0) this.#firstBlockUs = seenAtUs;
    this.#lastBlockUs = seenAtUs;
    this.#blocks += 1;
  };

  /**
   * @param {number} loadStartUs
   * @param {() => Promise<Counts>} countsNow
   * @param {AbortSignal} signal ends it early
   * @returns {Promise<number | null>} start of the window; null: ended early
   */
  async windowStartUs(loadStartUs, countsNow, signal) {
    const { clock, mostMs, hasBlocks, random = Math.random } = this.#options;
    this.#loadStartUs = loadStartUs;
    for (;;) {
      await clock.sleep(PERIOD_MS, signal);
      const counts = await countsNow();
      if (signal.aborted) return null;
      const elapsedMs = (clock.nowUs() - loadStartUs) / 1000;
      if (elapsedMs >= MIN_WARMUP_MS && this.#isFull(counts)) break;
      if (elapsedMs < mostMs) continue;
      this.warning = `the warm-up ended after ${Math.round(elapsedMs / 1000)} s (--tx-timeout) with ${hasBlocks ? `${this.#blocks} of ${WARMUP_BLOCKS} blocks and ` : ''}${endedOf(counts)} operations: rates and latencies may not be steady yet; give a longer --warmup`;
      break;
    }
    const blockUs = this.#blocks > 1 ? (this.#lastBlockUs - this.#firstBlockUs) / (this.#blocks - 1) : 0;
    return clock.nowUs() + AHEAD_MS * 1000 + Math.round(random() * blockUs);
  }

  /** @param {Counts} counts of the whole run so far */
  #isFull(counts) {
    const ended = endedOf(counts);
    if (ended > 0) this.#wanted ??= Math.min(counts.started, this.#options.operations);
    const hasBlocks = !this.#options.hasBlocks || this.#blocks >= WARMUP_BLOCKS;
    return hasBlocks && this.#wanted !== null && ended >= this.#wanted;
  }
}

/** @param {Counts} counts */
function endedOf({ verified, failed, timedOut, abandoned }) {
  return verified + failed + timedOut + abandoned;
}
