import { createUndiciTransport } from './undici.js';

/**
 * A transport carries JSON-RPC bodies to one endpoint and back. It knows nothing of what is in them.
 *
 * @typedef {object} Reply
 * @property {number} status HTTP status code, or 200 where the transport has none
 * @property {string} text the whole body
 *
 * @typedef {object} TransportStats
 * @property {number} requests bodies handed to the transport
 * @property {number} connectionsOpened connections opened since the start
 * @property {number} bytesReceived bytes of response bodies
 *
 * @typedef {object} Transport
 * @property {(body: string, onSent?: () => void) => Promise<Reply>} post sends one body; calls `onSent` when
 *   it is written to the socket. Rejects with TransportError when no whole answer came back.
 * @property {() => TransportStats} stats
 * @property {() => Promise<void>} close ends every connection at once; open requests are rejected
 *
 * @typedef {object} TransportOptions
 * @property {URL} url the endpoint, credentials included
 * @property {number} connections most connections open at once
 * @property {number} timeoutMs longest wait for a connection, and for an answer
 * @property {number} [maxBodyBytes] largest response body that is read, in bytes
 */

/** @type {Record<string, (options: TransportOptions) => Transport>} */
export const transports = {
  undici: createUndiciTransport,
};
