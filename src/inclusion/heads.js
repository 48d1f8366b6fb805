import { retryAfterMs } from '../chain/retries.js';
import { toBigInt, toNumber } from '../chain/rpc.js';
import { ProtocolError, RpcError, TransportError } from '../errors.js';

/** @import { Block, Clock, InclusionDetector, Rpc } from '../types.d.ts' */

const POLLS_PER_BLOCK = 10;
const SHORTEST_POLL_MS = 4;
const LONGEST_POLL_MS = 250;
/** A block that was announced comes soon, however long the last one took. */
const NOT_SERVED_MS = 50;
/** Weight of the newest block in the running mean of the block interval. */
const SMOOTHING = 0.3;

/**
 * How often a chain is asked for its head: about ten times a block, every 250 ms at least, and ever more seldom while it
 * does not answer.
 */
export class Pace {
  /** The time to the next poll. */
  pollMs = SHORTEST_POLL_MS;
  isFailing = false;
  #blockMs = 1000;
  /** The newest number we were told of; its block may not be served yet. */
  #announced;
  #announcedAtUs;
  #clock;

  /** @param {Clock} clock @param {number} head */
  constructor(clock, head) {
    this.#clock = clock;
    this.#announced = head;
    this.#announcedAtUs = clock.nowUs();
  }

