import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { ask, blockAt, headerAt, nullIfOdd } from '../chain/answers.js';
import { readFees } from '../chain/fees.js';
import {
  DEV_MNEMONIC,
  createSigner,
  funderWallet,
  registerKeccak,
  keyFileSource,
  mnemonicSource,
} from '../chain/keys.js';
import { checkChain, devMnemonicAllowed } from '../chain/networks.js';
import { assertOneChain, chainIdOf, clientVersionOf } from '../chain/chain-identity.js';
import { openEndpoints } from '../chain/endpoints.js';
import { createTaken } from '../chain/submit.js';
import { EXIT, ForeignSenderError, InterruptedError, UnavailableError, UsageError, worstExit } from '../errors.js';
import { chooseTransport } from '../transport/choose.js';
import { unlessAborted } from '../workloads/user-code.js';
import { DEFAULT_BLOCK_S, SetUpCosts, secondsPerBlock } from './costs.js';
import { sliceIndexes } from './nonces.js';
import { requestStop } from './stop.js';

/**
 * @import { AllowedChain, ChainConfig, ChainInfo, Headers, KeySource, NetworkConfig, Rpc, Transport, Wallet, WalletConfig } from '../contracts/chain.d.ts'
 * @import { Clock, Stop } from '../contracts/common.d.ts'
 * @import { RunContext } from '../contracts/config.d.ts'
 * @import { Platform } from '../contracts/load.d.ts'
 * @import { Slice } from './nonces.js'
 * @import { Event, Health } from '../chain/endpoint-health.js'
 * @import { EndpointOptions, Endpoints } from '../chain/endpoints.js'
 * @import { StressError } from '../errors.js'
 * @import { UrlCheck } from '../chain/url-check.js'
 * @import { Watch } from './reports.js'
 */

/**
 * Opens the transport, identifies the chain and derives the wallets of a slice, before anything is signed.
 *
 * @typedef {object} Identity
 * @property {number} chainId
 * @property {string | null} clientVersion null: unknown
 * @property {number} roundTripMs the faster of two sequential requests
 */

/** Wallets derived per turn of the event loop. */
const DERIVE_AT_ONCE = 50;

/** @param {Platform['transports']} transports @param {NetworkConfig} network @param {URL} url @param {Headers} [headers] of the user */
export function openTransport(transports, network, url, headers) {
  const { transport, connections, requestTimeoutMs: timeoutMs, noKeepAlive, insecure, maxBodyBytes } = network;
  const open = transports[chooseTransport(transport, url, noKeepAlive)];
  return open({ url, connections, timeoutMs, maxBodyBytes, keepAlive: !noKeepAlive, insecure, headers });
}

/** @param {Platform['transports']} transports @param {NetworkConfig} network @param {Omit<EndpointOptions, keyof NetworkConfig | 'open' | 'openExtra'>} options */
export function openNetwork(transports, network, options) {
  return openEndpoints({
    ...network,
    ...options,
    open: (url) => openTransport(transports, network, url, network.headers),
    openExtra: (url) => openTransport(transports, { ...network, transport: 'auto', noKeepAlive: false }, url),
  });
}

/** Warns of outages and recoveries. @param {Health} health @param {Watch} watch @param {readonly string[]} names */
export function warnOfEndpoints(health, watch, names) {
  const isAlone = names.length === 1;
  /** @param {Event} event */
  const warn = ({ endpoint, isBack, words }) => {
    const down = isAlone ? `does not answer: ${words}` : `is down: ${words}; requests go to the other endpoints`;
    const what = isBack ? `${isAlone ? 'answers again' : 'is up again'} ${words}` : down;
    watch.warnOf(`endpoint ${endpoint}`, `${names[endpoint]} ${what}`);
  };
  health.events.forEach(warn);
  health.onEvent = warn;
}

/**
 * Runs a step of the set-up that the first signal ends at once by closing the connections.
 * @template T
 * @param {Stop} stop
 * @param {Pick<Transport, 'close'> & {urlCheck?: Pick<UrlCheck, 'again'>}} endpoints
 * @param {() => Promise<T>} action
 * @returns {Promise<T>}
 */
export async function interruptible(stop, endpoints, action) {
  const closeAll = () => void endpoints.close();
  stop.drain.addEventListener('abort', closeAll);
  try {
    const result = await action();
    throwIfStopped(stop);
    return result;
  } catch (error) {
    const why = stop.drain.aborted ? null : await endpoints.urlCheck?.again();
    if (error instanceof UnavailableError && why) error.message += `; ${why}`;
    if (!stop.drain.aborted || error instanceof ForeignSenderError) throw error;
    throw stoppedError(stop);
  } finally {
    stop.drain.removeEventListener('abort', closeAll);
  }
}

