import { secretsOf } from '../chain/endpoint-url.js';
import { createRpc, displayUrl } from '../chain/rpc.js';
import { addTo } from '../metrics/recorder.js';
import { openTransport } from './connect.js';
import { Monitor } from './monitor.js';
import { OneChain } from './one-chain.js';
import { createRouter } from './route.js';

/**
 * @import { Insistence } from '../chain/passing.js'
 * @import { Rpc } from '../chain/rpc.js'
 * @import { Clock } from '../clock.js'
 * @import { Transport } from '../transport/index.js'
 * @import { ThreadStats } from './crew.js'
 * @import { Health } from './health.js'
 * @import { Spread, Traffic } from './route.js'
 * @import { Watch } from './watch.js'
 */

/**
 * The way to the endpoints of a run, from one thread. Where there is one, its Rpc is used as it is; where there are
 * several, a router stands for all of them, and the main thread looks after their health.
 *
 * @typedef {object} EndpointOptions
 * @property {Parameters<typeof openTransport>[0] & {fixedId: number | null}} config
 * @property {URL[]} urls
 * @property {Clock} clock
 * @property {number} home place of the endpoint of this thread's wallets
 * @property {Spread} spread
 * @property {Health} health
 * @property {{limit: number, largest: number}} [batches] as the set-up learned them
 * @property {Insistence | null} [insistence]
 *
 * @typedef {ReturnType<typeof openEndpoints>} Endpoints
 */

/** @param {EndpointOptions} options */
export function openEndpoints({ config, urls, clock, home, spread, health, batches, insistence = null }) {
  const transports = urls.map((url) => openTransport(config, url));
  const { fixedId } = config;
  /** @param {Insistence | null} own */
  const rpcsWith = (own) =>
    urls.map((url, i) =>
      createRpc(transports[i], displayUrl(url), { fixedId, secrets: secretsOf(url), batches, insistence: own }),
    );
  const transport = together(transports);
  /** @type {Rpc[]} */
  const others = [];
  /** One beside those of the load, to hold answers against for instance: closed and counted with them. @param {URL} url */
  const connect = (url) => {
    const beside = openTransport({ ...config, transport: 'auto', noKeepAlive: false }, url);
    transports.push(beside);
    others.push(createRpc(beside, displayUrl(url), { secrets: secretsOf(url) }));
    return others[others.length - 1];
  };
  if (urls.length === 1) {
    const rpcs = rpcsWith(insistence);
    return { rpcs, others, connect, transport, rpc: rpcs[0], reading: null, traffic: () => [] };
  }
  // Whoever insists is not to insist on one that is away.
  const rpcs = rpcsWith(null);
  const { reading, traffic, ...rpc } = createRouter({ rpcs, health, clock, home, spread, insistence });
  return { rpcs, others, connect, transport, rpc, reading: spread === 'apart' ? reading : null, traffic };
}

/** @param {Transport[]} transports @returns {Pick<Transport, 'stats' | 'rest' | 'close'>} */
function together(transports) {
  return {
    stats: () => {
      const sum = { requests: 0, connectionsOpened: 0, bytesReceived: 0 };
      for (const transport of transports) addTo(sum, transport.stats());
      return sum;
    },
    rest: async () => void (await Promise.all(transports.map((transport) => transport.rest()))),
    close: async () => void (await Promise.all(transports.map((transport) => transport.close()))),
  };
}

/** What went to them from this thread. @param {Endpoints} endpoints @returns {ThreadStats} */
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

/**
 * What looks after them.
 * @param {Rpc[]} rpcs
 * @param {Health} health
 * @param {Clock} clock
 */
export function lookAfter(rpcs, health, clock) {
  if (rpcs.length === 1) return { monitor: new Monitor({ rpcs, health, clock }), oneChain: null };
  const oneChain = new OneChain(rpcs, health, clock);
  const monitor = new Monitor({ rpcs, health, clock, examine: (...about) => oneChain.examine(...about) });
  return { monitor, oneChain };
}

/**
 * Says what becomes of them.
 * @param {Monitor} monitor
 * @param {Watch} watch
 * @param {readonly string[]} names
 */
export function warnOfEndpoints(monitor, watch, names) {
  monitor.listen(
    ({ endpoint, isBack, words }) => {
      const isAlone = names.length === 1;
      const away = isAlone ? 'does not answer' : 'is left for the others';
      const back = isAlone ? 'answers again' : 'is back';
      const what = isBack ? `${back} ${words}` : `${away}: ${words}`;
      watch.warnOf(`endpoint ${endpoint}`, `${names[endpoint]} ${what}`);
    },
    (endpoint) => {
      const what = 'refuses transactions, or does not answer them: they go to others that take them';
      watch.warnOnce(`refusing ${endpoint}`, `${names[endpoint]} ${what}`);
    },
  );
}

/**
 * @typedef {object} EndpointFacts what the run file says of each, where there are several
 * @property {number} requests
 * @property {number} failures
 * @property {number} left how often it was left for the others
 * @property {number} awayMs
 * @property {Array<{atMs: number, isBack: boolean, words: string}>} events
 */

/**
 * @param {Monitor} monitor
 * @param {Traffic[]} traffic of all threads, where there are several
 * @param {{nowUs: number, loadStartUs: number}} instants
 * @returns {EndpointFacts[]}
 */
export function describeEndpoints(monitor, traffic, { nowUs, loadStartUs }) {
  const absences = monitor.absences(nowUs);
  return traffic.map(({ requests, failures }, i) => ({
    requests,
    failures,
    left: absences[i].left,
    awayMs: absences[i].awayUs / 1000,
    events: monitor.events
      .filter(({ endpoint }) => endpoint === i)
      .map(({ atUs, isBack, words }) => ({ atMs: (atUs - loadStartUs) / 1000, isBack, words })),
  }));
}
