import { TransportError, oneLine } from '../errors.js';

/**
 * What the transports share: an exchange of bodies, request headers, limits, failures, and for the tcp transport a
 * strict parser of the HTTP/1.1 responses (RFC 9112) of JSON-RPC servers.
 *
 * @import { Headers, OnSent, Reply } from '../contracts/chain.d.ts'
 * @import { Deadlines } from '../deadlines.js'
 */

/** One body and its answer, with one time limit. */
export class Exchange {
  /** Null while it waits for a connection. @type {{giveUp: (exchange: any) => void} | null} */
  connection = null;
  isOver = false;
  #deadlines;
  #deadline;

  /**
   * @param {string} body
   * @param {OnSent | undefined} onSent
   * @param {Deadlines} deadlines
   * @param {(reply: Reply) => void} resolve
   * @param {(error: TransportError) => void} reject
   */
  constructor(body, onSent, deadlines, resolve, reject) {
    this.body = body;
    this.onSent = onSent;
    this.resolve = resolve;
    this.reject = reject;
    this.#deadlines = deadlines;
    this.#deadline = deadlines.set(this);
  }

  /** Its time limit is over. */
  expire() {
    this.fail(timedOut(this.#deadlines));
    this.connection?.giveUp(this);
  }

  /** @param {Reply} reply */
  succeed(reply) {
    this.#end();
    this.resolve(reply);
  }

  /** @param {TransportError} error */
  fail(error) {
    this.#end();
    this.reject(error);
  }

  #end() {
    this.isOver = true;
    // A timed-out exchange may be kept until a connection is free.
    this.body = '';
    this.#deadlines.clear(this.#deadline);
  }
}

/** A larger JSON-RPC answer is an error of the endpoint: blocks of 300 million gas are smaller. */
export const MAX_BODY_BYTES = 24 * 1024 * 1024;
/** The same for calls of the user, such as traces. */
export const MAX_CALL_BODY_BYTES = 64 * 1024 * 1024;

/** The limit of Node.js' own HTTP client. */
export const MAX_HEAD_BYTES = 16 * 1024;

/** A longer Retry-After is cut to this. */
const MAX_RETRY_AFTER_MS = 600_000;

/** The codes of certificate errors in Node.js (X509_V_ERR of OpenSSL, and its own check of the name). */
const CERTIFICATE_CODES = /CERT|UNABLE_TO_|_SIGNATURE|CRL_|HOSTNAME_MISMATCH/;

/**
 * The headers of the user and the credentials of the URL.
 * @param {URL} url the endpoint, credentials included
 * @param {Headers} [headers]
 * @returns {Headers}
 */
export function ownHeaders(url, headers = {}) {
  if (!url.username && !url.password) return headers;
  const credentials = `${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}`;
  return { authorization: `Basic ${Buffer.from(credentials).toString('base64')}`, ...headers };
}

/** Headers of an HTTP request. @param {URL} url @param {Headers} [headers] of the user @returns {Headers} */
export function requestHeaders(url, headers) {
  return { 'content-type': 'application/json', accept: 'application/json', ...ownHeaders(url, headers) };
}

/**
 * The wait that a Retry-After field asks for (RFC 9110, section 10.2.3): seconds, or a date.
 * @param {string} text the field's value
 * @param {number} nowMs since the epoch
 * @returns {number | null} null for a malformed value or a past date
 */
export function retryAfterMs(text, nowMs) {
  const waitMs = /^\d+$/.test(text) ? Number(text) * 1000 : Date.parse(text) - nowMs;
  return waitMs >= 0 ? Math.min(waitMs, MAX_RETRY_AFTER_MS) : null;
}

/** Messages of the failures that need no details, by code. */
const MESSAGES = Object.freeze({
  timeout: 'no answer in time',
  reset: 'connection lost',
  refused: 'connection refused',
  closed: 'the transport is closed',
  dns: 'host name not found',
  no_ports: 'no local port is left for a connection to the endpoint: closed ones keep theirs in TIME_WAIT',
  // The request timed out, or was withdrawn by its onSent, while it waited for a connection.
  not_sent: 'given up before it was sent',
});

/** Codes of Node.js and undici. @type {Readonly<Record<string, keyof typeof MESSAGES>>} */
const FAILURES = Object.freeze({
  ETIMEDOUT: 'timeout',
  ECONNREFUSED: 'refused',
  EADDRNOTAVAIL: 'no_ports',
  ECONNRESET: 'reset',
  EPIPE: 'reset',
  UND_ERR_SOCKET: 'reset',
  UND_ERR_DESTROYED: 'closed',
  UND_ERR_CLOSED: 'closed',
  ENOTFOUND: 'dns',
  EAI_AGAIN: 'dns',
});

/** @param {keyof typeof MESSAGES} code @param {unknown} [cause] */
export function failureOf(code, cause) {
  return new TransportError(MESSAGES[code], code, cause);
}

/** createRpc() says to what there is no answer. @param {Pick<Deadlines, 'timeoutMs'>} deadlines */
export function timedOut({ timeoutMs }) {
  return new TransportError(`no answer within ${timeoutMs / 1000} s (--request-timeout)`, 'timeout');
}

/** @param {Error & {code?: string}} error @returns {TransportError} */
export function asTransportError(error) {
  if (error instanceof TransportError) return error;
  // A host such as localhost may have several addresses. The code of the whole error is that of the first one, which
  // may be of an unused address family, so the last one is taken.
  if (error instanceof AggregateError && error.errors.length > 0) return asTransportError(error.errors.at(-1));
  const code = error.code ?? error.name;
  if (code in FAILURES) return failureOf(FAILURES[code], error);
  if (code.startsWith('ERR_SSL_') || code === 'EPROTO')
    return new TransportError(describeTlsError(error), 'tls', error);
  if (CERTIFICATE_CODES.test(code)) {
    const message = `its certificate is not accepted: ${oneLine(error.message, 100)}; --insecure accepts any`;
    return new TransportError(message, 'certificate', error);
  }
  if (code === 'UND_ERR_HEADERS_OVERFLOW') return headTooLarge(MAX_HEAD_BYTES, error);
  return new TransportError(oneLine(error.message) || code, code.toLowerCase(), error);
}

/**
 * OpenSSL's message has addresses, names of source files and a line break. An error of a write has its reason only there.
 * @param {Error & {code?: string, reason?: string}} error
 */
function describeTlsError({ code, message, reason = /SSL routines:[^:]*:([^:]+):/.exec(message)?.[1] }) {
  return code === 'ERR_SSL_WRONG_VERSION_NUMBER' || reason === 'wrong version number'
    ? 'it does not speak TLS: check whether the URL should begin with http:// or ws://'
    : `no TLS connection: ${oneLine(reason ?? code, 100)}`;
}

/** @param {number} maxHeadBytes @param {unknown} [cause] */
function headTooLarge(maxHeadBytes, cause) {
  return new TransportError(`the answer's header is larger than ${maxHeadBytes} bytes`, 'bad_response', cause);
}

/** @param {number} maxBodyBytes */
export function bodyTooLarge(maxBodyBytes) {
  return new TransportError(`the answer is larger than ${maxBodyBytes} bytes`, 'body_too_large');
}

/**
 * @typedef {object} Head the status line and the fields of a response that matter here
 * @property {number} status
 * @property {boolean} keepAlive whether the connection may be used again
 * @property {number | null} keepAliveMs how long the server keeps an idle connection
 * @property {string | null} retryAfter the field's value
 * @property {number | 'chunked'} body its length in bytes, or how its end is found
 */

const STATUS_LINE = /^HTTP\/1\.([01]) ([1-5]\d\d)(?: [\t\x20-\x7e\x80-\xff]*)?$/;
const FIELD_LINE = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):([\t\x20-\x7e\x80-\xff]*)$/;
const LENGTH = /^[\t ]*(\d{1,15})[\t ]*$/;
const CHUNKED = /^[\t ]*chunked[\t ]*$/i;
/** Size of the cache of heads. Within a second most heads of a server are identical. */
const MAX_CACHED_HEADS = 64;

