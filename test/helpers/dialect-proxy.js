/** A proxy before a real node that speaks one of dialects.js. */
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import { request as httpRequest } from 'undici';
import { createClock } from '../../src/clock.js';
import { createSpeaker } from './dialect-node.js';
import { HANG_UP, serve } from './endpoint.js';
import { startWsServer } from './ws-server.js';

/**
 * @import { TestContext } from 'node:test'
 * @import { Dialect } from './dialect-node.js'
 * @import { Ask } from './memory-chain.js'
 */

const ENCODERS = Object.freeze({ gzip: gzipSync, br: brotliCompressSync, deflate: deflateSync });

/** @param {string} url @returns {Ask} */
function askOf(url) {
  return async (method, params) => {
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
    const response = await httpRequest(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body });
    const { result, error } = /** @type {any} */ (await response.body.json());
    if (error !== undefined) throw Object.assign(new Error(error.message), { error });
    return result;
  };
}

/** An HTTP endpoint before a real node. @param {string} url @param {Dialect} dialect */
export function startDialectProxy(url, dialect) {
  const { encoding } = dialect;
  const speak = createSpeaker(dialect, askOf(url), createClock());
  return serve(async (asked) => {
    const reply = await speak(asked).catch(() => HANG_UP);
    if (typeof reply === 'symbol') return /** @type {any} */ (reply);
    const { status, text } = reply;
    if (encoding === undefined) return { status, body: text };
    const body = /** @type {any} */ (ENCODERS[encoding](text));
    return { status, body, headers: { 'content-encoding': encoding } };
  });
}

/** The same as a WebSocket. @param {TestContext} t @param {string} url @param {Dialect} dialect */
export async function startDialectSocket(t, url, { muteAfterMs = Infinity, ...dialect }) {
  const speak = createSpeaker(dialect, askOf(url), createClock());
  /** Connections that are dead. @type {WeakSet<object>} */
  const mute = new WeakSet();
  /** The last answer of each connection. @type {WeakMap<object, Promise<unknown>>} */
  const turns = new WeakMap();
  /** @type {NodeJS.Timeout | undefined} */
  let timer;
  const server = await startWsServer(t, {
    onMessage: (peer, text) => {
      if (muteAfterMs < Infinity)
        timer ??= setTimeout(() => server.peers.forEach((each) => mute.add(each)), muteAfterMs);
      if (mute.has(peer)) return;
      const turn = dialect.isInTurn ? turns.get(peer) : undefined;
      const answer = async () => {
        await turn;
        const reply = await speak(text);
        if (!mute.has(peer)) peer.send(reply.text);
      };
      // The node may have been stopped.
      turns.set(
        peer,
        answer().catch(() => {}),
      );
    },
  });
  t.after(() => clearTimeout(timer));
  return { url: `ws://127.0.0.1:${server.port}` };
}
