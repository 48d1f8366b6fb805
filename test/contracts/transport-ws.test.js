/** What only the transport over WebSockets has: many requests on one socket, and a node that speaks first. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { UsageError } from '../../src/errors.js';
import { chooseTransport } from '../../src/transport/choose.js';
import { transports } from '../../src/transport/index.js';
import { caught } from '../helpers/caught.js';
import { CERTIFICATE, CERTIFICATE_KEY } from '../helpers/certificate.js';
import { createFakeClock } from '../helpers/clock.js';
import { equalBy } from '../helpers/equal-by.js';
import { failure, repeat } from '../helpers/raw-server.js';
import { encodeFrame, startWsServer } from '../helpers/ws-server.js';

/**
 * @import { TransportError } from '../../src/errors.js'
 * @import { TransportOptions } from '../../src/contracts/chain.d.ts'
 * @import { Peer, WsServerOptions } from '../helpers/ws-server.js'
 * @import { Duplex } from 'node:stream'
 * @import { TestContext } from 'node:test'
 */

/** No test waits for anything this long, unless it hangs. */
const LIMIT = Object.freeze({ timeout: 300_000 });

/**
 * A transport to a server of its own, both of which end with the test.
 * @param {TestContext} t
 * @param {Partial<TransportOptions> & Pick<WsServerOptions, 'onHandshake' | 'tls'>} options
 * @param {NonNullable<WsServerOptions['onMessage']>} onMessage
 */
async function connect(t, { onHandshake, tls, ...options }, onMessage) {
  const server = await startWsServer(t, { onMessage, onHandshake, tls });
  return { server, ...open(t, server.port, { ...options, scheme: tls === undefined ? 'ws' : 'wss' }) };
}

/**
 * @param {TestContext} t
 * @param {number} port
 * @param {Partial<TransportOptions> & {scheme?: string}} [options]
 */
function open(t, port, { scheme = 'ws', ...options } = {}) {
  const url = new URL(`${scheme}://127.0.0.1:${port}`);
  const transport = transports.ws({ url, connections: 1, timeoutMs: 120_000, ...options });
  t.after(() => transport.close());
  /** @param {string} body @param {{onPush?: (text: string) => void, onLost?: (error: TransportError) => void}} [given] */
  const subscribe = (body, { onPush = () => {}, onLost = () => {} } = {}) =>
    /** @type {NonNullable<typeof transport.subscribe>} */ (transport.subscribe)(body, onPush, onLost);
  return { transport, subscribe };
}

/** @param {number} id */
const ask = (id, method = 'eth_x') => JSON.stringify({ jsonrpc: '2.0', id, method, params: [] });
/** @param {number | string | null} id @param {unknown} [result] */
const answer = (id, result = id) => JSON.stringify({ jsonrpc: '2.0', id, result });
/** @param {unknown} result */
const push = (result) =>
  JSON.stringify({ jsonrpc: '2.0', method: 'eth_subscription', params: { subscription: '0x1', result } });
/** @param {any} message @returns {any} */
const idIn = ({ id }) => id;
/** @param {string} text */
const idOf = (text) => idIn(JSON.parse(text));

/** @param {() => boolean} condition */
async function until(condition) {
  while (!condition()) await sleep(2);
}

/** @param {Array<Promise<{text: string}>>} posts */
const textsOf = async (posts) => (await Promise.all(posts)).map(({ text }) => text);

