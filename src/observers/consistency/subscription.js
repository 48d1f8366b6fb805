import { isHash, toNumber } from '../../chain/answers.js';
import { StressError, TransportError } from '../../errors.js';
import { counted, seconds } from '../../text.js';
import { byHash, byNumber } from './checks.js';
import { LATEST } from './endpoint.js';

/**
 * A subscription to new heads (a ws:// endpoint) brings each head once, and leaves none out.
 *
 * @import { Clock } from '../../contracts/common.d.ts'
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

  /** Number of the last head; -1: there was none. */
  get last() {
    return this.#last?.number ?? -1;
  }

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

/** Between two attempts to subscribe; doubled until a head is pushed. */
const MIN_PAUSE_MS = 100;
const MAX_PAUSE_MS = 10_000;

/** An open connection on which no head comes for so long, although the chain has so many more, is a lost one. */
const SILENT_MS = 5000;
const SILENT_BLOCKS = 3;

/** The check of one endpoint. After a lost connection it subscribes again, and the report states the gap. */
class SubscriptionCheck {
  #options;
  #pauseMs = MIN_PAUSE_MS;
  /** Times and length of the interruptions; sinceUs: of the present one. */
  #lost = { times: 0, ms: 0, sinceUs: /** @type {number | null} */ (null) };

  /** @param {{checker: ConsistencyChecker, endpoint: CheckedEndpoint, clock: Clock, signal: AbortSignal}} options */
  constructor(options) {
    this.#options = options;
  }

  /** Until the signal, or until the endpoint refuses it. */
  async run() {
    const { checker, endpoint, clock, signal } = this.#options;
    const { subscribe } = endpoint;
    if (subscribe === null) return checker.turnOff('subscription', 'it needs a ws:// URL');
    while (!signal.aborted) {
      try {
        await this.#follow(subscribe);
      } catch (error) {
        if (!(error instanceof StressError)) throw error;
        if (!(error instanceof TransportError)) return checker.turnOff('subscription', error.message);
      }
      if (signal.aborted) return;
      this.#noteLost();
      await clock.sleep(this.#pauseMs, signal);
      this.#pauseMs = Math.min(2 * this.#pauseMs, MAX_PAUSE_MS);
    }
  }

  /** One subscription, until it is lost. @param {NonNullable<CheckedEndpoint['subscribe']>} subscribe */
  async #follow(subscribe) {
    const { checker, clock, signal } = this.#options;
    // A new one may begin at any head.
    const order = new HeadOrder();
    let eventUs = clock.nowUs();
    const onEvent = (/** @type {unknown} */ event) => {
      eventUs = clock.nowUs();
      this.#see(event, order).catch((error) => {
        if (!(error instanceof StressError)) throw error;
        checker.noteUndecided('subscription');
      });
    };
    let end = () => {};
    const ended = new Promise((/** @type {(value: void) => void} */ resolve) => (end = resolve));
    signal.addEventListener('abort', end, { once: true });
    try {
      const unsubscribe = await subscribe('newHeads', onEvent, end);
      this.#noteBack();
      await this.#watch(order, ended, () => eventUs);
      unsubscribe();
    } finally {
      signal.removeEventListener('abort', end);
    }
  }

  /**
   * Waits until the subscription ends, or until it brings no heads although the chain has new blocks.
   * @param {HeadOrder} order
   * @param {Promise<void>} ended
   * @param {() => number} lastUs when the last head came
   */
  async #watch(order, ended, lastUs) {
    const { endpoint, clock } = this.#options;
    const over = new AbortController();
    void ended.then(() => over.abort());
    let first = -1;
    for (;;) {
      await clock.sleep(SILENT_MS, over.signal);
      if (over.signal.aborted) return;
      if (clock.nowUs() - lastUs() < SILENT_MS * 1000) continue;
      const number = await endpoint.ask(LATEST, true).then(numberOf, () => null);
      if (number === null || over.signal.aborted) continue;
      if (first === -1) first = number;
      if (number < (order.last === -1 ? first : order.last) + SILENT_BLOCKS) continue;
      return this.#noteLost(lastUs());
    }
  }

  /** @param {any} event @param {HeadOrder} order of this subscription */
  async #see(event, order) {
    const { checker, endpoint } = this.#options;
    this.#pauseMs = MIN_PAUSE_MS;
    if (typeof event !== 'object' || event === null) return;
    if (!isHash(event.hash)) return checker.noteUndecided('subscription');
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
    if (left === null) return checker.noteUndecided('subscription');
    // If it is no child of the head before, there was a reorg.
    if (left.parentHash !== gapAfter.hash) return;
    const words = `block ${head.number} was announced after block ${gapAfter.number}`;
    checker.record(endpoint.name, { code: 'head_skipped', words, requests: [SUBSCRIBE, request] });
  }

  #noteLost(sinceUs = this.#options.clock.nowUs()) {
    if (this.#lost.sinceUs !== null) return;
    this.#lost.times += 1;
    this.#lost.sinceUs = sinceUs;
    this.#tell();
  }

  #noteBack() {
    const { sinceUs } = this.#lost;
    if (sinceUs === null) return;
    this.#lost.ms += (this.#options.clock.nowUs() - sinceUs) / 1000;
    this.#lost.sinceUs = null;
    this.#tell();
  }

  #tell() {
    const { times, ms, sinceUs } = this.#lost;
    const { checker, endpoint } = this.#options;
    const length = sinceUs === null ? `heads of ${seconds(ms)} were not seen` : 'and not renewed';
    const words = `the subscription was lost ${counted(times, 'time')}, ${length}`;
    checker.interrupt('subscription', endpoint.name, { words, isOver: sinceUs === null });
  }
}

/** @param {any} block @returns {number | null} */
function numberOf(block) {
  try {
    return toNumber(block?.number);
  } catch {
    return null;
  }
}

/** @param {ConstructorParameters<typeof SubscriptionCheck>[0]} options @returns {Promise<void>} */
export function checkSubscription(options) {
  return new SubscriptionCheck(options).run();
}
