/** A network of AvalancheGo nodes on loopback: one consensus node, and API nodes that are bootstrapped from it. */
import { randomInt } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { isFree } from '../../src/chain/devchain.js';
import { UnavailableError } from '../../src/errors.js';
import { startAvalanche } from './avalanche.js';
import { call } from './build.js';

/** @import { RunningNode } from './build.js' */

/** Below the ports that systems give to outgoing connections, which could take the port of a stopped node. */
const PORTS = { from: 10_000, to: 30_000 };
const CATCH_UP_TIMEOUT_MS = 120_000;
const POLL_MS = 50;

/**
 * @typedef {object} NetworkNode
 * @property {string} name
 * @property {string} url the same in each of its lives
 * @property {() => Promise<number>} height the number of the last block it knows
 * @property {() => Promise<void>} start begins a life without data; over when its RPC answers, perhaps with an empty chain
 * @property {() => Promise<void>} ready is over when it knows the blocks that the consensus node knows
 * @property {() => Promise<void>} wipe ends it as kill -9 does and removes its data
 *
 * @typedef {object} Network
 * @property {NetworkNode} consensus
 * @property {NetworkNode[]} api
 * @property {() => Promise<void>} stop ends all nodes and removes their data
 */

/**
 * @param {{apiNodes: number}} options
 * @returns {Promise<Network>}
 */
export async function startNetwork({ apiNodes }) {
  const first = await freePorts(2 * (1 + apiNodes));
  const consensus = createNode('the consensus node', { port: first, stakingPort: first + 1 });
  const nodes = [consensus];
  const stop = async () => void (await Promise.all(nodes.map((node) => node.wipe())));
  try {
    await consensus.start();
    const bootstrap = { address: `127.0.0.1:${first + 1}`, id: await nodeId(consensus) };
    for (let i = 1; i <= apiNodes; i += 1) {
      const ports = { port: first + 2 * i, stakingPort: first + 2 * i + 1 };
      nodes.push(createNode(`API node ${i}`, { ...ports, bootstrap }, consensus));
    }
    const [, ...api] = nodes;
    await Promise.all(api.map((node) => node.start()));
    return { consensus, api, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/**
 * @param {string} name
 * @param {NonNullable<Parameters<typeof startAvalanche>[0]> & {port: number}} options of each of its lives
 * @param {NetworkNode} [leader] whose blocks it has to know
 * @returns {NetworkNode}
 */
function createNode(name, options, leader) {
  const url = `http://127.0.0.1:${options.port}/ext/bc/C/rpc`;
  /** @type {RunningNode | undefined} */
  let life;
  const height = async () => Number(await call(url, 'eth_blockNumber'));
  return {
    name,
    url,
    height,
    start: async () => {
      life = await startAvalanche(options);
    },
    ready: async () => {
      if (!leader) return;
      const deadline = performance.now() + CATCH_UP_TIMEOUT_MS;
      // One that is too busy to say where it is, is not ready.
      const isBehind = async () => (await height()) < (await leader.height());
      while (await isBehind().catch(() => true)) {
        if (performance.now() > deadline) throw new UnavailableError(`${name} is still behind ${leader.name}`);
        await sleep(POLL_MS);
      }
    },
    // Its data are in a temporary folder: to stop it is to kill it and to remove that.
    wipe: async () => {
      await life?.stop();
      life = undefined;
    },
  };
}

/** @param {NetworkNode} node */
async function nodeId({ url }) {
  const { nodeID } = /** @type {{nodeID: string}} */ (await call(new URL('/ext/info', url).href, 'info.getNodeID'));
  return nodeID;
}

/** @param {number} count @returns {Promise<number>} the first of so many ports that were free a moment ago */
async function freePorts(count) {
  for (;;) {
    const first = randomInt(PORTS.from, PORTS.to);
    const free = await Promise.all(Array.from({ length: count }, (_, i) => isFree(first + i)));
    if (free.every(Boolean)) return first;
  }
}

/**
 * Takes a node away without a warning and gives it back without its data, so that it has to catch up.
 * @param {NetworkNode} node
 * @param {object} options
 * @param {number} options.downMs time without a node
 * @param {(event: 'killed' | 'started' | 'answers' | 'caught up', height: number | null) => void} options.onEvent
 */
export async function rotate(node, { downMs, onEvent }) {
  await node.wipe();
  onEvent('killed', null);
  await sleep(downMs);
  onEvent('started', null);
  await node.start();
  onEvent('answers', await node.height());
  await node.ready();
  onEvent('caught up', await node.height());
}