describe('transport ws: whose answer it is', LIMIT, () => {
  it('many are under way on one socket, and each gets its own answer, whatever the order', async (t) => {
    /** @type {string[]} */
    const asked = [];
    /** @type {NonNullable<WsServerOptions['onMessage']>} */
    const backwards = ({ send }, text) => {
      asked.push(text);
      if (asked.length === 50) for (const body of asked.reverse()) send(answer(idOf(body)));
    };
    const { transport, server } = await connect(t, { connections: 8 }, backwards);
    const texts = await textsOf(Array.from({ length: 50 }, (_, id) => transport.post(ask(id))));
    assert.deepEqual(
      texts,
      Array.from({ length: 50 }, (_, id) => answer(id)),
    );
    assert.equal(server.connections(), 1);
  });

  it('wherever a node puts the id', async (t) => {
    const { transport } = await connect(t, {}, ({ send }, text) => {
      const { id } = JSON.parse(text);
      send(JSON.stringify({ result: { id: 'not this one' }, jsonrpc: '2.0', id }, null, ' '));
    });
    const ids = [7, 8];
    const texts = await textsOf(ids.map((id) => transport.post(JSON.stringify({ id, params: [{ id: 9 }] }))));
    assert.deepEqual(texts.map(idOf), ids);
  });

  it('a batch is known by any of its ids, and may be answered by one error', async (t) => {
    const { transport } = await connect(t, {}, ({ send }, text) => {
      const ids = JSON.parse(text).map(idIn);
      if (ids.includes(1)) setTimeout(() => send(`[${answer(3)},${answer(2)},${answer(1)}]`), 20);
      else if (ids.includes(4)) send(`[${answer(5)}]`);
      else setTimeout(() => send(`[${answer(6, 'too large')}]`), 10);
    });
    const batches = [
      [1, 2, 3],
      [4, 5],
      [6, 7],
    ].map((ids) => transport.post(`[${ids.map((id) => ask(id)).join(',')}]`));
    assert.deepEqual(await textsOf(batches), [
      `[${answer(3)},${answer(2)},${answer(1)}]`,
      `[${answer(5)}]`,
      `[${answer(6, 'too large')}]`,
    ]);
  });

  it('an answer that is late, has no id or a foreign one is dropped, and the socket is kept', async (t) => {
    const { transport, server } = await connect(t, { timeoutMs: 200 }, ({ send }, text) => {
      if (idOf(text) === 1) setTimeout(() => send(answer(1, 'late')), 300);
      else for (const message of [answer(null), answer(99), answer(idOf(text))]) send(message);
    });
    const slow = caught(() => transport.post(ask(1)));
    await sleep(100);
    const others = Array.from({ length: 5 }, (_, i) => transport.post(ask(i + 2)));
    assert.deepEqual(
      await textsOf(others),
      [2, 3, 4, 5, 6].map((id) => answer(id)),
    );
    assert.equal((await slow).code, 'transport_timeout');
    assert.equal((await transport.post(ask(7))).text, answer(7));
    assert.ok(server.connections() <= 2);
  });

  it('a socket with timed-out requests only is replaced by a new one', async (t) => {
    let asked = 0;
    const { transport, server } = await connect(t, { timeoutMs: 200 }, ({ send }, text) => {
      if ((asked += 1) > 1) send(answer(idOf(text)));
    });
    assert.equal((await caught(() => transport.post(ask(1)))).code, 'transport_timeout');
    assert.equal((await transport.post(ask(2))).text, answer(2));
    assert.equal(server.connections(), 2);
  });

  it('opens another socket when one has many requests, and no more than it may', async (t) => {
    /** @type {Map<unknown, number>} */
    const loads = new Map();
    let asked = 0;
    /** @param {unknown} peer */
    const count = (peer) => {
      asked += 1;
      loads.set(peer, (loads.get(peer) ?? 0) + 1);
    };
    const { transport, server } = await connect(t, { connections: 3 }, count);
    const posts = Array.from({ length: 500 }, (_, id) => caught(() => transport.post(ask(id))));
    await until(() => asked === 500);
    assert.equal(server.connections(), 3);
    assert.ok(Math.max(...loads.values()) <= 167, 'evenly');
    await transport.close();
    await Promise.all(posts);
  });
});

