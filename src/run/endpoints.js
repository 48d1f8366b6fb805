import { secretsOf } from '../chain/endpoint-url.js';
import { checkChain } from '../chain/networks.js';
import { createRpc, displayUrl, toNumber } from '../chain/rpc.js';
import { RefusedError } from '../errors.js';
import { addTo } from '../metrics/recorder.js';
import { clientVersionOf, openTransport } from './connect.js';
import { Monitor } from './monitor.js';
import { createRouter } from './route.js';

/**
 * The way to the endpoints of a run, from one thread. Where there is one, its Rpc is used as it is; where there are
 * several, a router stands for all of them, and the main thread looks after their health.
 *
 * @typedef {import('../transport/index.js').Transport} Transport
 * @typedef {import('../chain/rpc.js').Rpc} Rpc
 *
 * @typedef {object} EndpointOptions
 * @property {Parameters<typeof openTransport>[0] & {fixedId: number | null}} config
 * @property {URL[]} urls
 * @property {number} home place of the endpoint of this thread's wallets
 * @property {import('./route.js').Spread} spread
 * @property {import('./health.js').Health} health
 * @property {{limit: number, largest: number}} [batches] as the set-up learned them
 * @property {import('../chain/passing.js').Insistence | null} [insistence]
 *
 * @typedef {ReturnType<typeof openEndpoints>} Endpoints
 */

/** @param {EndpointOptions} options */
export function openEndpoints({ config, urls, home, spread, health, batches, insistence = null }) {
  const transports = urls.map((url) => openTransport(config, url));
  const { fixedId } = config;
  /** @param {import('../chain/passing.js').Insistence | null} own */
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
  const { reading, traffic, ...rpc } = createRouter({ rpcs, health, home, spread, insistence });
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

/** What went to them from this thread. @param {Endpoints} endpoints @returns {import('./crew.js').ThreadStats} */
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
 * Who they are, and that they are of one chain: what is sent to one of them is looked for at another.
 * @param {Rpc[]} rpcs
 * @param {URL[]} urls
 * @param {Pick<import('./run.js').Config, 'chainId' | 'allowChain'>} config
 * @returns {Promise<Array<{display: string, clientVersion: string | null}>>}
 */
export async function identifyAll(rpcs, urls, { chainId, allowChain }) {
  const all = await Promise.all(
    rpcs.map(async (rpc, i) => {
      const id = toNumber(await rpc.call('eth_chainId', [], 'setup'));
      checkChain(urls[i], id, chainId, allowChain);
      const genesis = await rpc.call('eth_getBlockByNumber', ['0x0', false], 'setup');
      const genesisHash = typeof genesis?.hash === 'string' ? genesis.hash : null;
      return { display: rpc.display, id, genesisHash, clientVersion: await clientVersionOf(rpc) };
    }),
  );
  const [first] = all;
  for (const { display, id, genesisHash } of all) {
    const isOther = id !== first.id || (genesisHash ?? first.genesisHash) !== (first.genesisHash ?? genesisHash);
    if (!isOther) continue;
    const how = id === first.id ? `chains of id ${id} with different first blocks` : `chains ${first.id} and ${id}`;
    throw new RefusedError(`${first.display} and ${display} are ${how}: several --rpc must be endpoints of one chain`);
  }
  return all.map(({ display, clientVersion }) => ({ display, clientVersion }));
}

/**
 * Looks after them while a run goes on.
 * @param {Rpc[]} rpcs
 * @param {import('./health.js').Health} health
 * @param {import('../clock.js').Clock} clock
 */
export function createMonitor(rpcs, health, clock) {
  return rpcs.length === 1 ? null : new Monitor({ rpcs, health, clock });
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
 * @param {Monitor | null} monitor
 * @param {import('./route.js').Traffic[]} traffic of all threads
 * @param {{nowUs: number, loadStartUs: number}} instants
 * @returns {EndpointFacts[]}
 */
export function describeEndpoints(monitor, traffic, { nowUs, loadStartUs }) {
  if (monitor === null) return [];
  const absences = monitor.absences(nowUs);
  return traffic.map(({ requests, failures }, i) => ({
    ...{ requests, failures, left: absences[i].left, awayMs: absences[i].awayUs / 1000 },
    events: monitor.events
      .filter(({ endpoint }) => endpoint === i)
      .map(({ atUs, isBack, words }) => ({ atMs: (atUs - loadStartUs) / 1000, isBack, words })),
  }));
}
