import { randomUUID } from 'node:crypto';
import { BLOCK_SECONDS, startDevChain } from '../chain/devchain.js';
import { describeForeign } from '../chain/funding.js';
import { isBusy } from '../chain/refusals.js';
import { EXIT, InternalError, ProtocolError, RpcError, StressError, UnavailableError, worstExit } from '../errors.js';
import { auditWarning } from '../stats/audit-result.js';
import { cutShort, shortWindow } from '../stats/growth.js';
import { counted, indexRanges, numbered, partOf } from '../text.js';
import { audit } from './audit.js';
import { checkDescriptors, openNetwork, readKeys, throwIfStopped, warnOfEndpoints } from './connect.js';
import { controlOf } from './control.js';
import { NOT_PAID, SetUpCosts, balanceOf, decreaseBetween } from './costs.js';
import { describeEnvironment, describeFailedSetUp, describeRun } from './describe.js';
import { engineOf, listenersOf, planOf } from './engines.js';
import { Load } from './load.js';
import { Account } from './nonces.js';
import { Checkpoints, Watch } from './reports.js';
import { assertSameChain, confirmSetUp, setUp, startBlockOf } from './setup.js';
import { SideThreads } from './side-thread.js';
import { Silence } from './silence.js';

/**
 * @import { DevChain } from '../contracts/chain.d.ts'
 * @import { Clock, Log, Stop } from '../contracts/common.d.ts'
 * @import { Config, RunContext } from '../contracts/config.d.ts'
 * @import { CommonStart, TransactionWorkload, WalletPayments } from '../contracts/load.d.ts'
 * @import { Closed, Output } from '../contracts/output.d.ts'
 * @import { AuditReport, RunEnvironment, RunFile, Verdict } from '../contracts/run-file.d.ts'
 * @import { Endpoints } from '../chain/endpoints.js'
 * @import { GivenKeys } from './connect.js'
 * @import { Balance } from './costs.js'
 * @import { Listeners, Plan } from './engines.js'
 * @import { Ledger } from './ledger.js'
 * @import { SetUp } from './setup.js'
 * @import { LoadFigures } from '../stats/run-file.js'
 * @import { Engine } from './engine.js'
 */

/**
 * One run, from its options to its run file. It grows by phases: each is appended when it is over, and none is rewritten. The
 * run file is made of the phases that were reached (describe.js).
 *
 * @template {keyof Phases} [Over=never] the phases that are over
 * @typedef {RunBase & Pick<Phases, Over> & Partial<Phases>} Run
 */

/**
 * @typedef {object} RunBase what a run has from its beginning on
 * @property {Config} config
 * @property {RunContext} context
 * @property {ReturnType<typeof timesOf>} times
 * @property {GivenKeys} keys
 * @property {(line: string) => void} notice
 * @property {CommonStart | null} common
 * @property {boolean} isEmbedded
 * @property {SetUpCosts} costs
 * @property {Silence} silence
 * @property {string[]} warnings given so far
 *
 * @typedef {object} Phases
 * @property {DevChain | null} devChain null: the user has given endpoints
 * @property {Network} network open; nothing has been asked
 * @property {Plan} plan
 * @property {SetUp} setUp
 * @property {Listeners} listeners
 * @property {RunEnvironment} environment
 * @property {Engine} engine ready to start
 * @property {LoadFigures} loaded the figures of the load
 * @property {Ledger} ledger
 * @property {Audited} audited
 * @property {{members: Partial<RunFile>, unmeasured: Record<string, string>}} observed what the observers add to the run file
 * @property {Ended} ended
 *
 * @typedef {object} Network
 * @property {URL[]} urls
 * @property {Endpoints} endpoints
 * @property {number | null} nodePid
 * @property {SideThreads} threads
 *
 * @typedef {object} Audited
 * @property {AuditReport | null} report
 * @property {string} reason why there is no report
 * @property {Balance} decrease of the balance during the load
 *
 * @typedef {object} Ended
 * @property {RunFile['end']} end
 * @property {number} untilUs
 * @property {number} samplesDropped
 * @property {{verdict: Verdict | null, exitCode: number, why: string}} [failure] the load never began; why: of every figure that is null
 */

/** Exit codes for which the outputs are written although the run ended before its load. @type {readonly number[]} */
const REPORTED_EXIT_CODES = Object.freeze([EXIT.unavailable, EXIT.refused]);

const NOTHING_TO_AUDIT = 'plain calls leave nothing on the chain to audit';

/** @param {Config} config @param {RunContext} context @returns {Promise<number>} the exit code */
export async function run(config, context) {
  const begun = begin(config, context);
  try {
    for (const output of context.outputs) await output.open?.();
    return await runToEnd(begun).catch((error) => fail(begun, error));
  } finally {
    await close(begun);
  }
}