/** @param {string} why */
function malformed(why) {
  return new TransportError(`cannot read the answer: ${why}`, 'bad_response');
}

/** What only the other transport reads. @param {string} what */
function unsupported(what) {
  return new TransportError(`--transport tcp does not read ${what}; --transport undici does`, 'bad_response');
}

/** @param {string} encoding */
function compressed(encoding) {
  const words = `it sends compressed answers (${oneLine(encoding, 20)}), which --transport tcp does not read`;
  return new TransportError(
    `${words}; use --transport undici, or leave out the Accept-Encoding header`,
    'bad_response',
  );
}

const malformedChunks = () =>
  malformed('its chunks are malformed, or have extensions or trailers, which --transport undici reads');

/** @param {string} text the head without the empty line at its end @returns {Head} @throws {TransportError} */
export function parseHead(text) {
  const [first, ...lines] = text.split('\r\n');
  const match = STATUS_LINE.exec(first);
  if (match === null) throw malformed('its first line is not a status line of HTTP/1');
  /** @type {Omit<Head, 'body'>} */
  const head = { status: Number(match[2]), keepAlive: match[1] === '1', keepAliveMs: null, retryAfter: null };
  /** @type {Head['body'][]} */
  const bodies = [];
  let encoding = 'identity';
  for (const [name, value] of lines.map(fieldOf)) {
    if (name === 'content-length') {
      const length = LENGTH.exec(value);
      if (length === null) throw malformed('its Content-Length is not a number');
      bodies.push(Number(length[1]));
    } else if (name === 'transfer-encoding') {
      if (!CHUNKED.test(value)) throw malformed('its Transfer-Encoding is not "chunked"');
      bodies.push('chunked');
    } else if (name === 'connection') {
      const tokens = value.toLowerCase().split(/[\t ,]+/);
      head.keepAlive &&= !tokens.includes('close');
    } else if (name === 'keep-alive') {
      const timeout = /(?:^|[\t ,])timeout=(\d{1,9})/i.exec(value);
      if (timeout !== null) head.keepAliveMs = Number(timeout[1]) * 1000;
    } else if (name === 'retry-after') {
      head.retryAfter ??= value.trim();
    } else if (name === 'content-encoding') {
      encoding = value.trim();
    }
  }
  if (head.status < 200) throw malformed(`it is an interim response (${head.status})`);
  // The status of an error is enough.
  if (head.status < 300 && !/^(identity)?$/i.test(encoding)) throw compressed(encoding);
  // RFC 9112, section 6.3: a message with several may be an attempt at request smuggling.
  if (bodies.length > 1) throw malformed('it has several lengths');
  // It never has a body.
  if (head.status === 204) return { ...head, body: 0 };
  if (bodies.length === 1) return { ...head, body: bodies[0] };
  // Go's server sends errors so. Their body is not read.
  if (head.status >= 300) return { ...head, keepAlive: false, body: 0 };
  throw unsupported('answers without Content-Length or chunks');
}

