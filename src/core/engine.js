import { Deadlines } from '../deadlines.js';
import { UnavailableError } from '../errors.js';
import { followHeads } from '../inclusion/heads.js';
import { detectors } from '../inclusion/index.js';
import { probes } from '../probes/index.js';
import { intervalState } from '../stats/intervals.js';
import { Recorder } from '../stats/recorder.js';
import { addReorg, noReorgs } from '../stats/reorgs.js';
import { FeeBudget } from './budget.js';
import { Driver } from './driver.js';
import { Ledger } from './ledger.js';
import { call, iterate } from './operation.js';
import { createPacer } from './pacer.js';
import { REPAIR_PAUSE_MS, rebroadcastOverdue, rebroadcast, resolveFailed, resubmit } from './recovery.js';
import { Presigner } from './signing.js';
import { RetryPolicy } from './submit.js';

/**
 * @import { Block, BlockTotals, Clock, Config, Counts, Fees, InclusionDetector, IntervalState, LoopReading, Outage, Pauses, Reorg, ReorgEvent, Reorgs, Rpc, Sample, Signer, TransportStats, Workload } from '../types.d.ts'
 * @import { InternalError } from '../errors.js'
 * @import { Spending } from './budget.js'
 * @import { DriverOptions } from './driver.js'
 * @import { Account } from './nonces.js'
 * @import { CallTools, Operation, Tools } from './operation.js'
 * @import { Schedule, Share } from './pacer.js'
 * @import { RecentInclusion } from './recovery.js'
 * @import { Resubmissions } from './submit.js'
 */

/**
 * What the driver needs to know of a kind of operation: how one starts, what is done about one that did not verify,
 * and what goes on beside them.
 *
 * @callback OnLost the chain no longer has what a wallet did from a nonce on
 * @param {Account} account
 * @param {number} nonce
 * @returns {void}
 *
 * @typedef {object} OperationKind
 * @property {(operation: Operation) => void} begin ends the operation some time, on every path
 * @property {(operation: Operation, sample: Sample, signal: AbortSignal) => Promise<string | null>} mend
 *   after one that did not verify; gives why its wallet cannot be used any more, or null
 * @property {(operation: Operation) => void} remember one that was verified
 * @property {(blockNumber: number) => ReturnType<Ledger['reopen']>} reopen blocks from that one on have
 *   left the chain: gives those that had ended
 * @property {(operations: Operation[]) => Promise<void>} hasten those of a wallet that the node may have lost
 * @property {(orphans: RecentInclusion[], signal: AbortSignal) => Promise<string | null>} revive those of a wallet that had; as mend
 * @property {(account: Account, nonce: number) => RecentInclusion[]} reopenOf the same for what one wallet did from a nonce on
 * @property {(live: Set<Operation>, signal: AbortSignal, onLost: OnLost) => Promise<void>} watch until the signal aborts
 */

/**
 * Operations that are transactions: the chain tells what became of each.
 * @param {Tools} tools
 * @param {Ledger} ledger
 * @returns {OperationKind}
 */
export function transactionKind(tools, ledger) {
  return {
    begin: (operation) => iterate(tools, operation),
    mend: (operation, sample, signal) => resolveFailed(tools, ledger, operation, sample, signal),
    remember: ({ account, nonce, hashes, raw, inclusion }) => {
      const blockNumber = inclusion?.number ?? 0;
      ledger.past.add({ account, nonce, hashes, raw, blockNumber, outcome: 'verified', isExecuted: true });
    },
    reopen: (blockNumber) => ledger.reopen(blockNumber),
    hasten: async (operations) => {
      for (const operation of operations) {
        if (operation.acceptedAtUs === null || operation.inclusion !== null || operation.isCancelled) continue;
        operation.pushed.times = 0;
        await rebroadcast(tools, operation);
      }
    },
    revive: (orphans, signal) => resubmit(tools, ledger, orphans, signal),
    reopenOf: (account, nonce) => ledger.reopenOf(account, nonce),
    watch: (live, signal, onLost) => rebroadcastOverdue(tools, live, signal, onLost),
  };
}

/** Failures that are answers: whoever gives them is there, and can be asked the next thing at once. */
const ANSWERS = Object.freeze(['rpc_error', 'check_failed']);

/**
 * Operations that are plain calls: one that failed leaves nothing behind, but an endpoint that does not answer, or makes
 * no sense, is given a pause, and a longer one each time.
 * @param {CallTools & {pauses: Pauses}} tools
 * @returns {OperationKind}
 */
