import { isRetryable, isUnknownBlock } from '../chain/retries.js';
import { nullIfRefused, toHex, toNumber } from '../chain/rpc.js';
import { ProtocolError, RpcError, StressError } from '../errors.js';

/**
 * Reads from receipts whether transactions succeeded or reverted. The receipts of a block are read in one call
 * (eth_getBlockReceipts); if a node does not serve it, receipts are read one by one, in batches.
 *
 * @import { AuditSnapshot, Check, Purpose, Rpc } from '../types.d.ts'
 * @import { Receipt, RevertCode, Verdict } from './contract.d.ts'
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
  /** The members of each receipt that verify() needs, by block. @type {Map<string, Promise<Map<string, ReturnType<typeof brief>> | null>>} */
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
    if (receipt === null || toNumber(receipt.blockNumber) !== block.number)
      return { state: 'behind', effect: null, target };
    const found = { effect: hash, target: target ?? receipt.to ?? receipt.contractAddress ?? null };
    if (isSuccess(receipt)) return { state: 'ok', ...found, gasUsed: toNumber(receipt.gasUsed) };
    return { state: 'missing', ...found, code: codeOf?.(receipt) };
  }

  /** @param {string} hash @param {{number: number, hash?: string}} block @returns {Promise<ReturnType<typeof brief> | null>} null: not available yet */
  async #find(hash, { number, hash: key = String(number) }) {
    let reading = this.#blocks.get(key);
    if (reading === undefined) {
      reading = this.#ofBlock(number, 'readback').then(
        (all) => all && new Map(all.map((receipt) => [receipt.transactionHash, brief(receipt)])),
      );
      this.#blocks.set(key, reading);
      const [oldest] = this.#blocks.keys();
      if (this.#blocks.size > MAX_BLOCKS_KEPT) this.#blocks.delete(oldest);
    }
    const found = await reading.catch((error) => {
      if (this.#blocks.get(key) === reading) this.#blocks.delete(key);
      if (error instanceof RpcError && (error.isBusy || isUnknownBlock(error))) return new Map();
      throw error;
    });
    // AvalancheGo answers with an error until the block is accepted.
    if (found === null) return nullIfRefused(this.#rpc.gather('eth_getTransactionReceipt', [hash], 'readback'));
    const receipt = found.get(hash) ?? null;
    // The node may have answered before it had the whole block.
    if (receipt === null && this.#blocks.get(key) === reading) this.#blocks.delete(key);
    return receipt;
  }

  /** @param {number} number @param {Purpose} purpose @returns {Promise<Receipt[] | null>} null: the node does not serve receipts of whole blocks */
  async #ofBlock(number, purpose) {
    if (!this.#servesBlocks) return null;
    try {
      // null: it does not have the block.
      const answer = (await this.#rpc.call('eth_getBlockReceipts', [toHex(number)], purpose)) ?? [];
      if (Array.isArray(answer) && answer.every((receipt) => typeof receipt === 'object' && receipt !== null))
        return answer;
      throw new ProtocolError('the answer to eth_getBlockReceipts is not a list of receipts');
    } catch (error) {
      // The load may ask for a block before the node has it.
      const isEarly = purpose === 'readback' && isUnknownBlock(error);
      if (!(error instanceof StressError) || isRetryable(error) || isEarly) throw error;
      this.#servesBlocks = false;
      return null;
    }
  }

  /**
   * The outcomes of all transactions of the wallets in the blocks of a run.
   * @param {readonly string[]} addresses of the wallets, by position
   * @param {Pick<AuditSnapshot, 'startBlock' | 'blockNumber' | 'startNonces' | 'nonces'>} snapshot
   * @param {AbortSignal} signal
   * @param {(position: number, nonce: number, receipt: Receipt) => void} [onReceipt]
   * @returns {Promise<Outcomes | {why: string}>} why: the reason why they are unknown
   */
  async ofRun(addresses, { startBlock, blockNumber, startNonces, nonces }, signal, onReceipt = () => {}) {
    const positions = new Map(addresses.map((address, i) => [address.toLowerCase(), i]));
    const outcomes = { succeeded: addresses.map(() => 0), reverted: addresses.map(() => 0) };
    const { succeeded, reverted } = outcomes;
    const count = blockNumber - startBlock;
    for (let done = 0; done < count; done += MAX_BLOCKS_AT_ONCE) {
      if (signal.aborted) return { why: `there was time for the receipts of ${done} of ${count} blocks` };
      const size = Math.min(MAX_BLOCKS_AT_ONCE, count - done);
      const part = Array.from({ length: size }, (_, i) => startBlock + 1 + done + i);
      try {
        const blocks = await Promise.all(part.map((number) => this.#oursIn(number, positions)));
        for (const receipt of blocks.flat()) {
          const position = positions.get(String(receipt.from).toLowerCase());
          if (position === undefined) continue;
          // A wallet's transactions are included in the order of their nonces.
          onReceipt(position, startNonces[position] + succeeded[position] + reverted[position], receipt);
          (isSuccess(receipt) ? succeeded : reverted)[position] += 1;
        }
      } catch (error) {
        if (!(error instanceof StressError)) throw error;
        return { why: `receipts of the run's blocks could not be read: ${error.message}` };
      }
    }
    const seen = sum(succeeded) + sum(reverted);
    const used = sum(nonces) - sum(startNonces);
    return seen === used ? outcomes : { why: `the node has the receipts of ${seen} of ${used} transactions` };
  }

  /** @param {number} number @param {Map<string, number>} positions by address @returns {Promise<Receipt[]>} in the block's order, at least those of the addresses */
  async #oursIn(number, positions) {
    const all = await this.#ofBlock(number, 'audit');
    if (all !== null) return all;
    const block = await this.#rpc.call('eth_getBlockByNumber', [toHex(number), true], 'audit');
    const hashes = (block?.transactions ?? [])
      .filter((/** @type {any} */ { from }) => positions.has(String(from).toLowerCase()))
      .map((/** @type {any} */ { hash }) => ({ method: 'eth_getTransactionReceipt', params: [hash] }));
    return (await this.#rpc.batch(hashes, 'audit')).filter((receipt) => receipt !== null);
  }
}

/** @param {Pick<Receipt, 'status'>} receipt */
export function isSuccess({ status }) {
  return toNumber(status) === 1;
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

/** The receipts of a full block are megabytes. @param {Receipt} receipt */
function brief({ blockNumber, status, to, contractAddress, gasUsed }) {
  return { blockNumber, status, to, contractAddress, gasUsed };
}

/** @param {readonly number[] | Uint32Array} numbers */
export function sum(numbers) {
  let total = 0;
  for (const number of numbers) total += number;
  return total;
}
