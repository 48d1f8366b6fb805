import { mergeBatchFacts } from '../chain/batches.js';
import { patiently } from '../chain/passing.js';
import { batchOf } from '../chain/rpc.js';
import { RpcError, TransportError } from '../errors.js';
import { addTo } from '../metrics/recorder.js';
import { BEHIND, UP, isGone, isRefusal } from './health.js';
import { LEFT, Waiting } from './waiting.js';

/**
 * @import { Insistence } from '../chain/passing.js'
 * @import { Purpose, Rpc } from '../chain/rpc.js'
 * @import { Clock } from '../clock.js'
 * @import { Health, State } from './health.js'
 */

/**
 * Several endpoints of one chain as one: each request goes to one of them, by what it is for and by how they are. Who
 * asks does not know of it, but for the place of the endpoint that it hears of when a request is sent.
 *
 * @typedef {'sticky' | 'round-robin' | 'apart'} Spread
 *
 * @typedef {object} Traffic of one endpoint
 * @property {number} requests
 * @property {number} failures requests that were lost, or had the answer that it is not ready, and transactions that it
 *   refused as such or did not answer
 */

/** @type {readonly Spread[]} */
export const SPREADS = Object.freeze(['sticky', 'round-robin', 'apart']);

/** What is the load itself. @type {ReadonlySet<Purpose>} */
const SENDS = new Set(/** @type {const} */ (['submit', 'resubmit', 'load']));

/** Of that, transactions. @type {ReadonlySet<Purpose>} */
const SUBMITS = new Set(/** @type {const} */ (['submit', 'resubmit']));

/** Which endpoint a request goes to. */
export class Route {
  #health;
  #clock;
  #home;
  #spread;
  #turn = 0;

  /** @param {{health: Health, clock: Pick<Clock, 'nowUs'>, home: number, spread: Spread}} options home: that of this thread's wallets */
  constructor({ health, clock, home, spread }) {
    this.#health = health;
    this.#clock = clock;
    this.#home = home;
    this.#spread = spread;
  }

  /**
   * The one that is meant, or the next that is up. Where none is, only those that are away are asked, as a single
   * endpoint would be: what one that is behind says of the chain is not true any more. It may take transactions. One that
   * takes none is passed over for them, while others do.
   * @param {Purpose} purpose
   * @returns {number | null} null: there is none to ask
   */
  next(purpose) {
    const meant = this.#meant(purpose) % this.#health.count;
    const up = this.#firstFrom(meant, UP, SUBMITS.has(purpose)) ?? this.#firstFrom(meant, UP);
    if (up !== null) return up;
    const behind = this.#firstFrom(meant, BEHIND);
    if (behind === null) return meant;
    return SENDS.has(purpose) ? behind : null;
  }

