import { InterruptedError, UnavailableError, UsageError, oneLine } from '../errors.js';
import { readFees } from '../chain/fees.js';
import { checkChain, devMnemonicAllowed } from '../chain/networks.js';
import { toBigInt, toNumber } from '../chain/rpc.js';
import { DEV_MNEMONIC, keyFileSource, mnemonicSource } from '../chain/wallets.js';
import { transports } from '../transport/index.js';
import { sliceIndexes } from './slice.js';

/**
 * The way to an endpoint and to the wallets of a slice. Nothing is signed before the chain is known to be the
 * one that was meant.
 *
 * @typedef {import('../chain/wallets.js').Wallet} Wallet
 * @typedef {import('./run.js').Config} Config
 *
 * @typedef {object} ChainInfo
 * @property {number} chainId
 * @property {string} genesisHash
 * @property {string | null} clientVersion null when the node does not say
 * @property {number} head number of the latest block
 * @property {bigint | null} baseFeeWei null where blocks have none
 * @property {number} blockGasLimit
 */

/** How many wallets are derived before the event loop gets a turn. */
const DERIVE_AT_ONCE = 50;

/** @param {Pick<Config, 'transport' | 'connections' | 'requestTimeoutMs'>} config @param {URL} url */
export function openTransport({ transport, connections, requestTimeoutMs }, url) {
  return transports[transport]({ url, connections, timeoutMs: requestTimeoutMs });
}

/**
 * @param {import('../chain/rpc.js').Rpc} rpc
 * @param {URL} url
 * @param {Config} config
 * @returns {Promise<ChainInfo>}
 */
export async function readChain(rpc, url, config) {
  const chainId = toNumber(await rpc.call('eth_chainId', [], 'setup'));
  checkChain(url, chainId, config.chainId, config.allowChain);
  const clientVersion = await rpc.call('web3_clientVersion', [], 'setup').catch(() => null);
  const genesis = await rpc.call('eth_getBlockByNumber', ['0x0', false], 'setup');
  const latest = await rpc.call('eth_getBlockByNumber', ['latest', false], 'setup');
  if (latest === null) throw new UnavailableError(`${rpc.display} has no latest block: is the node still starting?`);
  return {
    chainId,
    genesisHash: genesis?.hash ?? '',
    clientVersion: clientVersion === null ? null : oneLine(clientVersion, 100),
    head: toNumber(latest.number),
    baseFeeWei: (latest.baseFeePerGas ?? null) === null ? null : toBigInt(latest.baseFeePerGas),
    blockGasLimit: toNumber(latest.gasLimit),
  };
}

/**
 * @param {Pick<Config, 'keys' | 'mnemonic' | 'hdPath'>} config
 * @param {URL} url
 * @param {number} chainId
 * @returns {import('../chain/wallets.js').KeySource}
 */
export function chooseKeys({ keys, mnemonic, hdPath }, url, chainId) {
  if (keys !== null) return keyFileSource(keys);
  if (mnemonic !== null) return mnemonicSource(mnemonic, hdPath);
  if (devMnemonicAllowed(url, chainId)) {
    return { ...mnemonicSource(DEV_MNEMONIC, hdPath), name: 'the well-known test mnemonic' };
  }
  throw new UsageError(
    `there are no wallets for chain ${chainId}: give --keys FILE, or a mnemonic in STRESS_MNEMONIC (the well-known test mnemonic is used on local development chains only)`,
  );
}

/**
 * @param {import('../chain/wallets.js').KeySource} source
 * @param {import('./slice.js').Slice} slice
 * @param {AbortSignal} signal
 * @param {(label: string, done: number, all: number) => void} onProgress
 * @returns {Promise<Wallet[]>}
 */
export async function deriveWallets(source, slice, signal, onProgress) {
  const { offset, threads } = slice;
  if (offset + threads > source.size) {
    throw new UsageError(
      `wallets ${offset}..${offset + threads - 1} are asked for, but ${source.name} has ${source.size} (0..${source.size - 1})`,
    );
  }
  /** @type {Wallet[]} */
  const wallets = [];
  for (const index of sliceIndexes(slice)) {
    wallets.push(source.wallet(index));
    if (wallets.length % DERIVE_AT_ONCE !== 0) continue;
    onProgress('deriving wallets', wallets.length, threads);
    await new Promise((resolve) => setImmediate(resolve));
    if (signal.aborted) throw new InterruptedError('interrupted during set-up');
  }
  return wallets;
}

/**
 * @param {import('../chain/rpc.js').Rpc} rpc
 * @param {ChainInfo} chain
 * @param {Config} config
 */
export function chooseFees(rpc, chain, { legacy, gasPriceWei, maxFeeWei }) {
  return readFees(rpc, chain.baseFeeWei, { legacy, gasPriceWei, maxFeeWei });
}
