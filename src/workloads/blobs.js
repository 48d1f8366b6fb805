import { createHash } from 'node:crypto';
import { GAS_PER_BLOB } from '../chain/blobs.js';
import { ask, blobsAt } from '../chain/answers.js';
import { StressError } from '../errors.js';
import { counted, partOf } from '../text.js';
import { checkOf } from './receipts.js';

/**
 * The workload `blobs`: each operation is a transaction of type 3, which carries blobs (EIP-4844). A few sidecars of random
 * blobs are proved before the load, and all operations use them. The audit counts the blobs of the operations, and the blob
 * gas of their blocks.
 *
 * @import { Rpc } from '../contracts/chain.d.ts'
 * @import { Check } from '../contracts/load.d.ts'
 * @import { Sidecar, TransactionWorkload } from '../contracts/workload.d.ts'
 * @import { BuiltInOptions } from './index.js'
 */

/** A transfer of nothing. */
const GAS = 21_000n;

/** Blocks that are read at once: each has its transactions. */
const BLOCKS_AT_ONCE = 8;

/** @param {BuiltInOptions} options @returns {TransactionWorkload} */
export default function create({ kit, rpc, state, set: { blobs, sidecars: count } }) {
  // Nobody has its key, and it has no code.
  const to = `0x${createHash('sha256').update(`blobs ${kit.tag}`).digest('hex').slice(0, 40)}`;
  const callsOf = (/** @type {readonly Sidecar[]} */ all) => all.map((sidecar) => ({ to, gasLimit: GAS, sidecar }));
  /** @type {Sidecar[]} */
  let sidecars = state ?? [];
  let calls = callsOf(sidecars);
  return {
    kind: 'transaction',
    subject: `wallets sent ${counted(blobs, 'blob')} with each transaction:`,
    valueWei: 0n,
    gas: { perWallet: 0n, perOperation: GAS, blobs },
    unprepared: async () => 0,
    prepare: async () => {
      // Their proofs take seconds.
      if (sidecars.length === 0) sidecars = await kit.sidecars(count, blobs);
      calls = callsOf(sidecars);
    },
    next: (position, nonce) => calls[(kit.indexOf(position) + nonce) % count],
    reconcile: async (snapshot) => {
      /** Hashes of the operations, by block. @type {Map<number, string[]>} */
      const ours = new Map();
      const { check, why, signal } = await kit.checkReceipts(snapshot, (_position, _nonce, receipt) => {
        const number = Number(receipt.blockNumber);
        ours.set(number, [...(ours.get(number) ?? []), receipt.transactionHash]);
      });
      return [check, ...(await blobChecks(rpc, ours, { blobs, why, signal }))];
    },
    facts: () => ({ blobs, sidecars: count }),
    handOver: () => sidecars,
  };
}

/**
 * Each operation has its blobs in the block that holds it, and the block states the gas of all blobs in it.
 * @param {Rpc} rpc
 * @param {Map<number, string[]>} ours hashes of the operations, by block
 * @param {{blobs: number, why: string | null, signal: AbortSignal}} given blobs: of an operation
 * @returns {Promise<Check[]>}
 */
async function blobChecks(rpc, ours, { blobs, why, signal }) {
  const numbers = [...ours.keys()];
  const operations = [...ours.values()].flat().length;
  let [found, right, fault] = [0, 0, ''];
  let unsure = why;
  for (let at = 0; at < numbers.length && unsure === null; at += BLOCKS_AT_ONCE) {
    if (signal.aborted) unsure = `there was time for ${partOf(at, numbers.length, 'block')}`;
    const part = numbers.slice(at, at + BLOCKS_AT_ONCE);
    const blocks = await Promise.all(part.map((number) => ask(rpc, blobsAt(number), 'audit'))).catch((error) => {
      if (!(error instanceof StressError)) throw error;
      unsure ??= error.message;
      return [];
    });
    blocks.forEach((block, i) => {
      if (block?.blobGasUsed === undefined || block.blobGasUsed === null)
        unsure ??= `block ${part[i]} states no blobGasUsed, or is not there`;
      else {
        const all = [...block.blobs.values()].reduce((sum, one) => sum + one, 0);
        for (const hash of ours.get(part[i]) ?? []) found += block.blobs.get(hash) ?? 0;
        if (BigInt(block.blobGasUsed) === BigInt(all) * GAS_PER_BLOB) right += 1;
        else fault ||= ` (block ${part[i]} states ${block.blobGasUsed}, and has ${counted(all, 'blob')})`;
      }
    });
  }
  const words = `blobs of the operations, by the transactions of ${counted(numbers.length, 'block')}`;
  return [
    checkOf('blobs', words, operations * blobs, found, unsure),
    checkOf('blob gas', 'blocks whose blob gas is that of their blobs', numbers.length, `${right}${fault}`, unsure),
  ];
}
