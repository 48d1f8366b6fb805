/** What the HTTP transports share: request headers, limits, and errors in words. */
import { TransportError, oneLine } from '../errors.js';

/** A JSON-RPC answer above this size is a fault of the endpoint, not something to hold in memory. */
export const MAX_BODY_BYTES = 64 * 1024 * 1024;

/** A head above this size is one, too; it is the limit of Node.js' own HTTP client. */
export const MAX_HEAD_BYTES = 16 * 1024;

/** No endpoint is obeyed that wants to be left alone for longer. */
const LONGEST_RETRY_AFTER_MS = 600_000;

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
 * What a Retry-After says (RFC 9110, section 10.2.3): seconds, or a date in one of three formats.
 * @param {string} text the field's value
 * @param {number} nowMs since the epoch
 * @returns {number | null} null where it says nothing that can be used, as a moment that is over
 */
export function retryAfterMs(text, nowMs) {
  const waitMs = /^\d+$/.test(text) ? Number(text) * 1000 : dateMs(text) - nowMs;
  return waitMs >= 0 ? Math.min(waitMs, LONGEST_RETRY_AFTER_MS) : null;
}

/** @param {string} text @returns {number} NaN where it is no HTTP-date */
function dateMs(text) {
  if (!/^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]{0,6},? [\x20-\x7e]{15,30}$/.test(text)) return NaN;
  // The oldest of the formats does not say that it means UTC.
  return Date.parse(text.endsWith(' GMT') ? text : `${text} GMT`);
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
  if (code.startsWith('ERR_SSL_') || code === 'EPROTO') return new TransportError(tlsFault(error), 'tls', error);
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
  if (code === 'UND_ERR_DESTROYED' || code === 'UND_ERR_CLOSED')
    return new TransportError('the transport is closed', 'closed', error);
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') return new TransportError('host name not found', 'dns', error);
  if (code === 'UND_ERR_HEADERS_OVERFLOW') {
    return new TransportError(`the answer's header is larger than ${MAX_HEAD_BYTES} bytes`, 'bad_response', error);
  }
  return new TransportError(oneLine(error.message) || code, code.toLowerCase(), error);
}

/** The message of OpenSSL has addresses, names of source files and a line break. @param {Error & {code?: string, reason?: string}} error */
function tlsFault({ code, reason }) {
  return code === 'ERR_SSL_WRONG_VERSION_NUMBER'
    ? 'it does not speak TLS: is it http:// or ws:// that the URL should begin with?'
    : `no TLS connection: ${oneLine(reason ?? code, 100)}`;
}

/** @param {number} maxBodyBytes */
export function bodyTooLarge(maxBodyBytes) {
  return new TransportError(`the answer is larger than ${maxBodyBytes} bytes`, 'body_too_large');
}

/**
 * We ask for none, and what would unpack to something without end is not unpacked.
 * @param {string | undefined} contentEncoding
 * @returns {TransportError | null} the fault of an answer that is encoded
 */
export function encodingFault(contentEncoding) {
  if (contentEncoding === undefined || /^identity$|^$/i.test(contentEncoding)) return null;
  const words = `its answer has the content encoding "${oneLine(contentEncoding, 30)}", which it was not asked for`;
  return new TransportError(words, 'bad_response');
}
