import { baseFeeOf } from '../chain/fees.js';
import { retryAfterMs } from '../chain/retries.js';
import { toNumber } from '../chain/rpc.js';
import { ProtocolError, RpcError, TransportError } from '../errors.js';

/**
 * Follows the head of the chain, by subscription if the endpoint supports it, otherwise by polling.
 *
 * @import { Block, Clock, InclusionDetector, Rpc } from '../types.d.ts'
 */

const POLLS_PER_BLOCK = 10;
const MIN_POLL_MS = 4;
const MAX_POLL_MS = 250;
/** Longest pause before an announced block is fetched again; it is usually served soon. */
const NOT_SERVED_MS = 50;
/** Weight of the newest block in the running mean of the block interval. */
const SMOOTHING = 0.3;

/** Time between two polls for the head: a tenth of the block interval, at most 250 ms, with a backoff after failures. */
class PollPace {
  /** The time to the next poll. */
  pollMs = MIN_POLL_MS;
  isFailing = false;
  #blockMs = 1000;
  /** The newest announced number; its block may not be served yet. */
  #announced;
  #announcedAtUs;
  #clock;

  /** @param {Clock} clock @param {number} head */
  constructor(clock, head) {
    this.#clock = clock;
    this.#announced = head;
    this.#announcedAtUs = clock.nowUs();
  }

