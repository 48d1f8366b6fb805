/** What every transport must do, against real servers on loopback: HTTP, or WebSocket for the one that speaks it. */
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { describe, it } from 'node:test';
import { transports } from '../../src/transport/index.js';
import { equalBy } from '../helpers/equal-by.js';
import { closedPort, failure, listen, repeat } from '../helpers/raw-server.js';
import { startWsServer } from '../helpers/ws-server.js';
import { until } from '../helpers/until.js';

/**
 * @import { Transport } from '../../src/contracts/chain.d.ts'
 * @import { TransportOptions } from '../../src/contracts/chain.d.ts'
 * @import { IncomingHttpHeaders } from 'node:http'
 * @import { Duplex } from 'node:stream'
 * @import { TestContext } from 'node:test'
 */

/** No test waits for anything this long, unless it hangs. */
const LIMIT = Object.freeze({ timeout: 300_000 });
const TIMEOUT_MS = 200;

/**
 * @typedef {object} Server
 * @property {URL} url
 * @property {() => number} connections opened so far
 * @property {() => number} open connections
 * @property {Array<IncomingHttpHeaders & {method: string, path: string, body: string}>} requests
 */

/**
 * What handlers use of a response: as much as a message over a WebSocket has, too.
 *
 * @typedef {object} Response
 * @property {(chunk: string | Buffer, written?: () => void) => unknown} write
 * @property {(text?: string) => unknown} end
 * @property {(event: 'close', listener: () => void) => unknown} on
 * @property {(status: number, headers: Record<string, string>) => unknown} writeHead
 * @property {(name: string, value: string) => unknown} setHeader
 *
 * @typedef {(request: {socket: Duplex}, response: Response, body: string) => void} Handler
 */

/**
 * A transport to a server of its own, both of which end with the test.
 * @param {TestContext} t
 * @param {string} name
 * @param {Partial<TransportOptions> & {credentials?: string, path?: string}} options
 * @param {Handler} handler called when the whole request is there
 */
async function connect(t, name, { credentials = '', path = '', ...options }, handler) {
  if (name === 'ws') return connectWs(t, handler, { credentials, path, ...options });
  /** @type {Server['requests']} */
  const requests = [];
  const server = createServer((request, response) => {
    let body = '';
    request.setEncoding('utf8').on('data', (chunk) => (body += chunk));
    request.on('end', () => {
      requests.push({ ...request.headers, method: request.method ?? '', path: request.url ?? '', body });
      handler(request, response, body);
    });
  });
  const { port, connections, open } = await listen(t, server);
  const url = new URL(`http://${credentials}127.0.0.1:${port}${path}`);
  const transport = transports[name]({ url, connections: 2, timeoutMs: 120_000, ...options });
  t.after(() => transport.close());
  /** @type {Server} */
  const facts = { url, connections, open, requests };
  return { transport, server: facts };
}

/** Bodies over a WebSocket need an id; all have the same length. @param {number} id */
const prefixOf = (id) => `{"jsonrpc":"2.0","id":${1_000_000 + id}}`;
const PREFIX_BYTES = prefixOf(1).length;

/**
 * The same over WebSockets: a body is a message with an id in front, and what is written of an answer is a fragment of one.
 * @param {TestContext} t
 * @param {Handler} handler
 * @param {Partial<TransportOptions> & {credentials: string, path: string}} options
 */
