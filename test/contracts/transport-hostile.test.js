/** What an endpoint may do to a transport: whatever it is, a request ends in time, and with the fault of the endpoint. */
import assert from 'node:assert/strict';
import { createServer } from 'node:net';
import { describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { createServer as createTlsServer } from 'node:tls';
import { TransportError } from '../../src/errors.js';
import { transports } from '../../src/transport/index.js';
import { caught } from '../helpers/caught.js';
import { CERTIFICATE, CERTIFICATE_KEY } from '../helpers/certificate.js';
import { startWsServer } from '../helpers/ws-server.js';

/**
 * @import { WsServerOptions } from '../helpers/ws-server.js'
 * @import { AddressInfo, Server, Socket } from 'node:net'
 * @import { TestContext } from 'node:test'
 */

/** No test waits for anything this long, unless it hangs. */
const LIMIT = Object.freeze({ timeout: 300_000 });
const TIMEOUT_MS = 1000;
/** Far more than the time-out, for a machine that is busy, and far less than many time-outs in a row. */
const LATEST_MS = 10_000;
const MAX_BODY_BYTES = 100_000;

/**
 * @param {TestContext} t the server ends with it
 * @param {Server} server
 */
async function listen(t, server) {
  /** @type {Set<Socket>} */
  const open = new Set();
  let connections = 0;
  server.on('connection', (socket) => {
    connections += 1;
    open.add(socket);
    socket.on('error', () => {}).on('close', () => open.delete(socket));
  });
  server.on('tlsClientError', () => {});
  await new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(undefined)));
  t.after(() => {
    server.close();
    for (const socket of open) socket.destroy();
  });
  const { port } = /** @type {AddressInfo} */ (server.address());
  return { port, connections: () => connections, open: () => open.size };
}

/** @param {TestContext} t @param {string} name @param {string} url @param {number} [maxBodyBytes] */
function open(t, name, url, maxBodyBytes = MAX_BODY_BYTES) {
  const transport = transports[name]({
    url: new URL(url),
    connections: 1,
    timeoutMs: TIMEOUT_MS,
    maxBodyBytes,
    insecure: true,
  });
  t.after(() => transport.close());
  return transport;
}

/**
 * A transport to a raw HTTP server.
 * @param {TestContext} t
 * @param {string} name
 * @param {(socket: Socket, body: string) => void} answer called with each request, all of which are
 *   small enough to come in one piece
 */
async function connect(t, name, answer) {
  /** @type {string[]} */
  const asked = [];
  const server = createServer((socket) => {
    socket.on('data', (bytes) => {
      const [, body] = String(bytes).split('\r\n\r\n');
      asked.push(body);
      answer(socket, body);
    });
  });
  const facts = await listen(t, server);
  return { transport: open(t, name, `http://127.0.0.1:${facts.port}`), asked, ...facts };
}

