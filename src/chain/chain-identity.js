import { checkChain } from './networks.js';
import { retry } from './retries.js';
import { toHex, toNumber } from './rpc.js';
import { RefusedError, oneLine } from '../errors.js';
import { numbered } from '../text.js';

/**
 * Checks that several endpoints serve one chain. Chains with one id can have the same first block (two `geth --dev`),
 * so later blocks are compared as well.
 *
 * @import { AllowedChain, Clock, Purpose, Rpc } from '../types.d.ts'
 * @import { Fault, Health } from './endpoint-health.js'
 *
 * @typedef {<T>(ask: () => Promise<T>) => Promise<T | null>} Ask null: no response
 *
 * @typedef {object} ChainIdentityState plain data, for other threads
 * @property {number | null} chainId null: not identified yet
 * @property {{number: number, hash: string} | null} reference a block that all endpoints have
 * @property {boolean[]} isCompared whether an endpoint was compared with it
 * @property {boolean} hasBegun whether the load has begun
 */

/** Comparisons before different blocks count as different chains: a short fork may disappear. */
const MAX_COMPARISONS = 4;
const PAUSE_MS = 700;

export class ChainIdentity {
  /** @type {ChainIdentityState} */
  state;
  #rpcs;
  #health;
  #clock;
  #names;

