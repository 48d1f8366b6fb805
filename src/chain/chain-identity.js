import { RefusedError, TransportError, oneLine } from '../errors.js';
import { CHAIN_ID, CLIENT_VERSION, HEAD, ask, headerAt, nullIfAbsent } from './answers.js';
import { checkChain } from './networks.js';
import { retry } from './retries.js';
import { numbered } from '../text.js';

/**
 * Checks that several endpoints serve one chain. Chains with one id can have the same first block (two `geth --dev`),
 * so later blocks are compared as well.
 *
 * @import { AllowedChain, Purpose, Rpc } from '../contracts/chain.d.ts'
 * @import { Clock } from '../contracts/common.d.ts'
 * @import { Fault, Health } from './endpoint-health.js'
 *
 * @typedef {object} ChainIdentityState plain data, for other threads
 * @property {number | null} chainId null: not identified yet
 * @property {{number: number, hash: string} | null} block the oldest that the latest comparison read
 */

/** Comparisons before different blocks count as different chains: a short fork may disappear. */
const MAX_COMPARISONS = 4;
const PAUSE_MS = 700;
/** Where replicas agree: so many blocks below the lowest head. */
const SETTLED_BLOCKS = 64;

export class ChainIdentity {
  /** @type {ChainIdentityState} */
  state;
  #rpcs;
  #health;
  #clock;
  #random;
  #names;

  /** @param {Rpc[]} rpcs @param {{health: Health, clock: Clock, random?: () => number, state?: ChainIdentityState}} options */
  constructor(rpcs, { health, clock, random, state = { chainId: null, block: null } }) {
    this.#rpcs = rpcs;
    this.#health = health;
    this.#clock = clock;
    this.#random = random;
    this.#names = numbered(rpcs.map(({ display }) => display));
    this.state = state;
  }

