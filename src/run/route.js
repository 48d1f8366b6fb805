import { mergeBatchFacts } from '../chain/batches.js';
import { patiently } from '../chain/passing.js';
import { batchOf } from '../chain/rpc.js';
import { TransportError } from '../errors.js';
import { addTo } from '../metrics/recorder.js';
import { AWAY, BEHIND, UP, isGone } from './health.js';

/**
 * Several endpoints of one chain as one: each request goes to one of them, by what it is for and by how they are. Who
 * asks does not know of it, but for the place of the endpoint that it hears of when a request is sent.
 *
 * @typedef {import('../chain/rpc.js').Rpc} Rpc
 * @typedef {import('../chain/rpc.js').Purpose} Purpose
 * @typedef {import('./health.js').Health} Health
 * @typedef {'sticky' | 'round-robin' | 'apart'} Spread
 *
 * @typedef {object} Traffic of one endpoint
 * @property {number} requests
 * @property {number} failures requests without an answer, or with the answer that it is not ready
 */

/** @type {readonly Spread[]} */
export const SPREADS = Object.freeze(['sticky', 'round-robin', 'apart']);

/** What is the load itself. @type {ReadonlySet<Purpose>} */
const SENDS = new Set(/** @type {const} */ (['submit', 'resubmit', 'load']));

/** Which endpoint a request goes to. */
export class Route {
  #health;
  #home;
  #spread;
  #turn = 0;

  /** @param {{health: Pick<Health, 'count' | 'stateOf'>, home: number, spread: Spread}} options home: that of this thread's wallets */
  constructor({ health, home, spread }) {
    this.#health = health;
    this.#home = home;
    this.#spread = spread;
  }

  /**
   * The one that is meant, or the next that is up. Where none is, only those that are away are asked, as a single
   * endpoint would be: what one that is behind says of the chain is not true any more. It may take transactions.
   * @param {Purpose} purpose
   * @returns {number | null} null: there is none to ask
   */
  next(purpose) {
    const meant = this.#meant(purpose) % this.#health.count;
    const up = this.#firstFrom(meant, UP);
    if (up !== null) return up;
    const behind = this.#firstFrom(meant, BEHIND);
    if (behind === null) return meant;
    return SENDS.has(purpose) ? behind : null;
  }

  /** @param {number} meant @param {import('./health.js').State} state */
  #firstFrom(meant, state) {
    const { count } = this.#health;
    for (let i = 0; i < count; i += 1) {
      const index = (meant + i) % count;
      if (this.#health.stateOf(index) === state) return index;
    }
    return null;
  }

  /** @param {Purpose} purpose */
  #meant(purpose) {
    // What an endpoint has lost, or keeps to itself, is given to another one.
    if (purpose === 'resubmit') return this.#home + 1;
    if (this.#spread === 'apart' && purpose === 'readback') return this.#home + 1;
    if (this.#spread !== 'round-robin' || !SENDS.has(purpose)) return this.#home;
    this.#turn += 1;
    return this.#home + this.#turn - 1;
  }
}

/**
 * @param {object} options
 * @param {Rpc[]} options.rpcs of the endpoints
 * @param {Health} options.health
 * @param {number} options.home
 * @param {Spread} options.spread
 * @param {import('../chain/passing.js').Insistence | null} [options.insistence] as an Rpc has it
 * @returns {Rpc & {reading: Rpc, traffic: () => Traffic[]}} reading: everything goes where effects are read back
 */
export function createRouter({ rpcs, health, home, spread, insistence = null }) {
  const route = new Route({ health, home, spread });
  const failures = rpcs.map(() => 0);
  /** @param {number} index @param {unknown} error @returns {never} */
  const failed = (index, error) => {
    if (isGone(error)) {
      failures[index] += 1;
      health.set(index, AWAY);
    }
    throw error;
  };
  const parts = { rpcs, failed, insistence };
  return {
    ...createView({ ...parts, next: (purpose) => route.next(purpose) }),
    reading: createView({ ...parts, next: () => route.next('readback') }),
    traffic: () =>
      rpcs.map((rpc, i) => ({
        requests: Object.values(rpc.callCounts()).reduce((sum, count) => sum + count, 0),
        failures: failures[i],
      })),
  };
}

/**
 * @param {object} parts
 * @param {Rpc[]} parts.rpcs
 * @param {(index: number, error: unknown) => never} parts.failed
 * @param {import('../chain/passing.js').Insistence | null} parts.insistence
 * @param {(purpose: Purpose) => number | null} parts.next
 * @returns {Rpc}
 */
function createView({ rpcs, failed, insistence, next }) {
  /** The subscription that there is, and where. @type {{index: number, leave: () => void} | null} */
  let subscribed = null;

  /**
   * @template T
   * @param {Purpose} purpose
   * @param {(rpc: Rpc, index: number) => Promise<T>} ask
   * @returns {Promise<T>}
   */
  function routed(purpose, ask) {
    const index = next(purpose);
    if (index === null) return Promise.reject(new TransportError('no endpoint has caught up with the chain', 'behind'));
    // Heads are pushed by the endpoint that is asked for blocks, or not at all.
    if (purpose === 'inclusion' && subscribed !== null && subscribed.index !== index) subscribed.leave();
    return ask(rpcs[index], index).then(undefined, (error) => failed(index, error));
  }

  /** @type {Rpc['call']} */
  const call = (method, params, purpose, onSent) =>
    patiently(insistence, method, purpose, () =>
      routed(purpose, (rpc, index) => rpc.call(method, params, purpose, onSent && (() => onSent(index)))),
    );

  /** @type {Rpc['gather']} */
  const gather = (method, params, purpose) =>
    patiently(insistence, method, purpose, () => routed(purpose, (rpc) => rpc.gather(method, params, purpose)));

  /** @type {NonNullable<Rpc['subscribe']>} */
  const subscribe = (kind, onEvent, onLost) =>
    routed('inclusion', async (rpc, index) => {
      if (rpc.subscribe === null) throw new TransportError(`${rpc.display} pushes nothing`, 'closed');
      const end = await rpc.subscribe(kind, onEvent, onLost);
      const own = { index, leave: () => onLost(new TransportError('another endpoint is asked now', 'closed')) };
      subscribed = own;
      return () => {
        if (subscribed === own) subscribed = null;
        end();
      };
    });

  const others = rpcs.length - 1;
  return {
    display: `${rpcs[0].display} and ${others} more`,
    secrets: rpcs.flatMap(({ secrets }) => secrets),
    ...{ call, gather, batch: batchOf(gather) },
    subscribe: rpcs.every((rpc) => rpc.subscribe === null) ? null : subscribe,
    callCounts: () => {
      /** @type {Record<string, number>} */
      const sum = {};
      for (const rpc of rpcs) addTo(sum, rpc.callCounts());
      return sum;
    },
    batchFacts: () => rpcs.map((rpc) => rpc.batchFacts()).reduce(mergeBatchFacts),
  };
}
