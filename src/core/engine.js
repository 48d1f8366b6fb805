import { PLAIN_SENDING } from '../chain/rpc.js';
import { createTaken } from '../chain/submit.js';
import { Deadlines } from '../deadlines.js';
import { InternalError, UnavailableError } from '../errors.js';
import { detectors } from '../inclusion/index.js';
import { Observers } from '../observers/index.js';
import { addBlocks, noBlocks, totalsOfBlock } from '../stats/blocks.js';
import { EARLIER, merge } from '../stats/merge.js';
import { REORGS } from '../stats/metrics.js';
import { Recorder } from '../stats/recorder.js';
import { noReorgs, reorgsOf } from '../stats/reorgs.js';
import { noneUsed } from '../stats/stats.js';
import { FeeBudget } from './budget.js';
import { Driver } from './driver.js';
import { Ledger } from './ledger.js';
import { NodeLimits } from './node-limits.js';
import { changedAt, createPacer, stageEndsUs } from './pacer.js';
import { runCall, runSteps, runTransaction } from './operation.js';
import { CallRecovery, TransactionRecovery } from './recovery.js';
import { Presigner } from './signing.js';
import { Storm } from './storm.js';
import { Lookups, MAX_SUBMISSIONS, RetryPolicy, Submissions, lookUp } from './submit.js';

/**
 * @import { Block, Call, Fee, Fees, InclusionDetector, NetworkConfig, Reorg, Rpc, SeenBlock, Sighting, Signer, ThreadStats } from '../contracts/chain.d.ts'
 * @import { Clock } from '../contracts/common.d.ts'
 * @import { EngineReport, ObserverTools, LoadConfig, LoadPlan, MachineProbes, Schedule, Snapshot, SpreadReport, TransactionWorkload, Workload, WorkloadConfig } from '../contracts/load.d.ts'
 * @import { EngineStats, Refusals, ReorgEvent, Resubmissions } from '../contracts/run-file.d.ts'
 * @import { DetectorRow } from '../inclusion/index.js'
 * @import { DriverOptions } from './driver.js'
 * @import { Account } from './nonces.js'
 * @import { Tools } from './operation.js'
 * @import { Share } from './pacer.js'
 * @import { ControlMessage } from './control.js'
 */

/**
 * What the load of one thread needs of the options: plain data without keys.
 * @typedef {Readonly<{load: LoadConfig, network: NetworkConfig, workload: WorkloadConfig}>} EngineConfig
 */

/**
 * The load: in this thread (ThreadEngine), in several (workers.js), or of two sides (mixed-engine.js).
 *
 * @typedef {object} Engine
 * @property {(signal: AbortSignal) => Promise<void>} prepare before the load; the signal ends it early
 * @property {(plan: LoadPlan) => void} start
 * @property {(plan: LoadPlan) => void} setWindow the automatic warm-up finds the start of the window during the load
 * @property {(nowUs: number, endsInterval: boolean, hasFigures?: boolean) => Promise<Snapshot>} snapshot what was done since the last
 *   interval; nothing in it is proportional to the number of wallets. hasFigures: false: counts and rates only, which cost little
 * @property {(message: ControlMessage) => Promise<boolean>} post a verb of Control; whether one, or all, have taken it
 * @property {(nowUs: number) => void} stop starts no more operations; the window ends at nowUs
 * @property {(timeoutMs: number, signal: AbortSignal) => Promise<Ledger>} drain waits for the operations in flight, and abandons the
 *   rest after the time limit or on abort
 * @property {() => Promise<void>} close
 */

