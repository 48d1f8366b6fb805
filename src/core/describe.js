/** A run in the words of its run file. */
import { availableParallelism, cpus, hostname, release, totalmem } from 'node:os';
import { FundsError, TransportError, displayName } from '../errors.js';
import { merge } from '../stats/merge.js';
import { GENERATOR } from '../stats/metrics.js';
import { STILL_RUNNING, buildRunFile } from '../stats/run-file.js';
import { transportsOf } from '../transport/choose.js';
import { counted, digits, timeText } from '../text.js';
import { MIX, isCallWorkload, threadsOf } from '../workloads/table.js';
import { describeSpending } from './costs.js';
import { Load, NO_TRAFFIC } from './load.js';

/**
 * @import { ThreadStats } from '../contracts/chain.d.ts'
 * @import { Config } from '../contracts/config.d.ts'
 * @import { InstanceFacts, RunEnvironment, RunFile, StartFacts, Verdict } from '../contracts/run-file.d.ts'
 * @import { StressError } from '../errors.js'
 * @import { Run } from './run.js'
 */

/** What the embedded chain has of a network before it has begun. */
const NO_NETWORK = Object.freeze({
  rpc: { display: 'the embedded chain' },
  sending: null,
  health: { facts: () => [], outages: () => [] },
  stats: () => NO_TRAFFIC,
});

/**
 * The run file of a run, by the phases that are over; partial without `ended`.
 * @param {Run<'environment' | 'loaded'>} run
 * @returns {RunFile}
 */
export function describeRun(run) {
  const { times, loaded, audited, observed, ended } = run;
  const untilUs = ended?.untilUs ?? loaded.untilUs;
  const spending = spendingOf(run);
  return buildRunFile({
    ...run,
    ...{ id: times.id, untilUs },
    startedAtMs: times.timeOfDayMs(times.startedUs),
    endedAtMs: times.timeOfDayMs(untilUs),
    instance: describeInstance(run),
    generator: describeGenerator(run),
    spending: spending.facts,
    unmeasured: {
      ...((audited?.report ?? null) === null && { '/audit': audited?.reason ?? STILL_RUNNING }),
      ...missingFacts(run),
      ...observed?.unmeasured,
      ...spending.unmeasured,
    },
  });
}

/** @param {Run<'environment' | 'loaded'>} run */
function spendingOf({ config, plan, audited, observed, costs }) {
  const { gasWei = '0' } = observed?.members.refills ?? {};
  const { report = null, decrease = { why: STILL_RUNNING } } = audited ?? {};
  return describeSpending(config.wallets.maxSpendWei, plan?.workload.kind === 'call' ? null : costs, {
    ...{ decrease, report },
    valueWei: plan?.workload.kind === 'transaction' ? plan.workload.valueWei : 0n,
    refillGasWei: gasWei === null ? null : BigInt(gasWei),
  });
}

/** @param {Run<'environment' | 'loaded'>} run @returns {Parameters<typeof buildRunFile>[0]['generator']} */
function describeGenerator({ config, network, plan, loaded, ended }) {
  const { health, stats } = network?.endpoints ?? NO_NETWORK;
  const own = stats();
  /** Workers have connections of their own. @type {ThreadStats} */
  const { endpoints, ...traffic } = config.load.workers > 1 ? merge(GENERATOR, own, loaded.traffic) : own;
  const schedule = plan?.schedule;
  return {
    ...loaded.generator,
    ...loaded.engineStats,
    workers: threadsOf(config.load, config.workload.mix),
    ...traffic,
    endpoints: health.facts(endpoints, loaded.loadStartUs),
    outages: health.outages(loaded.loadStartUs),
    samplesDropped: ended?.samplesDropped ?? null,
    arrivalSeed: schedule?.arrival === 'poisson' ? schedule.seed : null,
  };
}

/** @param {Run<'environment'>} run @returns {Record<string, string>} why figures are null, by JSON pointer */
function missingFacts({ environment, setUp }) {
  const isPlain = (setUp?.sender ?? null) === null;
  /** @type {Record<string, string>} */
  const reasons = {};
  const notAsked = 'plain calls do not need it';
  /** @type {Record<string, string>} */
  const notAnswered = {
    genesisHash: 'the node does not serve its first block',
    blockGasLimit: 'the chain states no gas limit of its blocks',
  };
  for (const [name, value] of Object.entries(environment))
    if (value === null) reasons[`/environment/${name}`] = (isPlain ? undefined : notAnswered[name]) ?? notAsked;
  if (environment.clientVersion === null)
    reasons['/environment/clientVersion'] = 'the node does not answer web3_clientVersion';
  if (!isPlain) return reasons;
  return { ...reasons, '/generator/inclusionResolutionMs': notAsked, '/generator/headSource': notAsked };
}

/** The environment of a run, for its run file; before its set-up nothing is known of the chain. @param {Run} run @returns {RunEnvironment} */
export function describeEnvironment({ config, context, isEmbedded, network, plan, setUp }) {
  const { rpc, sending } = network?.endpoints ?? NO_NETWORK;
  const { sender = null, inclusion = null, identified = [] } = setUp ?? {};
  /** @type {Partial<NonNullable<typeof setUp>['chain']>} */
  const chain = setUp?.chain ?? {};
  return {
    commandLine: config.outputs.commandLine,
    ...(config.outputs.findCommand && { findCommand: config.outputs.findCommand }),
    stress: context.version,
    node: process.version,
    platform: `${process.platform} ${process.arch} ${release()}`,
    cpu: cpus()[0]?.model.trim() ?? 'unknown',
    cores: availableParallelism(),
    memoryBytes: totalmem(),
    endpoint: identified[0]?.display ?? rpc.display,
    ...(sending ? { sendEndpoint: sending.display } : {}),
    endpoints: identified,
    embeddedChain: isEmbedded,
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
    workload: { ...plan?.workload.facts?.(), ...(plan?.callLoad && { calls: plan.callLoad.facts() }) },
  };
}

/** @type {StartFacts} */
const NO_COMMON_START = Object.freeze({ by: null, at: null, waitedMs: null, lateMs: null });

/** @param {Run} run @returns {InstanceFacts | null} null: a single instance without a common start */
function describeInstance({ config, common }) {
  const start = common?.facts() ?? NO_COMMON_START;
  const { runId, index, instances, attempt, scheduler } = config.instance;
  const { threads, offset } = { ...config.load, ...config.wallets };
  if (runId === null && index === null && start.by === null) return null;
  return { runId, index, instances, attempt, scheduler, offset, threads, host: hostname(), start };
}

/** A run that ended before its load has an empty load, and nothing is known of the chain. @param {Run} run @param {StressError} error @returns {RunFile} */
export function describeFailedSetUp(run, error) {
  const why = `the run ended before its load began: ${error.message}`;
  const before = { ...run, plan: undefined, setUp: undefined };
  const loaded = Load.none({ clock: run.context.clock, timeOfDayMs: run.times.timeOfDayMs });
  return describeRun({
    ...before,
    ...{ loaded, environment: describeEnvironment(before), warnings: [error.message] },
    audited: { report: null, reason: why, decrease: { wei: 0n } },
    ended: {
      ...{ end: 'set_up_failed', untilUs: loaded.untilUs, samplesDropped: 0 },
      failure: { verdict: verdictOf(error), exitCode: error.exitCode, why },
    },
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
  const called = workload === 'contract' ? (config.workload.function ?? 'calldata') : null;
  const words = isCallWorkload(workload) ? (calls === null ? method : displayName(calls)) : called;
  const call = words === null ? '' : ` (${words})`;
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
