import {
  ask,
  blockAt,
  fullBlockAt,
  gather,
  headerAt,
  nullIfAbsent,
  nullIfRefused,
  receiptOf,
  receiptsAt,
  toHex,
} from '../chain/answers.js';
import { isAbsent } from '../chain/refusals.js';
import { isRetryable } from '../chain/retries.js';
import { StressError } from '../errors.js';
import { partOf } from '../text.js';

/**
 * Reads from receipts whether transactions succeeded or reverted. The receipts of a block are read in one call
 * (eth_getBlockReceipts). Receipts that this answer lacks are read one by one, in batches.
 *
 * @import { ChainReceipt, ChainTransaction, Header, Purpose, Rpc } from '../contracts/chain.d.ts'
 * @import { Check } from '../contracts/load.d.ts'
 * @import { AuditSnapshot, Receipt, RevertCode, Verdict } from '../contracts/workload.d.ts'
 *
 * @typedef {object} Outcomes number of transactions of each wallet in a run, by position
 * @property {number[]} succeeded
 * @property {number[]} reverted
 */

/** Blocks whose receipts are kept for operations that are verified later. */
const MAX_BLOCKS_KEPT = 8;
/** Blocks read at once: the receipts of a full block are megabytes. */
const MAX_BLOCKS_AT_ONCE = 8;

/** Time limit for reading the receipts of a run. */
export const MAX_AUDIT_MS = 60_000;

export class Receipts {
  #rpc;
  /** Until the node refuses receipts of whole blocks. */
  #servesBlocks = true;
  /** The members of each receipt that verify() needs, by block. @type {Map<string, Promise<Map<string, Brief> | null>>} */
  #blocks = new Map();

  /** @param {Rpc} rpc */
  constructor(rpc) {
    this.#rpc = rpc;
  }

  /**
   * The state is ok if the receipt is of that block and its status is success.
   * @param {string} hash
   * @param {{number: number, hash?: string}} block
   * @param {string | null} target of the operation, if it differs from that of the receipt
   * @param {(receipt: Pick<Receipt, 'gasUsed'>) => RevertCode} [codeOf] a reverted operation
   * @returns {Promise<Verdict>}
   */
  async verdict(hash, block, target, codeOf) {
    const receipt = await this.#find(hash, block);
    if (receipt === null || receipt.blockNumber !== block.number) return { state: 'behind', effect: null, target };
    const found = { effect: hash, target: target ?? receipt.to ?? receipt.contractAddress };
    if (receipt.isSuccess) return { state: 'ok', ...found, gasUsed: receipt.gasUsed ?? undefined };
    return {
      state: 'missing',
      ...found,
      code: codeOf?.({ gasUsed: receipt.gasUsed === null ? '' : toHex(receipt.gasUsed) }),
    };
  }

