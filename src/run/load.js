import { EXIT, UnavailableError } from '../errors.js';
import { detectors } from '../inclusion/index.js';
import { addBlock, noBlocks } from '../metrics/blocks.js';
import { IntervalLog } from '../metrics/intervals.js';
import { Recorder } from '../metrics/recorder.js';
import { pacers } from '../pacer/index.js';
import { probes } from '../probe/index.js';
import { Driver } from './driver.js';
import { sliceIndexes } from './slice.js';

/**
 * The load itself: from the first operation to the end of the drain, with a report at every interval.
 *
 * @typedef {object} LoadOptions
 * @property {import('./run.js').Config} config
 * @property {import('../chain/rpc.js').Rpc} rpc
 * @property {import('../clock.js').Clock} clock
 * @property {import('pino').Logger} log
 * @property {import('../output/index.js').Output[]} outputs
 * @property {import('./stop.js').Stop} stop
 * @property {import('./account.js').Account[]} accounts
 * @property {import('../workload/index.js').Workload} workload
 * @property {import('../chain/send.js').Sender} sender
 * @property {{name: string}} inclusion
 */

/** @param {LoadOptions} options */
export async function load({ config, rpc, clock, log, outputs, stop, accounts, workload, sender, inclusion }) {
  const startBlock = Number(await rpc.call('eth_blockNumber', [], 'setup'));
  let blocks = noBlocks();
  const detector = detectors[inclusion.name]({
    rpc,
    clock,
    head: startBlock,
    onBlock: (block) => {
      sender.fees.observe(block.baseFeeWei);
      addBlock(blocks, block);
    },
  });
  const windowStartedAtMs = clock.wallMs();
  const self = probes.self();
  const recorder = new Recorder(sliceIndexes(config), clock.nowUs());
  const driver = new Driver({
    tools: {
      rpc,
      clock,
      signer: sender.signer,
      fees: sender.fees,
      workload,
      inclusion: detector,
      chainId: sender.chainId,
      txTimeoutMs: config.txTimeoutMs,
    },
    accounts,
    recorder,
    pacer: pacers.closed(),
    startBlock,
    onSample: (sample) => outputs.forEach((output) => output.sample(sample)),
    onStop: (reason, error) => stop.request(reason, STOP_EXIT[reason], error),
  });

  const intervals = new IntervalLog();
  let cpuUs = 0;
  /** @param {'load' | 'drain'} phase @param {number} nowUs */
  const report = (phase, nowUs) => {
    const interval = recorder.rotate(nowUs);
    const reading = self.sample();
    if (phase === 'load') cpuUs += reading.cpuUs;
    const row = describeInterval(phase, interval, recorder.startUs, driver.live.size, blocks, reading);
    blocks = noBlocks();
    intervals.add(row);
    const elapsedS = (nowUs - recorder.startUs) / 1e6;
    const totals = {
      attempts: recorder.counts.started,
      verified: recorder.counts.verified,
      runTps: phase === 'load' ? recorder.counts.verified / elapsedS : null,
    };
    for (const output of outputs) output.interval(row, totals);
    recorder.assertConservation(inFlightByPosition(driver));
  };

  const cancelDuration =
    config.durationMs === null ? () => {} : clock.after(() => stop.request('duration'), config.durationMs);
  driver.start();
  await guarded(stop, async () => {
    for (let k = 1; !stop.drain.aborted; k += 1) {
      const dueUs = recorder.startUs + k * config.intervalMs * 1000;
      // The last interval ends when the load does: a report a moment before would split it.
      const isLast = config.durationMs !== null && k * config.intervalMs >= config.durationMs;
      await clock.sleep(isLast ? LONG_MS : Math.max(0, (dueUs - clock.nowUs()) / 1000), stop.drain);
      if (stop.drain.aborted) break;
      report('load', clock.nowUs());
      const { silentMs, lastError } = detector.stats();
      if (silentMs > config.txTimeoutMs) {
        stop.request(
          'endpoint_lost',
          EXIT.unavailable,
          new UnavailableError(
            `the endpoint has not answered for ${Math.round(silentMs / 1000)} s: ${lastError?.message ?? ''}`,
          ),
        );
      }
    }
  });
  cancelDuration();
  driver.stop();
  const endUs = clock.nowUs();
  recorder.closeWindow(endUs);
  await guarded(stop, () => report('load', endUs));
  log.debug({ inFlight: driver.live.size }, 'draining');
  await driver.drain(config.drainTimeoutMs, stop.now);
  await guarded(stop, () => report('drain', clock.nowUs()));

  const generator = () => ({
    cpuUs,
    peakRssBytes: process.resourceUsage().maxRSS * 1024,
    readBackRetries: accounts.reduce((sum, { readBackRetries }) => sum + readBackRetries, 0),
    retiredWallets: accounts.filter(({ retired }) => retired !== null).length,
    inclusionResolutionMs: detector.stats().resolutionMs,
    failedPolls: detector.stats().failedPolls,
  });
  return { recorder, driver, intervals: intervals.rows, windowStartedAtMs, generator, stop: () => detector.stop() };
}

/** As good as for ever: the end of the duration interrupts it. */
const LONG_MS = 2 ** 31 - 1;

/** Exit codes of the reasons for which the driver ends a run. */
const STOP_EXIT = Object.freeze({
  foreign_sender: EXIT.notExact,
  no_wallets: EXIT.unavailable,
  internal: EXIT.internal,
});

/** A law of ours that breaks ends the run, but not without its drain and its summary. @param {import('./stop.js').Stop} stop @param {() => void | Promise<void>} action */
async function guarded(stop, action) {
  try {
    await action();
  } catch (error) {
    stop.request('internal', EXIT.internal, /** @type {Error} */ (error));
  }
}

/** @param {Driver} driver @returns {Map<number, number>} */
function inFlightByPosition(driver) {
  return new Map([...driver.live.keys()].map((position) => [position, 1]));
}

/**
 * @param {'load' | 'drain'} phase
 * @param {import('../metrics/recorder.js').Interval} interval
 * @param {number} loadStartUs
 * @param {number} inFlight
 * @param {import('../metrics/blocks.js').BlockTotals} blocks
 * @param {import('../probe/self.js').SelfReading} self
 * @returns {import('../metrics/intervals.js').IntervalRow}
 */
function describeInterval(phase, interval, loadStartUs, inFlight, blocks, self) {
  const seconds = (interval.endUs - interval.startUs) / 1e6;
  return {
    phase,
    startMs: (interval.startUs - loadStartUs) / 1000,
    endMs: (interval.endUs - loadStartUs) / 1000,
    counts: interval.counts,
    failures: interval.failures,
    inFlight,
    tps: phase === 'load' && seconds > 0 ? interval.counts.verified / seconds : null,
    latency: interval.latency.toJSON(),
    blocks,
    probes: { self },
  };
}
