import { UsageError } from '../errors.js';
import { createTcpTransport } from './tcp.js';
import { createUndiciTransport } from './undici.js';
import { createWsTransport } from './ws.js';

/** @import { Transport } from '../types.d.ts' */

/**
 * A transport carries JSON-RPC bodies to one endpoint and back. It knows nothing of what is in them.
 *
 * @callback OnSent called when a body is about to be written to its socket
 * @returns {unknown} false: do not send it, it is no longer wanted
 *
 * @typedef {object} Subscription
 * @property {string} text the answer
 * @property {(farewell?: string) => void} end listens no more; the farewell is a last body for this connection
 *
 * @typedef {object} TransportOptions
 * @property {URL} url the endpoint, credentials included
 * @property {number} connections most connections open at once
 * @property {number} timeoutMs longest wait from post() to the whole answer, the wait for a connection included
 * @property {number} [maxBodyBytes] largest response body that is read, in bytes
 * @property {boolean} [keepAlive] false: a connection for each request, closed by us after the answer
 * @property {boolean} [insecure] true: an https endpoint may have any certificate
 */

/** @type {Record<string, (options: TransportOptions) => Transport>} */
export const transports = {
  undici: createUndiciTransport,
  tcp: createTcpTransport,
  ws: createWsTransport,
};

/**
 * @param {string} name of a transport, or `auto`
 * @param {URL | null} url the endpoint; null for the embedded chain
 * @returns {string} the name of the transport that is used
 * @throws {UsageError} where the named one does not speak what the endpoint speaks
 */
export function chooseTransport(name, url) {
  const scheme = (url?.protocol ?? 'http:').slice(0, -1);
  const isWebSocket = scheme === 'ws' || scheme === 'wss';
  if (name === 'auto') return isWebSocket ? 'ws' : 'undici';
  if ((name === 'ws') === isWebSocket) return name;
  throw new UsageError(`--transport ${name} does not speak ${scheme}://: leave it out, or give another URL with --rpc`);
}

/** What the transports that speak HTTP share. */
