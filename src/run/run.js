import { randomUUID } from 'node:crypto';
import { EXIT, worstExit } from '../errors.js';
import { startDevChain } from '../chain/devchain.js';
import { numbered } from '../metrics/endpoints.js';
import { buildPartialRunFile, buildRunFile } from '../metrics/summary.js';
import { createWorkload } from '../workload/index.js';
import { Account } from './account.js';
import { auditUnlessHurried } from './examine.js';
import { Checkpoints } from './checkpoint.js';
import { CommonStart } from './common-start.js';
import { chainEnded, finishAll, sayWhatWentWrong, settleAll } from './closing.js';
import { abandonable, interruptible, readGiven } from './connect.js';
import { describeEndpoints, lookAfter, openEndpoints, threadStatsOf, warnOfEndpoints } from './endpoints.js';
import { describeEnvironment, whatIsNotKnown } from './environment.js';
import { Health } from './health.js';
import { addUpThreads, hire, workersOf } from './hire.js';
import { describeInstance } from './instance.js';
import { checkDescriptors } from './limits.js';
import { load } from './load.js';
import { confirmSetUp, startBlockOf } from './start-block.js';
import { onlyFirstBlock } from './one-chain.js';
import { scheduleOf } from './schedule.js';
import { tellSetUpFailed } from './set-up-failed.js';
import { setUp, setUpCalls } from './setup.js';
import { balanceOf, capReached, describeSpending, NOT_PAID, spentBetween } from './spending.js';
import { WarmUp } from './warm-up.js';
import { Watch } from './watch.js';

/**
 * @import { DevChain } from '../chain/devchain.js'
 * @import { Rpc } from '../chain/rpc.js'
 * @import { Clock } from '../clock.js'
 * @import { RunParts } from '../metrics/summary.js'
 * @import { Output } from '../output/index.js'
 * @import { Schedule } from '../pacer/index.js'
 * @import { Workload } from '../workload/index.js'
 * @import { AuditReport } from './audit.js'
 * @import { Config } from './config.js'
 * @import { Given } from './connect.js'
 * @import { Crew } from './crew.js'
 * @import { LoadSoFar } from './load.js'
 * @import { OneChain } from './one-chain.js'
 * @import { Ready } from './setup.js'
 * @import { Balance } from './spending.js'
 * @import { StartBlock } from './start-block.js'
 * @import { Stop } from './stop.js'
 * @import { Logger } from 'pino'
 */

/**
 * One whole run, assembled: chain, set-up, load, drain, audit, summary. The only place that knows all parts.
 *
 * @typedef {object} Surroundings what a run is given from outside
 * @property {Clock} clock
 * @property {Logger} log
 * @property {Output[]} outputs
 * @property {(label: string, done: number, all: number) => void} onProgress
 * @property {Stop} stop
 * @property {string} version
 */

/** Why a run of plain calls has no audit. */
const NOTHING_TO_AUDIT = 'plain calls leave nothing on the chain to audit';

/** Why it is not known what the load has cost. */
const GOES_ON = Object.freeze({ why: 'the run was still going on when this was written' });

/**
 * @param {Config} config
 * @param {Surroundings} surroundings
 * @returns {Promise<number>} the exit code
 */
export async function run(config, surroundings) {
  const { clock, stop, outputs } = surroundings;
  const given = readGiven(config);
  const times = startOf(clock);
  const notice = (/** @type {string} */ line) => outputs.forEach((output) => output.notice(line));
  const workers = workersOf(config);
  const common = new CommonStart({ id: times.id, config, clock, stop, notice, workers });
  checkDescriptors(config.connections * Math.max(1, config.rpc.length), workers);
  /** @type {DevChain | null} */
  let devChain = null;
  /** @type {ReturnType<typeof openWay> | null} */
  let way = null;
  let areOpen = false;
  try {
    for (const output of outputs) await output.open?.();
    areOpen = true;
    await common.open();
    if (config.rpc.length === 0) devChain = await startDevChain(clock);
    const opened = openWay(config, devChain === null ? [...config.rpc] : [devChain.url], surroundings);
    way = opened;
    stop.now.addEventListener('abort', () => {
      opened.monitor.stop();
      void opened.transport.close();
    });
    devChain?.ended.then((words) => chainEnded(stop, words)).catch(() => {});
    const [embedded, nodePid] = [devChain !== null, config.nodePid ?? devChain?.chainPid() ?? null];
    return await runOn({ config, given, ...opened, embedded, nodePid, common, ...times, ...surroundings });
  } catch (error) {
    const endpoints = way?.endpoints ?? null;
    if (areOpen && !times.hasBegun()) await tellSetUpFailed(error, { ...surroundings, config, times, endpoints });
    throw error;
  } finally {
    way?.monitor.stop();
    await way?.transport.close();
    await devChain?.stop();
    for (const output of outputs) await output.close?.();
  }
}

