import { EXIT, UnavailableError } from '../errors.js';
import { Reporter } from './reporter.js';

/**
 * The load itself: from the first operation to the end of the drain, with a report at every interval. Whether one
 * thread does the work or many, is the crew's business.
 *
 * @typedef {object} LoadOptions
 * @property {import('./run.js').Config} config
 * @property {import('../clock.js').Clock} clock
 * @property {import('../output/index.js').Output[]} outputs
 * @property {import('./stop.js').Stop} stop
 * @property {import('./crew.js').Crew} crew
 *
 * @typedef {Awaited<ReturnType<typeof load>>} Loaded
 */

/** As good as for ever: the end of the duration interrupts it. */
const LONG_MS = 2 ** 31 - 1;

/** @param {LoadOptions} options */
export async function load({ config, clock, outputs, stop, crew }) {
  await crew.prepare(stop.drain);
  const startUs = clock.nowUs();
  const windowStartedAtMs = clock.wallMs();
  const reporter = new Reporter(startUs, outputs);

  const { durationMs } = config;
  const plannedEndUs = durationMs === null ? Infinity : startUs + durationMs * 1000;
  crew.start(startUs, plannedEndUs);
  await reportUntilStopped({ config, clock, stop, reporter, crew });
  const endUs = Math.min(Math.max(clock.nowUs(), stop.reason === 'duration' ? plannedEndUs : 0), plannedEndUs);
  crew.stop(endUs);
  await report('load', { stop, reporter, crew }, endUs);
  await crew.drain(config.drainTimeoutMs, stop.now);
  await report('drain', { stop, reporter, crew }, clock.nowUs());
  const { cpuUs, rows } = reporter;
  const generator = { cpuUs, peakRssBytes: process.resourceUsage().maxRSS * 1024 };
  return { generator, intervals: rows, windowStartedAtMs, ...(await crew.result()) };
}

/** @param {Pick<LoadOptions, 'config' | 'clock' | 'stop' | 'crew'> & {reporter: Reporter}} options */
async function reportUntilStopped({ config, clock, stop, reporter, crew }) {
  const { durationMs, intervalMs, txTimeoutMs } = config;
  const { startUs } = reporter;
  const cancel =
    durationMs === null
      ? () => {}
      : clock.after(() => stop.request('duration'), durationMs - (clock.nowUs() - startUs) / 1000);
  for (let k = 1; ; k = Math.max(k, Math.floor((clock.nowUs() - startUs) / (intervalMs * 1000))) + 1) {
    const dueUs = startUs + k * intervalMs * 1000;
    // The last interval ends when the load does: a report a moment before would split it.
    const isLast = durationMs !== null && k * intervalMs >= durationMs;
    await clock.sleep(isLast ? LONG_MS : Math.max(0, (dueUs - clock.nowUs()) / 1000), stop.drain);
    if (stop.drain.aborted) break;
    if (durationMs !== null && clock.nowUs() >= startUs + durationMs * 1000) continue; // so late that the last one is due
    const silence = await report('load', { stop, reporter, crew }, clock.nowUs());
    if (silence !== null && silence.silentMs > txTimeoutMs) {
      const words = `the endpoint has not answered for ${Math.round(silence.silentMs / 1000)} s: ${silence.words}`;
      stop.request('endpoint_lost', EXIT.unavailable, new UnavailableError(words));
    }
  }
  cancel();
}

/**
 * A law of ours that breaks ends the run, but not without its drain and its summary.
 * @param {'load' | 'drain'} phase
 * @param {Pick<LoadOptions, 'stop' | 'crew'> & {reporter: Reporter}} parts
 * @param {number} nowUs
 */
async function report(phase, { stop, reporter, crew }, nowUs) {
  try {
    const made = await crew.report(nowUs);
    reporter.add(phase, made);
    crew.check();
    return made.silence;
  } catch (error) {
    stop.request('internal', EXIT.internal, /** @type {Error} */ (error));
    return null;
  }
}
