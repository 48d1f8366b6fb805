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
  /** @type {Required<StormFacts>} */
  facts = {
    duplicates: 0,
    duplicatesRefused: 0,
    duplicatesUnanswered: 0,
    replacements: 0,
    replacementsRefused: 0,
    replacementsUnanswered: 0,
    replacementsTooDear: 0,
    replacementsTooLate: 0,
    firstIncluded: 0,
    replacementIncluded: 0,
    inOrder: 0,
    outOfOrder: 0,
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
    if (nonceOrder === 'reversed') operations.reverse();
    else shuffle(operations, random);
    this.#noteOrder(operations);
    return operations;
  }

  /** One that starts alone keeps its place. @param {Operation[]} operations in the order in which they are sent */
  #noteOrder(operations) {
    /** Lowest nonce that is still to be sent, by wallet. @type {Map<Operation['account'], number>} */
    const lowest = new Map();
    for (const { account, nonce } of operations.toReversed()) {
      this.facts[nonce > (lowest.get(account) ?? Infinity) ? 'outOfOrder' : 'inOrder'] += 1;
      lowest.set(account, Math.min(nonce, lowest.get(account) ?? Infinity));
    }
  }

  get hasOrder() {
    return this.#options.nonceOrder !== null;
  }

  /** The node has taken it. @param {Operation} operation */
  async accepted(operation) {
    const { duplicateShare, replaceShare, presigner, random } = this.#options;
    if (random() < (duplicateShare ?? 0)) await this.#send(operation, 'duplicates');
    if (random() >= (replaceShare ?? 0)) return;
    const first = operation.hash;
    if (operation.isCancelled || operation.inclusion !== null) this.facts.replacementsTooLate += 1;
    else if (!presigner.signReplacement(operation)) this.facts.replacementsTooDear += 1;
    else if (await this.#send(operation, 'replacements')) this.#noteReplaced(operation, first);
  }

  /** @param {Operation} operation @param {string | null} first hash of the transaction that was replaced */
  #noteReplaced(operation, first) {
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

  /** @param {Operation} operation @param {'duplicates' | 'replacements'} kind @returns {Promise<boolean>} whether the node has it now; what it has already counts */
  async #send({ raw }, kind) {
    try {
      await this.#options.rpc.call('eth_sendRawTransaction', [raw], 'resubmit');
    } catch (error) {
      const isKnown = error instanceof RpcError && classOf(error) === 'known';
      if (!isKnown) this.facts[`${kind}Refused`] += 1;
      if (!(error instanceof RpcError)) this.facts[`${kind}Unanswered`] += 1;
      if (!isKnown) return false;
    }
    this.facts[kind] += 1;
    return true;
  }
}

/**
 * Fisher-Yates (Knuth, The Art of Computer Programming, volume 2, algorithm P).
 * @param {Operation[]} operations
 * @param {() => number} random from 0 to 1
 */
function shuffle(operations, random) {
  for (let i = operations.length - 1; i > 0; i -= 1) {
    const j = Math.floor(random() * (i + 1));
    [operations[i], operations[j]] = [operations[j], operations[i]];
  }
}
