import { TransportError, oneLine } from '../errors.js';

/** What the transports that speak HTTP share. */

/** A JSON-RPC answer above this size is a fault of the endpoint, not something to hold in memory. */
export const MAX_BODY_BYTES = 64 * 1024 * 1024;

/** A head above this size is one, too; it is the limit of Node.js' own HTTP client. */
export const MAX_HEAD_BYTES = 16 * 1024;

/** What Node.js calls the faults of a certificate (X509_V_ERR of OpenSSL, and its own check of the name). */
const CERTIFICATE_CODES = /CERT|UNABLE_TO_|_SIGNATURE|CRL_|HOSTNAME_MISMATCH/;

/** @param {URL} url the endpoint, credentials included @returns {Record<string, string>} */
export function requestHeaders(url) {
  const headers = { 'content-type': 'application/json', accept: 'application/json' };
  if (!url.username && !url.password) return headers;
  const credentials = `${decode(url.username)}:${decode(url.password)}`;
  return { ...headers, authorization: `Basic ${Buffer.from(credentials).toString('base64')}` };
}

/** @param {string} text from a URL */
function decode(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/**
 * @param {Error & {code?: string}} error
 * @returns {TransportError}
 */
export function asTransportError(error) {
  if (error instanceof TransportError) return error;
  // A host with several addresses, localhost for one: the code of the whole would be that of the first. Where a family
  // is not in use that is the one that cannot tell, so the last address speaks for all.
  if (error instanceof AggregateError && error.errors.length > 0) return asTransportError(error.errors.at(-1));
  const code = error.code ?? error.name;
  if (code === 'ETIMEDOUT' || (code.startsWith('UND_ERR_') && code.endsWith('_TIMEOUT')))
    return new TransportError('no answer in time', 'timeout', error);
  if (code === 'ECONNREFUSED') return new TransportError('connection refused', 'refused', error);
  if (code === 'EADDRNOTAVAIL') {
    const words = 'no local port is left for a connection to the endpoint: closed ones keep theirs in TIME_WAIT';
    return new TransportError(words, 'no_ports', error);
  }
  if (code === 'ECONNRESET' || code === 'EPIPE' || code === 'UND_ERR_SOCKET') {
    return new TransportError('connection lost', 'reset', error);
  }
  if (CERTIFICATE_CODES.test(code)) {
    const words = `its certificate is not accepted: ${oneLine(error.message, 100)}; --insecure accepts any`;
    return new TransportError(words, 'certificate', error);
  }
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') return new TransportError('host name not found', 'dns', error);
  return new TransportError(error.message || code, code.toLowerCase(), error);
}