/**
 * The way of this thread to the endpoints.
 * @param {Config} config
 * @param {URL[]} urls
 * @param {Pick<Surroundings, 'clock' | 'stop'>} surroundings
 */
function openWay(config, urls, { clock, stop }) {
  const health = Health.of(urls.length);
  const insistence = {
    clock,
    signals: { setup: stop.drain, audit: stop.now },
    mostMs: { audit: Math.max(config.drainTimeoutMs, config.requestTimeoutMs) },
  };
  const endpoints = openEndpoints({ config, urls, clock, home: 0, spread: config.spread, health, insistence });
  const care = lookAfter(endpoints.rpcs, health, clock);
  return { urls, endpoints, health, ...care, rpc: endpoints.rpc, transport: endpoints.transport };
}

/** @param {Clock} clock */
export function startOf(clock) {
  const startedUs = clock.nowUs();
  let aheadMs = clock.wallMs() - startedUs / 1000;
  let hasBegun = false;
  return {
    id: randomUUID(),
    startedUs,
    /** The load, and with it what is known of the run. */
    hasBegun: () => hasBegun,
    begin: () => void (hasBegun = true),
    /** The clock of the machine may be set in mid-run; what follows in the run follows in its file. @param {number} atUs */
    timeOfDayMs: (atUs) => Math.round(aheadMs + atUs / 1000),
    /** Instances that began together are compared by the time of day as it was then. @param {number} wallMs @param {number} nowUs */
    setTimeOfDay: (wallMs, nowUs) => void (aheadMs = wallMs - nowUs / 1000),
  };
}

/**
 * @typedef {Surroundings & ReturnType<typeof startOf> & ReturnType<typeof openWay> & {config: Config, given: Given, embedded: boolean, nodePid: number | null, common: CommonStart}} RunContext
 * @typedef {Awaited<ReturnType<typeof carryOut>>} CarriedOut
 */

/** @param {RunContext} context @returns {Promise<number>} */
async function runOn(context) {
  const { config, clock, outputs, stop, log } = context;
  const carriedOut = await carryOut(context);
  const { samplesDropped, errors } = await settleAll(outputs);
  for (const error of errors) stop.request('output_failed', error.exitCode, error);
  if (stop.reason === 'max_spend') stop.request('max_spend', EXIT.refused, capReached(config, carriedOut));
  const facts = { untilUs: clock.nowUs(), end: stop.reason ?? 'unknown', samplesDropped };
  const runFile = buildRunFile(describe(context, carriedOut, facts));
  const unwritten = await finishAll(outputs, runFile);
  for (const error of unwritten) stop.request('output_failed', error.exitCode, error);
  sayWhatWentWrong(log, stop, carriedOut.loaded.ledger, runFile, carriedOut.warnings);
  return worstExit([runFile.exitCode, ...unwritten.map((error) => error.exitCode)]);
}