/** @param {string} body @param {string} [fields] */
const response = (body, fields = '') =>
  `HTTP/1.1 200 OK\r\n${fields}Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;

/**
 * Writes the same again and again, until the reader closes.
 * @param {Socket} socket
 * @param {string | Buffer} bytes
 * @param {number} everyMs
 */
function repeat(socket, bytes, everyMs) {
  const timer = setInterval(() => socket.writableLength < 1_000_000 && socket.write(bytes), everyMs);
  socket.on('close', () => clearInterval(timer));
}

/** @param {Promise<unknown>} post @returns {Promise<TransportError>} */
async function failure(post) {
  const startMs = performance.now();
  const error = await caught(() => post);
  const tookMs = performance.now() - startMs;
  assert.ok(error instanceof TransportError, `${error?.name}: ${error?.message}`);
  assert.ok(tookMs <= LATEST_MS, `it took ${Math.round(tookMs)} ms`);
  assert.match(error.message, /^[\x20-\x7e]{5,150}$/);
  return error;
}

/** @param {() => boolean} condition */
async function until(condition) {
  while (!condition()) await sleep(5);
}

const HEAD = 'HTTP/1.1 200 OK\r\n';

/** What it does with each request, and the codes of the faults that transports may call it. @type {Array<[string, (socket: Socket) => void, RegExp | {undici: RegExp, tcp: RegExp}]>} */
const HOSTILE = [
  ['says nothing', () => {}, /timeout/],
  ['sends a byte of its head at a time', (socket) => void (socket.write(HEAD), repeat(socket, 'x', 20)), /timeout/],
  [
    'sends a byte of its body at a time',
    (socket) => void (socket.write(`${HEAD}Content-Length: 1000\r\n\r\n`), repeat(socket, ' ', 20)),
    /timeout/,
  ],
  [
    'sends chunks of a byte',
    (socket) => void (socket.write(`${HEAD}Transfer-Encoding: chunked\r\n\r\n`), repeat(socket, '1\r\n \r\n', 20)),
    /timeout/,
  ],
  [
    'sends interim responses without end',
    (socket) => repeat(socket, 'HTTP/1.1 103 Early Hints\r\n\r\n'.repeat(500), 1),
    { undici: /timeout/, tcp: /bad_response/ },
  ],
  [
    'sends a head without end',
    (socket) => void (socket.write(HEAD), repeat(socket, `X-A: ${'x'.repeat(2000)}\r\n`, 1)),
    /bad_response/,
  ],
  [
    'sends a body without end, until it closes',
    (socket) => void (socket.write(`${HEAD}\r\n`), repeat(socket, 'x'.repeat(20_000), 1)),
    { undici: /body_too_large/, tcp: /bad_response/ },
  ],
  [
    'sends a body without end, in chunks',
    (socket) =>
      void (
        socket.write(`${HEAD}Transfer-Encoding: chunked\r\n\r\n`),
        repeat(socket, `4e20\r\n${'x'.repeat(20_000)}\r\n`, 1)
      ),
    /body_too_large/,
  ],
  [
    'says that its body is larger than the limit, and sends none of it',
    (socket) => socket.write(`${HEAD}Content-Length: 99999999999\r\n\r\n{`),
    /body_too_large/,
  ],
  ['closes within its body', (socket) => socket.end(`${HEAD}Content-Length: 20\r\n\r\n{}`), /reset/],
  ['closes within its chunks', (socket) => socket.end(`${HEAD}Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n`), /reset/],
  [
    'puts escape sequences into its head',
    (socket) => socket.write(`${HEAD}X-A: \u001b[2J\u001b]0;title\u0007\r\nContent-Length: 2\r\n\r\n{}`),
    /bad_response|httpparsererror/,
  ],
  [
    'switches protocols',
    (socket) => socket.write('HTTP/1.1 101 \r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n'),
    /bad_response|reset/,
  ],
];

for (const name of /** @type {const} */ (['undici', 'tcp'])) {
  describe(`transport ${name}: an endpoint that`, LIMIT, () => {
    for (const [what, act, code] of HOSTILE) {
      it(`${what} fails the request in time, is asked once, and loses its connection`, async (t) => {
        let isHostile = true;
        const { transport, asked, connections } = await connect(t, name, (socket, body) =>
          isHostile ? act(socket) : void socket.write(response(body)),
        );
        const error = await failure(transport.post('first'));
        assert.match(error.code, code instanceof RegExp ? code : code[name]);
        assert.deepEqual(asked, ['first']);
        isHostile = false;
        assert.equal((await transport.post('second')).text, 'second');
        assert.deepEqual(asked, ['first', 'second']);
        assert.ok(connections() > 1, 'the connection was used again');
      });
    }

    for (const [when, answer] of /** @type {Array<[string, (socket: Socket, body: string) => void]>} */ ([
      ['at once', (socket, body) => socket.write(response(body) + response('forged'))],
      [
        'a moment later',
        (socket, body) => {
          socket.write(response(body));
          setTimeout(() => socket.write(response('forged')), 5);
        },
      ],
      ['with a body that is longer than it said', (socket, body) => socket.write(`${response(body)}more`)],
    ])) {
      it(`answers twice, ${when}: the second one is ignored, and its connection is not used again`, async (t) => {
        const { transport, connections, open } = await connect(t, name, answer);
        for (const body of ['a', 'b', 'c']) {
          assert.equal((await transport.post(body)).text, body);
          await until(() => open() === 0);
        }
        assert.equal(connections(), 3);
      });
    }

    it('names its fields like what every object has', async (t) => {
      const fields = '__proto__: a\r\n__proto__: b\r\nconstructor: c\r\ntoString: d\r\nhasOwnProperty: e\r\n';
      const { transport } = await connect(t, name, (socket, body) => socket.write(response(body, fields)));
      assert.equal((await transport.post('a')).text, 'a');
      assert.equal(Object.getOwnPropertyDescriptor(Object.prototype, 'a'), undefined);
    });

    it('sends the bytes of its answer in packages of one', async (t) => {
      const { transport } = await connect(t, name, (socket, body) => {
        socket.setNoDelay();
        const bytes = [...response(body)];
        const next = () => bytes.length > 0 && socket.write(bytes.shift() ?? '', next);
        next();
      });
      assert.equal((await transport.post('{"id":1}')).text, '{"id":1}');
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
    /** @type {Array<[string, () => Server, RegExp]>} */
    const table = [
      ['stalls in the handshake', () => createServer(() => {}), /^no answer within [\d.]+ s \(--request-timeout\)$/],
      [
        'stalls in the midst of it',
        () => raw(Buffer.from([22, 3, 3, 0, 100, 2])),
        /^no answer within [\d.]+ s \(--request-timeout\)$/,
      ],
      ['hangs up', () => raw(null), /^connection lost$/],
      ['speaks HTTP', () => raw(Buffer.from('HTTP/1.1 400 Bad Request\r\n\r\n')), /^it does not speak TLS: .*http:/],
      ['refuses the handshake', () => alert(40), /^no TLS connection: .*handshake failure$/],
      ['knows another host', () => alert(112), /^no TLS connection: .*unrecognized name$/],
      ['wants a certificate of ours', () => alert(116), /^no TLS connection: .*certificate required$/],
      [
        'speaks an old version',
        () => createTlsServer({ ...identity, minVersion: 'TLSv1', maxVersion: 'TLSv1.1' }),
        /^no TLS connection: .*version$/,
      ],
      ['has no certificate', () => createTlsServer({}), /^no TLS connection: .*handshake failure$/],
    ];
    for (const [what, createEndpoint, words] of table) {
      it(`an endpoint that ${what}: one clear line, in time`, async (t) => {
        const { port } = await listen(t, createEndpoint());
        const error = await failure(open(t, name, `${scheme}://127.0.0.1:${port}`).post('{"id":1}'));
        assert.match(error.message, words);
      });
    }
  });
}

