import { setMaxListeners } from 'node:events';
import { EXIT, UnavailableError } from '../errors.js';
import { reorgInWords } from '../stats/reorgs.js';
import { Reporter } from './reports.js';

/**
 * @import { Clock, Config, Counts, Output, Phase, RunFile } from '../types.d.ts'
 * @import { EngineReport, Plan } from './engine.js'
 * @import { Checkpoints, Making, Watch } from './reports.js'
 * @import { LoadEngine, SoFar } from './workers.js'
 */

/**
 * The load itself: from the first operation to the end of the drain, with a report at every interval. Whether one
 * thread does the work or many, is the engine's business.
 *
 * @typedef {object} LoadOptions
 * @property {Pick<Config, 'warmupMs' | 'durationMs' | 'intervalMs' | 'txTimeoutMs' | 'drainTimeoutMs'>} config
 * @property {Clock} clock
 * @property {Output[]} outputs
 * @property {Stop} stop
 * @property {LoadEngine} engine
 * @property {Watch} watch
 * @property {WarmUp | null} [warmUp] null where its length was given
 * @property {readonly string[]} [names] of the endpoints, where there are several
 * @property {Checkpoints} checkpoints begun here, and not ended
 * @property {(soFar: LoadSoFar) => RunFile} describeSoFar
 * @property {(atUs: number) => number} timeOfDayMs of an instant of the clock
 * @property {boolean} [isPlain] whether the operations are plain calls
 * @property {() => Promise<number>} begin waits until the load may begin; the instant from which on it counts
 *
 * @typedef {Awaited<ReturnType<typeof load>>} Loaded
 * @typedef {Omit<Loaded, 'ledger'> & {untilUs: number, durationUs: number}} LoadSoFar up to an instant, with the length of
 *   the window so far
 */

/** A chain that makes no block for so long stands still: whoever looks on wants to know. */
const STILL_MS = 30_000;

/** So is a pause that the endpoint asks for. */
const REST_MS = 2000;

/** The longest a timer can wait; whoever waits for longer waits again. */
const LONG_MS = 2 ** 31 - 1;

/** @param {LoadOptions} options */
export async function load(options) {
  const { config, clock, outputs, stop, engine, watch, warmUp = null, checkpoints, timeOfDayMs, begin } = options;
  await watch.prepare();
  await engine.prepare(stop.drain);
  // The first one costs the most, and no operation is due yet.
  await checkpoints.keep(knownNow(options, { rows: [], cpuUs: 0 }, { startUs: Infinity }));
  const beginUs = await begin().catch(async (error) => {
    await checkpoints.discard();
    throw error;
  });
  const plan = planFrom(beginUs, config);
  const reporter = new Reporter(plan, outputs, watch);
  const parts = { config, clock, stop, engine, watch, reporter, names: options.names };

  for (const output of outputs)
    output.start?.({ startUs: plan.loadStartUs, startedAtMs: timeOfDayMs(plan.loadStartUs), isPlain: options.isPlain });
  watch.begin();
  engine.start(plan);
  checkpoints.begin(knownNow(options, reporter, plan));
  if (plan.startUs > plan.loadStartUs) {
    if (warmUp !== null) await reportUntilNamed(warmUp, plan, parts);
    await reportUntil(plan.startUs, 'warmup', plan.loadStartUs, parts);
    if (clock.nowUs() >= plan.startUs) await report('warmup', parts, plan.startUs);
  }
  await reportUntil(plan.endUs, 'load', plan.startUs, parts);
  if (!stop.drain.aborted) stop.request('duration');

  const endUs = Math.min(Math.max(clock.nowUs(), stop.reason === 'duration' ? plan.endUs : 0), plan.endUs);
  engine.stop(endUs);
  await report(endUs < plan.startUs ? 'warmup' : 'load', parts, endUs);
  await engine.drain(config.drainTimeoutMs, stop.now);
  await report('drain', parts, clock.nowUs());
  await settle(parts);
  // One that was interrupted in its warm-up has a window of no length, which begins when it was.
  const windowStartedAtMs = timeOfDayMs(Math.min(plan.startUs, endUs));
  const { loadStartUs } = plan;
  return { ...reported(reporter), loadStartUs, windowStartedAtMs, ...(await engine.result()) };
}

/** @typedef {Pick<Reporter, 'rows' | 'cpuUs'>} Reported */

/** @param {Reported} reporter */
function reported({ rows, cpuUs }) {
  return { generator: { cpuUs, peakRssBytes: process.resourceUsage().maxRSS * 1024 }, intervals: rows };
}

/**
 * The run file of now, whenever that is.
 * @param {LoadOptions} options
 * @param {Reported} reporter
 * @param {Pick<Plan, 'startUs'> & Partial<Plan>} plan
 * @returns {Making<SoFar>}
 */
