import { parentPort, workerData } from 'node:worker_threads';
import { createRpc, secretsOf } from '../chain/rpc.js';
import { chooseTransport } from '../transport/choose.js';
import { transports } from '../transport/index.js';

/**
 * The program of the threads that SideThread starts.
 *
 * @import { MessagePort } from 'node:worker_threads'
 * @import { SideTask } from './side-thread.js'
 */

const port = /** @type {MessagePort} */ (parentPort);
/** @type {SideTask} */
const { module, task, urls, names, headers, insecure, requestTimeoutMs: timeoutMs } = workerData;
const rpcs = urls.map((text, i) => {
  const url = new URL(text);
  const open = transports[chooseTransport('auto', url)];
  const transport = open({ url, connections: 1, timeoutMs, headers, insecure });
  return createRpc(transport, names[i], { secrets: secretsOf(url, headers) });
});
const { default: work } = await import(module);
const onMessage = (/** @type {(message: any) => void} */ listener) => port.on('message', listener);
const post = (/** @type {object} */ message) => port.postMessage({ message });
port.postMessage({ result: await work(task, rpcs, onMessage, post) });
