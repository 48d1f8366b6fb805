import { toNumber } from '../chain/rpc.js';
import { findMinedTransaction } from '../chain/send.js';
import { RpcError } from '../errors.js';

/**
 * @import { Purpose, Rpc } from '../types.d.ts'
 * @import { UnresolvedOperation } from './ledger.js'
 */

/**
 * The status of an operation that was not verified. included: executed after all; reverted: included without effect;
 * replaced: a foreign transaction was mined with its nonce; never_sent: unknown to the node; pending: may still be
 * included, or cannot be determined.
 *
 * @typedef {'included' | 'reverted' | 'replaced' | 'never_sent' | 'pending'} TransactionStatus
 *
 * @typedef {object} Decision
 * @property {TransactionStatus} status
 * @property {{hash: string, blockNumber: number} | null} foreign mined with the nonce
 * @property {number} [blockNumber] of the inclusion
 * @property {any} [receipt]
 */

/**
 * @param {Rpc} rpc
 * @param {UnresolvedOperation['operation']} operation
 * @param {Purpose} purpose
 * @param {number} startBlock a block before the operation
 * @returns {Promise<Decision>}
 */
export async function transactionStatusOf(rpc, operation, purpose, startBlock) {
  const { address } = operation.account.wallet;
  const latest = toNumber(await rpc.call('eth_getTransactionCount', [address, 'latest'], purpose));
  for (const hash of operation.hashes) {
    const receipt = await nullIfUnknown(rpc.call('eth_getTransactionReceipt', [hash], purpose));
    if (receipt !== null) {
      const status = toNumber(receipt.status) === 1 ? 'included' : 'reverted';
      return { status, foreign: null, blockNumber: toNumber(receipt.blockNumber), receipt };
    }
  }
  if (latest > operation.nonce) {
    // A missing receipt proves nothing: nodes index late, and another node may have answered.
    const mined = await findMinedTransaction(rpc, address, operation.nonce, startBlock);
    return mined === null || operation.hashes.includes(mined.hash) ? decided('pending') : decided('replaced', mined);
  }
  for (const hash of operation.hashes) {
    if ((await nullIfUnknown(rpc.call('eth_getTransactionByHash', [hash], purpose))) !== null)
      return decided('pending');
  }
  const pending = toNumber(await rpc.call('eth_getTransactionCount', [address, 'pending'], purpose));
  return decided(pending > operation.nonce ? 'pending' : 'never_sent');
}

/**
 * What the node knows of an operation's transactions; no response counts as unknown.
 * @param {Rpc} rpc
 * @param {Pick<UnresolvedOperation['operation'], 'hashes'>} operation
 * @returns {Promise<{isKnown: boolean, receipt: any}>} receipt: null if not included
 */
export async function knownOf(rpc, { hashes }) {
  let isKnown = false;
  for (const hash of hashes) {
    const receipt = await rpc.call('eth_getTransactionReceipt', [hash], 'resolve').catch(() => null);
    if (receipt !== null) return { isKnown: true, receipt };
    isKnown ||= (await rpc.call('eth_getTransactionByHash', [hash], 'resolve').catch(() => null)) !== null;
  }
  return { isKnown, receipt: null };
}

/** @param {TransactionStatus} status @param {Decision['foreign']} [foreign] @returns {Decision} */
function decided(status, foreign = null) {
  return { status, foreign };
}

/**
 * Some nodes answer with an error instead of null for a transaction that is not in an accepted block.
 * @param {Promise<any>} answer
 */
export async function nullIfUnknown(answer) {
  try {
    return await answer;
  } catch (error) {
    if (
      error instanceof RpcError &&
      /not found|unknown transaction|indexing|unfinalized|not accepted/i.test(error.rpcMessage)
    )
      return null;
    throw error;
  }
}
