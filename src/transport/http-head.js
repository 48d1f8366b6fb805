import { TransportError } from '../errors.js';
import { encodingFault } from './http.js';

/**
 * The head of an HTTP/1.1 response: its status line and its header fields (RFC 9112), strictly.
 *
 * @typedef {object} Head what the lines before a body say
 * @property {number} status
 * @property {boolean} keepAlive whether the connection may be used again
 * @property {number | null} keepAliveMs how long the server says that it keeps an idle connection
 * @property {string | null} retryAfter as the field has it: what it means may depend on the time
 * @property {number | 'chunked' | 'until_close'} body its length in bytes, or how its end is found
 */

const STATUS_LINE = /^HTTP\/1\.([01]) ([1-5]\d\d)(?: [\t\x20-\x7e\x80-\xff]*)?$/;
const FIELD_LINE = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):([\t\x20-\x7e\x80-\xff]*)$/;
/** How many heads are remembered. Within a second most of a server's heads are the same, to the byte. */
const HEADS_KEPT = 64;

/** @param {string} what */
export function malformed(what) {
  return new TransportError(`the answer is not HTTP/1.1: ${what}`, 'bad_response');
}

/**
 * @param {string} text the head without the empty line at its end
 * @returns {Head}
 * @throws {TransportError}
 */
export function parseHead(text) {
  const [first, ...lines] = text.split('\r\n');
  const match = STATUS_LINE.exec(first);
  if (match === null) throw malformed('its first line is no status line');
  const status = Number(match[2]);
  let keepsAlive = match[1] === '1';
  let closes = false;
  /** @type {number | null} */
  let length = null;
  let isChunked = false;
  /** @type {number | null} */
  let keepAliveMs = null;
  /** @type {string | null} */
  let retryAfter = null;
  for (const [name, value] of lines.map(fieldOf)) {
    if (name === 'content-length') {
      if (!/^\d{1,15}$/.test(value)) throw malformed('its Content-Length is no number');
      if (length !== null && length !== Number(value)) throw malformed('it has two Content-Lengths');
      length = Number(value);
    } else if (name === 'transfer-encoding') {
      if (isChunked || value.toLowerCase() !== 'chunked') throw malformed('its Transfer-Encoding is not "chunked"');
      isChunked = true;
    } else if (name === 'connection') {
      const tokens = value.toLowerCase().split(/[\t ,]+/);
      closes ||= tokens.includes('close');
      keepsAlive ||= tokens.includes('keep-alive');
    } else if (name === 'keep-alive') {
      const timeout = /(?:^|[\t ,])timeout=(\d{1,9})/i.exec(value);
      if (timeout !== null) keepAliveMs = Number(timeout[1]) * 1000;
    } else if (name === 'content-encoding') {
      const fault = encodingFault(value);
      if (fault !== null) throw fault;
    } else if (name === 'retry-after') {
      retryAfter ??= value;
    }
  }
  // RFC 9112, section 6.3: a message with both may be an attempt at smuggling.
  if (isChunked && length !== null) throw malformed('it has a Content-Length and is chunked');
  if (isChunked && match[1] === '0') throw malformed('HTTP/1.0 knows no chunks');
  const keepAlive = keepsAlive && !closes;
  return { status, keepAlive, keepAliveMs, retryAfter, body: bodyOf(status, length, isChunked) };
}

/** @param {string} line @returns {[string, string]} the name in lower case, and the value */
export function fieldOf(line) {
  const match = FIELD_LINE.exec(line);
  if (match === null) throw malformed('a header line is malformed');
  return [match[1].toLowerCase(), trimmed(match[2])];
}

/** Without the spaces and tabs around it; trim() would take more, and a pattern could take long. @param {string} value */
function trimmed(value) {
  let start = 0;
  let end = value.length;
  while (start < end && (value[start] === ' ' || value[start] === '\t')) start += 1;
  while (end > start && (value[end - 1] === ' ' || value[end - 1] === '\t')) end -= 1;
  return value.slice(start, end);
}

/** RFC 9112, section 6.3. @param {number} status @param {number | null} length @param {boolean} isChunked @returns {Head['body']} */
function bodyOf(status, length, isChunked) {
  if (status < 200 || status === 204 || status === 304) return 0;
  return isChunked ? 'chunked' : (length ?? 'until_close');
}

/** Remembers the heads parsed last. @returns {typeof parseHead} */
export function createHeadCache() {
  /** @type {Map<string, Head>} */
  const known = new Map();
  return (text) => {
    const cached = known.get(text);
    if (cached !== undefined) return cached;
    const head = parseHead(text);
    if (known.size === HEADS_KEPT) known.clear();
    known.set(text, head);
    return head;
  };
}
