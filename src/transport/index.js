import { createTcpTransport } from './tcp.js';
import { createUndiciTransport } from './undici.js';
import { createWsTransport } from './ws.js';

/**
 * The table of transports. A transport carries bodies to one endpoint and back, without knowledge of their content.
 *
 * @import { OpenTransport } from '../contracts/chain.d.ts'
 */

/** @type {Readonly<Record<string, OpenTransport>>} */
export const transports = Object.freeze({
  undici: createUndiciTransport,
  tcp: createTcpTransport,
  ws: createWsTransport,
});
