/**
 * An HTTP/1.1 server for POST bodies on one connection after another, on plain sockets: node:http costs twice as much
 * for each request, and a node that is meant not to be the limit cannot afford that.
 */
import { createServer } from 'node:net';

const HEAD_END = '\r\n\r\n';
const CONTENT_LENGTH = /\r\ncontent-length: *(\d+)/i;
const CLOSE = /\r\nconnection: *close/i;
/** A head or a body above this size is a mistake of the client. */
const MAX_BYTES = 16 * 1024 * 1024;

/** @param {(body: string) => string} answer gives the JSON of the response to a body */
export function createHttpServer(answer) {
  return createServer({ noDelay: true }, (socket) => {
    /** What came of a request that is not complete yet. @type {Buffer | null} */
    let rest = null;
    socket.on('error', () => {}); // the client closed its connection
    socket.on('data', (chunk) => {
      const bytes = rest === null ? chunk : Buffer.concat([rest, chunk]);
      const { responses, used, end } = serve(bytes, answer);
      rest = used === bytes.length ? null : bytes.subarray(used);
      if (responses !== '') socket.write(responses, 'latin1');
      if (end || (rest !== null && rest.length > MAX_BYTES)) socket.end();
    });
  });
}

/** Answers all requests that are complete. @param {Buffer} bytes @param {(body: string) => string} answer */
function serve(bytes, answer) {
  let responses = '';
  let used = 0;
  while (used < bytes.length) {
    const headEnd = bytes.indexOf(HEAD_END, used, 'latin1');
    if (headEnd === -1) break;
    const head = bytes.toString('latin1', used, headEnd);
    const length = CONTENT_LENGTH.exec(head);
    // Chunked bodies have none; JSON-RPC clients do not send them.
    if (length === null) return { responses: responses + refusal(), used: bytes.length, end: true };
    const bodyStart = headEnd + HEAD_END.length;
    const bodyEnd = bodyStart + Number(length[1]);
    if (bodyEnd > bytes.length) break;
    const end = CLOSE.test(head);
    responses += response(answer(bytes.toString('latin1', bodyStart, bodyEnd)), end);
    used = bodyEnd;
    if (end) return { responses, used: bytes.length, end };
  }
  return { responses, used, end: false };
}

/** @param {string} json of ASCII characters only, so that its length is its size @param {boolean} close */
function response(json, close) {
  const connection = close ? 'Connection: close\r\n' : '';
  return `HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n${connection}Content-Length: ${json.length}\r\n\r\n${json}`;
}

function refusal() {
  return 'HTTP/1.1 411 Length Required\r\nConnection: close\r\nContent-Length: 0\r\n\r\n';
}
