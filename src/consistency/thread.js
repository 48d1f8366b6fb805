import { createClock } from '../clock.js';
import { serveThread } from '../transport/side-thread.js';
import { ConsistencyChecker } from './checker.js';
import { CheckedEndpoint } from './endpoint.js';
import { SubscriptionCheck } from './subscription.js';

/**
 * The thread of --check consistency.
 *
 * @import { Rpc } from '../types.d.ts'
 * @import { VerifiedOperation } from './checks.js'
 *
 * @typedef {{share: number}} ConsistencyTask share: of the requests of the load, 0 to 1
 *
 * @typedef {{type: 'operation', operation: VerifiedOperation} | {type: 'requests', requests: number} | {type: 'report'}} ConsistencyMessage
 *   requests: of the load so far
 */

/**
 * @param {ConsistencyTask} task
 * @param {Rpc[]} rpcs
 * @param {string[]} names
 * @param {(listener: (message: ConsistencyMessage) => void) => void} onMessage
 */
async function work({ share }, rpcs, names, onMessage) {
  const clock = createClock();
  const over = new AbortController();
  const endpoints = rpcs.map((rpc) => new CheckedEndpoint(rpc, clock, over.signal));
  const checker = new ConsistencyChecker({ endpoints, names, clock, signal: over.signal, share });
  onMessage((message) => {
    if (message.type === 'operation') checker.add(message.operation);
    else if (message.type === 'requests') checker.noteRequests(message.requests);
    else over.abort();
  });
  await Promise.all([
    ...endpoints.map((endpoint, i) => new SubscriptionCheck(checker, endpoint, names[i]).begin()),
    checker.run(),
  ]);
  return checker.report();
}

await serveThread(work);
