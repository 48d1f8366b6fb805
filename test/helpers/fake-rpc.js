/** @import { Rpc } from '../../src/contracts/chain.d.ts' */

/**
 * The Rpc interface of src/chain/rpc.js without a transport: each method answers with what a function returns, or
 * throws. Every call is noted.
 *
 * @typedef {Record<string, (...params: any[]) => any>} Handlers
 */

const BLOCK = 'eth_getBlockByNumber';

/**
 * @param {Handlers} handlers by JSON-RPC method
 * @returns {Rpc & {calls: Array<{method: string, params: any[], purpose: string}>, count: (method?: string) => number}}
 */
export function fakeRpc(handlers) {
  /** @type {Array<{method: string, params: any[], purpose: string}>} */
  const calls = [];
  /** A block has the transactions of its receipts. @param {string} number */
  const blockOf = async (number) => {
    const receipts = await handlers.eth_getBlockReceipts(number);
    if (!Array.isArray(receipts)) return null;
    return {
      number,
      hash: `0x${'b'.repeat(64)}`,
      transactions: receipts.map(({ transactionHash }) => transactionHash),
    };
  };
  /** @type {Rpc['call']} */
  const call = async (method, params, purpose, onSent) => {
    calls.push({ method, params, purpose });
    onSent?.();
    const handler = handlers[method];
    if (handler === undefined && method === BLOCK && handlers.eth_getBlockReceipts) return blockOf(String(params[0]));
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

/** An answer of a method that fails. @param {Error} error @returns {() => never} */
export const fails = (error) => () => {
  throw error;
};
