/** Compressed answers, which some gateways send unasked: undici reads them, and tcp says that it does not. */
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { describe, it } from 'node:test';
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from 'node:zlib';
import { transports } from '../../src/transport/index.js';
import { failure, listen } from '../helpers/raw-server.js';

/**
 * @import { TransportOptions } from '../../src/contracts/chain.d.ts'
 * @import { IncomingHttpHeaders } from 'node:http'
 * @import { TestContext } from 'node:test'
 */

/** No test waits for anything this long, unless it hangs. */
const LIMIT = Object.freeze({ timeout: 300_000 });
const TEXT = `{"jsonrpc":"2.0","id":1,"result":"${'äß€😀 '.repeat(50)}"}`;

/**
 * A transport to a server that answers everything with the same bytes.
 * @param {TestContext} t
 * @param {string} name
 * @param {{encoding: string | string[], body: Buffer | string, status?: number}} answer
 * @param {Partial<TransportOptions>} [options]
 */
async function connect(t, name, { encoding, body, status = 200 }, options = {}) {
  /** @type {IncomingHttpHeaders[]} */
  const asked = [];
  const server = createServer((request, response) => {
    asked.push(request.headers);
    request.resume().on('end', () => {
      response.setHeader('content-encoding', encoding).writeHead(status).end(body);
    });
  });
  const { port } = await listen(t, server);
  const transport = transports[name]({
    url: new URL(`http://127.0.0.1:${port}`),
    connections: 1,
    timeoutMs: 120_000,
    ...options,
  });
  t.after(() => transport.close());
  return { transport, asked };
}

/** @param {string} encoding */
const unread = (encoding) =>
  `it sends answers with the Content-Encoding ${encoding}, which stress does not read; leave out the Accept-Encoding header`;
/** @param {string} encoding */
const ofTcp = (encoding) =>
  `it sends compressed answers (${encoding}), which --transport tcp does not read; use --transport undici, or leave out the Accept-Encoding header`;

/** Transport, encoding and body that it does not read, and its words. @type {Array<[string, string, Buffer | string, string]>} */
const UNREAD = [
  ['undici', 'gzip', TEXT, 'cannot read the answer: its gzip body is malformed'],
  ['undici', 'gzip', gzipSync(TEXT).subarray(0, 40), 'cannot read the answer: its gzip body is malformed'],
  ['undici', 'br', gzipSync(TEXT), 'cannot read the answer: its br body is malformed'],
  ['undici', 'zstd', TEXT, unread('zstd')],
  ['undici', 'constructor', TEXT, unread('constructor')],
  ['tcp', 'gzip', gzipSync(TEXT), ofTcp('gzip')],
  ['tcp', 'br', brotliCompressSync(TEXT), ofTcp('br')],
];

describe('compressed answers: refused in one line', LIMIT, () => {
  for (const [name, encoding, body, says] of UNREAD)
    it(`transport ${name}: ${encoding} with ${body.length} bytes`, async (t) => {
      const { transport } = await connect(t, name, { encoding, body });
      const { code, message } = await failure(transport.post('{}'));
      assert.deepEqual([code, message], ['transport_bad_response', says]);
    });
});

describe('transport undici: compressed answers', LIMIT, () => {
  /** @type {Array<[string | string[], Buffer | string]>} */
  const rows = [
    ['gzip', gzipSync(TEXT)],
    ['x-gzip', gzipSync(TEXT)],
    ['GZIP', gzipSync(TEXT)],
    ['deflate', deflateSync(TEXT)],
    ['deflate', deflateRawSync(TEXT)],
    ['br', brotliCompressSync(TEXT)],
    ['gzip, br', brotliCompressSync(gzipSync(TEXT))],
    [['br', 'gzip'], gzipSync(brotliCompressSync(TEXT))],
    ['identity', TEXT],
    ['', TEXT],
  ];
  for (const [encoding, body] of rows)
    it(`${JSON.stringify(encoding)}, ${body.length} bytes: read`, async (t) => {
      const { transport } = await connect(t, 'undici', { encoding, body });
      for (let i = 0; i < 2; i += 1) assert.equal((await transport.post('{}')).text, TEXT);
      assert.equal(transport.stats().bytesReceived, 2 * Buffer.byteLength(body));
      assert.equal(transport.stats().connectionsOpened, 1);
    });

  it('a header of the user asks for them', async (t) => {
    const headers = { 'accept-encoding': 'gzip' };
    const { transport, asked } = await connect(t, 'undici', { encoding: 'gzip', body: gzipSync(TEXT) }, { headers });
    assert.equal((await transport.post('{}')).text, TEXT);
    assert.equal(asked[0]['accept-encoding'], 'gzip');
  });

  it('without a body, of an error', async (t) => {
    const { transport } = await connect(t, 'undici', { encoding: 'gzip', body: '', status: 429 });
    assert.deepEqual(await transport.post('{}'), { status: 429, text: '', retryAfterMs: null });
  });

  const bomb = Buffer.alloc(200_000, ' ');
  for (const [encoding, body] of /** @type {Array<[string, Buffer]>} */ ([
    ['gzip', gzipSync(bomb)],
    ['deflate', deflateSync(bomb)],
    ['br', brotliCompressSync(bomb)],
    ['gzip, gzip', gzipSync(gzipSync(bomb))],
  ]))
    it(`${encoding}: the limit is that of the decoded body`, async (t) => {
      const { transport } = await connect(t, 'undici', { encoding, body }, { maxBodyBytes: 199_999 });
      const { code, message } = await failure(transport.post('{}'));
      assert.deepEqual([code, message], ['transport_body_too_large', 'the answer is larger than 199999 bytes']);
      const { transport: larger } = await connect(t, 'undici', { encoding, body }, { maxBodyBytes: 200_000 });
      assert.equal((await larger.post('{}')).text.length, 200_000);
    });
});

describe('transport tcp: compressed answers', LIMIT, () => {
  it('identity, and the status of an error, are read', async (t) => {
    const { transport } = await connect(t, 'tcp', { encoding: 'identity', body: TEXT });
    assert.equal((await transport.post('{}')).text, TEXT);
    const busy = await connect(t, 'tcp', { encoding: 'gzip', body: gzipSync('slow down'), status: 429 });
    assert.equal((await busy.transport.post('{}')).status, 429);
  });
});
