/** A node that contradicts itself now and then: a proxy, over HTTP and WebSocket, that changes one answer in so many. */
import { once } from 'node:events';
import { WebSocket, WebSocketServer } from 'ws';
import { rpcCall } from './anvil.js';
import { passOn, serve } from './endpoint.js';

/**
 * @import { AddressInfo } from 'node:net'
 *
 * @typedef {(method: string, params?: unknown[]) => Promise<any>} Ask the node itself
 * @typedef {{jsonrpc: string, id: unknown, result?: any, error?: any}} Reply
 *
 * @typedef {object} Fault
 * @property {(method: string, params: any[], reply: Reply) => boolean} [applies] to this answer
 * @property {(reply: Reply, params: any[], ask: Ask) => Promise<Reply> | Reply} [change]
 * @property {(send: () => void) => void} [ofHead] in place of sending a head of a subscription
 */

const hex = (/** @type {number} */ number) => `0x${number.toString(16)}`;
/** @param {Reply} reply */
const hasLogs = ({ result }) => Array.isArray(result) && result.length > 0;

/** @type {Record<string, Fault>} by the code that must be found */
export const FAULTS = {
  stale_read: {
    applies: (method) => method === 'eth_call',
    change: async (reply, [call], ask) => {
      const head = Number(await ask('eth_blockNumber'));
      return { ...reply, result: await ask('eth_call', [call, hex(Math.max(0, head - 20))]) };
    },
  },
  stale_nonce: {
    applies: (method, [, tag], { result }) =>
      method === 'eth_getTransactionCount' && tag === 'latest' && Number(result) > 0,
    change: (reply) => ({ ...reply, result: hex(Number(reply.result) - 1) }),
  },
  logs_missing: {
    applies: (method, _, reply) => method === 'eth_getLogs' && hasLogs(reply),
    change: (reply) => ({ ...reply, result: reply.result.slice(1) }),
  },
  logs_foreign: {
    applies: (method, _, reply) => method === 'eth_getLogs' && hasLogs(reply),
    change: (reply) => {
      const [log] = reply.result;
      const other = { ...log, blockNumber: hex(Number(log.blockNumber) - 1), blockHash: `0x${'5'.repeat(64)}` };
      return { ...reply, result: [...reply.result, other] };
    },
  },
  unknown_block_list: {
    applies: (method, _, { error }) => method === 'eth_getLogs' && error !== undefined,
    change: ({ jsonrpc, id }) => ({ jsonrpc, id, result: [] }),
  },
  receipt_mismatch: {
    applies: (method, _, { result }) => method === 'eth_getTransactionReceipt' && (result ?? null) !== null,
    change: async (reply, _, ask) => {
      const { transactions } = await ask('eth_getBlockByNumber', [reply.result.blockNumber, false]);
      const neighbour = transactions.find((/** @type {string} */ hash) => hash !== reply.result.transactionHash);
      return neighbour === undefined
        ? reply
        : { ...reply, result: await ask('eth_getTransactionReceipt', [neighbour]) };
    },
  },
  block_changed: {
    applies: (method, _, { result }) => method === 'eth_getBlockByHash' && (result ?? null) !== null,
    change: (reply) => ({ ...reply, result: { ...reply.result, stateRoot: `0x${'7'.repeat(64)}` } }),
  },
  head_back: {
    applies: (method, [tag], { result }) =>
      method === 'eth_getBlockByNumber' && tag === 'latest' && Number(result?.number) > 10,
    change: async (reply, [, whole], ask) => {
      const before = hex(Number(reply.result.number) - 3);
      return { ...reply, result: await ask('eth_getBlockByNumber', [before, whole]) };
    },
  },
  head_repeated: {
    ofHead: (send) => {
      send();
      send();
    },
  },
  head_skipped: { ofHead: () => {} },
};

/**
 * @param {string} url of the node, http
 * @param {Fault} fault
 * @param {number} every one in so many answers (or heads) is changed
 */
export async function startInconsistentNode(url, fault, every) {
  let isOn = false;
  let eligible = 0;
  let changed = 0;
  const isDue = () => isOn && (eligible += 1) % every === 0 && (changed += 1) > 0;

  /** @type {Ask} */
  const ask = (method, params) => rpcCall(url, method, params).catch(() => undefined);
  /** @param {any} sent @param {Reply} reply */
  const through = async ({ method, params = [] }, reply) =>
    fault.applies?.(method, params, reply) && isDue() ? /** @type {any} */ (fault).change(reply, params, ask) : reply;
  /** @param {string} text */
  const answer = async (text) => {
    const body = JSON.parse(text);
    const reply = JSON.parse((await passOn(url, text)).body);
    if (!Array.isArray(body)) return JSON.stringify(await through(body, reply));
    /** @type {Map<unknown, Reply>} */
    const replies = new Map(reply.map((/** @type {Reply} */ one) => [one.id, one]));
    return JSON.stringify(
      await Promise.all(body.map((one) => through(one, /** @type {Reply} */ (replies.get(one.id))))),
    );
  };

  const { url: http } = await serve(async (body) => ({ body: await answer(body) }));
  const sockets = new WebSocketServer({ host: '127.0.0.1', port: 0 });
  sockets.on('connection', (client) => {
    // Subscriptions go over a connection of their own; all else is answered as over HTTP.
    const node = new WebSocket(url.replace('http', 'ws'));
    node.on('message', (data) => {
      const text = String(data);
      if (!text.includes('eth_subscription') || fault.ofHead === undefined || !isDue()) client.send(text);
      else fault.ofHead(() => client.send(text));
    });
    const opened = once(node, 'open');
    client.on('message', (data) => {
      const text = String(data);
      if (text.includes('subscribe"')) void opened.then(() => node.send(text));
      else void answer(text).then((body) => client.send(body));
    });
    client.on('close', () => node.terminate());
    client.on('error', () => node.terminate());
    node.on('error', () => client.terminate());
  });
  await once(sockets, 'listening');
  const { port } = /** @type {AddressInfo} */ (sockets.address());
  return {
    http,
    ws: `ws://127.0.0.1:${port}`,
    changed: () => changed,
    begin: () => (isOn = true),
    stop: () => {
      sockets.clients.forEach((client) => client.terminate());
      sockets.close();
    },
  };
}
