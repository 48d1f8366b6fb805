import { createTcpTransport } from './tcp.js';
import { createUndiciTransport } from './undici.js';
import { createWsTransport } from './ws.js';

/**
 * @import { Headers, Transport } from '../contracts/chain.d.ts'
 * @import { Clock } from '../contracts/load.d.ts'
 */

/**
 * The table of transports. A transport carries bodies to one endpoint and back, without knowledge of their content.
 *
 * @typedef {object} TransportOptions
 * @property {URL} url the endpoint, credentials included
 * @property {number} connections most connections open at once
 * @property {number} timeoutMs from post() to the end of the answer, including the wait for a connection
 * @property {number} [maxBodyBytes] largest response body that is read
 * @property {boolean} [keepAlive] of tcp; false: a connection for each request, closed by this side after the answer
 * @property {Headers} [headers] of the user, sent with each request
 * @property {boolean} [insecure] true: any certificate of an https endpoint is accepted
 * @property {Clock} [clock] of ws; by default that of the system
 */

/** @type {Record<string, (options: TransportOptions) => Transport>} */
export const transports = {
  undici: createUndiciTransport,
  tcp: createTcpTransport,
  ws: createWsTransport,
};
