import { UsageError } from '../errors.js';

/**
 * Plain calls, the same one each time, so that the HTTP layer can be compared with tools that only do HTTP. An answer
 * counts when it is JSON-RPC, has the id of its request, and holds a result.
 *
 * @param {import('./index.js').WorkloadOptions} options
 * @returns {import('./index.js').CallWorkload}
 * @throws {UsageError} without a method
 */
export function createRpcWorkload({ settings, state }) {
  const { method = null, params = null } = settings;
  const request = state === undefined ? { method, params: params ?? [] } : /** @type {any} */ (state);
  if (request.method === null) throw new UsageError('--workload rpc needs --method, for instance eth_blockNumber');
  return { kind: 'call', next: () => request, check: () => null, handOver: () => request };
}
