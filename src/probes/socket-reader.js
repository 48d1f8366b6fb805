/**
 * Worker thread that reads and counts the socket tables of /proc for src/probes/sockets.js.
 *
 * @typedef {object} Question
 * @property {string} proc the folder of the proc file system
 * @property {Array<{endpoint: string, keys: string[]}>} endpoints see endpointKeys
 */
import { closeSync, openSync, readFileSync, readSync } from 'node:fs';
import { parentPort } from 'node:worker_threads';
import { SocketCount } from './socket-table.js';

/**
 * @import { SocketsReading } from '../types.d.ts'
 * @import { MessagePort } from 'node:worker_threads'
 */

const CHUNK_BYTES = 64 * 1024;

/** @param {Question} question @returns {SocketsReading} */
function read({ proc, endpoints }) {
  const [from, to] = readFileSync(`${proc}/sys/net/ipv4/ip_local_port_range`, 'latin1').trim().split(/\s+/).map(Number);
  const count = new SocketCount({ from, to }, endpoints);
  readInto(count, `${proc}/net/tcp`);
  try {
    readInto(count, `${proc}/net/tcp6`);
  } catch (error) {
    // A system without IPv6 has no such file.
    if (/** @type {NodeJS.ErrnoException} */ (error).code !== 'ENOENT') throw error;
  }
  return count.reading();
}

/** @param {SocketCount} count @param {string} file */
function readInto(count, file) {
  const chunk = Buffer.alloc(CHUNK_BYTES);
  const descriptor = openSync(file, 'r');
  try {
    let kept = 0;
    for (;;) {
      const got = readSync(descriptor, chunk, kept, CHUNK_BYTES - kept, null);
      if (got === 0) break;
      const filled = kept + got;
      const done = count.addLines(chunk.subarray(0, filled));
      chunk.copyWithin(0, done, filled);
      kept = filled - done;
    }
  } finally {
    closeSync(descriptor);
  }
}

/** @param {Error & {code?: string}} error */
function reasonOf({ code, message }) {
  return code === 'ENOENT'
    ? 'socket figures need /proc, which this system does not have'
    : `the socket table cannot be read: ${message}`;
}

const port = /** @type {MessagePort} */ (parentPort);
port.on('message', (/** @type {Question} */ question) => {
  try {
    port.postMessage({ reading: read(question) });
  } catch (error) {
    port.postMessage({ reason: reasonOf(/** @type {Error} */ (error)) });
  }
});