describe('transport ws: frames', LIMIT, () => {
  it('fragments with pings between them, cut at every byte, and binary messages', async (t) => {
    const body = answer(1, 'äß€😀');
    /** @param {Duplex} socket */
    const trickle = async (socket) => {
      const bytes = Buffer.from(body);
      const frames = [
        ...[encodeFrame(1, bytes.subarray(0, 30), false), encodeFrame(9, Buffer.from('still there?'))],
        ...[encodeFrame(0, bytes.subarray(30, 33), false), encodeFrame(0, bytes.subarray(33))],
      ];
      for (const byte of Buffer.concat(frames)) {
        socket.write(Buffer.of(byte));
        await sleep(0);
      }
    };
    const { transport, server } = await connect(t, {}, ({ socket, frame }, text) => {
      if (idOf(text) === 2) frame('binary', answer(2, '€'));
      else void trickle(socket);
    });
    assert.equal((await transport.post(ask(1))).text, body);
    assert.equal((await transport.post(ask(2))).text, answer(2, '€'));
    await until(() => server.peers[0].pongs.length === 1);
    assert.deepEqual(server.peers[0].pongs, ['still there?']);
  });

  for (const [what, message] of /** @type {const} */ ([
    ['an id that is nested deeply', `{"id":${'['.repeat(300_000)}${']'.repeat(300_000)}}`],
    ['ids that are objects', '[{"id":{"toString":1}},{"id":{"__proto__":null}},null,[],5]'],
    ['ids like what every object has', '[{"id":"__proto__"},{"id":"constructor"}]'],
  ])) {
    it(`${what}, before the answers: ignored`, async (t) => {
      let asked = 0;
      const { transport } = await connect(t, {}, ({ send }) => {
        if ((asked += 1) === 2) for (const text of [message, answer(1), answer(2)]) send(text);
      });
      assert.deepEqual(await textsOf([1, 2].map((id) => transport.post(ask(id)))), [answer(1), answer(2)]);
    });
  }
});

