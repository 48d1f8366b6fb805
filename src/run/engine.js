import { Deadlines } from '../deadlines.js';
import { detectors } from '../inclusion/index.js';
import { UnavailableError } from '../errors.js';
import { intervalState } from '../metrics/interval.js';
import { addReorg, noReorgs } from '../metrics/reorgs.js';
import { Recorder } from '../metrics/recorder.js';
import { createPacer } from '../pacer/index.js';
import { probes } from '../probe/index.js';
import { callCourse, transactionCourse } from './course.js';
import { Driver } from './driver.js';
import { Ledger } from './ledger.js';
import { Presigner } from './presigner.js';
import { Purse } from './purse.js';
import { Patience } from './submission.js';
import { Visibility } from './visibility.js';

/**
 * @import { Fees } from '../chain/fees.js'
 * @import { Rpc } from '../chain/rpc.js'
 * @import { Signer } from '../chain/signer.js'
 * @import { Clock } from '../clock.js'
 * @import { InternalError } from '../errors.js'
 * @import { Block, InclusionDetector, Reorg } from '../inclusion/index.js'
 * @import { BlockTotals } from '../metrics/blocks.js'
 * @import { Counts, IntervalState } from '../metrics/interval.js'
 * @import { ReorgEvent, Reorgs } from '../metrics/reorgs.js'
 * @import { Outage } from '../metrics/summary.js'
 * @import { Schedule, Share } from '../pacer/index.js'
 * @import { LoopReading } from '../probe/loop.js'
 * @import { TransportStats } from '../transport/index.js'
 * @import { Workload } from '../workload/index.js'
 * @import { Account } from './account.js'
 * @import { Config } from './config.js'
 * @import { DriverOptions } from './driver.js'
 * @import { Spending } from './purse.js'
 * @import { Pauses, Resubmissions } from './submission.js'
 */

/**
 * The load of one thread: what starts operations, what finds them in blocks, and what counts them. A run has one in
 * its own thread, or one in each worker.
 *
 * @typedef {object} EngineOptions
 * @property {Pick<Config, 'txTimeoutMs' | 'requestTimeoutMs' | 'connections' | 'inFlight' | 'iterations' | 'thinkTimeMs'>} config
 * @property {Schedule | null} schedule null for a closed loop
 * @property {Share} [share] of the schedule; all of it where there is one thread
 * @property {Clock} clock
 * @property {Rpc} rpc
 * @property {Rpc | null} [reading] to the endpoint that effects are read back from, where it is another one
 * @property {Account[]} accounts
 * @property {Workload} workload
 * @property {ChainTools | null} chain null where the workload sends no transactions
 * @property {DriverOptions['onSample']} onSample
 * @property {(block: SeenBlock) => void} onBlock each new block, in order
 * @property {DriverOptions['onStop']} onStop
 *
 * @typedef {Block & {seenAtMs: number, skewMs: number, gapMs: number}} SeenBlock with the
 *   time of day when it was seen, how much later that was than its timestamp, and than the block before it was seen
 *
 * @typedef {object} Plan when the load begins and its window, on the run's clock
 * @property {number} loadStartUs before the window there is a warm-up
 * @property {number} startUs Infinity while an automatic warm-up goes on
 * @property {number} endUs Infinity when it is not known yet
 *
 * @typedef {object} ChainTools
 * @property {Signer} signer
 * @property {Fees} fees
 * @property {number} chainId
 * @property {number} startBlock latest block when the load began
 * @property {string | null} startHash its hash
 * @property {string | null} genesisHash of the chain
 * @property {string} inclusion name of the detector
 * @property {bigint | null} capWei what may be spent on fees
 * @property {number} confirmations blocks on top of its own before an operation counts as included
 *
 * @typedef {object} EngineReport what happened since the last one
 * @property {IntervalState} interval
 * @property {number} inFlight
 * @property {Counts} totals of the whole run so far
 * @property {{silentMs: number, stillMs: number, restMs: number, words: string} | null} silence how long no poll of the chain has
 *   succeeded, and why; stillMs: how long there was no new block; restMs: how long nothing is submitted from now on,
 *   because the endpoint asked for that
 * @property {string | null} warning what the detector of inclusion can do no longer, in words
 * @property {ReorgEvent[]} reorgs
 * @property {LoopReading | null} loop of the thread; null where every thread died
 *
 * @typedef {EngineReport & {blocks: BlockTotals, transport: TransportStats}} Report
 *   with what the transports of all threads have done so far
 *
 * @typedef {object} EngineStats
 * @property {number} readBackRetries
 * @property {number} pausedMs of all users together: pauses because calls were not answered
 * @property {number} retiredWallets
 * @property {number | null} inclusionResolutionMs null where nothing is polled
 * @property {'poll' | 'subscription' | null} headSource how new heads are learned of, as of the end
 * @property {number} failedPolls
 * @property {{used: number, discarded: number}} presigned
 * @property {Resubmissions} resubmissions
 * @property {Pauses} pauses
 * @property {Outage} [submissionStall] the longest time in which no submission was accepted
 * @property {Reorgs} reorgs
 * @property {Record<string, string>} failureWords of the first failure of each code
 * @property {Spending | null} spending null without a cap
 */

