/** What an endpoint may do to a transport: whatever it is, a request ends in time, and with the fault of the endpoint. */
import assert from 'node:assert/strict';
import { createServer } from 'node:net';
import { describe, it } from 'node:test';
import { createServer as createTlsServer } from 'node:tls';
import { transports } from '../../src/transport/index.js';
import { CERTIFICATE, CERTIFICATE_KEY } from '../helpers/certificate.js';
import { HTTP_TRANSPORTS, connectRaw, failure, listen, repeat, response } from '../helpers/raw-server.js';
import { until } from '../helpers/until.js';

/**
 * @import { Server, Socket } from 'node:net'
 * @import { TestContext } from 'node:test'
 */

/** No test waits for anything this long, unless it hangs. */
const LIMIT = Object.freeze({ timeout: 300_000 });
const TIMEOUT_MS = 1000;
/** Far more than the time-out, for a machine that is busy, and far less than many time-outs in a row. */
const LATEST_MS = 10_000;
const MAX_BODY_BYTES = 100_000;

const HEAD = 'HTTP/1.1 200 OK\r\n';
const LENGTH = 'Content-Length: ';
const LONG = 'x'.repeat(20_000);
const EARLY_HINTS = 'HTTP/1.1 103 Early Hints\r\n\r\n'.repeat(500);
const ESCAPES = `${HEAD}X-A: \u001b[2J\u001b]0;title\u0007\r\n${LENGTH}2\r\n\r\n{}`;
const TWO_LENGTHS = `${HEAD}${LENGTH}2\r\n${LENGTH}3\r\n\r\n{}`;
const CHUNKED = `${HEAD}Transfer-Encoding: chunked\r\n\r\n`;

/** What it sends at once, what again and again, and the codes of the faults that transports may call it. @type {Array<[string, string, [string, number] | null, RegExp | {undici: RegExp | null, tcp: RegExp}]>} */
const HOSTILE = [
  ['says nothing', '', null, /timeout/],
  ['sends a byte of its head at a time', HEAD, ['x', 20], /timeout/],
  ['sends a byte of its body at a time', `${HEAD}Content-Length: 1000\r\n\r\n`, [' ', 20], /timeout/],
  ['sends chunks of a byte', CHUNKED, ['1\r\n \r\n', 20], /timeout/],
  ['sends interim responses without end', '', [EARLY_HINTS, 1], { undici: /timeout/, tcp: /bad_response/ }],
  ['sends a head without end', HEAD, [`X-A: ${'x'.repeat(2000)}\r\n`, 1], /bad_response/],
  ['sends a body without end', `${HEAD}\r\n`, [LONG, 1], { undici: /body_too_large/, tcp: /bad_response/ }],
  ['sends a body without end, in chunks', CHUNKED, [`4e20\r\n${LONG}\r\n`, 1], /body_too_large/],
  ['says a length above the limit, and sends none', `${HEAD}${LENGTH}99999999999\r\n\r\n{`, null, /body_too_large/],
  ['closes within its body', `${HEAD}Content-Length: 20\r\n\r\n{}`, ['', 0], /reset/],
  ['closes within its chunks', `${CHUNKED}2\r\n{}\r\n`, ['', 0], /reset/],
  ['puts escape sequences into its head', ESCAPES, null, /bad_response|httpparsererror/],
  ['switches protocols', 'HTTP/1.1 101 \r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n', null, /bad_response|reset/],
  ['speaks no HTTP', 'SSH-2.0-OpenSSH_9.6\r\n', null, /bad_response|httpparsererror/],
  ['speaks TLS', '\x15\x03\x01\x00\x02\x02\x46', null, /bad_response|httpparsererror/],
  ['says two lengths', TWO_LENGTHS, null, /bad_response|content_length_mismatch/],
  ['says no number of its chunk', `${CHUNKED}x\r\n{}\r\n`, null, /bad_response|httpparsererror/],
  // Node.js' own parser, which undici has, is more lenient.
  ['folds a field', `${HEAD}A: b\r\n c\r\nContent-Length: 2\r\n\r\n{}`, null, { undici: null, tcp: /bad_response/ }],
];

