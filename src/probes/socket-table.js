import { isIPv6 } from 'node:net';
import { endianness } from 'node:os';

/** @import { SocketsReading } from '../types.d.ts' */

/** Counts the sockets in /proc/net/tcp and /proc/net/tcp6. The tables have a line per socket, and are parsed as bytes. */

/** The first 12 bytes of an IPv4-mapped IPv6 address. */
const MAPPED = '::ffff:';
const NEWLINE = 10;
const COLON = 58;
const TIME_WAIT = 6;

/**
 * The forms in which the tables have an endpoint. An IPv4 address has a second one, for IPv6 sockets.
 * @param {string} address
 * @param {number} port
 * @returns {string[]}
 */
export function endpointKeys(address, port) {
  const forms = isIPv6(address) ? [address] : [address, MAPPED + address];
  if (address.toLowerCase().startsWith(MAPPED) && address.includes('.')) forms.push(address.slice(MAPPED.length));
  const portText = port.toString(16).toUpperCase().padStart(4, '0');
  return forms.map((form) => `${hexOf(form)}:${portText}`);
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
  const [head, tail] = hostname
    .slice(1, -1)
    .split('::')
    .map((part) => (part === '' ? [] : part.split(':')));
  const groups = tail === undefined ? head : [...head, ...Array(8 - head.length - tail.length).fill('0'), ...tail];
  return groups.flatMap((group) => [parseInt(group, 16) >> 8, parseInt(group, 16) & 0xff]);
}

/** Counts the lines of the tables of one moment. */
export class SocketCount {
  #timeWait = 0;
  #range;
  #endpoints;

  /**
   * @param {{from: number, to: number}} range of ephemeral ports
   * @param {Array<{endpoint: string, keys: string[]}>} endpoints
   */
  constructor(range, endpoints) {
    this.#range = range;
    this.#endpoints = endpoints.map(({ endpoint, keys }) => ({
      endpoint,
      keys: keys.map((key) => Buffer.from(key, 'latin1')),
      timeWait: 0,
      ports: new Set(),
    }));
  }

  /**
   * @param {Buffer} bytes starting at the beginning of a line
   * @returns {number} length of the whole lines
   */
  addLines(bytes) {
    let start = 0;
    for (;;) {
      const end = bytes.indexOf(NEWLINE, start);
      if (end === -1) return start;
      this.#addLine(bytes, start, end);
      start = end + 1;
    }
  }

  /**
   * A line is "number: address:port address:port state ...", hexadecimal, with the local end first.
   * @param {Buffer} bytes @param {number} start @param {number} end
   */
  #addLine(bytes, start, end) {
    const local = bytes.indexOf(COLON, start) + 2;
    const localPort = bytes.indexOf(COLON, local) + 1;
    const remote = localPort + 5;
    const remotePort = remote + (localPort - local);
    // The heading has no colons.
    if (local < start + 2 || localPort <= local || remotePort + 7 > end) return;
    const isTimeWait = hex(bytes, remotePort + 5, 2) === TIME_WAIT;
    if (isTimeWait) this.#timeWait += 1;
    const port = hex(bytes, localPort, 4);
    const isInRange = port >= this.#range.from && port <= this.#range.to;
    // Several endpoints may have the same address.
    for (const endpoint of this.#endpoints) {
      if (!endpoint.keys.some((key) => isAt(bytes, remote, remotePort + 4, key))) continue;
      if (isTimeWait) endpoint.timeWait += 1;
      if (isInRange) endpoint.ports.add(port);
    }
  }

  /** @returns {SocketsReading} */
  reading() {
    const { from, to } = this.#range;
    const ports = to - from + 1;
    const endpoints = this.#endpoints.map(({ endpoint, timeWait, ports: used }) => ({
      endpoint,
      timeWait,
      portsInUse: used.size,
      portsLeft: ports - used.size,
    }));
    return { timeWait: this.#timeWait, range: { from, to, ports }, endpoints };
  }
}

/** @param {Buffer} bytes @param {number} start @param {number} end @param {Buffer} key */
function isAt(bytes, start, end, key) {
  if (end - start !== key.length) return false;
  // Backwards, because most keys differ in the port.
  for (let i = key.length - 1; i >= 0; i -= 1) if (bytes[start + i] !== key[i]) return false;
  return true;
}

/** @param {Buffer} bytes @param {number} at @param {number} digits @returns {number} */
function hex(bytes, at, digits) {
  let value = 0;
  for (let i = at; i < at + digits; i += 1) value = value * 16 + (bytes[i] & 0xf) + (bytes[i] > 57 ? 9 : 0);
  return value;
}