  /** @param {number} meant @param {State} state @param {boolean} [isChoosy] not one that takes no transactions */
  #firstFrom(meant, state, isChoosy = false) {
    const { count } = this.#health;
    for (let i = 0; i < count; i += 1) {
      const index = (meant + i) % count;
      if (this.#health.stateOf(index) !== state) continue;
      if (!isChoosy || !this.#health.isSpared(index, this.#clock.nowUs())) return index;
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
 * @param {Clock} options.clock
 * @param {number} options.home
 * @param {Spread} options.spread
 * @param {Insistence | null} [options.insistence] as an Rpc has it
 * @returns {Rpc & {reading: Rpc, traffic: () => Traffic[]}} reading: everything goes where effects are read back
 */
export function createRouter({ rpcs, health, clock, home, spread, insistence = null }) {
  const route = new Route({ health, clock, home, spread });
  const outcomes = new Outcomes(rpcs.length, health, clock);
  const parts = { rpcs, outcomes, waiting: new Waiting(health, clock), insistence };
  return {
    ...createView({ ...parts, next: (purpose) => route.next(purpose), usual: rpcs[home % rpcs.length] }),
    reading: createView({ ...parts, next: () => route.next('readback'), usual: rpcs[(home + 1) % rpcs.length] }),
    traffic: () =>
      rpcs.map((rpc, i) => ({
        requests: Object.values(rpc.callCounts()).reduce((sum, count) => sum + count, 0),
        failures: outcomes.failures[i],
      })),
  };
}

/** What requests to the endpoints tell of them. */
class Outcomes {
  /** By endpoint. @type {number[]} */
  failures;
  #health;
  #clock;

  /** @param {number} endpoints @param {Health} health @param {Clock} clock */
  constructor(endpoints, health, clock) {
    this.failures = Array(endpoints).fill(0);
    this.#health = health;
    this.#clock = clock;
  }

  /** @param {number} index @param {boolean} isSubmission */
  answered(index, isSubmission) {
    if (isSubmission) this.#health.took(index);
  }

  /** @param {number} index @param {unknown} error @param {boolean} isSubmission */
  failed(index, error, isSubmission) {
    const nowUs = this.#clock.nowUs();
    if (isGone(error)) {
      this.failures[index] += 1;
      this.#health.leave(index, nowUs);
    } else if (isSubmission && isRefusal(error)) {
      this.failures[index] += 1;
      this.#health.refused(index, nowUs);
    } else if (isSubmission && error instanceof RpcError) {
      this.#health.took(index);
    }
  }

  /** A transaction was on its way to it when it was left. @param {number} index */
  lost(index) {
    this.failures[index] += 1;
  }
}

/**
 * @param {object} parts
 * @param {Rpc[]} parts.rpcs
 * @param {Outcomes} parts.outcomes
 * @param {Waiting} parts.waiting
 * @param {Insistence | null} parts.insistence
 * @param {(purpose: Purpose) => number | null} parts.next
 * @param {Rpc} parts.usual the one that is asked for blocks where all are up
 * @returns {Rpc}
 */
function createView({ rpcs, outcomes, waiting, insistence, next, usual }) {
  /** The subscription that there is, and where. @type {{index: number, leave: () => void} | null} */
  let subscribed = null;

  /**
   * What waits at an endpoint that is left is given up there. A question is asked again elsewhere; of a transaction it is
   * not known whether it has arrived, so whoever sent it hears that its answer is lost.
   * @template T
   * @param {Purpose} purpose
   * @param {boolean} isQuestion
   * @param {(rpc: Rpc, index: number, isWanted: () => boolean) => Promise<T>} ask
   * @returns {Promise<T>}
   */
  function routed(purpose, isQuestion, ask) {
    const index = next(purpose);
    if (index === null) return Promise.reject(new TransportError('no endpoint has caught up with the chain', 'behind'));
    // Heads are pushed by the endpoint that is asked for blocks, or not at all.
    if (purpose === 'inclusion' && subscribed !== null && subscribed.index !== index) subscribed.leave();
    const isSubmission = !isQuestion && purpose !== 'inclusion';
    let isWanted = true;
    const answer = ask(rpcs[index], index, () => isWanted);
    const onError = (/** @type {unknown} */ error) => {
      outcomes.failed(index, error, isSubmission);
      throw error;
    };
    // A plain call is measured where it was sent.
    if (purpose === 'load') return answer.then(undefined, onError);
    return waiting.untilLeft(index, answer).then((result) => {
      if (result !== LEFT) {
        outcomes.answered(index, isSubmission);
        return /** @type {T} */ (result);
      }
      isWanted = false;
      if (isQuestion) return routed(purpose, isQuestion, ask);
      if (isSubmission) outcomes.lost(index);
      throw new TransportError(`${rpcs[index].display}: it was left before it answered`, 'left');
    }, onError);
  }

  /** @type {Rpc['call']} */
  const call = (method, params, purpose, onSent) =>
    patiently(insistence, method, purpose, () =>
      routed(purpose, !method.startsWith('eth_send'), (rpc, index, isWanted) =>
        rpc.call(method, params, purpose, onSent && (() => isWanted() && onSent(index))),
      ),
    );

  /** @type {Rpc['gather']} */
  const gather = (method, params, purpose) =>
    patiently(insistence, method, purpose, () => routed(purpose, true, (rpc) => rpc.gather(method, params, purpose)));

  /** @type {NonNullable<Rpc['subscribe']>} */
  const subscribe = (kind, onEvent, onLost) =>
    routed('inclusion', false, async (rpc, index, isWanted) => {
      if (rpc.subscribe === null) throw new TransportError(`${rpc.display} pushes nothing`, 'closed');
      const end = await rpc.subscribe(kind, onEvent, onLost);
      if (!isWanted()) {
        end();
        return end;
      }
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
    call,
    gather,
    batch: batchOf(gather),
    // Whose endpoint pushes nothing polls, wherever it is sent meanwhile.
    subscribe: usual.subscribe === null ? null : subscribe,
    callCounts: () => {
      /** @type {Record<string, number>} */
      const sum = {};
      for (const rpc of rpcs) addTo(sum, rpc.callCounts());
      return sum;
    },
    batchFacts: () => rpcs.map((rpc) => rpc.batchFacts()).reduce(mergeBatchFacts),
  };
}
