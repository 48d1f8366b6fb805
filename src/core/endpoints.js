import { mergeBatchFacts } from '../chain/batches.js';
import { withRetries } from '../chain/retries.js';
import { batchOf, createRpc, displayUrl, secretsOf } from '../chain/rpc.js';
import { RpcError, TransportError } from '../errors.js';
import { addTo } from '../stats/recorder.js';
import { ChainIdentity } from './chain-identity.js';
import { openTransport } from './connect.js';
import { BEHIND, Monitor, UP, isDownError, isRefusal } from './endpoint-health.js';

/**
 * @import { Clock, EndpointFacts, Purpose, RetryOptions, Rpc, Transport } from '../types.d.ts'
 * @import { Health, State } from './endpoint-health.js'
 * @import { Watch } from './reports.js'
 * @import { ThreadStats } from './workers.js'
 */

/**
 * Ends requests to an endpoint that went down, instead of waiting for the transport's timeout, so that they go to
 * another one.
 */

/** Result of a request that was ended: another endpoint can be used. */
const FAILED_OVER = Symbol('left');

/** Poll interval of the shared state, which any thread may change. */
const POLL_MS = 100;

class Failover {
  /** @type {Set<{index: number, giveUp: () => void}>} */
  #all = new Set();
  #isPolling = false;
  #health;
  #clock;

  /** @param {Pick<Health, 'shouldFailOver'>} health @param {Pick<Clock, 'after'>} clock */
  constructor(health, clock) {
    this.#health = health;
    this.#clock = clock;
  }

  /**
   * @template T
   * @param {number} index of the endpoint
   * @param {Promise<T>} answer its later result is ignored
   * @returns {Promise<T | typeof FAILED_OVER>}
   */
  untilFailover(index, answer) {
    return new Promise((resolve, reject) => {
      const one = { index, giveUp: () => resolve(FAILED_OVER) };
      this.#all.add(one);
      this.#poll();
      answer.then(resolve, reject).finally(() => this.#all.delete(one));
    });
  }

  #poll() {
    if (this.#isPolling || this.#all.size === 0) return;
    this.#isPolling = true;
    this.#clock.after(() => {
      this.#isPolling = false;
      for (const one of this.#all) {
        if (!this.#health.shouldFailOver(one.index)) continue;
        this.#all.delete(one);
        one.giveUp();
      }
      this.#poll();
    }, POLL_MS);
  }
}

/**
 * Several endpoints of one chain as one Rpc: each request is routed by its purpose and the state of the endpoints. The
 * caller learns the index of the endpoint when the request is sent.
 *
 * @typedef {'sticky' | 'round-robin' | 'apart'} Spread
 *
 * @typedef {object} Traffic of one endpoint
 * @property {number} requests
 * @property {number} failures lost requests, "not ready" responses, and transactions refused or unanswered
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
  #clock;
  #home;
  #spread;
  #turn = 0;

  /**
   * @param {{health: Health, clock: Pick<Clock, 'nowUs'>, home: number, spread: Spread}} options home: index of the
   *   endpoint of this thread's wallets
   */
  constructor({ health, clock, home, spread }) {
    this.#health = health;
    this.#clock = clock;
    this.#home = home;
    this.#spread = spread;
  }

  /**
   * The preferred endpoint, or the next one that is up; for submissions, the next one that accepts transactions. If
   * none is up, an endpoint that is behind gets submissions only, because its blocks are out of date; without one,
   * requests go to the preferred endpoint.
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
      if (this.#health.stateOf(index) !== state) continue;
      if (!mustAccept || !this.#health.isSkipped(index, this.#clock.nowUs())) return index;
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

/**
 * @param {object} options
 * @param {Rpc[]} options.rpcs of the endpoints
 * @param {Health} options.health
 * @param {Clock} options.clock
 * @param {number} options.home
 * @param {Spread} options.spread
 * @param {RetryOptions | null} [options.retryOptions]
 * @returns {Rpc & {reading: Rpc, traffic: () => Traffic[]}} reading: routes everything as read-back
 */
