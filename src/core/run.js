import { randomUUID } from 'node:crypto';
import { BLOCK_SECONDS, startDevChain } from '../chain/devchain.js';
import { describeForeign } from '../chain/funding.js';
import { isBusy } from '../chain/refusals.js';
import { waitForEndpoints } from '../chain/wait-for.js';
import { ConsistencyCheck } from '../consistency/index.js';
import { EXIT, InternalError, ProtocolError, RpcError, StressError, UnavailableError, worstExit } from '../errors.js';
import { auditWarning } from '../stats/audit-result.js';
import { cutShort, shortWindow } from '../stats/growth.js';
import { STILL_RUNNING } from '../stats/run-file.js';
import { IntervalLog } from '../stats/stats.js';
import { Throughput } from '../stats/throughput.js';
import { indexRanges, numbered } from '../text.js';
import { createWorkload } from '../workloads/index.js';
import { audit } from './audit.js';
import { engineConfigOf, rateOf, scheduleOf, settingsOf, workersOf } from './config.js';
import { abandonable, checkDescriptors, interruptible, openNetwork, readKeys, warnOfEndpoints } from './connect.js';
import { NOT_PAID, balanceOf, decreaseBetween } from './costs.js';
import { describeEnvironment, describeFailedSetUp, describeRun } from './describe.js';
import { GasRate, OwnBlocks } from './gas-rate.js';
import { chooseRungs, findBroken } from './ladder.js';
import { Load, WarmUp } from './load.js';
import { mixEngines, openCalls, splitLoad } from './mixed-engine.js';
import { Account } from './nonces.js';
import { Checkpoints, Watch } from './reports.js';
import { assertSameChain, confirmSetUp, setUp, setUpCalls, startBlockOf } from './setup.js';
import { SideThreads } from './side-thread.js';
import { createEngine } from './workers.js';

/**
 * @import { DevChain, EngineConfig, Rpc, SeenBlock } from '../contracts/chain.d.ts'
 * @import { Clock, CommonStart, Config, Log, Stop, Surroundings, Workload } from '../contracts/load.d.ts'
 * @import { Closed, Output } from '../contracts/output.d.ts'
 * @import { AuditReport, BrokenPromises, RunFile, Rung } from '../contracts/run-file.d.ts'
 * @import { Endpoints } from '../chain/endpoints.js'
 * @import { GivenKeys } from './connect.js'
 * @import { Balance } from './costs.js'
 * @import { Ledger } from './ledger.js'
 * @import { Loaded, LoadSoFar } from './load.js'
 * @import { EngineParts } from './workers.js'
 * @import { ChainTools } from './engine.js'
 * @import { Ready, StartBlock } from './setup.js'
 */

/**
 * One run. It goes through three phases: everything is opened, the load is prepared (wallets, contracts, engine), then
 * the load runs and is audited. Each phase has one object with what it made.
 *
 * @typedef {object} Opened
 * @property {Times} times
 * @property {GivenKeys} given
 * @property {number} workers
 * @property {EngineConfig} engineConfig
 * @property {(line: string) => void} notice
 * @property {CommonStart | null} common
 * @property {URL[]} urls
 * @property {Endpoints} endpoints
 * @property {boolean} isEmbedded
 * @property {number | null} nodePid
 * @property {SideThreads} threads
 *
 * @typedef {Awaited<ReturnType<typeof prepare>>} Prepared
 *
 * @typedef {ReturnType<typeof startOf>} Times
 */

/** Exit codes for which the outputs are written although the run ended before its load. @type {readonly number[]} */
const REPORTED_EXIT_CODES = Object.freeze([EXIT.unavailable, EXIT.refused]);

const NOTHING_TO_AUDIT = 'plain calls leave nothing on the chain to audit';

