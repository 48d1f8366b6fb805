import { randomUUID } from 'node:crypto';
import { EXIT, InternalError, StressError, UnavailableError, worstExit } from '../errors.js';
import { startDevChain } from '../chain/devchain.js';
import { createRpc, displayUrl, toNumber } from '../chain/rpc.js';
import { buildRunFile } from '../metrics/summary.js';
import { workloads } from '../workload/index.js';
import { Account } from './account.js';
import { audit } from './audit.js';
import { finishAll, sayWhatWentWrong, settleAll, unexpected } from './closing.js';
import { interruptible, openTransport, readGiven } from './connect.js';
import { describeEnvironment, whatIsNotKnown } from './environment.js';
import { addUpThreads, hire, workersOf } from './hire.js';
import { checkDescriptors } from './limits.js';
import { load } from './load.js';
import { scheduleOf } from './schedule.js';
import { setUp, setUpCalls } from './setup.js';
import { Watch } from './watch.js';

/**
 * One whole run, assembled: chain, set-up, load, drain, audit, summary. The only place that knows all parts.
 *
 * @typedef {object} Config everything a command needs, checked and frozen by src/cli/config.js
 * @property {number} threads
 * @property {number} offset
 * @property {URL | null} rpc null for an embedded chain
 * @property {number | null} chainId
 * @property {number | null} allowChain
 * @property {string | null} keys
 * @property {string | null} mnemonic
 * @property {string} hdPath
 * @property {string | null} fundFrom
 * @property {bigint | null} fundAmountWei
 * @property {string | null} to
 * @property {number | null} durationMs
 * @property {number} warmupMs
 * @property {number | null} ratePerSecond of this instance; null for a closed loop, or stages
 * @property {import('../pacer/index.js').Stage[] | null} stages
 * @property {import('../pacer/index.js').Arrival | null} arrival of an open loop
 * @property {number} inFlight most operations of one wallet at once
 * @property {number} intervalMs
 * @property {number} drainTimeoutMs
 * @property {number} txTimeoutMs
 * @property {number} requestTimeoutMs
 * @property {string} workload
 * @property {string} inclusion
 * @property {string} transport
 * @property {number} connections
 * @property {boolean} noKeepAlive
 * @property {boolean} insecure
 * @property {number | 'auto'} workers
 * @property {string | null} method of --workload rpc
 * @property {unknown[] | null} params of --workload rpc
 * @property {number | null} fixedId of --workload rpc
 * @property {string | null} contracts
 * @property {boolean} legacy
 * @property {bigint | null} gasPriceWei
 * @property {bigint | null} maxFeeWei
 * @property {string | null} out
 * @property {import('../metrics/thresholds.js').Threshold[]} thresholds
 * @property {string | null} junit
 * @property {string | null} samples
 * @property {string | null} blocks
 * @property {string | null} hlog
 * @property {{host: string, port: number} | null} prometheus
 * @property {number | null} nodePid
 * @property {URL | null} nodeMetrics
 * @property {string[] | null} nodeSeries
 * @property {number | null} port
 * @property {boolean} verbose
 * @property {boolean} quiet
 * @property {boolean} explain
 * @property {string} logLevel
 * @property {string | null} logFile
 * @property {Record<string, unknown>} redacted as the run file states it
 *
 * @typedef {object} Surroundings what a run is given from outside
 * @property {import('../clock.js').Clock} clock
 * @property {import('pino').Logger} log
 * @property {import('../output/index.js').Output[]} outputs
 * @property {(label: string, done: number, all: number) => void} onProgress
 * @property {import('./stop.js').Stop} stop
 * @property {string} version
 */

/** Why a run of plain calls has no audit. */
const NOTHING_TO_AUDIT = 'plain calls leave nothing on the chain to audit';

/** What `--inclusion auto` chooses, and why, as the run file states it. */
const AUTO_INCLUSION = Object.freeze({ name: 'blocks', why: 'one head check and one block fetch serve every wallet' });

