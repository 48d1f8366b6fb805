import { toHex, toNumber } from '../chain/rpc.js';
import { ProtocolError, RpcError, UnavailableError } from '../errors.js';

/**
 * @import { Purpose, Rpc } from '../chain/rpc.js'
 * @import { Clock } from '../clock.js'
 */

/**
 * The head of the chain as templates need it: asked for once a second while calls are made, and not for each of them.
 * Hashes of blocks and of transactions are kept of the last blocks that were seen, and only where a template asks.
 */

/** How old what is known may be, in microseconds. */
const FRESH_US = 1_000_000;
const BLOCKS_KEPT = 128;
const TRANSACTIONS_KEPT = 1000;
/** How many blocks are looked through for a first transaction. */
const LOOKED_BACK = 64;

/** @typedef {{number: number, blockHashes: readonly string[], transactions: readonly string[]}} HeadState */

export class Head {
  number;
  /** @type {readonly string[]} */
  blockHashes;
  /** @type {readonly string[]} */
  transactions;
  #rpc;
  #clock;
  #wantsBlocks;
  #askedAtUs;
  #isAsking = false;

  /**
   * @param {Rpc} rpc
   * @param {Clock} clock
   * @param {boolean} wantsBlocks hashes are asked for, and not only the number
   * @param {HeadState} [state] what another thread knows
   */
  constructor(rpc, clock, wantsBlocks, { number, blockHashes, transactions } = NOTHING) {
    this.number = number;
    this.blockHashes = blockHashes;
    this.transactions = transactions;
    this.#rpc = rpc;
    this.#clock = clock;
    this.#wantsBlocks = wantsBlocks;
    this.#askedAtUs = clock.nowUs();
  }

  /** @param {boolean} wantsTransactions there has to be one @throws {UnavailableError} */
  async prepare(wantsTransactions) {
    await this.#ask('setup');
    for (let back = 1; wantsTransactions && this.transactions.length === 0; back += 1) {
      if (back > LOOKED_BACK || back > this.number)
        throw new UnavailableError(
          `${this.#rpc.display} has no transaction in its last ${back} blocks, and {{tx.recent}} needs one: send some first`,
        );
      this.#add(await this.#rpc.call('eth_getBlockByNumber', [toHex(this.number - back), false], 'setup'));
    }
  }

  /** What is too old is asked for; nobody waits for the answer. */
  refresh() {
    if (this.#isAsking || this.#clock.nowUs() - this.#askedAtUs < FRESH_US) return;
    // One that does not come, or makes no sense, leaves what is known: the load itself shows that something is wrong.
    this.#ask('follow').catch(() => {});
  }

  /** @returns {HeadState} */
  state() {
    const { number, blockHashes, transactions } = this;
    return { number, blockHashes, transactions };
  }

  /** @param {Purpose} purpose */
  async #ask(purpose) {
    this.#isAsking = true;
    this.#askedAtUs = this.#clock.nowUs();
    try {
      if (!this.#wantsBlocks) {
        this.number = await askNumber(this.#rpc, 'eth_blockNumber', [], purpose);
        return;
      }
      const block = await this.#rpc.call('eth_getBlockByNumber', ['latest', false], purpose);
      this.#add(block);
      this.number = toNumber(block.number);
    } finally {
      this.#isAsking = false;
    }
  }

  /** @param {any} block */
  #add(block) {
    const isOne = typeof block?.hash === 'string' && isQuantity(block.number) && Array.isArray(block.transactions);
    if (!isOne) throw new ProtocolError(`${this.#rpc.display} answered eth_getBlockByNumber without a block`);
    if (this.blockHashes.includes(block.hash)) return;
    this.blockHashes = [...this.blockHashes, block.hash].slice(-BLOCKS_KEPT);
    this.transactions = [...this.transactions, ...block.transactions].slice(-TRANSACTIONS_KEPT);
  }
}

/**
 * A number of the set-up: what is wrong with it is said with the endpoint and the method, as there may be two endpoints.
 * @param {Rpc} rpc
 * @param {string} method
 * @param {unknown[]} params
 * @param {Purpose} purpose
 */
export async function askNumber(rpc, method, params, purpose) {
  try {
    return toNumber(await rpc.call(method, params, purpose));
  } catch (error) {
    if (error instanceof RpcError) throw new UnavailableError(`${rpc.display} does not answer ${error.message}`, error);
    if (!(error instanceof ProtocolError)) throw error;
    throw new ProtocolError(`${rpc.display}, asked for ${method}: ${error.message}`, error, error.status);
  }
}

/** @param {unknown} value */
function isQuantity(value) {
  return typeof value === 'string' && /^0x[0-9a-f]{1,13}$/i.test(value);
}

/** @type {HeadState} */
const NOTHING = Object.freeze({ number: 0, blockHashes: Object.freeze([]), transactions: Object.freeze([]) });
