import { toHex, toNumber } from '../chain/rpc.js';
import { ProtocolError, RpcError } from '../errors.js';
import { byHash } from './checks.js';

/**
 * One endpoint as the consistency checks see it: its head, its recent blocks as they were first read, and how far it is
 * behind.
 *
 * @import { Clock, Rpc } from '../types.d.ts'
 * @import { Finding } from './checks.js'
 *
 * @typedef {object} CheckedBlock
 * @property {number} number
 * @property {string} hash
 * @property {readonly string[]} transactions
 * @property {any} header the block as it was read
 */

/** Blocks that are checked: development chains keep at least 128, the embedded one 600. */
const RECENT_BLOCKS = 64;

/** Time in which a head that went back must reach the same block again. */
const RETURN_MS = 10_000;
const PAUSE_MS = 100;

export class CheckedEndpoint {
  /** Requests made. */
  requests = 0;
  /** The newest block that it has named. @type {CheckedBlock | null} */
  head = null;
  /** Most blocks behind the newest block of the run, and the longest time behind it. */
  lag = { blocks: 0, ms: 0 };
  /** Number of a block that it does not have yet, and since when. */
  #behind = { number: 0, sinceUs: Infinity };
  /** By number, oldest first. @type {Map<number, CheckedBlock>} */
  #blocks = new Map();
  #rpc;
  #clock;
  #signal;

  /** @param {Rpc} rpc @param {Clock} clock @param {AbortSignal} signal ends all waits */
  constructor(rpc, clock, signal) {
    this.#rpc = rpc;
    this.#clock = clock;
    this.#signal = signal;
    this.display = rpc.display;
    this.subscribe = rpc.subscribe;
  }

  /** @param {{method: string, params: unknown[]}} request @returns {Promise<any>} */
  ask({ method, params }) {
    this.requests += 1;
    return this.#rpc.call(method, params, 'consistency');
  }

  /** Null in place of an error of the node. @param {{method: string, params: unknown[]}} request */
  askUnknown(request) {
    return this.ask(request).catch((error) => {
      if (error instanceof RpcError && !error.isBusy) return null;
      throw error;
    });
  }

  /** @param {number} number a block that it has @returns {Promise<CheckedBlock>} as it was read first */
  async blockAt(number) {
    const known = this.#blocks.get(number);
    if (known !== undefined) return known;
    const header = await this.ask({ method: 'eth_getBlockByNumber', params: [toHex(number), false] });
    return this.#keep(blockOf(header, this.display));
  }

  /** The blocks up to this one that are known and follow each other. @param {CheckedBlock} block @param {number} most */
  chainUpTo(block, most) {
    const chain = [block];
    for (let next = block; chain.length < most; chain.unshift(next)) {
      const before = this.#blocks.get(next.number - 1);
      if (before?.hash !== next.header.parentHash || before === undefined) break;
      next = before;
    }
    return chain;
  }

  /** @param {CheckedBlock} block */
  #keep(block) {
    this.#blocks.set(block.number, block);
    for (const number of this.#blocks.keys()) if (number < block.number - RECENT_BLOCKS) this.#blocks.delete(number);
    return block;
  }

  /** Whether the block is still part of the chain at this endpoint. @param {CheckedBlock} block */
  async isCanonical({ number, hash }) {
    const now = await this.ask({ method: 'eth_getBlockByNumber', params: [toHex(number), false] });
    return now?.hash === hash;
  }

  /**
   * Reads the head.
   * @returns {Promise<Finding | null>} if it went back without a reorg
   */
  async readHead() {
    const before = this.head;
    const latest = { method: 'eth_getBlockByNumber', params: ['latest', false] };
    const head = blockOf(await this.ask(latest), this.display);
    if (before === null || head.number > before.number) {
      this.head = this.#keep(head);
      return null;
    }
    if (head.number === before.number) {
      // Replaced: what was read of the chain before is forgotten.
      if (head.hash !== before.hash) this.#forget(head);
      return null;
    }
    return (await this.#comesBack(before))
      ? {
          code: 'head_back',
          words: `the latest block was ${before.number} and then ${head.number}, without a reorg`,
          requests: [byHash(before), latest],
          blocks: [before],
        }
      : null;
  }

  /** @param {CheckedBlock} head */
  #forget(head) {
    this.#blocks.clear();
    this.head = this.#keep(head);
  }

  /** Whether the endpoint has the same block again; otherwise there was a reorg, or it is not known. @param {CheckedBlock} block */
  async #comesBack(block) {
    const untilUs = this.#clock.nowUs() + RETURN_MS * 1000;
    while (this.#clock.nowUs() < untilUs && !this.#signal.aborted) {
      const found = await this.askUnknown({ method: 'eth_getBlockByNumber', params: [toHex(block.number), false] });
      if (found?.hash === block.hash) return true;
      if (found !== null) break;
      await this.#clock.sleep(PAUSE_MS, this.#signal);
    }
    this.head = null;
    this.#blocks.clear();
    return false;
  }

  /** Compares its head with the newest block of the run. @param {number} newest */
  noteNewest(newest) {
    const nowUs = this.#clock.nowUs();
    const own = this.head?.number ?? newest;
    if (own >= this.#behind.number) this.#behind = { number: newest, sinceUs: own < newest ? nowUs : Infinity };
    this.lag.blocks = Math.max(this.lag.blocks, newest - own);
    this.lag.ms = Math.max(this.lag.ms, (nowUs - this.#behind.sinceUs) / 1000);
  }
}

/** @param {any} header @param {string} display @returns {CheckedBlock} */
function blockOf(header, display) {
  if (typeof header?.hash !== 'string' || !Array.isArray(header.transactions))
    throw new ProtocolError(`${display} answered with an invalid block`);
  return { number: toNumber(header.number), hash: header.hash, transactions: header.transactions, header };
}
