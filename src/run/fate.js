import { RpcError } from '../errors.js';
import { toNumber } from '../chain/rpc.js';

/**
 * What became of an operation that was not verified, as the chain tells it:
 * included: executed in a block after all; reverted: in a block, without effect; replaced: another transaction
 * has its nonce; never_sent: the node knows nothing of it; pending: it may still be included.
 *
 * @typedef {'included' | 'reverted' | 'replaced' | 'never_sent' | 'pending'} Fate
 */

/**
 * @param {import('../chain/rpc.js').Rpc} rpc
 * @param {import('./iteration.js').Operation} operation
 * @param {import('../chain/rpc.js').Purpose} purpose
 * @returns {Promise<Fate>}
 */
export async function fateOf(rpc, operation, purpose) {
  const { address } = operation.account.wallet;
  // The nonce is read first: if it has moved on and there is no receipt of ours then, there never will be one.
  const latest = toNumber(await rpc.call('eth_getTransactionCount', [address, 'latest'], purpose));
  for (const hash of operation.hashes) {
    const receipt = await nullOnError(rpc.call('eth_getTransactionReceipt', [hash], purpose));
    if (receipt !== null) return toNumber(receipt.status) === 1 ? 'included' : 'reverted';
  }
  if (latest > operation.nonce) return 'replaced';
  for (const hash of operation.hashes) {
    if ((await nullOnError(rpc.call('eth_getTransactionByHash', [hash], purpose))) !== null) return 'pending';
  }
  const pending = toNumber(await rpc.call('eth_getTransactionCount', [address, 'pending'], purpose));
  return pending > operation.nonce ? 'pending' : 'never_sent';
}

/** Some nodes answer with an error, not null, for a transaction that no accepted block holds. @param {Promise<any>} answer */
export async function nullOnError(answer) {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof RpcError) return null;
    throw error;
  }
}