for (const [way, { name }] of Object.entries(HTTP_TRANSPORTS)) {
  const options = { timeoutMs: TIMEOUT_MS, maxBodyBytes: MAX_BODY_BYTES };
  describe(`transport ${way}: an endpoint that`, LIMIT, () => {
    for (const [what, begin, again, codes] of HOSTILE) {
      const code = codes instanceof RegExp ? codes : codes[/** @type {'undici' | 'tcp'} */ (name)];
      if (code === null) continue;
      it(`${what} fails the request in time, is asked once, and loses its connection`, async (t) => {
        let isHostile = true;
        const { transport, server } = await connectRaw(t, way, options, ({ socket, body }) => {
          if (!isHostile) return void socket.write(response(body));
          socket.write(begin, 'latin1');
          if (again?.[1] === 0) socket.end();
          else if (again) repeat(socket, () => socket.writableLength < 1e6 && socket.write(again[0]), again[1]);
        });
        assert.match((await failure(transport.post('first'), LATEST_MS)).code, code);
        isHostile = false;
        assert.equal((await transport.post('second')).text, 'second');
        const asked = server.asked.map(({ body }) => body);
        assert.deepEqual(asked, ['first', 'second']);
        assert.ok(server.connections() > 1, 'the connection was used again');
      });
    }

    for (const [when, more, delayMs] of /** @type {Array<[string, string, number?]>} */ ([
      ['at once', response('forged')],
      ['a moment later', response('forged'), 5],
      ['with a body that is longer than it said', 'more'],
    ])) {
      it(`answers twice, ${when}: the second one is ignored, and its connection is not used again`, async (t) => {
        const { transport, server } = await connectRaw(t, way, {}, ({ socket, body }) => {
          socket.write(response(body) + (delayMs === undefined ? more : ''));
          if (delayMs !== undefined) setTimeout(() => socket.write(more), delayMs);
        });
        const answered = async (/** @type {string} */ body) => assert.equal((await transport.post(body)).text, body);
        // Others wait for the connection.
        if (delayMs === undefined) await Promise.all(['a', 'b', 'c'].map(answered));
        for (const body of ['d', 'e', 'f']) {
          await answered(body);
          await until(() => server.open() === 0);
        }
        assert.equal(server.connections(), delayMs === undefined ? 6 : 3);
      });
    }

    it('names its fields like what every object has, and sends its answer byte by byte', async (t) => {
      const fields = '__proto__: a\r\n__proto__: b\r\nconstructor: c\r\ntoString: d\r\nhasOwnProperty: e\r\n';
      const { transport } = await connectRaw(t, way, {}, ({ socket, body }) => {
        const bytes = [...response(body, fields)];
        const next = () => bytes.length > 0 && socket.write(bytes.shift() ?? '', next);
        next();
      });
      assert.equal((await transport.post('{"id":1}')).text, '{"id":1}');
      assert.equal(Object.getOwnPropertyDescriptor(Object.prototype, 'a'), undefined);
    });
  });
}

for (const [name, scheme] of [
  ['undici', 'https'],
  ['ws', 'wss'],
]) {
  describe(`transport ${name}: TLS`, LIMIT, () => {
    const identity = { cert: CERTIFICATE, key: CERTIFICATE_KEY };
    /** @param {Buffer | null} bytes in answer to the handshake; null: it hangs up */
    const raw = (bytes) =>
      createServer((socket) => {
        socket.on('data', () => (bytes === null ? socket.end() : socket.write(bytes)));
      });
    /** @param {number} description of a fatal alert (RFC 8446, section 6.2) */
    const alert = (description) => raw(Buffer.from([21, 3, 3, 0, 2, 2, description]));
    const LATE = /^no answer within [\d.]+ s \(--request-timeout\)$/;
    const OLD = /** @type {const} */ ({ minVersion: 'TLSv1', maxVersion: 'TLSv1.1' });
    /** @type {Array<[string, () => Server, RegExp]>} */
    const table = [
      ['stalls in the handshake', () => createServer(() => {}), LATE],
      ['stalls in the midst of it', () => raw(Buffer.from([22, 3, 3, 0, 100, 2])), LATE],
      ['hangs up', () => raw(null), /^connection lost$/],
      ['speaks HTTP', () => raw(Buffer.from('HTTP/1.1 400 Bad Request\r\n\r\n')), /^it does not speak TLS: .*http:/],
      ['refuses the handshake', () => alert(40), /^no TLS connection: .*handshake failure$/],
      ['knows another host', () => alert(112), /^no TLS connection: .*unrecognized name$/],
      ['wants a certificate of ours', () => alert(116), /^no TLS connection: .*certificate required$/],
      ['speaks an old version', () => createTlsServer({ ...identity, ...OLD }), /^no TLS connection: .*version$/],
      ['has no certificate', () => createTlsServer({}), /^no TLS connection: .*handshake failure$/],
    ];
    for (const [what, createEndpoint, words] of table) {
      it(`an endpoint that ${what}: one clear line, in time`, async (t) => {
        const { port } = await listen(t, createEndpoint());
        const url = new URL(`${scheme}://127.0.0.1:${port}`);
        const transport = transports[name]({ url, connections: 1, timeoutMs: TIMEOUT_MS, insecure: true });
        t.after(() => transport.close());
        const error = await failure(transport.post('{"id":1}'), LATEST_MS);
        assert.match(error.message, words);
      });
    }
  });
}
