/** What every HTTP transport must do with servers that only raw sockets can play: odd and old ones. */
import assert from 'node:assert/strict';
import { networkInterfaces } from 'node:os';
import { describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { asTransportError } from '../../src/transport/http.js';
import { transports } from '../../src/transport/index.js';
import { caught } from '../helpers/caught.js';
import { equalBy } from '../helpers/equal-by.js';
import { HTTP_TRANSPORTS, closedPort, connectRaw, failure, response } from '../helpers/raw-server.js';
import { until } from '../helpers/until.js';

/**
 * @import { Transport } from '../../src/contracts/chain.d.ts'
 * @import { Asked } from '../helpers/raw-server.js'
 * @import { Duplex } from 'node:stream'
 */

/** No test waits for anything this long, unless it hangs. */
const LIMIT = Object.freeze({ timeout: 300_000 });
const TIMEOUT_MS = 500;

/** @param {Asked} asked */
const echo = ({ socket, body }) => void socket.write(response(`answer to ${body}`));

/** @param {Transport} transport @param {string} body */
async function assertAnswered(transport, body) {
  assert.deepEqual(await transport.post(body), { status: 200, text: `answer to ${body}`, retryAfterMs: null });
}

/** @returns {() => void} runs the garbage collector, which tests are not started with */
function garbageCollector() {
  setFlagsFromString('--expose_gc');
  return runInNewContext('gc');
}

for (const [way, { name, keepAlive = true }] of Object.entries(HTTP_TRANSPORTS)) {
  describe(`transport ${way}: servers of another kind`, LIMIT, () => {
    for (const hasLength of name === 'undici' ? [true, false] : [true])
      it(`HTTP/1.0 ${hasLength ? 'with' : 'without'} a Content-Length, closing after each answer`, async (t) => {
        const { transport, server } = await connectRaw(t, way, { connections: 3 }, ({ socket, body }) => {
          const text = `answer to ${body}`;
          socket.end(`HTTP/1.0 200 OK\r\n${hasLength ? `Content-Length: ${text.length}\r\n` : ''}\r\n${text}`);
        });
        await Promise.all(Array.from({ length: 30 }, (_, i) => assertAnswered(transport, String(i))));
        assert.equal(server.connections(), 30);
      });

    it("an error as Go's server sends it: without a length", async (t) => {
      const { transport, server } = await connectRaw(t, way, {}, ({ socket, body }) => {
        if (body !== 'bad') socket.write(response(`answer to ${body}`));
        else socket.end('HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n400 Bad Request');
      });
      assert.equal((await transport.post('bad')).status, 400);
      await assertAnswered(transport, 'next');
      assert.equal(server.connections(), 2);
    });

    if (name === 'undici')
      it('a hint before the answer', async (t) => {
        const hint = 'HTTP/1.1 103 Early Hints\r\nRetry-After: 5\r\nLink: </a>\r\n\r\n';
        const { transport } = await connectRaw(t, way, {}, ({ socket, body }) =>
          socket.write(hint + response(`answer to ${body}`)),
        );
        await assertAnswered(transport, '1');
      });

    it('an answer before the whole request has been sent', async (t) => {
      let isFirst = true;
      /** @param {Duplex} socket */
      const onData = (socket) => {
        if (isFirst) socket.write('HTTP/1.1 413 X\r\nConnection: close\r\nContent-Length: 3\r\n\r\nbig');
        isFirst = false;
      };
      const { transport, server } = await connectRaw(t, way, { onData }, echo);
      assert.deepEqual(await transport.post('x'.repeat(8_000_000)), { status: 413, text: 'big', retryAfterMs: null });
      await assertAnswered(transport, 'next');
      assert.equal(server.connections(), 2);
    });

    it('an IPv6 address', async (t) => {
      const connected = await connectRaw(t, way, { host: '::1' }, echo).catch(() => null);
      if (connected === null) return t.skip('there is no ::1 on this machine');
      const { transport, server, url } = connected;
      assert.match(url.hostname, /^\[::1\]$/);
      await assertAnswered(transport, '{}');
      assert.match(server.asked[0].head, new RegExp(`^host: \\[::1\\]:${url.port}$`, 'im'));
    });
  });

  describe(`transport ${way}: what it sends`, LIMIT, () => {
    for (const body of ['', '{"id":1}', 'é', 'ÿ\x80', '€', '😀', `{"text":"${'aä€😀'.repeat(10_000)}"}`, '\ud800']) {
      it(`the length of ${JSON.stringify(body.slice(0, 20))} is that of its bytes`, async (t) => {
        const { transport, server } = await connectRaw(t, way, {}, echo);
        await transport.post(body);
        // What is no character is sent as the one that stands for such: in UTF-8 there is nothing else for it.
        const sent = Buffer.from(body);
        assert.ok(server.asked[0].body === sent.toString(), 'it came changed');
        assert.match(server.asked[0].head, new RegExp(`^content-length: ${sent.length}$`, 'im'));
        await assertAnswered(transport, 'next');
        assert.equal(server.connections(), keepAlive ? 1 : 2);
      });
    }

    it('no field of the request holds a line end, whatever the URL is', async (t) => {
      const { server, url } = await connectRaw(t, way, {}, echo);
      const odd = new URL(`http://us%0D%0Aer:pass%0D%0AX-Evil: 1@${url.host}/pa%0D%0Ath?a=%0D%0A b`);
      const transport = transports[name]({ url: odd, connections: 1, timeoutMs: 120_000, keepAlive });
      t.after(() => transport.close());
      await assertAnswered(transport, '{}');
      assert.doesNotMatch(server.asked[0].head, /evil/i);
      assert.match(server.asked[0].head, /^POST \/pa%0D%0Ath\?a=%0D%0A%20b HTTP\/1\.1\r\n/);
    });
  });

  describe(`transport ${way}: keeping connections`, LIMIT, () => {
    for (const [what, fields, connections] of /** @type {Array<[string, string, number]>} */ ([
      [
        'that the server keeps for 1 s only: it may be closed just then',
        'Connection: keep-alive\r\nKeep-Alive: timeout=1',
        3,
      ],
      ['that it keeps for a minute', 'Keep-Alive: timeout=60, max=1000', keepAlive ? 1 : 3],
    ]))
      it(`one ${what}, is used by ${connections === 1 ? 'all' : 'one'}`, async (t) => {
        const { transport, server } = await connectRaw(t, way, {}, ({ socket, body }) => {
          socket.write(response(`answer to ${body}`, `${fields}\r\n`));
        });
        for (let i = 1; i <= 3; i += 1) {
          await assertAnswered(transport, String(i));
          await sleep(5);
        }
        assert.equal(server.connections(), connections);
      });
  });

  describe(`transport ${way}: many that wait`, LIMIT, () => {
    it('for a server that accepts and never answers: all time out, none is sent later, none is kept', async (t) => {
      let isSilent = true;
      const { transport, server } = await connectRaw(t, way, { timeoutMs: TIMEOUT_MS, connections: 2 }, (asked) => {
        if (!isSilent) echo(asked);
      });
      const collect = garbageCollector();
      let sent = 0;
      /** @type {Array<WeakRef<() => unknown>>} */
      const kept = [];
      const post = () => {
        const onSent = () => (sent += 1);
        kept.push(new WeakRef(onSent));
        return failure(transport.post('{}', onSent));
      };
      for (const { code } of await Promise.all(Array.from({ length: 1000 }, post))) {
        assert.equal(code, 'transport_timeout');
      }
      isSilent = false;
      // It comes behind those that were given up: beside other work that may take longer than its time limit.
      let tries = 0;
      await until(async () => {
        tries += 1;
        const answered = assertAnswered(transport, 'works again').then(() => true);
        return await answered.catch((error) => {
          if (error.code !== 'transport_timeout') throw error;
          return false;
        });
      });
      // Two, and those whose turn comes while the first ones time out: not all were posted within one millisecond.
      assert.ok(sent >= 2 && sent < 100, `${sent} were sent`);
      assert.ok(server.asked.length <= sent + tries, `${server.asked.length} came, ${sent} were sent`);
      // One connection for each that was given up would keep a server busy that has just come back.
      assert.ok(server.connections() <= sent + 5, `${server.connections()} connections, ${sent} were sent`);
      await sleep(10);
      collect();
      const left = kept.filter((ref) => ref.deref() !== undefined).length;
      assert.ok(left <= 10, `${left} of 1000 are still held`);
    });

    it('and are not wanted any more when their turn comes: they fail, however many they are', async (t) => {
      const { transport, server } = await connectRaw(t, way, {}, echo);
      const first = assertAnswered(transport, 'first');
      const unwanted = Array.from({ length: 20_000 }, () => caught(() => transport.post('unwanted', () => false)));
      const last = assertAnswered(transport, 'last');
      await Promise.all([first, last]);
      for (const { code } of await Promise.all(unwanted)) assert.equal(code, 'transport_not_sent');
      equalBy(server.asked, ({ body }) => body, ['first', 'last']);
    });

    it('no listener on any address of the host: "refused"', async (t) => {
      if (!Object.values(networkInterfaces()).some((all) => all?.some(({ address }) => address === '::1')))
        return t.skip('there is no ::1 on this machine');
      const url = new URL(`http://localhost:${await closedPort(t)}`);
      const transport = transports[name]({ url, connections: 2, timeoutMs: 120_000, keepAlive });
      t.after(() => transport.close());
      const { code, message } = await failure(transport.post('{}'));
      assert.deepEqual([code, message], ['transport_refused', 'connection refused']);
    });
  });
}

// This side closes first, and with a FIN, so that the TIME_WAIT is ours.
describe('transport tcp without keep-alive', LIMIT, () => {
  for (const [what, answer] of /** @type {Array<[string, string]>} */ ([
    ['of known length', response('{}')],
    ['in chunks', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n'],
    ['of a megabyte', response('x'.repeat(1_000_000))],
    ['that promises to keep the connection', response('{}', 'Keep-Alive: timeout=60\r\n')],
  ]))
    it(`gives each request a connection, and closes it behind an answer ${what}, without asking the server to`, async (t) => {
      const way = 'tcp without keep-alive';
      const { transport, server } = await connectRaw(t, way, { connections: 4 }, ({ socket }) => {
        socket.write(answer);
      });
      await Promise.all(Array.from({ length: 30 }, () => transport.post('{}')));
      // The server closes nothing by itself: that all are gone means that we have closed.
      await until(() => server.open() === 0);
      assert.equal(transport.stats().connectionsOpened, 30);
      assert.ok(server.most() <= 5, `${server.most()} were open at once`);
      assert.deepEqual(server.ends, Array(30).fill(['end']));
      assert.match(server.asked[0].head, /^connection: keep-alive$/im);
    });
});

describe('what a failure to connect is called', () => {
  const error = (/** @type {string} */ code) => Object.assign(new Error(`connect ${code} ...`), { code });

  for (const [codes, expected] of /** @type {Array<[string[], RegExp]>} */ ([
    [['EADDRNOTAVAIL'], /^transport_no_ports no local port is left .*TIME_WAIT/],
    [['ECONNREFUSED', 'ECONNREFUSED'], /^transport_refused /],
    // There is no listener on ::1, and towards 127.0.0.1 no port is left.
    [['ECONNREFUSED', 'EADDRNOTAVAIL'], /^transport_no_ports /],
    // There is no IPv6 here, and no listener on 127.0.0.1.
    [['EADDRNOTAVAIL', 'ECONNREFUSED'], /^transport_refused /],
    [['ENETUNREACH', 'ETIMEDOUT'], /^transport_timeout /],
    [[], /^transport_aggregateerror /],
  ]))
    it(`${codes.join(', ')}: the last address speaks for all`, () => {
      const several = Object.assign(new AggregateError(codes.map(error)), { code: codes[0] });
      const { code, message } = asTransportError(codes.length === 1 ? error(codes[0]) : several);
      assert.match(`${code} ${message}`, expected);
    });
});
