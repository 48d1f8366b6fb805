import { EXIT, FundsError, StressError, TransportError } from '../errors.js';
import { noReorgs } from '../metrics/reorgs.js';
import { Recorder } from '../metrics/recorder.js';
import { buildRunFile } from '../metrics/summary.js';
import { threadStatsOf } from './endpoints.js';
import { describeEnvironment } from './environment.js';
import { workersOf } from './hire.js';
import { describeInstance } from './instance.js';

/**
 * @import { RunFile } from '../metrics/summary.js'
 * @import { Verdict } from '../metrics/verdict.js'
 * @import { Config } from './config.js'
 * @import { Endpoints } from './endpoints.js'
 * @import { Surroundings, startOf } from './run.js'
 */

/**
 * A run that ended before its load began: a CI server that reads files, and not the terminal, is told as well.
 */

/** The endpoint, or what is needed there, is missing; or going on could do harm. @type {readonly number[]} */
const TOLD = Object.freeze([EXIT.unavailable, EXIT.refused]);

/**
 * Writes the files of a run without a load.
 * @param {unknown} error that ended it
 * @param {Pick<Surroundings, 'clock' | 'outputs' | 'version' | 'log'> & {config: Config, times: ReturnType<startOf>, endpoints: Endpoints | null}} parts
 */
export async function tellSetUpFailed(error, { outputs, log, ...parts }) {
  if (!(error instanceof StressError) || !TOLD.includes(error.exitCode)) return;
  const run = describe(error, parts);
  for (const output of outputs) {
    try {
      await output.setUpFailed?.(run);
    } catch (unwritten) {
      log.error(/** @type {Error} */ (unwritten).message);
    }
  }
}

/**
 * @param {StressError} error
 * @param {Omit<Parameters<typeof tellSetUpFailed>[1], 'outputs' | 'log'>} parts
 * @returns {RunFile}
 */
function describe(error, { clock, version, config, times, endpoints }) {
  const nowUs = clock.nowUs();
  const recorder = new Recorder([], nowUs);
  recorder.closeWindow(nowUs);
  const display = endpoints?.rpc.display ?? null;
  const chain = { clientVersion: null, chainId: null, genesisHash: null, roundTripMs: null };
  const environment = describeEnvironment({
    version,
    config,
    chain,
    sender: null,
    endpoints: [],
    inclusion: null,
    facts: {},
    embedded: config.rpc.length === 0,
    rpc: { display: display ?? 'the embedded chain' },
  });
  const none = { rpcCalls: {}, transport: { requests: 0, connectionsOpened: 0, bytesReceived: 0 } };
  const traffic = endpoints === null ? none : threadStatsOf(endpoints);
  const why = `the run ended before its load began: ${error.message}`;
  const nulls = [
    ...[
      'clientVersion',
      'chainId',
      'genesisHash',
      'roundTripMs',
      'blockGasLimit',
      'feeMode',
      'signer',
      'inclusion',
    ].map((name) => `/environment/${name}`),
    ...['setUpWei', 'spentWei', 'transactions'].map((name) => `/spending/${name}`),
    ...['inclusionResolutionMs', 'headSource', 'batches/why'].map((name) => `/generator/${name}`),
    '/audit',
  ];
  const verdict = verdictOf(error);
  const run = buildRunFile({
    id: times.id,
    startedAtMs: times.timeOfDayMs(times.startedUs),
    endedAtMs: times.timeOfDayMs(nowUs),
    end: 'set_up_failed',
    exitCodes: [error.exitCode],
    config: config.redacted,
    environment,
    recorder,
    instance: describeInstance(config, { by: null, at: null, waitedMs: null, lateMs: null }),
    intervals: [],
    windowStartedAtMs: times.timeOfDayMs(nowUs),
    failureWords: {},
    reorgs: noReorgs(),
    generator: {
      cpuUs: 0,
      peakRssBytes: process.resourceUsage().maxRSS * 1024,
      workers: workersOf(config),
      rpcCalls: traffic.rpcCalls,
      transport: traffic.transport,
      endpoints: [],
      batches: { limit: 1, largest: 1, refused: 0, why: null },
      readBackRetries: 0,
      pausedMs: 0,
      retiredWallets: 0,
      presigned: { used: 0, discarded: 0 },
      resubmissions: { repeated: 0, rebroadcast: 0, replaced: 0 },
      inclusionResolutionMs: null,
      headSource: null,
      failedPolls: 0,
      arrivalSeed: null,
      samplesDropped: 0,
    },
    spending: { capWei: config.maxSpendWei === null ? null : String(config.maxSpendWei), ...nothingSpent() },
    audit: null,
    isOpenLoop: false,
    thresholds: config.thresholds,
    warnings: [error.message],
    unmeasured: Object.fromEntries(nulls.map((pointer) => [pointer, why])),
  });
  if (verdict === null) run.unmeasured['/verdict'] = why;
  else delete run.unmeasured['/verdict'];
  // That thresholds were not measured is no news beside this.
  return { ...run, exitCode: error.exitCode, verdict };
}

function nothingSpent() {
  return { setUpWei: null, spentWei: null, transactions: null };
}

/** @param {StressError} error @returns {Verdict | null} */
function verdictOf(error) {
  if (error instanceof TransportError) return { name: 'endpoint-down', evidence: error.message };
  return error instanceof FundsError ? { name: 'funds', evidence: error.message } : null;
}
