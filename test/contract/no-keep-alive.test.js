/** A connection for each request: every transport closes it first, and with a FIN, so that the TIME_WAIT is ours. */
import assert from 'node:assert/strict';
import { createServer } from 'node:net';
import { networkInterfaces } from 'node:os';
import { describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { TransportError } from '../../src/errors.js';
import { transports } from '../../src/transport/index.js';
import { asTransportError } from '../../src/transport/http.js';
import { caught } from '../helpers/caught.js';

/**
 * @import { TransportOptions } from '../../src/transport/index.js'
 * @import { AddressInfo, Socket } from 'node:net'
 * @import { TestContext } from 'node:test'
 */

/** No test waits for anything this long, unless it hangs. */
const LIMIT = Object.freeze({ timeout: 60_000 });
const TIMEOUT_MS = 300;

/**
 * @typedef {object} Connection as the server saw it
 * @property {string[]} heads of its requests
 * @property {string[]} events of its socket, and `close` or `half` when the server closed its side by itself
 *
 * @typedef {object} Behaviour
 * @property {(body: string) => string} [answer] the whole response
 * @property {boolean} [closesFirst] with the answer
 * @property {boolean} [isSilent]
 */

/** @param {string} body @param {string} [fields] */
const response = (body, fields = '') =>
  `HTTP/1.1 200 OK\r\n${fields}Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;

/**
 * A server of the test's own that keeps its connections until the other side closes, and a transport to it.
 * @param {TestContext} t
 * @param {string} name
 * @param {Behaviour} [behaviour] may be changed while it runs
 * @param {Partial<TransportOptions>} [options]
 */
async function connect(t, name, behaviour = {}, options = {}) {
  /** @type {Connection[]} */
  const connections = [];
  /** @type {Set<Socket>} */
  const open = new Set();
  let mostOpen = 0;
  const server = createServer({ allowHalfOpen: true, noDelay: true }, (socket) => {
    /** @type {Connection} */
    const connection = { heads: [], events: [] };
    connections.push(connection);
    open.add(socket);
    mostOpen = Math.max(mostOpen, open.size);
    socket.on('end', () => {
      connection.events.push('end');
      socket.end();
    });
    socket.on('error', (/** @type {NodeJS.ErrnoException} */ { code }) => connection.events.push(`${code}`));
    socket.on('close', () => open.delete(socket));
    let text = '';
    socket.setEncoding('utf8').on('data', (chunk) => {
      text += chunk;
      const [head, body] = text.split('\r\n\r\n');
      if (body?.length !== Number(/^content-length: (\d+)$/im.exec(head)?.[1])) return;
      text = '';
      connection.heads.push(head);
      if (behaviour.isSilent) return;
      const answer = behaviour.answer?.(body) ?? response(`answer to ${body}`);
      if (!behaviour.closesFirst) return void socket.write(answer);
      connection.events.push('closed first');
      socket.end(answer);
    });
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(undefined)));
  const { port } = /** @type {AddressInfo} */ (server.address());
  const url = new URL(`http://127.0.0.1:${port}`);
  const transport = transports[name]({ url, connections: 2, timeoutMs: 5000, keepAlive: false, ...options });
  t.after(async () => {
    await transport.close();
    server.close();
    for (const socket of open) socket.destroy();
  });
  return { transport, server, connections, open, mostOpen: () => mostOpen };
}

/** @param {() => boolean} condition */
async function until(condition) {
  while (!condition()) await sleep(5);
}

/** @param {Promise<unknown>} post @returns {Promise<TransportError>} */
async function failure(post) {
  const error = await caught(() => post);
  assert.ok(error instanceof TransportError, `${error?.name}: ${error?.message}`);
  return error;
}

