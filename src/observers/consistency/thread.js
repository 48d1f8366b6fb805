import { numbered } from '../../text.js';
import { ConsistencyChecker } from './checker.js';
import { CheckedEndpoint } from './endpoint.js';
import { checkSubscription } from './subscription.js';

/**
 * The thread of --check consistency.
 *
 * @import { Consistency } from '../../contracts/run-file.d.ts'
 * @import { SideWork } from '../../core/side-thread.js'
 * @import { VerifiedOperation } from './checks.js'
 *
 * @typedef {{operation?: VerifiedOperation, requests?: number, isOver?: boolean}} ConsistencyMessage requests: of the load so far
 */

/** @type {SideWork<{share: number}, ConsistencyMessage, Consistency>} */
export default async function check({ share }, rpcs, { onMessage, post, clock, random }) {
  const over = new AbortController();
  const { signal } = over;
  const names = numbered(rpcs.map(({ display }) => display));
  const endpoints = rpcs.map((rpc, i) => new CheckedEndpoint(rpc, names[i], clock, signal));
  const onViolation = (/** @type {string} */ code, /** @type {string} */ words) => post({ code, words });
  const checker = new ConsistencyChecker({ endpoints, clock, random, signal, share, onViolation });
  const ended = new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
  onMessage(({ operation, requests, isOver }) => {
    if (operation !== undefined) checker.add(operation);
    if (requests !== undefined) checker.noteRequests(requests);
    if (isOver) over.abort();
  });
  post({});
  // Requests under way are not waited for.
  await Promise.race([
    ended,
    Promise.all([
      checker.run(),
      ...endpoints.map((endpoint) => checkSubscription({ checker, endpoint, clock, signal })),
    ]),
  ]);
  return checker.report();
}