  /** @param {string} hash @param {{number: number, hash?: string}} block @returns {Promise<Brief | null>} null: not available yet */
  async #find(hash, { number, hash: key = String(number) }) {
    let reading = this.#blocks.get(key);
    if (reading === undefined) {
      reading = this.#ofBlock(number, 'readback').then(
        (all) => all && new Map(all.map((receipt) => [receipt.hash, brief(receipt)])),
      );
      this.#blocks.set(key, reading);
      const [oldest] = this.#blocks.keys();
      if (this.#blocks.size > MAX_BLOCKS_KEPT) this.#blocks.delete(oldest);
    }
    const found = await reading.catch((error) => {
      if (this.#blocks.get(key) === reading) this.#blocks.delete(key);
      if (isAbsent(error)) return null;
      throw error;
    });
    const receipt = found?.get(hash) ?? null;
    if (receipt !== null) return receipt;
    // The node may have answered before it had the whole block.
    if (this.#servesBlocks && this.#blocks.get(key) === reading) this.#blocks.delete(key);
    // AvalancheGo answers with an error until the block is accepted.
    return nullIfRefused(gather(this.#rpc, receiptOf(hash), 'readback'));
  }

  /** @param {number} number @param {Purpose} purpose @returns {Promise<ChainReceipt[] | null>} null: the node does not serve them */
  async #ofBlock(number, purpose) {
    if (!this.#servesBlocks) return null;
    try {
      return await ask(this.#rpc, receiptsAt(number), purpose);
    } catch (error) {
      // The load may ask for a block before the node has it.
      const isEarly = purpose === 'readback' && isAbsent(error);
      if (!(error instanceof StressError) || isRetryable(error) || isEarly) throw error;
      this.#servesBlocks = false;
      return null;
    }
  }

  /**
   * The outcomes of all transactions of the wallets in the blocks of a run.
   * @param {readonly string[]} addresses of the wallets, by position
   * @param {Pick<AuditSnapshot, 'startBlock' | 'blockNumber' | 'startNonces' | 'nonces' | 'pricesFrom'>} snapshot
   * @param {AbortSignal} signal
   * @param {(position: number, nonce: number, receipt: Receipt) => void} [onReceipt]
   * @returns {Promise<Outcomes | {why: string}>} why: the reason why they are unknown
   */
  async ofRun(addresses, { startBlock, blockNumber, startNonces, nonces, pricesFrom }, signal, onReceipt = () => {}) {
    const positions = new Map(addresses.map((address, i) => [address.toLowerCase(), i]));
    const outcomes = { succeeded: addresses.map(() => 0), reverted: addresses.map(() => 0) };
    const { succeeded, reverted } = outcomes;
    const count = blockNumber - startBlock;
    for (let done = 0; done < count; done += MAX_BLOCKS_AT_ONCE) {
      if (signal.aborted) return { why: `there was time for the receipts of ${partOf(done, count, 'block')}` };
      const size = Math.min(MAX_BLOCKS_AT_ONCE, count - done);
      const part = Array.from({ length: size }, (_, i) => startBlock + 1 + done + i);
      try {
        const blocks = await Promise.all(part.map((number) => this.#oursIn(number, positions, pricesFrom)));
        for (const receipt of blocks.flat()) {
          const position = positions.get(receipt.from ?? '');
          if (position === undefined) continue;
          // A wallet's transactions are included in the order of their nonces.
          onReceipt(position, startNonces[position] + succeeded[position] + reverted[position], forWorkloads(receipt));
          (receipt.isSuccess ? succeeded : reverted)[position] += 1;
        }
      } catch (error) {
        if (!(error instanceof StressError)) throw error;
        return { why: `receipts of the run's blocks could not be read: ${error.message}` };
      }
    }
    const seen = sum(succeeded) + sum(reverted);
    const used = sum(nonces) - sum(startNonces);
    return seen === used ? outcomes : { why: `the node has the receipts of ${partOf(seen, used, 'transaction')}` };
  }

  /**
   * @param {number} number
   * @param {Map<string, number>} positions by address
   * @param {AuditSnapshot['pricesFrom']} pricesFrom
   * @returns {Promise<ChainReceipt[]>} in the block's order, at least those of the addresses
   */
  async #oursIn(number, positions, pricesFrom) {
    const [listed, hashes] = await Promise.all([
      nullIfAbsent(this.#ofBlock(number, 'audit')),
      nullIfAbsent(gather(this.#rpc, blockAt(number), 'audit')),
    ]);
    const all = listed ?? [];
    const ours = all.filter(({ from }) => positions.has(from ?? ''));
    const arePriced = pricesFrom === undefined && ours.every(({ priceWei }) => priceWei !== null);
    // Some nodes answer with an empty list for a block that has transactions, or with a part of it.
    if (arePriced && all.length >= (hashes?.transactions.length ?? 1)) return all;
    const block = await nullIfAbsent(ask(this.#rpc, fullBlockAt(number), 'audit'));
    if (block === null) return [];
    const parent = pricesFrom === 'parents' ? await ask(this.#rpc, headerAt(number - 1), 'audit') : null;
    const own = block.transactions.filter(({ from }) => positions.has(from ?? ''));
    const known = new Map(ours.map((receipt) => [receipt.hash, receipt]));
    const receipts = await Promise.all(
      own.map(async (transaction) => {
        const { hash, from } = transaction;
        const receipt = known.get(hash) ?? (await gather(this.#rpc, receiptOf(hash), 'audit'));
        if (receipt === null) return [];
        const isOdd = pricesFrom !== undefined || receipt.priceWei === null;
        return { ...receipt, from, ...(isOdd && { priceWei: priceIn(parent ?? block, transaction) }) };
      }),
    );
    return receipts.flat();
  }
}

/** The price per gas at the base fee of a block (EIP-1559). @param {Pick<Header, 'baseFeeWei'>} block @param {ChainTransaction} transaction */
function priceIn({ baseFeeWei }, { maxPriceWei, maxTipWei }) {
  if (maxPriceWei === null || baseFeeWei === null || maxTipWei === null) return maxPriceWei;
  const wei = baseFeeWei + maxTipWei;
  return wei < maxPriceWei ? wei : maxPriceWei;
}

/** As the contract of workloads states it. @param {ChainReceipt} receipt @returns {Receipt} */
function forWorkloads({ printed, isSuccess, gasUsed, priceWei, dataFeeWei }) {
  const feeWei = gasUsed === null || priceWei === null ? null : BigInt(gasUsed) * priceWei + dataFeeWei;
  return /** @type {Receipt} */ ({ ...printed, succeeded: isSuccess, feeWei });
}

/** Why a check that needs the number of successes could not be made. */
export const UNSURE = 'what became of some operations is not known';

/**
 * @param {string} name
 * @param {string} words
 * @param {bigint | number} expected
 * @param {bigint | number | string} found
 * @param {string | null} why it could not be made
 * @returns {Check}
 */
export function checkOf(name, words, expected, found, why) {
  if (why !== null) return { name, words, expected: null, found: null, holds: null, why };
  const holds = String(expected) === String(found);
  return { name, words, expected: String(expected), found: String(found), holds, why };
}

/**
 * Checks that the chain has as many successful transactions of each wallet as this run has counted.
 * @param {readonly string[]} addresses of the wallets, by position
 * @param {Pick<AuditSnapshot, 'executed' | 'undecided'>} snapshot
 * @param {Outcomes | {why: string}} outcomes
 * @returns {Check}
 */
export function successCheck(addresses, { executed, undecided }, outcomes) {
  const words = 'transactions that succeeded by their receipts';
  if ('why' in outcomes) return checkOf('receipts', words, 0, 0, outcomes.why);
  const { succeeded } = outcomes;
  const wrong = executed.findIndex((count, i) => Math.abs(succeeded[i] - count) > undecided[i]);
  const fault = wrong === -1 ? '' : ` (${addresses[wrong]} has ${succeeded[wrong]}, not ${executed[wrong]})`;
  const why = wrong === -1 && sum(undecided) > 0 ? UNSURE : null;
  return checkOf('receipts', words, sum(executed), `${sum(succeeded)}${fault}`, why);
}

/** Whether the ledger has the same outcomes. @param {Outcomes} outcomes @param {AuditSnapshot} snapshot */
export function areOurs({ succeeded, reverted }, snapshot) {
  return snapshot.executed.every((count, i) => count === succeeded[i] && snapshot.reverted[i] === reverted[i]);
}

/**
 * The receipts of a full block are megabytes.
 * @typedef {ReturnType<typeof brief>} Brief
 * @param {ChainReceipt} receipt
 */
function brief({ blockNumber, isSuccess, to, contractAddress, gasUsed }) {
  return { blockNumber, isSuccess, to, contractAddress, gasUsed };
}

/** @param {readonly number[] | Uint32Array} numbers */
export function sum(numbers) {
  let total = 0;
  for (const number of numbers) total += number;
  return total;
}
