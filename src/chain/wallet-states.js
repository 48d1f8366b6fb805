import { ProtocolError, RpcError, TransportError } from '../errors.js';
import { indexRanges } from '../text.js';
import { POOL, POOL_STATUS, ask, askAll, balanceOf, headerAt, nonceOf, pendingNonces, pooledOf } from './answers.js';
import { isFunder } from './keys.js';

/**
 * What the set-up reads of wallets: balances, nonces, and their transactions in the pool.
 *
 * @import { Rpc, Sender, Wallet } from '../contracts/chain.d.ts'
 * @import { Pooled } from './answers.js'
 *
 * @typedef {object} WalletState
 * @property {bigint} balanceWei
 * @property {number} latest nonce as of the latest block
 * @property {number} pending nonce including the pool
 */

/** A larger pool is not read as a whole. */
const MAX_POOL = 10_000;

/** @param {Rpc} rpc @param {Wallet[]} wallets @returns {Promise<WalletState[]>} */
export async function readStates(rpc, wallets) {
  const addresses = wallets.map(({ address }) => address);
  const latest = addresses.map((address) => nonceOf(address, 'latest'));
  const balances = addresses.map((address) => balanceOf(address, 'latest'));
  const [nonces, balancesWei, pending] = await Promise.all([
    askAll(rpc, latest, 'setup'),
    askAll(rpc, balances, 'setup'),
    pendingNonces(rpc, addresses, 'setup'),
  ]);
  return nonces.map((nonce, i) => ({
    balanceWei: balancesWei[i],
    latest: nonce,
    pending: Math.max(nonce, pending[i]),
  }));
}

/**
 * @param {Rpc} rpc
 * @param {Wallet[]} wallets
 * @returns {Promise<Map<Wallet, Pooled> | null>} of each wallet with transactions in the pool; null without access to it
 */
export async function readPool(rpc, wallets) {
  try {
    const { pending, queued } = await ask(rpc, POOL_STATUS, 'setup');
    if (pending + queued === 0) return new Map();
    const pools = await poolsOf(rpc, wallets, pending + queued);
    /** @type {Map<Wallet, Pooled>} */
    const found = new Map();
    for (const [i, wallet] of wallets.entries()) {
      const nonces = pools[i].nonces.filter((nonce) => nonce >= wallet.nonce);
      if (nonces.length > 0) found.set(wallet, { ...pools[i], nonces });
    }
    return found;
  } catch (error) {
    if (error instanceof RpcError || error instanceof ProtocolError || error instanceof TransportError) return null;
    throw error;
  }
}

/** @param {Rpc} rpc @param {Wallet[]} wallets @param {number} size of the pool @returns {Promise<Pooled[]>} by wallet */
async function poolsOf(rpc, wallets, size) {
  try {
    return await askAll(
      rpc,
      wallets.map(({ address }) => pooledOf(address)),
      'setup',
    );
  } catch (error) {
    // Anvil can only return the whole pool.
    if (!(error instanceof RpcError) || size > MAX_POOL) throw error;
    const pooled = await ask(rpc, POOL, 'setup');
    return wallets.map(({ address }) => pooled(address));
  }
}

/** Payments fill blocks, which raises the base fee. @param {Pick<Sender, 'rpc' | 'fees'>} sender */
export async function followFees({ rpc, fees }) {
  fees.observe((await ask(rpc, headerAt('latest'), 'setup'))?.baseFeeWei ?? null);
}

/** @template T @param {T[]} all @param {number} size @returns {T[][]} */
export function partsOf(all, size) {
  return Array.from({ length: Math.ceil(all.length / size) }, (_, i) => all.slice(i * size, (i + 1) * size));
}

/** @param {Wallet[]} wallets */
export function listWallets(wallets) {
  if (wallets.some(isFunder)) return 'the funder';
  return `wallets ${indexRanges(wallets.map(({ index }) => index))}`;
}

/** What can be used instead. @param {Wallet} wallet */
export function othersOf(wallet) {
  return isFunder(wallet) ? 'use another funder' : 'use other wallets (-o)';
}