/**
 * The load of one thread: starts operations, finds them in blocks and counts them. A run has one in the main thread or
 * one per worker.
 *
 * @typedef {object} EngineOptions
 * @property {EngineConfig} config
 * @property {Schedule | null} schedule null: closed loop
 * @property {Share} [share] of the schedule; default: all of it
 * @property {Part} [part] of the wallets; default: all of them
 * @property {Clock} clock
 * @property {Rpc} rpc
 * @property {Account[]} accounts
 * @property {Workload} workload
 * @property {ChainTools | null} chain null: plain calls
 * @property {DetectorRow['create']} [createDetector] default: the one that chain names
 * @property {() => number} [random] from 0 to 1
 * @property {Pick<MachineProbes, 'loop'>} probes
 * @property {DriverOptions['onSample']} onSample beside the observers; null: nobody listens
 * @property {Readonly<Record<string, unknown>>} [observers] plans by name
 * @property {(name: string, message: unknown) => void} [onMessage] of an observer for its side of the run
 * @property {(block: SeenBlock) => void} onBlock
 * @property {DriverOptions['onStop']} onStop
 * @property {() => ThreadStats} traffic of this thread
 *
 * @typedef {{from: number, to: number}} Part of the wallets of all threads, from 0 to 1
 *
 * @typedef {object} ChainTools
 * @property {Signer} signer
 * @property {Fees} fees
 * @property {number} chainId
 * @property {number} startBlock latest block when the load began
 * @property {number} firstWallet index of the first wallet of the run
 * @property {string | null} startHash its hash
 * @property {number | null} [periodUs] time between the blocks before; null: not known
 * @property {number} [headAtUs] when the latest block was made, by its timestamp
 * @property {string} inclusion name of the detector
 * @property {bigint | null} capWei limit of fees; null: none
 * @property {bigint | null} [capValueWei] limit of the value that is transferred; null: none
 * @property {number} confirmations blocks required on top before an operation counts as included
 * @property {bigint | null} [refillBelowWei] wallets with less are paid during the load; null: they are not
 */

/** @type {Part} */
const WHOLE = Object.freeze({ from: 0, to: 1 });

/** @implements {Engine} */
export class ThreadEngine {
  #recorder;
  #ledger;
  #options;
  #driver;
  #verbs;
  /** @type {InclusionDetector | null} */
  #detector = null;
  /** @type {Presigner | null} */
  #presigner = null;
  /** Null: plain calls. @type {TransactionRecovery | null} */
  #recovery = null;
  /** Null: no limit. @type {FeeBudget | null} */
  #budget = null;
  /** @type {Storm | null} */
  #storm = null;
  #observers = new Observers();
  #deadlines;
  /** Those with operations that may not have ended, in order. @type {Sighting[]} */
  #sightings = [];
  #settledUs = 0;
  #loop;
  #random;
  #retryPolicy;
  #loadStartUs = 0;
  #lastBlockAtUs = 0;
  /** @type {Resubmissions} */
  #resubmissions = noneUsed().resubmissions;
  /** @type {Refusals} */
  #refusals = {};
  /** Null: plain calls. @type {NodeLimits | null} */
  #limits = null;
  #reorgs = noReorgs();
  /** Since the previous interval. @type {ReorgEvent[]} */
  #newReorgs = [];
  /** The longest time without an answer that ended in the interval. @type {{ms: number, toUs: number} | null} */
  #pastSilence = null;
  /** Since the previous interval. */
  #blocks = noBlocks();
  #isStopped = false;
  /** Whether the load has started: earlier blocks belong to no interval. */
  hasStarted = false;

