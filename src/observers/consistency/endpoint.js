import { isHash, toNumber } from '../../chain/answers.js';
import { isBusy } from '../../chain/refusals.js';
import { ProtocolError, RpcError } from '../../errors.js';
import { byHash, byNumber } from './checks.js';

/**
 * One endpoint as the consistency checks see it: its head, its recent blocks as they were first read, and how far it is
 * behind.
 *
 * @import { Rpc } from '../../contracts/chain.d.ts'
 * @import { Clock } from '../../contracts/common.d.ts'
 * @import { CheckedBlock, Contradiction, Request } from './checks.js'
 */

/** Blocks that are checked: development chains keep at least 128, the embedded one 600. */
export const RECENT_BLOCKS = 64;

/** Most heights in a row without a block. */
const MAX_HOLES = 7;

/** Time in which a head that went back must reach the same block again. */
const RETURN_MS = 10_000;
const PAUSE_MS = 100;

/** @type {Request} */
export const LATEST = { method: 'eth_getBlockByNumber', params: ['latest', false] };

export class CheckedEndpoint {
  requests = 0;
  /** The newest block that it has named. @type {CheckedBlock | null} */
  head = null;
  /** Most blocks behind the newest block of the run, and longest time behind. */
  lag = { blocks: 0, ms: 0 };
  /** How often its head went back, and nothing tells whether by a reorg. */
  undecidedHeads = 0;
  /** A block that it lacked, and since when. @type {{number: number, sinceUs: number} | null} */
  #lacked = null;
  /** By number. @type {Map<number, CheckedBlock>} */
  #blocks = new Map();
  #rpc;
  #clock;
  #signal;

  /** @param {Rpc} rpc @param {string} name in messages @param {Clock} clock @param {AbortSignal} signal ends all waits */
  constructor(rpc, name, clock, signal) {
    this.#rpc = rpc;
    this.name = name;
    this.#clock = clock;
    this.#signal = signal;
    this.subscribe = rpc.subscribe;
  }

  /** @param {Request} request @param {boolean} [mayBeRefused] null in place of an error of the node @returns {Promise<any>} */
  async ask({ method, params }, mayBeRefused = false) {
    this.requests += 1;
    try {
      return await this.#rpc.call(method, params, 'consistency');
    } catch (error) {
      if (mayBeRefused && error instanceof RpcError && !isBusy(error)) return null;
      throw error;
    }
  }

  /** @param {number} number @returns {Promise<CheckedBlock | null>} as it was first read; null: the endpoint lacks it */
  async blockAt(number) {
    const known = this.#blocks.get(number);
    if (known !== undefined) return known;
    const header = await this.ask(byNumber({ number }), true);
    return header === null ? null : this.#keep(this.#blockOf(header));
  }

  /**
   * Whether the chain has no block at a height, as Filecoin's null rounds: the block above follows the block below.
   * @param {number} number of a height that is missing
   */
  async isHole(number) {
    const near = async (/** @type {1 | -1} */ step) => {
      for (let at = number + step; Math.abs(at - number) <= MAX_HOLES; at += step) {
        const block = await this.blockAt(at);
        if (block !== null) return block;
      }
      return null;
    };
    const [above, below] = await Promise.all([near(1), near(-1)]);
    return above !== null && below !== null && above.header.parentHash === below.hash;
  }

  /** Known blocks that follow each other up to this one. @param {CheckedBlock} last @param {number} most */
  chainUpTo(last, most) {
    const chain = [last];
    while (chain.length < most) {
      const parent = this.#blocks.get(chain[0].number - 1);
      if (parent === undefined || parent.hash !== chain[0].header.parentHash) break;
      chain.unshift(parent);
    }
    return chain;
  }

  /** Whether the endpoint still has the block in its chain. If not, there was a reorg, and older answers say nothing. @param {CheckedBlock} block */
  async isCanonical(block) {
    const now = await this.ask(byNumber(block), true);
    if (now?.hash !== block.hash) this.forget();
    return now?.hash === block.hash;
  }

  /** Reads the head. @returns {Promise<Contradiction | null>} if it went back without a reorg */
  async readHead() {
    const before = this.head;
    const head = this.#blockOf(await this.ask(LATEST));
    if (before !== null && head.number < before.number) return this.#wentBack(before, head);
    if (before !== null && head.number === before.number && head.hash !== before.hash) this.forget();
    this.head = this.#keep(head);
    return null;
  }

  /** Only the same block at its place again proves that there was no reorg. @param {CheckedBlock} before @param {CheckedBlock} head */
  async #wentBack(before, head) {
    // Until it is decided.
    this.undecidedHeads += 1;
    const found = await this.#returned(before);
    if (found !== null) this.undecidedHeads -= 1;
    if (found?.hash === before.hash) {
      const words = `the latest block was ${before.number} and then ${head.number}, without a reorg`;
      return { code: 'head_back', words, requests: [byHash(before), LATEST], blocks: [before] };
    }
    this.forget();
    return null;
  }

  /** What is at the place of a block once the head has reached it again. @param {CheckedBlock} before @returns {Promise<{hash: string} | null>} null: nothing in time */
  async #returned(before) {
    const untilUs = this.#clock.nowUs() + RETURN_MS * 1000;
    while (this.#clock.nowUs() < untilUs && !this.#signal.aborted) {
      const found = await this.ask(byNumber(before), true);
      if (found !== null) return found;
      await this.#clock.sleep(PAUSE_MS, this.#signal);
    }
    return null;
  }

  /** After a reorg or an outage older answers prove nothing. */
  forget() {
    this.#blocks.clear();
    this.head = null;
    // How long an outage lasted is not how long the endpoint was behind.
    this.#lacked = null;
  }

  /** Right after the head was read. @param {number} newest block of the run before that */
  noteLag(newest) {
    const nowUs = this.#clock.nowUs();
    const own = this.head?.number ?? newest;
    if (this.#lacked !== null) this.lag.ms = Math.max(this.lag.ms, Math.round((nowUs - this.#lacked.sinceUs) / 1000));
    if (own >= (this.#lacked?.number ?? 0)) this.#lacked = own < newest ? { number: newest, sinceUs: nowUs } : null;
    this.lag.blocks = Math.max(this.lag.blocks, newest - own);
  }

  /** @param {CheckedBlock} block */
  #keep(block) {
    this.#blocks.set(block.number, block);
    for (const number of this.#blocks.keys()) if (number < block.number - RECENT_BLOCKS) this.#blocks.delete(number);
    return block;
  }

  /** @param {any} header @returns {CheckedBlock} */
  #blockOf(header) {
    const { hash, number } = header ?? {};
    // Some nodes list whole transactions although hashes were asked for.
    const transactions = header?.transactions?.map?.((/** @type {any} */ one) => one?.hash ?? one);
    if (!isHash(hash) || !Array.isArray(transactions) || !transactions.every(isHash))
      throw new ProtocolError(`${this.name} answered with an invalid block`);
    return { number: toNumber(number), hash, transactions, header };
  }
}
