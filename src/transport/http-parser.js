import { TransportError } from '../errors.js';
import { bodyTooLarge, encodingFault } from './http.js';

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

/**
 * An incremental parser of HTTP/1.1 responses (RFC 9112), strict: what it does not understand is an error, never a
 * guess. Bytes may arrive cut at any place, and several responses may arrive at once.
 *
 * @typedef {object} Limits
 * @property {number} maxHeadBytes largest head, and largest trailer section
 * @property {number} maxBodyBytes
 */

const END_OF_HEAD = Buffer.from('\r\n\r\n');
const CHUNK_SIZE = /^([0-9A-Fa-f]{1,8})[\t ]*(?:;[\t\x20-\x7e\x80-\xff]*)?$/;
/** The longest line before a chunk, its extensions included, in bytes. */
const MAX_CHUNK_LINE_BYTES = 1024;

export class ResponseParser {
  /** An interim response was read, and the real one has not begun. */
  #isInterim = false;
  /** What has come of a head or a line that is not complete. @type {Buffer} */
  #rest = Buffer.alloc(0);
  /** Set while its body is read. @type {Head | null} */
  #head = null;
  /** @type {Buffer[]} */
  #parts = [];
  #bytes = 0;
  /** Bytes missing of the body or of the chunk. */
  #missing = 0;
  /** @type {'size' | 'data' | 'data_end' | 'trailers'} */
  #chunkState = 'size';
  /** Of the next response. */
  maxBodyBytes;
  #maxHeadBytes;
  #parseHead;
  #onResponse;

  /**
   * @param {Limits} limits
   * @param {typeof parseHead} readHead parseHead, or one that remembers
   * @param {(head: Head, body: string, bodyBytes: number) => void} onResponse called for each whole response
   */
  constructor(limits, readHead, onResponse) {
    this.#maxHeadBytes = limits.maxHeadBytes;
    this.maxBodyBytes = limits.maxBodyBytes;
    this.#parseHead = readHead;
    this.#onResponse = onResponse;
  }

  /** Whether a response has begun and is not complete. */
  get isInside() {
    return this.#head !== null || this.#isInterim || this.#rest.length > 0;
  }

