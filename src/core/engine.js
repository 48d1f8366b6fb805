import { Deadlines } from '../deadlines.js';
import { UnavailableError } from '../errors.js';
import { Visibility } from '../inclusion/heads.js';
import { detectors } from '../inclusion/index.js';
import { probes } from '../probes/index.js';
import { merge } from '../stats/merge.js';
import { REORGS } from '../stats/metrics.js';
import { Recorder } from '../stats/recorder.js';
import { noReorgs, reorgsOf } from '../stats/reorgs.js';
import { FeeBudget } from './budget.js';
import { Driver } from './driver.js';
import { Ledger } from './ledger.js';
import { createPacer } from './pacer.js';
import { callKind, transactionKind } from './recovery.js';
import { Presigner } from './signing.js';
import { RetryPolicy } from './submit.js';

/**
 * @import { Block, BlockTotals, Clock, Config, Counts, Fees, InclusionDetector, LoopReading, Outage, Pauses, Reorg, ReorgEvent, Reorgs, Rpc, Sample, Signer, TransportStats, Workload } from '../types.d.ts'
 * @import { InternalError } from '../errors.js'
 * @import { Spending } from './budget.js'
 * @import { DriverOptions } from './driver.js'
 * @import { Account } from './nonces.js'
 * @import { Schedule, Share } from './pacer.js'
 * @import { Stats } from '../stats/stats.js'
 * @import { Resubmissions } from './submit.js'
 */