export function createRouter({ rpcs, health, clock, home, spread, retryOptions = null }) {
  const route = new Route({ health, clock, home, spread });
  const outcomes = new Outcomes(rpcs.length, health, clock);
  const parts = { rpcs, outcomes, waiting: new Failover(health, clock), retryOptions };
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

/** Updates the state of the endpoints from the results of requests. */
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
    if (isSubmission) this.#health.noteAccepted(index);
  }

  /** @param {number} index @param {unknown} error @param {boolean} isSubmission */
  failed(index, error, isSubmission) {
    const nowUs = this.#clock.nowUs();
    if (isDownError(error)) {
      this.failures[index] += 1;
      this.#health.markDown(index, nowUs);
    } else if (isSubmission && isRefusal(error)) {
      this.failures[index] += 1;
      this.#health.noteRefused(index, nowUs);
    } else if (isSubmission && error instanceof RpcError) {
      this.#health.noteAccepted(index);
    }
  }

  /** A submission was ended by failover. @param {number} index */
  lost(index) {
    this.failures[index] += 1;
  }
}

/**
 * @param {object} parts
 * @param {Rpc[]} parts.rpcs
 * @param {Outcomes} parts.outcomes
 * @param {Failover} parts.waiting
 * @param {RetryOptions | null} parts.retryOptions
 * @param {(purpose: Purpose) => number | null} parts.next
 * @param {Rpc} parts.usual the endpoint for blocks if all are up
 * @returns {Rpc}
 */
