import { createServer } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import { after } from 'node:test';
import { request as httpRequest } from 'undici';
import { CERTIFICATE, CERTIFICATE_KEY } from './certificate.js';

/**
 * @import { IncomingHttpHeaders, IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http'
 * @import { Server as HttpsServer } from 'node:https'
 * @import { AddressInfo, Socket } from 'node:net'
 */

/**
 * Small HTTP servers that stand where a node is expected: ones that answer nonsense, ones that play a chain, and
 * ones that stand between the program and a real node. Each notes which JSON-RPC methods it was asked for.
 *
 * @typedef {object} Endpoint
 * @property {string} url
 * @property {string[]} methods asked for so far, those inside batches included
 *
 * @typedef {{id: number, method: string, params: any[]}} RpcRequest
 *
 * @typedef {object} Answer
 * @property {number} [status]
 * @property {Record<string, string>} [headers]
 * @property {string} body
 *
 * @typedef {(socket: Socket) => void} Raw writes an answer byte by byte
 *
 * @typedef {(body: string) => void | Promise<void>} Gate a request passes on when this has resolved; it hangs up when
 *   this fails
 */

/** Answers with this: no answer at all. */
export const SILENCE = Symbol('silence');
/** Answers with this: the connection is closed. */
export const HANG_UP = Symbol('hang up');

/** @type {Set<Server | HttpsServer>} */
const servers = new Set();
after(() => {
  for (const server of servers) {
    server.close();
    server.closeAllConnections();
  }
});

/**
 * @param {(body: string, headers: IncomingHttpHeaders, request: IncomingMessage) => Answer | Raw | typeof SILENCE | typeof HANG_UP | Promise<Answer | Raw>} respond
 * @param {{isSecure?: boolean, port?: number}} [options] isSecure: it speaks https with a certificate of its own
 * @returns {Promise<Endpoint>} it ends when the tests of the file end
 */
export async function serve(respond, { isSecure = false, port: wanted = 0 } = {}) {
  /** @type {string[]} */
  const methods = [];
  /** @param {IncomingMessage} request @param {ServerResponse} response */
  const handle = async (request, response) => {
    let body = '';
    for await (const chunk of request.setEncoding('utf8')) body += chunk;
    methods.push(...requestsIn(body).map(({ method }) => method));
    const answer = await respond(body, request.headers, request);
    if (answer === SILENCE) return;
    if (answer === HANG_UP) return void request.socket.destroy();
    if (typeof answer === 'function') return answer(request.socket);
    response.writeHead(answer.status ?? 200, { 'content-type': 'application/json', ...answer.headers });
    response.end(answer.body);
  };
  // Who asked may be gone, and so may the node behind a server that stands between.
  /** @type {RequestListener} */
  const listener = (request, response) => void handle(request, response).catch(() => response.destroy());
  const identity = { cert: CERTIFICATE, key: CERTIFICATE_KEY };
  const server = isSecure ? createHttpsServer(identity, listener) : createServer(listener);
  // An idle connection is not closed: a request may be on its way then, and would be lost.
  server.keepAliveTimeout = 0;
  servers.add(server);
  await new Promise((resolve) => server.listen(wanted, '127.0.0.1', () => resolve(undefined)));
  const { port } = /** @type {AddressInfo} */ (server.address());
  return { url: `${isSecure ? 'https' : 'http'}://127.0.0.1:${port}`, methods };
}

/**
 * A chain that answers some methods, and the rest with the error that nodes have for it.
 * @param {Record<string, unknown>} results by method
 */
export function serveMethods(results) {
  return serve((body) =>
    answerEach(body, async ({ method }) =>
      Object.hasOwn(results, method)
        ? { result: results[method] }
        : { error: { code: -32601, message: `the method ${method} does not exist/is not available` } },
    ),
  );
}

/** @param {string} url of a node @param {string} body @returns {Promise<Answer>} what the node answers */
export async function passOn(url, body) {
  // Not fetch(), which takes several times as long.
  const response = await httpRequest(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body });
  return { body: await response.body.text() };
}

/**
 * Stands before a real node, and holds requests back.
 * @param {string} url of the node
 * @param {Gate} gate
 */
export function serveBehind(url, gate) {
  return serve(async (body) => {
    await gate(body);
    return passOn(url, body);
  });
}

/**
 * Gates for several instances: none sends its first transaction before all of them are about to.
 * @param {number} instances
 * @returns {Gate[]}
 */
export function startTogether(instances) {
  let waiting = 0;
  /** @type {() => void} */
  let open = () => {};
  const all = new Promise((/** @type {(value: void) => void} */ resolve) => (open = resolve));
  return Array.from({ length: instances }, () => {
    let arrived = false;
    return (body) => {
      if (!body.includes('"eth_sendRawTransaction"')) return;
      if (!arrived) waiting += 1;
      arrived = true;
      // Blocks state whole seconds: what is mined is newer than the set-ups then.
      if (waiting === instances) setTimeout(open, 1100);
      return all;
    };
  });
}

/**
 * Stands before a real node.
 * @param {string} url of the node
 * @param {(request: RpcRequest) => {result?: unknown, error?: {code: number, message: string}} | null} intercept null
 *   passes the request on
 */
export function serveBetween(url, intercept) {
  return serve((body) =>
    answerEach(body, async (request) => {
      const own = intercept(request);
      if (own !== null) return own;
      const answer = await passOn(url, JSON.stringify({ jsonrpc: '2.0', ...request }));
      const { result, error } = JSON.parse(answer.body);
      return error === undefined ? { result } : { error };
    }),
  );
}

/** @param {string} body @param {(request: RpcRequest) => Promise<object>} answer @returns {Promise<Answer>} */
async function answerEach(body, answer) {
  const answers = await Promise.all(
    requestsIn(body).map(async (request) => ({ jsonrpc: '2.0', id: request.id, ...(await answer(request)) })),
  );
  return { body: JSON.stringify(body.startsWith('[') ? answers : answers[0]) };
}

/** @param {string} body @returns {RpcRequest[]} */
function requestsIn(body) {
  try {
    return [JSON.parse(body)].flat();
  } catch {
    return [];
  }
}
