import { InterruptedError, UnavailableError } from '../errors.js';
import { devMnemonicAllowed, checkChain } from '../chain/networks.js';
import { DEV_MNEMONIC, funderWallet, keyFileSource, mnemonicSource } from '../chain/wallets.js';
import { fundOnDevChain } from '../chain/devchain.js';
import { fundsMissing, settleWallets, shortfalls, topUp } from '../chain/funding.js';
import { readFees } from '../chain/fees.js';
import { toNumber } from '../chain/rpc.js';
import { UsageError } from '../errors.js';
import { sliceIndexes } from './slice.js';

/**
 * Everything before the load: which chain, which wallets, what they have. Nothing is signed before the chain is
 * known to be the one that was meant.
 *
 * @typedef {import('../chain/wallets.js').Wallet} Wallet
 *
 * @typedef {object} ChainInfo
 * @property {number} chainId
 * @property {string} genesisHash
 * @property {string | null} clientVersion null when the node does not say
 * @property {number} head
 * @property {bigint | null} baseFeeWei
 * @property {number} blockGasLimit
 */

/** What the funding check reckons with where no duration says how long a run is. */
const OPERATIONS_PER_WALLET = 1000;
/** More operations a second than one wallet can do: one needs a block of its own. */
const OPERATIONS_PER_WALLET_AND_SECOND = 10;

/** How many wallets are derived before the event loop gets a turn. */
const DERIVE_AT_ONCE = 50;

/**
 * @param {import('../chain/rpc.js').Rpc} rpc
 * @param {URL} url
 * @param {import('./run.js').Config} config
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
    clientVersion: clientVersion === null ? null : String(clientVersion),
    head: toNumber(latest.number),
    baseFeeWei:
      latest.baseFeePerGas === undefined || latest.baseFeePerGas === null ? null : BigInt(latest.baseFeePerGas),
    blockGasLimit: toNumber(latest.gasLimit),
  };
}

/**
 * @param {import('./run.js').Config} config
 * @param {URL} url
 * @param {number} chainId
 * @returns {{source: import('../chain/wallets.js').KeySource, isDevMnemonic: boolean}}
 */
export function chooseKeys(config, url, chainId) {
  if (config.keys !== null) return { source: keyFileSource(config.keys), isDevMnemonic: false };
  if (config.mnemonic !== null) return { source: mnemonicSource(config.mnemonic, config.hdPath), isDevMnemonic: false };
  if (!devMnemonicAllowed(url, chainId)) {
    throw new UsageError(
      `there are no wallets for chain ${chainId}: give --keys FILE, or a mnemonic in STRESS_MNEMONIC (the well-known test mnemonic is used on local development chains only)`,
    );
  }
  return { source: mnemonicSource(DEV_MNEMONIC, config.hdPath), isDevMnemonic: true };
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
 * What one wallet may spend at most in this run, in wei.
 * @param {import('./run.js').Config} config
 * @param {import('../workload/index.js').Gas} gas
 * @param {import('../chain/fees.js').Fees} fees
 */
export function walletNeedWei(config, gas, fees) {
  if (config.fundAmountWei !== null) return config.fundAmountWei;
  const seconds = config.durationMs === null ? Infinity : config.durationMs / 1000;
  const operations = Math.min(Math.ceil(seconds * OPERATIONS_PER_WALLET_AND_SECOND) + 1, OPERATIONS_PER_WALLET);
  return (gas.perWallet + gas.perOperation * BigInt(operations)) * fees.worstPriceWei();
}

/**
 * Waits until the wallets are settled and sees to it that each has what it needs.
 * @param {object} options
 * @param {import('./run.js').Config} options.config
 * @param {import('../chain/send.js').Sender} options.sender
 * @param {Wallet[]} options.wallets
 * @param {bigint} options.needWei
 * @param {boolean} options.embedded
 * @param {(label: string, done: number, all: number) => void} options.onProgress
 * @returns {Promise<{funded: number, paidWei: bigint, transactions: number}>} what was paid by the funder
 */
export async function prepareFunds({ config, sender, wallets, needWei, embedded, onProgress }) {
  if (embedded)
    await fundOnDevChain(
      sender.rpc,
      wallets.map(({ address }) => address),
    );
  const states = await settleWallets(sender, wallets);
  const missing = shortfalls(wallets, states, needWei);
  if (missing.length === 0) return { funded: 0, paidWei: 0n, transactions: 0 };
  if (config.fundFrom === null) throw fundsMissing(missing, needWei);
  const funder = funderWallet(config.fundFrom);
  const own = wallets.find(({ address }) => address === funder.address);
  if (own !== undefined) {
    throw new UsageError(
      `the funder is wallet ${own.index} of the slice itself: use another key for --fund-from, or another slice`,
    );
  }
  const paid = await topUp(sender, funder, missing, (done) => onProgress('funding wallets', done, missing.length));
  return { funded: missing.length, ...paid };
}

/**
 * @param {import('../chain/rpc.js').Rpc} rpc
 * @param {ChainInfo} chain
 * @param {import('./run.js').Config} config
 */
export function chooseFees(rpc, chain, config) {
  const { legacy, gasPriceWei, maxFeeWei } = config;
  return readFees(rpc, chain.baseFeeWei, { legacy, gasPriceWei, maxFeeWei });
}
