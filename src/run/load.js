import { EXIT, UnavailableError } from '../errors.js';
import { toNumber } from '../chain/rpc.js';
import { detectors } from '../inclusion/index.js';
import { Recorder } from '../metrics/recorder.js';
import { pacers } from '../pacer/index.js';
import { Driver } from './driver.js';
import { Reporter } from './reporter.js';
import { sliceIndexes } from './slice.js';

/**
 * The load itself: from the first operation to the end of the drain, with a report at every interval.
 *
 * @typedef {object} LoadOptions
 * @property {import('./run.js').Config} config
 * @property {import('../clock.js').Clock} clock
 * @property {import('../output/index.js').Output[]} outputs
 * @property {import('./stop.js').Stop} stop
 * @property {import('./account.js').Account[]} accounts
 * @property {import('../workload/index.js').Workload} workload
 * @property {import('../chain/send.js').Sender} sender
 * @property {string} inclusion name of the detector
 *
 * @typedef {Awaited<ReturnType<typeof load>>} Loaded
 */

/** Exit codes of the reasons for which the driver ends a run. */
const STOP_EXIT = Object.freeze({
  foreign_sender: EXIT.notExact,
  no_wallets: EXIT.unavailable,
  internal: EXIT.internal,
});

/** As good as for ever: the end of the duration interrupts it. */
const LONG_MS = 2 ** 31 - 1;

/** @param {LoadOptions} options */
export async function load({ config, clock, outputs, stop, accounts, workload, sender, inclusion }) {
  const { rpc, signer, fees, chainId } = sender;
  const startBlock = toNumber(await rpc.call('eth_blockNumber', [], 'setup'));
  const windowStartedAtMs = clock.wallMs();
  const recorder = new Recorder(sliceIndexes(config), clock.nowUs());
  const detector = detectors[inclusion]({
    ...{ rpc, clock, head: startBlock },
    onBlock: (block) => {
      fees.observe(block.baseFeeWei);
      reporter.addBlock(block);
    },
  });
  const driver = new Driver({
    tools: {
      rpc,
      clock,
      signer,
      fees,
      workload,
      inclusion: detector,
      chainId,
      startBlock,
      txTimeoutMs: config.txTimeoutMs,
    },
    ...{ accounts, recorder, pacer: pacers.closed() },
    onSample: (sample) => outputs.forEach((output) => output.sample(sample)),
    onStop: (reason, error) => stop.request(reason, STOP_EXIT[reason], error),
  });
  const reporter = new Reporter(recorder, driver.live, outputs);

  driver.start();
  await reportUntilStopped({ config, clock, stop, recorder, reporter, detector });
  driver.stop();
  const endUs = clock.nowUs();
  recorder.closeWindow(endUs);
  await guarded(stop, () => reporter.report('load', endUs));
  await driver.drain(config.drainTimeoutMs, stop.now);
  await guarded(stop, () => reporter.report('drain', clock.nowUs()));

  const generator = () => ({
    cpuUs: reporter.cpuUs,
    peakRssBytes: process.resourceUsage().maxRSS * 1024,
    readBackRetries: accounts.reduce((sum, { readBackRetries }) => sum + readBackRetries, 0),
    retiredWallets: accounts.filter(({ retired }) => retired !== null).length,
    inclusionResolutionMs: detector.stats().resolutionMs,
    failedPolls: detector.stats().failedPolls,
  });
  return {
    recorder,
    driver,
    startBlock,
    intervals: reporter.rows,
    windowStartedAtMs,
    generator,
    stop: () => detector.stop(),
  };
}

/**
 * @param {Pick<LoadOptions, 'config' | 'clock' | 'stop'> & {recorder: Recorder, reporter: Reporter, detector: import('../inclusion/index.js').InclusionDetector}} options
 */
async function reportUntilStopped({ config, clock, stop, recorder, reporter, detector }) {
  const { durationMs, intervalMs, txTimeoutMs } = config;
  const cancel = durationMs === null ? () => {} : clock.after(() => stop.request('duration'), durationMs);
  for (let k = 1; ; k = Math.max(k, Math.floor((clock.nowUs() - recorder.startUs) / (intervalMs * 1000))) + 1) {
    const dueUs = recorder.startUs + k * intervalMs * 1000;
    // The last interval ends when the load does: a report a moment before would split it.
    const isLast = durationMs !== null && k * intervalMs >= durationMs;
    await clock.sleep(isLast ? LONG_MS : Math.max(0, (dueUs - clock.nowUs()) / 1000), stop.drain);
    if (stop.drain.aborted) break;
    await guarded(stop, () => reporter.report('load', clock.nowUs()));
    const { silentMs, lastError } = detector.stats();
    if (silentMs > txTimeoutMs) {
      const words = `the endpoint has not answered for ${Math.round(silentMs / 1000)} s: ${lastError?.message ?? ''}`;
      stop.request('endpoint_lost', EXIT.unavailable, new UnavailableError(words));
    }
  }
  cancel();
}

/**
 * A law of ours that breaks ends the run, but not without its drain and its summary.
 * @param {import('./stop.js').Stop} stop
 * @param {() => void | Promise<void>} action
 */
async function guarded(stop, action) {
  try {
    await action();
  } catch (error) {
    stop.request('internal', EXIT.internal, /** @type {Error} */ (error));
  }
}
