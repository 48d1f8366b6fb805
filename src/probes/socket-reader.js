/** Worker thread that counts the sockets in /proc/net/tcp and /proc/net/tcp6 for src/probes/sockets.js. */
import { readFileSync } from 'node:fs';
import { isIPv6 } from 'node:net';
import { endianness } from 'node:os';
import { parentPort } from 'node:worker_threads';

/**
 * @import { SocketsReading } from '../types.d.ts'
 * @import { MessagePort } from 'node:worker_threads'
 *
 * @typedef {object} Question
 * @property {string} proc the folder of the proc file system
 * @property {Array<{endpoint: string, addresses: string[], port: number}>} endpoints
 */

/** The local port, the remote end and the state, all hexadecimal. */
const SOCKET = /^ *\d+: [0-9A-F]+:([0-9A-F]{4}) ([0-9A-F]+:[0-9A-F]{4}) ([0-9A-F]{2}) /gm;
const TIME_WAIT = '06';

/** @param {Question} question @returns {SocketsReading} */
function read({ proc, endpoints }) {
  const [from, to] = readFileSync(`${proc}/sys/net/ipv4/ip_local_port_range`, 'latin1').trim().split(/\s+/).map(Number);
  const ports = to - from + 1;
  const counts = endpoints.map(({ endpoint, addresses, port }) => {
    return {
      endpoint,
      keys: new Set(addresses.flatMap((address) => keysOf(address, port))),
      timeWait: 0,
      used: new Set(),
    };
  });
  let timeWait = 0;
  for (const [, localPort, remote, state] of tablesIn(`${proc}/net`).matchAll(SOCKET)) {
    const port = Number.parseInt(localPort, 16);
    if (state === TIME_WAIT) timeWait += 1;
    // Several endpoints may have the same address.
    for (const count of counts) {
      if (!count.keys.has(remote)) continue;
      if (state === TIME_WAIT) count.timeWait += 1;
      if (port >= from && port <= to) count.used.add(port);
    }
  }
  const found = counts.map(({ endpoint, timeWait: waiting, used }) => {
    return { endpoint, timeWait: waiting, portsInUse: used.size, portsLeft: ports - used.size };
  });
  return { timeWait, range: { from, to, ports }, endpoints: found };
}

/** @param {string} folder */
function tablesIn(folder) {
  const table = readFileSync(`${folder}/tcp`, 'latin1');
  try {
    return table + readFileSync(`${folder}/tcp6`, 'latin1');
  } catch (error) {
    // A system without IPv6 has no such file.
    if (/** @type {NodeJS.ErrnoException} */ (error).code === 'ENOENT') return table;
    throw error;
  }
}

/**
 * The forms in which the tables have an endpoint. An IPv4 address has a second one, for IPv6 sockets.
 * @param {string} address
 * @param {number} port
 * @returns {string[]}
 */
function keysOf(address, port) {
  const forms = isIPv6(address) ? [address] : [address, `::ffff:${address}`];
  return forms.map((form) => `${hexOf(form)}:${port.toString(16).toUpperCase().padStart(4, '0')}`);
}

/** The kernel prints an address as 32-bit numbers in the byte order of the machine. @param {string} address */
function hexOf(address) {
  const bytes = Buffer.from(isIPv6(address) ? bytesOfIPv6(address) : address.split('.').map(Number));
  if (endianness() === 'LE') bytes.swap32();
  return bytes.toString('hex').toUpperCase();
}

/** @param {string} address */
function bytesOfIPv6(address) {
  // The URL parser converts every form to groups of hexadecimal digits; the zone is not part of the address.
  const { hostname } = new URL(`http://[${address.split('%')[0]}]`);
  const [head, tail = []] = hostname
    .slice(1, -1)
    .split('::')
    .map((part) => part.split(':').filter((group) => group !== ''));
  const groups = [...head, ...Array(8 - head.length - tail.length).fill('0'), ...tail];
  return groups.flatMap((group) => [parseInt(group, 16) >> 8, parseInt(group, 16) & 0xff]);
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