async function connectWs(t, handler, { credentials, path, ...options }) {
  /** @type {Server['requests']} */
  const requests = [];
  const server = await startWsServer(t, {
    onMessage: ({ socket, handshake, frame }, message) => {
      const [prefix, body] = [message.slice(0, PREFIX_BYTES), message.slice(PREFIX_BYTES)];
      requests.push({ ...handshake.headers, method: handshake.method ?? '', path: handshake.url ?? '', body });
      let isBegun = false;
      /** @type {Response} */
      const response = {
        write: (chunk, written) => {
          if (!isBegun) frame('text', prefix, false);
          isBegun = true;
          frame('continuation', chunk, false, written);
        },
        end: (text = '') => (isBegun ? frame('continuation', text) : frame('text', prefix + text)),
        on: (_event, listener) => socket.on('close', listener),
        writeHead: () => {},
        setHeader: () => {},
      };
      handler({ socket }, response, body);
    },
  });
  const url = new URL(`ws://${credentials}127.0.0.1:${server.port}${path}`);
  const inner = transports.ws({ url, connections: 2, timeoutMs: 120_000, ...options });
  let [posts, answers] = [0, 0];
  /** @type {Transport} */
  const transport = {
    ...inner,
    post: async (body, ...others) => {
      const reply = await inner.post(prefixOf((posts += 1)) + body, ...others);
      answers += 1;
      return { ...reply, text: reply.text.slice(PREFIX_BYTES) };
    },
    stats: () => {
      const stats = inner.stats();
      return { ...stats, bytesReceived: stats.bytesReceived - answers * PREFIX_BYTES };
    },
  };
  t.after(() => transport.close());
  /** @type {Server} */
  const facts = { url, connections: server.connections, open: server.open, requests };
  return { transport, server: facts };
}

/** @type {Handler} */
const echo = (_request, response, body) => void response.end(body);

/** @type {Handler} */
const silence = () => {};

