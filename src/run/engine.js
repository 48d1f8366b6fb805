import { Deadlines } from '../deadlines.js';
import { detectors } from '../inclusion/index.js';
import { Recorder } from '../metrics/recorder.js';
import { pacers } from '../pacer/index.js';
import { callCourse, transactionCourse } from './course.js';
import { Driver } from './driver.js';
import { Ledger } from './ledger.js';
import { Presigner } from './presigner.js';

/**
 * The load of one thread: what starts operations, what finds them in blocks, and what counts them. A run has one in
 * its own thread, or one in each worker.
 *
 * @typedef {object} EngineOptions
 * @property {Pick<import('./run.js').Config, 'txTimeoutMs'>} config
 * @property {import('../clock.js').Clock} clock
 * @property {import('../chain/rpc.js').Rpc} rpc
 * @property {import('./account.js').Account[]} accounts
 * @property {import('../workload/index.js').Workload} workload
 * @property {ChainTools | null} chain null where the workload sends no transactions
 * @property {import('./driver.js').DriverOptions['onSample']} onSample
 * @property {(block: import('../inclusion/index.js').Block) => void} onBlock each new block, in order
 * @property {import('./driver.js').DriverOptions['onStop']} onStop
 *
 * @typedef {object} ChainTools
 * @property {import('../chain/signer.js').Signer} signer
 * @property {import('../chain/fees.js').Fees} fees
 * @property {number} chainId
 * @property {number} startBlock latest block when the load began
 * @property {string} inclusion name of the detector
 *
 * @typedef {object} EngineReport what happened since the last one
 * @property {import('../metrics/recorder.js').IntervalState} interval
 * @property {number} inFlight
 * @property {import('../metrics/recorder.js').Counts} totals of the whole run so far
 * @property {{silentMs: number, words: string} | null} silence how long no poll of the chain has succeeded, and why
 *
 * @typedef {EngineReport & {blocks: import('../metrics/blocks.js').BlockTotals}} Report
 *
 * @typedef {object} EngineStats
 * @property {number} readBackRetries
 * @property {number} retiredWallets
 * @property {number | null} inclusionResolutionMs null where nothing is polled
 * @property {number} failedPolls
 * @property {{used: number, discarded: number}} presigned
 * @property {Record<string, string>} failureWords of the first failure of each code
 */

export class Engine {
  /** @type {Recorder} */
  recorder;
  #options;
  #driver;
  /** @type {import('../inclusion/index.js').InclusionDetector | null} */
  #detector = null;
  /** @type {Presigner | null} */
  #presigner = null;
  #deadlines;

  /** @param {EngineOptions} options */
  constructor(options) {
    const { config, clock, accounts, onSample, onStop } = options;
    this.#options = options;
    this.recorder = new Recorder(
      accounts.map(({ wallet }) => wallet.index),
      clock.nowUs(),
    );
    this.ledger = new Ledger(accounts, () => onStop('foreign_sender'));
    this.#deadlines = new Deadlines(clock, config.txTimeoutMs);
    this.#driver = new Driver({
      ...{ clock, accounts, onSample, onStop },
      ...{ course: this.#course(), recorder: this.recorder, pacer: pacers.closed() },
    });
  }

  #course() {
    const { config, clock, rpc, workload, chain, onBlock } = this.#options;
    if (workload.kind === 'call') return callCourse({ clock, rpc, workload });
    const tools = { clock, rpc, deadlines: this.#deadlines };
    const { signer, fees, chainId, startBlock, inclusion: name } = /** @type {ChainTools} */ (chain);
    const inclusion = detectors[name]({
      ...{ rpc, clock, head: startBlock },
      onBlock: (block) => {
        fees.observe(block.baseFeeWei);
        onBlock(block);
      },
    });
    const presigner = new Presigner({ clock, signer, fees, workload, chainId });
    this.#detector = inclusion;
    this.#presigner = presigner;
    const { txTimeoutMs } = config;
    return transactionCourse({ ...tools, workload, inclusion, presigner, startBlock, txTimeoutMs }, this.ledger);
  }

  /** What can be done before the first operation is due. @param {AbortSignal} signal ends it early */
  async prepare(signal) {
    await this.#presigner?.signFirst(this.#options.accounts, signal);
  }

  /** @param {number} startUs of the window @param {number} endUs Infinity when it is not known yet */
  start(startUs, endUs) {
    this.recorder.open(startUs, endUs);
    this.#driver.start(endUs);
  }

  /**
   * @param {number} nowUs
   * @returns {EngineReport}
   */
  report(nowUs) {
    const inFlight = this.recorder.inFlightAtEnd(this.#driver.live.size);
    const rotated = this.recorder.rotate(nowUs);
    const interval = { ...rotated, latency: rotated.latency.toJSON() };
    const stats = this.#detector?.stats();
    const silence = stats === undefined ? null : { silentMs: stats.silentMs, words: stats.lastError?.message ?? '' };
    return { interval, inFlight, totals: { ...this.recorder.counts }, silence };
  }

  /** @throws {import('../errors.js').InternalError} when conservation is broken */
  check() {
    this.recorder.assertConservation(new Map([...this.#driver.live.keys()].map((position) => [position, 1])));
  }

  /** Starts nothing any more. @param {number} nowUs end of the window */
  stop(nowUs) {
    this.#presigner?.stop();
    this.#driver.stop();
    this.recorder.closeWindow(nowUs);
  }

  /** @param {number} timeoutMs @param {AbortSignal} signal */
  drain(timeoutMs, signal) {
    return this.#driver.drain(timeoutMs, signal);
  }

  /** @returns {EngineStats} */
  stats() {
    const { accounts } = this.#options;
    const stats = this.#detector?.stats();
    return {
      readBackRetries: accounts.reduce((sum, { readBackRetries }) => sum + readBackRetries, 0),
      retiredWallets: accounts.filter(({ retired }) => retired !== null).length,
      inclusionResolutionMs: stats?.resolutionMs ?? null,
      failedPolls: stats?.failedPolls ?? 0,
      failureWords: this.#driver.failureWords,
      presigned: { ...(this.#presigner?.stats ?? { used: 0, discarded: 0 }) },
    };
  }

  async close() {
    this.#deadlines.stop();
    await this.#detector?.stop();
  }
}