/**
 * @param {Config} config
 * @param {Surroundings} surroundings
 * @returns {Promise<number>} the exit code
 */
export async function run(config, surroundings) {
  const { clock, stop, outputs } = surroundings;
  const given = readGiven(config);
  checkDescriptors(config.connections, workersOf(config));
  /** @type {import('../chain/devchain.js').DevChain | null} */
  let devChain = null;
  /** @type {import('../transport/index.js').Transport | null} */
  let transport = null;
  try {
    for (const output of outputs) await output.open?.();
    if (config.rpc === null) devChain = await startDevChain(clock);
    const url = config.rpc ?? /** @type {import('../chain/devchain.js').DevChain} */ (devChain).url;
    const opened = openTransport(config, url);
    transport = opened;
    stop.now.addEventListener('abort', () => void opened.close());
    devChain?.ended.then((words) => chainEnded(stop, words)).catch(() => {});
    return await runOn({ config, given, url, transport, embedded: devChain !== null, ...surroundings });
  } finally {
    await transport?.close();
    await devChain?.stop();
    for (const output of outputs) await output.close?.();
  }
}

/**
 * @typedef {Surroundings & {config: Config, given: import('./connect.js').Given, url: URL, transport: import('../transport/index.js').Transport, embedded: boolean}} RunContext
 * @typedef {Awaited<ReturnType<typeof carryOut>>} CarriedOut
 */

/** @param {RunContext} context @returns {Promise<number>} */
async function runOn(context) {
  const { config, url, transport, clock, outputs, stop, log } = context;
  const startedAtMs = clock.wallMs();
  const rpc = createRpc(transport, displayUrl(url), { fixedId: config.fixedId });
  const carriedOut = await carryOut(context, rpc);
  const { samplesDropped, errors } = await settleAll(outputs);
  for (const error of errors) stop.request('output_failed', error.exitCode, error);
  const runFile = buildRunFile(describe(context, rpc, carriedOut, { startedAtMs, samplesDropped }));
  const unwritten = await finishAll(outputs, runFile);
  for (const error of unwritten) stop.request('output_failed', error.exitCode, error);
  sayWhatWentWrong(log, stop, carriedOut.loaded.ledger, runFile, carriedOut.warnings);
  return worstExit([runFile.exitCode, ...unwritten.map((error) => error.exitCode)]);
}

/** Set-up, load, drain, audit. @param {RunContext} context @param {import('../chain/rpc.js').Rpc} rpc */
async function carryOut(context, rpc) {
  const { config, url, transport, clock, outputs, stop } = context;
  const { contracts: contractsFile, method, params } = config;
  const workload = workloads[config.workload]({ rpc, contractsFile, method, params });
  const ready = await interruptible(stop, transport, () =>
    workload.kind === 'call' ? setUpCalls(context, rpc) : setUp(context, rpc, workload),
  );
  const { wallets, sender } = ready;
  const inclusion = sender === null ? null : chooseInclusion(config);
  const accounts = wallets.map((wallet, position) => new Account(position, wallet));
  const startBlock = sender === null ? 0 : toNumber(await rpc.call('eth_blockNumber', [], 'setup'));

  // Workers have connections of their own.
  if (workersOf(config) > 1) await transport.rest();
  const schedule = scheduleOf(config);
  const crew = await hire({ ...context, rpc, accounts, workload, sender, startBlock, inclusion, schedule });
  const watch = new Watch({
    ...{ config, clock, urls: [url], rpc: sender === null ? null : rpc },
    warn: (words) => context.log.warn(words),
  });
  let audited = { report: /** @type {import('./audit.js').AuditReport | null} */ (null), reason: NOTHING_TO_AUDIT };
  try {
    const loaded = await load({ config, clock, outputs, stop, crew, watch });
    const { recorder, ledger } = loaded;
    const parts = { rpc, clock, accounts, recorder, ledger, startBlock };
    if (workload.kind === 'transaction') audited = await auditUnlessHurried({ ...parts, workload }, config, stop);
    return { ready, inclusion, schedule, loaded, audited, warnings: watch.warnings };
  } finally {
    watch.close();
    await crew.close();
  }
}

