/**
 * A network of AvalancheGo nodes on loopback: one consensus node, and API nodes that are bootstrapped from it:
 * `npm run node:avalanche-network`, and `startNetwork` and `rotate` for tests.
 *
 *   --api-nodes N      2 by default
 *   --port N           of the consensus node's RPC, 9650 by default; each node takes two ports, those of the next node
 *                      follow. 0 takes any that are free
 *   --rotate SECONDS   so often an API node, each in its turn, is killed and comes back without its data
 *   --down SECONDS     how long it stays away, 10 by default
 */
import { randomInt } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { isFree } from '../../src/chain/devchain.js';
import { DEV_MNEMONIC } from '../../src/chain/keys.js';
import { UnavailableError, UsageError, oneLine } from '../../src/errors.js';
import { FUNDER_KEY, startAvalanche } from './avalanche.js';
import { call, parsePort, serve } from './build.js';

/** @import { RunningNode } from './build.js' */

/** Below the ports that systems give to outgoing connections, which could take the port of a stopped node. */
const PORTS = { from: 10_000, to: 30_000 };
const MAX_API_NODES = 8;
const MAX_SECONDS = 3_600;
const CATCH_UP_TIMEOUT_MS = 120_000;
const POLL_MS = 50;

/**
 * @typedef {object} NetworkNode
 * @property {string} name
 * @property {string} url the same in each of its lives
 * @property {() => number | undefined} pid of its present life
 * @property {() => Promise<number>} height the number of the last block it knows
 * @property {() => Promise<void>} start begins a life without data; over when its RPC answers, perhaps with an empty chain
 * @property {() => Promise<void>} ready is over when it knows the blocks that the consensus node knows
 * @property {() => Promise<void>} wipe ends it as kill -9 does and removes its data
 * @property {() => Promise<string>} ended keeps this process alive until the node has ended, and gives its last words
 *
 * @typedef {object} Network
 * @property {NetworkNode} consensus
 * @property {NetworkNode[]} api
 * @property {() => Promise<void>} stop ends all nodes and removes their data
 */

/**
 * @param {object} [options]
 * @param {number} [options.apiNodes]
 * @param {number} [options.port] of the consensus node's RPC; 0 takes any
 * @param {AbortSignal} [options.signal] stops the network, or its start
 * @returns {Promise<Network>}
 */
export async function startNetwork({ apiNodes = 2, port = 0, signal } = {}) {
  const first = port || (await freePorts(2 * (1 + apiNodes)));
  const consensus = createNode('the consensus node', { port: first, stakingPort: first + 1, signal });
  const nodes = [consensus];
  const stop = async () => void (await Promise.all(nodes.map((node) => node.wipe())));
  try {
    await consensus.start();
    const bootstrap = { address: `127.0.0.1:${first + 1}`, id: await nodeId(consensus) };
    for (let i = 1; i <= apiNodes; i += 1) {
      const ports = { port: first + 2 * i, stakingPort: first + 2 * i + 1 };
      nodes.push(createNode(`API node ${i}`, { ...ports, bootstrap, signal }, consensus));
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
    pid: () => life?.pid,
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
    ended: async () => life?.ended() ?? 'it was not started',
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
 * @param {AbortSignal} [options.signal] ends the wait
 */
export async function rotate(node, { downMs, onEvent, signal }) {
  await node.wipe();
  onEvent('killed', null);
  await sleep(downMs, undefined, { signal });
  onEvent('started', null);
  await node.start();
  onEvent('answers', await node.height());
  await node.ready();
  onEvent('caught up', await node.height());
}

/**
 * What --rotate asks for, until the signal.
 * @param {Network} network
 * @param {{everyMs: number, downMs: number, signal: AbortSignal}} options
 * @returns {Promise<never>}
 */
async function keepRotating({ api, stop }, { everyMs, downMs, signal }) {
  try {
    for (let turn = 0; ; turn += 1) {
      await sleep(everyMs, undefined, { signal });
      const node = api[turn % api.length];
      const startedAtMs = performance.now();
      await rotate(node, {
        downMs,
        signal,
        onEvent: (event, height) => {
          const seconds = ((performance.now() - startedAtMs) / 1000).toFixed(1);
          const block = height === null ? '' : `, at block ${height}`;
          console.log(`${new Date().toISOString()} ${node.name} ${event} after ${seconds} s${block}`);
        },
      });
    }
  } catch (error) {
    await stop();
    throw error;
  }
}

/** @param {string} name @param {string} text @param {number} most */
function count(name, text, most) {
  if (/^\d{1,6}$/.test(text) && Number(text) > 0 && Number(text) <= most) return Number(text);
  throw new UsageError(`--${name} ${oneLine(text)}: give a number from 1 to ${most}`);
}

/** Starts what the command line asks for. @param {AbortSignal} signal */
async function main(signal) {
  const { values } = parseArgs({
    options: {
      'api-nodes': { type: 'string', default: '2' },
      port: { type: 'string', default: '9650' },
      rotate: { type: 'string' },
      down: { type: 'string' },
    },
  });
  if (values.down !== undefined && values.rotate === undefined)
    throw new UsageError(
      `--down ${oneLine(values.down)} is the time that a node of --rotate is stopped: give --rotate too`,
    );
  const everyMs = values.rotate === undefined ? null : 1000 * count('rotate', values.rotate, MAX_SECONDS);
  const downMs = 1000 * count('down', values.down ?? '10', MAX_SECONDS);
  const apiNodes = count('api-nodes', values['api-nodes'], MAX_API_NODES);
  const network = await startNetwork({ apiNodes, port: parsePort(values.port), signal });
  const rotating = everyMs === null ? [] : [keepRotating(network, { everyMs, downMs, signal })];
  return { ...network, ended: () => Promise.race([network.consensus.ended(), ...rotating]) };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  await serve('node:avalanche-network', main, ({ consensus, api }) => {
    const endpoints = api.map(({ url }) => `--rpc ${url}`).join(' ');
    return [
      `AvalancheGo, chain id 43112: ${consensus.name} at ${consensus.url} (process ${consensus.pid()})`,
      ...api.map(({ name, url, pid }) => `${name} at ${url} (process ${pid()})`),
      `Load it: STRESS_FUNDER_KEY=${FUNDER_KEY} STRESS_MNEMONIC='${DEV_MNEMONIC}' npx evm-stress --chain-id 43112 ${endpoints} -t 50 --rate 20`,
    ].join('\n');
  });
}
