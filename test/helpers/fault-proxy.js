/**
 * A TCP proxy before a real node that does what networks, gateways and nodes do when things break. It runs in a thread
 * of its own (fault-proxy-worker.js), so that neither the test nor the proxy waits for the other.
 */
import { Worker } from 'node:worker_threads';
import { after } from 'node:test';

/**
 * @typedef {'reset' | 'latency' | 'blackhole' | 'halfOpen' | 'truncate' | 'duplicate' | 'reorder' | 'shuffle' | 'status' | 'html'
 *   | 'wrongId' | 'noMethod' | 'noBatches' | 'lag' | 'swallow' | 'drop' | 'missHeads'} FaultKind
 *
 * @typedef {object} Fault
 * @property {FaultKind} kind
 * @property {number} [p] the share of requests that it meets, 1 by default; of connections with halfOpen and lag
 * @property {'before' | 'reached' | 'during' | 'after'} [when] of a reset: before the node has the request, when the node has
 *   answered and the client does not know it, when a part of the answer is written, after the answer; of halfOpen: the first (by default) or the
 *   second of them
 * @property {number} [ms] of latency
 * @property {number} [jitterMs] of latency
 * @property {string} [status] with its words
 * @property {string[]} [headers] of such an answer
 * @property {string[]} [methods] only requests with one of them are met; with noMethod they are not there
 * @property {number} [blocks] that it lags
 * @property {number} [everyMs] between drops of all connections
 *
 * @typedef {object} FaultCounts
 * @property {number} connections accepted
 * @property {number} requests read
 * @property {number} submissions of them, those that carry a transaction
 * @property {number} faults that happened
 * @property {number} faultsOnSubmissions of them
 * @property {number} refusals of transactions, by the node itself
 *
 * @typedef {object} FaultProxy
 * @property {string} url
 * @property {string} wsUrl
 * @property {(fault: Fault) => Promise<void>} set from now on, in place of the one before
 * @property {() => Promise<void>} clear
 * @property {() => Promise<FaultCounts>} counts
 * @property {(submissions: number) => Promise<void>} met resolves when faults have met so many submissions
 * @property {() => Promise<void>} close
 */

const WORKER = new URL('fault-proxy-worker.js', import.meta.url);

/** @type {Set<Worker>} */
const running = new Set();
after(() => Promise.all([...running].map((worker) => worker.terminate())));

/**
 * @param {string} target URL of the node
 * @param {{seed?: number}} [options] the same seed chooses the same
 * @returns {Promise<FaultProxy>}
 */
export async function startFaultProxy(target, { seed = 1 } = {}) {
  const { hostname, port } = new URL(target);
  const worker = new Worker(WORKER, { workerData: { host: hostname, port: Number(port), seed } });
  running.add(worker);
  worker.unref();
  let lastId = 0;
  /** @type {Map<number, (result: any) => void>} */
  const waiting = new Map();
  worker.on('message', ({ id, result }) => {
    waiting.get(id)?.(result);
    waiting.delete(id);
  });
  /** @param {string} name @param {unknown} [argument] @returns {Promise<any>} */
  const ask = (name, argument) =>
    new Promise((resolve, reject) => {
      lastId += 1;
      waiting.set(lastId, resolve);
      worker.once('error', reject);
      worker.postMessage({ id: lastId, name, argument });
    });
  const own = await ask('listen');
  return {
    url: `http://127.0.0.1:${own}`,
    wsUrl: `ws://127.0.0.1:${own}`,
    set: (fault) => ask('set', fault),
    clear: () => ask('set', null),
    counts: () => ask('counts'),
    met: (submissions) => ask('met', submissions),
    close: async () => {
      running.delete(worker);
      await worker.terminate();
    },
  };
}
