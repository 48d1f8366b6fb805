/** A node that contradicts itself now and then: a proxy, over HTTP and WebSocket, that changes one answer in so many. */
import { Agent, createServer, request } from 'node:http';
import { once } from 'node:events';
import { WebSocket, WebSocketServer } from 'ws';

/**
 * @import { IncomingMessage } from 'node:http'
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
  const agent = new Agent({ keepAlive: true });
  const upstream = new URL(url);
  let isOn = false;
  let eligible = 0;
  let changed = 0;
  const isDue = () => isOn && (eligible += 1) % every === 0 && (changed += 1) > 0;

  /** @param {unknown} body @returns {Promise<any>} */
  const post = async (body) => {
    const sent = request(upstream, { method: 'POST', agent, headers: { 'content-type': 'application/json' } });
    sent.end(JSON.stringify(body));
    const [response] = await once(sent, 'response');
    let text = '';
    for await (const chunk of response.setEncoding('utf8')) text += chunk;
    return JSON.parse(text);
  };
  /** @type {Ask} */
  const ask = async (method, params = []) => (await post({ jsonrpc: '2.0', id: 1, method, params })).result;
  /** @param {any} sent @param {Reply} reply */
  const through = async ({ method, params = [] }, reply) =>
    fault.applies?.(method, params, reply) && isDue() ? /** @type {any} */ (fault).change(reply, params, ask) : reply;
  /** @param {string} text */
  const answer = async (text) => {
    const body = JSON.parse(text);
    const reply = await post(body);
    const replies = Array.isArray(body)
      ? await Promise.all(
          body.map((one) =>
            through(
              one,
              reply.find((/** @type {Reply} */ { id }) => id === one.id),
            ),
          ),
        )
      : await through(body, reply);
    return JSON.stringify(replies);
  };

  /** @param {IncomingMessage} request */
  const read = async (request) => {
    let text = '';
    for await (const chunk of request.setEncoding('utf8')) text += chunk;
    return text;
  };
  const server = createServer((request, response) => {
    void read(request)
      .then(answer)
      .then(
        (body) => response.end(body),
        () => response.destroy(),
      );
  });
  const sockets = new WebSocketServer({ server });
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
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = /** @type {AddressInfo} */ (server.address());
  return {
    http: `http://127.0.0.1:${port}`,
    ws: `ws://127.0.0.1:${port}`,
    changed: () => changed,
    begin: () => (isOn = true),
    stop: () => {
      sockets.clients.forEach((client) => client.terminate());
      server.close();
      server.closeAllConnections();
      agent.destroy();
    },
  };
}
