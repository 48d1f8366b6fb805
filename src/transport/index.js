import { UsageError } from '../errors.js';
import { createTcpTransport } from './tcp.js';
import { createUndiciTransport } from './undici.js';
import { createWsTransport } from './ws.js';

/** @import { TransportError } from '../errors.js' */

/**
 * A transport carries JSON-RPC bodies to one endpoint and back. It knows nothing of what is in them.
 *
 * @typedef {object} Reply
 * @property {number} status HTTP status code, or 200 where the transport has none
 * @property {string} text the whole body
 * @property {number | null} retryAfterMs how long the endpoint asks to be left alone; null where it does not say
 *
 * @callback OnSent called when a body is about to be written to its socket
 * @returns {unknown} false: do not send it, it is no longer wanted
 *
 * @typedef {object} TransportStats
 * @property {number} requests bodies handed to the transport
 * @property {number} connectionsOpened connections opened since the start
 * @property {number} bytesReceived bytes of response bodies
 *
 * @typedef {object} Transport
 * @property {(body: string, onSent?: OnSent, maxBodyBytes?: number) => Promise<Reply>} post sends one body. Rejects with
 *   TransportError when no whole answer came back, or one larger than maxBodyBytes: at most, and unless it says, those of
 *   the options.
 * @property {(body: string, onPush: (text: string) => void, onLost: (error: TransportError) => void) => Promise<Subscription>} [subscribe]
 *   where an endpoint can say what it was not asked for: sends the body and listens to its connection from the answer
 *   on. onPush gets each message that answers no request; onLost is called once if the connection is lost.
 * @property {() => TransportStats} stats
 * @property {() => Promise<void>} rest closes connections that are idle; new ones are opened when they are wanted
 * @property {() => Promise<void>} close ends every connection at once; open requests are rejected
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