describe('transport ws: an endpoint that', LIMIT, () => {
  const options = { timeoutMs: 1000, maxBodyBytes: 100_000 };
  const invalid = /^transport_bad_response it sent an invalid WebSocket message/;
  const lost = /^transport_reset connection lost$/;
  /** The first request that times out ends the connection, on which a request of a millisecond later may still wait. */
  const timedOutOrLost = /^transport_(timeout |reset connection lost$)/;
  /** What it does with the second request, the error of the first, and of the second if that differs. @type {Array<[string, (peer: Peer) => unknown, RegExp, RegExp?]>} */
  const hostile = [
    ['sends an opcode that there is not', ({ socket }) => socket.write(encodeFrame(3, Buffer.from('x'))), invalid],
    ['masks a frame', ({ socket }) => socket.write(Buffer.from([0x81, 0x81, 1, 2, 3, 4, 5])), invalid],
    ['sends text that is no UTF-8', ({ frame }) => frame('text', Buffer.from([0xff, 0xfe])), invalid],
    ['resets its connection', ({ socket }) => socket.destroy(), lost],
    ['closes its connection', ({ socket }) => socket.end(), lost],
    [
      'closes it with a reason full of escape sequences',
      ({ frame, socket }) => {
        frame('close', Buffer.concat([Buffer.from([0x03, 0xf3]), Buffer.from('\u001b[2J\u202e\nbye')]));
        socket.end();
      },
      lost,
    ],
    [
      'never ends its message',
      ({ frame, socket }) => {
        frame('text', 'x', false);
        repeat(socket, () => frame('continuation', 'x'.repeat(20_000), false), 1);
      },
      /larger than \d+ bytes$/,
    ],
    ['sends half a message', ({ frame }) => frame('text', '{"id":', false), /^transport_timeout /, timedOutOrLost],
  ];
  for (const [what, act, says, saysLater = says] of hostile)
    it(`${what}: the open requests fail, each with an error of its own, and the next is on a new socket`, async (t) => {
      const { transport, server } = await connect(t, options, (peer, text) => {
        if (idOf(text) === 3) peer.send(answer(3));
        else if (idOf(text) === 2) act(peer);
      });
      const errors = await Promise.all([1, 2].map((id) => failure(transport.post(ask(id)))));
      assert.equal(new Set(errors).size, 2);
      for (const [i, { code, message }] of errors.entries())
        assert.match(`${code} ${message}`, i === 0 ? says : saysLater);
      assert.equal((await transport.post(ask(3))).text, answer(3));
      assert.equal(server.connections(), 2);
    });

  const refusal = (/** @type {number} */ status) =>
    `HTTP/1.1 ${status} X\r\nlocation: /elsewhere\r\ncontent-length: 2\r\n\r\nno`;
  const wrongKey =
    'HTTP/1.1 101 X\r\nupgrade: websocket\r\nconnection: upgrade\r\nsec-websocket-accept: guessed\r\n\r\n';
  /** What it sends at once, and again and again. @type {Array<[string, string, string, RegExp]>} */
  const handshakes = [
    ...[301, 404, 503].map(
      (status) =>
        /** @type {[string, string, string, RegExp]} */ ([
          ...[`HTTP ${status}`, refusal(status), ''],
          new RegExp(`^transport_handshake .*HTTP ${status}: check the URL$`),
        ]),
    ),
    ['HTTP 200', refusal(200), '', /^transport_handshake .*HTTP 200: it serves no WebSockets there: give its http/],
    ['HTTP 401', refusal(401), '', /^transport_handshake .*HTTP 401: check its credentials$/],
    ['the wrong key', wrongKey, '', /^transport_bad_response /],
    ['other bytes', 'SSH-2.0-OpenSSH_9.6\r\n', '', /^transport_/],
    ['nothing', '', '', /^transport_timeout /],
    ['a head without end', 'HTTP/1.1 101 ', 'x', /^transport_timeout /],
  ];
  for (const [what, bytes, more, says] of handshakes)
    it(`answers the handshake with ${what}: said so, in one line, and nothing is sent`, async (t) => {
      /** @type {NonNullable<WsServerOptions['onHandshake']>} */
      const onHandshake = (_, socket) => {
        socket.write(bytes);
        if (more !== '') repeat(socket, () => socket.write(more), 20);
        return false;
      };
      const { transport, server } = await connect(t, { ...options, onHandshake }, () => assert.fail('a message'));
      let sent = 0;
      const errors = await Promise.all([1, 2].map((id) => failure(transport.post(ask(id), () => (sent += 1)))));
      for (const { code, message } of errors) assert.match(`${code} ${message}`, says);
      await transport.close();
      await until(() => server.open() === 0);
      assert.deepEqual([sent, transport.stats().connectionsOpened], [0, 0]);
    });
});

describe('transport ws: connections', LIMIT, () => {
  it('a server that allows no more connections gets all requests on those that are open', async (t) => {
    let allowed = 1;
    const server = await startWsServer(t, {
      onHandshake: (_, socket) => {
        allowed -= 1;
        if (allowed < 0) socket.end('HTTP/1.1 429 X\r\ncontent-length: 0\r\n\r\n');
        return allowed >= 0;
      },
      onMessage: (peer, text) => void setTimeout(() => peer.send(answer(JSON.parse(text).id)), 20),
    });
    const { transport } = open(t, server.port, { connections: 4 });
    const ids = Array.from({ length: 100 }, (_, i) => i + 1);
    await transport.post(ask(1000));
    const replies = await Promise.all(ids.map((id) => transport.post(ask(id))));
    equalBy(
      replies,
      ({ text }) => text,
      ids.map((id) => answer(id)),
    );
    assert.deepEqual([server.connections(), transport.stats().connectionsOpened], [2, 1]);
  });

  it('wss: the certificate is looked at, unless any is good', async (t) => {
    const tls = { cert: CERTIFICATE, key: CERTIFICATE_KEY };
    const echo = (/** @type {Peer} */ { send }, /** @type {string} */ text) => send(answer(idOf(text)));
    const strict = await connect(t, { tls }, echo);
    const error = await caught(() => strict.transport.post(ask(1)));
    assert.equal(error.code, 'transport_certificate');
    assert.match(error.message, /--insecure/);
    const insecure = await connect(t, { tls, insecure: true }, echo);
    assert.equal((await insecure.transport.post(ask(1))).text, answer(1));
  });

  it('closeIdle() closes what is idle, and no connection with requests or listeners', async (t) => {
    const { transport, subscribe, server } = await connect(t, {}, ({ send }, text) =>
      setTimeout(() => send(answer(idOf(text))), text.includes('slow') ? 100 : 0),
    );
    await transport.post(ask(1));
    await transport.closeIdle();
    await until(() => server.open() === 0);
    const slow = transport.post(ask(2, 'slow'));
    await until(() => server.open() === 1);
    await transport.closeIdle();
    assert.equal((await slow).text, answer(2));
    await subscribe(ask(3));
    await transport.closeIdle();
    await transport.post(ask(4));
    assert.equal(server.connections(), 2);
  });

  it('close() says farewell', async (t) => {
    const { transport, server } = await connect(t, {}, ({ send }, text) => send(answer(idOf(text))));
    await transport.post(ask(1));
    await transport.close();
    await until(() => server.peers[0].saidClose && server.open() === 0);
  });
});

