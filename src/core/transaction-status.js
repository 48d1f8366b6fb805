import { gather, nonceOf, nullIfAbsent, pendingNonces, receiptOf, transactionOf } from '../chain/answers.js';
import { findMinedTransaction } from '../chain/send.js';

/**
 * @import { ChainReceipt, Purpose, Rpc } from '../contracts/chain.d.ts'
 * @import { TransactionStatus } from '../contracts/load.d.ts'
 * @import { UnresolvedOperation } from './ledger.js'
 */

/**
 * The status of an operation that was not verified.
 *
 * @typedef {object} Decision
 * @property {TransactionStatus} status
 * @property {{hash: string, blockNumber: number} | null} foreign mined with the nonce
 * @property {string | null} [shownHash] pending: the one of its transactions that the node has shown
 * @property {number} [blockNumber] of the inclusion
 * @property {ChainReceipt} [receipt]
 */

/**
 * The nonce and the transactions are asked first: on some chains the receipt of what is not there takes seconds.
 * @param {Rpc} rpc
 * @param {UnresolvedOperation['operation']} operation
 * @param {Purpose} purpose
 * @param {number} startBlock a block before the operation
 * @returns {Promise<Decision>}
 */
export async function transactionStatusOf(rpc, operation, purpose, startBlock) {
  const { address } = operation.account.wallet;
  const latest = await gather(rpc, nonceOf(address, 'latest'), purpose);
  if (latest > operation.nonce) {
    for (const hash of operation.hashes) {
      const receipt = await nullIfAbsent(gather(rpc, receiptOf(hash), purpose));
      if (receipt === null) continue;
      const status = receipt.isSuccess ? 'included' : 'reverted';
      return { status, foreign: null, blockNumber: receipt.blockNumber, receipt };
    }
    // A missing receipt proves nothing: nodes index late, and another node may have answered.
    const mined = await findMinedTransaction(rpc, address, operation.nonce, startBlock);
    return mined === null || operation.hashes.includes(mined.hash) ? decided('pending') : decided('replaced', mined);
  }
  for (const hash of operation.hashes) {
    if ((await nullIfAbsent(gather(rpc, transactionOf(hash), purpose))) !== null)
      return { ...decided('pending'), shownHash: hash };
  }
  const [pending] = await pendingNonces(rpc, [address], purpose);
  return decided(pending > operation.nonce ? 'pending' : 'never_sent');
}

/**
 * What the node knows of an operation's transactions; no response counts as unknown.
 * @param {Rpc} rpc
 * @param {Pick<UnresolvedOperation['operation'], 'account' | 'nonce' | 'hashes'>} operation
 * @returns {Promise<{isKnown: boolean, receipt: ChainReceipt | null}>} receipt: null if not included
 */
export async function knownOf(rpc, { account, nonce, hashes }) {
  const [latest, ...found] = await Promise.all([
    gather(rpc, nonceOf(account.wallet.address, 'latest'), 'resolve').catch(() => 0),
    ...hashes.map((hash) => gather(rpc, transactionOf(hash), 'resolve').catch(() => null)),
  ]);
  if (latest <= nonce) return { isKnown: found.some((transaction) => transaction !== null), receipt: null };
  // On some chains the receipt of a transaction that is not there takes seconds.
  const mined = found.find((transaction) => (transaction?.blockNumber ?? null) !== null) ?? null;
  for (const hash of mined === null ? hashes : [mined.hash]) {
    const receipt = await gather(rpc, receiptOf(hash), 'resolve').catch(() => null);
    if (receipt !== null) return { isKnown: true, receipt };
  }
  return { isKnown: found.some((transaction) => transaction !== null), receipt: null };
}

/** @param {TransactionStatus} status @param {Decision['foreign']} [foreign] @returns {Decision} */
function decided(status, foreign = null) {
  return { status, foreign };
}
