import { toHex, toNumber } from '../chain/rpc.js';
import { StressError } from '../errors.js';
import { byHash } from './checks.js';

/**
 * A subscription to new heads (a ws:// endpoint): each head comes once, and none is left out.
 *
 * @import { ConsistencyChecker } from './checker.js'
 * @import { CheckedEndpoint } from './endpoint.js'
 */

/** Hashes of heads that are remembered. */
const REMEMBERED = 256;

const SUBSCRIBE = Object.freeze({ method: 'eth_subscribe', params: ['newHeads'] });

export class SubscriptionCheck {
  #checker;
  #endpoint;
  #name;
  /** @type {Set<string>} */
  #hashes = new Set();
  /** @type {{number: number, hash: string} | null} */
  #last = null;

  /** @param {ConsistencyChecker} checker @param {CheckedEndpoint} endpoint @param {string} name */
  constructor(checker, endpoint, name) {
    this.#checker = checker;
    this.#endpoint = endpoint;
    this.#name = name;
  }

  async begin() {
    const { subscribe } = this.#endpoint;
    if (subscribe === null) return this.#checker.turnOff('subscription', 'it needs a ws:// URL');
    try {
      // A lost connection ends the check: a new one may begin at any head.
      await subscribe(
        'newHeads',
        (head) => void this.#see(head),
        () => {},
      );
    } catch (error) {
      if (!(error instanceof StressError)) throw error;
      this.#checker.turnOff('subscription', error.message);
    }
  }

  /** @param {any} head */
  #see(head) {
    if (typeof head?.hash !== 'string') return;
    const block = { number: toNumber(head.number), hash: head.hash };
    const before = this.#last;
    this.#checker.noteCheck('subscription');
    if (this.#hashes.has(block.hash)) {
      const words = `block ${block.number} (${block.hash}) was announced twice`;
      return this.#checker.record(this.#name, { code: 'head_repeated', words, requests: [SUBSCRIBE, byHash(head)] });
    }
    // After a reorg the old chain may become canonical again, and its blocks are announced again.
    if (before !== null && block.number <= before.number) this.#hashes.clear();
    this.#hashes.add(block.hash);
    if (this.#hashes.size > REMEMBERED) this.#hashes.delete(/** @type {string} */ (this.#hashes.values().next().value));
    this.#last = block;
    if (before !== null && block.number > before.number + 1) void this.#provePassedOver(before, head);
  }

  /**
   * The block after the last head was left out if it is a child of that head; otherwise there was a reorg.
   * @param {{number: number, hash: string}} before
   * @param {any} head
   */
  async #provePassedOver(before, head) {
    const request = { method: 'eth_getBlockByNumber', params: [toHex(before.number + 1), false] };
    const left = await this.#endpoint.ask(request).catch(() => null);
    if (left?.parentHash !== before.hash) return;
    const words = `block ${toNumber(head.number)} was announced after block ${before.number}`;
    this.#checker.record(this.#name, { code: 'head_skipped', words, requests: [SUBSCRIBE, request] });
  }
}