describe('transport ws: subscriptions', LIMIT, () => {
  it('what is pushed comes in order, between answers, from right behind the first answer on', async (t) => {
    const { transport, subscribe, server } = await connect(t, {}, ({ send }, text) => {
      if (idOf(text) === 1)
        for (const message of [push('too early'), answer(1, '0x1'), push(1), push(2)]) send(message);
      else for (const message of [push(3), answer(idOf(text)), push(4)]) send(message);
    });
    /** @type {number[]} */
    const events = [];
    /** @param {string} text */
    const onPush = (text) => events.push(JSON.parse(text).params.result);
    const { text, end } = await subscribe(ask(1, 'eth_subscribe'), { onPush, onLost: assert.fail });
    assert.equal(text, answer(1, '0x1'));
    assert.equal((await transport.post(ask(2))).text, answer(2));
    assert.equal((await transport.post(ask(3))).text, answer(3));
    await until(() => events.length === 6);
    assert.deepEqual(events, [1, 2, 3, 4, 3, 4]);
    end(ask(5, 'eth_unsubscribe'));
    await transport.post(ask(6));
    assert.deepEqual(events, [1, 2, 3, 4, 3, 4]);
    assert.equal(server.connections(), 1);
  });

  it('one that is lost is told once, and one that was ended or that we closed is not', async (t) => {
    /** @type {string[]} */
    const asked = [];
    const { transport, subscribe, server } = await connect(t, {}, ({ send }, text) => {
      asked.push(JSON.parse(text).method);
      send(answer(idOf(text)));
    });
    /** @type {string[]} */
    const lost = [];
    let lastId = 1;
    /** @param {string} name */
    const listen = (name) =>
      subscribe(ask((lastId += 1), name), { onLost: ({ code }) => lost.push(`${name} ${code}`) });
    await listen('first');
    const ended = await listen('ended');
    ended.end(ask(8, 'farewell'));
    ended.end(ask(9, 'a second farewell'));
    await transport.post(ask(1, 'last'));
    assert.deepEqual(asked, ['first', 'ended', 'farewell', 'last']);
    server.peers[0].socket.destroy();
    await until(() => lost.length > 0);
    await listen('second');
    await transport.close();
    assert.deepEqual(lost, ['first transport_reset']);
  });
});

