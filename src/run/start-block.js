import { toHex, toNumber } from '../chain/rpc.js';
import { UnavailableError } from '../errors.js';

/** Where in the chain the load begins: what tells the chain from one that was started anew. */

/**
 * @typedef {object} StartBlock the latest block before the load
 * @property {number} startBlock
 * @property {string | null} startHash
 * @property {string | null} genesisHash of the chain that it is part of
 */

/** @param {import('../chain/rpc.js').Rpc} rpc @param {import('./setup.js').Ready} ready @returns {Promise<StartBlock>} */
export async function startBlockOf(rpc, { chain, sender }) {
  if (sender === null) return { startBlock: 0, startHash: null, genesisHash: null };
  const block = await rpc.call('eth_getBlockByNumber', ['latest', false], 'setup');
  if (block === null) throw new UnavailableError(`${rpc.display} has no latest block: is the node still starting?`);
  return { startBlock: toNumber(block.number), startHash: block.hash, genesisHash: chain.genesisHash ?? null };
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
