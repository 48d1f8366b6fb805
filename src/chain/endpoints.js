import { mergeBatchFacts } from './batches.js';
import { ChainIdentity } from './chain-identity.js';
import { Health, Monitor, faultOf, isDownError } from './endpoint-health.js';
import { withRetries } from './retries.js';
import { batchOf, createRpc, displayUrl, secretsOf } from './rpc.js';
import { UrlCheck } from './url-check.js';
import { TransportError } from '../errors.js';

/**
 * The endpoints of a run as one thread uses them. Several endpoints of one chain are one Rpc: each request is routed by
 * its purpose and by the health of the endpoints.
 *
 * @import { Headers, Purpose, Rpc, Spread, ThreadStats, Traffic, Transport } from '../contracts/chain.d.ts'
 * @import { Clock } from '../contracts/common.d.ts'
 * @import { ChainIdentityState } from './chain-identity.js'
 * @import { RetryOptions } from './retries.js'
 */

/** @type {readonly Spread[]} */
export const SPREADS = Object.freeze(['sticky', 'round-robin', 'apart']);

/** Purposes of the load. @type {ReadonlySet<Purpose>} */
const LOAD_PURPOSES = new Set(/** @type {const} */ (['submit', 'resubmit', 'load']));

/**
 * @typedef {object} RouterOptions
 * @property {Rpc[]} rpcs of the endpoints
 * @property {Health} health
 * @property {number} home index of the endpoint of this thread's wallets
 * @property {Spread} spread
 */

/** Sends each request to an endpoint that is up. A request that fails there is repeated by its caller, at another one. */
export class Router {
  #rpcs;
  #health;
  #home;
  #spread;
  #turn = 0;
  /** By endpoint. @type {number[]} */
  #failures;

  /** @param {RouterOptions} options */
  constructor({ rpcs, health, home, spread }) {
    this.#rpcs = rpcs;
    this.#health = health;
    this.#home = home;
    this.#spread = spread;
    this.#failures = rpcs.map(() => 0);
  }

  /** @returns {Traffic[]} */
  traffic() {
    return this.#rpcs.map((rpc, i) => ({
      requests: Object.values(rpc.callCounts()).reduce((sum, count) => sum + count, 0),
      failures: this.#failures[i],
    }));
  }

  /** The index of the preferred endpoint if it is up or if all are down; otherwise that of the next endpoint that is up. @param {Purpose} purpose */
  route(purpose) {
    const { length } = this.#rpcs;
    const preferred = this.#preferred(purpose) % length;
    for (let i = 0; i < length; i += 1) {
      const index = (preferred + i) % length;
      if (this.#health.isUp(index)) return index;
    }
    return preferred;
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

  /**
   * @template T
   * @param {Purpose} purpose
   * @param {(rpc: Rpc, index: number) => Promise<T>} ask
   * @returns {Promise<T>}
   */
  async #send(purpose, ask) {
    const index = this.route(purpose);
    const rpc = this.#rpcs[index];
    try {
      return await ask(rpc, index);
    } catch (error) {
      if (isDownError(error)) {
        this.#health.open(index, faultOf(rpc, /** @type {Error} */ (error)));
        this.#failures[index] += 1;
      }
      throw error;
    }
  }

  /** The endpoints as one Rpc. @returns {Rpc} */
  view() {
    const rpcs = this.#rpcs;

    /** @type {Rpc['gather']} */
    const gather = (method, params, purpose) => this.#send(purpose, (rpc) => rpc.gather(method, params, purpose));

    /** @type {NonNullable<Rpc['subscribe']>} */
    const subscribe = (...args) =>
      this.#send('inclusion', async (rpc) => {
        if (rpc.subscribe === null) throw new TransportError(`${rpc.display} has no subscriptions`, 'closed');
        return rpc.subscribe(...args);
      });

    const usual = rpcs[this.#home % rpcs.length];
    return {
      display: `${rpcs[0].display} and ${rpcs.length - 1} more`,
      secrets: rpcs.flatMap(({ secrets }) => secrets),
      call: (method, params, purpose, onSent) =>
        this.#send(purpose, (rpc, index) => rpc.call(method, params, purpose, onSent && (() => onSent(index)))),
      gather,
      batch: batchOf(gather),
      // Decided by the usual endpoint for blocks: without push there, heads are polled.
      subscribe: usual.subscribe === null ? null : subscribe,
      callCounts: () => sumOf(rpcs.map((rpc) => rpc.callCounts())),
      batchFacts: (of) => rpcs.map((rpc) => rpc.batchFacts(of)).reduce(mergeBatchFacts),
    };
  }
}

