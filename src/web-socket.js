import { createRequire } from 'node:module';

/** @import * as Ws from 'ws' */

const require = createRequire(import.meta.url);

/** The package ws is loaded with the first WebSocket: most runs open none. @returns {typeof Ws.WebSocket} */
export const webSocketClass = () => require('ws').WebSocket;
