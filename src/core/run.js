import { randomUUID } from 'node:crypto';
import { BLOCK_SECONDS, startDevChain } from '../chain/devchain.js';
import { describeForeign } from '../chain/funding.js';
import { isBusy } from '../chain/refusals.js';
import { waitForEndpoints } from '../chain/wait-for.js';
import { EXIT, InternalError, ProtocolError, RpcError, StressError, UnavailableError, worstExit } from '../errors.js';
import { auditWarning } from '../stats/audit-result.js';
import { cutShort, shortWindow } from '../stats/growth.js';
import { STILL_RUNNING } from '../stats/run-file.js';
import { IntervalLog } from '../stats/stats.js';
import { Throughput } from '../stats/throughput.js';
import { counted, indexRanges, numbered, partOf } from '../text.js';
import { RunObservers, checkObservers } from '../observers/index.js';
import { createWorkload } from '../workloads/index.js';
import { audit } from './audit.js';
import {
  abandonable,
  checkDescriptors,
  interruptible,
  openNetwork,
  readKeys,
  throwIfStopped,
  warnOfEndpoints,
} from './connect.js';
import { controlOf } from './control.js';
import { NOT_PAID, SetUpCosts, balanceOf, decreaseBetween } from './costs.js';
import { describeEnvironment, describeFailedSetUp, describeRun } from './describe.js';
import { Load, WarmUp } from './load.js';
import { mixEngines, openCalls, splitLoad } from './mixed-engine.js';
import { Account } from './nonces.js';
import { HIGHEST_RATE, rateOf, scheduleOf } from './pacer.js';
import { newSeed } from './platform.js';
import { Checkpoints, Watch } from './reports.js';
import { assertSameChain, confirmSetUp, setUp, setUpCalls, startBlockOf } from './setup.js';
import { SideThreads } from './side-thread.js';
import { Silence } from './silence.js';
import { createEngine } from './workers.js';

/**
 * @import { DevChain, Rpc, SeenBlock } from '../contracts/chain.d.ts'
 * @import { Clock, Log, Stop } from '../contracts/common.d.ts'
 * @import { Config, RunContext } from '../contracts/config.d.ts'
 * @import { CommonStart, MeasuredRate, TransactionWorkload, WalletPayments, Workload } from '../contracts/load.d.ts'
 * @import { Closed, Output } from '../contracts/output.d.ts'
 * @import { AuditReport, RunFile } from '../contracts/run-file.d.ts'
 * @import { Endpoints } from '../chain/endpoints.js'
 * @import { GivenKeys } from './connect.js'
 * @import { Balance } from './costs.js'
 * @import { Ledger } from './ledger.js'
 * @import { Loaded, LoadSoFar } from './load.js'
 * @import { EngineParts } from './workers.js'
 * @import { ChainTools } from './engine.js'
 * @import { KnownChain, Ready, StartBlock } from './setup.js'
 */

/**
 * One run. It goes through three phases: everything is opened, the load is prepared (wallets, contracts, engine), then
 * the load runs and is audited. Each phase has one object with what it made.
 *
 * @typedef {object} Opened
 * @property {Times} times
 * @property {GivenKeys} given
 * @property {(line: string) => void} notice
 * @property {CommonStart | null} common
 * @property {URL[]} urls
 * @property {Endpoints} endpoints
 * @property {boolean} isEmbedded
 * @property {number | null} nodePid
 * @property {SideThreads} threads
 * @property {Silence} silence
 * @property {SetUpCosts} costs
 *
 * @typedef {Awaited<ReturnType<typeof prepare>>} Prepared
 *
 * @typedef {ReturnType<typeof startOf>} Times
 */

/** Exit codes for which the outputs are written although the run ended before its load. @type {readonly number[]} */
const REPORTED_EXIT_CODES = Object.freeze([EXIT.unavailable, EXIT.refused]);

const NOTHING_TO_AUDIT = 'plain calls leave nothing on the chain to audit';

