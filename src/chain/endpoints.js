import { mergeBatchFacts } from './batches.js';
import { ChainIdentity } from './chain-identity.js';
import { BEHIND, Health, Monitor, UP, downBy, isDownError, isRefusal } from './endpoint-health.js';
import { withRetries } from './retries.js';
import { batchOf, createRpc, displayUrl, secretsOf } from './rpc.js';
import { RpcError, TransportError } from '../errors.js';

/**
 * The endpoints of a run as one thread uses them. Several endpoints of one chain are one Rpc: each request is routed by
 * its purpose and by the health of the endpoints.
 *
 * @import { BatchFacts, Clock, EndpointFacts, Purpose, RetryOptions, Rpc, Transport, TransportStats } from '../types.d.ts'
 * @import { ChainIdentityState } from './chain-identity.js'
 * @import { State } from './endpoint-health.js'
 *
 * @typedef {'sticky' | 'round-robin' | 'apart'} Spread
 *
 * @typedef {object} Traffic of one endpoint
 * @property {number} requests
 * @property {number} failures lost requests, "not ready" responses, and transactions refused or unanswered
 *
 * @typedef {object} ThreadStats the traffic of one thread
 * @property {Record<string, number>} rpcCalls
 * @property {TransportStats} transport
 * @property {BatchFacts} batches
 * @property {Traffic[]} endpoints with several endpoints
 */

/** @type {readonly Spread[]} */
export const SPREADS = Object.freeze(['sticky', 'round-robin', 'apart']);

/** Purposes of the load. @type {ReadonlySet<Purpose>} */
const LOAD_PURPOSES = new Set(/** @type {const} */ (['submit', 'resubmit', 'load']));

/** Purposes of submissions. @type {ReadonlySet<Purpose>} */
const SUBMIT_PURPOSES = new Set(/** @type {const} */ (['submit', 'resubmit']));

/** Chooses the endpoint of a request. */
export class Route {
  #health;
  #home;
  #spread;
  #turn = 0;

  /** @param {{health: Health, home: number, spread: Spread}} options home: the endpoint of this thread's wallets */
  constructor({ health, home, spread }) {
    this.#health = health;
    this.#home = home;
    this.#spread = spread;
  }

  /**
   * Reads use the preferred endpoint, or the next endpoint that is up. Submissions also need an endpoint that accepts
   * transactions. If no endpoint is up, submissions use an endpoint that is behind; its blocks are out of date, so
   * reads do not. If there is no such endpoint, requests use the preferred endpoint.
   * @param {Purpose} purpose
   * @returns {number | null} null: no endpoint can serve it
   */
  next(purpose) {
    const preferred = this.#preferred(purpose) % this.#health.count;
    const up = this.#firstFrom(preferred, UP, SUBMIT_PURPOSES.has(purpose)) ?? this.#firstFrom(preferred, UP);
    if (up !== null) return up;
    const behind = this.#firstFrom(preferred, BEHIND);
    if (behind === null) return preferred;
    return LOAD_PURPOSES.has(purpose) ? behind : null;
  }

  /** @param {number} meant @param {State} state @param {boolean} [mustAccept] skip endpoints that refuse transactions */
  #firstFrom(meant, state, mustAccept = false) {
    const { count } = this.#health;
    for (let i = 0; i < count; i += 1) {
      const index = (meant + i) % count;
      if (this.#health.stateOf(index) === state && !(mustAccept && this.#health.isSkipped(index))) return index;
    }
    return null;
  }

  /** @param {Purpose} purpose */
  #preferred(purpose) {
    // The home endpoint may have lost the transaction, or not propagated it.
    if (purpose === 'resubmit') return this.#home + 1;
    if (this.#spread === 'apart' && purpose === 'readback') return this.#home + 1;
    if (this.#spread !== 'round-robin' || !LOAD_PURPOSES.has(purpose)) return this.#home;
    this.#turn += 1;
    return this.#home + this.#turn - 1;
  }
}

/** A request that waits for an endpoint that went down goes to another one after this time: an answer may still come. */
const GRACE_MS = 100;

/**
 * @typedef {object} RouterOptions
 * @property {Rpc[]} rpcs of the endpoints
 * @property {Health} health
 * @property {Clock} clock
 * @property {number} home
 * @property {Spread} spread
 * @property {RetryOptions | null} [retryOptions]
 *
 * @typedef {'read' | 'submission' | 'subscription'} RequestKind
 */

/**
 * Sends requests to the endpoints, and to another one when theirs went down.
 *
 * @template T
 * @callback Ask
 * @param {Rpc} rpc
 * @param {number} index of the endpoint
 * @param {() => boolean} isWanted false: the request was given up
 * @returns {Promise<T>}
 */
class Router {
  /** By endpoint. @type {number[]} */
  failures;
  #rpcs;
  #health;
  #retryOptions;
  /** @type {Set<{index: number, giveUp: () => void}>} */
  #pending = new Set();