/** Set-up, load, drain, audit. @param {RunContext} context */
async function carryOut(context) {
  const { config, urls, transport, rpc, monitor, oneChain, clock, stop } = context;
  const { connect } = context.endpoints;
  const workload = await abandonable(stop, () =>
    createWorkload(config.workload, { rpc, settings: config, clock, connect }),
  );
  /** @type {Awaited<ReturnType<OneChain['identify']>>} */
  let endpoints = [];
  const ready = await interruptible(stop, transport, async () => {
    if (oneChain !== null) endpoints = await oneChain.identify(urls, config, stop.drain);
    if (oneChain !== null) monitor.begin();
    return workload.kind === 'call' ? setUpCalls(context, rpc, workload) : setUp(context, rpc, workload);
  });
  const { wallets, sender, costs, inclusion } = ready;
  const patience = { clock, confirmations: config.confirmations, signal: stop.drain };
  const setUpBlock = await confirmSetUp(rpc, ready, patience);
  // What follows watches the chain and keeps signatures ready: minutes before the load that would be too early.
  await context.common.meet({ chainId: ready.chain.chainId, genesisHash: ready.chain.genesisHash ?? null });
  const accounts = wallets.map((wallet, position) => new Account(position, wallet));
  const start = await startBlockOf(rpc, ready, { ...patience, setUpBlock });
  const before = sender === null ? NOT_PAID : await balanceOf(rpc, wallets, start.startBlock, 'setup');
  await monitor.level(stop.drain);
  const untold = (await oneChain?.compare(stop.drain)) ?? [];
  oneChain?.begin(start);

  // Workers have connections of their own.
  if (workersOf(config) > 1) await transport.rest();
  const schedule = scheduleOf(config);
  const loadParts = { accounts, workload, sender, start, inclusion, schedule, capWei: costs.leftWei };
  const { chain } = ready;
  const facts = workload.facts?.() ?? {};
  const environment = describeEnvironment({ ...context, endpoints, chain, sender, inclusion, facts });
  const warmUp = config.warmupMs === 'auto' ? warmUpOf(context, schedule !== null, workload) : null;
  const crew = await hire({ ...context, ...loadParts, warmUp });
  // Its threads would keep the process alive, whatever went wrong.
  try {
    return await loadAndAudit(context, {
      workload,
      ready,
      start,
      before,
      schedule,
      accounts,
      environment,
      crew,
      warmUp,
      names: numbered(endpoints.map(({ display }) => display)),
      warning: untold.length > 0 && sender !== null ? onlyFirstBlock(untold) : null,
    });
  } finally {
    await crew.close();
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
 * @param {Balance} prepared.before what the wallets have before the load
 * @param {Schedule | null} prepared.schedule
 * @param {Account[]} prepared.accounts
 * @param {ReturnType<typeof describeEnvironment>} prepared.environment
 * @param {Crew} prepared.crew
 * @param {WarmUp | null} prepared.warmUp
 * @param {string[]} prepared.names of the endpoints
 * @param {string | null} prepared.warning of them; where nothing is sent, nothing is looked for elsewhere
 */
async function loadAndAudit(context, { workload, ready, start, schedule, accounts, environment, ...given }) {
  const { config, urls, rpc, monitor, clock, outputs, stop } = context;
  const { crew, warmUp, names, warning, before } = given;
  const watch = new Watch({
    config: { ...config, nodePid: context.nodePid },
    clock,
    urls,
    rpc: ready.sender === null ? null : rpc,
    warn: (words) => context.log.warn(words),
    isEmbedded: context.embedded && config.nodePid === null,
  });
  warnOfEndpoints(monitor, watch, names.length > 0 ? names : [rpc.display]);
  // Plain calls tell themselves whether they are answered.
  if (context.oneChain === null && workload.kind === 'transaction') monitor.begin();
  if (warning !== null) watch.warnOf('untold', warning);
  const valueWei = workload.kind === 'transaction' ? workload.valueWei : 0n;
  const described = { ready, environment, schedule, warnings: watch.warnings, valueWei };
  const checkpoints = new Checkpoints({ clock, outputs, stop, warn: (words) => context.log.warn(words) });
  /** @param {LoadSoFar} loaded */
  const describeSoFar = (loaded) => {
    const facts = { untilUs: loaded.untilUs, end: 'running', samplesDropped: null };
    const soFar = { ...described, loaded, audited: { report: null, reason: '' }, left: GOES_ON };
    return buildPartialRunFile(describe(context, soFar, facts), loaded.durationUs);
  };
  let audited = { report: /** @type {AuditReport | null} */ (null), reason: NOTHING_TO_AUDIT };
  try {
    const { timeOfDayMs } = context;
    const about = { names, checkpoints, describeSoFar, timeOfDayMs, begin: () => beginTogether(context, watch) };
    const isPlain = workload.kind === 'call';
    const loadOptions = { config, clock, outputs, stop, crew, watch, warmUp, isPlain, ...about };
    const loaded = await load(loadOptions);
    const { recorder, ledger } = loaded;
    const parts = { rpc, clock, accounts, recorder, ledger, startBlock: start.startBlock };
    if (workload.kind === 'transaction') {
      await monitor.level(stop.now);
      audited = await auditUnlessHurried({ ...parts, workload }, start, config, stop);
    }
    const left = await leftAfter(rpc, ready, before, audited);
    return { ...described, loaded, audited, left };
  } finally {
    watch.close();
    monitor.stop();
    await checkpoints.stop();
  }
}

/**
 * What the wallets have less since the load began.
 * @param {Rpc} rpc
 * @param {Ready} ready
 * @param {Balance} before
 * @param {{report: AuditReport | null, reason: string}} audited
 */
async function leftAfter(rpc, { wallets }, before, { report, reason }) {
  if ('why' in before) return before;
  if (report === null) return { why: `there is no audit: ${reason}` };
  return spentBetween(before, await balanceOf(rpc, wallets, report.blockNumber, 'audit'));
}

/**
 * @param {RunContext} context
 * @param {Watch} watch
 * @returns {Promise<number>} the instant at which the load begins
 */
async function beginTogether({ common, clock, setTimeOfDay, begin }, watch) {
  const began = await common.begin();
  begin();
  if (began === null) return clock.nowUs();
  setTimeOfDay(began.wallMs, began.nowUs);
  if (began.words !== null) watch.warnOf('start', began.words);
  return began.beginUs;
}

/**
 * @param {RunContext} context
 * @param {Omit<CarriedOut, 'loaded'> & {loaded: Omit<CarriedOut['loaded'], 'ledger'>}} carriedOut so far
 * @param {{untilUs: number, end: string, samplesDropped: number | null}} facts
 * @returns {RunParts}
 */
function describe(context, { ready, environment, schedule, loaded, audited, warnings, ...money }, facts) {
  const { config, stop, clock } = context;
  const { chain, sender } = ready;
  const { recorder, intervals, windowStartedAtMs } = loaded;
  const { failureWords, reorgs, spending: spent, ...stats } = loaded.stats;
  const spending = describeSpending(config, ready, spent, { ...money, report: audited.report });
  const { endpoints, ...traffic } = addUpThreads(threadStatsOf(context.endpoints), loaded.threads);
  const instants = { nowUs: clock.nowUs(), loadStartUs: loaded.loadStartUs };
  return {
    id: context.id,
    startedAtMs: context.timeOfDayMs(context.startedUs),
    endedAtMs: context.timeOfDayMs(facts.untilUs),
    end: facts.end,
    exitCodes: [
      ...stop.exitCodes,
      audited.report?.result === 'not_exact' ? EXIT.notExact : EXIT.ok,
      recorder.counts.verified === 0 ? EXIT.nothingVerified : EXIT.ok,
    ],
    config: config.redacted,
    instance: describeInstance(config, context.common.facts()),
    environment,
    recorder,
    intervals,
    windowStartedAtMs,
    failureWords,
    reorgs,
    warnings,
    generator: {
      ...loaded.generator,
      ...stats,
      workers: workersOf(config),
      ...traffic,
      endpoints: describeEndpoints(context.monitor, endpoints, instants),
      outages: context.monitor.outages(instants.loadStartUs),
      samplesDropped: facts.samplesDropped,
      arrivalSeed: schedule?.arrival === 'poisson' ? schedule.seed : null,
    },
    isOpenLoop: schedule !== null,
    thresholds: config.thresholds,
    audit: audited.report,
    spending: spending.facts,
    unmeasured: {
      ...(audited.report === null ? { '/audit': audited.reason } : {}),
      ...(traffic.batches.why === null ? { '/generator/batches/why': 'no batch was refused' } : {}),
      ...whatIsNotKnown(chain, sender),
      ...spending.unmeasured,
    },
  };
}
