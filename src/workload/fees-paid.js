import { toBigInt, toHex } from '../chain/rpc.js';
import { StressError } from '../errors.js';

/**
 * What accounts have paid for gas, added up from the receipts of all blocks of a run.
 *
 * @typedef {{byPayer: bigint[]} | {why: string}} Fees in wei, by position; or why they could not be found out
 */

/** Blocks whose receipts are asked for at once: those of a full block are megabytes. */
const BLOCKS_AT_ONCE = 8;

/**
 * @param {import('../chain/rpc.js').Rpc} rpc
 * @param {string[]} addresses of the payers, by position
 * @param {Pick<import('./index.js').Books, 'startBlock' | 'blockNumber' | 'startNonces' | 'nonces'>} books
 * @param {AbortSignal} signal ends it
 * @returns {Promise<Fees>}
 */
export async function readFees(rpc, addresses, { startBlock, blockNumber, startNonces, nonces }, signal) {
  const positions = new Map(addresses.map((address, i) => [address.toLowerCase(), i]));
  const byPayer = addresses.map(() => 0n);
  const used = nonces.reduce((all, nonce, i) => all + nonce - startNonces[i], 0);
  let seen = 0;
  for (let at = startBlock + 1; at <= blockNumber; at += BLOCKS_AT_ONCE) {
    if (signal.aborted)
      return { why: `there was time for the receipts of ${at - startBlock - 1} of ${blockNumber - startBlock} blocks` };
    const count = Math.min(BLOCKS_AT_ONCE, blockNumber - at + 1);
    const numbers = Array.from({ length: count }, (_, i) => toHex(at + i));
    try {
      const blocks = await Promise.all(numbers.map((number) => rpc.call('eth_getBlockReceipts', [number], 'audit')));
      for (const receipt of blocks.flatMap((receipts) => receipts ?? [])) {
        const position = positions.get(String(receipt.from).toLowerCase());
        if (position === undefined) continue;
        seen += 1;
        byPayer[position] += feeOf(receipt);
      }
    } catch (error) {
      if (!(error instanceof StressError)) throw error;
      return { why: `fees need the receipts of whole blocks: ${error.message}` };
    }
  }
  if (seen !== used) return { why: `the node has the receipts of ${seen} of ${used} transactions` };
  return { byPayer };
}

/** A rollup charges for the data on the chain below, too. @param {{gasUsed: string, effectiveGasPrice: string, l1Fee?: string | null}} receipt */
function feeOf({ gasUsed, effectiveGasPrice, l1Fee }) {
  return toBigInt(gasUsed) * toBigInt(effectiveGasPrice) + toBigInt(l1Fee ?? '0x0');
}
