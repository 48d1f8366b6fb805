/** A run in the words of its run file. */
import { availableParallelism, cpus, hostname, release, totalmem } from 'node:os';
import { FundsError, TransportError, displayName } from '../errors.js';
import { merge } from '../stats/merge.js';
import { GENERATOR } from '../stats/metrics.js';
import { buildRunFile } from '../stats/run-file.js';
import { transportsOf } from '../transport/choose.js';
import { counted, digits, timeText } from '../text.js';
import { MIX, isCallWorkload, threadsOf } from '../workloads/table.js';
import { describeSpending } from './costs.js';
import { Load, NO_TRAFFIC } from './load.js';

/**
 * @import { Rpc, ThreadStats } from '../contracts/chain.d.ts'
 * @import { Config, RunContext } from '../contracts/config.d.ts'
 * @import { RunParts } from '../contracts/load.d.ts'
 * @import { AuditReport, InstanceFacts, IntervalRow, RunEnvironment, RunFile, StartFacts, Verdict } from '../contracts/run-file.d.ts'
 * @import { StressError } from '../errors.js'
 * @import { Endpoints } from '../chain/endpoints.js'
 * @import { Health } from '../chain/endpoint-health.js'
 * @import { Balance, SetUpCosts } from './costs.js'
 * @import { LoadSoFar } from './load.js'
 * @import { Opened, Prepared } from './run.js'
 * @import { Ready } from './setup.js'
 */

/**
 * @typedef {Pick<Opened, 'times' | 'common' | 'isEmbedded'> & {endpoints: Pick<Endpoints, 'sending' | 'stats'> & {rpc: Pick<Rpc, 'display'>, health: Pick<Health, 'facts' | 'outages'>}}}
 *   OpenedParts
 *
 * @typedef {Pick<Prepared, 'environment' | 'valueWei' | 'schedule'> & {ready: Described}} Parts
 *
 * @typedef {Pick<Ready, 'sender' | 'costs' | 'inclusion'> & {chain: Partial<Ready['chain']>}} Described
 *
 * @typedef {object} Outcome
 * @property {LoadSoFar} loaded
 * @property {{report: AuditReport | null, reason: string}} audited reason: why there is no report
 * @property {Balance} decrease of the balance during the load
 * @property {{members: Partial<RunFile>, unmeasured: Record<string, string>}} observed
 * @property {string[]} warnings
 * @property {number} untilUs
 * @property {RunFile['end']} end
 * @property {number | null} samplesDropped
 * @property {RunParts['setUpFailure']} [setUpFailure]
 */

/**
 * @param {Config} config
 * @param {Pick<RunContext, 'stop'>} context
 * @param {OpenedParts} opened
 * @param {Parts} prepared
 * @param {Outcome} outcome
 * @returns {RunFile}
 */
export function describeRun(
  config,
  { stop },
  opened,
  prepared,
  { loaded, audited, decrease, observed, warnings, ...ended },
) {
  const { times, endpoints: network, common } = opened;
  const { ready, environment, valueWei, schedule } = prepared;
  const { report } = audited;
  const { stats, window, intervals, windowStartedAtMs, loadStartUs, throughput } = loaded;
  const windowEndUs = Math.min(window.endUs, ended.untilUs);
  const { failureWords, reorgs, ...engineStats } = loaded.engineStats;
  const { gasWei = '0' } = observed.members.refills ?? {};
  const refillGasWei = gasWei === null ? null : BigInt(gasWei);
  const costs = ready.sender === null && ended.setUpFailure === undefined ? null : ready.costs;
  const spending = describeSpending(config.wallets.maxSpendWei, costs, { decrease, valueWei, report, refillGasWei });
  const own = network.stats();
  /** Workers have connections of their own. @type {ThreadStats} */
  const { endpoints, ...traffic } = config.load.workers > 1 ? merge(GENERATOR, own, loaded.traffic) : own;
  /** @type {Record<string, string>} */
  const unmeasured = {
    ...(report === null ? { '/audit': audited.reason } : {}),
    ...missingFacts(prepared),
    ...observed.unmeasured,
    ...spending.unmeasured,
  };
  return buildRunFile({
    id: times.id,
    startedAtMs: times.timeOfDayMs(times.startedUs),
    endedAtMs: times.timeOfDayMs(ended.untilUs),
    end: ended.end,
    exitCodes: stop.exitCodes,
    setUpFailure: ended.setUpFailure,
    config: /** @type {RunFile['config']} */ (config.outputs.redacted),
    instance: describeInstance(config, common?.facts()),
    environment,
    stats,
    durationUs: Math.max(0, windowEndUs - window.startUs),
    ratesUs: Math.max(0, Math.min(windowEndUs, throughput.endUs) - window.startUs),
    periodUs: throughput.periodUs,
    series: throughput.series,
    inWindow: throughput.inWindow,
    intervals: ended.end === 'running' ? untilKnown(intervals, (throughput.endUs - loadStartUs) / 1000) : intervals,
    windowStartedAtMs,
    failureWords,
    reorgs,
    warnings,
    generator: {
      ...loaded.generator,
      ...engineStats,
      workers: threadsOf(config.load, config.workload.mix),
      ...traffic,
      endpoints: network.health.facts(endpoints, loadStartUs),
      outages: network.health.outages(loadStartUs),
      samplesDropped: ended.samplesDropped,
      arrivalSeed: schedule?.arrival === 'poisson' ? schedule.seed : null,
    },
    isOpenLoop: schedule !== null,
    schedule,
    observed: observed.members,
    thresholds: config.study.thresholds,
    audit: report,
    spending: spending.facts,
    unmeasured,
  });
}