function knownNow({ clock, engine, timeOfDayMs, describeSoFar }, reporter, plan) {
  return {
    ask: () => engine.soFar(clock.nowUs()),
    describe: (known) =>
      describeSoFar({
        ...reported(reporter),
        ...known,
        loadStartUs: plan.loadStartUs ?? known.untilUs,
        windowStartedAtMs: timeOfDayMs(Math.min(plan.startUs, known.untilUs)),
        durationUs: Math.max(0, Math.min(known.recorder.endUs, known.untilUs) - plan.startUs),
      }),
  };
}

/**
 * The borders of the run, decided once: every rate and every thread goes by them. Those of a window behind an automatic
 * warm-up are named shortly before it begins.
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
 * Reports until the warm-up has named the window, in the plan.
 * @param {WarmUp} warmUp
 * @param {Plan} plan
 * @param {Parts} parts
 */
async function reportUntilNamed(warmUp, plan, parts) {
  const { config, engine, stop, watch } = parts;
  const named = new AbortController();
  const naming = warmUp
    .windowStartUs(plan.loadStartUs, () => engine.counts(), stop.drain)
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

/** @typedef {Pick<LoadOptions, 'config' | 'clock' | 'stop' | 'engine' | 'watch' | 'names'> & {reporter: Reporter}} Parts */

/**
 * Reports at every interval of a phase but the last, which ends when the phase does.
 * @param {number} endUs of the phase
 * @param {Phase} phase
 * @param {number} startUs of the phase
 * @param {Parts} parts
 * @param {AbortSignal} [signal] ends it early
 */
async function reportUntil(endUs, phase, startUs, parts, signal = parts.stop.drain) {
  const { clock, stop, config } = parts;
  const intervalUs = config.intervalMs * 1000;
  /** The first border after an instant. @param {number} atUs */
  const borderAfter = (atUs) => startUs + (Math.floor((atUs - startUs) / intervalUs) + 1) * intervalUs;
  let dueUs = borderAfter(clock.nowUs());
  for (let nowUs = clock.nowUs(); nowUs < endUs && !signal.aborted; nowUs = clock.nowUs()) {
    await clock.sleep(Math.min((Math.min(dueUs, endUs) - nowUs) / 1000, LONG_MS), signal);
    const wokenUs = clock.nowUs();
    // A timer may fire a moment early.
    if (signal.aborted || wokenUs < dueUs || wokenUs >= endUs) continue;
    dueUs = borderAfter(wokenUs);
    const silence = await report(phase, parts, wokenUs);
    if (silence !== null && silence.silentMs > config.txTimeoutMs) {
      stop.request('endpoint_lost', EXIT.unavailable, new UnavailableError(lostInWords(silence, parts.names)));
    }
  }
}

/** @param {NonNullable<EngineReport['silence']>} silence @param {readonly string[]} [names] of the endpoints */
function lostInWords({ silentMs, words }, names = []) {
  const who = names.length > 1 ? `none of ${names.join(', ')} has` : 'the endpoint has not';
  return `${who} answered for ${Math.round(silentMs / 1000)} s: ${words || 'no answer in time'}`;
}

/** Every row is with the outputs. @param {Pick<Parts, 'stop' | 'reporter'>} parts */
async function settle({ stop, reporter }) {
  try {
    await reporter.settled();
  } catch (error) {
    stop.request('internal', EXIT.internal, /** @type {Error} */ (error));
  }
}

/**
 * A law of ours that breaks ends the run, but not without its drain and its summary.
 * @param {Phase} phase
 * @param {Pick<Parts, 'stop' | 'engine' | 'reporter' | 'watch'>} parts
 * @param {number} nowUs
 */
async function report(phase, { stop, reporter, engine, watch }, nowUs) {
  try {
    const made = await engine.report(nowUs);
    reporter.add(phase, made);
    for (const event of made.reorgs) watch.warnOf('reorg', reorgInWords(event));
    if (made.warning !== null) watch.warnOnce('inclusion', made.warning);
    const stillMs = made.silence?.stillMs ?? 0;
    if (stillMs > STILL_MS) watch.warnOnce('still', `no new block was seen for ${Math.round(stillMs / 1000)} s`);
    const restMs = made.silence?.restMs ?? 0;
    const rest = `the endpoint asks to be left alone for ${Math.round(restMs / 1000)} s (Retry-After): nothing is submitted until then`;
    if (restMs > REST_MS) watch.warnOnce('rest', rest);
    engine.check();
    return made.silence;
  } catch (error) {
    stop.request('internal', EXIT.internal, /** @type {Error} */ (error));
    return null;
  }
}

/**
 * Asks a run to end: first gently (no new operations, drain, audit), then at once. The first reason is kept.
 */
export class Stop {
  #drain = new AbortController();
  #now = new AbortController();
  /** @type {string | null} */
  reason = null;
  /** Why nothing is waited for. @type {string | null} */
  hurriedBecause = null;
  /** Exit codes that the reasons call for. @type {number[]} */
  exitCodes = [];
  /** @type {Error[]} */
  errors = [];

  constructor() {
    // Whatever is asked again listens, and there may be thousands.
    setMaxListeners(0, this.drain, this.now);
  }

  /** Aborts when no new operations may start. */
  get drain() {
    return this.#drain.signal;
  }

  /** Aborts when nothing may be waited for any more. */
  get now() {
    return this.#now.signal;
  }

  /**
   * @param {string} reason
   * @param {number} [exitCode]
   * @param {Error} [error]
   */
  request(reason, exitCode, error) {
    this.reason ??= reason;
    if (exitCode !== undefined && exitCode !== 0) this.exitCodes.push(exitCode);
    if (error !== undefined) this.errors.push(error);
    this.#drain.abort();
  }

  /** Ends at once. @param {string} [why] */
  hurry(why = 'ended at once, on request') {
    this.hurriedBecause ??= why;
    this.#now.abort();
  }
}

/**
 * The automatic warm-up: it ends when the pipeline is full, so that what is in flight at the end of the window is
 * balanced by what was in flight at its beginning.
 *
 * - A closed loop is full when as many operations have ended as the wallets can have in flight. An open loop is full
 *   when as many have ended as were started before the first one ended.
 * - Three blocks have come (not for plain calls), and a second has passed.
 * - It takes no longer than --tx-timeout: by then every first operation has ended, one way or another.
 *
 * The window then begins at a random instant within one block interval. Blocks come at a fixed distance: a window that
 * began with a block would always end at the same distance from one, and what it missed there every run would miss.
 *
 * @typedef {object} WarmUpOptions
 * @property {Clock} clock
 * @property {number} operations most operations in flight at once
 * @property {boolean} isOpenLoop
 * @property {boolean} hasBlocks false for plain calls
 * @property {number} mostMs
 * @property {() => number} [random]
 */

const BLOCKS = 3;
const SHORTEST_MS = 1000;
/** How often it is seen whether the pipeline is full. */
const PERIOD_MS = 100;
/** The window is named so long before it begins, so that every thread knows it by then. */
const AHEAD_MS = 300;

export class WarmUp {
  #options;
  #blocks = 0;
  #firstBlockUs = 0;
  #lastBlockUs = 0;
  /** So many operations have to end; an open loop learns it with its first one. @type {number | null} */
  #wanted;
  /** Why it ended without the pipeline being full. @type {string | null} */
  warning = null;

  /** @param {WarmUpOptions} options */
  constructor(options) {
    this.#options = options;
    this.#wanted = options.isOpenLoop ? null : options.operations;
  }

  /** @param {{seenAtUs: number}} block a new one */
  onBlock = ({ seenAtUs }) => {
    if (this.#blocks === 0) this.#firstBlockUs = seenAtUs;
    this.#lastBlockUs = seenAtUs;
    this.#blocks += 1;
  };

  /**
   * @param {number} loadStartUs
   * @param {() => Promise<Counts>} countsNow
   * @param {AbortSignal} signal ends it early
   * @returns {Promise<number | null>} when the window begins; null when it was ended early
   */
  async windowStartUs(loadStartUs, countsNow, signal) {
    const { clock, mostMs, hasBlocks, random = Math.random } = this.#options;
    for (;;) {
      await clock.sleep(PERIOD_MS, signal);
      const counts = await countsNow();
      if (signal.aborted) return null;
      const elapsedMs = (clock.nowUs() - loadStartUs) / 1000;
      if (elapsedMs >= SHORTEST_MS && this.#isFull(counts)) break;
      if (elapsedMs < mostMs) continue;
      this.warning = `the warm-up ended after ${Math.round(elapsedMs / 1000)} s (--tx-timeout) with ${hasBlocks ? `${this.#blocks} of ${BLOCKS} blocks and ` : ''}${endedOf(counts)} operations: rates and latencies may not be steady yet; give a longer --warmup`;
      break;
    }
    const blockUs = this.#blocks > 1 ? (this.#lastBlockUs - this.#firstBlockUs) / (this.#blocks - 1) : 0;
    return clock.nowUs() + AHEAD_MS * 1000 + Math.round(random() * blockUs);
  }

  /** @param {Counts} counts of the whole run so far */
  #isFull(counts) {
    const ended = endedOf(counts);
    if (ended > 0) this.#wanted ??= Math.min(counts.started, this.#options.operations);
    const hasBlocks = !this.#options.hasBlocks || this.#blocks >= BLOCKS;
    return hasBlocks && this.#wanted !== null && ended >= this.#wanted;
  }
}

/** @param {Counts} counts */
function endedOf({ verified, failed, timedOut, abandoned }) {
  return verified + failed + timedOut + abandoned;
}

/**
 * How long a warm-up is expected to be.
 * @param {number | 'auto'} warmupMs
 * @param {number} blockSeconds 0 where it is not known
 */
export function warmupSeconds(warmupMs, blockSeconds) {
  return warmupMs === 'auto' ? Math.max(SHORTEST_MS / 1000, (BLOCKS + 1) * blockSeconds) : warmupMs / 1000;
}