for (const name of ['undici', 'tcp']) {
  describe(`transport ${name} without keep-alive`, LIMIT, () => {
    it('gives each request a connection and closes it first, without a reset', async (t) => {
      const { transport, connections, open, mostOpen } = await connect(t, name, {}, { connections: 4 });
      const bodies = Array.from({ length: 100 }, (_, i) => String(i));
      const replies = await Promise.all(bodies.map((body) => transport.post(body)));
      assert.deepEqual(
        replies.map(({ text }) => text),
        bodies.map((body) => `answer to ${body}`),
      );
      // The server closes nothing by itself: that all are gone means that we have closed.
      await until(() => open.size === 0);
      assert.equal(connections.length, 100);
      assert.equal(transport.stats().connectionsOpened, 100);
      assert.ok(mostOpen() <= 5, `${mostOpen()} were open at once`);
      for (const { heads, events } of connections) {
        assert.equal(heads.length, 1);
        assert.deepEqual(events, ['end']);
      }
    });

    it('does not tell the server to close: it would do so first', async (t) => {
      const { transport, connections } = await connect(t, name);
      await transport.post('{}');
      assert.match(connections[0].heads[0], /^connection: keep-alive$/im);
      assert.doesNotMatch(connections[0].heads[0], /close/i);
    });

    for (const [what, answer] of /** @type {Array<[string, (body: string) => string]>} */ ([
      ['in chunks', () => 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n'],
      ['without a body', () => 'HTTP/1.1 204 No Content\r\n\r\n'],
      ['of a megabyte', () => response('x'.repeat(1_000_000))],
      ['that promises to keep the connection', () => response('{}', 'Keep-Alive: timeout=60\r\n')],
    ])) {
      it(`closes behind an answer ${what}, with a FIN`, async (t) => {
        const { transport, connections, open } = await connect(t, name, { answer });
        for (let i = 0; i < 5; i += 1) await transport.post('{}');
        await until(() => open.size === 0);
        assert.deepEqual(
          connections.map(({ events }) => events),
          Array.from({ length: 5 }, () => ['end']),
        );
      });
    }

    it('a server that closes first is let to', async (t) => {
      const answer = (/** @type {string} */ body) => response(body, 'Connection: close\r\n');
      const { transport, connections, open } = await connect(t, name, { closesFirst: true, answer });
      for (let i = 0; i < 5; i += 1) assert.equal((await transport.post(String(i))).text, String(i));
      await until(() => open.size === 0);
      assert.equal(transport.stats().connectionsOpened, 5);
      for (const { events } of connections) assert.deepEqual(events, ['closed first', 'end']);
    });

    it('no answer: time-out, counted from the post, for those that wait as well; then it works again', async (t) => {
      const behaviour = { isSilent: true };
      const { transport, connections, open } = await connect(t, name, behaviour, { timeoutMs: TIMEOUT_MS });
      let sent = 0;
      const startMs = performance.now();
      const posts = Array.from({ length: 20 }, () => failure(transport.post('{}', () => (sent += 1))));
      for (const { code } of await Promise.all(posts)) assert.equal(code, 'transport_timeout');
      assert.ok(performance.now() - startMs < 10 * TIMEOUT_MS, 'not one after the other');
      // Two, and those whose turn comes while the first ones time out: not all were posted within one millisecond.
      assert.ok(sent >= 2 && sent < 10, `${sent} were sent`);
      behaviour.isSilent = false;
      assert.equal((await transport.post('next')).text, 'answer to next');
      await until(() => open.size === 0);
      const heads = connections.flatMap((connection) => connection.heads);
      assert.equal(heads.length, sent + 1, 'what was given up while it waited is not sent');
      assert.ok(connections.length < 15, `${connections.length} connections`);
    });

    it('what is not wanted when its turn comes is not sent, and costs no connection', async (t) => {
      const { transport, connections } = await connect(t, name, {}, { connections: 1 });
      const first = transport.post('first');
      const unwanted = Array.from({ length: 1000 }, () => failure(transport.post('unwanted', () => false)));
      const last = transport.post('last');
      assert.equal((await first).text, 'answer to first');
      for (const { code } of await Promise.all(unwanted)) assert.equal(code, 'transport_not_sent');
      assert.equal((await last).text, 'answer to last');
      assert.equal(connections.length, 2);
      assert.equal(transport.stats().connectionsOpened, 2);
    });

    it('onSent is called once for each, when it is written', async (t) => {
      const { transport, connections } = await connect(t, name, {}, { connections: 1 });
      let sent = 0;
      const onSent = () => (sent += 1);
      const posts = [1, 2, 3].map((i) => transport.post(String(i), onSent));
      for (const [i, post] of posts.entries()) {
        await post;
        assert.ok(sent <= i + 2 && connections.length <= i + 2, `${sent} sent, ${connections.length} connections`);
      }
      assert.equal(sent, 3);
    });

    it('one that fails takes no other with it', async (t) => {
      const answer = (/** @type {string} */ body) => (body.endsWith('3') ? 'SSH-2.0\r\n' : response(body));
      const { transport } = await connect(t, name, { answer }, { connections: 4 });
      const bodies = Array.from({ length: 50 }, (_, i) => String(i));
      const ends = await Promise.allSettled(bodies.map((body) => transport.post(body)));
      ends.forEach((end, i) => assert.equal(end.status, bodies[i].endsWith('3') ? 'rejected' : 'fulfilled'));
    });

    it('no listener: each post fails with "refused", and none hangs', async (t) => {
      const { transport, server } = await connect(t, name);
      await new Promise((resolve) => server.close(resolve));
      const posts = Array.from({ length: 20 }, () => failure(transport.post('{}')));
      for (const { code } of await Promise.all(posts)) assert.equal(code, 'transport_refused');
      assert.equal(transport.stats().connectionsOpened, 0);
    });

    it('closeIdle() and close(): what is under way is answered after the one, and fails with the other', async (t) => {
      const behaviour = { isSilent: true };
      const { transport, connections, open } = await connect(t, name, behaviour);
      const posts = [1, 2, 3, 4].map(() => failure(transport.post('{}')));
      await until(() => connections.flatMap(({ heads }) => heads).length === 2);
      await transport.close();
      await Promise.all(posts);
      await until(() => open.size === 0);
      await failure(transport.post('{}'));
      await transport.close();
      assert.equal(connections.length, 2);

      const other = await connect(t, name);
      const post = other.transport.post('{}');
      await other.transport.closeIdle();
      assert.equal((await post).text, 'answer to {}');
      assert.equal((await other.transport.post('next')).text, 'answer to next');
    });
  });

  describe(`transport ${name}: a host with several addresses`, LIMIT, () => {
    for (const keepAlive of [true, false]) {
      it(`no listener on any address: "refused" ${keepAlive ? 'with' : 'without'} keep-alive`, async (t) => {
        if (
          !Object.values(networkInterfaces()).some((addresses) => addresses?.some(({ address }) => address === '::1'))
        )
          return t.skip('there is no ::1 on this machine');
        const { server } = await connect(t, name);
        const { port } = /** @type {AddressInfo} */ (server.address());
        await new Promise((resolve) => server.close(resolve));
        const url = new URL(`http://localhost:${port}`);
        const transport = transports[name]({ url, connections: 2, timeoutMs: 1000, keepAlive });
        t.after(() => transport.close());
        const { code, message } = await failure(transport.post('{}'));
        assert.equal(code, 'transport_refused');
        assert.equal(message, 'connection refused');
      });
    }
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
