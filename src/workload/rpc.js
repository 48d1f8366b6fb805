import { createCalls, resumeCalls } from './calls.js';

/**
 * @import { Request } from '../chain/rpc.js'
 * @import { InputError, UsageError } from '../errors.js'
 * @import { CallWorkload, Settings, WorkloadOptions } from './index.js'
 */

/**
 * Plain calls, so that the HTTP layer can be compared with tools that only do HTTP, and reads measured as users make
 * them: the same one each time (--method), or several in a mix (--calls). An answer counts when it is JSON-RPC, has the
 * id of its request, and holds a result.
 *
 * @param {WorkloadOptions} options
 * @returns {Promise<CallWorkload>}
 * @throws {InputError | UsageError}
 */
export async function createRpcWorkload(options) {
  const { settings, state } = options;
  const known = /** @type {{request?: Request}} */ (state ?? {});
  if (state === undefined && settings.calls) return createCalls(options, settings.calls);
  if (state !== undefined && known.request === undefined) return resumeCalls(options);
  const request = known.request ?? { method: String(settings.method), params: settings.params ?? [] };
  return { kind: 'call', next: () => request, check: () => null, handOver: () => ({ request }) };
}

/** @param {Settings} settings */
export function whatRpcLacks({ method = null, calls = null }) {
  return method === null && calls === null ? 'needs --method, for instance eth_blockNumber, or --calls' : null;
}