/** Before the load begins: a load that was stopped before does not begin. @param {Stop} stop @throws {StressError} */
export function throwIfStopped(stop) {
  if (stop.drain.aborted) throw stoppedError(stop);
}

/** @param {Stop} stop */
function stoppedError({ errors, exitCodes }) {
  return (
    errors[0] ?? new InterruptedError('interrupted during set-up', worstExit([...exitCodes, EXIT.nothingVerified]))
  );
}

/**
 * The same for a step without a connection: it is not awaited any longer.
 * @template T
 * @param {Stop} stop
 * @param {() => Promise<T>} action
 * @returns {Promise<T>}
 */
export function abandonable(stop, action) {
  return interruptible(stop, { close: async () => {} }, () => unlessAborted(stop.drain, action()));
}

/** @param {Rpc} rpc @param {URL} url @param {AllowedChain} allowed @param {Clock} clock @returns {Promise<Identity>} */
export async function identify(rpc, url, allowed, clock) {
  const [firstMs, chainId] = await timed(clock, () => chainIdOf(rpc));
  checkChain(url, chainId, allowed.chainId, allowed.allowChain);
  const [secondMs, clientVersion] = await timed(clock, () => clientVersionOf(rpc));
  return { chainId, clientVersion, roundTripMs: Math.min(firstMs, secondMs) };
}

/** @template T @param {Clock} clock @param {() => Promise<T>} ask @returns {Promise<[number, T]>} */
async function timed(clock, ask) {
  const fromUs = clock.nowUs();
  const answer = await ask();
  return [(clock.nowUs() - fromUs) / 1000, answer];
}

/** @param {Rpc} rpc @param {URL} url @param {AllowedChain} allowed @param {Clock} clock @returns {Promise<ChainInfo>} */
export async function readChain(rpc, url, allowed, clock) {
  const introduction = await identify(rpc, url, allowed, clock);
  // Some nodes have pruned it.
  const genesis = await nullIfOdd(ask(rpc, headerAt(0), 'setup'));
  const latest = await ask(rpc, blockAt('latest'), 'setup');
  if (latest === null) throw new UnavailableError(`${rpc.display} has no latest block: is the node still starting?`);
  return {
    ...introduction,
    head: latest.number,
    genesisHash: genesis?.hash ?? null,
    baseFeeWei: latest.baseFeeWei,
    blockGasLimit: latest.gasLimit,
    blockSeconds: (await secondsPerBlock(rpc, latest)) ?? DEFAULT_BLOCK_S,
  };
}

/**
 * The keys given by the user. They are read first, so that errors are reported at once.
 *
 * @typedef {object} GivenKeys
 * @property {KeySource | null} source null: the test mnemonic, if allowed
 * @property {Wallet | null} funder
 * @param {Pick<WalletConfig, 'keys' | 'mnemonic' | 'hdPath' | 'fundFrom' | 'offset'>} wallets
 * @param {number} threads
 * @returns {GivenKeys}
 */
export function readKeys({ keys, mnemonic, hdPath, fundFrom, offset }, threads) {
  const source = keys !== null ? keyFileSource(keys) : mnemonic !== null ? mnemonicSource(mnemonic, hdPath) : null;
  if (source !== null && offset + threads > source.size) {
    const last = offset + threads - 1;
    throw new UsageError(
      `wallets ${offset}..${last} do not exist: ${source.name} has ${source.size} (0..${source.size - 1}); use a smaller -t or -o`,
    );
  }
  return { source, funder: fundFrom === null ? null : funderWallet(fundFrom) };
}

/** @param {GivenKeys} given @param {string} hdPath @param {URL} url @param {number} chainId @returns {KeySource} */
export function chooseKeys({ source }, hdPath, url, chainId) {
  if (source !== null) return source;
  if (devMnemonicAllowed(url, chainId)) {
    return { ...mnemonicSource(DEV_MNEMONIC, hdPath), name: 'the well-known test mnemonic' };
  }
  throw new UsageError(
    `no wallets for chain ${chainId}: neither keys nor a mnemonic are given; give --keys FILE, or a mnemonic in STRESS_MNEMONIC (the well-known test mnemonic is used on local development chains only)`,
  );
}