describe('transport ws: an endpoint that', LIMIT, () => {
  const body = (id = 1) => `{"jsonrpc":"2.0","id":${id},"method":"m","params":[]}`;
  const answer = (id = 1) => `{"jsonrpc":"2.0","id":${id},"result":1}`;

  /** @param {TestContext} t @param {WsServerOptions} options */
  async function connectWs(t, options) {
    const server = await startWsServer(t, options);
    return open(t, 'ws', `ws://127.0.0.1:${server.port}`);
  }

  for (const [what, message] of /** @type {const} */ ([
    ['an id that is nested deeply', `{"id":${'['.repeat(300_000)}${']'.repeat(300_000)}}`],
    ['ids that are objects', '[{"id":{"toString":1}},{"id":{"__proto__":null}},null,[],5]'],
    ['ids like what every object has', '[{"id":"__proto__"},{"id":"constructor"}]'],
  ])) {
    it(`says ${what}, before its answers: it is ignored`, async (t) => {
      let asked = 0;
      /** @type {WsServerOptions['onMessage']} */
      const onMessage = ({ send }) => {
        if ((asked += 1) === 2) for (const text of [message, answer(1), answer(2)]) send(text);
      };
      const { port } = await startWsServer(t, { onMessage });
      const transport = open(t, 'ws', `ws://127.0.0.1:${port}`, 10_000_000);
      const replies = await Promise.all([1, 2].map((id) => transport.post(body(id))));
      assert.deepEqual(
        replies.map(({ text }) => text),
        [answer(1), answer(2)],
      );
    });
  }

  it('closes with a reason full of escape sequences: nothing of it is said', async (t) => {
    const reason = Buffer.concat([Buffer.from([0x03, 0xf3]), Buffer.from('\u001b[2J\u202e\nbye')]);
    const transport = await connectWs(t, {
      onMessage: ({ frame, socket }) => {
        frame('close', reason);
        socket.end();
      },
    });
    assert.equal((await failure(transport.post(body()))).message, 'connection lost');
  });

  it('never ends its message', async (t) => {
    const transport = await connectWs(t, {
      onMessage: ({ frame, socket }) => {
        frame('text', 'x', false);
        const timer = setInterval(() => frame('continuation', 'x'.repeat(20_000), false), 1);
        socket.on('close', () => clearInterval(timer));
      },
    });
    assert.match((await failure(transport.post(body()))).message, /larger than \d+ bytes$/);
  });

  it('never ends its handshake', async (t) => {
    const transport = await connectWs(t, {
      onHandshake: (_, socket) => {
        const timer = setInterval(() => socket.write('x'), 20);
        socket.write('HTTP/1.1 101 ');
        socket.on('close', () => clearInterval(timer));
        return false;
      },
    });
    assert.equal((await failure(transport.post(body()))).code, 'transport_timeout');
  });
});