/** @param {Config} config @param {Surroundings} surroundings @returns {Promise<number>} the exit code */
export async function run(config, surroundings) {
  const { clock, stop, outputs } = surroundings;
  const given = readKeys(config);
  const times = startOf(clock);
  const workers = workersOf(config);
  const engineConfig = engineConfigOf(config);
  const isEmbedded = config.rpc.length === 0;
  const notice = (/** @type {string} */ line) => outputs.forEach((output) => output.notice?.(line));
  const common = surroundings.beforeLoad?.({ id: times.id, config, clock, stop, notice }) ?? null;
  const endpointsInUse = Math.max(1, config.rpc.length) + (config.sendRpc === null ? 0 : 1);
  checkDescriptors(config.connections * endpointsInUse, workers);
  /** @type {DevChain | null} */
  let devChain = null;
  /** @type {Endpoints | null} */
  let endpoints = null;
  /** @type {SideThreads | null} */
  let threads = null;
  let areOpen = false;
  try {
    for (const output of outputs) await output.open?.();
    areOpen = true;
    await common?.open();
    if (isEmbedded) devChain = await startDevChain(clock);
    const urls = devChain === null ? [...config.rpc] : [devChain.url];
    const mostMs = { audit: Math.max(config.drainTimeoutMs, config.requestTimeoutMs) };
    const retryOptions = { clock, signals: { setup: stop.drain, audit: stop.now }, mostMs };
    const opened = openNetwork(engineConfig, { urls, sendUrl: config.sendRpc, clock, home: 0, retryOptions });
    endpoints = opened;
    stop.now.addEventListener('abort', () => {
      opened.monitor.stop();
      void opened.close();
    });
    devChain?.ended.then((words) => chainEnded(stop, words)).catch(() => {});
    threads = new SideThreads({ config: engineConfig, urls, clock });
    const nodePid = config.nodePid ?? devChain?.chainPid() ?? null;
    const asked = { times, given, workers, engineConfig, notice, common, isEmbedded };
    const own = { ...asked, urls, endpoints: opened, nodePid, threads };
    const prepared = await prepare(config, surroundings, own);
    // Worker threads would keep the process alive.
    const done = await loadAndAudit(config, surroundings, own, prepared).finally(() => prepared.engine.close());
    const closed = await closeAll(outputs.filter(({ finish: isGiven }) => isGiven === undefined));
    for (const { error } of closed) if (error) stop.request('output_failed', error.exitCode, error);
    const samplesDropped = closed.reduce((sum, one) => sum + (one.samplesDropped ?? 0), 0);
    const end = /** @type {RunFile['end']} */ (stop.reason ?? 'internal');
    const ended = { ...done, untilUs: clock.nowUs(), end, samplesDropped };
    const runFile = describeRun(config, surroundings, own, prepared, ended);
    return await finish(runFile, surroundings, done);
  } catch (error) {
    // CI servers read the files of such a run as well.
    if (areOpen && !times.hasBegun() && error instanceof StressError && REPORTED_EXIT_CODES.includes(error.exitCode)) {
      const opened = { times, workers, common, isEmbedded, endpoints };
      const unwritten = await toOutputs(outputs, describeFailedSetUp(error, config, surroundings, opened));
      for (const { message } of unwritten) surroundings.log.error(message);
    }
    throw error;
  } finally {
    endpoints?.monitor.stop();
    await threads?.close();
    await endpoints?.close();
    await devChain?.stop();
    await closeAll(outputs);
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
 * @param {Surroundings} surroundings
 * @param {Opened} opened
 */
async function prepare(config, surroundings, opened) {
  const { clock, outputs, stop, create } = surroundings;
  const { urls, endpoints, workers, engineConfig } = opened;
  const { rpc, connect, identity, monitor } = endpoints;
  const { chainId, allowChain, confirmations } = config;
  const { own, calls } = splitLoad(config);
  /** @type {SideThreads['open']} */
  const openThread = (...given) => opened.threads.open(...given);
  const workload = await abandonable(stop, () =>
    createWorkload(own.workload, { rpc, settings: own, clock, connect, create, openThread }),
  );
  const ratePerSecond = rateOf(own, workload);
  const schedule = scheduleOf({ ...config, ratePerSecond: calls === null ? ratePerSecond : config.ratePerSecond });
  /** @type {Awaited<ReturnType<NonNullable<typeof identity>['identify']>>} */
  let identified = [];
  const ready = await interruptible(stop, endpoints, async () => {
    const wait = { clock, signal: stop.drain, notice: opened.notice };
    if (!opened.isEmbedded) await waitForEndpoints(config, { urls, endpoints, ...wait });
    if (identity !== null) {
      identified = await identity.identify(urls, { chainId, allowChain }, stop.drain);
      monitor.begin();
    }
    return workload.kind === 'call'
      ? setUpCalls(own, surroundings, opened, workload)
      : setUp(own, surroundings, opened, workload);
  });
  const { wallets, sender } = ready;
  const addresses = async () => wallets.map(({ address }) => address);
  const { notice } = opened;
  const beside = calls && (await openCalls(calls, { rpc, clock, connect }, { chain: ready.chain, addresses, notice }));
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
  if (workers > 1) await endpoints.closeIdle();
  const warmUp = warmUpOf(config, { clock, rpc, wallets, workload, ratePerSecond, isOpenLoop: schedule !== null });
  const names = numbered(identified.map(({ display }) => display));
  const isFollowed = config.ladder.length > 0 && ready.inclusion !== null;
  const ladder = isFollowed ? await chooseRungs(rpc, config.ladder, ready.inclusion?.name === 'sync') : null;
  const facts = { ...workload.facts?.(), ...(beside !== null && { calls: beside.facts }) };
  const environment = describeEnvironment(config, surroundings, opened, ready, identified, facts);
  const check = config.check.length === 0 ? null : new ConsistencyCheck(openThread, config.checkShare);
  await abandonable(stop, async () => check?.ready);
  const throughput = new Throughput(new IntervalLog());
  const ownBlocks = new OwnBlocks();
  const listeners = { onBlock: blockListener(warmUp, throughput, ownBlocks), onOperation: check?.add };
  const parts = { endpoints, urls, sendUrl: config.sendRpc, workers, clock, stop, outputs, ...listeners };
  const engine = await createEngines(parts, {
    transactions: {
      config: { ...engineConfig, connections: own.connections },
      schedule: scheduleOf({ ...own, ratePerSecond }, schedule?.seed),
      accounts,
      workload,
      settings: settingsOf(own),
      chain: chainToolsOf(ready, start, confirmations, ladder?.rungs),
    },
    calls: calls && {
      config: { ...engineConfig, connections: calls.connections },
      // With the same seed both sides would have their bursts together.
      schedule: scheduleOf(calls, schedule === null ? undefined : schedule.seed + 1),
      .../** @type {NonNullable<typeof beside>} */ (beside),
      settings: settingsOf(calls),
      chain: null,
    },
  });
  const valueWei = workload.kind === 'transaction' ? workload.valueWei : 0n;
  const made = { environment, valueWei, workload, schedule, accounts, start, before, engine, names, check };
  return { ready, ladder, warmUp, throughput, ownBlocks, ...made };
}

/** @param {WarmUp | null} warmUp @param {Throughput} throughput @param {OwnBlocks} ownBlocks @returns {(block: SeenBlock) => void} */
function blockListener(warmUp, throughput, ownBlocks) {
  return (block) => {
    warmUp?.onBlock(block);
    throughput.addBlock(block);
    ownBlocks.add(block);
  };
}

/**
 * @typedef {'config' | 'schedule' | 'accounts' | 'workload' | 'settings' | 'chain'} OfEngine
 *
 * @param {Omit<EngineParts, OfEngine>} parts
 * @param {{transactions: Pick<EngineParts, OfEngine>, calls: Pick<EngineParts, OfEngine> | null}} loads transactions: or plain calls alone
 */
async function createEngines(parts, { transactions, calls }) {
  const engine = await createEngine({ ...parts, ...transactions });
  if (calls === null) return engine;
  // In one thread both use the same connections, whose traffic counts once.
  const endpoints = { ...parts.endpoints, stats: () => /** @type {any} */ ({}) };
  const own = { ...parts, ...calls, endpoints, onBlock: undefined, onOperation: undefined };
  return mixEngines([engine, await createEngine(own)]);
}

/**
 * @param {Config} config
 * @param {object} known
 * @param {Clock} known.clock
 * @param {Rpc} known.rpc
 * @param {Ready['wallets']} known.wallets
 * @param {Workload} known.workload
 * @param {number | null} known.ratePerSecond
 * @param {boolean} known.isOpenLoop
 * @returns {WarmUp | null} null: none, or one of a given length
 */
function warmUpOf(config, { rpc, wallets, workload, ratePerSecond, ...known }) {
  const { gasPerSecond, txTimeoutMs: mostMs } = config;
  if (config.warmupMs !== 'auto') return null;
  const operations = config.threads * config.inFlight;
  const mixed = { first: operations, isMix: config.mix.length > 1 };
  const isAsked = gasPerSecond !== null && ratePerSecond !== null;
  const gas = isAsked ? new GasRate(gasPerSecond, ratePerSecond, rpc, wallets, mixed) : null;
  return new WarmUp({ ...known, operations, hasBlocks: workload.kind === 'transaction', mostMs, gas });
}

/** @param {Ready} ready @param {StartBlock} start @param {number} confirmations @param {Rung[]} [rungs] @returns {ChainTools | null} */
function chainToolsOf({ sender, inclusion, costs }, start, confirmations, rungs) {
  if (sender === null || inclusion === null) return null;
  const { chainId, fees, signer } = sender;
  return { chainId, fees, signer, inclusion: inclusion.name, ...start, confirmations, rungs, capWei: costs.leftWei };
}

/** @param {Config} config @param {Surroundings} surroundings @param {Opened} opened @param {Prepared} prepared */
async function loadAndAudit(config, surroundings, opened, prepared) {
  const { clock, stop, log, onProgress } = surroundings;
  const { ready, workload, check, names } = prepared;
  const { rpc, identity, monitor, health } = opened.endpoints;
  const { nodeMetrics: metrics, nodeSeries: series, insecure } = config;
  const warn = (/** @type {string} */ words) => log.warn(words);
  const node = { pid: opened.nodePid, metrics, series, insecure };
  const watch = new Watch({ node, clock, rpc: ready.sender === null ? null : rpc, warn });
  const { warnings } = watch;
  warnOfEndpoints(health, watch, names.length > 0 ? names : [rpc.display]);
  // Plain calls show themselves whether the endpoint answers.
  if (identity === null && workload.kind === 'transaction') monitor.begin();
  if (identity !== null && prepared.start.startHash !== null && prepared.start.startBlock === 0)
    watch.warnOf('unconfirmed', 'the endpoints have only block 0: whether they serve one chain is unknown');
  for (const [rung, words] of Object.entries(prepared.ladder?.lacks ?? {}))
    if (config.ladder.includes(rung)) watch.warnOf('ladder', `--ladder ${rung} is off: ${words}`);
  if (check !== null) check.onViolation = (code, words) => watch.warnOnce(code, `${code}: ${words}`);
  const checkpoints = new Checkpoints({ ...surroundings, warn });
  /** @param {LoadSoFar} loaded */
  const describeSoFar = (loaded) => {
    const [why, { untilUs }] = [STILL_RUNNING, loaded];
    const unknown = { audited: { report: null, reason: why }, decrease: { why }, promises: { why } };
    const known = { loaded, untilUs, samplesDropped: null, warnings };
    return describeRun(config, surroundings, opened, prepared, { ...unknown, ...known, end: 'running' });
  };
  try {
    const loaded = await new Load({
      ...surroundings,
      ...prepared,
      times: config,
      watch,
      checkpoints,
      describeSoFar,
      timeOfDayMs: opened.times.timeOfDayMs,
      isPlain: workload.kind === 'call',
      begin: () => waitForStart(opened, clock, watch),
    }).run();
    const consistency = await check?.finish();
    let audited = { report: /** @type {AuditReport | null} */ (null), reason: NOTHING_TO_AUDIT };
    if (workload.kind === 'transaction') {
      await monitor.waitUntilSynced(stop.now);
      const { accounts, start } = prepared;
      // A request that timed out may still arrive within its time limit.
      const timeoutMs = Math.max(config.drainTimeoutMs, config.requestTimeoutMs);
      const parts = { rpc, clock, accounts, ledger: loaded.ledger, startBlock: start.startBlock, workload, timeoutMs };
      onProgress('auditing wallets', 0, accounts.length);
      audited = await auditUnlessAborted(parts, start, stop);
      const { stats, intervals } = loaded;
      if (!stop.now.aborted) stats.gas = await prepared.ownBlocks.gasOf(rpc, ready.wallets, stats.gas, intervals);
    }
    const promises = await promisesAfter(rpc, prepared, loaded, audited);
    const decrease = await decreaseAfter(rpc, prepared, audited);
    return { loaded, audited, promises, decrease, consistency, warnings };
  } finally {
    onProgress('', 1, 1);
    watch.close();
    monitor.stop();
    await checkpoints.stop();
  }
}

/** @typedef {Awaited<ReturnType<typeof loadAndAudit>>} Done */

/**
 * The decrease of the balance during the load.
 * @param {Rpc} rpc
 * @param {Prepared} prepared
 * @param {{report: AuditReport | null, reason: string}} audited
 * @returns {Promise<Balance>}
 */
async function decreaseAfter(rpc, { ready, before }, { report, reason }) {
  if ('why' in before) return before;
  if (report === null) return { why: `there is no audit: ${reason}` };
  return decreaseBetween(before, await balanceOf(rpc, ready.wallets, report.blockNumber, 'audit'));
}

/**
 * The broken promises, which the audit has decided.
 * @param {Rpc} rpc
 * @param {Prepared} prepared
 * @param {Loaded} loaded
 * @param {{report: AuditReport | null, reason: string}} audited
 * @returns {Promise<BrokenPromises | {why: string}>}
 */
async function promisesAfter(rpc, { ladder }, { ledger, engineStats }, { report, reason }) {
  if (ladder === null) return { why: 'not asked for (--ladder)' };
  if (report === null) return { why: `there is no audit: ${reason}` };
  if (engineStats.reorgs.events.some(({ isComplete }) => !isComplete))
    return { why: 'a reorg removed blocks whose operations are no longer kept' };
  return findBroken(rpc, ledger, ladder.rungs).catch((error) => ({ why: /** @type {Error} */ (error).message }));
}

/** @param {Opened} opened @param {Clock} clock @param {Watch} watch @returns {Promise<number>} start of the load */
async function waitForStart({ common, times }, clock, watch) {
  const began = await common?.begin();
  times.begin();
  if (!began) return clock.nowUs();
  times.setTimeOfDay(began.wallMs, began.nowUs);
  if (began.words !== null) watch.warnOf('start', began.words);
  return began.beginUs;
}

/**
 * @param {Omit<Parameters<typeof audit>[0], 'signal'>} parts
 * @param {StartBlock} start
 * @param {Stop} stop
 * @returns {Promise<{report: AuditReport | null, reason: string}>} reason: why there is no report
 */
export async function auditUnlessAborted(parts, start, stop) {
  const aborted = () => ({ report: null, reason: stop.abortReason ?? '' });
  if (stop.now.aborted) return aborted();
  try {
    await assertSameChain(parts.rpc, start);
    return { report: await audit({ ...parts, signal: stop.now }), reason: '' };
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

/** One after the other. @param {Output[]} outputs */
async function closeAll(outputs) {
  /** @type {Closed[]} */
  const closed = [];
  for (const output of outputs) closed.push((await output.close?.()) ?? {});
  return closed;
}

/**
 * @param {RunFile} runFile
 * @param {Surroundings} surroundings
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
    log.error(
      `${unfunded} operation${unfunded === 1 ? '' : 's'} failed: a wallet had insufficient funds; set a higher --fund-amount`,
    );
  const failed = run.thresholds.filter(({ passed }) => !passed);
  if (failed.length > 0) {
    const names = failed.map(({ expression }) => expression).join(', ');
    log.error(`${failed.length} of ${run.thresholds.length} thresholds failed: ${names}`);
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