/** @param {Config} config @param {RunContext} context @returns {Promise<number>} the exit code */
export async function run(config, context) {
  const { clock, random, transports, stop, outputs } = context;
  const { load, chain, network } = config;
  const given = readKeys(config.wallets, load.threads);
  const times = startOf(clock);
  const isEmbedded = chain.rpc.length === 0;
  const notice = (/** @type {string} */ line) => outputs.forEach((output) => output.notice?.(line));
  const starts = { ...config.instance, threads: load.threads };
  const common = context.beforeLoad?.({ id: times.id, config: starts, clock, stop, notice }) ?? null;
  const endpointsInUse = Math.max(1, chain.rpc.length) + (chain.sendRpc === null ? 0 : 1);
  checkDescriptors(network.connections * endpointsInUse, load.workers);
  /** @type {DevChain | null} */
  let devChain = null;
  /** @type {Endpoints | null} */
  let endpoints = null;
  /** @type {SideThreads | null} */
  let threads = null;
  let areOpen = false;
  const costs = new SetUpCosts(config.wallets.maxSpendWei);
  const silence = new Silence(clock, { ...load, ...network });
  try {
    for (const output of outputs) await output.open?.();
    areOpen = true;
    await common?.open();
    if (isEmbedded) devChain = await startDevChain(clock);
    const urls = devChain === null ? [...chain.rpc] : [devChain.url];
    const signals = { setup: stop.drain, audit: AbortSignal.any([stop.now, silence.signal]) };
    const retryOptions = { clock, random, signals, mostMs: { audit: silence.mostMs }, onAnswer: silence.onAnswer };
    const opened = openNetwork(transports, network, { urls, sendUrl: chain.sendRpc, clock, home: 0, retryOptions });
    endpoints = opened;
    stop.now.addEventListener('abort', () => {
      opened.monitor.stop();
      void opened.close();
    });
    devChain?.ended.then((words) => chainEnded(stop, words)).catch(() => {});
    threads = new SideThreads({ ...context, network, urls });
    const nodePid = chain.nodePid ?? devChain?.chainPid() ?? null;
    const asked = { times, given, notice, common, isEmbedded, costs };
    const own = { ...asked, urls, endpoints: opened, nodePid, threads, silence };
    const prepared = await prepare(config, context, own);
    // Worker threads would keep the process alive.
    const done = await loadAndAudit(config, context, own, prepared).finally(() => prepared.engine.close());
    const closed = await closeAll(
      outputs.filter(({ finish: isGiven }) => isGiven === undefined),
      stop,
    );
    for (const { error } of closed) if (error) stop.request('output_failed', error.exitCode, error);
    const samplesDropped = closed.reduce((sum, one) => sum + (one.samplesDropped ?? 0), 0);
    const end = /** @type {RunFile['end']} */ (stop.reason ?? 'internal');
    const ended = { ...done, untilUs: clock.nowUs(), end, samplesDropped };
    const runFile = describeRun(config, context, own, prepared, ended);
    return await finish(runFile, context, done);
  } catch (error) {
    // CI servers read the files of such a run as well, and a study what it has paid.
    const isReported = (/** @type {StressError} */ { exitCode }) =>
      REPORTED_EXIT_CODES.includes(exitCode) || costs.spentWei + costs.openWei > 0n;
    if (areOpen && !times.hasBegun() && error instanceof StressError && isReported(error)) {
      const opened = { times, common, isEmbedded, endpoints, costs };
      const unwritten = await toOutputs(outputs, describeFailedSetUp(error, config, context, opened));
      for (const { message } of unwritten) context.log.error(message);
    }
    throw error;
  } finally {
    silence.end();
    endpoints?.monitor.stop();
    await threads?.close();
    await endpoints?.close();
    await closeAll(outputs, stop);
    // Last, because its end ends the run at once.
    await devChain?.stop();
  }
}