/** @param {string} line @returns {[string, string]} the name in lower case, and the value with the spaces around it */
function fieldOf(line) {
  const match = FIELD_LINE.exec(line);
  if (match === null) throw malformed('a header line is malformed');
  return [match[1].toLowerCase(), match[2]];
}

/** A parser that caches the latest heads. @returns {typeof parseHead} */
export function createHeadCache() {
  /** @type {Map<string, Head>} */
  const known = new Map();
  return (text) => {
    const cached = known.get(text);
    if (cached !== undefined) return cached;
    const head = parseHead(text);
    if (known.size === MAX_CACHED_HEADS) known.clear();
    known.set(text, head);
    return head;
  };
}

const END_OF_HEAD = '\r\n\r\n';
const MAX_CHUNK_LINE_BYTES = 8;
const CHUNK_SIZE = /^[0-9A-Fa-f]{1,8}$/;

/**
 * A parser of what JSON-RPC servers send; it rejects everything else. Input may be split at any place, and may contain
 * several responses. The generators below read from the input in order, and yield where more of it is needed.
 */
export class ResponseParser {
  /** Received, but not read yet. */
  #unread = Buffer.alloc(0);
  /** Head of the response that has begun. @type {Head | null} */
  #head = null;
  /** Parts of the body. @type {Buffer[]} */
  #parts = [];
  #bytes = 0;
  #maxBodyBytes;
  #maxHeadBytes;
  #parseHead;
  #onResponse;
  #reading = this.#readAll();