  /**
   * Identifies all endpoints before anything is sent.
   * @param {URL[]} urls
   * @param {AllowedChain} allowed
   * @param {AbortSignal} signal
   * @returns {Promise<Array<{display: string, clientVersion: string | null}>>}
   * @throws {RefusedError}
   */
  async identify(urls, { chainId, allowChain }, signal) {
    const ids = await Promise.all(this.#rpcs.map(chainIdOf));
    const other = ids.findIndex((id) => id !== ids[0]);
    if (other >= 0) throw this.#refusal(0, other, `chains ${ids[0]} and ${ids[other]}`);
    urls.forEach((url) => checkChain(url, ids[0], chainId, allowChain));
    [this.state.chainId] = ids;
    await this.compare(0, signal);
    // compare() skips endpoints that do not answer. An endpoint that has no head is refused.
    const options = { clock: this.#clock, random: this.#random, signal };
    await Promise.all(this.#rpcs.map((rpc) => retry(() => headOf(rpc), options)));
    await this.compare(Infinity, signal);
    return Promise.all(
      this.#rpcs.map(async (rpc) => ({ display: rpc.display, clientVersion: await clientVersionOf(rpc) })),
    );
  }

  /**
   * Compares the endpoints that are up and answer.
   * @param {number} newest the newest block to compare
   * @param {AbortSignal} signal
   * @throws {RefusedError}
   */
  async compare(newest, signal) {
    for (let tries = 1; ; tries += 1) {
      const different = await this.#compareOnce(newest);
      if (different === null) return;
      const { one, other, number } = different;
      const words = `chains of id ${this.state.chainId} with different blocks ${number}`;
      const mayDisappear = number > 0 && tries < MAX_COMPARISONS && !signal.aborted;
      if (!mayDisappear) throw this.#refusal(Math.min(one, other), Math.max(one, other), words);
      await this.#clock.sleep(PAUSE_MS, signal);
    }
  }

  /**
   * Compares each endpoint with the one that has the most blocks, at its own newest block: an endpoint that is behind
   * must not hide where the others differ.
   * @param {number} newest
   */
  async #compareOnce(newest) {
    /** @template T @param {number} i @param {(rpc: Rpc) => Promise<T>} call @returns {Promise<T | null>} */
    const ask = async (i, call) => (this.#health.isUp(i) ? call(this.#rpcs[i]).catch(() => null) : null);
    const heads = await Promise.all(this.#rpcs.map((_, i) => ask(i, headOf)));
    const one = heads.indexOf(Math.max(...heads.map((head) => head ?? -1)));
    const compared = await Promise.all(
      heads.map(async (head, other) => {
        if (head === null) return null;
        const number = Math.min(head, newest);
        const hash = await ask(other, (rpc) => hashOf(rpc, number, 'setup'));
        const ofOne = other === one ? hash : await ask(one, (rpc) => hashOf(rpc, number, 'setup'));
        // Null: a node does not keep that block.
        return hash === null || ofOne === null ? null : { one, other, number, hash, isSame: hash === ofOne };
      }),
    );
    const known = compared.filter((pair) => pair !== null).sort((a, b) => a.number - b.number);
    const different = known.find(({ isSame }) => !isSame);
    if (different !== undefined) return different;
    if (known.length > 0) this.state.block = { number: known[0].number, hash: known[0].hash };
    return null;
  }

  /**
   * Checks an endpoint that answers again.
   * @param {number} index
   * @param {number} head its newest block
   * @returns {Promise<Fault | null>} null: it can be used
   */
  async check(index, head) {
    const { chainId, block } = this.state;
    const rpc = this.#rpcs[index];
    const id = await ask(rpc, CHAIN_ID, 'health');
    if (id !== chainId) return otherChain(`it answers as chain ${id}`);
    if (block === null) return null;
    if (head < block.number) return { why: 'it is behind the others' };
    const hash = await hashOf(rpc, block.number, 'health');
    // Null: the node no longer has the block.
    return hash === null || hash === block.hash ? null : otherChain(`it has another block ${block.number}`);
  }

  /** @param {number} one @param {number} other @param {string} what */
  #refusal(one, other, what) {
    const names = `${this.#names[one]} and ${this.#names[other]}`;
    return new RefusedError(`${names} are ${what}: all --rpc endpoints must serve one chain`);
  }
}

/**
 * The first question to an endpoint.
 * @param {Rpc} rpc
 * @throws {TransportError} with the option that waits for a node, if the connection is refused
 */
export async function chainIdOf(rpc) {
  return ask(rpc, CHAIN_ID, 'setup').catch((error) => {
    if (error instanceof TransportError && error.code === 'transport_refused')
      error.message += '; is the node running? --wait-for 30s waits for it';
    throw error;
  });
}

/**
 * Checks that a second endpoint has the chain id of the first one, and the same blocks. One that serves no blocks, such as a relay
 * that only takes transactions, has only its chain id checked.
 * @param {object} endpoints
 * @param {Rpc} endpoints.other
 * @param {string} endpoints.option of the other one
 * @param {Rpc} endpoints.reading
 * @param {number | null} endpoints.chainId of the first one; null: unknown
 * @throws {RefusedError}
 */
export async function assertOneChain({ other, option, reading, chainId }) {
  const id = await chainIdOf(other);
  const [ofFirst, ofOther] = [`--rpc ${reading.display} has`, `and ${option} ${other.display} has`];
  const refuse = (/** @type {string} */ words) => new RefusedError(`${words}: both must serve one chain`);
  if (chainId !== null && id !== chainId) throw refuse(`${ofFirst} chain id ${chainId}, ${ofOther} ${id}`);
  const head = Math.min(...(await Promise.all([reading, other].map(headOrNone))));
  for (const number of settledNumbers(head)) {
    const [a, b] = await Promise.all([reading, other].map((rpc) => hashOf(rpc, number, 'setup').catch(() => null)));
    if (a !== null && b !== null && a !== b)
      throw refuse(`${ofFirst} chain id ${id} and block ${number} ${a}, ${ofOther} ${b}`);
  }
}

/** Blocks that tell two chains apart: development chains with one id have the same genesis block. @param {number} lowest head @returns {number[]} */
export function settledNumbers(lowest) {
  return lowest < 1 ? [0] : [0, Math.max(1, lowest - SETTLED_BLOCKS)];
}

/** @param {Rpc} rpc @returns {Promise<number>} -1: it does not say its head */
async function headOrNone(rpc) {
  return headOf(rpc).catch(() => -1);
}

/** @param {string} words @returns {Fault} */
function otherChain(words) {
  return { why: `${words}: it serves another chain now`, isOther: true };
}

/** @param {Rpc} rpc @returns {Promise<string | null>} */
export async function clientVersionOf(rpc) {
  const version = await ask(rpc, CLIENT_VERSION, 'setup').catch(() => null);
  return version === null ? null : oneLine(version, 100, rpc.secrets);
}

/** @param {Rpc} rpc */
const headOf = (rpc) => ask(rpc, HEAD, 'setup');

/**
 * @param {Rpc} rpc
 * @param {number} number
 * @param {Purpose} purpose
 * @returns {Promise<string | null>} null: the node does not have it
 */
export async function hashOf(rpc, number, purpose) {
  return (await nullIfAbsent(ask(rpc, headerAt(number), purpose)))?.hash ?? null;
}