for (const name of Object.keys(transports)) {
  /** What there is in HTTP only. */
  const HTTP = { ...LIMIT, skip: name === 'ws' && 'a WebSocket has nothing like it' };

  describe(`transport ${name}: requests`, LIMIT, () => {
    it('carries a body there and back', async (t) => {
      const path = '/ext/bc/C/rpc?key=a%20b';
      const { transport, server } = await connect(t, name, { path }, (_, response) => response.end('{"ok":1}'));
      const before = transport.stats();
      assert.deepEqual(await transport.post('{"id":1}'), { status: 200, text: '{"ok":1}', retryAfterMs: null });
      const [request] = server.requests;
      assert.equal(request.path, path);
      assert.equal(request.body, '{"id":1}');
      assert.equal(request.authorization, undefined);
      if (name !== 'ws') {
        assert.equal(request.method, 'POST');
        assert.equal(request['content-type'], 'application/json');
        assert.equal(request['content-length'], '8');
      }
      assert.deepEqual(before, { requests: 0, connectionsOpened: 0, bytesReceived: 0 });
      assert.deepEqual(transport.stats(), { requests: 1, connectionsOpened: 1, bytesReceived: 8 });
    });

    it('gives each of many that run at once its own answer', async (t) => {
      const { transport, server } = await connect(t, name, { connections: 8 }, (_, response, body) =>
        setTimeout(() => response.end(`answer to ${body}`), Number(body) % 7),
      );
      const bodies = Array.from({ length: 300 }, (_, i) => String(i));
      const answers = await Promise.all(bodies.map((body) => transport.post(body)));
      equalBy(
        answers,
        ({ text }) => text,
        bodies.map((body) => `answer to ${body}`),
      );
      const { requests, connectionsOpened } = transport.stats();
      assert.equal(requests, 300);
      assert.ok(server.connections() <= 8, `${server.connections()} connections`);
      assert.equal(connectionsOpened, server.connections());
    });

    it('uses its connections again', async (t) => {
      const { transport, server } = await connect(t, name, { connections: 4 }, echo);
      for (let i = 0; i < 50; i += 1) await transport.post('{}');
      for (let i = 0; i < 10; i += 1) await Promise.all(Array.from({ length: 20 }, () => transport.post('{}')));
      assert.ok(server.connections() <= 4, `${server.connections()} connections`);
      assert.equal(transport.stats().connectionsOpened, server.connections());
    });

    it('passes status codes on, and follows no redirect', HTTP, async (t) => {
      const { transport, server } = await connect(t, name, {}, (_, response, body) => {
        response.writeHead(Number(body), { location: '/elsewhere' });
        response.end(body === '204' ? undefined : `status ${body}`);
      });
      for (const status of [200, 201, 204, 301, 307, 400, 401, 403, 404, 413, 429, 500, 502, 503]) {
        const expected = { status, text: status === 204 ? '' : `status ${status}`, retryAfterMs: null };
        assert.deepEqual(await transport.post(String(status)), expected);
      }
      assert.ok(server.requests.every(({ path }) => path === '/'));
    });

    it('says how long the endpoint asks to be left alone, in seconds or until a date', HTTP, async (t) => {
      const { transport } = await connect(t, name, {}, (_, response, body) => {
        response.writeHead(429, {
          'Retry-After': body === 'date' ? new Date(Date.now() + 20_000).toUTCString() : body,
        });
        response.end('slow down');
      });
      assert.deepEqual(await transport.post('7'), { status: 429, text: 'slow down', retryAfterMs: 7000 });
      assert.equal((await transport.post('86400')).retryAfterMs, 600_000);
      assert.equal((await transport.post('soon')).retryAfterMs, null);
      // The same field again, a moment later, means a shorter wait.
      const first = Number((await transport.post('date')).retryAfterMs);
      assert.ok(first > 10_000 && first <= 20_000, `${first}`);
    });

    it('sends the credentials of the URL, decoded', async (t) => {
      const { transport, server } = await connect(t, name, { credentials: 'us%40er:p%C3%A4ss%3A%2F@' }, echo);
      await transport.post('{}');
      const [, encoded] = (server.requests[0].authorization ?? '').split('Basic ');
      assert.equal(Buffer.from(encoded, 'base64').toString(), 'us@er:päss:/');
    });
  });

  describe(`transport ${name}: onSent`, LIMIT, () => {
    it('is called once, before the answer', async (t) => {
      /** @type {string[]} */
      const events = [];
      const { transport } = await connect(t, name, {}, (_, response) => {
        events.push('asked');
        response.end('{}');
      });
      for (let i = 0; i < 3; i += 1) {
        await transport.post('{}', () => events.push('sent'));
        events.push('answered');
      }
      assert.deepEqual(events, Array.from({ length: 3 }, () => ['sent', 'asked', 'answered']).flat());
    });

    it('is called when it is written, not while it waits for a connection', HTTP, async (t) => {
      /** @type {Array<() => void>} */
      const open = [];
      const { transport } = await connect(t, name, { connections: 1 }, (_, response) =>
        open.push(() => response.end('{}')),
      );
      let sent = 0;
      const posts = [1, 2, 3].map(() => transport.post('{}', () => (sent += 1)));
      for (let i = 1; i <= 3; i += 1) {
        await until(() => open.length > 0);
        assert.equal(sent, i);
        open.pop()?.();
        await posts[i - 1];
      }
      assert.equal(sent, 3);
    });

    it('says false: the body is not sent, the post fails, and the next one works', async (t) => {
      const { transport, server } = await connect(t, name, { connections: 1 }, echo);
      await transport.post('before');
      let asked = 0;
      const unwanted = [1, 2].map(() =>
        failure(
          transport.post('unwanted', () => {
            asked += 1;
            return false;
          }),
        ),
      );
      const wanted = transport.post('after', () => undefined);
      for (const { code } of await Promise.all(unwanted)) assert.equal(code, 'transport_not_sent');
      assert.equal((await wanted).text, 'after');
      assert.equal(asked, 2);
      equalBy(server.requests, ({ body }) => body, ['before', 'after']);
    });

    it('is not called when nothing could be sent', async (t) => {
      const url = new URL(`${name === 'ws' ? 'ws' : 'http'}://127.0.0.1:${await closedPort(t)}`);
      const transport = transports[name]({ url, connections: 1, timeoutMs: 120_000 });
      t.after(() => transport.close());
      let sent = 0;
      const error = await failure(transport.post(prefixOf(1), () => (sent += 1)));
      assert.equal(error.code, 'transport_refused');
      assert.equal(sent, 0);
    });
  });

  describe(`transport ${name}: bodies`, LIMIT, () => {
    it('carries large ones both ways', async (t) => {
      const { transport, server } = await connect(t, name, {}, echo);
      const body = JSON.stringify({ data: 'x'.repeat(4_000_000) });
      const { text } = await transport.post(body);
      assert.ok(text === body, 'it came back changed');
      assert.equal(server.requests[0].body.length, body.length);
      assert.equal(transport.stats().bytesReceived, body.length);
    });

    it('characters of several bytes come through, wherever they are cut', async (t) => {
      const body = `{"text":"${'äß€😀'.repeat(5000)}"}`;
      const { transport } = await connect(t, name, {}, (_, response) => {
        const bytes = Buffer.from(body);
        for (let at = 0; at < bytes.length; at += 997) response.write(bytes.subarray(at, at + 997));
        response.end();
      });
      const { text } = await transport.post(body);
      assert.ok(text === body, 'it came back changed');
    });

    it('an answer above the limit is refused before it is in memory, one at the limit is not', async (t) => {
      const options = { maxBodyBytes: name === 'ws' ? 1000 + PREFIX_BYTES : 1000, connections: 1 };
      const { transport } = await connect(t, name, options, (_, response, body) => {
        if (body !== 'endless') return response.end('x'.repeat(Number(body)));
        repeat(response, () => response.write('x'.repeat(400)), 1);
      });
      assert.equal((await transport.post('1000')).text.length, 1000);
      for (const body of ['1001', '100000', 'endless']) {
        const error = await failure(transport.post(body));
        // A WebSocket is closed.
        assert.equal(error.code, name === 'ws' ? 'transport_bad_response' : 'transport_body_too_large');
        assert.match(error.message, /10\d\d bytes/);
      }
      assert.equal((await transport.post('1000')).text.length, 1000);
    });
  });

  describe(`transport ${name}: failures`, LIMIT, () => {
    it('no answer: time-out, and it works again afterwards', async (t) => {
      const { transport } = await connect(t, name, { timeoutMs: TIMEOUT_MS }, (request, response, body) =>
        (body === 'silent' ? silence : echo)(request, response, body),
      );
      const error = await failure(transport.post('silent'));
      assert.equal(error.code, 'transport_timeout');
      assert.equal(error.message, `no answer within ${TIMEOUT_MS / 1000} s (--request-timeout)`);
      assert.equal((await transport.post('{}')).text, '{}');
    });

    it('reset before the answer', async (t) => {
      const { transport } = await connect(t, name, {}, (request) => request.socket.destroy());
      for (let i = 1; i <= 3; i += 1) {
        assert.equal((await failure(transport.post('{}'))).code, 'transport_reset');
        assert.equal(transport.stats().requests, i);
      }
    });

    it('a server that closes an idle connection is connected to again', async (t) => {
      /** @type {Array<() => void>} */
      const sockets = [];
      const { transport, server } = await connect(t, name, {}, (request, response, body) => {
        sockets.push(() => request.socket.end());
        response.end(body);
      });
      for (let i = 1; i <= 3; i += 1) {
        assert.equal((await transport.post(String(i))).text, String(i));
        sockets.pop()?.();
        await until(() => server.open() === 0);
      }
      assert.equal(transport.stats().connectionsOpened, 3);
    });

    it('"connection: close" is obeyed', HTTP, async (t) => {
      const { transport, server } = await connect(t, name, {}, (_, response, body) => {
        response.setHeader('connection', 'close');
        response.end(body);
      });
      for (let i = 0; i < 3; i += 1) assert.equal((await transport.post(String(i))).text, String(i));
      assert.equal(server.connections(), 3);
    });
  });

  describe(`transport ${name}: close()`, LIMIT, () => {
    it('rejects what is open and what waits, and ends every connection', HTTP, async (t) => {
      const { transport, server } = await connect(t, name, { connections: 2 }, silence);
      const posts = [1, 2, 3, 4].map(() => failure(transport.post('{}')));
      await until(() => server.requests.length === 2);
      await transport.close();
      await Promise.all(posts);
      await until(() => server.open() === 0);
      assert.equal(server.requests.length, 2);
    });

    it('nothing is sent afterwards', async (t) => {
      const { transport, server } = await connect(t, name, {}, echo);
      await transport.post('{}');
      await transport.close();
      await failure(transport.post('{}'));
      assert.equal(server.requests.length, 1);
    });

    it('can be called before anything was sent, and twice', async (t) => {
      const { transport } = await connect(t, name, {}, echo);
      await transport.close();
      await transport.close();
      assert.equal(transport.stats().connectionsOpened, 0);
    });
  });
}
