import { audit } from './audit.js';
import { describeEnvironment, describeInstance } from './environment.js';
import { randomInt, randomUUID } from 'node:crypto';
import { unconfirmedIdentityWords } from '../chain/chain-identity.js';
import { startDevChain } from '../chain/devchain.js';
import { describeEndpoints, threadStatsOf } from '../chain/endpoints.js';
import { describeForeign, indexRanges } from '../chain/funding.js';
import { EXIT, InternalError, StressError, UnavailableError, worstExit, ProtocolError, RpcError } from '../errors.js';
import { auditWarning } from '../stats/audit-result.js';
import { shortWindow } from '../stats/growth.js';
import { merge } from '../stats/merge.js';
import { GENERATOR } from '../stats/metrics.js';
import { numbered } from '../text.js';
import { buildPartialRunFile, buildRunFile } from '../stats/run-file.js';
import { createWorkload } from '../workloads/index.js';
import { CommonStart } from './common-start.js';
import { abandonable, checkDescriptors, interruptible, openNetwork, readKeys, warnOfEndpoints } from './connect.js';
import { NOT_PAID, balanceOf, capReached, describeSpending, decreaseBetween } from './costs.js';
import { WarmUp, load } from './load.js';
import { Account } from './nonces.js';
import { Checkpoints, Watch, writeFailedSetUp } from './reports.js';
import { confirmSetUp, setUp, setUpCalls, startBlockOf, assertSameChain } from './setup.js';
import { createEngine } from './workers.js';
import { workersOf } from './config.js';

/**
 * @import { AuditReport, Chosen, Clock, Config, DevChain, Engine, InstanceFacts, Output, RateStage, Rpc, RunFile, RunParts, Sender, Surroundings, Workload } from '../types.d.ts'
 * @import { ChainIdentity } from '../chain/chain-identity.js'
 * @import { StartFacts } from './common-start.js'
 * @import { GivenKeys } from './connect.js'
 * @import { Balance } from './costs.js'
 * @import { Foreign, Ledger } from './ledger.js'
 * @import { LoadSoFar } from './load.js'
 * @import { Stop } from './stop.js'
 * @import { Schedule } from './pacer.js'
 * @import { Ready, StartBlock } from './setup.js'
 * @import { Logger } from 'pino'
 */

/**
 * Waits until the outputs have written their samples.
 * @param {Output[]} outputs
 * @returns {Promise<{samplesDropped: number, errors: StressError[]}>} samplesDropped: the disk was too slow for them
 */
async function settleAll(outputs) {
  let samplesDropped = 0;
  /** @type {StressError[]} */
  const errors = [];
  for (const output of outputs) {
    const settled = await output.settle?.();
    samplesDropped += settled?.samplesDropped ?? 0;
    if (settled?.error) errors.push(settled.error);
  }
  return { samplesDropped, errors };
}

/**
 * Gives the run file to every output, even if one fails.
 * @param {Output[]} outputs
 * @param {RunFile} runFile
 * @returns {Promise<StressError[]>}
 */
