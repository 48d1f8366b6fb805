import { randomUUID } from 'node:crypto';
import { EXIT, InternalError, StressError, UnavailableError, worstExit } from '../errors.js';
import { startDevChain } from '../chain/devchain.js';
import { indexRanges } from '../chain/funding.js';
import { createRpc, displayUrl, toNumber } from '../chain/rpc.js';
import { buildRunFile } from '../metrics/summary.js';
import { workloads } from '../workload/index.js';
import { Account } from './account.js';
import { audit } from './audit.js';
import { interruptible, openTransport, readGiven } from './connect.js';
import { describeEnvironment, whatIsNotKnown } from './environment.js';
import { addUpThreads, hire, workersOf } from './hire.js';
import { checkDescriptors } from './limits.js';
import { load } from './load.js';
import { setUp, setUpCalls } from './setup.js';

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
  const { clock, stop } = surroundings;
  const given = readGiven(config);
  checkDescriptors(config.connections, workersOf(config));
  /** @type {import('../chain/devchain.js').DevChain | null} */
  let devChain = null;
  /** @type {import('../transport/index.js').Transport | null} */
  let transport = null;
  try {
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
  }
}

/**
 * @param {Surroundings & {config: Config, given: import('./connect.js').Given, url: URL, transport: import('../transport/index.js').Transport, embedded: boolean}} context
 * @returns {Promise<number>}
 */
async function runOn(context) {
  const { config, url, transport, clock, outputs, stop, version, embedded } = context;
  const startedAtMs = clock.wallMs();
  const rpc = createRpc(transport, displayUrl(url), { fixedId: config.fixedId });
  const { contracts: contractsFile, method, params } = config;
  const workload = workloads[config.workload]({ rpc, contractsFile, method, params });
  const ready = await interruptible(stop, transport, () =>
    workload.kind === 'call' ? setUpCalls(context, rpc) : setUp(context, rpc, workload),
  );
  const { chain, wallets, sender } = ready;
  const inclusion = sender === null ? null : chooseInclusion(config);
  const accounts = wallets.map((wallet, position) => new Account(position, wallet));
  const startBlock = sender === null ? 0 : toNumber(await rpc.call('eth_blockNumber', [], 'setup'));

  // Workers have connections of their own.
  if (workersOf(config) > 1) await transport.rest();
  const crew = await hire({ ...context, rpc, accounts, workload, sender, startBlock, inclusion });
  let loaded;
  let audited = { report: /** @type {import('./audit.js').AuditReport | null} */ (null), reason: NOTHING_TO_AUDIT };
  try {
    loaded = await load({ config, clock, outputs, stop, crew });
    const { recorder, ledger } = loaded;
    const parts = { rpc, clock, accounts, recorder, ledger, startBlock };
    if (workload.kind === 'transaction') audited = await auditUnlessHurried({ ...parts, workload }, config, stop);
  } finally {
    await crew.close();
  }
  const { recorder, ledger, threads } = loaded;
  const { failureWords, ...stats } = loaded.stats;

  const exitCode = worstExit([
    ...stop.exitCodes,
    audited.report !== null && !audited.report.exact ? EXIT.notExact : EXIT.ok,
    recorder.counts.verified === 0 ? EXIT.nothingVerified : EXIT.ok,
  ]);
  const traffic = addUpThreads(
    { rpcCalls: rpc.callCounts(), transport: transport.stats(), batches: rpc.batchFacts() },
    threads,
  );
  const runFile = buildRunFile({
    id: randomUUID(),
    startedAtMs,
    endedAtMs: clock.wallMs(),
    end: stop.reason ?? 'unknown',
    exitCode,
    config: config.redacted,
    environment: describeEnvironment({ version, chain, rpc, sender, config, inclusion, embedded }),
    recorder,
    intervals: loaded.intervals,
    windowStartedAtMs: loaded.windowStartedAtMs,
    failureWords,
    generator: { ...loaded.generator, ...stats, workers: workersOf(config), ...traffic },
    audit: audited.report,
    unmeasured: {
      ...(audited.report === null ? { '/audit': audited.reason } : {}),
      ...(traffic.batches.why === null ? { '/generator/batches/why': 'no batch was refused' } : {}),
      ...whatIsNotKnown(chain, sender),
    },
  });
  const unwritten = await finishAll(outputs, runFile);
  for (const error of unwritten) stop.request('output_failed', error.exitCode, error);
  sayWhatWentWrong(context.log, stop, ledger);
  return worstExit([exitCode, ...unwritten.map((error) => error.exitCode)]);
}

/**
 * Every output gets the run, also when one of them fails.
 * @param {import('../output/index.js').Output[]} outputs
 * @param {import('../metrics/summary.js').RunFile} runFile
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
function unexpected(error) {
  return `unexpected: ${error instanceof Error ? error.message : error}. This is a bug of stress`;
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

/**
 * One line for each thing that went wrong, after the summary, where it is seen.
 * @param {import('pino').Logger} log
 * @param {import('./stop.js').Stop} stop
 * @param {import('./ledger.js').Ledger} ledger
 */
function sayWhatWentWrong(log, stop, { foreign }) {
  for (const message of new Set(stop.errors.map((error) => error.message))) log.error(message);
  if (foreign.length === 0) return;
  const [{ walletIndex, nonce, hash }] = foreign;
  const indexes = foreign.map((transaction) => transaction.walletIndex);
  log.error(
    `another sender uses wallets ${indexRanges(indexes)}: transaction ${hash} (wallet ${walletIndex}, nonce ${nonce}) was mined and is not ours; give each instance its own wallets (-o)`,
  );
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
