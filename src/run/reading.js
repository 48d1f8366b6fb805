import { ProtocolError, RpcError } from '../errors.js';
import { isUnknownBlock } from '../chain/passing.js';
import { toHex, toNumber } from '../chain/rpc.js';

/**
 * @import { Rpc } from '../chain/rpc.js'
 * @import { Account } from './account.js'
 * @import { AuditOptions } from './audit.js'
 */

/** What the audit reads of the chain. */

/** @typedef {Awaited<ReturnType<typeof readAll>>} Reading */

/** All counters and nonces at one block. @param {Pick<AuditOptions, 'rpc' | 'workload' | 'accounts'>} options */
export async function readAll({ rpc, workload, accounts }) {
  const block = await rpc.call('eth_getBlockByNumber', ['latest', false], 'audit');
  if (block === null) throw new ProtocolError(`${rpc.display} has no latest block`);
  const number = toNumber(block.number);
  const effects = await workload.audit(
    block.hash,
    number,
    accounts.map(({ reverted }) => reverted),
  );
  const nonces = await noncesAt(rpc, accounts, block.hash, number);
  const pendingNonces = await readNonces(rpc, accounts, 'pending');
  return { number, hash: /** @type {string} */ (block.hash), effects, nonces, pendingNonces };
}

/** @param {Rpc} rpc @param {Account[]} accounts @param {string | {blockHash: string}} block */
async function readNonces(rpc, accounts, block) {
  const answers = await rpc.batch(
    accounts.map(({ wallet }) => ({ method: 'eth_getTransactionCount', params: [wallet.address, block] })),
    'audit',
  );
  return answers.map(toNumber);
}

/** @param {Rpc} rpc @param {Account[]} accounts @param {string} blockHash @param {number} blockNumber */
async function noncesAt(rpc, accounts, blockHash, blockNumber) {
  try {
    return await readNonces(rpc, accounts, { blockHash });
  } catch (error) {
    if (!(error instanceof RpcError) || isUnknownBlock(error)) throw error;
    return readNonces(rpc, accounts, toHex(blockNumber)); // a node without EIP-1898
  }
}