/** @param {Clock} clock */
function startOf(clock) {
  const startedUs = clock.nowUs();
  let aheadMs = clock.wallMs() - startedUs / 1000;
  let hasBegun = false;
  return {
    id: String(randomUUID()),
    startedUs,
    /** Whether the load has started. */
    hasBegun: () => hasBegun,
    begin: () => void (hasBegun = true),
    /** Derived from the monotonic clock, because the system clock may be set during the run. @param {number} atUs */
    timeOfDayMs: (atUs) => Math.round(aheadMs + atUs / 1000),
    /**
     * Instances with a common start share the time of day of that start.
     * @param {number} wallMs
     * @param {number} nowUs
     */
    setTimeOfDay: (wallMs, nowUs) => void (aheadMs = wallMs - nowUs / 1000),
  };
}

/**
 * From the identity of the chain to an engine that is ready.
 * @param {Config} config
 * @param {RunContext} context
 * @param {Opened} opened
 */
async function prepare(config, context, opened) {
  const { clock, random, outputs, stop, create } = context;
  const { urls, endpoints } = opened;
  const { rpc, connect, identity, monitor } = endpoints;
  const { network } = config;
  const { confirmations } = network;
  const { own, calls } = splitLoad(config);
  const { workload: settings } = own;
  /** @type {SideThreads['open']} */
  const openThread = (...given) => opened.threads.open(...given);
  const workload = await abandonable(stop, () =>
    createWorkload(settings.workload, {
      ...{ rpc, settings, threads: own.load.threads, clock, random, connect, create, openThread },
    }),
  );
  const callLoad = calls && (await openCalls(calls, { rpc, clock, random, connect }));
  const ratePerSecond = rateOf(own.load, workload);
  const seed = newSeed(random);
  const schedule = scheduleOf(calls === null ? { ...own.load, ratePerSecond } : config.load, seed);
  /** @type {Awaited<ReturnType<NonNullable<typeof identity>['identify']>>} */
  let identified = [];
  const ready = await interruptible(stop, endpoints, async () => {
    const wait = { clock, signal: stop.drain, notice: opened.notice };
    if (!opened.isEmbedded) await waitForEndpoints(config.chain, { urls, endpoints, ...wait });
    if (identity !== null) {
      identified = await identity.identify(urls, config.chain, stop.drain);
      monitor.begin();
    }
    return setUpChecked({ whole: config, own }, context, opened, { workload, callLoad });
  });
  const { wallets, sender } = ready;
  const setUpBlock = await confirmSetUp(ready, confirmations);
  // The rest of the set-up would be out of date if done minutes before the load.
  await opened.common?.wait({ chainId: ready.chain.chainId, genesisHash: ready.chain.genesisHash ?? null });
  const accounts = wallets.map((wallet, position) => new Account(position, wallet));
  const start = await startBlockOf(ready, confirmations, setUpBlock);
  if (opened.isEmbedded) start.periodUs ??= 1e6 * BLOCK_SECONDS;
  const before = sender === null ? NOT_PAID : await balanceOf(rpc, wallets, start.startBlock, 'setup');
  await monitor.waitUntilSynced(stop.drain);
  await identity?.compare(sender === null ? Infinity : start.startBlock, stop.drain);

  // Workers open their own connections.
  if (own.load.workers > 1) await endpoints.closeIdle();
  const gasPerOperation = workload.kind === 'transaction' ? workload.gas.likely.perOperation : null;
  const listening = { rpc, ready, ratePerSecond, gasPerOperation, isOpenLoop: schedule !== null, openThread, before };
  const { onBlock, ...listeners } = await listenersOf(config, context, listening);
  const { observers } = listeners;
  // From now on only the thread that refills has the key.
  opened.given.funder = ready.refill = null;
  const names = numbered(identified.map(({ display }) => display));
  const facts = { ...workload.facts?.(), ...(callLoad !== null && { calls: callLoad.facts() }) };
  const environment = describeEnvironment(config, context, opened, ready, identified, facts);
  const heard = { onBlock, observers: observers.plans, onMessage: observers.message };
  const parts = { endpoints, urls, sendUrl: config.chain.sendRpc, platform: context, stop, outputs, ...heard };
  const engine = await createEngines(parts, {
    transactions: {
      config: own,
      schedule: scheduleOf({ ...own.load, ratePerSecond }, seed),
      accounts,
      workload,
      chain: chainToolsOf(ready, start, {
        ...{ confirmations, refillBelowWei: config.wallets.refillBelowWei },
        firstWallet: config.wallets.offset,
      }),
    },
    calls: calls && {
      config: calls,
      // With the same seed both sides would have their bursts together.
      schedule: scheduleOf(calls.load, seed + 1),
      .../** @type {NonNullable<typeof callLoad>} */ (callLoad).parts,
      chain: null,
    },
  });
  const valueWei = workload.kind === 'transaction' ? workload.valueWei : 0n;
  const made = { environment, valueWei, workload, schedule, accounts, start, before, engine, names };
  return { ready, ...listeners, ...made };
}

