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
 * With confirmations the set-up gets as many, so that a reorg of that depth does not take it away.
 * @param {import('../chain/rpc.js').Rpc} rpc
 * @param {import('./setup.js').Ready} ready
 * @param {{clock: import('../clock.js').Clock, confirmations: number, signal: AbortSignal}} options
 * @returns {Promise<StartBlock>}
 * @throws {UnavailableError} what the set-up did is no longer on the chain
 */
export async function startBlockOf(rpc, { chain, sender, wallets }, { clock, confirmations, signal }) {
  if (sender === null) return { startBlock: 0, startHash: null, genesisHash: null };
  const block = await latestBlock(rpc);
  const startBlock = toNumber(block.number);
  // The set-up may be long ago, where instances wait for each other.
  sender.fees.observe((block.baseFeePerGas ?? null) === null ? null : toBigInt(block.baseFeePerGas));
  const endUs = clock.nowUs() + WAIT_MS * 1000;
  const isOver = () => clock.nowUs() > endUs || signal.aborted;
  while (confirmations > 0 && toNumber((await latestBlock(rpc)).number) < startBlock + confirmations && !isOver())
    await clock.sleep(PAUSE_MS, signal);
  while (!(await isSettled(rpc, wallets))) {
    if (isOver()) {
      const words = `what the set-up sent is no longer on the chain of ${rpc.display}: its blocks were replaced. Start the run again`;
      throw new UnavailableError(words);
    }
    await clock.sleep(PAUSE_MS, signal);
  }
  return { startBlock, startHash: block.hash, genesisHash: chain.genesisHash ?? null };
}

/** @param {import('../chain/rpc.js').Rpc} rpc */
async function latestBlock(rpc) {
  const block = await rpc.call('eth_getBlockByNumber', ['latest', false], 'setup');
  if (block === null) throw new UnavailableError(`${rpc.display} has no latest block: is the node still starting?`);
  return block;
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
