import { toBigInt, toHex, toNumber } from '../chain/rpc.js';
import { UnavailableError } from '../errors.js';

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
 * @property {import('../clock.js').Clock} clock
 * @property {number} confirmations
 * @property {AbortSignal} signal
 *
 * @typedef {Pick<import('./setup.js').Ready, 'sender' | 'wallets'>} Sent
 */

/**
 * With confirmations the set-up gets as many, so that a reorg of that depth does not take it away. That takes a while, and
 * is done before instances wait for each other.
 * @param {import('../chain/rpc.js').Rpc} rpc
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
 * @param {import('../chain/rpc.js').Rpc} rpc
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

/** @param {import('../chain/rpc.js').Rpc} rpc */
const latestBlock = (rpc) => blockAt(rpc, 'latest');

/** @param {import('../chain/rpc.js').Rpc} rpc @param {string} which */
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
 * @param {import('../chain/rpc.js').Rpc} rpc
 * @param {Sent['wallets']} wallets
 * @param {Pick<Patience, 'clock' | 'signal'> & {endUs: number}} patience
 */
async function settle(rpc, wallets, { clock, signal, endUs }) {
  while (!(await isSettled(rpc, wallets))) {
    if (clock.nowUs() > endUs || signal.aborted) {
      const words = `what the set-up sent is no longer on the chain of ${rpc.display}: its blocks were replaced. Start the run again`;
      throw new UnavailableError(words);
    }
    await clock.sleep(PAUSE_MS, signal);
  }
}

/** Whether the chain has all that was sent from the wallets. @param {import('../chain/rpc.js').Rpc} rpc @param {import('../chain/wallets.js').Wallet[]} wallets */
async function isSettled(rpc, wallets) {
  const nonces = await rpc.batch(
    wallets.map(({ address }) => ({ method: 'eth_getTransactionCount', params: [address, 'latest'] })),
    'setup',
  );
  return wallets.every(({ nonce }, i) => toNumber(nonces[i]) >= nonce);
}

/**
 * On a chain that was started anew nothing of the run can be found.
 * @param {import('../chain/rpc.js').Rpc} rpc
 * @param {StartBlock} start
 * @throws {UnavailableError}
 */
export async function assertSameChain(rpc, { startBlock, startHash }) {
  const block = await rpc.call('eth_getBlockByNumber', [toHex(startBlock), false], 'audit');
  if (startHash === null || block?.hash === startHash) return;
  throw new UnavailableError(
    `the chain at ${rpc.display} no longer has block ${startBlock}, at which the load began: it was rolled back or started anew. Start the run again`,
  );
}
