/** A proxy before a node's endpoint, so that a test can hold requests back until it wants them to arrive. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import { request as httpRequest } from 'undici';

/**
 * @import { IncomingMessage, RequestListener } from 'node:http'
 * @import { AddressInfo } from 'node:net'
 */

/**
 * @typedef {object} Proxy
 * @property {string} url
 * @property {() => void} close
 *
 * @typedef {(body: string) => void | Promise<void>} Gate a request passes on when this has resolved
 */

/**
 * @param {string} target
 * @param {Gate} gate
 * @returns {Promise<Proxy>}
 */
export async function startProxy(target, gate) {
  /** @type {RequestListener} */
  const pass = (request, response) => {
    forward(target, gate, request).then(
      ({ status, text }) => response.writeHead(status, { 'content-type': 'application/json' }).end(text),
      () => response.destroy(), // the node is gone, as far as the client can tell
    );
  };
  const server = createServer(pass);
  // A connection is not closed when it is idle: a request may be on its way then, and would be lost.
  server.keepAliveTimeout = 0;
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = /** @type {AddressInfo} */ (server.address());
  return {
    url: `http://127.0.0.1:${port}`,
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}

/**
 * @param {string} target
 * @param {Gate} gate
 * @param {IncomingMessage} request
 */
async function forward(target, gate, request) {
  let body = '';
  for await (const chunk of request.setEncoding('utf8')) body += chunk;
  await gate(body);
  const answer = await httpRequest(target, { method: 'POST', headers: { 'content-type': 'application/json' }, body });
  return { status: answer.statusCode, text: await answer.body.text() };
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
      if (waiting === instances) open();
      return all;
    };
  });
}
