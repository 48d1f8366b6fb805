/** A run in the words of its run file. */
import { availableParallelism, cpus, hostname, release, totalmem } from 'node:os';
import { EXIT, FundsError, StressError, TransportError, displayName } from '../errors.js';
import { merge } from '../stats/merge.js';
import { GENERATOR } from '../stats/metrics.js';
import { noReorgs } from '../stats/reorgs.js';
import { buildRunFile } from '../stats/run-file.js';
import { Stats, noneUsed } from '../stats/stats.js';
import { chooseTransport } from '../transport/index.js';
import { timeText } from '../text.js';
import { MIX, isCallWorkload } from '../workloads/table.js';
import { describeSpending } from './costs.js';

/**
 * @import { AuditReport, Chosen, Config, InstanceFacts, Rpc, RunFile, RunParts, Sender, StartFacts, Surroundings } from '../types.d.ts'
 * @import { Endpoints } from '../chain/endpoints.js'
 * @import { Verdict } from '../stats/verdict.js'
 * @import { Balance } from './costs.js'
 * @import { LoadSoFar, WarmUp } from './load.js'
 * @import { Schedule } from './pacer.js'
 * @import { Opened, Times } from './run.js'
 * @import { Ready } from './setup.js'
 */

/** @type {StartFacts} */
const NO_COMMON_START = Object.freeze({ by: null, at: null, waitedMs: null, lateMs: null });

/**
 * @typedef {ReturnType<typeof factsOf>} Facts
 *
 * @typedef {object} Described
 * @property {Ready} ready
 * @property {ReturnType<typeof describeEnvironment>} environment
 * @property {bigint | undefined} valueWei transferred by each executed operation
 * @property {Schedule | null} schedule null: closed loop
 * @property {WarmUp | null} warmUp
 *
 * @typedef {object} Outcome
 * @property {LoadSoFar} loaded
 * @property {{report: AuditReport | null, reason: string}} audited reason: why there is no report
 * @property {Balance} decrease of the balance during the load
 * @property {string[]} warnings
 * @property {number} untilUs
 * @property {string} end
 * @property {number | null} samplesDropped
 */

/** What the run file says of the options. @param {Config} config */
export function factsOf(config) {
  const { transport, connections, noKeepAlive, thresholds, redacted, commandLine, maxSpendWei: capWei } = config;
  const { runId, index, instances, attempt, scheduler, offset, threads } = config;
  return {
    config: redacted,
    commandLine,
    thresholds,
    capWei,
    instance: { runId, index, instances, attempt, scheduler, offset, threads, host: hostname() },
    transport: {
      name: transportsOf(transport, config),
      why: transport === 'auto' ? whyTransport(config) : 'asked for with --transport',
      connections,
      keepAlive: !noKeepAlive,
    },
  };
}

/**
 * @param {Pick<Surroundings, 'stop'>} surroundings
 * @param {Opened} opened
 * @param {Described} described
 * @param {Outcome} outcome
 * @returns {RunParts}
 */
export function describeRun({ stop }, opened, described, { loaded, audited, decrease, warnings, ...ended }) {
  const { times, facts, endpoints: network, workers, common } = opened;
  const { ready, environment, valueWei, schedule, warmUp } = described;
  const { report } = audited;
  const { stats, window, intervals, windowStartedAtMs, loadStartUs } = loaded;
  const { failureWords, reorgs, spending: spent, ...engineStats } = loaded.engineStats;
  const spending = describeSpending(facts.capWei, ready, spent, { decrease, valueWei, report });
  const own = network.stats();
  // Workers have connections of their own.
  const { endpoints, ...traffic } = workers > 1 ? merge(GENERATOR, own, loaded.traffic) : own;
  return {
    id: times.id,
    startedAtMs: times.timeOfDayMs(times.startedUs),
    endedAtMs: times.timeOfDayMs(ended.untilUs),
    end: ended.end,
    exitCodes: [
      ...stop.exitCodes,
      report?.result === 'not_exact' ? EXIT.notExact : EXIT.ok,
      stats.counts.verified === 0 ? EXIT.nothingVerified : EXIT.ok,
    ],
    config: facts.config,
    instance: describeInstance(facts, common?.facts() ?? NO_COMMON_START),
    environment,
    stats,
    durationUs: Math.max(0, Math.min(window.endUs, ended.untilUs) - window.startUs),
    intervals,
    windowStartedAtMs,
    failureWords,
    reorgs,
    warnings,
    generator: {
      ...loaded.generator,
      ...engineStats,
      workers,
      ...traffic,
      endpoints: network.health.facts(endpoints, loadStartUs),
      outages: network.health.outages(loadStartUs),
      samplesDropped: ended.samplesDropped,
      arrivalSeed: schedule?.arrival === 'poisson' ? schedule.seed : null,
    },
    isOpenLoop: schedule !== null,
    schedule,
    gasRate: warmUp?.gas?.facts ?? null,
    thresholds: facts.thresholds,
    audit: report,
    spending: spending.facts,
    unmeasured: {
      ...(report === null ? { '/audit': audited.reason } : {}),
      ...(traffic.batches.why === null ? { '/generator/batches/why': 'no batch was refused' } : {}),
      ...(traffic.submissionBatches?.why === null
        ? { '/generator/submissionBatches/why': 'no batch was refused' }
        : {}),
      ...missingFacts(ready),
      ...spending.unmeasured,
    },
  };
}