export class Engine {
  /** @type {Recorder} */
  recorder;
  #options;
  #driver;
  /** @type {InclusionDetector | null} */
  #detector = null;
  /** @type {Visibility | null} */
  #visibility = null;
  /** @type {Presigner | null} */
  #presigner = null;
  /** Null without a cap. @type {Purse | null} */
  #purse = null;
  #deadlines;
  #loop = probes.loop();
  isDrained = false;
  #patience = new Patience(Math.random);
  #loadStartUs = 0;
  #lastBlockAtUs = 0;
  /** @type {Resubmissions} */
  #resubmissions = { repeated: 0, rebroadcast: 0, lost: 0, replaced: 0 };
  #reorgs = noReorgs();
  /** Since the last report. @type {ReorgEvent[]} */
  #newReorgs = [];

  /** @param {EngineOptions} options */
  constructor(options) {
    const { config, clock, accounts, schedule, share, onSample, onStop } = options;
    this.#options = options;
    this.recorder = new Recorder(
      accounts.map(({ wallet }) => wallet.index),
      clock.nowUs(),
    );
    this.ledger = new Ledger(accounts, () => onStop('foreign_sender'));
    this.#deadlines = new Deadlines(clock, config.txTimeoutMs);
    this.#driver = new Driver({
      clock,
      accounts,
      onSample,
      onStop,
      course: this.#course(),
      recorder: this.recorder,
      pacer: createPacer(schedule, share),
      inFlight: config.inFlight,
      purse: this.#purse,
      ...iterationsOf(options),
    });
  }

  #course() {
    const { config, clock, rpc, reading = null, workload, chain, onBlock, onStop } = this.#options;
    if (workload.kind === 'call') return callCourse({ clock, rpc, workload, pauses: this.#patience.pauses });
    const { signer, fees, chainId, startBlock, startHash, ...about } = /** @type {ChainTools} */ (chain);
    const { genesisHash, confirmations, capWei } = about;
    /** What cannot be asked for costs nothing: its operation fails before it is sent. @param {number} position @param {number} nonce */
    const gasLimitOf = (position, nonce) => {
      try {
        return workload.next(position, nonce).gasLimit;
      } catch {
        return 0n;
      }
    };
    const purse = capWei === null ? null : new Purse({ capWei, fees, gasLimitOf });
    const inclusion = detectors[about.inclusion]({
      rpc,
      clock,
      head: startBlock,
      headHash: startHash,
      genesisHash,
      confirmations,
      connections: config.connections,
      answerMs: config.requestTimeoutMs,
      onBlock: (block) => {
        fees.observe(block.baseFeeWei);
        purse?.observe(block);
        const seenAtMs = clock.wallMs();
        // Before the load begins there is no gap that could be its own.
        const gapMs = (block.seenAtUs - (this.#lastBlockAtUs || block.seenAtUs)) / 1000;
        this.#lastBlockAtUs = block.seenAtUs;
        onBlock({ ...block, seenAtMs, skewMs: seenAtMs - block.timestampS * 1000, gapMs });
      },
      onReorg: (reorg) => this.#reorganise(reorg),
      onReplaced: (words) => onStop('chain_replaced', new UnavailableError(words)),
    });
    const presigner = new Presigner({ clock, signer, fees, workload, chainId, purse });
    const visibility = reading === null ? null : new Visibility({ rpc: reading, clock, head: startBlock });
    this.#detector = inclusion;
    this.#visibility = visibility;
    this.#presigner = presigner;
    this.#purse = purse;
    const tools = {
      clock,
      rpc,
      deadlines: this.#deadlines,
      workload,
      inclusion,
      visibility,
      presigner,
      startBlock,
      patience: this.#patience,
      random: Math.random,
      resubmissions: this.#resubmissions,
      txTimeoutMs: config.txTimeoutMs,
    };
    return transactionCourse(tools, this.ledger);
  }

  /** @param {Reorg} reorg */
  #reorganise({ number, hash, depth, untold }) {
    const touched = this.#driver.care.reorganise(number, untold);
    const atMs = (this.#options.clock.nowUs() - this.#loadStartUs) / 1000;
    const event = { atMs, blockNumber: number, blockHash: hash, depth, ...touched };
    addReorg(this.#reorgs, event);
    this.#newReorgs.push(event);
  }

  /** What can be done before the first operation is due. @param {AbortSignal} signal ends it early */
  async prepare(signal) {
    await this.#presigner?.signFirst(this.#options.accounts, signal);
  }

  /** @param {Plan} plan */
  start({ loadStartUs, startUs, endUs }) {
    this.#loadStartUs = loadStartUs;
    this.#lastBlockAtUs = loadStartUs;
    this.recorder.open(loadStartUs, startUs, endUs);
    this.#loop.sample(); // what happened before counts nowhere
    this.#driver.start(loadStartUs, endUs);
  }

  /** The window, after an automatic warm-up. @param {Plan} plan */
  setWindow({ startUs, endUs }) {
    this.recorder.setWindow(startUs, endUs);
    this.#driver.endAt(endUs);
  }

  /**
   * @param {number} nowUs
   * @returns {EngineReport}
   */
  report(nowUs) {
    this.#driver.catchUp();
    const { intervals, counts } = this.recorder;
    const inFlight = intervals.inFlightAtEnd(this.#driver.live.size);
    const interval = intervalState(intervals.rotate(nowUs));
    const stats = this.#detector?.stats();
    const words = stats?.lastError?.message ?? '';
    const restMs = this.#patience.restMs(nowUs);
    // What was so before the load began is no matter of it.
    const stillMs = Math.min(stats?.stillMs ?? 0, (nowUs - this.#loadStartUs) / 1000);
    const silence = stats === undefined ? null : { silentMs: stats.silentMs, stillMs, restMs, words };
    const reorgs = this.#newReorgs;
    this.#newReorgs = [];
    const warning = stats?.warning ?? null;
    return { interval, inFlight, totals: { ...counts }, silence, warning, reorgs, loop: this.#loop.sample() };
  }

  /** When operations in flight were due, and begun. */
  open() {
    return [...this.#driver.live].map(({ intendedAtUs, startedAtUs }) => ({ intendedAtUs, startedAtUs }));
  }

  /** @throws {InternalError} when conservation is broken */
  check() {
    /** @type {Map<number, number>} */
    const inFlightBy = new Map();
    for (const { account } of this.#driver.live) {
      inFlightBy.set(account.position, (inFlightBy.get(account.position) ?? 0) + 1);
    }
    this.recorder.assertConservation(inFlightBy);
  }

  /** Starts nothing any more. @param {number} nowUs end of the window */
  stop(nowUs) {
    this.#presigner?.stop();
    this.#driver.stop(nowUs);
    this.recorder.closeWindow(nowUs);
  }

  /** @param {number} timeoutMs @param {AbortSignal} signal */
  async drain(timeoutMs, signal) {
    await this.#driver.drain(timeoutMs, signal);
    this.isDrained = true;
    await Promise.all([this.#detector?.stop(), this.#visibility?.stop()]);
  }

  /** @returns {EngineStats} */
  stats() {
    const { accounts } = this.#options;
    const stats = this.#detector?.stats();
    return {
      readBackRetries: accounts.reduce((sum, { readBackRetries }) => sum + readBackRetries, 0),
      pausedMs: accounts.reduce((sum, { pausedMs }) => sum + pausedMs, 0),
      retiredWallets: accounts.filter(({ retired }) => retired !== null).length,
      inclusionResolutionMs: stats?.resolutionMs ?? null,
      headSource: stats?.source ?? null,
      failedPolls: stats?.failedPolls ?? 0,
      failureWords: this.#driver.failureWords,
      spending: this.#purse?.total() ?? null,
      resubmissions: { ...this.#resubmissions },
      pauses: { ...this.#patience.pauses },
      submissionStall: this.#submissionStall(),
      reorgs: { ...this.#reorgs, events: [...this.#reorgs.events] },
      presigned: { ...(this.#presigner?.stats ?? { used: 0, discarded: 0 }) },
    };
  }

  #submissionStall() {
    const { stall } = this.#patience;
    if (stall === null) return undefined;
    const sinceLoad = (/** @type {number} */ us) => (us - this.#loadStartUs) / 1000;
    return { fromMs: sinceLoad(stall.fromUs), toMs: sinceLoad(stall.toUs), words: stall.words };
  }

  async close() {
    this.#deadlines.stop();
    this.#loop.close?.();
    await Promise.all([this.#detector?.stop(), this.#visibility?.stop()]);
  }
}

/** @param {EngineOptions} options */
function iterationsOf({ config: { iterations, thinkTimeMs }, workload }) {
  const perIteration = workload.kind === 'call' ? (workload.callsPerIteration ?? 1) : 1;
  return { operationsEach: (iterations ?? Infinity) * perIteration, perIteration, restMs: thinkTimeMs };
}