/**
 * The set-up, with all checks before the first thing that is sent.
 * @param {{whole: Config, own: Config}} configs own: of the transactions
 * @param {RunContext} context
 * @param {Opened} opened
 * @param {{workload: Workload, callLoad: Awaited<ReturnType<typeof openCalls>> | null}} loads
 */
async function setUpChecked({ whole, own }, context, opened, { workload, callLoad }) {
  const { clock, stop } = context;
  /** @param {KnownChain} known */
  const check = async (known) => {
    await checkObservers(whole, { clock, rpc: opened.endpoints.rpc, signal: stop.drain, ...known });
    await callLoad?.check(known);
  };
  const checked = { ...context, check };
  const ready =
    workload.kind === 'call'
      ? await setUpCalls(own, checked, opened, workload)
      : await setUp(own, checked, opened, workload);
  await callLoad?.prepare(ready.chain, opened.notice);
  return ready;
}

/**
 * What listens to the load in this thread.
 * @param {Config} config
 * @param {Pick<RunContext, 'clock' | 'stop'>} context
 * @param {{rpc: Rpc, ready: Ready, ratePerSecond: number | null, gasPerOperation: bigint | null, isOpenLoop: boolean, openThread: SideThreads['open'], before: Balance}} load
 */
async function listenersOf(config, { clock, stop }, { ready, isOpenLoop, ...load }) {
  const observers = await RunObservers.open(config, {
    ...load,
    ...{ clock, stop, refill: ready.refill },
    wallets: ready.wallets,
    inclusion: ready.inclusion?.name ?? null,
    highestPerSecond: HIGHEST_RATE,
    firstOperations: config.load.threads * config.load.inFlight,
    isMix: config.workload.mix.length > 1,
    unlessStopped: (action) => abandonable(stop, action),
  });
  const { rate } = observers;
  const warmUp = warmUpOf(config, { clock, isOpenLoop, hasBlocks: ready.inclusion !== null, rate });
  const throughput = new Throughput(new IntervalLog());
  const onBlock = (/** @type {SeenBlock} */ block) => {
    warmUp?.onBlock(block);
    throughput.addBlock(block);
    observers.block(block);
  };
  return { observers, warmUp, throughput, onBlock };
}

/** Of a thread whose event loop has a probe already. */
const NO_LOOP = Object.freeze({ sample: () => null });

/**
 * @typedef {'config' | 'schedule' | 'accounts' | 'workload' | 'chain'} OfEngine
 *
 * @param {Omit<EngineParts, OfEngine>} parts
 * @param {{transactions: Pick<EngineParts, OfEngine>, calls: Pick<EngineParts, OfEngine> | null}} loads transactions: or plain calls alone
 */
async function createEngines(parts, { transactions, calls }) {
  const engine = await createEngine({ ...parts, ...transactions });
  if (calls === null) return engine;
  // In one thread both use the same connections and the same event loop, which count once.
  const endpoints = { ...parts.endpoints, stats: () => /** @type {any} */ ({}) };
  const platform = { ...parts.platform, probes: { ...parts.platform.probes, loop: () => NO_LOOP } };
  const own = { ...parts, ...calls, endpoints, platform, onBlock: undefined, observers: {} };
  return mixEngines([engine, await createEngine(own)]);
}