export function callKind({ clock, pauses: sums, ...tools }) {
  const [firstPauseMs, longestPauseMs] = REPAIR_PAUSE_MS;
  /** Pauses of a user since there was an answer. @type {Map<Account, number>} */
  const pauses = new Map();
  return {
    begin: (operation) => call({ clock, ...tools }, operation),
    mend: async ({ account, nonce, isRefusedForNow, isLimited }, { code }, signal) => {
      if (isLimited) sums.limitAnswers += 1;
      account.settle(nonce, 'spent');
      if (ANSWERS.includes(code ?? '') && !isRefusedForNow) {
        pauses.delete(account);
        return null;
      }
      // Several calls that fail for one reason are one failure.
      const before = pauses.get(account) ?? 0;
      const inRow = account.mending === 0 || before === 0 ? before + 1 : before;
      pauses.set(account, inRow);
      const fromUs = clock.nowUs();
      await clock.sleep(Math.min(firstPauseMs * 2 ** (inRow - 1), longestPauseMs), signal);
      const pausedMs = (clock.nowUs() - fromUs) / 1000;
      account.pausedMs += pausedMs;
      if (isLimited) sums.limitedMs += pausedMs;
      return null;
    },
    remember: ({ account }) => void pauses.delete(account),
    reopen: () => ({ orphans: [], isComplete: true, waiting: [] }),
    reopenOf: () => [],
    hasten: async () => {},
    revive: async () => null,
    watch: async () => {},
  };
}

/**
 * When blocks are there at the endpoint that effects are read back from, where that is another one. It costs a look at its
 * head now and then, and nothing for an operation.
 */

/** Blocks whose instants are remembered; who asks for an older one is told that it is there now. */
const REMEMBERED = 1024;

export class Visibility {
  /** When the newest blocks were first seen, by number. @type {Map<number, number>} */
  #seenAtUs = new Map();
  #head;
  /** Those who wait for a block, by its number. @type {Map<number, Array<(atUs: number) => void>>} */
  #waiting = new Map();
  #heads;
  #clock;

  /**
   * @param {{rpc: Rpc, clock: Clock, head: number}} options rpc: to that
   *   endpoint; head: its newest block now
   */
  constructor({ rpc, clock, head }) {
    this.#clock = clock;
    this.#head = head;
    this.#heads = followHeads({
      rpc,
      clock,
      head,
      onHeads: async (to) => this.saw(to),
      // Another node is asked now, or blocks were replaced: the same number is there soon.
      onBehind: async (number) => (this.#head = number),
    });
  }

  /** All blocks up to a number are there. @param {number} number */
  saw(number) {
    const nowUs = this.#clock.nowUs();
    for (let at = Math.max(this.#head + 1, number - REMEMBERED); at <= number; at += 1) {
      if (!this.#seenAtUs.has(at)) this.#seenAtUs.set(at, nowUs);
      if (this.#seenAtUs.size > REMEMBERED)
        this.#seenAtUs.delete(/** @type {number} */ (this.#seenAtUs.keys().next().value));
    }
    this.#head = number;
    for (const awaited of [...this.#waiting.keys()].filter((one) => one <= number)) {
      const waiting = this.#waiting.get(awaited) ?? [];
      this.#waiting.delete(awaited);
      for (const tell of waiting) tell(this.#seenAtUs.get(awaited) ?? nowUs);
    }
    return number;
  }

  /** @param {number} number of a block @returns {Promise<number>} when it was there, once it is */
  seen(number) {
    if (number <= this.#head) return Promise.resolve(this.#seenAtUs.get(number) ?? this.#clock.nowUs());
    return new Promise((resolve) => {
      const waiting = this.#waiting.get(number) ?? [];
      waiting.push(resolve);
      this.#waiting.set(number, waiting);
    });
  }

  stop() {
    return this.#heads.stop();
  }
}

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
  /** Null without a cap. @type {FeeBudget | null} */
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
    /** What cannot be asked for costs nothing: its operation fails before it is sent. @param {number} position @param {number} nonce */
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
        // Before the load begins there is no gap that could be its own.
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
    const restMs = this.#retryPolicy.retryAfterMs(nowUs);
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
      spending: this.#budget?.total() ?? null,
      resubmissions: { ...this.#resubmissions },
      pauses: { ...this.#retryPolicy.pauses },
      submissionStall: this.#submissionStall(),
      reorgs: { ...this.#reorgs, events: [...this.#reorgs.events] },
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
  return { operationsEach: (iterations ?? Infinity) * perIteration, perIteration, restMs: thinkTimeMs };
}