async function finishAll(outputs, runFile) {
  /** @type {StressError[]} */
  const errors = [];
  for (const output of outputs) {
    try {
      await output.finish(runFile);
    } catch (error) {
      errors.push(error instanceof StressError ? error : new InternalError(unexpected(error), error));
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
 * @param {Logger} log
 * @param {Stop} stop
 * @param {Ledger} ledger
 * @param {RunFile} run
 * @param {string[]} logged warnings given during the run
 */
function logProblems(log, stop, { foreign }, run, logged) {
  const messages = [...new Set(stop.errors.splice(0).map((error) => error.message))];
  for (const message of messages) log.error(message);
  if (foreign.length > 0) log.error(foreignSender(foreign));
  // Warnings not logged yet are logged as errors, so that --quiet shows them too. The summary has the one about a short
  // window.
  const known = [...logged, shortWindow(run)?.words];
  for (const warning of run.warnings) if (!known.includes(warning)) log.error(warning);
  const warning = auditWarning(run);
  if (warning !== null && !messages.some((message) => warning.endsWith(message))) log.error(warning);
  const unfunded = run.failures?.insufficient_funds ?? 0;
  if (unfunded > 0)
    log.error(
      `${unfunded} operation${unfunded === 1 ? '' : 's'} failed: a wallet had insufficient funds; set a higher --fund-amount`,
    );
  const failed = run.thresholds.filter(({ passed }) => !passed);
  if (failed.length > 0) {
    const names = failed.map(({ expression }) => expression).join(', ');
    log.error(`${failed.length} of ${run.thresholds.length} thresholds failed: ${names}`);
  }
}

/** @param {Foreign[]} foreign */
function foreignSender(foreign) {
  const indexes = foreign.map(({ walletIndex }) => walletIndex);
  return describeForeign(`wallets ${indexRanges(indexes)}`, foreign[0]);
}

/** No operation in flight can end any more. @param {Stop} stop @param {string} words */
function chainEnded(stop, words) {
  const error = new UnavailableError(`the embedded chain ended: ${words}`);
  stop.request('chain_ended', EXIT.unavailable, error);
  stop.abort(error.message);
}

/**
 * @param {Ready['chain']} chain
 * @param {Sender | null} sender
 * @returns {Record<string, string>} why figures are null, by JSON pointer
 */
function missingFacts({ clientVersion, genesisHash, chainId, roundTripMs }, sender) {
  const notAsked = 'plain calls do not need it';
  /** @type {Record<string, string>} */
  const reasons = {};
  if (clientVersion === null) reasons['/environment/clientVersion'] = 'the node does not answer web3_clientVersion';
  if (chainId === null) reasons['/environment/chainId'] = 'the endpoint does not answer eth_chainId';
  if (roundTripMs === null) reasons['/environment/roundTripMs'] = 'the endpoint does not answer eth_chainId';
  if (genesisHash === null) reasons['/environment/genesisHash'] = 'the node does not serve its first block';
  if (sender === null) {
    for (const name of ['genesisHash', 'blockGasLimit', 'feeMode', 'signer', 'inclusion'])
      reasons[`/environment/${name}`] = notAsked;
    reasons['/generator/inclusionResolutionMs'] = notAsked;
    reasons['/generator/headSource'] = notAsked;
  }
  return reasons;
}

/**
 * The schedule of the pacer.
 * @param {Pick<Config, 'ratePerSecond' | 'stages' | 'arrival' | 'warmupMs'>} config
 * @returns {Schedule | null} null: closed loop
 */
export function scheduleOf({ ratePerSecond, stages, arrival, warmupMs }) {
  const wanted = stages ?? (ratePerSecond === null ? null : [constant(ratePerSecond, Infinity)]);
  if (wanted === null) return null;
  // The warm-up uses the first rate of the window; an automatic one has no stages after it.
  const before = warmupMs !== 'auto' && warmupMs > 0 ? [constant(wanted[0].fromPerSecond, warmupMs * 1000)] : [];
  const schedule = { stages: [...before, ...wanted], seed: randomInt(1, 2 ** 32) };
  return { ...schedule, arrival: arrival ?? 'uniform', ...(stages === null ? {} : { firstStage: before.length }) };
}

/** @param {number} perSecond @param {number} durationUs @returns {RateStage} */
function constant(perSecond, durationUs) {
  return { fromPerSecond: perSecond, toPerSecond: perSecond, durationUs };
}

const NOTHING_TO_AUDIT = 'plain calls leave nothing on the chain to audit';

const STILL_RUNNING = Object.freeze({ why: 'the run was still running when this file was written' });

/**
 * Assembles one run: chain, set-up, load, drain, audit, summary.
 * @param {Config} config
 * @param {Surroundings} surroundings
 * @returns {Promise<number>} the exit code
 */
export async function run(config, surroundings) {
  const { clock, stop, outputs } = surroundings;
  const given = readKeys(config);
  const times = startOf(clock);
  const notice = (/** @type {string} */ line) => outputs.forEach((output) => output.notice(line));
  const workers = workersOf(config);
  const common = new CommonStart({ id: times.id, config, clock, stop, notice, workers });
  checkDescriptors(config.connections * Math.max(1, config.rpc.length), workers);
  /** @type {DevChain | null} */
  let devChain = null;
  /** @type {ReturnType<typeof connect> | null} */
  let network = null;
  let areOpen = false;
  try {
    for (const output of outputs) await output.open?.();
    areOpen = true;
    await common.open();
    if (config.rpc.length === 0) devChain = await startDevChain(clock);
    const opened = connect(config, devChain === null ? [...config.rpc] : [devChain.url], surroundings);
    network = opened;
    stop.now.addEventListener('abort', () => {
      opened.monitor.stop();
      void opened.transport.close();
    });
    devChain?.ended.then((words) => chainEnded(stop, words)).catch(() => {});
    const [embedded, nodePid] = [devChain !== null, config.nodePid ?? devChain?.chainPid() ?? null];
    return await runOn({ config, given, ...opened, embedded, nodePid, common, ...times, ...surroundings });
  } catch (error) {
    const endpoints = network?.endpoints ?? null;
    if (areOpen && !times.hasBegun()) await writeFailedSetUp(error, { ...surroundings, config, times, endpoints });
    throw error;
  } finally {
    network?.monitor.stop();
    await network?.transport.close();
    await devChain?.stop();
    for (const output of outputs) await output.close?.();
  }
}

/** @param {Config} config @param {URL[]} urls @param {Pick<Surroundings, 'clock' | 'stop'>} surroundings */
function connect(config, urls, { clock, stop }) {
  const retryOptions = {
    clock,
    signals: { setup: stop.drain, audit: stop.now },
    mostMs: { audit: Math.max(config.drainTimeoutMs, config.requestTimeoutMs) },
  };
  const endpoints = openNetwork(config, { urls, clock, home: 0, spread: config.spread, retryOptions });
  const { monitor, identity: chainIdentity, rpc, transport } = endpoints;
  return { urls, endpoints, monitor, chainIdentity, rpc, transport };
}

/** @param {Clock} clock */
export function startOf(clock) {
  const startedUs = clock.nowUs();
  let aheadMs = clock.wallMs() - startedUs / 1000;
  let hasBegun = false;
  return {
    id: randomUUID(),
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
 * @typedef {Surroundings & ReturnType<typeof startOf> & ReturnType<typeof connect> & {config: Config, given: GivenKeys, embedded: boolean, nodePid: number | null, common: CommonStart}} RunContext
 * @typedef {Awaited<ReturnType<typeof execute>>} Execution
 */

/** @param {RunContext} context @returns {Promise<number>} */
async function runOn(context) {
  const { config, clock, outputs, stop, log } = context;
  const carriedOut = await execute(context);
  const { samplesDropped, errors } = await settleAll(outputs);
  for (const error of errors) stop.request('output_failed', error.exitCode, error);
  if (stop.reason === 'max_spend') stop.request('max_spend', EXIT.refused, capReached(config, carriedOut));
  const facts = { untilUs: clock.nowUs(), end: stop.reason ?? 'unknown', samplesDropped };
  const runFile = buildRunFile(describe(context, carriedOut, facts));
  const unwritten = await finishAll(outputs, runFile);
  for (const error of unwritten) stop.request('output_failed', error.exitCode, error);
  logProblems(log, stop, carriedOut.loaded.ledger, runFile, carriedOut.warnings);
  return worstExit([runFile.exitCode, ...unwritten.map((error) => error.exitCode)]);
}

/** @param {RunContext} context */
async function execute(context) {
  const { config, urls, transport, rpc, monitor, chainIdentity, clock, stop } = context;
  const { connect } = context.endpoints;
  const workload = await abandonable(stop, () =>
    createWorkload(config.workload, { rpc, settings: config, clock, connect, create: context.create }),
  );
  /** @type {Awaited<ReturnType<ChainIdentity['identify']>>} */
  let endpoints = [];
  const ready = await interruptible(stop, transport, async () => {
    if (chainIdentity !== null) endpoints = await chainIdentity.identify(urls, config, stop.drain);
    if (chainIdentity !== null) monitor.begin();
    return workload.kind === 'call' ? setUpCalls(context, rpc, workload) : setUp(context, rpc, workload);
  });
  const { wallets, sender, costs, inclusion } = ready;
  const retryOptions = { clock, confirmations: config.confirmations, signal: stop.drain };
  const setUpBlock = await confirmSetUp(rpc, ready, retryOptions);
  // The rest of the set-up would be out of date if done minutes before the load.
  await context.common.wait({ chainId: ready.chain.chainId, genesisHash: ready.chain.genesisHash ?? null });
  const accounts = wallets.map((wallet, position) => new Account(position, wallet));
  const start = await startBlockOf(rpc, ready, { ...retryOptions, setUpBlock });
  const before = sender === null ? NOT_PAID : await balanceOf(rpc, wallets, start.startBlock, 'setup');
  await monitor.waitUntilSynced(stop.drain);
  const unconfirmed = (await chainIdentity?.compare(stop.drain)) ?? [];
  chainIdentity?.begin(start);

  // Workers open their own connections.
  if (workersOf(config) > 1) await transport.closeIdle();
  const schedule = scheduleOf(config);
  const loadParts = { accounts, workload, sender, start, inclusion, schedule, capWei: costs.leftWei };
  const { chain } = ready;
  const facts = workload.facts?.() ?? {};
  const environment = describeEnvironment({ ...context, endpoints, chain, sender, inclusion, facts });
  const warmUp = config.warmupMs === 'auto' ? warmUpOf(context, schedule !== null, workload) : null;
  const engine = await createEngine({ ...context, ...loadParts, warmUp });
  // Worker threads would keep the process alive.
  try {
    return await loadAndAudit(context, {
      workload,
      ready,
      start,
      before,
      schedule,
      accounts,
      environment,
      engine,
      warmUp,
      names: numbered(endpoints.map(({ display }) => display)),
      warning: unconfirmed.length > 0 && sender !== null ? unconfirmedIdentityWords(unconfirmed) : null,
    });
  } finally {
    await engine.close();
  }
}

/** @param {RunContext} context @param {boolean} isOpenLoop @param {Workload} workload */
function warmUpOf({ config, clock }, isOpenLoop, { kind }) {
  const operations = config.threads * config.inFlight;
  const hasBlocks = kind === 'transaction';
  return new WarmUp({ clock, operations, isOpenLoop, hasBlocks, mostMs: config.txTimeoutMs });
}

/**
 * @param {RunContext} context
 * @param {object} prepared
 * @param {Workload} prepared.workload
 * @param {Ready} prepared.ready
 * @param {StartBlock} prepared.start
 * @param {Balance} prepared.before before the load
 * @param {Schedule | null} prepared.schedule
 * @param {Account[]} prepared.accounts
 * @param {ReturnType<typeof describeEnvironment>} prepared.environment
 * @param {Engine} prepared.engine
 * @param {WarmUp | null} prepared.warmUp
 * @param {string[]} prepared.names of the endpoints
 * @param {string | null} prepared.warning about the endpoints
 */
async function loadAndAudit(context, { workload, ready, start, schedule, accounts, environment, ...others }) {
  const { config, urls, rpc, monitor, clock, outputs, stop } = context;
  const { engine, warmUp, names, warning, before } = others;
  const watch = new Watch({
    config: { ...config, nodePid: context.nodePid },
    clock,
    urls,
    rpc: ready.sender === null ? null : rpc,
    warn: (words) => context.log.warn(words),
    isEmbedded: context.embedded && config.nodePid === null,
  });
  warnOfEndpoints(context.endpoints.health, watch, names.length > 0 ? names : [rpc.display]);
  // Plain calls show themselves whether the endpoint answers.
  if (context.chainIdentity === null && workload.kind === 'transaction') monitor.begin();
  if (warning !== null) watch.warnOf('unconfirmed', warning);
  const valueWei = workload.kind === 'transaction' ? workload.valueWei : 0n;
  const described = { ready, environment, schedule, warnings: watch.warnings, valueWei };
  const checkpoints = new Checkpoints({ clock, outputs, stop, warn: (words) => context.log.warn(words) });
  /** @param {LoadSoFar} loaded */
  const describeSoFar = (loaded) => {
    const facts = { untilUs: loaded.untilUs, end: 'running', samplesDropped: null };
    const soFar = { ...described, loaded, audited: { report: null, reason: '' }, decrease: STILL_RUNNING };
    return buildPartialRunFile(describe(context, soFar, facts));
  };
  let audited = { report: /** @type {AuditReport | null} */ (null), reason: NOTHING_TO_AUDIT };
  try {
    const { timeOfDayMs } = context;
    const about = { names, checkpoints, describeSoFar, timeOfDayMs, begin: () => waitForStart(context, watch) };
    const isPlain = workload.kind === 'call';
    const loadOptions = { config, clock, outputs, stop, engine, watch, warmUp, isPlain, ...about };
    const loaded = await load(loadOptions);
    const { ledger } = loaded;
    const parts = { rpc, clock, accounts, ledger, startBlock: start.startBlock };
    if (workload.kind === 'transaction') {
      await monitor.waitUntilSynced(stop.now);
      audited = await auditUnlessAborted({ ...parts, workload }, start, config, stop);
    }
    const decrease = await decreaseAfter(rpc, ready, before, audited);
    return { ...described, loaded, audited, decrease };
  } finally {
    watch.close();
    monitor.stop();
    await checkpoints.stop();
  }
}

/**
 * The decrease of the balance during the load.
 * @param {Rpc} rpc
 * @param {Ready} ready
 * @param {Balance} before
 * @param {{report: AuditReport | null, reason: string}} audited
 */
async function decreaseAfter(rpc, { wallets }, before, { report, reason }) {
  if ('why' in before) return before;
  if (report === null) return { why: `there is no audit: ${reason}` };
  return decreaseBetween(before, await balanceOf(rpc, wallets, report.blockNumber, 'audit'));
}

/** @param {RunContext} context @param {Watch} watch @returns {Promise<number>} start of the load */
async function waitForStart({ common, clock, setTimeOfDay, begin }, watch) {
  const began = await common.begin();
  begin();
  if (began === null) return clock.nowUs();
  setTimeOfDay(began.wallMs, began.nowUs);
  if (began.words !== null) watch.warnOf('start', began.words);
  return began.beginUs;
}

/**
 * @param {RunContext} context
 * @param {Omit<Execution, 'loaded'> & {loaded: Omit<Execution['loaded'], 'ledger'>}} carriedOut
 * @param {{untilUs: number, end: string, samplesDropped: number | null}} facts
 * @returns {RunParts}
 */
function describe(context, { ready, environment, schedule, loaded, audited, warnings, ...money }, facts) {
  const { config, stop } = context;
  const { chain, sender } = ready;
  const { stats, window, intervals, windowStartedAtMs } = loaded;
  const { failureWords, reorgs, spending: spent, ...engineStats } = loaded.engineStats;
  const spending = describeSpending(config, ready, spent, { ...money, report: audited.report });
  const own = threadStatsOf(context.endpoints);
  // Workers have connections of their own.
  const { endpoints, ...traffic } = workersOf(config) > 1 ? merge(GENERATOR, own, loaded.traffic) : own;
  const { health } = context.endpoints;
  return {
    id: context.id,
    startedAtMs: context.timeOfDayMs(context.startedUs),
    endedAtMs: context.timeOfDayMs(facts.untilUs),
    end: facts.end,
    exitCodes: [
      ...stop.exitCodes,
      audited.report?.result === 'not_exact' ? EXIT.notExact : EXIT.ok,
      stats.counts.verified === 0 ? EXIT.nothingVerified : EXIT.ok,
    ],
    config: config.redacted,
    instance: describeInstance(config, context.common.facts()),
    environment,
    stats,
    durationUs: Math.max(0, Math.min(window.endUs, facts.untilUs) - window.startUs),
    intervals,
    windowStartedAtMs,
    failureWords,
    reorgs,
    warnings,
    generator: {
      ...loaded.generator,
      ...engineStats,
      workers: workersOf(config),
      ...traffic,
      endpoints: describeEndpoints(health, endpoints, loaded.loadStartUs),
      outages: health.outages(loaded.loadStartUs),
      samplesDropped: facts.samplesDropped,
      arrivalSeed: schedule?.arrival === 'poisson' ? schedule.seed : null,
    },
    isOpenLoop: schedule !== null,
    schedule,
    thresholds: config.thresholds,
    audit: audited.report,
    spending: spending.facts,
    unmeasured: {
      ...(audited.report === null ? { '/audit': audited.reason } : {}),
      ...(traffic.batches.why === null ? { '/generator/batches/why': 'no batch was refused' } : {}),
      ...missingFacts(chain, sender),
      ...spending.unmeasured,
    },
  };
}

/**
 * @param {Omit<Parameters<typeof audit>[0], 'timeoutMs' | 'signal'>} parts
 * @param {StartBlock} start
 * @param {Pick<Config, 'drainTimeoutMs' | 'requestTimeoutMs'>} config
 * @param {Stop} stop
 * @returns {Promise<{report: AuditReport | null, reason: string}>} reason: why there is no report
 */
export async function auditUnlessAborted(parts, start, { drainTimeoutMs, requestTimeoutMs }, stop) {
  const aborted = () => ({ report: null, reason: stop.abortReason ?? '' });
  if (stop.now.aborted) return aborted();
  try {
    await assertSameChain(parts.rpc, start);
    // A request that timed out may still arrive within its time limit.
    const timeoutMs = Math.max(drainTimeoutMs, requestTimeoutMs);
    return { report: await audit({ ...parts, timeoutMs, signal: stop.now }), reason: '' };
  } catch (error) {
    if (stop.now.aborted) return aborted();
    // The endpoint cannot serve the audit: pruned state or a missing method.
    const isAnswer = (error instanceof RpcError || error instanceof ProtocolError) && !error.isBusy;
    if (isAnswer) return { report: null, reason: error.message };
    const known = error instanceof StressError ? error : new InternalError(unexpected(error), error);
    stop.request('audit_failed', known.exitCode, known);
    return { report: null, reason: known.message };
  }
}