  /** @param {RouterOptions} options */
  constructor({ rpcs, health, clock, retryOptions = null }) {
    this.#rpcs = rpcs;
    this.#health = health;
    this.#retryOptions = retryOptions;
    this.failures = Array(rpcs.length).fill(0);
    health.onChange = () => void clock.after(() => this.#giveUpPending(), GRACE_MS);
  }

  /**
   * Reads that were given up are repeated at another endpoint. A submission is rejected as lost, because the endpoint
   * may have received it. A plain call is never given up, because it is measured where it was sent.
   * @template T
   * @param {(purpose: Purpose) => number | null} next
   * @param {Purpose} purpose
   * @param {RequestKind} kind
   * @param {Ask<T>} ask
   * @returns {Promise<T>}
   */
  #send(next, purpose, kind, ask) {
    const index = next(purpose);
    if (index === null) return Promise.reject(new TransportError('no endpoint has caught up with the chain', 'behind'));
    const rpc = this.#rpcs[index];
    return new Promise((resolve, reject) => {
      let isWanted = true;
      const giveUp = () => {
        isWanted = false;
        if (kind === 'read') resolve(this.#send(next, purpose, kind, ask));
        else reject(new TransportError(`${rpc.display}: the endpoint went down before it answered`, 'left'));
        if (kind === 'submission') this.failures[index] += 1;
      };
      const request = { index, giveUp };
      if (purpose !== 'load') this.#pending.add(request);
      ask(rpc, index, () => isWanted).then(
        (result) => {
          this.#pending.delete(request);
          if (isWanted && kind === 'submission') this.#health.noteAccepted(index);
          resolve(result);
        },
        (error) => {
          this.#pending.delete(request);
          if (isWanted) this.#noteError(index, error, kind === 'submission');
          reject(error);
        },
      );
    });
  }

  /** @param {number} index @param {Error} error @param {boolean} isSubmission */
  #noteError(index, error, isSubmission) {
    const isRefused = isSubmission && isRefusal(error);
    if (isDownError(error)) this.#health.enter(index, downBy(this.#rpcs[index], error));
    else if (isRefused) this.#health.noteRefused(index);
    else if (isSubmission && error instanceof RpcError) this.#health.noteAccepted(index);
    if (isRefused || isDownError(error)) this.failures[index] += 1;
  }

  #giveUpPending() {
    for (const request of this.#pending) {
      if (!this.#health.shouldFailOver(request.index)) continue;
      this.#pending.delete(request);
      request.giveUp();
    }
  }

  /**
   * The endpoints as one Rpc.
   * @param {(purpose: Purpose) => number | null} next
   * @param {Rpc} usual the endpoint for blocks if all are up
   * @returns {Rpc}
   */
  view(next, usual) {
    const rpcs = this.#rpcs;
    /** The current subscription. @type {{index: number, leave: () => void} | null} */
    let subscribed = null;

    /** @template T @param {Purpose} purpose @param {RequestKind} kind @param {Ask<T>} ask */
    const send = (purpose, kind, ask) =>
      this.#send(next, purpose, kind, (rpc, index, isWanted) => {
        // Only the endpoint used for blocks may push heads.
        if (purpose === 'inclusion' && subscribed !== null && subscribed.index !== index) subscribed.leave();
        return ask(rpc, index, isWanted);
      });

    /** @type {Rpc['call']} */
    const call = (method, params, purpose, onSent) =>
      withRetries(this.#retryOptions, method, purpose, () =>
        send(purpose, method.startsWith('eth_send') ? 'submission' : 'read', (rpc, index, isWanted) =>
          rpc.call(method, params, purpose, onSent && (() => isWanted() && onSent(index))),
        ),
      );

    /** @type {Rpc['gather']} */
    const gather = (method, params, purpose) =>
      withRetries(this.#retryOptions, method, purpose, () =>
        send(purpose, 'read', (rpc) => rpc.gather(method, params, purpose)),
      );

    /** @type {NonNullable<Rpc['subscribe']>} */
    const subscribe = (kind, onEvent, onLost) =>
      send('inclusion', 'subscription', async (rpc, index, isWanted) => {
        if (rpc.subscribe === null) throw new TransportError(`${rpc.display} has no subscriptions`, 'closed');
        const end = await rpc.subscribe(kind, onEvent, onLost);
        if (!isWanted()) {
          end();
          return end;
        }
        const own = {
          index,
          leave: () => onLost(new TransportError('heads come from another endpoint now', 'closed')),
        };
        subscribed = own;
        return () => {
          if (subscribed === own) subscribed = null;
          end();
        };
      });

    return {
      display: `${rpcs[0].display} and ${rpcs.length - 1} more`,
      secrets: rpcs.flatMap(({ secrets }) => secrets),
      call,
      gather,
      batch: batchOf(gather),
      // Decided by the usual endpoint: without push there, heads are polled.
      subscribe: usual.subscribe === null ? null : subscribe,
      callCounts: () => sumOf(rpcs.map((rpc) => rpc.callCounts())),
      batchFacts: () => rpcs.map((rpc) => rpc.batchFacts()).reduce(mergeBatchFacts),
    };
  }
}

