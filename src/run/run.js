import { randomUUID } from 'node:crypto';
import { EXIT, worstExit } from '../errors.js';
import { startDevChain } from '../chain/devchain.js';
import { secretsOf } from '../chain/endpoint-url.js';
import { createRpc, displayUrl } from '../chain/rpc.js';
import { buildPartialRunFile, buildRunFile } from '../metrics/summary.js';
import { createWorkload } from '../workload/index.js';
import { Account } from './account.js';
import { auditUnlessHurried } from './examine.js';
import { Checkpoints } from './checkpoint.js';
import { chainEnded, finishAll, sayWhatWentWrong, settleAll } from './closing.js';
import { interruptible, openTransport, readGiven } from './connect.js';
import { describeEnvironment, whatIsNotKnown } from './environment.js';
import { addUpThreads, hire, workersOf } from './hire.js';
import { checkDescriptors } from './limits.js';
import { load } from './load.js';
import { startBlockOf } from './start-block.js';
import { scheduleOf } from './schedule.js';
import { setUp, setUpCalls } from './setup.js';
import { capReached, describeSpending } from './spending.js';
import { Watch } from './watch.js';

/**
 * One whole run, assembled: chain, set-up, load, drain, audit, summary. The only place that knows all parts.
 *
 * @typedef {import('./config.js').Config} Config
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
    const [embedded, nodePid] = [devChain !== null, config.nodePid ?? devChain?.chainPid() ?? null];
    return await runOn({ config, given, url, transport, embedded, nodePid, ...startOf(clock), ...surroundings });
  } finally {
    await transport?.close();
    await devChain?.stop();
    for (const output of outputs) await output.close?.();
  }
}

/** @param {import('../clock.js').Clock} clock */
function startOf(clock) {
  const [startedAtMs, startedUs] = [clock.wallMs(), clock.nowUs()];
  /** The clock of the machine may be set in mid-run; what follows in the run follows in its file. @param {number} atUs */
  const timeOfDayMs = (atUs) => startedAtMs + Math.round((atUs - startedUs) / 1000);
  return { id: randomUUID(), startedAtMs, timeOfDayMs };
}

/**
 * @typedef {Surroundings & ReturnType<typeof startOf> & {config: Config, given: import('./connect.js').Given, url: URL, transport: import('../transport/index.js').Transport, embedded: boolean, nodePid: number | null}} RunContext
 * @typedef {Awaited<ReturnType<typeof carryOut>>} CarriedOut
 */

/** @param {RunContext} context @returns {Promise<number>} */
async function runOn(context) {
  const { config, url, transport, clock, outputs, stop, log } = context;
  const rpc = createRpc(transport, displayUrl(url), {
    ...{ fixedId: config.fixedId, secrets: secretsOf(url) },
    insistence: {
      ...{ clock, signals: { setup: stop.drain, audit: stop.now } },
      mostMs: { audit: Math.max(config.drainTimeoutMs, config.requestTimeoutMs) },
    },
  });
  const carriedOut = await carryOut(context, rpc);
  const { samplesDropped, errors } = await settleAll(outputs);
  for (const error of errors) stop.request('output_failed', error.exitCode, error);
  if (stop.reason === 'max_spend') stop.request('max_spend', EXIT.refused, capReached(config, carriedOut));
  const facts = { untilUs: clock.nowUs(), end: stop.reason ?? 'unknown', samplesDropped };
  const runFile = buildRunFile(describe(context, rpc, carriedOut, facts));
  const unwritten = await finishAll(outputs, runFile);
  for (const error of unwritten) stop.request('output_failed', error.exitCode, error);
  sayWhatWentWrong(log, stop, carriedOut.loaded.ledger, runFile, carriedOut.warnings);
  return worstExit([runFile.exitCode, ...unwritten.map((error) => error.exitCode)]);
}

