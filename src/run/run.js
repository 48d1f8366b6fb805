import { randomUUID } from 'node:crypto';
import { EXIT, ForeignSenderError, InterruptedError, StressError, worstExit } from '../errors.js';
import { startDevChain } from '../chain/devchain.js';
import { indexRanges } from '../chain/funding.js';
import { createRpc, displayUrl } from '../chain/rpc.js';
import { NonceTakenError, findMinedTransaction } from '../chain/send.js';
import { createSigner } from '../chain/signer.js';
import { buildRunFile } from '../metrics/summary.js';
import { transports } from '../transport/index.js';
import { workloads } from '../workload/index.js';
import { Account } from './account.js';
import { audit } from './audit.js';
import { describeEnvironment } from './environment.js';
import { load } from './load.js';
import { chooseFees, chooseKeys, deriveWallets, prepareFunds, readChain, walletNeedWei } from './setup.js';

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

/** The name under which the run file and the header state which detector was chosen for `auto`, and why. */
const AUTO_INCLUSION = Object.freeze({ name: 'blocks', why: 'one head check and one block fetch serve every wallet' });

/**
 * @param {Config} config
 * @param {Surroundings} surroundings
 * @returns {Promise<number>} the exit code
 */
export async function run(config, surroundings) {
  const { clock, stop } = surroundings;
  /** @type {import('../chain/devchain.js').DevChain | null} */
  let devChain = null;
  /** @type {import('../transport/index.js').Transport | null} */
  let transport = null;
  try {
    if (config.rpc === null) devChain = await startDevChain(clock);
    const url = config.rpc ?? /** @type {import('../chain/devchain.js').DevChain} */ (devChain).url;
    transport = openTransport(config, url);
    stop.now.addEventListener('abort', () => void transport?.close());
    devChain?.ended.then(
      (words) =>
        stop.request(
          'chain_ended',
          EXIT.unavailable,
          new StressError(`the embedded chain ended: ${words}`, 'chain_ended', EXIT.unavailable),
        ),
      () => {},
    );
    return await runOn({ config, url, transport, embedded: devChain !== null, ...surroundings });
  } catch (error) {
    if (stop.drain.aborted && !(error instanceof ForeignSenderError)) {
      throw stop.errors[0] ?? new InterruptedError('interrupted during set-up', worstExit(stop.exitCodes));
    }
    throw error;
  } finally {
    await transport?.close();
    await devChain?.stop();
  }
}

/** @param {Config} config @param {URL} url */
export function openTransport(config, url) {
  return transports[config.transport]({ url, connections: config.connections, timeoutMs: config.requestTimeoutMs });
}

/**
 * @param {Surroundings & {config: Config, url: URL, transport: import('../transport/index.js').Transport, embedded: boolean}} context
 * @returns {Promise<number>}
 */
async function runOn(context) {
  const { config, url, transport, clock, log, outputs, stop, version } = context;
  const startedAtMs = clock.wallMs();
  const rpc = createRpc(transport, displayUrl(url));
  const { chain, wallets, workload, sender } = await setUp(context, rpc);
  if (stop.drain.aborted) throw new InterruptedError('interrupted during set-up', worstExit(stop.exitCodes));

  const accounts = wallets.map((wallet, position) => new Account(position, wallet));
  const loaded = await load({
    config,
    rpc,
    clock,
    log,
    outputs,
    stop,
    accounts,
    workload,
    sender,
    inclusion: inclusionName(config),
  });
  const { recorder, driver } = loaded;

  /** @type {Record<string, string>} */
  const unmeasured = {};
  let report = null;
  if (stop.now.aborted) unmeasured['/audit'] = 'ended at once, on request';
  else {
    try {
      report = await audit({
        rpc,
        clock,
        workload,
        accounts,
        recorder,
        driver,
        timeoutMs: config.drainTimeoutMs,
        signal: stop.now,
      });
    } catch (error) {
      if (!(error instanceof StressError)) throw error;
      unmeasured['/audit'] = stop.now.aborted ? 'ended at once, on request' : error.message;
      if (!stop.now.aborted) stop.request('audit_failed', error.exitCode, error);
    }
  }
  await loaded.stop();

  const exitCode = worstExit([
    ...stop.exitCodes,
    report !== null && !report.exact ? EXIT.notExact : EXIT.ok,
    recorder.counts.verified === 0 ? EXIT.nothingVerified : EXIT.ok,
  ]);
  const runFile = buildRunFile({
    id: randomUUID(),
    startedAtMs,
    endedAtMs: clock.wallMs(),
    end: stop.reason ?? 'unknown',
    exitCode,
    config: config.redacted,
    environment: describeEnvironment({
      version,
      chain,
      rpc,
      sender,
      config,
      inclusion: inclusionName(config),
      embedded: context.embedded,
    }),
    recorder,
    intervals: loaded.intervals,
    windowStartedAtMs: loaded.windowStartedAtMs,
    generator: { ...loaded.generator(), rpcCalls: rpc.callCounts(), transport: { ...transport.stats() } },
    audit: report,
    unmeasured,
  });
  for (const error of stop.errors) log.error(error.message);
  if (report !== null && report.foreign.length > 0) {
    const { walletIndex, nonce, hash } = report.foreign[0];
    log.error(
      `another sender uses wallets ${indexRanges(driver.foreign.map((foreign) => foreign.walletIndex))}: transaction ${hash} (wallet ${walletIndex}, nonce ${nonce}) was mined and is not ours; give each instance its own wallets (-o)`,
    );
  }
  for (const output of outputs) await output.finish(runFile);
  return exitCode;
}

