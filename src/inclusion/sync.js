import { syncReceipt } from '../chain/answers.js';
import { classOf } from '../chain/refusals.js';
import { RpcError } from '../errors.js';
import { ChainFollower } from './follow.js';

/**
 * Inclusion by submission (EIP-7966): the node answers a transaction with its receipt once a block has it, and the block
 * is read at once. Transactions without a receipt are found in their blocks as well.
 *
 * @import { Purpose } from '../contracts/chain.d.ts'
 * @import { InclusionOptions } from './index.js'
 */

export const METHOD = 'eth_sendRawTransactionSync';

const PLAIN = 'eth_sendRawTransaction';

export class SyncInclusion extends ChainFollower {
  /** Why the method is no longer used. @type {string | null} */
  #refusal = null;
  #rpc;

  /** @param {InclusionOptions} options */
  constructor(options) {
    super(options);
    this.#rpc = options.rpc;
  }

  stats() {
    const stats = super.stats();
    if (this.#refusal === null) return stats;
    const warning = `${this.#rpc.display} no longer accepts ${METHOD} (${this.#refusal}): transactions are sent by ${PLAIN} from now on`;
    return { ...stats, warning };
  }

  /**
   * @param {string} raw
   * @param {string} hash
   * @param {Purpose} purpose
   * @param {(endpoint?: number) => unknown} [onSent] as for Rpc.call
   * @param {() => void} [onReceipt] the answer is the receipt
   * @returns {Promise<unknown>} the answer: the hash of the accepted transaction
   */
  async submit(raw, hash, purpose, onSent, onReceipt) {
    if (this.#refusal === null) {
      try {
        const receipt = syncReceipt(await this.#rpc.call(METHOD, [raw], purpose, onSent));
        if (receipt !== null) {
          if (receipt.blockNumber !== null) this.announce(receipt.blockNumber);
          onReceipt?.();
          return receipt.hash;
        }
        this.#refusal = 'it answers without a receipt';
      } catch (error) {
        if (isPending(error, hash)) return hash;
        if (!isRefused(error)) throw error;
        this.#refusal = error.rpcMessage;
      }
    }
    // If the node already has the transaction, its answer says so.
    return this.#rpc.call(PLAIN, [raw], purpose, onSent);
  }
}

/** Whether the method is missing or forbidden. Transactions are never refused in this way. @param {unknown} error @returns {error is RpcError} */
export function isRefused(error) {
  if (!(error instanceof RpcError)) return false;
  const { rpcCode, status } = error;
  // The name of the method contains some of the words searched for.
  return classOf({ rpcCode, status, rpcMessage: error.rpcMessage.replaceAll(METHOD, 'the method') }) === 'unsupported';
}

/** Whether the node has the transaction, but no block included it in time. @param {unknown} error @param {string} hash */
function isPending(error, hash) {
  return error instanceof RpcError && (String(error.data).toLowerCase() === hash || classOf(error) === 'known');
}