/** Set-up, load, drain, audit. @param {RunContext} context @param {import('../chain/rpc.js').Rpc} rpc */
async function carryOut(context, rpc) {
  const { config, url, transport, clock, outputs, stop } = context;
  const workload = await createWorkload(config.workload, { rpc, settings: config });
  const ready = await interruptible(stop, transport, () =>
    workload.kind === 'call' ? setUpCalls(context, rpc) : setUp(context, rpc, workload),
  );
  const { wallets, sender, costs } = ready;
  const inclusion = sender === null ? null : chooseInclusion(config);
  const accounts = wallets.map((wallet, position) => new Account(position, wallet));
  const start = await startBlockOf(rpc, ready, { clock, confirmations: config.confirmations, signal: stop.drain });
  const { startBlock } = start;

  // Workers have connections of their own.
  if (workersOf(config) > 1) await transport.rest();
  const schedule = scheduleOf(config);
  const loadParts = { accounts, workload, sender, start, inclusion, schedule, capWei: costs.leftWei };
  const crew = await hire({ ...context, rpc, ...loadParts });
  const watch = new Watch({
    ...{ config: { ...config, nodePid: context.nodePid }, clock, urls: [url], rpc: sender === null ? null : rpc },
    warn: (words) => context.log.warn(words),
  });
  const environment = describeEnvironment({ ...context, chain: ready.chain, rpc, sender, inclusion });
  const described = { ready, environment, schedule, warnings: watch.warnings };
  const checkpoints = new Checkpoints({ clock, outputs, stop, warn: (words) => context.log.warn(words) });
  /** @param {import('./load.js').LoadSoFar} loaded */
  const describeSoFar = (loaded) => {
    const facts = { untilUs: loaded.untilUs, end: 'running', samplesDropped: null };
    const soFar = { ...described, loaded, audited: { report: null, reason: '' } };
    return buildPartialRunFile(describe(context, rpc, soFar, facts), loaded.durationUs);
  };
  let audited = { report: /** @type {import('./audit.js').AuditReport | null} */ (null), reason: NOTHING_TO_AUDIT };
  try {
    const { timeOfDayMs } = context;
    const loaded = await load({ config, clock, outputs, stop, crew, watch, checkpoints, describeSoFar, timeOfDayMs });
    const { recorder, ledger } = loaded;
    const parts = { rpc, clock, accounts, recorder, ledger, startBlock };
    if (workload.kind === 'transaction')
      audited = await auditUnlessHurried({ ...parts, workload }, start, config, stop);
    return { ...described, loaded, audited };
  } finally {
    checkpoints.stop();
    watch.close();
    await crew.close();
  }
}

/**
 * @param {RunContext} context
 * @param {import('../chain/rpc.js').Rpc} rpc
 * @param {Omit<CarriedOut, 'loaded'> & {loaded: Omit<CarriedOut['loaded'], 'ledger'>}} carriedOut so far
 * @param {{untilUs: number, end: string, samplesDropped: number | null}} facts
 * @returns {import('../metrics/summary.js').RunParts}
 */
function describe(context, rpc, { ready, environment, schedule, loaded, audited, warnings }, facts) {
  const { config, transport, stop } = context;
  const { chain, sender } = ready;
  const { recorder, intervals, windowStartedAtMs } = loaded;
  const { failureWords, reorgs, spending: spent, ...stats } = loaded.stats;
  const spending = describeSpending(config, ready, spent);
  const own = { rpcCalls: rpc.callCounts(), transport: transport.stats(), batches: rpc.batchFacts() };
  const traffic = addUpThreads(own, loaded.threads);
  return {
    id: context.id,
    startedAtMs: context.startedAtMs,
    endedAtMs: context.timeOfDayMs(facts.untilUs),
    end: facts.end,
    exitCodes: [
      ...stop.exitCodes,
      audited.report !== null && !audited.report.exact ? EXIT.notExact : EXIT.ok,
      recorder.counts.verified === 0 ? EXIT.nothingVerified : EXIT.ok,
    ],
    config: config.redacted,
    environment,
    ...{ recorder, intervals, windowStartedAtMs, failureWords, reorgs, warnings },
    generator: {
      ...{ ...loaded.generator, ...stats, workers: workersOf(config), ...traffic },
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

/** @param {Config} config */
function chooseInclusion({ inclusion }) {
  return inclusion === 'auto' ? AUTO_INCLUSION : { name: inclusion, why: 'asked for with --inclusion' };
}
