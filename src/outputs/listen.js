import { isIP, isIPv6 } from 'node:net';
import { UnavailableError, errnoWords } from '../errors.js';

/**
 * @import { Address, OutputOptions } from '../contracts/output.d.ts'
 * @import { IncomingMessage, Server } from 'node:http'
 */

/**
 * Listens on the port of a page, and prints the address of the page.
 * @param {Server} server
 * @param {Address} address
 * @param {{option: string, path: string} & Pick<OutputOptions, 'quiet' | 'stream'>} page option: its name
 * @returns {Promise<void>}
 * @throws {UnavailableError}
 */
export async function listen(server, { host, port }, { option, path, quiet, stream }) {
  await new Promise((resolve, reject) => {
    server.once('error', (error) => {
      const what = `cannot listen on port ${port} of ${host}: ${errnoWords(error)}`;
      reject(new UnavailableError(`${what}; give --${option} another one`, error));
    });
    server.listen({ host, port }, () => resolve(undefined));
  });
  if (!quiet) stream.write(`${option} at http://${isIPv6(host) ? `[${host}]` : host}:${port}${path}\n`);
}

/**
 * Whether a request is for an IP address, a name without a dot (localhost, a container) or the name that the page listens
 * on. A web page that lets its own domain point to this machine (DNS rebinding) sends that domain.
 * @param {IncomingMessage} request
 * @param {string} host that it listens on
 */
export function isOwnHost({ headers }, host) {
  const name = (headers.host ?? '').replace(/:\d+$/, '').replace(/^\[|\]$/g, '');
  return isIP(name) !== 0 || !name.includes('.') || name.toLowerCase() === host.toLowerCase();
}

/** What the others are told. @param {string} option */
export function foreignHost(option) {
  return `ask for this page by an IP address, or let it listen on this name: --${option} NAME:PORT`;
}
