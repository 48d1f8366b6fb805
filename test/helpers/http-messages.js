/**
 * Cuts a stream of bytes into HTTP/1.1 messages: as much of HTTP as a proxy needs that has to know where a request or a
 * response begins and ends. Bodies have a content-length or are chunked, as geth and anvil send them.
 *
 * @typedef {object} HttpMessage
 * @property {string} head the start line and the header lines, without the empty line
 * @property {Buffer} body without the marks of chunks
 * @property {Buffer} bytes the whole message as it came
 */

const END_OF_HEAD = '\r\n\r\n';
const END_OF_LINE = '\r\n';

/** @returns {(chunk: Buffer) => HttpMessage[]} takes what came next, gives the messages that are complete with it */
export function messageCutter() {
  let rest = Buffer.alloc(0);
  return (chunk) => {
    rest = Buffer.concat([rest, chunk]);
    const messages = [];
    for (let message = firstMessage(rest); message !== null; message = firstMessage(rest)) {
      messages.push(message);
      rest = rest.subarray(message.bytes.length);
    }
    return messages;
  };
}

/** @param {Buffer} bytes @returns {HttpMessage | null} null: it is not complete */
function firstMessage(bytes) {
  const headEnd = bytes.indexOf(END_OF_HEAD);
  if (headEnd < 0) return null;
  const head = bytes.toString('latin1', 0, headEnd);
  const from = headEnd + END_OF_HEAD.length;
  const found = isChunked(head) ? chunkedBody(bytes, from) : sizedBody(bytes, from, contentLength(head));
  return found === null ? null : { head, body: found.body, bytes: bytes.subarray(0, found.end) };
}

/** @param {string} head */
function isChunked(head) {
  return /^transfer-encoding:.*\bchunked\b/im.test(head);
}

/** @param {string} head */
function contentLength(head) {
  return Number(/^content-length: *(\d+)/im.exec(head)?.[1] ?? 0);
}

/** @param {Buffer} bytes @param {number} from @param {number} length */
function sizedBody(bytes, from, length) {
  const end = from + length;
  return bytes.length < end ? null : { body: bytes.subarray(from, end), end };
}

/** @param {Buffer} bytes @param {number} from @returns {{body: Buffer, end: number} | null} */
function chunkedBody(bytes, from) {
  const parts = [];
  for (let at = from; ;) {
    const lineEnd = bytes.indexOf(END_OF_LINE, at);
    if (lineEnd < 0) return null;
    const size = Number.parseInt(bytes.toString('latin1', at, lineEnd), 16);
    const start = lineEnd + END_OF_LINE.length;
    const end = start + size + END_OF_LINE.length;
    if (bytes.length < end) return null;
    if (size === 0) return { body: Buffer.concat(parts), end };
    parts.push(bytes.subarray(start, start + size));
    at = end;
  }
}

/** @param {HttpMessage} message whether the connection speaks another protocol from here on */
export function isUpgrade({ head }) {
  return /^upgrade:/im.test(head);
}

/**
 * @param {string | Buffer} body
 * @param {{status?: string, type?: string, headers?: string[]}} [given]
 * @returns {Buffer} a whole response
 */
export function httpResponse(body, { status = '200 OK', type = 'application/json', headers = [] } = {}) {
  const bytes = Buffer.from(body);
  const lines = [`HTTP/1.1 ${status}`, `content-type: ${type}`, `content-length: ${bytes.length}`, ...headers];
  return Buffer.concat([Buffer.from(lines.join(END_OF_LINE) + END_OF_HEAD), bytes]);
}

/**
 * The same request with another body.
 * @param {HttpMessage} request
 * @param {string} body
 */
export function withBody({ head }, body) {
  const lines = head.split(END_OF_LINE).filter((line) => !/^(content-length|transfer-encoding):/i.test(line));
  const bytes = Buffer.from(body);
  return Buffer.concat([
    Buffer.from([...lines, `content-length: ${bytes.length}`].join(END_OF_LINE) + END_OF_HEAD),
    bytes,
  ]);
}