/** The rate of rows after the last block is unknown while a run continues. @param {IntervalRow[]} intervals @param {number} knownMs @returns {IntervalRow[]} */
function untilKnown(intervals, knownMs) {
  return intervals.map(({ perSecond, ...row }) =>
    row.endMs > knownMs ? { ...row, tps: null } : { ...row, ...(perSecond && { perSecond }) },
  );
}

/** @param {Parts} prepared @returns {Record<string, string>} why figures are null, by JSON pointer */
function missingFacts({ environment, ready }) {
  /** @type {Record<string, string>} */
  const reasons = {};
  const notAsked = 'plain calls do not need it';
  /** @type {Record<string, string>} */
  const notAnswered = {
    genesisHash: 'the node does not serve its first block',
    blockGasLimit: 'the chain states no gas limit of its blocks',
  };
  for (const [name, value] of Object.entries(environment))
    if (value === null)
      reasons[`/environment/${name}`] = (ready.sender === null ? undefined : notAnswered[name]) ?? notAsked;
  if (environment.clientVersion === null)
    reasons['/environment/clientVersion'] = 'the node does not answer web3_clientVersion';
  if (ready.sender !== null) return reasons;
  return { ...reasons, '/generator/inclusionResolutionMs': notAsked, '/generator/headSource': notAsked };
}

/**
 * The environment of a run, for the run file.
 * @param {Config} config
 * @param {Pick<RunContext, 'version'>} context
 * @param {Pick<OpenedParts, 'endpoints' | 'isEmbedded'>} opened
 * @param {Described} ready
 * @param {Array<{display: string, clientVersion: string | null}>} [endpoints] several endpoints only
 * @param {Record<string, unknown>} [facts] of the workload
 * @returns {RunEnvironment}
 */
export function describeEnvironment(config, { version }, opened, ready, endpoints = [], facts = {}) {
  const { rpc, sending } = opened.endpoints;
  const { chain, sender, inclusion } = ready;
  return {
    commandLine: config.outputs.commandLine,
    ...(config.outputs.findCommand && { findCommand: config.outputs.findCommand }),
    stress: version,
    node: process.version,
    platform: `${process.platform} ${process.arch} ${release()}`,
    cpu: cpus()[0]?.model.trim() ?? 'unknown',
    cores: availableParallelism(),
    memoryBytes: totalmem(),
    endpoint: endpoints[0]?.display ?? rpc.display,
    ...(sending ? { sendEndpoint: sending.display } : {}),
    endpoints,
    embeddedChain: opened.isEmbedded,
    clientVersion: chain.clientVersion ?? null,
    roundTripMs: chain.roundTripMs ?? null,
    chainId: chain.chainId ?? null,
    genesisHash: chain.genesisHash ?? null,
    blockGasLimit: chain.blockGasLimit ?? null,
    feeMode: sender?.fees.mode ?? null,
    signer: sender?.signer.name ?? null,
    transport: {
      name: transportsOf(config.network, config.chain),
      connections: config.network.connections,
      keepAlive: !config.network.noKeepAlive,
    },
    inclusion: /** @type {RunEnvironment['inclusion']} */ (inclusion),
    workload: facts,
  };
}

