import { UsageError } from '../errors.js';

/**
 * Which transport is used for a URL. Options are checked for every command, and the transports take long to load, so this
 * does not import them.
 *
 * @import { ChainConfig, NetworkConfig } from '../contracts/chain.d.ts'
 */

/**
 * @param {string} name of a transport, or `auto`
 * @param {URL | null} url the endpoint; null for the embedded chain
 * @param {boolean} [noKeepAlive] only the tcp transport can close each connection first
 * @returns {string} the name of the transport to use
 * @throws {UsageError} the named transport does not support the URL's scheme
 */
export function chooseTransport(name, url, noKeepAlive = false) {
  const scheme = (url?.protocol ?? 'http:').slice(0, -1);
  if (noKeepAlive && (scheme !== 'http' || !['auto', 'tcp'].includes(name)))
    throw new UsageError('--no-keep-alive needs an http:// endpoint and --transport tcp, which auto then chooses');
  const isWebSocket = scheme === 'ws' || scheme === 'wss';
  if (name === 'auto') return isWebSocket ? 'ws' : noKeepAlive ? 'tcp' : 'undici';
  if (name === 'tcp' && scheme === 'https')
    throw new UsageError('--transport tcp speaks http:// only: give --transport undici for an https:// endpoint');
  if ((name === 'ws') === isWebSocket) return name;
  throw new UsageError(`--transport ${name} does not speak ${scheme}://: leave it out, or give another URL with --rpc`);
}

/**
 * Names of the transports of all endpoints.
 * @param {Pick<NetworkConfig, 'transport' | 'noKeepAlive'>} network
 * @param {Pick<ChainConfig, 'rpc' | 'sendRpc'>} chain
 * @throws {UsageError}
 */
export function transportsOf({ transport, noKeepAlive }, { rpc, sendRpc }) {
  const urls = [...rpc, sendRpc ?? []].flat();
  const names = (urls.length === 0 ? [null] : urls).map((url) => chooseTransport(transport, url, noKeepAlive));
  return [...new Set(names)].join(', ');
}