/**
 * @param {Config} config
 * @param {{clock: Clock, isOpenLoop: boolean, hasBlocks: boolean, rate: MeasuredRate | null}} known
 * @returns {WarmUp | null} null: none, or one of a given length
 */
function warmUpOf({ load: { warmupMs, threads, inFlight }, network }, known) {
  const operations = threads * inFlight;
  return warmupMs === 'auto' ? new WarmUp({ ...known, operations, mostMs: network.txTimeoutMs }) : null;
}

/**
 * @param {Ready} ready
 * @param {StartBlock} start
 * @param {Pick<ChainTools, 'confirmations' | 'refillBelowWei' | 'firstWallet'>} asked
 * @returns {ChainTools | null}
 */
function chainToolsOf({ sender, inclusion, costs }, start, asked) {
  if (sender === null || inclusion === null) return null;
  const { chainId, fees, signer } = sender;
  return { chainId, fees, signer, inclusion: inclusion.name, ...start, ...asked, capWei: costs.leftWei };
}

/** @param {Config} config @param {RunContext} context @param {Opened} opened @param {Prepared} prepared */
async function loadAndAudit(config, context, opened, prepared) {
  const { clock, probes, stop, log, onProgress } = context;
  const { ready, workload, observers, names } = prepared;
  const { rpc, identity, monitor, health } = opened.endpoints;
  const { nodeMetrics: metrics, nodeSeries: series } = config.chain;
  const { insecure, txTimeoutMs } = config.network;
  const warn = (/** @type {string} */ words) => log.warn(words);
  const node = { pid: opened.nodePid, metrics, series, insecure };
  const watch = new Watch({ node, clock, probes, rpc: ready.sender === null ? null : rpc, warn });
  const { warnings } = watch;
  warnOfEndpoints(health, watch, names.length > 0 ? names : [rpc.display]);
  // Plain calls show themselves whether the endpoint answers.
  if (identity === null && workload.kind === 'transaction') monitor.begin();
  if (identity !== null && prepared.start.startHash !== null && prepared.start.startBlock === 0)
    watch.warnOf('unconfirmed', 'the endpoints have only block 0: whether they serve one chain is unknown');
  const { silence } = opened;
  stop.drain.addEventListener('abort', () => void silence.begin(rpc));
  const checkpoints = new Checkpoints({ ...context, warn });
  /** @param {LoadSoFar} loaded */
  const describeSoFar = (loaded) => {
    const [why, { untilUs }] = [STILL_RUNNING, loaded];
    const observed = observers.describe(loaded.stats.facts);
    const unknown = { audited: { report: null, reason: why }, decrease: { why }, observed };
    const known = { loaded, untilUs, samplesDropped: null, warnings };
    return describeRun(config, context, opened, prepared, { ...unknown, ...known, end: 'running' });
  };
  try {
    const loaded = await new Load({
      ...context,
      ...prepared,
      times: { ...config.load, txTimeoutMs },
      watch,
      checkpoints,
      describeSoFar,
      timeOfDayMs: opened.times.timeOfDayMs,
      isPlain: workload.kind === 'call',
      begin: async () => {
        const loadStartUs = await waitForStart(opened, clock, { watch, stop });
        observers.begin(toolsOf(watch, prepared, silence));
        return loadStartUs;
      },
    }).run();
    await observers.drained(loaded.stats.facts);
    loaded.ledger.onStatus = observers.status;
    const paid = paymentsIn(config, observers);
    let audited = { report: /** @type {AuditReport | null} */ (null), reason: NOTHING_TO_AUDIT };
    if (workload.kind === 'transaction') {
      onProgress('auditing wallets', 0, prepared.accounts.length);
      audited = await auditOf(config, context, opened, prepared, { ledger: loaded.ledger, paid });
    }
    const { stats, intervals, engineStats } = loaded;
    const noAudit = audited.report === null ? audited.reason : null;
    const load = { gas: stats.gas, intervals, reorgs: engineStats.reorgs };
    await observers.finish({ rpc, noAudit, isAborted: stop.now.aborted, ...load });
    const decrease = await decreaseAfter(rpc, prepared, audited, paid);
    return { loaded, audited, observed: observers.describe(stats.facts), decrease, warnings };
  } finally {
    onProgress('', 1, 1);
    watch.close();
    monitor.stop();
    await checkpoints.stop();
  }
}

