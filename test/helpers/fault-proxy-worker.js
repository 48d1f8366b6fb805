/** The thread behind startFaultProxy(). */
import { createServer } from 'node:net';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { parentPort, workerData } from 'node:worker_threads';
import { request as httpRequest } from 'undici';
import { randomNumbers } from '../../src/random.js';
import { serveConnection } from './fault-connection.js';

/**
 * @import { Fault, FaultCounts } from './fault-proxy.js'
 * @import { AddressInfo, Socket } from 'node:net'
 */

/** How often the node's head is asked for, for an endpoint that lags. */
const HEAD_EVERY_MS = 20;

/** How many of the node's blocks are remembered. */
const MOST_BLOCKS = 1000;

/**
 * @typedef {object} Shared what all connections have in common
 * @property {string} host of the node
 * @property {number} port
 * @property {() => number} random in [0, 1)
 * @property {Fault | null} fault
 * @property {Promise<void>} open resolved unless nothing passes
 * @property {FaultCounts} counts
 * @property {Map<string, number>} blocks the node's latest ones, by hash, while a client lags
 * @property {Set<() => void>} held answers that wait until another one has passed
 */

const { host, port, seed } = workerData;
/** @type {Shared} */
const shared = {
  host,
  port,
  random: randomNumbers(seed),
  fault: null,
  open: Promise.resolve(),
  blocks: new Map(),
  held: new Set(),
  counts: { connections: 0, requests: 0, submissions: 0, faults: 0, faultsOnSubmissions: 0, refusals: 0 },
};
/** @type {Set<Socket>} */
const clients = new Set();
/** Ends what the current fault has started. @type {() => void} */
let end = () => {};

const server = createServer({ noDelay: true }, (client) => {
  clients.add(client);
  client.on('close', () => clients.delete(client));
  serveConnection(client, shared);
});

const COMMANDS = {
  listen: async () => {
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return /** @type {AddressInfo} */ (server.address()).port;
  },
  counts: async () => shared.counts,
  met: async (/** @type {number} */ submissions) => {
    while (shared.counts.faultsOnSubmissions < submissions) await sleep(5);
  },
  set: async (/** @type {Fault | null} */ fault) => {
    end();
    end = () => {};
    if (fault?.kind === 'blackhole') {
      const { promise, resolve } = withResolvers();
      shared.open = promise;
      end = resolve;
    }
    if (fault?.kind === 'drop') {
      const timer = setInterval(dropAll, fault.everyMs);
      end = () => clearInterval(timer);
    }
    if (fault?.kind === 'lag') end = await followHead();
    shared.fault = fault;
  },
};

/** Promise.withResolvers, which Node 20 lacks. @returns {{promise: Promise<void>, resolve: () => void}} */
function withResolvers() {
  let resolve = () => {};
  const promise = new Promise((/** @type {(value: void) => void} */ done) => (resolve = done));
  return { promise, resolve };
}

function dropAll() {
  for (const client of clients) {
    shared.counts.faults += 1;
    client.resetAndDestroy();
  }
}

/** @returns {Promise<() => void>} when the first head is known; what comes back ends it */
async function followHead() {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_getBlockByNumber', params: ['latest', false] });
  const look = async () => {
    const headers = { 'content-type': 'application/json' };
    const response = await httpRequest(`http://${host}:${port}`, { method: 'POST', headers, body });
    const { result } = /** @type {any} */ (await response.body.json());
    shared.blocks.set(result.hash, Number(result.number));
    if (shared.blocks.size > MOST_BLOCKS) shared.blocks.delete([...shared.blocks.keys()][0]);
  };
  await look();
  const timer = setInterval(() => void look().catch(() => {}), HEAD_EVERY_MS);
  return () => clearInterval(timer);
}

/** @param {{id: number, name: string, argument: unknown}} message */
async function obey({ id, name, argument }) {
  const command = /** @type {Record<string, (argument: any) => Promise<unknown>>} */ (COMMANDS)[name];
  parentPort?.postMessage({ id, result: await command(argument) });
}
parentPort?.on('message', (message) => void obey(message));