/** @param {Config} config */
function inclusionName(config) {
  return config.inclusion === 'auto' ? AUTO_INCLUSION : { name: config.inclusion, why: 'asked for with --inclusion' };
}

/**
 * @param {Surroundings & {config: Config, url: URL, embedded: boolean}} context
 * @param {import('../chain/rpc.js').Rpc} rpc
 */
async function setUp({ config, url, embedded, clock, outputs, onProgress, stop, log }, rpc) {
  /** @param {string} line */
  const notice = (line) => outputs.forEach((output) => output.notice(line));
  const chain = await readChain(rpc, url, config);
  const { source, isDevMnemonic } = chooseKeys(config, url, chain.chainId);
  const wallets = await deriveWallets(source, config, stop.drain, onProgress);
  const last = config.offset + config.threads - 1;
  notice(
    `${chain.clientVersion ?? 'a node'} at ${rpc.display}, chain ${chain.chainId}; wallets ${config.offset}..${last} of ${isDevMnemonic ? 'the well-known test mnemonic' : source.name}`,
  );

  const fees = await chooseFees(rpc, chain, config);
  const { chainId } = chain;
  const sender = {
    rpc,
    clock,
    signer: createSigner(),
    fees,
    chainId,
    timeoutMs: config.txTimeoutMs,
    signal: stop.drain,
  };
  const workload = workloads[config.workload]({ rpc, contractsFile: config.contracts });
  try {
    const needWei = walletNeedWei(config, workload.gas, fees);
    const paid = await prepareFunds({ config, sender, wallets, needWei, embedded, onProgress });
    if (embedded) {
      notice(
        `embedded chain started and its ${wallets.length} wallets funded; to share one between instances: stress node -t ${last + 1}, then stress --rpc URL`,
      );
    }
    if (paid.funded > 0) log.info({ ...paid, paidWei: String(paid.paidWei) }, 'funded');
    await workload.prepare({ wallets, sender, chain, onProgress });
  } catch (error) {
    if (!(error instanceof NonceTakenError)) throw error;
    throw (await foreignSender(error, rpc, chain.head, wallets, sender)) ?? error;
  }
  return { chain, wallets, workload, sender };
}

/**
 * A nonce of the set-up was taken: if a mined transaction that is not ours has it, somebody else uses the wallet.
 * @param {NonceTakenError} error
 * @param {import('../chain/rpc.js').Rpc} rpc
 * @param {number} head
 * @param {import('../chain/wallets.js').Wallet[]} wallets
 * @param {import('../chain/send.js').Sender} sender
 */
async function foreignSender({ wallet, nonce, hash }, rpc, head, wallets, { clock, timeoutMs }) {
  const deadlineUs = clock.nowUs() + Math.min(timeoutMs, 10_000) * 1000;
  while (clock.nowUs() < deadlineUs) {
    const mined = await findMinedTransaction(rpc, wallet.address, nonce, head).catch(() => null);
    if (mined?.hash === hash) return null;
    if (mined !== null) {
      return new ForeignSenderError(
        `another sender uses wallets ${indexRanges(wallets.map(({ index }) => index))}: transaction ${mined.hash} (wallet ${wallet.index}, nonce ${nonce}) was mined and is not ours; give each instance its own wallets (-o)`,
      );
    }
    await clock.sleep(250);
  }
  return null;
}
