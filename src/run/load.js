import { EXIT, UnavailableError } from '../errors.js';
import { reorgInWords } from '../metrics/reorgs.js';
import { Reporter } from './reporter.js';

/**
 * @import { Clock } from '../clock.js'
 * @import { Phase } from '../metrics/intervals.js'
 * @import { RunFile } from '../metrics/summary.js'
 * @import { Output } from '../output/index.js'
 * @import { Checkpoints, Making } from './checkpoint.js'
 * @import { Config } from './config.js'
 * @import { Crew, SoFar } from './crew.js'
 * @import { EngineReport, Plan } from './engine.js'
 * @import { Stop } from './stop.js'
 * @import { WarmUp } from './warm-up.js'
 * @import { Watch } from './watch.js'
 */

/**
 * The load itself: from the first operation to the end of the drain, with a report at every interval. Whether one
 * thread does the work or many, is the crew's business.
 *
 * @typedef {object} LoadOptions
 * @property {Pick<Config, 'warmupMs' | 'durationMs' | 'intervalMs' | 'txTimeoutMs' | 'drainTimeoutMs'>} config
 * @property {Clock} clock
 * @property {Output[]} outputs
 * @property {Stop} stop
 * @property {Crew} crew
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
  const { config, clock, outputs, stop, crew, watch, warmUp = null, checkpoints, timeOfDayMs, begin } = options;
  await watch.prepare();
  await crew.prepare(stop.drain);
  // The first one costs the most, and no operation is due yet.
  await checkpoints.keep(knownNow(options, { rows: [], cpuUs: 0 }, { startUs: Infinity }));
  const beginUs = await begin().catch(async (error) => {
    await checkpoints.discard();
    throw error;
  });
  const plan = planFrom(beginUs, config);
  const reporter = new Reporter(plan, outputs, watch);
  const parts = { config, clock, stop, crew, watch, reporter, names: options.names };

  for (const output of outputs)
    output.start?.({ startUs: plan.loadStartUs, startedAtMs: timeOfDayMs(plan.loadStartUs), isPlain: options.isPlain });
  watch.begin();
  crew.start(plan);
  checkpoints.begin(knownNow(options, reporter, plan));
  if (plan.startUs > plan.loadStartUs) {
    if (warmUp !== null) await reportUntilNamed(warmUp, plan, parts);
    await reportUntil(plan.startUs, 'warmup', plan.loadStartUs, parts);
    if (clock.nowUs() >= plan.startUs) await report('warmup', parts, plan.startUs);
  }
  await reportUntil(plan.endUs, 'load', plan.startUs, parts);
  if (!stop.drain.aborted) stop.request('duration');

  const endUs = Math.min(Math.max(clock.nowUs(), stop.reason === 'duration' ? plan.endUs : 0), plan.endUs);
  crew.stop(endUs);
  await report(endUs < plan.startUs ? 'warmup' : 'load', parts, endUs);
  await crew.drain(config.drainTimeoutMs, stop.now);
  await report('drain', parts, clock.nowUs());
  await settle(parts);
  // One that was interrupted in its warm-up has a window of no length, which begins when it was.
  const windowStartedAtMs = timeOfDayMs(Math.min(plan.startUs, endUs));
  const { loadStartUs } = plan;
  return { ...reported(reporter), loadStartUs, windowStartedAtMs, ...(await crew.result()) };
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
function knownNow({ clock, crew, timeOfDayMs, describeSoFar }, reporter, plan) {
  return {
    ask: () => crew.soFar(clock.nowUs()),
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
  const { config, crew, stop, watch } = parts;
  const named = new AbortController();
  const naming = warmUp
    .windowStartUs(plan.loadStartUs, () => crew.counts(), stop.drain)
    .then((startUs) => {
      if (startUs === null) return;
      Object.assign(plan, { startUs, endUs: endOf(startUs, config.durationMs) });
      crew.setWindow(plan);
      if (warmUp.warning !== null) watch.warnOf('warmup', warmUp.warning);
    })
    .catch((error) => stop.request('internal', EXIT.internal, error))
    .finally(() => named.abort());
  await reportUntil(Infinity, 'warmup', plan.loadStartUs, parts, AbortSignal.any([named.signal, stop.drain]));
  await naming;
}

/** @typedef {Pick<LoadOptions, 'config' | 'clock' | 'stop' | 'crew' | 'watch' | 'names'> & {reporter: Reporter}} Parts */

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
 * @param {Pick<Parts, 'stop' | 'crew' | 'reporter' | 'watch'>} parts
 * @param {number} nowUs
 */
async function report(phase, { stop, reporter, crew, watch }, nowUs) {
  try {
    const made = await crew.report(nowUs);
    reporter.add(phase, made);
    for (const event of made.reorgs) watch.warnOf('reorg', reorgInWords(event));
    if (made.warning !== null) watch.warnOnce('inclusion', made.warning);
    const stillMs = made.silence?.stillMs ?? 0;
    if (stillMs > STILL_MS) watch.warnOnce('still', `no new block was seen for ${Math.round(stillMs / 1000)} s`);
    const restMs = made.silence?.restMs ?? 0;
    const rest = `the endpoint asks to be left alone for ${Math.round(restMs / 1000)} s (Retry-After): nothing is submitted until then`;
    if (restMs > REST_MS) watch.warnOnce('rest', rest);
    crew.check();
    return made.silence;
  } catch (error) {
    stop.request('internal', EXIT.internal, /** @type {Error} */ (error));
    return null;
  }
}