  /**
   * @param {{maxHeadBytes: number, maxBodyBytes: number}} limits
   * @param {typeof parseHead} readHead
   * @param {(head: Head, body: string, bodyBytes: number) => void} onResponse called for each whole response
   */
  constructor(limits, readHead, onResponse) {
    this.#maxHeadBytes = limits.maxHeadBytes;
    this.#maxBodyBytes = limits.maxBodyBytes;
    this.#parseHead = readHead;
    this.#onResponse = onResponse;
  }

  /** Whether a response has begun and is not complete. */
  get isInside() {
    return this.#head !== null || this.#unread.length > 0;
  }

  /**
   * @param {Buffer} bytes may be overwritten when this returns
   * @throws {TransportError} the parser must not be used after it
   */
  feed(bytes) {
    if (!this.isInside && this.#isReadAtOnce(bytes)) return;
    this.#unread = Buffer.concat([this.#unread, bytes]);
    this.#reading.next();
  }

  /** Most responses come in one piece, which is not copied. @param {Buffer} bytes */
  #isReadAtOnce(bytes) {
    const end = bytes.indexOf(END_OF_HEAD);
    if (end === -1 || end > this.#maxHeadBytes) return false;
    const head = this.#parseHead(bytes.toString('latin1', 0, end));
    const start = end + END_OF_HEAD.length;
    if (head.body !== bytes.length - start || head.body > this.#maxBodyBytes) return false;
    this.#onResponse(head, bytes.toString('utf8', start), head.body);
    return true;
  }

  /** @returns {Generator<void, void>} */
  *#readAll() {
    for (;;) {
      const head = this.#parseHead(yield* this.#readHead());
      this.#head = head;
      if (head.body === 'chunked') yield* this.#readChunks();
      else yield* this.#readBody(head.body);
      const [text, bytes] = [Buffer.concat(this.#parts).toString(), this.#bytes];
      this.#head = null;
      this.#parts = [];
      this.#bytes = 0;
      this.#onResponse(head, text, bytes);
    }
  }

  /** @returns {Generator<void, string>} */
  *#readHead() {
    for (;;) {
      const head = this.#take(END_OF_HEAD, this.#maxHeadBytes);
      if (head !== null) return head;
      // Recognises another protocol by its first bytes, before the time-out.
      if (!'HTTP/1.'.startsWith(this.#unread.toString('latin1', 0, 7)))
        throw malformed('its first line is not a status line of HTTP/1');
      yield;
    }
  }

  /** @returns {Generator<void, void>} */
  *#readChunks() {
    for (;;) {
      const text = yield* this.#readLine();
      if (!CHUNK_SIZE.test(text)) throw malformedChunks();
      const size = Number.parseInt(text, 16);
      yield* this.#readBody(size);
      if ((yield* this.#readLine()) !== '') throw malformedChunks();
      if (size === 0) return;
    }
  }

  /** Before or behind a chunk. @returns {Generator<void, string>} */
  *#readLine() {
    for (;;) {
      const line = this.#take('\r\n', MAX_CHUNK_LINE_BYTES);
      if (line !== null) return line;
      yield;
    }
  }

  /** @param {string} delimiter @param {number} maxBytes @returns {string | null} null: not complete */
  #take(delimiter, maxBytes) {
    const end = this.#unread.indexOf(delimiter);
    if (end > maxBytes || (end === -1 && this.#unread.length >= maxBytes + delimiter.length))
      throw delimiter === END_OF_HEAD ? headTooLarge(maxBytes) : malformedChunks();
    if (end === -1) return null;
    const text = this.#unread.toString('latin1', 0, end);
    this.#unread = this.#unread.subarray(end + delimiter.length);
    return text;
  }

  /** @param {number} bytes @returns {Generator<void, void>} */
  *#readBody(bytes) {
    if (this.#bytes + bytes > this.#maxBodyBytes) throw bodyTooLarge(this.#maxBodyBytes);
    this.#bytes += bytes;
    for (let left = bytes; left > 0;) {
      const part = this.#unread.subarray(0, left);
      this.#unread = this.#unread.subarray(part.length);
      this.#parts.push(part);
      left -= part.length;
      if (left > 0) yield;
    }
  }
}
