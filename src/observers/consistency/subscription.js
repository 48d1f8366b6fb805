import { isHash, toNumber } from '../../chain/answers.js';
import { StressError } from '../../errors.js';
import { byHash, byNumber } from './checks.js';

/**
 * A subscription to new heads (a ws:// endpoint) brings each head once, and leaves none out.
 *
 * @import { ConsistencyChecker } from './checker.js'
 * @import { Request } from './checks.js'
 * @import { CheckedEndpoint } from './endpoint.js'
 *
 * @typedef {{number: number, hash: string}} Head
 */

/** Hashes of heads that are remembered. */
const MAX_HEADS = 256;

/** @type {Request} */
const SUBSCRIBE = { method: 'eth_subscribe', params: ['newHeads'] };

class HeadOrder {
  /** @type {Set<string>} */
  #hashes = new Set();
  /** @type {Head | null} */
  #last = null;

  /** @param {Head} head @returns {{isRepeated: boolean, gapAfter: Head | null}} gapAfter: the head before, if numbers are left out */
  add(head) {
    if (this.#hashes.has(head.hash)) return { isRepeated: true, gapAfter: null };
    const before = this.#last;
    // After a reorg the old chain may become canonical again, and its blocks are announced again.
    if (before !== null && head.number <= before.number) this.#hashes.clear();
    this.#hashes.add(head.hash);
    if (this.#hashes.size > MAX_HEADS) this.#hashes.delete(String(this.#hashes.values().next().value));
    this.#last = head;
    return { isRepeated: false, gapAfter: before !== null && head.number > before.number + 1 ? before : null };
  }
}

/** @param {ConsistencyChecker} checker @param {CheckedEndpoint} endpoint */
export async function checkSubscription(checker, endpoint) {
  const order = new HeadOrder();
  /** @param {any} event */
  const see = async (event) => {
    if (!isHash(event?.hash)) return;
    const head = { number: toNumber(event.number), hash: event.hash };
    checker.noteCheck('subscription');
    const { isRepeated, gapAfter } = order.add(head);
    if (isRepeated) {
      const words = `block ${head.number} (${head.hash}) was announced twice`;
      checker.record(endpoint.name, { code: 'head_repeated', words, requests: [SUBSCRIBE, byHash(head)] });
    }
    if (gapAfter === null) return;
    const request = byNumber({ number: gapAfter.number + 1 });
    const left = await endpoint.ask(request, true);
    // If it is no child of the head before, there was a reorg.
    if (left?.parentHash !== gapAfter.hash) return;
    const words = `block ${head.number} was announced after block ${gapAfter.number}`;
    checker.record(endpoint.name, { code: 'head_skipped', words, requests: [SUBSCRIBE, request] });
  };
  if (endpoint.subscribe === null) return checker.turnOff('subscription', 'it needs a ws:// URL');
  try {
    const ignore = (/** @type {unknown} */ error) => {
      if (!(error instanceof StressError)) throw error;
    };
    // A lost connection ends the check: a new one may begin at any head.
    await endpoint.subscribe(
      'newHeads',
      (event) => void see(event).catch(ignore),
      () => {},
    );
  } catch (error) {
    if (!(error instanceof StressError)) throw error;
    checker.turnOff('subscription', error.message);
  }
}