/** @typedef {Awaited<ReturnType<typeof loadAndAudit>>} Done */

/** What the observers of a run can use. @param {Watch} watch @param {Pick<Prepared, 'engine'>} prepared @param {Silence} silence */
function toolsOf(watch, { engine }, { signal }) {
  return {
    noAnswer: signal,
    warnOf: (/** @type {string} */ kind, /** @type {string} */ words) => watch.warnOf(kind, words),
    warnOnce: (/** @type {string} */ kind, /** @type {string} */ words) => watch.warnOnce(kind, words),
    control: controlOf(engine),
  };
}

/**
 * The decrease of the balance during the load.
 * @param {Rpc} rpc
 * @param {Prepared} prepared
 * @param {{report: AuditReport | null, reason: string}} audited
 * @param {WalletPayments | null} paid
 * @returns {Promise<Balance>}
 */
async function decreaseAfter(rpc, { ready, before }, { report, reason }, paid) {
  if ('why' in before) return before;
  if (report === null) return { why: `there is no audit: ${reason}` };
  return decreaseBetween(before, await balanceOf(rpc, ready.wallets, report.blockNumber, 'audit'), paid);
}

/** What the wallets were paid during the load. @param {Config} config @param {RunObservers} observers @returns {WalletPayments | null} null: nothing */
function paymentsIn({ wallets }, observers) {
  if (wallets.refillBelowWei === null) return null;
  const refills = /** @type {{payments?: WalletPayments} | undefined} */ (observers.all.get('refills'));
  return refills?.payments ?? { why: 'what the funder has paid is not known' };
}

/** @param {Opened} opened @param {Clock} clock @param {{watch: Watch, stop: Stop}} run @returns {Promise<number>} start of the load @throws {StressError} it was stopped before */
async function waitForStart({ common, times }, clock, { watch, stop }) {
  const began = await common?.begin();
  throwIfStopped(stop);
  times.begin();
  if (!began) return clock.nowUs();
  times.setTimeOfDay(began.wallMs, began.nowUs);
  if (began.words !== null) watch.warnOf('start', began.words);
  return began.beginUs;
}

/**
 * @param {Config} config
 * @param {RunContext} context
 * @param {Opened} opened
 * @param {Prepared} prepared
 * @param {{ledger: Ledger, paid: WalletPayments | null}} loaded
 */
async function auditOf({ load, network }, { clock, stop }, { endpoints, silence }, prepared, { ledger, paid }) {
  const { accounts, start, workload } = prepared;
  const { rpc, monitor } = endpoints;
  const signal = AbortSignal.any([stop.now, silence.signal]);
  const { startBlock } = start;
  // A request that timed out may still arrive within its time limit.
  const timeoutMs = Math.max(load.drainTimeoutMs, network.requestTimeoutMs);
  const makeAudit = async () => {
    await monitor.waitUntilSynced(signal);
    await assertSameChain(rpc, start);
    const audited = /** @type {TransactionWorkload} */ (workload);
    return audit({ rpc, clock, accounts, ledger, startBlock, workload: audited, timeoutMs, paid, signal });
  };
  const missing = { rpc, wallets: accounts.length, open: ledger.unresolved.size };
  return auditUnlessAborted(() => silence.unlessOver(makeAudit, missing), stop);
}

/**
 * @param {() => Promise<AuditReport>} makeAudit
 * @param {Stop} stop
 * @returns {Promise<{report: AuditReport | null, reason: string}>} reason: why there is no report
 */