function createView({ rpcs, outcomes, waiting, retryOptions, next, usual }) {
  /** The current subscription. @type {{index: number, leave: () => void} | null} */
  let subscribed = null;

  /**
   * Failover repeats reads at another endpoint. A submission is rejected as lost, because the endpoint may have
   * received it.
   * @template T
   * @param {Purpose} purpose
   * @param {boolean} isQuestion
   * @param {(rpc: Rpc, index: number, isWanted: () => boolean) => Promise<T>} ask
   * @returns {Promise<T>}
   */
  function routed(purpose, isQuestion, ask) {
    const index = next(purpose);
    if (index === null) return Promise.reject(new TransportError('no endpoint has caught up with the chain', 'behind'));
    // Only the endpoint used for blocks may push heads.
    if (purpose === 'inclusion' && subscribed !== null && subscribed.index !== index) subscribed.leave();
    const isSubmission = !isQuestion && purpose !== 'inclusion';
    let isWanted = true;
    const answer = ask(rpcs[index], index, () => isWanted);
    const onError = (/** @type {unknown} */ error) => {
      outcomes.failed(index, error, isSubmission);
      throw error;
    };
    // No failover: a plain call is measured where it was sent.
    if (purpose === 'load') return answer.then(undefined, onError);
    return waiting.untilFailover(index, answer).then((result) => {
      if (result !== FAILED_OVER) {
        outcomes.answered(index, isSubmission);
        return /** @type {T} */ (result);
      }
      isWanted = false;
      if (isQuestion) return routed(purpose, isQuestion, ask);
      if (isSubmission) outcomes.lost(index);
      throw new TransportError(`${rpcs[index].display}: the endpoint went down before it answered`, 'left');
    }, onError);
  }

  /** @type {Rpc['call']} */
  const call = (method, params, purpose, onSent) =>
    withRetries(retryOptions, method, purpose, () =>
      routed(purpose, !method.startsWith('eth_send'), (rpc, index, isWanted) =>
        rpc.call(method, params, purpose, onSent && (() => isWanted() && onSent(index))),
      ),
    );

  /** @type {Rpc['gather']} */
  const gather = (method, params, purpose) =>
    withRetries(retryOptions, method, purpose, () =>
      routed(purpose, true, (rpc) => rpc.gather(method, params, purpose)),
    );

  /** @type {NonNullable<Rpc['subscribe']>} */
  const subscribe = (kind, onEvent, onLost) =>
    routed('inclusion', false, async (rpc, index, isWanted) => {
      if (rpc.subscribe === null) throw new TransportError(`${rpc.display} has no subscriptions`, 'closed');
      const end = await rpc.subscribe(kind, onEvent, onLost);
      if (!isWanted()) {
        end();
        return end;
      }
      const own = { index, leave: () => onLost(new TransportError('heads come from another endpoint now', 'closed')) };
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
    // Decided by the usual endpoint: without push there, heads are polled.
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

/**
 * Opens the connections of one thread to the endpoints of a run: the Rpc of a single endpoint, or a router over
 * several.
 *
 * @typedef {object} EndpointOptions
 * @property {Parameters<typeof openTransport>[0] & {fixedId: number | null}} config
 * @property {URL[]} urls
 * @property {Clock} clock
 * @property {number} home index of the endpoint of this thread's wallets
 * @property {Spread} spread
 * @property {Health} health
 * @property {{limit: number, largest: number}} [batches] as learned in the set-up
 * @property {RetryOptions | null} [retryOptions]
 *
 * @typedef {ReturnType<typeof openEndpoints>} Endpoints
 */

/** @param {EndpointOptions} options */
export function openEndpoints({ config, urls, clock, home, spread, health, batches, retryOptions = null }) {
  const transports = urls.map((url) => openTransport(config, url));
  const { fixedId } = config;
  /** @param {RetryOptions | null} own */
  const rpcsWith = (own) =>
    urls.map((url, i) =>
      createRpc(transports[i], displayUrl(url), { fixedId, secrets: secretsOf(url), batches, retryOptions: own }),
    );
  const transport = joinTransports(transports);
  /** @type {Rpc[]} */
  const others = [];
  /**
   * Opens an extra connection, for instance to a reference endpoint; closed and counted with the others.
   * @param {URL} url
   */
  const connect = (url) => {
    const beside = openTransport({ ...config, transport: 'auto', noKeepAlive: false }, url);
    transports.push(beside);
    others.push(createRpc(beside, displayUrl(url), { secrets: secretsOf(url) }));
    return others[others.length - 1];
  };
  if (urls.length === 1) {
    const rpcs = rpcsWith(retryOptions);
    return { rpcs, others, connect, transport, rpc: rpcs[0], reading: null, traffic: () => [] };
  }
  // Retries are above the router, so that they can change the endpoint.
  const rpcs = rpcsWith(null);
  const { reading, traffic, ...rpc } = createRouter({ rpcs, health, clock, home, spread, retryOptions });
  return { rpcs, others, connect, transport, rpc, reading: spread === 'apart' ? reading : null, traffic };
}

/** @param {Transport[]} transports @returns {Pick<Transport, 'stats' | 'closeIdle' | 'close'>} */
function joinTransports(transports) {
  return {
    stats: () => {
      const sum = { requests: 0, connectionsOpened: 0, bytesReceived: 0 };
      for (const transport of transports) addTo(sum, transport.stats());
      return sum;
    },
    closeIdle: async () => void (await Promise.all(transports.map((transport) => transport.closeIdle()))),
    close: async () => void (await Promise.all(transports.map((transport) => transport.close()))),
  };
}

/** @param {Endpoints} endpoints @returns {ThreadStats} */
export function threadStatsOf({ rpc, others, transport, traffic }) {
  const rpcCalls = rpc.callCounts();
  for (const other of others) addTo(rpcCalls, other.callCounts());
  return {
    rpcCalls,
    transport: transport.stats(),
    batches: rpc.batchFacts(),
    endpoints: traffic(),
  };
}

/** @param {Rpc[]} rpcs @param {Health} health @param {Clock} clock */
export function startMonitor(rpcs, health, clock) {
  if (rpcs.length === 1) return { monitor: new Monitor({ rpcs, health, clock }), chainIdentity: null };
  const chainIdentity = new ChainIdentity(rpcs, health, clock);
  const monitor = new Monitor({ rpcs, health, clock, checkIdentity: (...about) => chainIdentity.check(...about) });
  return { monitor, chainIdentity };
}

/** Warns of outages and recoveries. @param {Monitor} monitor @param {Watch} watch @param {readonly string[]} names */
export function warnOfEndpoints(monitor, watch, names) {
  monitor.listen(
    ({ endpoint, isBack, words }) => {
      const isAlone = names.length === 1;
      const down = isAlone ? `does not answer: ${words}` : `is down: ${words}; requests go to the other endpoints`;
      const what = isBack ? `${isAlone ? 'answers again' : 'is up again'} ${words}` : down;
      watch.warnOf(`endpoint ${endpoint}`, `${names[endpoint]} ${what}`);
    },
    (endpoint) => {
      const what = 'refuses or does not answer transactions; they go to other endpoints';
      watch.warnOnce(`refusing ${endpoint}`, `${names[endpoint]} ${what}`);
    },
  );
}

/**
 * @param {Monitor} monitor
 * @param {Traffic[]} traffic of all threads, with several endpoints
 * @param {{nowUs: number, loadStartUs: number}} instants
 * @returns {EndpointFacts[]}
 */
export function describeEndpoints(monitor, traffic, { nowUs, loadStartUs }) {
  const endpointOutages = monitor.endpointOutages(nowUs);
  return traffic.map(({ requests, failures }, i) => ({
    requests,
    failures,
    left: endpointOutages[i].count,
    awayMs: endpointOutages[i].downUs / 1000,
    events: monitor.events
      .filter(({ endpoint }) => endpoint === i)
      .map(({ atUs, isBack, words }) => ({ atMs: (atUs - loadStartUs) / 1000, isBack, words })),
  }));
}
