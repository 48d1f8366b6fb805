import { CheckError, RpcError, StressError, RefusedError } from '../errors.js';
import { differenceOf } from './call-checks.js';
import { askNumber } from './call-head.js';

/**
 * @import { Rpc } from '../chain/rpc.js'
 * @import { Clock } from '../clock.js'
 */

/**
 * A second endpoint that answers are held against. It is asked after the first has answered, one question for each call
 * under way, and no latency has it in it.
 */

/** How often it is asked for what it does not have yet: it may be a block behind. */
const TRIES = 8;
const PAUSE_MS = 250;

/** What nodes say of a block that they do not have. */
const NOT_THERE = /not found|unknown block|unknown header|missing|not available|beyond|future|greater than/i;

export class Reference {
  #rpc;
  #clock;

  /** @param {Rpc} rpc @param {Clock} clock */
  constructor(rpc, clock) {
    this.#rpc = rpc;
    this.#clock = clock;
  }

  /**
   * @param {{chainId: number | null, genesisHash: string | null, display: string}} other
   * @throws {RefusedError} where it is of another chain
   */
  async checkChain({ chainId, genesisHash, display }) {
    const own = await this.#identity();
    const areSame = own.chainId === chainId && (own.genesisHash ?? genesisHash) === (genesisHash ?? own.genesisHash);
    if (areSame) return;
    const words =
      own.chainId === chainId
        ? `both are chain ${chainId}, but began with different blocks`
        : `chain ${chainId ?? 'unknown'} and chain ${own.chainId}`;
    throw new RefusedError(
      `${display} and --check-rpc ${this.#rpc.display} are different chains (${words}): give a second endpoint of the same chain`,
    );
  }

  async #identity() {
    const chainId = await askNumber(this.#rpc, 'eth_chainId', [], 'check');
    const block = await this.#rpc.call('eth_getBlockByNumber', ['0x0', false], 'check').catch(() => null);
    return { chainId, genesisHash: typeof block?.hash === 'string' ? block.hash : null };
  }

  /**
   * @param {{name: string, method: string, params: unknown[]}} call
   * @param {unknown} answer of the first
   * @returns {Promise<null>}
   * @throws {CheckError}
   */
  async compare({ name, method, params }, answer) {
    let difference = null;
    let isBehind = false;
    for (let tries = 0; tries < TRIES; tries += 1) {
      if (tries > 0) await this.#clock.sleep(PAUSE_MS);
      const { theirs, words } = await this.#ask(method, params);
      difference = words ?? differenceOf(answer, theirs);
      if (difference === null) return null;
      isBehind = theirs === null && (words === null || NOT_THERE.test(words));
      if (theirs !== null) break;
    }
    if (isBehind)
      throw new CheckError(
        `${name}: ${this.#rpc.display} is behind: it does not have what was asked for${difference === null ? '' : ` (${difference})`}`,
      );
    throw new CheckError(`${name}: ${this.#rpc.display} answers otherwise: ${difference}`);
  }

  /** @param {string} method @param {unknown[]} params @returns {Promise<{theirs: unknown, words: string | null}>} */
  async #ask(method, params) {
    try {
      return { theirs: await this.#rpc.call(method, params, 'check'), words: null };
    } catch (error) {
      // What it says of a block that it does not have yet is an error with some nodes.
      if (error instanceof RpcError) return { theirs: null, words: error.message };
      if (error instanceof StressError) throw new CheckError(`not checked: ${error.message}`, 'check_unavailable');
      throw error;
    }
  }
}