export async function auditUnlessAborted(makeAudit, stop) {
  const aborted = () => ({ report: null, reason: stop.abortReason ?? '' });
  if (stop.now.aborted) return aborted();
  try {
    return { report: await makeAudit(), reason: '' };
  } catch (error) {
    if (stop.now.aborted) return aborted();
    // The endpoint cannot serve the audit: pruned state or a missing method.
    const isAnswer = (error instanceof RpcError || error instanceof ProtocolError) && !isBusy(error);
    if (isAnswer) return { report: null, reason: error.message };
    const known = error instanceof StressError ? error : new InternalError(unexpected(error), error);
    stop.request('audit_failed', known.exitCode, known);
    return { report: null, reason: known.message };
  }
}

/** One after the other. @param {Output[]} outputs @param {Stop} stop */
async function closeAll(outputs, stop) {
  /** @type {Closed[]} */
  const closed = [];
  for (const output of outputs) closed.push((await output.close?.(stop.now)) ?? {});
  return closed;
}

/**
 * @param {RunFile} runFile
 * @param {RunContext} context
 * @param {Done} done
 * @returns {Promise<number>} the exit code
 */
async function finish(runFile, { outputs, stop, log }, { loaded, warnings }) {
  const errors = await toOutputs(outputs, runFile);
  for (const error of errors) stop.request('output_failed', error.exitCode, error);
  logProblems(log, stop, runFile, loaded.ledger, warnings);
  return worstExit([runFile.exitCode ?? EXIT.ok, ...errors.map(({ exitCode }) => exitCode)]);
}

/**
 * Gives the run file to every output, even if one fails.
 * @param {Output[]} outputs
 * @param {RunFile} runFile
 */
async function toOutputs(outputs, runFile) {
  /** @type {StressError[]} */
  const errors = [];
  for (const output of outputs) {
    try {
      await output.finish?.(runFile);
    } catch (thrown) {
      errors.push(thrown instanceof StressError ? thrown : new InternalError(unexpected(thrown), thrown));
    }
  }
  return errors;
}

/** @param {unknown} error */
export function unexpected(error) {
  return `unexpected: ${error instanceof Error ? error.message : error}. This is a bug of stress`;
}

/**
 * Logs one line per problem, after the summary.
 * @param {Log} log
 * @param {Stop} stop
 * @param {RunFile} run
 * @param {Ledger} ledger
 * @param {string[]} logged warnings given during the run
 */
function logProblems(log, stop, run, { foreign }, logged) {
  const messages = [...new Set(stop.errors.splice(0).map((error) => error.message))];
  if (foreign.length > 0) {
    const indexes = foreign.map(({ walletIndex }) => walletIndex);
    log.error(describeForeign(`wallets ${indexRanges(indexes)}`, foreign[0]));
  }
  // Warnings not logged yet are logged as errors, so that --quiet shows them too. The summary has those about the window.
  const known = [...logged, shortWindow(run)?.words, cutShort(run)];
  for (const warning of run.warnings) if (!known.includes(warning)) log.error(warning);
  const warning = auditWarning(run);
  if (warning !== null && !messages.some((message) => warning.endsWith(message))) log.error(warning);
  const unfunded = run.failures?.insufficient_funds ?? 0;
  // The verdict may have said it.
  if (unfunded > 0 && run.verdict?.name !== 'funds')
    log.error(`${counted(unfunded, 'operation')} failed: a wallet had insufficient funds; set a higher --fund-amount`);
  const failed = run.thresholds.filter(({ passed }) => !passed);
  if (failed.length > 0) {
    const names = failed.map(({ expression }) => expression).join(', ');
    log.error(`${partOf(failed.length, run.thresholds.length, 'threshold')} failed: ${names}`);
  }
  // What ended the run is the last line: a study repeats it.
  for (const message of messages) log.error(message);
}

/** No operation in flight can end any more. @param {Stop} stop @param {string} words */
function chainEnded(stop, words) {
  const error = new UnavailableError(`the embedded chain ended: ${words}`);
  stop.request('chain_ended', EXIT.unavailable, error);
  stop.abort(error.message);
}
