import { parentPort, workerData } from 'node:worker_threads';
import { createRpc, secretsOf } from '../chain/rpc.js';
import { chooseTransport } from '../transport/choose.js';
import { transports } from '../transport/index.js';

/**
 * The program of the threads that SideThread starts.
 *
 * @import { Rpc } from '../contracts/chain.d.ts'
 * @import { MessagePort } from 'node:worker_threads'
 * @import { SideTask } from './side-thread.js'
 */

const port = /** @type {MessagePort} */ (parentPort);
/** @type {SideTask} */
const { module, task, urls, names, network } = workerData;
const { headers, insecure, requestTimeoutMs: timeoutMs } = network;
const { connections = 1 } = task;
const rpcs = urls.map((text, i) => {
  const url = new URL(text);
  const open = transports[chooseTransport('auto', url)];
  const all = Array.from({ length: connections }, () => {
    const transport = open({ url, connections: 1, timeoutMs, headers, insecure });
    return createRpc(transport, names[i], { secrets: secretsOf(url, headers) });
  });
  /** @type {Rpc['call']} */
  const call = (...request) => all[Math.floor(Math.random() * connections)].call(...request);
  return { ...all[0], call };
});
const { default: work } = await import(module);
const onMessage = (/** @type {(message: any) => void} */ listener) => port.on('message', listener);
const post = (/** @type {object} */ message) => port.postMessage({ message });
port.postMessage({ result: await work(task, rpcs, onMessage, post) });
