/**
 * A WebSocket server of a test's own, on node:http and with frames made by hand (RFC 6455), so that it can do what no
 * library would: cut messages anywhere, break the protocol, say nothing.
 */
import { createHash } from 'node:crypto';
import { createServer } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { passOn } from './endpoint.js';
import { listen } from './raw-server.js';
import { firstFrame } from './ws-frames.js';

/**
 * @import { IncomingMessage } from 'node:http'
 * @import { Duplex } from 'node:stream'
 * @import { TestContext } from 'node:test'
 */

const MAGIC = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';
const OPCODES = Object.freeze({ continuation: 0, text: 1, binary: 2, close: 8, ping: 9, pong: 10 });

/**
 * @typedef {object} Peer one connection, as the server has it
 * @property {Duplex} socket
 * @property {IncomingMessage} handshake
 * @property {string[]} pongs what came back to pings
 * @property {number} pings that came
 * @property {boolean} saidClose whether a close frame came
 * @property {(kind: keyof typeof OPCODES, payload?: string | Buffer, isLast?: boolean, written?: () => void) => void} frame
 * @property {(text: string) => void} send one whole text message
 *
 * @typedef {object} WsServer
 * @property {number} port
 * @property {Peer[]} peers in the order they came
 * @property {() => number} open connections
 * @property {() => number} connections opened so far, those without a handshake included
 *
 * @typedef {object} WsServerOptions
 * @property {(peer: Peer, text: string) => void} [onMessage]
 * @property {(request: IncomingMessage, socket: Duplex) => boolean} [onHandshake]
 *   false: the test answers it itself
 * @property {{cert: string, key: string}} [tls]
 */

/**
 * @param {TestContext} t it ends with the test
 * @param {WsServerOptions} options
 * @returns {Promise<WsServer>}
 */
export async function startWsServer(t, { onMessage = () => {}, onHandshake = () => true, tls }) {
  /** @type {Peer[]} */
  const peers = [];
  const server = tls === undefined ? createServer() : createTlsServer(tls);
  server.on('upgrade', (request, socket, head) => {
    // Node.js leaves its half open after an upgrade.
    socket.on('error', () => {}).on('end', () => socket.end());
    if (!onHandshake(request, socket)) return;
    const accept = createHash('sha1').update(`${request.headers['sec-websocket-key']}${MAGIC}`).digest('base64');
    const lines = ['HTTP/1.1 101 Switching Protocols', 'upgrade: websocket', 'connection: upgrade'];
    socket.write(`${[...lines, `sec-websocket-accept: ${accept}`].join('\r\n')}\r\n\r\n`);
    const peer = createPeer(request, socket);
    peers.push(peer);
    readFrames(peer, head, onMessage);
  });
  const { port, open, connections } = await listen(t, server);
  return { port, peers, open, connections };
}

/**
 * Makes a WebSocket endpoint of one that speaks HTTP.
 * @param {TestContext} t
 * @param {string} url
 */
export async function startWsBefore(t, url) {
  const onMessage = (/** @type {Peer} */ peer, /** @type {string} */ body) =>
    void passOn(url, body).then(
      (answer) => peer.send(answer.body),
      () => peer.socket.destroy(),
    );
  const { port, peers } = await startWsServer(t, { onMessage });
  return { url: `ws://127.0.0.1:${port}`, peers };
}

/** @param {IncomingMessage} handshake @param {Duplex} socket @returns {Peer} */
function createPeer(handshake, socket) {
  /** @type {Peer['frame']} */
  const frame = (kind, payload = '', isLast = true, written = () => {}) => {
    if (!socket.writable) return;
    socket.write(encodeFrame(OPCODES[kind], Buffer.from(payload), isLast), written);
  };
  return { socket, handshake, pongs: [], pings: 0, saidClose: false, frame, send: (text) => frame('text', text) };
}

/**
 * @param {number} opcode
 * @param {Buffer} payload
 * @param {boolean} [isLast] of its message
 */
export function encodeFrame(opcode, payload, isLast = true) {
  const { length } = payload;
  const head = Buffer.alloc(length < 126 ? 2 : length < 65_536 ? 4 : 10);
  head[0] = (isLast ? 0x80 : 0) | opcode;
  head[1] = length < 126 ? length : length < 65_536 ? 126 : 127;
  if (head.length === 4) head.writeUInt16BE(length, 2);
  if (head.length === 10) head.writeBigUInt64BE(BigInt(length), 2);
  return Buffer.concat([head, payload]);
}

/** @param {Peer} peer @param {Buffer} head what came with the handshake @param {NonNullable<WsServerOptions['onMessage']>} onMessage */
function readFrames(peer, head, onMessage) {
  let bytes = head;
  /** @param {Buffer} chunk */
  const read = (chunk) => {
    bytes = Buffer.concat([bytes, chunk]);
    for (let frame = firstFrame(bytes); frame !== null; frame = firstFrame(bytes)) {
      bytes = bytes.subarray(frame.bytes.length);
      // RFC 6455, section 5.1: a client masks what it sends.
      if (!frame.isMasked) throw new Error('a frame of the client is not masked');
      if (frame.opcode === OPCODES.text) onMessage(peer, frame.payload.toString());
      else if (frame.opcode === OPCODES.pong) peer.pongs.push(frame.payload.toString());
      else if (frame.opcode === OPCODES.close) peer.saidClose = true;
      else if (frame.opcode === OPCODES.ping) {
        peer.pings += 1;
        peer.frame('pong', frame.payload);
      } else throw new Error(`the test server did not expect opcode ${frame.opcode}`);
    }
  };
  peer.socket.on('data', read);
}