  /** @param {number} number of the latest block, as the node says */
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
    this.pollMs = Math.min(Math.max(this.#blockMs / POLLS_PER_BLOCK, SHORTEST_POLL_MS), LONGEST_POLL_MS);
  }

  /** The newest block is not served yet, but will be in a moment. */
  notServed() {
    this.isFailing = true;
    this.pollMs = Math.min(Math.max(this.#blockMs / POLLS_PER_BLOCK, SHORTEST_POLL_MS), NOT_SERVED_MS);
  }

  /** @param {boolean} isAway no answer came at all; one that answers nonsense may be well the next time */
  failed(isAway) {
    this.isFailing = true;
    this.pollMs = Math.min(Math.max(this.pollMs * 2, 50), isAway ? 1000 : LONGEST_POLL_MS);
  }

  /** Running mean of the time between two blocks. */
  get blockMs() {
    return this.#blockMs;
  }
}

/** Between two attempts to subscribe; doubled until a head is pushed. */
const SHORTEST_WAIT_MS = 100;
const LONGEST_WAIT_MS = 10_000;
/** So many heads in a row that only a poll has found. One alone may have been on its way to us. */
const MISSED_IS_SILENT = 3;

/**
 * Keeps a subscription to the heads of the chain for as long as the node allows it: one that is lost, or says nothing
 * though there is headSource, is made again.
 *
 * @param {NonNullable<Rpc['subscribe']>} subscribe
 * @param {object} options
 * @param {Clock} options.clock
 * @param {number} options.head
 * @param {() => void} options.onHead called when there is a new head, and when there may be one that was not pushed,
 *   because the subscription was just made or lost
 */
export function subscribeToHeads(subscribe, { clock, head, onHead }) {
  const stopping = new AbortController();
  let newest = head;
  /** Heads in a row that we were not told of. */
  let missed = 0;
  let waitMs = SHORTEST_WAIT_MS;
  let isLive = false;
  /** Ends the subscription that there is. */
  let leave = () => {};

  /** @param {any} header */
  function onHeader(header) {
    const number = Number(header?.number);
    if (!Number.isSafeInteger(number)) return;
    newest = number; // lower than the last one where blocks were replaced
    missed = 0;
    waitMs = SHORTEST_WAIT_MS;
    onHead();
  }

  /** One subscription, from its first word to its end. */
  async function live() {
    const ended = new Promise((/** @type {(value: void) => void} */ resolve) => (leave = resolve));
    const end = await subscribe('newHeads', onHeader, leave);
    isLive = true;
    missed = 0;
    onHead();
    await ended;
    isLive = false;
    end();
    onHead();
  }

  async function keep() {
    while (!stopping.signal.aborted) {
      try {
        await live();
      } catch (error) {
        // A node that knows no subscriptions will not know them later.
        if (error instanceof RpcError || error instanceof ProtocolError) return;
      }
      await clock.sleep(waitMs, stopping.signal);
      waitMs = Math.min(waitMs * 2, LONGEST_WAIT_MS);
    }
  }
  const done = keep();

  return {
    isLive: () => isLive,
    /** The newest head that was pushed. */
    newest: () => newest,
    /** Blocks are gone: what was pushed before does not count. @param {number} number */
    rewind: (number) => {
      newest = Math.min(newest, number);
    },
    /** A poll has found a head that is new. */
    polled: () => {
      if (!isLive) return;
      missed += 1;
      if (missed === MISSED_IS_SILENT) leave();
    },
    stop: () => {
      stopping.abort();
      leave();
      return done;
    },
  };
}

/** Beside a subscription: it may have fallen silent, and the endpoint may be gone without a word. */
const SAFETY_POLL_MS = 1000;

/** An answer about the chain that takes longer is asked for on another connection as well. */
const HEDGE_MS = 1000;

/** No endpoint keeps us from looking for longer. */
const LONGEST_REST_MS = 30_000;

/** The node told of a block, and does not serve it yet. */
export class BlockNotServedError extends Error {}

/**
 * Follows the head of the chain. Where the node can speak first, it is subscribed to. Where it cannot, and while there
 * is no subscription, eth_blockNumber is polled at a pace that follows the chain's own.
 *
 * @param {object} options
 * @param {Rpc} options.rpc
 * @param {Clock} options.clock
 * @param {number} options.head
 * @param {(to: number) => Promise<number>} options.onHeads there are blocks up to that one; gives the last one that was
 *   read. When it rejects, it is told again.
 * @param {(number: number, behindMs: number) => Promise<number>} options.onBehind the node has had no later block than
 *   that for so long, though we have read one; gives the last one that still counts
 * @returns {Pick<InclusionDetector, 'stop'> & {announce: (number: number) => void, stats: () => Omit<ReturnType<InclusionDetector['stats']>, 'stillMs' | 'newestBlock' | 'warning'>}}
 *   announce: something else that the node said tells that it has that block
 */
export function followHeads({ rpc, clock, head, onHeads, onBehind }) {
  const pace = new Pace(clock, head);
  let lastSuccessUs = clock.nowUs();
  /** Since when the node has been behind us. @type {number | null} */
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

  async function look() {
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
        await look();
        pace.succeeded();
      } catch (error) {
        failedPolls += 1;
        headSource.doubt(head);
        lastError = /** @type {Error} */ (error);
        if (error instanceof BlockNotServedError) pace.notServed();
        else pace.failed(error instanceof TransportError);
        pauseMs = Math.min(retryAfterMs(error), LONGEST_REST_MS);
      }
      // What was pushed meanwhile is looked at now.
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

/** What the node says of its head without being asked for it. */
class HeadSource {
  #announced;
  #onHead;
  #subscription;

  /** @param {Rpc} rpc @param {{clock: Clock, head: number, onHead: () => void}} options */
  constructor({ subscribe }, { clock, head, onHead }) {
    this.#announced = head;
    this.#onHead = onHead;
    this.#subscription = subscribe === null ? null : subscribeToHeads(subscribe, { clock, head, onHead });
  }

  get isSubscribed() {
    return this.#subscription?.isLive() === true;
  }

  get newest() {
    return Math.max(this.#announced, this.#subscription?.newest() ?? 0);
  }

  /** Something else that it said tells that it has this one. @param {number} number */
  announce(number) {
    if (number <= this.newest) return;
    this.#announced = number;
    this.#onHead();
  }

  /** A poll has found a head that is new. */
  polled() {
    this.#subscription?.polled();
  }

  /** What was announced may have been untrue. @param {number} head */
  doubt(head) {
    this.#announced = head;
  }

  /** Blocks are gone. @param {number} head */
  rewind(head) {
    this.doubt(head);
    this.#subscription?.rewind(head);
  }

  async stop() {
    await this.#subscription?.stop();
  }
}

/**
 * A connection may be dead without a word. What is not answered soon is asked for once more, on another one: every
 * operation waits for it.
 * @template T
 * @param {Clock} clock
 * @param {() => Promise<T>} ask
 * @returns {Promise<T>} the first answer
 */
async function hedged(clock, ask) {
  const isAnswered = new AbortController();
  const first = ask().finally(() => isAnswered.abort());
  first.catch(() => {}); // whoever waits for it hears of it
  await clock.sleep(HEDGE_MS, isAnswered.signal);
  if (isAnswered.signal.aborted) return first;
  try {
    return await Promise.any([first, ask()]);
  } catch (error) {
    throw /** @type {AggregateError} */ (error).errors[0];
  }
}

/**
 * @param {Rpc} rpc
 * @param {Clock} clock
 * @param {number} number
 * @returns {Promise<any>} the block with the hashes of its transactions
 */
export async function fetchBlock(rpc, clock, number) {
  const params = [`0x${number.toString(16)}`, false];
  const block = await hedged(clock, () => rpc.call('eth_getBlockByNumber', params, 'inclusion'));
  // A node may announce a head before it serves the block; the caller asks again at its next poll.
  if (block === null) throw new BlockNotServedError(`block ${number} is announced but not served yet`);
  if (typeof block?.hash !== 'string' || !Array.isArray(block.transactions))
    throw new ProtocolError(`${rpc.display} answered eth_getBlockByNumber with something that is no block`);
  return block;
}

/**
 * @param {any} block as the node gave it
 * @param {number} seenAtUs
 * @param {number} ours
 * @returns {Block}
 */
export function describeBlock(block, seenAtUs, ours) {
  return {
    number: toNumber(block.number),
    hash: block.hash,
    seenAtUs,
    timestampS: toNumber(block.timestamp),
    baseFeeWei:
      block.baseFeePerGas === undefined || block.baseFeePerGas === null ? null : toBigInt(block.baseFeePerGas),
    gasUsed: toNumber(block.gasUsed),
    gasLimit: toNumber(block.gasLimit),
    transactions: block.transactions.length,
    ours,
  };
}
