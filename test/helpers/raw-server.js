/** Servers of tests on raw sockets, which can answer as no HTTP library would, and what is asserted of their clients. */
import assert from 'node:assert/strict';
import { createServer } from 'node:net';
import { TransportError } from '../../src/errors.js';
import { transports } from '../../src/transport/index.js';
import { caught } from './caught.js';

/**
 * @import { TransportOptions } from '../../src/contracts/chain.d.ts'
 * @import { AddressInfo, Server, Socket } from 'node:net'
 * @import { TestContext } from 'node:test'
 *
 * @typedef {object} Asked a whole request, as it came
 * @property {Socket} socket
 * @property {string} head its request line and its fields
 * @property {string} body
 * @property {number} connection which one it came on, from 0
 * @property {number} number of the request on this connection, from 1
 */

/** Longest time until a failure: far more than the time-outs of the tests, far less than many of them in a row. */
const LATEST_MS = 3000;

/**
 * @param {TestContext} t the server ends with it, and so do its connections
 * @param {Server} server
 * @param {string} [host]
 * @param {number} [wanted] port
 */
export async function listen(t, server, host = '127.0.0.1', wanted = 0) {
  /** @type {Set<Socket>} */
  const sockets = new Set();
  const seen = { connections: 0, most: 0 };
  server.on('connection', (socket) => {
    sockets.add(socket);
    seen.connections += 1;
    seen.most = Math.max(seen.most, sockets.size);
    socket.on('error', () => {}).on('close', () => sockets.delete(socket));
  });
  server.on('tlsClientError', () => {});
  await new Promise((resolve, reject) => {
    server.once('error', reject).listen(wanted, host, () => resolve(undefined));
  });
  t.after(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  const { port } = /** @type {AddressInfo} */ (server.address());
  return { port, open: () => sockets.size, connections: () => seen.connections, most: () => seen.most };
}

/** @param {TestContext} t @returns {Promise<number>} a port without a listener */
export async function closedPort(t) {
  const server = createServer();
  const { port } = await listen(t, server);
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/**
 * A server that never closes a connection by itself.
 * @param {TestContext} t
 * @param {(asked: Asked) => void} answer called with each whole request
 * @param {{host?: string, onData?: (socket: Socket) => void}} [options]
 */
async function startRawServer(t, answer, { host = '127.0.0.1', onData } = {}) {
  /** @type {Asked[]} */
  const asked = [];
  /** How the client ended each connection: `end`, or the code of an error. @type {string[][]} */
  const ends = [];
  const server = createServer({ allowHalfOpen: true, noDelay: true }, (socket) => {
    const connection = ends.push([]) - 1;
    socket.on('error', (/** @type {NodeJS.ErrnoException} */ { code }) => ends[connection].push(`${code}`));
    socket.on('end', () => {
      ends[connection].push('end');
      socket.end();
    });
    let bytes = Buffer.alloc(0);
    let number = 0;
    socket.on('data', (chunk) => {
      onData?.(socket);
      bytes = Buffer.concat([bytes, chunk]);
      for (let end = bytes.indexOf('\r\n\r\n'); end !== -1; end = bytes.indexOf('\r\n\r\n')) {
        const head = bytes.toString('latin1', 0, end);
        const length = Number(/^content-length: (\d+)$/im.exec(head)?.[1]);
        if (bytes.length < end + 4 + length) return;
        const body = bytes.toString('utf8', end + 4, end + 4 + length);
        bytes = bytes.subarray(end + 4 + length);
        const request = { socket, head, body, connection, number: (number += 1) };
        asked.push(request);
        answer(request);
      }
    });
  });
  const facts = await listen(t, server, host);
  const url = new URL(`http://${host.includes(':') ? `[${host}]` : host}:${facts.port}`);
  return { ...facts, url, asked, ends };
}

/** The transports that speak HTTP, one of them also with a connection for each request. @type {Record<string, {name: string, keepAlive?: boolean}>} */
export const HTTP_TRANSPORTS = {
  undici: { name: 'undici' },
  tcp: { name: 'tcp' },
  'tcp without keep-alive': { name: 'tcp', keepAlive: false },
};

/**
 * A transport to a raw server of its own, both of which end with the test.
 * @param {TestContext} t
 * @param {string} way of HTTP_TRANSPORTS
 * @param {Partial<TransportOptions> & {host?: string, onData?: (socket: Socket) => void}} options
 * @param {(asked: Asked) => void} answer called with each whole request
 */
export async function connectRaw(t, way, { host, onData, ...options }, answer) {
  const server = await startRawServer(t, answer, { host, onData });
  const { name, ...usual } = HTTP_TRANSPORTS[way];
  const transport = transports[name]({ url: server.url, connections: 1, timeoutMs: 120_000, ...usual, ...options });
  t.after(() => transport.close());
  return { transport, server, url: server.url };
}

/** A usual answer. @param {string} body @param {string} [fields] */
export function response(body, fields = '') {
  return `HTTP/1.1 200 OK\r\n${fields}Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
}

/** Again and again, until the other side closes. @param {{on: (event: 'close', listener: () => void) => unknown}} socket @param {() => void} write @param {number} everyMs */
export function repeat(socket, write, everyMs) {
  const timer = setInterval(write, everyMs);
  socket.on('close', () => clearInterval(timer));
}

/**
 * @param {Promise<unknown>} post must fail
 * @param {number} [latestMs]
 * @returns {Promise<TransportError>}
 */
export async function failure(post, latestMs = LATEST_MS) {
  const startMs = performance.now();
  const error = await caught(() => post);
  const tookMs = performance.now() - startMs;
  assert.ok(error instanceof TransportError, `${error?.name}: ${error?.message}`);
  assert.match(error.code, /^transport_[a-z_]+$/);
  assert.match(error.message, /^[\x20-\x7e]{5,150}$/);
  assert.equal(error.exitCode, 69);
  assert.ok(tookMs <= latestMs, `it took ${Math.round(tookMs)} ms`);
  return error;
}