/** @param {Config} config @param {RunContext} context @returns {Run} */
function begin(config, context) {
  const { clock, stop, outputs } = context;
  const { load, wallets, chain, network, instance } = config;
  const keys = readKeys(wallets, load.threads);
  const times = timesOf(clock);
  const notice = (/** @type {string} */ line) => outputs.forEach((output) => output.notice?.(line));
  const starts = { ...instance, threads: load.threads };
  const common = context.beforeLoad?.({ id: times.id, config: starts, clock, stop, notice }) ?? null;
  const endpointsInUse = Math.max(1, chain.rpc.length) + (chain.sendRpc === null ? 0 : 1);
  checkDescriptors(network.connections * endpointsInUse, load.workers);
  const costs = new SetUpCosts(wallets.maxSpendWei);
  const silence = new Silence(clock, { ...load, ...network });
  const isEmbedded = chain.rpc.length === 0;
  return { config, context, times, keys, notice, common, isEmbedded, costs, silence, warnings: [] };
}

/** @param {Clock} clock */
function timesOf(clock) {
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

/** @template {Run} R @template {Partial<Phases>} P @param {R} run @param {P} phases @returns {R & P} the same run */
function append(run, phases) {
  return Object.assign(run, phases);
}

/** @param {Run} begun @returns {Promise<number>} the exit code */
async function runToEnd(begun) {
  await begun.common?.open();
  const devChain = begun.isEmbedded ? await startDevChain(begun.context.clock) : null;
  const placed = append(begun, { devChain });
  const run = await prepare(append(placed, { network: networkOf(placed) }));
  // Worker threads would keep the process alive.
  const audited = await loadAndAudit(run).finally(() => run.engine.close());
  return finish(append(audited, { ended: await endOf(audited) }));
}

/** Opens the connections. @param {Run<'devChain'>} run @returns {Network} */
function networkOf({ config, context, devChain, silence }) {
  const { clock, random, transports, stop } = context;
  const { chain, network } = config;
  const urls = devChain === null ? [...chain.rpc] : [devChain.url];
  const signals = { setup: stop.drain, audit: AbortSignal.any([stop.now, silence.signal]) };
  const retryOptions = { clock, random, signals, mostMs: { audit: silence.mostMs }, onAnswer: silence.onAnswer };
  const endpoints = openNetwork(transports, network, { urls, sendUrl: chain.sendRpc, clock, home: 0, retryOptions });
  stop.now.addEventListener('abort', () => {
    endpoints.monitor.stop();
    void endpoints.close();
  });
  devChain?.ended.then((words) => chainEnded(stop, words)).catch(() => {});
  const nodePid = chain.nodePid ?? devChain?.chainPid() ?? null;
  return { urls, endpoints, nodePid, threads: new SideThreads({ ...context, network, urls }) };
}

/** From the identity of the chain to an engine that is ready. @param {Run<'devChain' | 'network'>} opened */
async function prepare(opened) {
  const planned = append(opened, { plan: await planOf(opened) });
  const ready = append(planned, { setUp: await setUpToStart(planned) });
  // Workers open their own connections.
  if (ready.plan.own.load.workers > 1) await ready.network.endpoints.closeIdle();
  const listening = append(ready, { listeners: await listenersOf(ready) });
  // From now on only the thread that refills has the key.
  listening.keys.funder = listening.setUp.refill = null;
  const run = append(listening, { environment: describeEnvironment(listening) });
  return append(run, { engine: await engineOf(run) });
}

/** The set-up until the load can start: also its block, and the balances. @param {Run<'network' | 'plan'>} run @returns {Promise<SetUp>} */
async function setUpToStart(run) {
  const { config, context, common, isEmbedded } = run;
  const { drain } = context.stop;
  const { confirmations } = config.network;
  const { rpc, identity, monitor } = run.network.endpoints;
  const made = await setUp(run);
  const { chain, wallets, sender } = made;
  const setUpBlock = await confirmSetUp(made, confirmations);
  // The rest of the set-up would be out of date if done minutes before the load.
  await common?.wait({ chainId: chain.chainId, genesisHash: chain.genesisHash ?? null });
  const accounts = wallets.map((wallet, position) => new Account(position, wallet));
  const start = await startBlockOf(made, confirmations, setUpBlock);
  if (isEmbedded) start.periodUs ??= 1e6 * BLOCK_SECONDS;
  const before = sender === null ? NOT_PAID : await balanceOf(rpc, wallets, start.startBlock, 'setup');
  await monitor.waitUntilSynced(drain);
  await identity?.compare(sender === null ? Infinity : start.startBlock, drain);
  return { ...made, accounts, start, before };
}

/** @param {Run<'network' | 'plan' | 'setUp' | 'listeners' | 'environment' | 'engine'>} run */
async function loadAndAudit(run) {
  const { context, network, setUp } = run;
  const { observers } = run.listeners;
  const warn = (/** @type {string} */ words) => context.log.warn(words);
  const watch = watchOf(run, warn);
  context.stop.drain.addEventListener('abort', () => void run.silence.begin(network.endpoints.rpc));
  const checkpoints = new Checkpoints({ ...context, warn });
  try {
    const load = new Load({
      ...{ ...context, ...run.listeners, watch, checkpoints, engine: run.engine },
      times: { ...run.config.load, txTimeoutMs: run.config.network.txTimeoutMs },
      names: namesOf(setUp),
      describeSoFar: (loaded) => describeRun({ ...run, loaded, observed: observers.describe(loaded.stats.facts) }),
      timeOfDayMs: run.times.timeOfDayMs,
      isPlain: run.plan.workload.kind === 'call',
      begin: async () => {
        const loadStartUs = await waitForStart(run, watch);
        observers.begin({ ...toolsOf(run, watch), startUs: loadStartUs });
        return loadStartUs;
      },
    });
    const drained = append(run, await load.run());
    const { facts } = drained.loaded.stats;
    await observers.drained(facts);
    const audited = append(drained, { audited: await auditedOf(drained) });
    return append(audited, { observed: observers.describe(facts) });
  } finally {
    context.onProgress('', 1, 1);
    watch.close();
    network.endpoints.monitor.stop();
    await checkpoints.stop();
  }
}

/** @param {Pick<SetUp, 'identified'>} setUp @returns {string[]} names of the endpoints; empty: one endpoint */
function namesOf({ identified }) {
  return numbered(identified.map(({ display }) => display));
}

/** What reads the probes and warns during the load. @param {Run<'network' | 'plan' | 'setUp'>} run @param {(words: string) => void} warn */
function watchOf({ config, context, network, plan, setUp, warnings }, warn) {
  const { rpc, identity, monitor, health } = network.endpoints;
  const { nodeMetrics: metrics, nodeSeries: series } = config.chain;
  const node = { pid: network.nodePid, metrics, series, insecure: config.network.insecure };
  const { clock, probes, openPages } = context;
  const watch = new Watch({ node, clock, probes, openPages, rpc: setUp.sender === null ? null : rpc, warn, warnings });
  const names = namesOf(setUp);
  warnOfEndpoints(health, watch, names.length > 0 ? names : [rpc.display]);
  // Plain calls show themselves whether the endpoint answers.
  if (identity === null && plan.workload.kind === 'transaction') monitor.begin();
  if (identity !== null && setUp.start.startHash !== null && setUp.start.startBlock === 0)
    watch.warnOf('unconfirmed', 'the endpoints have only block 0: whether they serve one chain is unknown');
  return watch;
}

/** What the observers of a run can use. @param {Run<'engine'>} run @param {Watch} watch */
function toolsOf({ engine, silence }, watch) {
  return {
    noAnswer: silence.signal,
    warnOf: (/** @type {string} */ kind, /** @type {string} */ words) => watch.warnOf(kind, words),
    warnOnce: (/** @type {string} */ kind, /** @type {string} */ words) => watch.warnOnce(kind, words),
    control: controlOf(engine),
  };
}

/** @param {Run} run @param {Watch} watch @returns {Promise<number>} start of the load @throws {StressError} it was stopped before */
async function waitForStart({ common, times, context: { clock, stop } }, watch) {
  const began = await common?.begin();
  throwIfStopped(stop);
  times.begin();
  if (!began) return clock.nowUs();
  times.setTimeOfDay(began.wallMs, began.nowUs);
  if (began.words !== null) watch.warnOf('start', began.words);
  return began.beginUs;
}

/** @param {Run<'network' | 'plan' | 'setUp' | 'listeners' | 'loaded' | 'ledger'>} run @returns {Promise<Audited>} */
async function auditedOf(run) {
  const { context, network, plan, setUp, loaded } = run;
  const { observers } = run.listeners;
  const { rpc } = network.endpoints;
  run.ledger.onStatus = observers.status;
  const paid = paymentsIn(run);
  /** @type {Awaited<ReturnType<typeof auditUnlessAborted>>} */
  let found = { report: null, reason: NOTHING_TO_AUDIT };
  if (plan.workload.kind === 'transaction') {
    context.onProgress('auditing wallets', 0, setUp.accounts.length);
    found = await auditOf(run, plan.workload, paid);
  }
  const noAudit = found.report === null ? found.reason : null;
  const load = { gas: loaded.stats.gas, intervals: loaded.intervals, reorgs: loaded.reorgs };
  await observers.finish({ rpc, audit: found.report, noAudit, isAborted: context.stop.now.aborted, ...load });
  return { ...found, decrease: await decreaseAfter(run, found, paid) };
}

/** The decrease of the balance during the load. @param {Run<'network' | 'setUp'>} run @param {Pick<Audited, 'report' | 'reason'>} audited @param {WalletPayments | null} paid @returns {Promise<Balance>} */
async function decreaseAfter({ network, setUp: { before, wallets } }, { report, reason }, paid) {
  if ('why' in before) return before;
  if (report === null) return { why: `there is no audit: ${reason}` };
  return decreaseBetween(before, await balanceOf(network.endpoints.rpc, wallets, report.blockNumber, 'audit'), paid);
}

/** What the wallets were paid during the load. @param {Run<'listeners'>} run @returns {WalletPayments | null} null: nothing */
function paymentsIn({ config, listeners }) {
  if (config.wallets.refillBelowWei === null) return null;
  const refills = /** @type {{payments?: WalletPayments} | undefined} */ (listeners.observers.all.get('refills'));
  return refills?.payments ?? { why: 'what the funder has paid is not known' };
}

/** @param {Run<'network' | 'setUp' | 'ledger'>} run @param {TransactionWorkload} workload @param {WalletPayments | null} paid */
async function auditOf({ config, context, network, setUp, ledger, silence }, workload, paid) {
  const { load, network: limits } = config;
  const { clock, stop } = context;
  const { accounts, start } = setUp;
  const { rpc, monitor } = network.endpoints;
  const signal = AbortSignal.any([stop.now, silence.signal]);
  // A request that timed out may still arrive within its time limit.
  const timeoutMs = Math.max(load.drainTimeoutMs, limits.requestTimeoutMs);
  const makeAudit = async () => {
    await monitor.waitUntilSynced(signal);
    await assertSameChain(rpc, start);
    const { startBlock } = start;
    return audit({ rpc, clock, accounts, ledger, startBlock, workload, timeoutMs, paid, signal });
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

/** The outputs without a summary are closed before the run file is made: it says what they dropped. @param {Run} run @returns {Promise<Ended>} */
async function endOf({ context: { clock, outputs, stop } }) {
  const streams = outputs.filter(({ finish: isGiven }) => isGiven === undefined);
  const closed = await closeAll(streams, stop);
  for (const { error } of closed) if (error) stop.request('output_failed', error.exitCode, error);
  const samplesDropped = closed.reduce((sum, one) => sum + (one.samplesDropped ?? 0), 0);
  return { end: /** @type {RunFile['end']} */ (stop.reason ?? 'internal'), untilUs: clock.nowUs(), samplesDropped };
}

/** One after the other. @param {Output[]} outputs @param {Stop} stop */
async function closeAll(outputs, stop) {
  /** @type {Closed[]} */
  const closed = [];
  for (const output of outputs) closed.push((await output.close?.(stop.now)) ?? {});
  return closed;
}

/** @param {Run<'environment' | 'listeners' | 'loaded' | 'ledger' | 'ended'>} run @returns {Promise<number>} the exit code */
async function finish(run) {
  const { outputs, stop } = run.context;
  const runFile = describeRun(run);
  await run.listeners.observers.concluded(runFile);
  const errors = await toOutputs(outputs, runFile);
  for (const error of errors) stop.request('output_failed', error.exitCode, error);
  logProblems(run, runFile);
  return worstExit([runFile.exitCode ?? EXIT.ok, ...errors.map(({ exitCode }) => exitCode)]);
}

/** CI servers read the files of a run that ended in its set-up as well, and a study what it has paid. @param {Run} run @param {unknown} error @returns {Promise<never>} */
async function fail(run, error) {
  const { context, costs, times } = run;
  const isReported = (/** @type {StressError} */ { exitCode }) =>
    REPORTED_EXIT_CODES.includes(exitCode) || costs.spentWei + costs.openWei > 0n;
  if (!times.hasBegun() && error instanceof StressError && isReported(error)) {
    const unwritten = await toOutputs(context.outputs, describeFailedSetUp(run, error));
    for (const { message } of unwritten) context.log.error(message);
  }
  throw error;
}

/** @param {Run} run */
async function close({ context, silence, network, devChain }) {
  silence.end();
  network?.endpoints.monitor.stop();
  await network?.threads.close();
  await network?.endpoints.close();
  await closeAll(context.outputs, context.stop);
  // Last, because its end ends the run at once.
  await devChain?.stop();
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

/** Logs one line per problem, after the summary. @param {Run<'ledger'>} ended @param {RunFile} run */
function logProblems({ context: { log, stop }, ledger: { foreign }, warnings: logged }, run) {
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
