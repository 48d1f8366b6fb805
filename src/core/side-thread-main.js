import { parentPort, workerData } from 'node:worker_threads';
import { createRpc, displayUrl, secretsOf } from '../chain/rpc.js';
import { randomNumbers } from '../random.js';
import { chooseTransport } from '../transport/choose.js';
import { createPlatform } from './platform.js';
import { serve } from './thread.js';

/**
 * The program of the threads that SideThread starts.
 *
 * @import { Rpc } from '../contracts/chain.d.ts'
 * @import { Platform } from '../contracts/load.d.ts'
 * @import { SideTask } from './side-thread.js'
 * @import { ThreadPort } from './thread.js'
 */

/** @param {SideTask} data @param {ThreadPort} port @param {Platform} platform */
export default async function main({ module, task, urls, names, network, seed }, port, platform) {
  const { clock, transports, openPages } = platform;
  const { headers, insecure, requestTimeoutMs: timeoutMs } = network;
  const { connections = 1, sendUrl = null } = task;
  const random = randomNumbers(seed);
  /** @param {string} text @param {string} name @returns {Rpc} */
  const openRpc = (text, name) => {
    const url = new URL(text);
    const open = transports[chooseTransport('auto', url)];
    const all = Array.from({ length: connections }, () => {
      const transport = open({ url, connections: 1, timeoutMs, headers, insecure });
      return createRpc(transport, name, { secrets: secretsOf(url, headers), sending: network });
    });
    /** @type {Rpc['call']} */
    const call = (...request) => all[Math.floor(random() * connections)].call(...request);
    return { ...all[0], call };
  };
  const sending = sendUrl === null ? null : openRpc(sendUrl, displayUrl(new URL(sendUrl)));
  const rpcs = urls.map((text, i) => {
    const rpc = openRpc(text, names[i]);
    /** @type {Rpc['call']} */
    const call = (method, ...rest) =>
      (method === 'eth_sendRawTransaction' ? (sending ?? rpc) : rpc).call(method, ...rest);
    return { ...rpc, call };
  });
  const { default: work } = await import(module);
  /** @param {(message: any) => void} listener */
  const onMessage = (listener) => {
    port.on('message', ({ message }) => message !== undefined && listener(message));
  };
  const post = (/** @type {object} */ message) => port.postMessage({ message });
  serve(port, () => work(task, rpcs, { onMessage, post, clock, random, openPages }));
}

const port = /** @type {ThreadPort | null} */ (/** @type {unknown} */ (parentPort));
if (port !== null) await main(workerData, port, createPlatform());
