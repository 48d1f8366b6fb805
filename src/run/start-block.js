import { toBigInt, toHex, toNumber } from '../chain/rpc.js';
import { foreignInWords, listWallets } from '../chain/funding.js';
import { findMinedTransaction } from '../chain/send.js';
import { ForeignSenderError, RpcError, UnavailableError } from '../errors.js';
import { belowStart, otherChain, otherStart } from '../inclusion/chain.js';

/**
 * @import { Rpc } from '../chain/rpc.js'
 * @import { Wallet } from '../chain/wallets.js'
 * @import { Clock } from '../clock.js'
 * @import { Ready } from './setup.js'
 */

/** Where in the chain the load begins: what tells the chain from one that was started anew. */

/**
 * @typedef {object} StartBlock the latest block before the load
 * @property {number} startBlock
 * @property {string | null} startHash
 * @property {string | null} genesisHash of the chain that it is part of
 */

/** How long is waited for confirmations of the set-up, and for what left the chain to come back, in milliseconds. */
const WAIT_MS = 20_000;
const PAUSE_MS = 250;

/**
 * @typedef {object} Patience
 * @property {Clock} clock
 * @property {number} confirmations
 * @property {AbortSignal} signal
 *
 * @typedef {Pick<Ready, 'sender' | 'wallets'>} Sent
 */

/**
 * With confirmations the set-up gets as many, so that a reorg of that depth does not take it away. That takes a while, and
 * is done before instances wait for each other.
 * @param {Rpc} rpc
 * @param {Sent} sent
 * @param {Patience} patience
 * @returns {Promise<number>} a block that has what the set-up did
 * @throws {UnavailableError} it is no longer on the chain
 */
export async function confirmSetUp(rpc, { sender, wallets }, { clock, confirmations, signal }) {
  if (sender === null || confirmations === 0) return 0;
  const setUpBlock = toNumber((await latestBlock(rpc)).number);
  const endUs = clock.nowUs() + WAIT_MS * 1000;
  while (toNumber((await latestBlock(rpc)).number) < setUpBlock + confirmations) {
    if (clock.nowUs() > endUs || signal.aborted) break;
    await clock.sleep(PAUSE_MS, signal);
  }
  await settle(rpc, wallets, { clock, signal, endUs });
  return setUpBlock;
}

/**
 * With confirmations a block that has as many, so that it is still there when the load is over.
 * @param {Rpc} rpc
 * @param {Sent & {chain: {genesisHash?: string | null}}} ready
 * @param {Patience & {setUpBlock: number}} patience
 * @returns {Promise<StartBlock>}
 * @throws {UnavailableError} what the set-up did is no longer on the chain
 */
export async function startBlockOf(rpc, { chain, sender, wallets }, { clock, confirmations, signal, setUpBlock }) {
  if (sender === null) return { startBlock: 0, startHash: null, genesisHash: null };
  const latest = await latestBlock(rpc);
  const head = toNumber(latest.number);
  // The set-up may be long ago, where instances wait for each other.
  sender.fees.observe((latest.baseFeePerGas ?? null) === null ? null : toBigInt(latest.baseFeePerGas));
  const startBlock = Math.min(head, Math.max(setUpBlock, head - confirmations));
  const block = startBlock === head ? latest : await blockAt(rpc, toHex(startBlock));
  await settle(rpc, wallets, { clock, signal, endUs: clock.nowUs() + WAIT_MS * 1000 });
  return { startBlock, startHash: block.hash, genesisHash: chain.genesisHash ?? null };
}

/** @param {Rpc} rpc */
const latestBlock = (rpc) => blockAt(rpc, 'latest');

/** @param {Rpc} rpc @param {string} which */
async function blockAt(rpc, which) {
  const block = await rpc.call('eth_getBlockByNumber', [which, false], 'setup');
  if (block === null)
    throw new UnavailableError(
      `${rpc.display} has no ${which === 'latest' ? 'latest block' : `block ${toNumber(which)}`}: is the node still starting?`,
    );
  return block;
}

/**
 * What left the chain may come back.
 * @param {Rpc} rpc
 * @param {Sent['wallets']} wallets
 * @param {Pick<Patience, 'clock' | 'signal'> & {endUs: number}} patience
 */
async function settle(rpc, wallets, { clock, signal, endUs }) {
  for (;;) {
    const nonces = await noncesOf(rpc, wallets);
    await refuseForeign(rpc, wallets, nonces);
    if (wallets.every(({ nonce }, i) => nonces[i] >= nonce)) return;
    if (clock.nowUs() > endUs || signal.aborted) {
      const words = `what the set-up sent is no longer on the chain of ${rpc.display}: its blocks were replaced. Start the run again`;
      throw new UnavailableError(words);
    }
    await clock.sleep(PAUSE_MS, signal);
  }
}

/** @param {Rpc} rpc @param {Wallet[]} wallets @returns {Promise<number[]>} */
async function noncesOf(rpc, wallets) {
  const nonces = await rpc.batch(
    wallets.map(({ address }) => ({ method: 'eth_getTransactionCount', params: [address, 'latest'] })),
    'setup',
  );
  return nonces.map(toNumber);
}

/**
 * Another run may have used the wallets since they were settled, while instances waited for each other for instance.
 * @param {Rpc} rpc
 * @param {Wallet[]} wallets
 * @param {number[]} nonces
 * @throws {ForeignSenderError}
 */
async function refuseForeign(rpc, wallets, nonces) {
  const used = wallets.filter(({ nonce }, i) => nonces[i] > nonce);
  if (used.length === 0) return;
  const [{ index, address, nonce }] = used;
  const mined = await findMinedTransaction(rpc, address, nonce, 0).catch(() => null);
  const proof = { hash: mined?.hash ?? '(hash not found)', walletIndex: index, nonce };
  throw new ForeignSenderError(foreignInWords(listWallets(used), proof));
}

/**
 * On a chain that was started anew nothing of the run can be found. That a node no longer has the start block proves
 * nothing: many keep only the latest blocks.
 * @param {Rpc} rpc
 * @param {StartBlock} start
 * @throws {UnavailableError}
 */
export async function assertSameChain(rpc, { startBlock, startHash, genesisHash }) {
  const hash = await hashAt(rpc, startBlock);
  if (startHash === null || hash === startHash) return;
  if (hash !== null) throw new UnavailableError(otherStart(rpc.display, startBlock));
  const head = toNumber(await rpc.call('eth_blockNumber', [], 'audit'));
  if (head < startBlock) throw new UnavailableError(belowStart(rpc.display, head, startBlock));
  const first = await hashAt(rpc, 0);
  if (first !== null && genesisHash !== null && first !== genesisHash)
    throw new UnavailableError(otherChain(rpc.display));
}

/** @param {Rpc} rpc @param {number} number @returns {Promise<string | null>} null: the node no longer has the block */
async function hashAt(rpc, number) {
  try {
    const block = await rpc.call('eth_getBlockByNumber', [toHex(number), false], 'audit');
    return block?.hash ?? null;
  } catch (error) {
    if (error instanceof RpcError) return null;
    throw error;
  }
}
