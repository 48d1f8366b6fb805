import { classOf } from '../chain/refusals.js';
import { RpcError } from '../errors.js';

/**
 * Transactions that a good sender avoids, on purpose: nonces out of order (--nonce-order), the same bytes twice
 * (--duplicate-share), and a second transaction of the same nonce with a higher fee (--replace-share). Each operation stays
 * one operation, and a chain includes each nonce once.
 *
 * @import { Rpc } from '../contracts/chain.d.ts'
 * @import { LoadConfig } from '../contracts/load.d.ts'
 * @import { StormFacts } from '../contracts/run-file.d.ts'
 * @import { Operation } from './operation.js'
 * @import { Presigner } from './signing.js'
 */

export class Storm {
  /** @type {StormFacts} */
  facts = {
    duplicates: 0,
    duplicatesRefused: 0,
    replacements: 0,
    replacementsRefused: 0,
    firstIncluded: 0,
    replacementIncluded: 0,
  };
  /** Whose replacement the node has taken, with the hash of the first transaction. @type {WeakMap<Operation, string | null>} */
  #replaced = new WeakMap();
  #options;

  /** @param {Pick<LoadConfig, 'nonceOrder' | 'duplicateShare' | 'replaceShare'> & {rpc: Rpc, presigner: Presigner, random: () => number}} options shares: from 0 to 1 */
  constructor(options) {
    this.#options = options;
  }

  /**
   * In the order in which they are sent.
   * @param {Operation[]} operations that start together, by nonce
   */
  order(operations) {
    const { nonceOrder, random } = this.#options;
    if (nonceOrder === 'reversed') return operations.reverse();
    // Fisher-Yates (Knuth, The Art of Computer Programming, volume 2, algorithm P).
    for (let i = operations.length - 1; i > 0; i -= 1) {
      const j = Math.floor(random() * (i + 1));
      [operations[i], operations[j]] = [operations[j], operations[i]];
    }
    return operations;
  }

  get hasOrder() {
    return this.#options.nonceOrder !== null;
  }

  /** The node has taken it. @param {Operation} operation */
  async accepted(operation) {
    const { duplicateShare, replaceShare, presigner, random } = this.#options;
    if (random() < (duplicateShare ?? 0)) {
      const isTaken = await this.#send(operation);
      this.facts[isTaken ? 'duplicates' : 'duplicatesRefused'] += 1;
    }
    if (random() >= (replaceShare ?? 0) || operation.isCancelled || operation.inclusion !== null) return;
    const first = operation.hash;
    if (!presigner.raise(operation)) return;
    const isTaken = await this.#send(operation);
    this.facts[isTaken ? 'replacements' : 'replacementsRefused'] += 1;
    if (!isTaken) return;
    this.#replaced.set(operation, first);
    // The block may come before the answer.
    if (operation.sample.outcome === 'verified') this.verified(operation);
  }

  /** @param {Operation} operation */
  verified(operation) {
    const first = this.#replaced.get(operation);
    if (first === undefined) return;
    this.#replaced.delete(operation);
    this.facts[operation.hash === first ? 'firstIncluded' : 'replacementIncluded'] += 1;
  }

  /** @param {Operation} operation @returns {Promise<boolean>} whether the node has it now; what it has already counts */
  async #send({ raw }) {
    try {
      await this.#options.rpc.call('eth_sendRawTransaction', [raw], 'resubmit');
      return true;
    } catch (error) {
      return error instanceof RpcError && classOf(error) === 'known';
    }
  }
}