/** @param {Ready} ready @returns {Record<string, string>} why figures are null, by JSON pointer */
function missingFacts({ chain: { clientVersion, genesisHash, chainId, roundTripMs }, sender }) {
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
 * The environment of a run, for the run file.
 * @param {object} parts
 * @param {string} parts.version
 * @param {Ready['chain']} parts.chain
 * @param {Pick<Rpc, 'display'>} parts.rpc
 * @param {Pick<Rpc, 'display'> | null} [parts.sending] endpoint of the submissions, if that is another one
 * @param {Array<{display: string, clientVersion: string | null}>} parts.endpoints several endpoints only
 * @param {Sender | null} parts.sender null: plain calls
 * @param {Record<string, unknown>} parts.facts of the workload
 * @param {Pick<Facts, 'transport' | 'commandLine'>} parts.asked
 * @param {Chosen | null} parts.inclusion null: plain calls
 * @param {boolean} parts.embedded
 */
export function describeEnvironment({ version, chain, rpc, sending, endpoints, sender, asked, ...about }) {
  const { inclusion, facts, embedded } = about;
  return {
    commandLine: asked.commandLine,
    stress: version,
    node: process.version,
    platform: `${process.platform} ${process.arch} ${release()}`,
    cpu: cpus()[0]?.model.trim() ?? 'unknown',
    cores: availableParallelism(),
    memoryBytes: totalmem(),
    endpoint: endpoints[0]?.display ?? rpc.display,
    ...(sending ? { sendEndpoint: sending.display } : {}),
    endpoints,
    embeddedChain: embedded,
    clientVersion: chain.clientVersion,
    roundTripMs: chain.roundTripMs ?? null,
    chainId: chain.chainId,
    genesisHash: chain.genesisHash ?? null,
    blockGasLimit: chain.blockGasLimit ?? null,
    feeMode: sender?.fees.mode ?? null,
    signer: sender?.signer.name ?? null,
    transport: asked.transport,
    inclusion,
    workload: facts,
  };
}

/** @typedef {Pick<Config, 'rpc' | 'sendRpc'>} Urls */

/** @param {Urls} config @returns {URL[]} */
function urlsOf({ rpc, sendRpc }) {
  return [...rpc, sendRpc ?? []].flat();
}

/** Why `--transport auto` chose its transport. @param {Urls} config */
function whyTransport(config) {
  const schemes = [...new Set(urlsOf(config).map(({ protocol }) => `${protocol}//`))];
  return schemes.length === 0 ? 'the embedded chain speaks http://' : `the endpoint speaks ${schemes.join(' and ')}`;
}

/** Names of the transports of all endpoints. @param {string} transport @param {Urls} config */
export function transportsOf(transport, config) {
  const names = urlsOf(config).map((url) => chooseTransport(transport, url));
  return names.length === 0 ? chooseTransport(transport, null) : [...new Set(names)].join(', ');
}

/** @param {Facts} facts @param {StartFacts} start @returns {InstanceFacts | null} null: a single instance without a common start */
function describeInstance({ instance }, start) {
  if (instance.runId === null && instance.index === null && start.by === null) return null;
  return { ...instance, start };
}

/** Exit codes for which the outputs are written. @type {readonly number[]} */
const REPORTED_EXIT_CODES = Object.freeze([EXIT.unavailable, EXIT.refused]);

/**
 * Writes the outputs of a run that ended before its load, for CI servers that read files.
 * @param {unknown} error
 * @param {Pick<Surroundings, 'clock' | 'outputs' | 'version' | 'log'> & {facts: Facts, times: Times, workers: number, isEmbedded: boolean, endpoints: Endpoints | null}}
 *   parts
 */
export async function writeFailedSetUp(error, { outputs, log, ...parts }) {
  if (!(error instanceof StressError) || !REPORTED_EXIT_CODES.includes(error.exitCode)) return;
  const run = describeFailedSetUp(error, parts);
  for (const output of outputs) {
    try {
      await output.setUpFailed?.(run);
    } catch (unwritten) {
      log.error(/** @type {Error} */ (unwritten).message);
    }
  }
}

/** The figures of a run without a load. */
const IDLE_GENERATOR = Object.freeze({
  ...noneUsed(),
  cpuUs: 0,
  endpoints: [],
  batches: { limit: 1, largest: 1, refused: 0, why: null },
  arrivalSeed: null,
  samplesDropped: 0,
});

/** JSON pointers of the figures that are null without a load. */
const UNKNOWN_BEFORE_LOAD = [
  ...['clientVersion', 'chainId', 'genesisHash', 'roundTripMs'].map((name) => `/environment/${name}`),
  ...['blockGasLimit', 'feeMode', 'signer', 'inclusion'].map((name) => `/environment/${name}`),
  ...['setUpWei', 'spentWei', 'transactions'].map((name) => `/spending/${name}`),
  ...['inclusionResolutionMs', 'headSource', 'batches/why'].map((name) => `/generator/${name}`),
  '/audit',
];

/**
 * @param {StressError} error
 * @param {Omit<Parameters<typeof writeFailedSetUp>[1], 'outputs' | 'log'>} parts
 * @returns {RunFile}
 */
function describeFailedSetUp(error, { clock, version, facts, times, workers, isEmbedded, endpoints }) {
  const nowUs = clock.nowUs();
  const display = endpoints?.rpc.display ?? null;
  const chain = { clientVersion: null, chainId: null, genesisHash: null, roundTripMs: null };
  const environment = describeEnvironment({
    version,
    asked: facts,
    chain,
    sender: null,
    endpoints: [],
    inclusion: null,
    facts: {},
    embedded: isEmbedded,
    rpc: { display: display ?? 'the embedded chain' },
  });
  const none = { rpcCalls: {}, transport: { requests: 0, connectionsOpened: 0, bytesReceived: 0 } };
  const traffic = endpoints === null ? none : endpoints.stats();
  const why = `the run ended before its load began: ${error.message}`;
  const verdict = verdictOf(error);
  const capWei = facts.capWei === null ? null : String(facts.capWei);
  const run = buildRunFile({
    id: times.id,
    startedAtMs: times.timeOfDayMs(times.startedUs),
    endedAtMs: times.timeOfDayMs(nowUs),
    end: 'set_up_failed',
    exitCodes: [error.exitCode],
    config: facts.config,
    environment,
    stats: new Stats(nowUs),
    durationUs: 0,
    instance: describeInstance(facts, NO_COMMON_START),
    intervals: [],
    windowStartedAtMs: times.timeOfDayMs(nowUs),
    failureWords: {},
    reorgs: noReorgs(),
    generator: {
      ...IDLE_GENERATOR,
      peakRssBytes: process.resourceUsage().maxRSS * 1024,
      workers,
      rpcCalls: traffic.rpcCalls,
      transport: traffic.transport,
    },
    spending: { capWei, setUpWei: null, spentWei: null, transactions: null },
    audit: null,
    isOpenLoop: false,
    thresholds: facts.thresholds,
    warnings: [error.message],
    unmeasured: Object.fromEntries(UNKNOWN_BEFORE_LOAD.map((pointer) => [pointer, why])),
  });
  if (verdict === null) run.unmeasured['/verdict'] = why;
  else delete run.unmeasured['/verdict'];
  // Unmeasured thresholds do not change the exit code.
  return { ...run, exitCode: error.exitCode, verdict };
}

/** @param {StressError} error @returns {Verdict | null} */
function verdictOf(error) {
  if (error instanceof TransportError) return { name: 'endpoint-down', evidence: error.message };
  return error instanceof FundsError ? { name: 'funds', evidence: error.message } : null;
}

/**
 * What the load will do, and for how long.
 * @param {Config} config
 * @param {string} who the wallets, or the users
 * @param {string} place the endpoint
 */
export function loadText(config, who, place) {
  const { workload, mix, method, calls, warmupMs, durationMs, iterations } = config;
  const members = mix.length === 1 ? mix[0].name : mix.map(({ name, weight }) => `${name}:${weight}`).join(',');
  const names = workload === MIX ? members : workload;
  const call = calls === null ? `call ${method}` : `make the calls of ${displayName(calls)}`;
  const what = isCallWorkload(workload) ? call : (DOES[names] ?? `run the workload ${names}`);
  const warmUp = warmupMs === 'auto' ? 'an automatic warm-up' : `a warm-up of ${lengthText(warmupMs)}`;
  const length = durationMs === null ? 'until Ctrl-C' : `for ${lengthText(durationMs)}`;
  const most = durationMs === null ? '' : ` ${length} at most`;
  const end = iterations === null ? length : `${iterations} times each${most}`;
  return [
    `${who} ${what} at ${place} ${end}`,
    ...paceText(config),
    ...(warmupMs === 0 ? [] : [`after ${warmUp}`]),
  ].join(', ');
}

/** @type {Readonly<Record<string, string>>} */
const DOES = Object.freeze({
  counter: 'increment their counters',
  transfer: 'send payments',
  erc20: 'send tokens',
});

/** @param {Config} config @returns {string[]} empty in a closed loop */
function paceText({ ratePerSecond, gasPerSecond, stages }) {
  if (gasPerSecond !== null) return [`${gasPerSecond / 1e6} Mgas per second`];
  if (ratePerSecond !== null) return [`${ratePerSecond} per second`];
  return stages === null ? [] : [`in ${stages.length} stages`];
}

/** @param {number} ms */
function lengthText(ms) {
  return ms < 60_000 ? `${ms / 1000} s` : timeText(ms / 1000);
}