  /** @param {number} number of the node's latest block */
  announced(number) {
    if (number <= this.#announced) return;
    const nowUs = this.#clock.nowUs();
    const newestMs = (nowUs - this.#announcedAtUs) / 1000 / (number - this.#announced);
    this.#blockMs = Math.min(this.#blockMs * (1 - SMOOTHING) + newestMs * SMOOTHING, newestMs * 2);
    this.#announcedAtUs = nowUs;
    this.#announced = number;
  }

  succeeded() {
    this.isFailing = false;
    this.pollMs = Math.min(Math.max(this.#blockMs / POLLS_PER_BLOCK, MIN_POLL_MS), MAX_POLL_MS);
  }

  /** The newest block is announced, but not served yet. */
  notServed() {
    this.isFailing = true;
    this.pollMs = Math.min(Math.max(this.#blockMs / POLLS_PER_BLOCK, MIN_POLL_MS), NOT_SERVED_MS);
  }

  /** @param {boolean} isUnreachable no answer came, as opposed to an invalid one */
  failed(isUnreachable) {
    this.isFailing = true;
    this.pollMs = Math.min(Math.max(this.pollMs * 2, 50), isUnreachable ? 1000 : MAX_POLL_MS);
  }

  /** Running mean of the time between two blocks. */
  get blockMs() {
    return this.#blockMs;
  }
}

/** Between two attempts to subscribe; doubled until a head is pushed. */
const MIN_RESUBSCRIBE_MS = 100;
const MAX_RESUBSCRIBE_MS = 10_000;
/** After so many heads in a row that only polls have found, the subscription is renewed. A single push may be late. */
const MAX_MISSED = 3;

/** The newest head that the node has announced without a poll. Keeps a subscription, and renews it when it is lost or silent. */
class HeadSource {
  isSubscribed = false;
  /** By another answer than a push. */
  #announced;
  #pushed = 0;
  /** Heads in a row that were not pushed. */
  #missed = 0;
  #waitMs = MIN_RESUBSCRIBE_MS;
  #stopping = new AbortController();
  /** Ends the current subscription. */
  #end = () => {};
  #done = Promise.resolve();
  #clock;
  #onHead;

  /**
   * @param {Rpc} rpc
   * @param {{clock: Clock, head: number, onHead: () => void}} options onHead: called for a new head, and when one may have
   *   been missed because the subscription was just made or lost
   */
  constructor({ subscribe }, { clock, head, onHead }) {
    this.#announced = head;
    this.#clock = clock;
    this.#onHead = onHead;
    if (subscribe !== null) this.#done = this.#keep(subscribe);
  }

  get newest() {
    return Math.max(this.#announced, this.#pushed);
  }

  /** @param {number} number */
  announce(number) {
    if (number <= this.newest) return;
    this.#announced = number;
    this.#onHead();
  }

  /** A poll has found a new head. */
  polled() {
    if (!this.isSubscribed) return;
    this.#missed += 1;
    if (this.#missed === MAX_MISSED) this.#end();
  }

  /** The announced block may not exist. @param {number} head */
  forgetAnnounced(head) {
    this.#announced = head;
  }

  /** Ignores earlier pushes of replaced blocks. @param {number} head the last block that is still part of the chain */
  rewind(head) {
    this.#announced = head;
    this.#pushed = Math.min(this.#pushed, head);
  }

  stop() {
    this.#stopping.abort();
    this.#end();
    return this.#done;
  }

  /** @param {NonNullable<Rpc['subscribe']>} subscribe */
  async #keep(subscribe) {
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      try {
        await this.#live(subscribe);
      } catch (error) {
        // The node does not support subscriptions.
        if (error instanceof RpcError || error instanceof ProtocolError) return;
      }
      await this.#clock.sleep(this.#waitMs, signal);
      this.#waitMs = Math.min(this.#waitMs * 2, MAX_RESUBSCRIBE_MS);
    }
  }

  /** One subscription, from its start to its end. @param {NonNullable<Rpc['subscribe']>} subscribe */
  async #live(subscribe) {
    const ended = new Promise((/** @type {(value: void) => void} */ resolve) => (this.#end = resolve));
    const unsubscribe = await subscribe('newHeads', (header) => this.#take(header), this.#end);
    this.isSubscribed = true;
    this.#missed = 0;
    this.#onHead();
    await ended;
    this.isSubscribed = false;
    unsubscribe();
    this.#onHead();
  }

  /** @param {any} header */
  #take(header) {
    const number = Number(header?.number);
    if (!Number.isSafeInteger(number)) return;
    this.#pushed = number; // lower than before after a reorg
    this.#missed = 0;
    this.#waitMs = MIN_RESUBSCRIBE_MS;
    this.#onHead();
  }
}

/** Polling continues beside a subscription, which may fall silent. */
const SAFETY_POLL_MS = 1000;

/** After this time a call of this file is repeated on another connection. */
const HEDGE_MS = 1000;

/** Longest accepted Retry-After. */
const MAX_RETRY_AFTER_MS = 30_000;

/** The node announced a block and does not serve it yet. */
export class BlockNotServedError extends Error {}

/**
 * @param {object} options
 * @param {Rpc} options.rpc
 * @param {Clock} options.clock
 * @param {number} options.head
 * @param {(to: number) => Promise<number>} options.onHeads blocks up to this one are available; returns the last one that
 *   was read. Repeated if it rejects.
 * @param {(number: number, behindMs: number) => Promise<number>} options.onBehind the node's latest block has been below
 *   the last one read for this time; returns the last one that is still part of the chain
 * @returns {Pick<InclusionDetector, 'stop'> & {announce: (number: number) => void, stats: () => Omit<ReturnType<InclusionDetector['stats']>, 'stillMs' | 'newestBlock' | 'warning'>}}
 *   announce: another answer shows that the node has this block
 */
export function followHeads({ rpc, clock, head, onHeads, onBehind }) {
  const pace = new PollPace(clock, head);
  let lastSuccessUs = clock.nowUs();
  /** Since when the node's head has been below ours. @type {number | null} */
  let behindSinceUs = null;
  let failedPolls = 0;
  /** @type {Error | null} */
  let lastError = null;
  let isStopped = false;
  let isWoken = false;
  let waiting = new AbortController();
  const wake = () => {
    isWoken = true;
    waiting.abort();
  };
  const headSource = new HeadSource(rpc, { clock, head, onHead: wake });
  const waitMs = () => (headSource.isSubscribed && !pace.isFailing ? SAFETY_POLL_MS : pace.pollMs);

  /** @returns {Promise<number>} number of the latest block */
  async function latest() {
    if (headSource.newest > head) return headSource.newest;
    const polled = toNumber(await hedged(clock, () => rpc.call('eth_blockNumber', [], 'inclusion')));
    if (polled > head) headSource.polled();
    return polled;
  }

  async function check() {
    const number = await latest();
    pace.announced(number);
    behindSinceUs = number >= head ? null : (behindSinceUs ?? clock.nowUs());
    const before = head;
    if (number > head) head = await onHeads(number);
    else if (behindSinceUs !== null) head = await onBehind(number, (clock.nowUs() - behindSinceUs) / 1000);
    if (head < before) headSource.rewind(head);
    lastSuccessUs = clock.nowUs();
  }

  async function loop() {
    while (!isStopped) {
      isWoken = false;
      let pauseMs = 0;
      try {
        await check();
        pace.succeeded();
      } catch (error) {
        failedPolls += 1;
        headSource.forgetAnnounced(head);
        lastError = /** @type {Error} */ (error);
        if (error instanceof BlockNotServedError) pace.notServed();
        else pace.failed(error instanceof TransportError);
        pauseMs = Math.min(retryAfterMs(error), MAX_RETRY_AFTER_MS);
      }
      // A head was pushed in the meantime.
      if (isWoken) continue;
      waiting = new AbortController();
      await clock.sleep(Math.max(waitMs(), pauseMs), waiting.signal);
    }
  }
  const done = loop();

  return {
    announce: (number) => void (number > head && headSource.announce(number)),
    stats: () => ({
      source: headSource.isSubscribed ? 'subscription' : 'poll',
      resolutionMs: headSource.isSubscribed ? 0 : pace.pollMs,
      failedPolls,
      lastError,
      blockMs: pace.blockMs,
      behindMs: behindSinceUs === null ? 0 : (clock.nowUs() - behindSinceUs) / 1000,
      silentMs: Math.max(0, (clock.nowUs() - lastSuccessUs) / 1000 - waitMs()),
    }),
    stop: async () => {
      isStopped = true;
      wake();
      await Promise.all([done, headSource.stop()]);
    },
  };
}

/**
 * Repeats a slow call on another connection, because the first one may be dead and all operations wait for the answer.
 * @template T
 * @param {Clock} clock
 * @param {() => Promise<T>} call
 * @returns {Promise<T>} the first answer
 */
async function hedged(clock, call) {
  const first = call();
  // Not an AbortController: an abort takes 15 us, and heads are polled every few milliseconds.
  let cancel = () => {};
  const isSlow = await new Promise((resolve) => {
    cancel = clock.after(() => resolve(true), HEDGE_MS);
    const answered = () => resolve(false);
    first.then(answered, answered);
  });
  cancel();
  if (!isSlow) return first;
  try {
    return await Promise.any([first, call()]);
  } catch (error) {
    throw /** @type {AggregateError} */ (error).errors[0];
  }
}

/** @param {Rpc} rpc @param {Clock} clock @param {number} number @returns {Promise<any>} the block with transaction hashes */
export async function fetchBlock(rpc, clock, number) {
  const params = [`0x${number.toString(16)}`, false];
  const block = await hedged(clock, () => rpc.call('eth_getBlockByNumber', params, 'inclusion'));
  // The caller fetches the block again at its next poll.
  if (block === null) throw new BlockNotServedError(`block ${number} is announced but not served yet`);
  if (typeof block?.hash !== 'string' || !Array.isArray(block.transactions))
    throw new ProtocolError(`${rpc.display} answered eth_getBlockByNumber with an invalid block`);
  return block;
}

/** @param {any} block @param {number} seenAtUs @param {number} ours @returns {Block} */
export function describeBlock(block, seenAtUs, ours) {
  return {
    number: toNumber(block.number),
    hash: block.hash,
    seenAtUs,
    timestampS: toNumber(block.timestamp),
    baseFeeWei: baseFeeOf(block),
    gasUsed: toNumber(block.gasUsed),
    gasLimit: toNumber(block.gasLimit),
    transactions: block.transactions.length,
    ours,
  };
}

/** Blocks whose times are kept; older ones count as seen now. */
const MAX_BLOCKS_SEEN = 1024;

/** When the blocks became visible at the read-back endpoint. */
export class Visibility {
  /** By block number. @type {Map<number, number>} */
  #seenAtUs = new Map();
  #head;
  /** By block number. @type {Map<number, Array<(atUs: number) => void>>} */
  #waiting = new Map();
  #heads;
  #clock;

  /** @param {{rpc: Rpc, clock: Clock, head: number}} options rpc: of the read-back endpoint; head: its newest block */
  constructor({ rpc, clock, head }) {
    this.#clock = clock;
    this.#head = head;
    this.#heads = followHeads({
      rpc,
      clock,
      head,
      onHeads: async (to) => this.noteHead(to),
      // Another node answers now, or a reorg: the same number comes again.
      onBehind: async (number) => (this.#head = number),
    });
  }

  /** All blocks up to this number are visible. @param {number} number */
  noteHead(number) {
    const nowUs = this.#clock.nowUs();
    for (let at = Math.max(this.#head + 1, number - MAX_BLOCKS_SEEN); at <= number; at += 1) {
      if (!this.#seenAtUs.has(at)) this.#seenAtUs.set(at, nowUs);
      if (this.#seenAtUs.size > MAX_BLOCKS_SEEN)
        this.#seenAtUs.delete(/** @type {number} */ (this.#seenAtUs.keys().next().value));
    }
    this.#head = number;
    for (const awaited of [...this.#waiting.keys()].filter((one) => one <= number)) {
      const waiting = this.#waiting.get(awaited) ?? [];
      this.#waiting.delete(awaited);
      for (const resolve of waiting) resolve(this.#seenAtUs.get(awaited) ?? nowUs);
    }
    return number;
  }

  /** @param {number} number of a block @returns {Promise<number>} when it became visible */
  whenVisible(number) {
    if (number <= this.#head) return Promise.resolve(this.#seenAtUs.get(number) ?? this.#clock.nowUs());
    return new Promise((resolve) => {
      const waiting = this.#waiting.get(number) ?? [];
      waiting.push(resolve);
      this.#waiting.set(number, waiting);
    });
  }

  stop() {
    return this.#heads.stop();
  }
}
