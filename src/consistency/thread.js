/**
 * The thread of --check consistency, with connections of its own.
 *
 * @typedef {object} ConsistencyTask
 * @property {string[]} urls of the endpoints
 * @property {string[]} names of them in messages, without credentials
 * @property {OutgoingHttpHeaders | undefined} headers
 * @property {boolean} insecure
 * @property {number} requestTimeoutMs
 * @property {number} share of the requests of the load, 0 to 1
 *
 * @typedef {{type: 'operation', operation: VerifiedOperation} | {type: 'requests', requests: number} | {type: 'report'}} ConsistencyMessage
 *   requests: of the load so far
 */
import { parentPort, workerData } from 'node:worker_threads';
import { createRpc, secretsOf } from '../chain/rpc.js';
import { createClock } from '../clock.js';
import { chooseTransport, transports } from '../transport/index.js';
import { ConsistencyChecker } from './checker.js';
import { CheckedEndpoint } from './endpoint.js';
import { SubscriptionCheck } from './subscription.js';

/**
 * @import { OutgoingHttpHeaders } from 'node:http'
 * @import { MessagePort } from 'node:worker_threads'
 * @import { VerifiedOperation } from './checks.js'
 */

/** @param {ConsistencyTask} task @param {MessagePort} port */
async function work({ urls, names, headers, insecure, requestTimeoutMs, share }, port) {
  const clock = createClock();
  const over = new AbortController();
  const open = urls.map((text) => {
    const url = new URL(text);
    const transport = transports[chooseTransport('auto', url)]({
      url,
      connections: 1,
      timeoutMs: requestTimeoutMs,
      headers,
      insecure,
    });
    return { transport, rpc: createRpc(transport, names[urls.indexOf(text)], { secrets: secretsOf(url) }) };
  });
  const endpoints = open.map(({ rpc }) => new CheckedEndpoint(rpc, clock, over.signal));
  const checker = new ConsistencyChecker({ endpoints, names, clock, signal: over.signal, share });
  const subscriptions = endpoints.map((endpoint, i) => new SubscriptionCheck(checker, endpoint, names[i]));
  port.on('message', (/** @type {ConsistencyMessage} */ message) => {
    if (message.type === 'operation') checker.add(message.operation);
    else if (message.type === 'requests') checker.noteRequests(message.requests);
    else over.abort();
  });
  await Promise.all([...subscriptions.map((one) => one.begin()), checker.run()]);
  subscriptions.forEach((one) => one.end());
  port.postMessage(checker.report());
  await Promise.all(open.map(({ transport }) => transport.close()));
  port.close();
}

await work(workerData, /** @type {MessagePort} */ (parentPort));