/**
 * The load of one thread: starts operations, finds them in blocks and counts them. A run has one in the main thread or
 * one per worker.
 *
 * @typedef {object} EngineOptions
 * @property {Pick<Config, 'txTimeoutMs' | 'requestTimeoutMs' | 'connections' | 'inFlight' | 'iterations' | 'thinkTimeMs'>}
 *   config
 * @property {Schedule | null} schedule null: closed loop
 * @property {Share} [share] of the schedule; default: all of it
 * @property {Clock} clock
 * @property {Rpc} rpc
 * @property {Rpc | null} [reading] of the read-back endpoint, if that is another one
 * @property {Account[]} accounts
 * @property {Workload} workload
 * @property {ChainTools | null} chain null: plain calls
 * @property {DriverOptions['onSample']} onSample
 * @property {(block: SeenBlock) => void} onBlock
 * @property {DriverOptions['onStop']} onStop
 *
 * @typedef {Block & {seenAtMs: number, skewMs: number, gapMs: number}} SeenBlock seenAtMs: time of day; skewMs: how
 *   much later than its timestamp; gapMs: how long after the previous block
 *
 * @typedef {object} Plan on the run's clock
 * @property {number} loadStartUs the warm-up is before the window
 * @property {number} startUs Infinity during an automatic warm-up
 * @property {number} endUs Infinity while unknown
 *
 * @typedef {object} ChainTools
 * @property {Signer} signer
 * @property {Fees} fees
 * @property {number} chainId
 * @property {number} startBlock latest block when the load began
 * @property {string | null} startHash its hash
 * @property {string | null} genesisHash of the chain
 * @property {string} inclusion name of the detector
 * @property {bigint | null} capWei limit of fees; null: none
 * @property {number} confirmations blocks required on top before an operation counts as included
 *
 * @typedef {object} EngineReport what happened since the previous report
 * @property {Stats} interval
 * @property {number} inFlight
 * @property {Counts} totals
 * @property {{silentMs: number, stillMs: number, retryAfterMs: number, words: string} | null} silence silentMs: time since
 *   the last successful poll, and why; stillMs: time without a new block; retryAfterMs: what is left of a Retry-After pause
 * @property {Record<string, string>} warnings by kind; each kind is shown once
 * @property {ReorgEvent[]} reorgs
 * @property {LoopReading | null} loop null: every thread died
 *
 * @typedef {EngineReport & {blocks: BlockTotals, transport: TransportStats}} Report with the transport figures of all
 *   threads
 *
 * @typedef {object} EngineStats
 * @property {number} readBackRetries
 * @property {number} pausedMs pauses of all wallets because calls got no response
 * @property {number} retiredWallets
 * @property {number | null} inclusionResolutionMs null: not polled
 * @property {'poll' | 'subscription' | null} headSource
 * @property {number} failedPolls
 * @property {{used: number, discarded: number}} presigned
 * @property {Resubmissions} resubmissions
 * @property {Pauses} pauses
 * @property {Outage} [submissionStall] the longest period without an accepted submission
 * @property {Reorgs} reorgs
 * @property {Record<string, string>} failureWords first message by failure code
 * @property {Spending | null} spending null: no limit
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
  /** Null: no limit. @type {FeeBudget | null} */
  #budget = null;
  #deadlines;
  #loop = probes.loop();
  isDrained = false;
  #retryPolicy = new RetryPolicy(Math.random);
  #loadStartUs = 0;
  #lastBlockAtUs = 0;
  /** @type {Resubmissions} */
  #resubmissions = { repeated: 0, rebroadcast: 0, lost: 0, replaced: 0 };
  #reorgs = noReorgs();
  /** Since the previous report. @type {ReorgEvent[]} */
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
      kind: this.#operationKind(),
      recorder: this.recorder,
      pacer: createPacer(schedule, share),
      inFlight: config.inFlight,
      budget: this.#budget,
      ...iterationsOf(options),
    });
  }

  #operationKind() {
    const { config, clock, rpc, reading = null, workload, chain, onBlock, onStop } = this.#options;
    if (workload.kind === 'call') return callKind({ clock, rpc, workload, pauses: this.#retryPolicy.pauses });
    const { signer, fees, chainId, startBlock, startHash, ...about } = /** @type {ChainTools} */ (chain);
    const { genesisHash, confirmations, capWei } = about;
    /**
     * A workload that throws costs nothing: the operation fails before it is sent.
     * @param {number} position
     * @param {number} nonce
     */
    const gasLimitOf = (position, nonce) => {
      try {
        return workload.next(position, nonce).gasLimit;
      } catch {
        return 0n;
      }
    };
    const budget = capWei === null ? null : new FeeBudget({ capWei, fees, gasLimitOf });
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
        budget?.observe(block);
        const seenAtMs = clock.wallMs();
        // The first block has no gap.
        const gapMs = (block.seenAtUs - (this.#lastBlockAtUs || block.seenAtUs)) / 1000;
        this.#lastBlockAtUs = block.seenAtUs;
        onBlock({ ...block, seenAtMs, skewMs: seenAtMs - block.timestampS * 1000, gapMs });
      },
      onReorg: (reorg) => this.#reorganise(reorg),
      onReplaced: (words) => onStop('chain_replaced', new UnavailableError(words)),
    });
    const presigner = new Presigner({ clock, signer, fees, workload, chainId, budget });
    const visibility = reading === null ? null : new Visibility({ rpc: reading, clock, head: startBlock });
    this.#detector = inclusion;
    this.#visibility = visibility;
    this.#presigner = presigner;
    this.#budget = budget;
    const tools = {
      clock,
      rpc,
      deadlines: this.#deadlines,
      workload,
      inclusion,
      visibility,
      presigner,
      startBlock,
      retryPolicy: this.#retryPolicy,
      random: Math.random,
      resubmissions: this.#resubmissions,
      txTimeoutMs: config.txTimeoutMs,
    };
    return transactionKind(tools, this.ledger);
  }

  /** @param {Reorg} reorg */
  #reorganise({ number, hash, depth, unconfirmed }) {
    const touched = this.#driver.recovery.reorganise(number, unconfirmed);
    const atMs = (this.#options.clock.nowUs() - this.#loadStartUs) / 1000;
    const event = { atMs, blockNumber: number, blockHash: hash, depth, ...touched };
    this.#reorgs = merge(REORGS, this.#reorgs, reorgsOf(event), 0.5);
    this.#newReorgs.push(event);
  }

  /** Signs the first transactions. @param {AbortSignal} signal ends it early */
  async prepare(signal) {
    await this.#presigner?.signFirst(this.#options.accounts, signal);
  }

  /** @param {Plan} plan */
  start({ loadStartUs, startUs, endUs }) {
    this.#loadStartUs = loadStartUs;
    this.#lastBlockAtUs = loadStartUs;
    this.recorder.open(loadStartUs, startUs, endUs);
    this.#loop.sample(); // discard what happened before
    this.#driver.start(loadStartUs, endUs);
  }

  /** After an automatic warm-up. @param {Plan} plan */
  setWindow({ startUs, endUs }) {
    this.recorder.setWindow(startUs, endUs);
    this.#driver.endAt(endUs);
  }

  /** @param {number} nowUs @returns {EngineReport} */
  report(nowUs) {
    this.#driver.catchUp();
    const inFlight = this.recorder.inFlightAtEnd(this.#driver.live.size);
    const interval = this.recorder.take(nowUs);
    const stats = this.#detector?.stats();
    const words = stats?.lastError?.message ?? '';
    const retryAfterMs = this.#retryPolicy.retryAfterMs(nowUs);
    // Not counting the time before the load.
    const stillMs = Math.min(stats?.stillMs ?? 0, (nowUs - this.#loadStartUs) / 1000);
    const silence = stats === undefined ? null : { silentMs: stats.silentMs, stillMs, retryAfterMs, words };
    const reorgs = this.#newReorgs;
    this.#newReorgs = [];
    /** @type {Record<string, string>} */
    const warnings = typeof stats?.warning === 'string' ? { inclusion: stats.warning } : {};
    return { interval, inFlight, totals: this.recorder.counts, silence, warnings, reorgs, loop: this.#loop.sample() };
  }

  inFlight() {
    return [...this.#driver.live].map(({ intendedAtUs, startedAtUs }) => ({ intendedAtUs, startedAtUs }));
  }

  /** @throws {InternalError} */
  check() {
    const { live } = this.#driver;
    // All wallets are looked at once, after the drain, and to name those of a violation.
    if (!this.isDrained && this.recorder.isBalanced(live.size)) return;
    /** @type {Map<number, number>} */
    const inFlightBy = new Map();
    for (const { account } of live) inFlightBy.set(account.position, (inFlightBy.get(account.position) ?? 0) + 1);
    this.recorder.assertConservation(inFlightBy);
  }

  /** Starts no more operations. @param {number} nowUs end of the window */
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
      spending: this.#budget?.total() ?? null,
      resubmissions: { ...this.#resubmissions },
      pauses: { ...this.#retryPolicy.pauses },
      submissionStall: this.#submissionStall(),
      reorgs: this.#reorgs,
      presigned: { ...(this.#presigner?.stats ?? { used: 0, discarded: 0 }) },
    };
  }

  #submissionStall() {
    const { stall } = this.#retryPolicy;
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
  return { operationsEach: (iterations ?? Infinity) * perIteration, perIteration, thinkTimeMs };
}
