import { RpcError } from '../../src/errors.js';

/** @import { Rpc } from '../../src/types.d.ts' */

/**
 * The Rpc interface of src/chain/rpc.js without a transport: each method answers with what a function returns, or
 * throws. Every call is noted.
 *
 * @typedef {Record<string, (...params: any[]) => any>} Handlers
 */

const COUNT = 'eth_getBlockTransactionCountByNumber';

/**
 * @param {Handlers} handlers by JSON-RPC method
 * @returns {Rpc & {calls: Array<{method: string, params: any[], purpose: string}>, count: (method?: string) => number}}
 */
export function fakeRpc(handlers) {
  /** @type {Array<{method: string, params: any[], purpose: string}>} */
  const calls = [];
  const receiptsOf = async (/** @type {any[]} */ params) => {
    const receipts = await handlers.eth_getBlockReceipts?.(...params);
    if (!Array.isArray(receipts)) throw new RpcError(COUNT, -32601, 'method not found');
    return receipts;
  };
  /** @type {Rpc['call']} */
  const call = async (method, params, purpose, onSent) => {
    const handler = handlers[method];
    // A block has as many transactions as receipts.
    if (handler === undefined && method === COUNT) return `0x${(await receiptsOf(params)).length.toString(16)}`;
    calls.push({ method, params, purpose });
    onSent?.();
    if (handler === undefined) throw new Error(`the test has no answer for ${method}`);
    return handler(...params);
  };
  return {
    display: 'http://fake',
    secrets: [],
    call,
    gather: (method, params, purpose) => call(method, params, purpose),
    batch: (requests, purpose) => Promise.all(requests.map(({ method, params }) => call(method, params, purpose))),
    subscribe: null,
    callCounts: () => ({}),
    batchFacts: () => ({ limit: 100, largest: 1, refused: 0, why: null }),
    calls,
    count: (method) => calls.filter((made) => method === undefined || made.method === method).length,
  };
}
