import { UnavailableError, oneLine } from '../errors.js';

/**
 * Takes the port of a page that others read.
 * @param {import('node:http').Server} server
 * @param {import('./index.js').Address} address
 * @param {string} option that names it
 * @returns {Promise<void>}
 * @throws {UnavailableError}
 */
export function listen(server, { host, port }, option) {
  return new Promise((resolve, reject) => {
    server.once('error', (/** @type {NodeJS.ErrnoException} */ error) => {
      const { code = '', message } = error;
      const what = WORDS[code]?.(host, port) ?? `cannot listen on port ${port} of ${host}: ${oneLine(message)}`;
      reject(new UnavailableError(`${what}: give --${option} another one`, error));
    });
    server.listen({ host, port }, resolve);
  });
}

/** @param {string} host */
const noAddress = (host) => `${host} is no address of this machine`;

/** @type {Record<string, (host: string, port: number) => string>} */
const WORDS = Object.freeze({
  EADDRINUSE: (_, port) => `port ${port} is taken`,
  EACCES: (_, port) => `port ${port} is not for us: permission denied`,
  EADDRNOTAVAIL: noAddress,
  ENOTFOUND: noAddress,
});