/**
 * @param {RunContext} context
 * @param {import('../chain/rpc.js').Rpc} rpc
 * @param {CarriedOut} carriedOut
 * @param {{startedAtMs: number, samplesDropped: number}} facts
 * @returns {import('../metrics/summary.js').RunParts}
 */
function describe(context, rpc, { ready, inclusion, schedule, loaded, audited, warnings }, facts) {
  const { config, transport, clock, stop, version, embedded } = context;
  const { chain, sender } = ready;
  const { recorder, intervals, windowStartedAtMs } = loaded;
  const { failureWords, ...stats } = loaded.stats;
  const own = { rpcCalls: rpc.callCounts(), transport: transport.stats(), batches: rpc.batchFacts() };
  const traffic = addUpThreads(own, loaded.threads);
  return {
    id: randomUUID(),
    startedAtMs: facts.startedAtMs,
    endedAtMs: clock.wallMs(),
    end: stop.reason ?? 'unknown',
    exitCodes: [
      ...stop.exitCodes,
      audited.report !== null && !audited.report.exact ? EXIT.notExact : EXIT.ok,
      recorder.counts.verified === 0 ? EXIT.nothingVerified : EXIT.ok,
    ],
    config: config.redacted,
    environment: describeEnvironment({ version, chain, rpc, sender, config, inclusion, embedded }),
    ...{ recorder, intervals, windowStartedAtMs, failureWords, warnings },
    generator: {
      ...{ ...loaded.generator, ...stats, workers: workersOf(config), ...traffic },
      samplesDropped: facts.samplesDropped,
      arrivalSeed: schedule?.arrival === 'poisson' ? schedule.seed : null,
    },
    isOpenLoop: schedule !== null,
    thresholds: config.thresholds,
    audit: audited.report,
    unmeasured: {
      ...(audited.report === null ? { '/audit': audited.reason } : {}),
      ...(traffic.batches.why === null ? { '/generator/batches/why': 'no batch was refused' } : {}),
      ...whatIsNotKnown(chain, sender),
    },
  };
}

/**
 * @param {Omit<Parameters<typeof audit>[0], 'timeoutMs' | 'signal'>} parts
 * @param {Config} config
 * @param {import('./stop.js').Stop} stop
 * @returns {Promise<{report: import('./audit.js').AuditReport | null, reason: string}>} the reason why there is none
 */
async function auditUnlessHurried(parts, { drainTimeoutMs, requestTimeoutMs }, stop) {
  const hurried = () => ({ report: null, reason: stop.hurriedBecause ?? '' });
  if (stop.now.aborted) return hurried();
  try {
    // A request that was given up may still arrive for as long as it could have been answered.
    const timeoutMs = Math.max(drainTimeoutMs, requestTimeoutMs);
    return { report: await audit({ ...parts, timeoutMs, signal: stop.now }), reason: '' };
  } catch (error) {
    if (stop.now.aborted) return hurried();
    const known = error instanceof StressError ? error : new InternalError(unexpected(error), error);
    stop.request('audit_failed', known.exitCode, known);
    return { report: null, reason: known.message };
  }
}

/** @param {Config} config */
function chooseInclusion({ inclusion }) {
  return inclusion === 'auto' ? AUTO_INCLUSION : { name: inclusion, why: 'asked for with --inclusion' };
}

/** Nothing that is in flight can arrive any more. @param {import('./stop.js').Stop} stop @param {string} words */
function chainEnded(stop, words) {
  const error = new UnavailableError(`the embedded chain ended: ${words}`);
  stop.request('chain_ended', EXIT.unavailable, error);
  stop.hurry(error.message);
}