/**
 * The chain of all endpoints, and the keys for it.
 * @param {Pick<ChainConfig, 'sendRpc' | 'chainId' | 'allowChain'>} allowed
 * @param {string} hdPath
 * @param {{given: GivenKeys, urls: URL[], endpoints: Pick<Endpoints, 'rpc' | 'sending' | 'urlCheck'>, clock: Clock, stop: Stop}} network
 */
export async function readChainAndKeys({ sendRpc, ...allowed }, hdPath, { given, urls, endpoints, clock, stop }) {
  const { rpc, sending, urlCheck } = endpoints;
  const chain = await readChain(rpc, urls[0], allowed, clock);
  const { chainId } = chain;
  if (sendRpc !== null) checkChain(sendRpc, chainId, allowed.chainId, allowed.allowChain);
  await urlCheck.begin(stop.drain, (error) => requestStop(stop, 'chain_replaced', error));
  if (sending !== null) await assertOneChain({ other: sending, option: '--send-rpc', reading: rpc, chainId });
  const [source] = [...urls, sendRpc ?? []].flat().map((url) => chooseKeys(given, hdPath, url, chainId));
  return { chain, source };
}

/**
 * What signs and sends the transactions of the set-up.
 * @param {Pick<WalletConfig, 'legacy' | 'gasPriceWei' | 'tipWei' | 'maxFeeWei' | 'maxSpendWei'> & {isGuarded: boolean}} wallets
 *   isGuarded: fees are real money (--allow-chain)
 * @param {Pick<RunContext, 'clock' | 'random' | 'stop'> & {timeoutMs: number, notice: (line: string) => void}} context
 * @param {Rpc} rpc
 * @param {ChainInfo} chain
 * @param {SetUpCosts} [costs]
 */
export async function openSender(
  wallets,
  { clock, random, stop, timeoutMs, notice },
  rpc,
  { chainId, baseFeeWei, blockGasLimit },
  costs = new SetUpCosts(wallets.maxSpendWei),
) {
  const fees = await readFees(rpc, baseFeeWei, wallets);
  const why = wallets.tipWei === null && wallets.gasPriceWei === null ? 'suggested price 0' : '--tip or --gas-price 0';
  if (fees.isFree) notice(`gas is free on this chain (base fee 0, ${why}): no fee is offered`);
  const signer = await createSigner();
  const taken = createTaken(clock);
  return {
    rpc,
    clock,
    random,
    fees,
    signer,
    chainId,
    blockGasLimit,
    timeoutMs,
    signal: stop.drain,
    costs,
    notice,
    taken,
  };
}

/**
 * @param {KeySource} source
 * @param {readonly Slice[]} slices
 * @param {AbortSignal} signal
 * @param {(label: string, done: number, all: number) => void} onProgress
 * @returns {Promise<Wallet[]>}
 */
export async function deriveWallets(source, slices, signal, onProgress) {
  /** @type {Wallet[]} */
  const wallets = [];
  const indexes = slices.flatMap(sliceIndexes);
  await registerKeccak();
  for (const index of indexes) {
    wallets.push(source.wallet(index));
    if (wallets.length % DERIVE_AT_ONCE !== 0) continue;
    onProgress('deriving wallets', wallets.length, indexes.length);
    await new Promise((resolve) => setImmediate(resolve));
    if (signal.aborted) throw new InterruptedError('interrupted during set-up');
  }
  onProgress('deriving wallets', indexes.length, indexes.length);
  return wallets;
}

/** Descriptors for files, pipes, the event loop and the embedded chain. */
const SPARE_DESCRIPTORS = 32;

const DESCRIPTORS_PER_WORKER = 16;

/**
 * Checked before the load, because running out of descriptors looks like an error of the endpoint. Without /proc the
 * limit is not known.
 * @param {number} connections
 * @param {number} workers
 * @throws {UsageError}
 */
export function checkDescriptors(connections, workers) {
  if (!existsSync('/proc/self/limits')) return;
  const limit = Number(/^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1] ?? Infinity);
  const forWorkers = workers > 1 ? workers * DESCRIPTORS_PER_WORKER : 0;
  const needed = connections + forWorkers + readdirSync('/proc/self/fd').length + SPARE_DESCRIPTORS;
  if (needed <= limit) return;
  throw new UsageError(
    `--connections ${connections}${workers > 1 ? ` with --workers ${workers}` : ''} needs about ${needed} file descriptors, and this process may have ${limit}: raise the limit (ulimit -n ${needed}), or use fewer connections`,
  );
}
