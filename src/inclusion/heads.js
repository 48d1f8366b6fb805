import { HEAD, ask, blockAt, nullIfAbsent, pushedNumber } from '../chain/answers.js';
import { ProtocolError, RpcError } from '../errors.js';

/**
 * How new heads are learned of: a subscription if the endpoint supports it, otherwise polls; and the requests for blocks.
 *
 * @import { Block, BlockWithHashes, Rpc, Sighting } from '../contracts/chain.d.ts'
 * @import { Clock } from '../contracts/common.d.ts'
 */

const POLLS_PER_BLOCK = 10;
const MIN_POLL_MS = 4;
const MAX_POLL_MS = 250;
/** Longest pause before an announced block is fetched again; it is usually served soon. */
const NOT_SERVED_MS = 50;
/** Weight of the newest block in the running mean of the block interval. */
const SMOOTHING = 0.3;

/** Time between two polls for the head: a tenth of the block interval, at most 250 ms, with a backoff after failures. */
export class PollPace {
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

/** Gaps between sightings of which the median is the period. */
const GAPS = 20;
/** With fewer gaps the period is that of the blocks before the load. */
const ENOUGH_GAPS = 3;

/** A gap so many times longer than usual may be a pause without load. */
const PAUSE = 2;

/** When blocks were seen. A sighting is one reading of the chain that found blocks, however many. */
export class Sightings {
  /** Ends of the latest readings that found blocks. @type {number[]} */
  #endsUs = [];
  #firstPeriodUs;
  #headAtUs;
  #depth;
  /** Whether the current reading has found blocks. */
  #hasFound = false;
  /** The last sighting, or the start. */
  lastUs;

  /**
   * @param {number} startUs
   * @param {number | null} periodUs of the blocks before; null: not known
   * @param {number} [confirmations] blocks that an operation waits for after its own
   * @param {number} [headAtUs] when the block before was made, by its timestamp
   */
  constructor(startUs, periodUs, confirmations = 0, headAtUs = -Infinity) {
    this.lastUs = startUs;
    this.#firstPeriodUs = periodUs;
    this.#headAtUs = headAtUs;
    this.#depth = 1 + confirmations;
  }

  /** The median time between two sightings. @returns {number | null} null: not known yet */
  get periodUs() {
    const endsUs = this.#endsUs.slice(-1 - GAPS);
    const gapsUs = endsUs.slice(1).map((us, i) => us - endsUs[i]);
    if (gapsUs.length < ENOUGH_GAPS && this.#firstPeriodUs !== null) return this.#firstPeriodUs;
    return gapsUs.length === 0 ? null : gapsUs.sort((a, b) => a - b)[Math.floor(gapsUs.length / 2)];
  }

  /** Over how long operations are usually spread. @returns {number | null} null: not known yet */
  get spanUs() {
    const { periodUs } = this;
    return periodUs === null ? null : this.#depth * periodUs;
  }

  /**
   * Operations are spread over the time that their blocks took: since the sighting before, with confirmations as many
   * more. So blocks that are read late make no peak. After a pause it is no longer than usual, or since the first of them
   * began, so that blocks made on demand are not spread over a time without load.
   * @param {number} seenAtUs
   * @param {readonly number[]} startsUs starts of the operations
   * @returns {Sighting & {blocksFromUs: number}} blocksFromUs: of the blocks themselves
   */
  add(seenAtUs, startsUs) {
    const ownUs = startsUs.reduce((longest, startUs) => Math.max(longest, seenAtUs - startUs), 0);
    this.lastUs = seenAtUs;
    this.#hasFound = true;
    const [fromUs, blocksFromUs] = [this.#depth, 1].map((depth) => seenAtUs - this.#lengthUs(depth, seenAtUs, ownUs));
    // Operations of the next sighting are spread from here on.
    const settledUs = this.#depth === 1 ? seenAtUs : (this.#endsUs.at(1 - this.#depth) ?? 0);
    return { fromUs, toUs: seenAtUs, settledUs, open: 0, blocksFromUs };
  }

  /** @param {number} depth sightings before @param {number} seenAtUs @param {number} ownUs */
  #lengthUs(depth, seenAtUs, ownUs) {
    const usualUs = depth * (this.periodUs ?? 0);
    const beforeUs = this.#endsUs.at(-depth);
    // Timestamps are whole seconds: before the first sightings they are a limit only.
    if (beforeUs === undefined) return Math.max(ownUs, Math.min(usualUs, seenAtUs - this.#headAtUs));
    return Math.min(seenAtUs - beforeUs, Math.max(PAUSE * usualUs, ownUs));
  }

  /** The reading has ended. */
  end() {
    if (!this.#hasFound) return;
    this.#hasFound = false;
    this.#endsUs.push(this.lastUs);
    if (this.#endsUs.length > Math.max(1 + GAPS, this.#depth)) this.#endsUs.shift();
  }
}

/** Between two attempts to subscribe; doubled until a head is pushed. */
const MIN_RESUBSCRIBE_MS = 100;
const MAX_RESUBSCRIBE_MS = 10_000;
/** After so many heads in a row that only polls have found, the subscription is renewed. A single push may be late. */
const MAX_MISSED = 3;

/** The newest head that the node has announced without a poll. Keeps a subscription, and renews it when it is lost or silent. */
export class HeadSource {
  isSubscribed = false;
  /** By a push or another answer, and not known to be wrong. */
  newest;
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
    this.newest = head;
    this.#clock = clock;
    this.#onHead = onHead;
    if (subscribe !== null) this.#done = this.#keep(subscribe);
  }

  /** Another answer shows that the node has this block. @param {number} number */
  announce(number) {
    if (number <= this.newest) return;
    this.newest = number;
    this.#onHead();
  }

  /** A poll has found a new head. */
  polled() {
    if (!this.isSubscribed) return;
    this.#missed += 1;
    if (this.#missed === MAX_MISSED) this.#end();
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
    const number = pushedNumber(header);
    if (number === null) return;
    this.newest = number; // lower than before after a reorg
    this.#missed = 0;
    this.#waitMs = MIN_RESUBSCRIBE_MS;
    this.#onHead();
  }
}

/** After this time a call of this file is repeated on another connection. */
const HEDGE_MS = 1000;

/** The node announced a block and does not serve it yet. */
export class BlockNotServedError extends Error {}

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

/** @param {Rpc} rpc @param {Clock} clock @returns {Promise<number>} number of the latest block */
export async function fetchHead(rpc, clock) {
  return hedged(clock, () => ask(rpc, HEAD, 'inclusion'));
}

/**
 * @param {Rpc} rpc
 * @param {Clock} clock
 * @param {number} number
 * @returns {Promise<BlockWithHashes | null>} null: it is not served yet, or there is none at this height
 */
export function fetchBlock(rpc, clock, number) {
  return hedged(clock, () => nullIfAbsent(ask(rpc, blockAt(number), 'inclusion')));
}

/** @param {BlockWithHashes} block @param {number} seenAtUs @param {number} ours @returns {Block} */
export function describeBlock(
  { number, hash, timestampS, baseFeeWei, excessBlobGas, gasUsed, gasLimit, transactions },
  seenAtUs,
  ours,
) {
  return {
    ...{ number, hash, seenAtUs, timestampS, baseFeeWei, excessBlobGas, ours },
    gasUsed: gasUsed ?? 0,
    // 0: the chain states none, or the used part of it is not known.
    gasLimit: gasUsed === null ? 0 : (gasLimit ?? 0),
    transactions: transactions.length,
  };
}