  /**
   * @param {Buffer} bytes may be overwritten when this returns
   * @throws {TransportError} after which nothing more may be fed
   */
  feed(bytes) {
    let at = 0;
    while (at < bytes.length) {
      if (this.#head === null) at = this.#feedHead(bytes, at);
      else if (this.#head.body === 'chunked') at = this.#feedChunked(bytes, at);
      else at = this.#feedBody(bytes, at);
    }
  }

  /** The server has closed its side. @throws {TransportError} when a response is cut off */
  end() {
    if (this.#head?.body === 'until_close') this.#finish();
    else if (this.isInside) throw new TransportError('the connection was closed within an answer', 'reset');
  }

  /** @param {Buffer} bytes @param {number} at */
  #feedHead(bytes, at) {
    const maxHeadBytes = this.#maxHeadBytes;
    const known = this.#rest.length;
    const buffer = known === 0 ? bytes.subarray(at) : Buffer.concat([this.#rest, bytes.subarray(at)]);
    const end = buffer.indexOf(END_OF_HEAD, Math.max(known - 3, 0));
    if (end > maxHeadBytes || (end === -1 && buffer.length > maxHeadBytes + END_OF_HEAD.length)) {
      throw malformed(`its header is larger than ${maxHeadBytes} bytes`);
    }
    if (end === -1) {
      mustStartLikeHttp(buffer);
      this.#rest = known === 0 ? Buffer.from(buffer) : buffer;
      return bytes.length;
    }
    this.#rest = Buffer.alloc(0);
    const head = this.#parseHead(buffer.toString('latin1', 0, end));
    const next = at + end + END_OF_HEAD.length - known;
    if (head.status === 101) throw malformed('it switches protocols');
    this.#isInterim = head.status < 200;
    if (!this.#isInterim) this.#begin(head);
    return next;
  }

  /** @param {Head} head */
  #begin(head) {
    this.#head = head;
    this.#parts = [];
    this.#bytes = 0;
    this.#chunkState = 'size';
    if (typeof head.body !== 'number') return;
    this.#missing = head.body;
    if (head.body > this.maxBodyBytes) throw bodyTooLarge(this.maxBodyBytes);
    if (head.body === 0) this.#finish();
  }

  /** @param {Buffer} bytes @param {number} at */
  #feedBody(bytes, at) {
    const head = /** @type {Head} */ (this.#head);
    const isUntilClose = head.body === 'until_close';
    const end = isUntilClose ? bytes.length : Math.min(bytes.length, at + this.#missing);
    if (this.#parts.length === 0 && !isUntilClose && end - at === this.#missing) {
      // Most bodies come whole: they are not copied.
      this.#finish(bytes.toString('utf8', at, end), end - at);
      return end;
    }
    this.#take(bytes, at, end);
    this.#missing -= end - at;
    if (!isUntilClose && this.#missing === 0) this.#finish();
    return end;
  }

  /** @param {Buffer} bytes @param {number} at */
  #feedChunked(bytes, at) {
    if (this.#chunkState === 'data') {
      const end = Math.min(bytes.length, at + this.#missing);
      this.#take(bytes, at, end);
      this.#missing -= end - at;
      if (this.#missing === 0) this.#chunkState = 'data_end';
      return end;
    }
    const isTrailer = this.#chunkState === 'trailers';
    const limit = isTrailer ? this.#maxHeadBytes : MAX_CHUNK_LINE_BYTES;
    const { line, next } = this.#takeLine(bytes, at, limit);
    if (line === null) return next;
    if (this.#chunkState === 'data_end') {
      if (line !== '') throw malformed('a chunk is longer than it said');
      this.#chunkState = 'size';
    } else if (isTrailer) {
      this.#missing += line.length + 2;
      if (this.#missing > limit + 2) throw malformed(`its trailers are larger than ${limit} bytes`);
      if (line === '') this.#finish();
      else fieldOf(line);
    } else {
      const match = CHUNK_SIZE.exec(line);
      if (match === null) throw malformed('the size of a chunk is no number');
      this.#missing = Number.parseInt(match[1], 16);
      if (this.#bytes + this.#missing > this.maxBodyBytes) throw bodyTooLarge(this.maxBodyBytes);
      this.#chunkState = this.#missing === 0 ? 'trailers' : 'data';
    }
    return next;
  }

  /**
   * @param {Buffer} bytes @param {number} at @param {number} limit
   * @returns {{line: string | null, next: number}} null: it is not complete yet
   */
  #takeLine(bytes, at, limit) {
    const known = this.#rest.length;
    const newline = bytes.indexOf(0x0a, at);
    const end = newline === -1 ? bytes.length : newline + 1;
    if (known + end - at > limit + 2) throw malformed('a line between its chunks is too long');
    const text = known === 0 ? bytes.subarray(at, end) : Buffer.concat([this.#rest, bytes.subarray(at, end)]);
    if (newline === -1) {
      this.#rest = Buffer.from(text);
      return { line: null, next: end };
    }
    this.#rest = Buffer.alloc(0);
    if (text.length < 2 || text[text.length - 2] !== 0x0d) throw malformed('a line does not end with CR LF');
    return { line: text.toString('latin1', 0, text.length - 2), next: end };
  }

  /** @param {Buffer} bytes @param {number} at @param {number} end */
  #take(bytes, at, end) {
    this.#bytes += end - at;
    if (this.#bytes > this.maxBodyBytes) throw bodyTooLarge(this.maxBodyBytes);
    this.#parts.push(Buffer.from(bytes.subarray(at, end)));
  }

  /** @param {string} [text] the whole body, when it came in one piece @param {number} [bytes] */
  #finish(text = Buffer.concat(this.#parts).toString(), bytes = this.#bytes) {
    const head = /** @type {Head} */ (this.#head);
    this.#head = null;
    this.#parts = [];
    this.#onResponse(head, text, bytes);
  }
}

/** So that another protocol is recognised by its first bytes, not by the time-out. @param {Buffer} buffer */
function mustStartLikeHttp(buffer) {
  const start = buffer.toString('latin1', 0, 7);
  if (!'HTTP/1.'.startsWith(start)) throw malformed('it does not start with HTTP/1.');
}