describe('transport ws: an endpoint that is gone without a word', LIMIT, () => {
  const echo = (/** @type {Peer} */ { send }, /** @type {string} */ text) => send(answer(idOf(text)));
  const words = 'connection lost: no answer to pings for 20 s';

  /** @param {TestContext} t @param {number} timeoutMs */
  async function connectByHand(t, timeoutMs) {
    const clock = createFakeClock();
    const connected = await connect(t, { clock, timeoutMs }, echo);
    await connected.transport.post(ask(1));
    return { clock, ...connected, socket: connected.server.peers[0].socket };
  }

  it('its subscription is lost after 20 to 30 s, and the next request opens another connection', async (t) => {
    const { clock, transport, subscribe, server, socket } = await connectByHand(t, 10_000);
    /** @type {string[]} */
    const lost = [];
    await subscribe(ask(2), { onLost: ({ code, message }) => lost.push(`${code} ${message}`) });
    // Bytes are still taken, and nothing comes back, as behind a cable that is pulled.
    socket.pause();
    await clock.advance(29_999);
    assert.deepEqual(lost, []);
    await clock.advance(1);
    assert.deepEqual(lost, [`transport_reset ${words}`]);
    assert.equal((await transport.post(ask(3))).text, answer(3));
    assert.equal(server.connections(), 2);
    await transport.close();
    assert.equal(clock.pending(), 0);
  });

  it('open requests fail as with a connection that is reset', async (t) => {
    const { clock, transport, socket } = await connectByHand(t, 20_000);
    socket.pause();
    await clock.advance(15_000);
    const open = [2, 3].map((id) => caught(() => transport.post(ask(id))));
    await clock.advance(15_000);
    for (const { code, message } of await Promise.all(open))
      assert.deepEqual([code, message], ['transport_reset', words]);
  });

  it('a request that takes longer than that is waited for, as long as it may', async (t) => {
    const { clock, transport, server, socket } = await connectByHand(t, 60_000);
    socket.pause();
    const slow = transport.post(ask(2));
    await clock.advance(59_000);
    socket.resume();
    assert.equal((await slow).text, answer(2));
    assert.equal(server.connections(), 1);
  });

  it('one that answers pings, and says nothing else, is not', async (t) => {
    const { clock, subscribe, server } = await connectByHand(t, 10_000);
    await subscribe(ask(2), { onLost: assert.fail });
    for (let pings = 1; pings <= 8; pings += 1) {
      await clock.advance(10_000);
      await until(() => server.peers[0].pings === pings);
      await sleep(2);
    }
  });
});

describe('transport ws: options', () => {
  for (const [
    name,
    url,
    expected,
    noKeepAlive,
  ] of /** @type {Array<[string, string | null, string | RegExp, boolean?]>} */ ([
    ['auto', null, 'undici'],
    ['auto', 'http://a', 'undici'],
    ['auto', 'https://a', 'undici'],
    ['auto', 'ws://a', 'ws'],
    ['auto', 'wss://a', 'ws'],
    ['tcp', 'http://a', 'tcp'],
    ['tcp', null, 'tcp'],
    ['ws', 'wss://a', 'ws'],
    ['ws', null, /^--transport ws does not speak http:\/\/: /],
    ['ws', 'https://a', /^--transport ws does not speak https:\/\/: /],
    ['undici', 'ws://a', /^--transport undici does not speak ws:\/\/: /],
    ['tcp', 'https://a', /^--transport tcp speaks http:\/\/ only: /],
    ['tcp', 'wss://a', /^--transport tcp does not speak wss:\/\/: /],
    ['auto', 'http://a', 'tcp', true],
    ['auto', null, 'tcp', true],
    ['undici', 'http://a', /^--no-keep-alive needs an http:/, true],
    ['auto', 'https://a', /^--no-keep-alive needs an http:/, true],
    ['auto', 'ws://a', /^--no-keep-alive needs an http:/, true],
  ])) {
    it(`--transport ${name} with ${url}${noKeepAlive ? ' and --no-keep-alive' : ''}: ${expected}`, async () => {
      const choose = () => chooseTransport(name, url === null ? null : new URL(url), noKeepAlive);
      if (typeof expected === 'string') return assert.equal(choose(), expected);
      const error = await caught(choose);
      assert.ok(error instanceof UsageError);
      assert.match(error.message, expected);
    });
  }
});