  /** @param {Rpc[]} rpcs @param {{health: Health, clock: Clock, state?: ChainIdentityState}} options */
  constructor(rpcs, { health, clock, state }) {
    this.#rpcs = rpcs;
    this.#health = health;
    this.#clock = clock;
    this.#names = numbered(rpcs.map(({ display }) => display));
    this.state = state ?? { chainId: null, reference: null, isCompared: rpcs.map(() => true), hasBegun: false };
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
    const ids = await Promise.all(this.#rpcs.map((rpc) => chainIdOf(rpc, 'setup')));
    const other = ids.findIndex((id) => id !== ids[0]);
    if (other >= 0) throw this.#refusal(0, other, `chains ${ids[0]} and ${ids[other]}`);
    urls.forEach((url) => checkChain(url, ids[0], chainId, allowChain));
    [this.state.chainId] = ids;
    const retryOptions = { clock: this.#clock, signal };
    const first = await Promise.all(this.#rpcs.map((rpc) => retry(() => hashOf(rpc, 0, 'setup'), retryOptions)));
    const known = first.findIndex((hash) => hash !== null);
    const different = first.findIndex((hash) => hash !== null && hash !== first[known]);
    if (different >= 0) throw this.#refusal(known, different, `chains of id ${ids[0]} with different first blocks`);
    await this.compare(signal, (ask) => retry(ask, retryOptions));
    return Promise.all(
      this.#rpcs.map(async (rpc) => ({ display: rpc.display, clientVersion: await clientVersionOf(rpc) })),
    );
  }

  /**
   * Compares common blocks of the endpoints that answer.
   * @param {AbortSignal} signal
   * @param {Ask} [ask]
   * @returns {Promise<string[]>} names of the endpoints with no block but the first
   * @throws {RefusedError}
   */
  async compare(signal, ask = orNull) {
    for (let tries = 1; ; tries += 1) {
      const { unconfirmed, different, common } = await this.#compareOnce(ask);
      if (different === null) {
        this.state.reference ??= common;
        this.state.isCompared = this.#rpcs.map((_, i) => !unconfirmed.includes(i));
        return unconfirmed.map((i) => this.#names[i]);
      }
      const { one, other, number } = different;
      const words = `chains of id ${this.state.chainId} with different blocks ${number}`;
      if (tries === MAX_COMPARISONS || signal.aborted) throw this.#refusal(one, other, words);
      await this.#clock.sleep(PAUSE_MS, signal);
    }
  }

  /**
   * Compares each endpoint with the one that has the most blocks, at its own newest block: one that lags must not hide
   * where the others differ.
   * @param {Ask} ask
   */
  async #compareOnce(ask) {
    const heads = await Promise.all(
      this.#rpcs.map(async (rpc, i) => (this.#health.isUp(i) ? ask(() => headOf(rpc)) : null)),
    );
    const unconfirmed = [...heads.keys()].filter((i) => heads[i] === 0);
    const highest = heads.indexOf(Math.max(...heads.map((head) => head ?? 0)));
    /** @type {ChainIdentityState['reference']} */
    let common = null;
    for (const [i, number] of heads.entries()) {
      if (i === highest || !number) continue;
      const [one, other] = [i, highest].sort((a, b) => a - b);
      const [a, b] = await Promise.all([one, other].map((of) => ask(() => hashOf(this.#rpcs[of], number, 'setup'))));
      if (a === null || b === null) {
        // One of them does not keep that block.
        unconfirmed.push(i);
        continue;
      }
      if (a !== b) return { unconfirmed, common: null, different: { one, other, number } };
      if (common === null || number < common.number) common = { number, hash: a };
    }
    return { unconfirmed, common, different: null };
  }

  /**
   * From now on an endpoint with another start block is not used; until now it ended the run.
   * @param {{startBlock: number, startHash: string | null}} start
   */
  begin({ startBlock, startHash }) {
    this.state.hasBegun = true;
    if (startHash !== null && startBlock > 0) this.state.reference = { number: startBlock, hash: startHash };
  }

  /**
   * Checks an endpoint that answers again; an endpoint that is up only if it was not compared yet.
   * @param {number} index
   * @param {number} head its newest block
   * @param {boolean} isUp
   * @returns {Promise<Fault | null>} null: it can be used
   */
  async check(index, head, isUp) {
    const { chainId, isCompared, hasBegun } = this.state;
    const isNeedless = isUp && (isCompared[index] || !hasBegun || head === 0);
    if (chainId === null || isNeedless) return null;
    const rpc = this.#rpcs[index];
    const id = await chainIdOf(rpc, 'health');
    if (id !== chainId) return otherChain(`it answers as chain ${id}`);
    const { reference } = this.state;
    if (reference === null && (!hasBegun || head === 0)) return null;
    const number = reference?.number ?? 1;
    if (head < number) return { why: 'it is behind the others' };
    const hash = await hashOf(rpc, number, 'health');
    // The node no longer has the block.
    if (hash === null) return null;
    this.state.reference ??= { number, hash };
    if (hash !== this.state.reference.hash) return otherChain(`it has another block ${number}`);
    isCompared[index] = true;
    return null;
  }

  /** @param {number} one @param {number} other @param {string} what */
  #refusal(one, other, what) {
    const names = `${this.#names[one]} and ${this.#names[other]}`;
    return new RefusedError(`${names} are ${what}: all --rpc endpoints must serve one chain`);
  }
}

/**
 * Checks that a second endpoint, which may serve little else, has the chain id of the first one.
 * @param {object} endpoints
 * @param {Rpc} endpoints.other
 * @param {string} endpoints.option of the other one
 * @param {Rpc} endpoints.reading
 * @param {number | null} endpoints.chainId of the first one; null: unknown
 * @throws {RefusedError}
 */
export async function assertOneChain({ other, option, reading, chainId }) {
  const id = await chainIdOf(other, 'setup');
  if (chainId === null || id === chainId) return;
  const words = `--rpc ${reading.display} has chain id ${chainId}, and ${option} ${other.display} has ${id}`;
  throw new RefusedError(`${words}: both must serve one chain`);
}

/** @param {readonly string[]} names of the endpoints */
export function unconfirmedIdentityWords(names) {
  const have = names.length === 1 ? 'has only its' : 'have only their';
  return `${names.join(' and ')} ${have} first block; whether the endpoints serve one chain is unknown until there is another block`;
}

/** @param {string} words @returns {Fault} */
function otherChain(words) {
  return { why: `${words}: it serves another chain now`, isOther: true };
}

/** @template T @param {() => Promise<T>} ask @returns {Promise<T | null>} */
async function orNull(ask) {
  try {
    return await ask();
  } catch {
    return null;
  }
}

/** @param {Rpc} rpc @returns {Promise<string | null>} */
export async function clientVersionOf(rpc) {
  const version = await rpc.call('web3_clientVersion', [], 'setup').catch(() => null);
  return version === null ? null : oneLine(version, 100, rpc.secrets);
}

/** @param {Rpc} rpc @param {Purpose} purpose */
async function chainIdOf(rpc, purpose) {
  return toNumber(await rpc.call('eth_chainId', [], purpose));
}

/** @param {Rpc} rpc */
async function headOf(rpc) {
  return toNumber(await rpc.call('eth_blockNumber', [], 'setup'));
}

/**
 * @param {Rpc} rpc
 * @param {number} number
 * @param {Purpose} purpose
 * @returns {Promise<string | null>} null: the node does not have it
 */
export async function hashOf(rpc, number, purpose) {
  const block = await rpc.call('eth_getBlockByNumber', [toHex(number), false], purpose);
  return typeof block?.hash === 'string' ? block.hash : null;
}