/** @type {StartFacts} */
const NO_COMMON_START = Object.freeze({ by: null, at: null, waitedMs: null, lateMs: null });

/** @param {Config} config @param {StartFacts} [start] @returns {InstanceFacts | null} null: a single instance without a common start */
function describeInstance(config, start = NO_COMMON_START) {
  const { runId, index, instances, attempt, scheduler } = config.instance;
  const { threads, offset } = { ...config.load, ...config.wallets };
  if (runId === null && index === null && start.by === null) return null;
  return { runId, index, instances, attempt, scheduler, offset, threads, host: hostname(), start };
}

/** Of the embedded chain before it has begun. */
const NO_NETWORK = Object.freeze({
  rpc: { display: 'the embedded chain' },
  sending: null,
  health: { facts: () => [], outages: () => [] },
  stats: () => NO_TRAFFIC,
});

/**
 * A run that ended before its load has an empty load, and nothing is known of the chain.
 * @param {StressError} error
 * @param {Config} config
 * @param {RunContext} context
 * @param {Omit<OpenedParts, 'endpoints'> & {endpoints: OpenedParts['endpoints'] | null, costs: SetUpCosts}} opened endpoints: null without a chain
 * @returns {RunFile}
 */
export function describeFailedSetUp(error, config, context, opened) {
  const parts = { ...opened, endpoints: opened.endpoints ?? NO_NETWORK };
  const why = `the run ended before its load began: ${error.message}`;
  const ready = { chain: {}, sender: null, costs: opened.costs, inclusion: null };
  const environment = describeEnvironment(config, context, parts, ready);
  const prepared = { ready, environment, valueWei: 0n, schedule: null };
  const loaded = Load.none({ clock: context.clock, timeOfDayMs: opened.times.timeOfDayMs });
  return describeRun(config, context, parts, prepared, {
    ...{ loaded, audited: { report: null, reason: why }, decrease: { wei: 0n } },
    observed: { members: {}, unmeasured: {} },
    ...{ warnings: [error.message], untilUs: loaded.untilUs, end: 'set_up_failed', samplesDropped: 0 },
    setUpFailure: { verdict: verdictOf(error), exitCode: error.exitCode, why },
  });
}

/** @param {StressError} error @returns {Verdict | null} */
function verdictOf(error) {
  if (error instanceof TransportError) return { name: 'endpoint-down', evidence: error.message };
  return error instanceof FundsError ? { name: 'funds', evidence: error.message } : null;
}

/**
 * What the load will do, and for how long.
 * @param {Pick<Config, 'load' | 'workload'>} config
 * @param {string} who the wallets, or the users
 * @param {string} place the endpoint
 */
export function loadText(config, who, place) {
  const { workload, mix, method, calls } = config.workload;
  const { ratePerSecond, gasPerSecond, stages, arrival, warmupMs, durationMs, iterations } = config.load;
  const time = (/** @type {number} */ ms) => (ms < 60_000 ? `${ms / 1000} s` : timeText(ms / 1000));
  const call = isCallWorkload(workload) ? ` (${calls === null ? method : displayName(calls)})` : '';
  const names = workload === MIX ? mix.map(({ name, weight }) => `${name}:${weight}`).join(',') : `${workload}${call}`;
  return [
    `${who}: workload ${names} at ${place}`,
    iterations === null ? [] : `${counted(iterations, 'time')} each`,
    durationMs !== null ? `${iterations === null ? 'for' : 'at most'} ${time(durationMs)}` : [],
    durationMs === null && iterations === null ? 'until Ctrl-C' : [],
    gasPerSecond === null ? [] : `${gasPerSecond / 1e6} Mgas per second`,
    ratePerSecond === null ? [] : `${digits(ratePerSecond)} per second`,
    stages === null ? [] : counted(stages.length, 'stage'),
    arrival === 'poisson' ? 'Poisson arrivals' : [],
    warmupMs === 0 ? [] : `warm-up ${warmupMs === 'auto' ? 'auto' : time(warmupMs)}`,
  ]
    .flat()
    .join(', ');
}