/**
 * @typedef {object} EndpointOptions
 * @property {URL[]} urls
 * @property {URL | null} sendUrl endpoint of the submissions, if that is another one
 * @property {Headers} headers of the user
 * @property {number} batch most submissions in a batch
 * @property {string} sendMethod of submissions
 * @property {unknown[]} sendParams of submissions
 * @property {(url: URL) => Transport} open opens the transport of an endpoint
 * @property {(url: URL) => Transport} openExtra opens that of another server
 * @property {number | null} fixedId
 * @property {Clock} clock
 * @property {number} home index of the endpoint of this thread's wallets
 * @property {Spread} spread
 * @property {ChainIdentityState} [identity] as found by the main thread
 * @property {{limit: number, largest: number}} [batches] as learned in the set-up
 * @property {RetryOptions} [retryOptions]
 *
 * @typedef {ReturnType<typeof openEndpoints>} Endpoints
 */

/**
 * Opens the connections of one thread to the endpoints of a run: the Rpc of a single endpoint, or a router over
 * several. Each thread decides for itself which endpoints are up.
 * @param {EndpointOptions} options
 */
export function openEndpoints({ urls, open, openExtra, fixedId, clock, home, spread, batches, ...options }) {
  const { sendUrl, headers, batch } = options;
  const ownUrls = [...urls, sendUrl ?? []].flat();
  const transports = ownUrls.map(open);
  // This header is no secret, and errors have its value.
  const secretHeaders = { ...headers, 'accept-encoding': '' };
  const opened = ownUrls.map((url, i) =>
    createRpc(transports[i], displayUrl(url), {
      fixedId,
      secrets: secretsOf(url, secretHeaders),
      batches,
      batch,
      sending: options,
    }),
  );
  const rpcs = opened.slice(0, urls.length);
  const sending = sendUrl === null ? null : opened[urls.length];
  /** @type {Rpc[]} */
  const others = [];
  const health = new Health(urls.length, clock);
  const isSingle = urls.length === 1;
  const { random, onAnswer } = options.retryOptions ?? {};
  const identity = isSingle ? null : new ChainIdentity(rpcs, { health, clock, random, state: options.identity });
  const monitor = new Monitor({ rpcs, health, clock, onAnswer, checkIdentity: identity?.check.bind(identity) });
  const router = isSingle ? null : new Router({ rpcs, health, home, spread });
  // Retries are above the router, so that they can change the endpoint.
  const reading = router?.view() ?? rpcs[0];
  const rpc = withRetries(sending === null ? reading : sentBy(sending, reading), options.retryOptions);
  // What connections that are closed by now have asked.
  const past = { rpcCalls: {}, transport: { requests: 0, connectionsOpened: 0, bytesReceived: 0 } };
  const urlCheck = new UrlCheck({
    ...{ urls, rpc, clock },
    connect: (url) => {
      const transport = open(url);
      return {
        transport,
        rpc: createRpc(transport, displayUrl(url), { fixedId, secrets: secretsOf(url, secretHeaders) }),
      };
    },
    onClosed: (one) => {
      past.rpcCalls = sumOf([past.rpcCalls, one.rpc.callCounts()]);
      past.transport = sumOf([past.transport, { ...one.transport.stats() }]);
    },
  });
  return {
    rpc,
    urlCheck,
    /** Null: the submissions go to the same endpoints as everything else. */
    sending,
    /** The connection to each endpoint. */
    rpcs: isSingle ? [rpc] : rpcs,
    /** Null with a single endpoint. */
    identity,
    health,
    monitor,
    /**
     * Opens an extra connection, for instance to a reference endpoint; closed and counted with the others.
     * @param {URL} url
     */
    connect: (url) => {
      const transport = openExtra(url);
      const other = createRpc(transport, displayUrl(url), { secrets: secretsOf(url) });
      transports.push(transport);
      others.push(other);
      return other;
    },
    /** @returns {ThreadStats} */
    stats: () => ({
      rpcCalls: sumOf([...[rpc, ...others].map((one) => one.callCounts()), past.rpcCalls]),
      transport: sumOf([...transports.map((one) => ({ ...one.stats() })), past.transport]),
      batches: rpc.batchFacts(),
      ...(batch > 1 ? { submissionBatches: rpc.batchFacts('submissions') } : {}),
      endpoints: router?.traffic() ?? [],
    }),
    closeIdle: async () => void (await Promise.all(transports.map((one) => one.closeIdle()))),
    close: async () => void (await Promise.all([...transports, urlCheck].map((one) => one.close()))),
  };
}

/** Submissions go to another endpoint. @param {Rpc} sending @param {Rpc} reading @returns {Rpc} */
function sentBy(sending, reading) {
  return {
    ...reading,
    call: (method, ...given) => (method === 'eth_sendRawTransaction' ? sending : reading).call(method, ...given),
    callCounts: () => sumOf([reading, sending].map((rpc) => rpc.callCounts())),
    batchFacts: (of) => (of === 'submissions' ? sending : reading).batchFacts(of),
  };
}

/** @template {Record<string, number>} T @param {T[]} all @returns {T} */
function sumOf(all) {
  /** @type {Record<string, number>} */
  const sum = {};
  for (const one of all) for (const [key, value] of Object.entries(one)) sum[key] = (sum[key] ?? 0) + value;
  return /** @type {T} */ (sum);
}
