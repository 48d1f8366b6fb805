/** A connection for each request: this side closes it first, and with a FIN, so that the TIME_WAIT is ours. */
import assert from 'node:assert/strict';
import { networkInterfaces } from 'node:os';
import { describe, it } from 'node:test';
import { asTransportError } from '../../src/transport/http.js';
import { transports } from '../../src/transport/index.js';
import { closedPort, echo, failure, response, startRawServer, until } from '../helpers/raw-server.js';

/**
 * @import { TransportOptions } from '../../src/transport/index.js'
 * @import { Asked } from '../helpers/raw-server.js'
 * @import { TestContext } from 'node:test'
 */

/** No test waits for anything this long, unless it hangs. */
const LIMIT = Object.freeze({ timeout: 300_000 });
const TIMEOUT_MS = 300;

/** @param {TestContext} t @param {(asked: Asked) => void} [answer] @param {Partial<TransportOptions>} [options] */
async function connect(t, answer = echo, options = {}) {
  const server = await startRawServer(t, answer);
  const transport = transports.tcp({
    url: server.url,
    connections: 2,
    timeoutMs: 120_000,
    keepAlive: false,
    ...options,
  });
  t.after(() => transport.close());
  return { transport, server };
}

describe('transport tcp without keep-alive', LIMIT, () => {
  it('gives each request a connection and closes it first, without a reset, and without asking the server to', async (t) => {
    const { transport, server } = await connect(t, echo, { connections: 4 });
    const bodies = Array.from({ length: 100 }, (_, i) => String(i));
    const replies = await Promise.all(bodies.map((body) => transport.post(body)));
    const texts = replies.map(({ text }) => text);
    assert.deepEqual(texts, bodies);
    // The server closes nothing by itself: that all are gone means that we have closed.
    await until(() => server.open() === 0);
    assert.equal(transport.stats().connectionsOpened, 100);
    assert.ok(server.most() <= 5, `${server.most()} were open at once`);
    assert.equal(new Set(server.asked.map(({ connection }) => connection)).size, 100);
    for (const end of server.ends) assert.deepEqual(end, ['end']);
    assert.match(server.asked[0].head, /^connection: keep-alive$/im);
  });

  for (const [what, answer] of /** @type {Array<[string, string]>} */ ([
    ['in chunks', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n'],
    ['of a megabyte', response('x'.repeat(1_000_000))],
    ['that promises to keep the connection', response('{}', 'Keep-Alive: timeout=60\r\n')],
  ])) {
    it(`closes behind an answer ${what}, with a FIN`, async (t) => {
      const { transport, server } = await connect(t, ({ socket }) => void socket.write(answer));
      for (let i = 0; i < 5; i += 1) await transport.post('{}');
      await until(() => server.open() === 0);
      assert.deepEqual(server.ends, Array(5).fill(['end']));
    });
  }

  it('a server that closes first is let to', async (t) => {
    const { transport, server } = await connect(t, ({ socket, body }) =>
      socket.end(response(body, 'Connection: close\r\n')),
    );
    for (let i = 0; i < 5; i += 1) assert.equal((await transport.post(String(i))).text, String(i));
    await until(() => server.open() === 0);
    assert.deepEqual(server.ends, Array(5).fill(['end']));
  });

  it('no answer: time-out, counted from the post, for those that wait as well; then it works again', async (t) => {
    let isSilent = true;
    const { transport, server } = await connect(t, (asked) => (isSilent ? undefined : echo(asked)), {
      timeoutMs: TIMEOUT_MS,
    });
    let sent = 0;
    const posts = Array.from({ length: 20 }, () => failure(transport.post('{}', () => (sent += 1))));
    for (const { code } of await Promise.all(posts)) assert.equal(code, 'transport_timeout');
    // Two, and those whose turn comes while the first ones time out: not all were posted within one millisecond.
    assert.ok(sent >= 2 && sent < 10, `${sent} were sent`);
    isSilent = false;
    assert.equal((await transport.post('next')).text, 'next');
    await until(() => server.open() === 0);
    assert.equal(server.asked.length, sent + 1, 'what was given up while it waited is not sent');
    assert.ok(server.connections() < 15, `${server.connections()} connections`);
  });

  it('what is not wanted when its turn comes is not sent, and costs no connection', async (t) => {
    const { transport, server } = await connect(t, echo, { connections: 1 });
    const first = transport.post('first');
    const unwanted = Array.from({ length: 1000 }, () => failure(transport.post('unwanted', () => false)));
    const last = transport.post('last');
    assert.equal((await first).text, 'first');
    for (const { code } of await Promise.all(unwanted)) assert.equal(code, 'transport_not_sent');
    assert.equal((await last).text, 'last');
    assert.equal(server.connections(), 2);
  });
});

for (const name of ['undici', 'tcp']) {
  it(`transport ${name}: no listener on any address of the host: "refused"`, LIMIT, async (t) => {
    if (!Object.values(networkInterfaces()).some((addresses) => addresses?.some(({ address }) => address === '::1')))
      return t.skip('there is no ::1 on this machine');
    const url = new URL(`http://localhost:${await closedPort(t)}`);
    const transport = transports[name]({ url, connections: 2, timeoutMs: 120_000 });
    t.after(() => transport.close());
    const { code, message } = await failure(transport.post('{}'));
    assert.deepEqual([code, message], ['transport_refused', 'connection refused']);
  });
}

describe('what a failure to connect is called', () => {
  const error = (/** @type {string} */ code) => Object.assign(new Error(`connect ${code} ...`), { code });

  it('EADDRNOTAVAIL: no local port is left', () => {
    const { code, message } = asTransportError(error('EADDRNOTAVAIL'));
    assert.equal(code, 'transport_no_ports');
    assert.match(message, /no local port is left .*TIME_WAIT/);
  });

  it('several addresses: the last one speaks for all', () => {
    for (const [codes, expected] of /** @type {Array<[string[], string]>} */ ([
      [['ECONNREFUSED', 'ECONNREFUSED'], 'refused'],
      // There is no listener on ::1, and towards 127.0.0.1 no port is left.
      [['ECONNREFUSED', 'EADDRNOTAVAIL'], 'no_ports'],
      // There is no IPv6 here, and no listener on 127.0.0.1.
      [['EADDRNOTAVAIL', 'ECONNREFUSED'], 'refused'],
      [['ENETUNREACH', 'ETIMEDOUT'], 'timeout'],
    ])) {
      const several = Object.assign(new AggregateError(codes.map(error)), { code: codes[0] });
      assert.equal(asTransportError(several).code, `transport_${expected}`);
    }
    assert.equal(asTransportError(new AggregateError([])).code, 'transport_aggregateerror');
  });
});