/** @param {RouterOptions} options */
export function createRouter(options) {
  const { rpcs, home } = options;
  const route = new Route(options);
  const router = new Router(options);
  return {
    rpc: router.view((purpose) => route.next(purpose), rpcs[home % rpcs.length]),
    /** Routes everything as read-back. */
    reading: router.view(() => route.next('readback'), rpcs[(home + 1) % rpcs.length]),
    /** @returns {Traffic[]} */
    traffic: () =>
      rpcs.map((rpc, i) => ({
        requests: Object.values(rpc.callCounts()).reduce((sum, count) => sum + count, 0),
        failures: router.failures[i],
      })),
  };
}

/**
 * @typedef {object} EndpointOptions
 * @property {URL[]} urls
 * @property {(url: URL) => Transport} open opens the transport of an endpoint
 * @property {(url: URL) => Transport} openExtra opens that of another server
 * @property {number | null} fixedId
 * @property {Clock} clock
 * @property {number} home index of the endpoint of this thread's wallets
 * @property {Spread} spread
 * @property {ChainIdentityState} [identity] as found by the main thread
 * @property {{limit: number, largest: number}} [batches] as learned in the set-up
 * @property {RetryOptions | null} [retryOptions]
 *
 * @typedef {ReturnType<typeof openEndpoints>} Endpoints
 */

/**
 * Opens the connections of one thread to the endpoints of a run: the Rpc of a single endpoint, or a router over
 * several. Each thread decides for itself which endpoints are up.
 * @param {EndpointOptions} options
 */
export function openEndpoints({ urls, open, openExtra, clock, retryOptions = null, ...options }) {
  const { home, spread, fixedId, batches } = options;
  const transports = urls.map(open);
  // Retries are above the router, so that they can change the endpoint.
  const own = urls.length === 1 ? retryOptions : null;
  const rpcs = urls.map((url, i) =>
    createRpc(transports[i], displayUrl(url), { fixedId, secrets: secretsOf(url), batches, retryOptions: own }),
  );
  /** @type {Rpc[]} */
  const others = [];
  /**
   * Opens an extra connection, for instance to a reference endpoint; closed and counted with the others.
   * @param {URL} url
   */
  const connect = (url) => {
    transports.push(openExtra(url));
    others.push(createRpc(transports[transports.length - 1], displayUrl(url), { secrets: secretsOf(url) }));
    return others[others.length - 1];
  };
  const transport = {
    stats: () => {
      const none = { requests: 0, connectionsOpened: 0, bytesReceived: 0 };
      return { ...none, ...sumOf(transports.map((one) => ({ ...one.stats() }))) };
    },
    closeIdle: async () => void (await Promise.all(transports.map((one) => one.closeIdle()))),
    close: async () => void (await Promise.all(transports.map((one) => one.close()))),
  };
  const health = new Health(urls.length, clock);
  const opened = { rpcs, others, connect, transport, health };
  if (urls.length === 1) {
    const monitor = new Monitor({ rpcs, health, clock });
    const traffic = () => /** @type {Traffic[]} */ ([]);
    return { ...opened, rpc: rpcs[0], reading: null, identity: null, monitor, traffic };
  }
  const identity = new ChainIdentity(rpcs, { health, clock, state: options.identity });
  const monitor = new Monitor({ rpcs, health, clock, checkIdentity: (...head) => identity.check(...head) });
  const { rpc, reading, traffic } = createRouter({ rpcs, health, clock, home, spread, retryOptions });
  return { ...opened, rpc, reading: spread === 'apart' ? reading : null, identity, monitor, traffic };
}

/** @param {Array<Record<string, number>>} all */
function sumOf(all) {
  /** @type {Record<string, number>} */
  const sum = {};
  for (const one of all) for (const [key, value] of Object.entries(one)) sum[key] = (sum[key] ?? 0) + value;
  return sum;
}

/** @param {Pick<Endpoints, 'rpc' | 'others' | 'transport' | 'traffic'>} endpoints @returns {ThreadStats} */
export function threadStatsOf({ rpc, others, transport, traffic }) {
  const rpcCalls = sumOf([rpc, ...others].map((one) => one.callCounts()));
  return { rpcCalls, transport: transport.stats(), batches: rpc.batchFacts(), endpoints: traffic() };
}

/**
 * @param {Health} health of the main thread
 * @param {Traffic[]} traffic of all threads, with several endpoints
 * @param {number} loadStartUs
 * @returns {EndpointFacts[]}
 */
export function describeEndpoints(health, traffic, loadStartUs) {
  const totals = health.totals();
  return traffic.map(({ requests, failures }, i) => ({
    requests,
    failures,
    left: totals[i].count,
    awayMs: totals[i].downUs / 1000,
    events: health.events
      .filter(({ endpoint }) => endpoint === i)
      .map(({ atUs, isBack, words }) => ({ atMs: (atUs - loadStartUs) / 1000, isBack, words })),
  }));
}