  /** @param {EngineOptions} options */
  constructor(options) {
    const { config, clock, accounts, schedule, share, onStop } = options;
    this.#options = options;
    this.#random = options.random ?? Math.random;
    this.#loop = options.probes.loop();
    this.#retryPolicy = new RetryPolicy(this.#random);
    this.#recorder = new Recorder(
      accounts.map(({ wallet }) => wallet.index),
      clock.nowUs(),
      stageEndsUs(schedule),
    );
    this.#ledger = new Ledger(accounts, () => onStop('foreign_sender'));
    this.#deadlines = new Deadlines(clock, config.network.txTimeoutMs);
    const operations = this.#operations();
    this.#driver = new Driver({
      clock,
      accounts,
      onSample: inTurn(options.onSample, this.#observers.operation),
      onStop,
      ...operations,
      recorder: this.#recorder,
      pacer: createPacer(schedule, share),
      inFlight: config.load.inFlight,
      budget: this.#budget,
      ...iterationsOf(options),
    });
    this.#verbs = this.#controlled();
  }

  /** What is meant for transactions is not taken by plain calls. @returns {Record<ControlMessage['verb'], (...args: any[]) => boolean | void>} */
  #controlled() {
    const { chain, schedule, share, part = WHOLE } = this.#options;
    const driver = this.#driver;
    const budget = this.#budget;
    if (chain === null) {
      const decline = () => false;
      return { hold: driver.hold, release: driver.release, room: decline, retime: decline, charge: decline };
    }
    return {
      hold: driver.hold,
      release: driver.release,
      // Whole numbers that add up, so that a single missing transaction is started too.
      room: (target, depth) => {
        const wanted = target - (depth ?? 0);
        driver.room(Math.round(part.to * wanted) - Math.round(part.from * wanted), depth === null);
      },
      retime: (perSecond, fromUs) => {
        if (schedule === null) return;
        driver.retime(createPacer(changedAt(schedule, fromUs - this.#loadStartUs, perSecond), share));
      },
      charge: (wei) => budget === null || budget.charge(wei),
    };
  }

  /** How an operation runs and how its wallet is recovered. @returns {Pick<DriverOptions, 'run' | 'recoveryOf' | 'limits'>} */
  #operations() {
    const { config, clock, rpc, workload, chain, accounts, onStop } = this.#options;
    if (workload.kind === 'call') {
      return {
        run: (operation) => runCall({ clock, rpc, workload }, operation),
        recoveryOf: (driver) => new CallRecovery(driver, this.#retryPolicy),
      };
    }
    const { signer, fees, chainId, startBlock, startHash, ...about } = /** @type {ChainTools} */ (chain);
    const { confirmations, capWei, capValueWei = null } = about;
    const callOf = callsOf(workload);
    /** @type {(position: number, nonce: number) => Fee | null} */
    const feeAhead = (position, nonce) => presigner.feeAhead(position, nonce);
    const limit = { capWei, capValueWei, fees, callOf, feeAhead, baseFeeWei: fees.state().baseFeeWei };
    const budget = capWei === null && capValueWei === null ? null : new FeeBudget(limit);
    const limits = new NodeLimits(clock);
    this.#limits = limits;
    const createDetector = this.#options.createDetector ?? detectors[about.inclusion].create;
    const inclusion = createDetector({
      rpc,
      clock,
      head: startBlock,
      headHash: startHash,
      ...{ periodUs: about.periodUs, headAtUs: about.headAtUs, confirmations },
      onBlock: (block) => {
        fees.observe(block.baseFeeWei, block.excessBlobGas);
        budget?.observe(block);
        this.#seeBlock(block, callOf(0, accounts[0].wallet.nonce).gasLimit);
      },
      onSighting: (sighting) => this.#sightings.push(sighting),
      onSilence: (silence) => this.#noteSilence(silence),
      onFailure: (error) => this.#retryPolicy.noteOutage(error, clock.nowUs()),
      onReorg: (reorg) => this.#reorganise(reorg),
      onReplaced: (words) => onStop('chain_replaced', new UnavailableError(words)),
    });
    this.#observers = new Observers(this.#options.observers ?? {}, (name) => this.#toolsOf(name, inclusion));
    this.#ledger.onStatus = (...entered) => this.#observers.status(...entered);
    const presigner = new Presigner({ clock, signer, fees, workload, chainId, budget });
    this.#detector = inclusion;
    this.#presigner = presigner;
    this.#budget = budget;
    // A submission of --inclusion sync lasts until its block.
    const most = inclusion.submit === undefined ? MAX_SUBMISSIONS : Infinity;
    this.#storm = stormOf(config.load, { rpc, presigner, random: this.#random });
    /** @type {Tools} */
    const tools = {
      clock,
      rpc,
      deadlines: this.#deadlines,
      submissions: new Submissions((operation) => void runSteps(tools, operation), most, this.#storm),
      lookups: new Lookups((operation) => lookUp(tools, operation)),
      workload,
      inclusion,
      presigner,
      observers: this.#observers,
      startBlock,
      retryPolicy: this.#retryPolicy,
      random: this.#random,
      resubmissions: this.#resubmissions,
      refusals: this.#refusals,
      ...{ limits, taken: createTaken(clock) },
      storm: this.#storm,
      // Such as eth_sendPrivateTransaction.
      isShown: config.network.sendMethod === PLAIN_SENDING.sendMethod,
      txTimeoutMs: config.network.txTimeoutMs,
      firstWallet: about.firstWallet,
      refillWei: refillWeiOf(about.refillBelowWei ?? null, workload, callOf, fees),
    };
    return {
      run: (operation) => runTransaction(tools, operation),
      recoveryOf: (driver) => (this.#recovery = new TransactionRecovery(driver, tools, this.#ledger)),
      limits,
    };
  }

  /** @param {Block} block @param {bigint} gasLimit of one of our transactions */
  #seeBlock(block, gasLimit) {
    this.#limits?.observe(block, Number(gasLimit));
    const maxFeeWei = this.#options.chain?.fees.state().maxFeeWei ?? null;
    const isAboveMaxFee = maxFeeWei !== null && (block.baseFeeWei ?? 0n) > maxFeeWei;
    const seen = { ...this.#describe(block, gasLimit), isAboveMaxFee };
    this.#blocks = addBlocks(this.#blocks, totalsOfBlock(seen));
    this.#observers.block(seen);
    this.#options.onBlock(seen);
  }

  /** @param {Block} block @param {bigint} gasLimit of one of our transactions @returns {SeenBlock} */
  #describe(block, gasLimit) {
    const seenAtMs = this.#options.clock.wallMs();
    // The first block has no gap.
    const gapMs = (block.seenAtUs - (this.#lastBlockAtUs || block.seenAtUs)) / 1000;
    this.#lastBlockAtUs = block.seenAtUs;
    const skewMs = block.timestampS === null ? null : seenAtMs - block.timestampS * 1000;
    return { ...block, ownGasLimit: block.ours * Number(gasLimit), seenAtMs, skewMs, gapMs };
  }

  /** @param {string} name @param {InclusionDetector} inclusion @returns {ObserverTools} */
  #toolsOf(name, inclusion) {
    const { config, rpc, clock, accounts, workload, share, onMessage, onStop } = this.#options;
    return {
      rpc,
      clock,
      accounts,
      workload,
      inFlight: config.load.inFlight,
      share: share === undefined ? 1 : share.numbers.length / share.of,
      isInWindow: (dueUs) => this.#recorder.isInWindow(dueUs),
      isWatched: (hash) => inclusion.isWatched(hash),
      blockMs: () => inclusion.stats().blockMs,
      post: (message) => onMessage?.(name, message),
      onBug: (error) => onStop('internal', error),
    };
  }

  /** @param {Reorg} reorg */
  #reorganise({ number, hash, depth, unconfirmed }) {
    if (this.#recovery === null) return;
    const touched = this.#recovery.reorganise(number, unconfirmed);
    const atMs = (this.#options.clock.nowUs() - this.#loadStartUs) / 1000;
    const event = { atMs, blockNumber: number, blockHash: hash, depth, ...touched };
    this.#reorgs = merge(REORGS, this.#reorgs, reorgsOf(event), EARLIER);
    this.#newReorgs.push(event);
  }

  /** Signs the first transactions. @param {AbortSignal} signal ends it early */
  async prepare(signal) {
    await Promise.all([this.#presigner?.signFirst(this.#options.accounts, signal), this.#observers.prepare(signal)]);
  }

  /** @param {LoadPlan} plan */
  start({ loadStartUs, startUs, endUs }) {
    this.#loadStartUs = loadStartUs;
    this.#lastBlockAtUs = loadStartUs;
    this.#blocks = noBlocks();
    this.hasStarted = true;
    this.#recorder.open(loadStartUs, startUs, endUs);
    this.#loop.sample(); // discard what happened before
    this.#driver.start(loadStartUs, endUs);
    this.#observers.begin();
  }

  /** After an automatic warm-up. @param {LoadPlan} plan */
  setWindow({ startUs, endUs }) {
    this.#recorder.setWindow(startUs, endUs);
    this.#driver.endAt(endUs);
  }

  /** @param {ControlMessage} message */
  async post({ verb, args }) {
    return this.#verbs[verb](...args) !== false;
  }

  /** @param {number} nowUs @param {boolean} endsInterval @param {boolean} [hasFigures] @returns {Promise<Snapshot>} */
  async snapshot(nowUs, endsInterval, hasFigures = true) {
    const recorder = this.#recorder;
    if (endsInterval) this.#driver.catchUp();
    const atUs = this.#isStopped ? Math.max(nowUs, recorder.endUs) : nowUs;
    const interval = endsInterval ? this.#endInterval(atUs) : null;
    const { startUs, endUs, counts } = recorder;
    const rest = hasFigures ? recorder.rest() : null;
    if (rest !== null) rest.facts = this.#observers.facts(false);
    return {
      atUs,
      counts,
      interval,
      rest,
      window: { startUs, endUs },
      generator: this.#figures(),
      traffic: this.#options.traffic(),
      violation: recorder.isBalanced(this.#driver.live.size) ? null : this.#violation(),
      spread: this.#takeSpread(nowUs),
    };
  }

  /** @param {number} nowUs @returns {SpreadReport} */
  #takeSpread(nowUs) {
    const spans = this.#recorder.takeSpans();
    if (this.#detector === null) return { spans, settledUs: nowUs, sightedUs: nowUs, periodUs: null, spanUs: null };
    const { sightedUs, periodUs, spanUs } = this.#detector.stats();
    while (this.#sightings[0]?.open === 0) this.#settledUs = this.#sightings.shift()?.settledUs ?? 0;
    return { spans, settledUs: this.#settledUs, sightedUs, periodUs, spanUs };
  }

  /** @param {{ms: number, toUs: number}} silence */
  #noteSilence(silence) {
    if (silence.ms > (this.#pastSilence?.ms ?? 0)) this.#pastSilence = silence;
  }

  /** @param {number} nowUs @returns {EngineReport} */
  #endInterval(nowUs) {
    const inFlight = this.#recorder.inFlightAtEnd(this.#driver.live.size);
    const stats = this.#recorder.take(nowUs);
    stats.facts = this.#observers.facts(true);
    const detector = this.#detector?.stats();
    const words = detector?.lastError?.message ?? '';
    // Not counting the time before the load.
    const stillMs = Math.min(detector?.stillMs ?? 0, (nowUs - this.#loadStartUs) / 1000);
    const silence =
      detector === undefined ? null : { silentMs: detector.silentMs, stillMs, words, past: this.#pastSilence };
    this.#pastSilence = null;
    /** @type {Record<string, string>} */
    const warnings = typeof detector?.warning === 'string' ? { inclusion: detector.warning } : {};
    if (detector?.note) warnings.chain = detector.note;
    Object.assign(warnings, this.#observers.detached);
    const { unreadBlock } = this.#retryPolicy;
    if (unreadBlock !== null)
      warnings.readback = `waiting for the receipts or the state of block ${unreadBlock}: ${this.#options.rpc.display} announces it and does not serve them`;
    this.#retryPolicy.unreadBlock = null;
    const { raisedWords = null } = this.#presigner ?? {};
    if (raisedWords !== null) warnings.offer = raisedWords;
    const { leftOutWords = null } = this.#recovery ?? {};
    if (leftOutWords !== null)
      warnings.leftOut = `blocks leave transactions out that they have room for: ${leftOutWords}`;
    const { limit = 1, refused = 0, why = '' } = this.#options.traffic().submissionBatches ?? {};
    if (refused > 0) warnings.batch = refusedWords(limit, why);
    const [reorgs, blocks] = [this.#newReorgs, this.#blocks];
    this.#newReorgs = [];
    this.#blocks = noBlocks();
    return { stats, inFlight, silence, warnings, reorgs, blocks, loop: this.#loop.sample() };
  }

  /** How the law of conservation is broken, for all wallets together or for one. @returns {string | null} */
  #violation() {
    /** @type {Map<number, number>} */
    const inFlightBy = new Map();
    for (const { account } of this.#driver.live)
      inFlightBy.set(account.position, (inFlightBy.get(account.position) ?? 0) + 1);
    try {
      this.#recorder.assertConservation(inFlightBy);
      return null;
    } catch (error) {
      return /** @type {Error} */ (error).message;
    }
  }

  /** Starts no more operations. @param {number} nowUs end of the window */
  stop(nowUs) {
    // Until now operations counted as inside of the window.
    const endUs = Math.max(nowUs, this.#options.clock.nowUs());
    this.#presigner?.stop();
    this.#driver.stop(endUs);
    this.#recorder.closeWindow(endUs);
    this.#isStopped = true;
  }

  /** @param {number} timeoutMs @param {AbortSignal} signal @returns {Promise<Ledger>} */
  async drain(timeoutMs, signal) {
    await this.#driver.drain(timeoutMs, signal);
    await this.#detector?.stop();
    await this.#observers.finish();
    const words = this.#violation();
    if (words !== null) this.#options.onStop('internal', new InternalError(words));
    this.#ledger.verifiedBy = this.#recorder.verifiedBy;
    return this.#ledger;
  }

  /** @returns {EngineStats} */
  #figures() {
    const detector = this.#detector?.stats();
    const { readBackRetries, callPauseMs, pauses } = this.#retryPolicy;
    const nodeLimits = this.#limits?.facts() ?? null;
    return {
      readBackRetries,
      pausedMs: callPauseMs,
      retiredWallets: this.#driver.recovery.retired,
      inclusionResolutionMs: detector?.resolutionMs ?? null,
      headSource: detector?.source ?? null,
      failedPolls: detector?.failedPolls ?? 0,
      failureWords: this.#driver.failureWords,
      resubmissions: { ...this.#resubmissions },
      ...(Object.keys(this.#refusals).length > 0 && { refusals: structuredClone(this.#refusals) }),
      ...(nodeLimits !== null && { nodeLimits }),
      pauses: { ...pauses },
      ...(this.#storm !== null && { storm: { ...this.#storm.facts } }),
      reorgs: this.#reorgs,
      presigned: { ...(this.#presigner?.stats ?? { used: 0, discarded: 0 }) },
    };
  }

  async close() {
    this.#deadlines.stop();
    this.#loop.close?.();
    await this.#detector?.stop();
    // Otherwise they have finished with the drain.
    if (!this.hasStarted) await this.#observers.finish();
  }
}

/** @param {EngineConfig['load']} load @param {Pick<ConstructorParameters<typeof Storm>[0], 'rpc' | 'presigner' | 'random'>} tools */
function stormOf({ nonceOrder, duplicateShare, replaceShare }, tools) {
  if (!nonceOrder && !duplicateShare && !replaceShare) return null;
  return new Storm({ nonceOrder, duplicateShare, replaceShare, ...tools });
}

/** @param {number} limit @param {string | null} why */
function refusedWords(limit, why) {
  const now = limit === 1 ? 'are sent one by one' : `are sent in batches of at most ${limit}`;
  return `the endpoint refused a batch of submissions (${why}): they ${now} from now on`;
}

/** @param {DriverOptions['onSample']} first @param {DriverOptions['onSample']} second @returns {DriverOptions['onSample']} */
function inTurn(first, second) {
  if (first === null || second === null) return first ?? second;
  return (sample) => {
    first(sample);
    second(sample);
  };
}

/** @param {EngineOptions} options */
function iterationsOf({ config, workload }) {
  const { iterations, thinkTimeMs } = config.load;
  const perIteration = workload.kind === 'call' ? (workload.callsPerIteration ?? 1) : 1;
  return { operationsEach: (iterations ?? Infinity) * perIteration, perIteration, thinkTimeMs };
}

const NO_CALL = Object.freeze({ gasLimit: 0n, value: 0n });

/**
 * A workload that throws costs nothing: the operation fails before it is sent.
 * @param {TransactionWorkload} workload
 * @returns {(position: number, nonce: number) => Pick<Call, 'gasLimit' | 'value'> & Pick<Partial<Call>, 'sidecar'>}
 */
function callsOf(workload) {
  return (position, nonce) => {
    try {
      return workload.next(position, nonce);
    } catch {
      return NO_CALL;
    }
  };
}

/**
 * What a wallet needs for its next operation at the present price, at least --refill-below.
 * @param {bigint | null} belowWei
 * @param {Pick<TransactionWorkload, 'gas'>} workload
 * @param {ReturnType<typeof callsOf>} callOf
 * @param {Pick<Fees, 'worstPriceWei'>} fees
 * @returns {Tools['refillWei']}
 */
function refillWeiOf(belowWei, { gas }, callOf, fees) {
  if (belowWei === null) return null;
  return ({ position, nextNonce }) => {
    const valueWei = gas.value?.perOperation ?? 0n;
    const needWei = callOf(position, nextNonce).gasLimit * fees.worstPriceWei() + valueWei;
    return needWei > belowWei ? needWei : belowWei;
  };
}
