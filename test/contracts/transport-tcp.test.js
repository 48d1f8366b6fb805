/** What every transport must do with servers that only raw sockets can play: odd, old and broken ones. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { transports } from '../../src/transport/index.js';
import { caught } from '../helpers/caught.js';
import { failure, response, startRawServer, until } from '../helpers/raw-server.js';

/**
 * @import { Transport } from '../../src/contracts/chain.d.ts'
 * @import { TransportError } from '../../src/errors.js'
 * @import { TransportOptions } from '../../src/transport/index.js'
 * @import { Socket } from 'node:net'
 * @import { TestContext } from 'node:test'
 * @import { Asked } from '../helpers/raw-server.js'
 */

/** No test waits for anything this long, unless it hangs. */
const LIMIT = Object.freeze({ timeout: 300_000 });
const HANG_MS = 120_000;
const TIMEOUT_MS = 500;
/** @typedef {Partial<TransportOptions> & {host?: string, onData?: (socket: Socket) => void}} Options */

/**
 * A transport to a raw server of its own, both of which end with the test. The server never closes a connection by
 * itself.
 * @param {TestContext} t
 * @param {string} name
 * @param {(asked: Asked) => void} answer called with each whole request
 * @param {Options} [options]
 */
async function connect(t, name, answer, { host, onData, ...options } = {}) {
  const server = await startRawServer(t, answer, { host, onData });
  const transport = transports[name]({ url: server.url, connections: 1, timeoutMs: HANG_MS, ...options });
  t.after(() => transport.close());
  return { transport, server, url: server.url };
}

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

/**
 * What a server may send for an answer to a post, which must fail then. Node.js' own parser, which undici has, is
 * more lenient with some of it. (test/laws/transport/http-parser.test.js has all that the parser refuses.)
 * @type {Array<{name: string, text: string, onlyTcp?: boolean}>}
 */
const BROKEN = [
  { name: 'no HTTP', text: 'SSH-2.0-OpenSSH_9.6\r\n' },
  { name: 'TLS', text: '\x15\x03\x01\x00\x02\x02\x46' },
  { name: 'two Content-Lengths', text: 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}' },
  {
    name: 'the size of a chunk is not a number',
    text: 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n{}\r\n',
  },
  { name: 'a folded field', text: 'HTTP/1.1 200 OK\r\nA: b\r\n c\r\nContent-Length: 2\r\n\r\n{}', onlyTcp: true },
];

for (const name of Object.keys(transports).filter((speaks) => speaks !== 'ws')) {
  describe(`transport ${name}: servers of another kind`, LIMIT, () => {
    for (const hasLength of name === 'undici' ? [true, false] : [true])
      it(`HTTP/1.0 ${hasLength ? 'with' : 'without'} a Content-Length, closing after each answer`, async (t) => {
        const { transport, server } = await connect(
          ...[t, name],
          ({ socket, body }) => {
            const text = `answer to ${body}`;
            socket.end(`HTTP/1.0 200 OK\r\n${hasLength ? `Content-Length: ${text.length}\r\n` : ''}\r\n${text}`);
          },
          { connections: 3 },
        );
        await Promise.all(Array.from({ length: 30 }, (_, i) => assertAnswered(transport, String(i))));
        assert.equal(server.connections(), 30);
      });

    it("an error as Go's server sends it: without a length", async (t) => {
      const { transport, server } = await connect(t, name, ({ socket, body }) => {
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
        const { transport } = await connect(t, name, ({ socket, body }) =>
          socket.write(hint + response(`answer to ${body}`)),
        );
        await assertAnswered(transport, '1');
      });

    it('an answer before the whole request has been sent', async (t) => {
      let isFirst = true;
      const { transport, server } = await connect(t, name, echo, {
        onData: (socket) => {
          if (isFirst)
            socket.write('HTTP/1.1 413 Payload Too Large\r\nConnection: close\r\nContent-Length: 3\r\n\r\nbig');
          isFirst = false;
        },
      });
      assert.deepEqual(await transport.post('x'.repeat(8_000_000)), { status: 413, text: 'big', retryAfterMs: null });
      await assertAnswered(transport, 'next');
      assert.equal(server.connections(), 2);
    });

    it('an IPv6 address', async (t) => {
      const connected = await connect(t, name, echo, { host: '::1' }).catch(() => null);
      if (connected === null) return t.skip('there is no ::1 on this machine');
      const { transport, server, url } = connected;
      assert.match(url.hostname, /^\[::1\]$/);
      await assertAnswered(transport, '{}');
      assert.match(server.asked[0].head, new RegExp(`^host: \\[::1\\]:${url.port}$`, 'im'));
    });
  });

  describe(`transport ${name}: what it sends`, LIMIT, () => {
    for (const body of ['', '{"id":1}', 'é', 'ÿ\x80', '€', '😀', `{"text":"${'aä€😀'.repeat(10_000)}"}`, '\ud800']) {
      it(`the length of ${JSON.stringify(body.slice(0, 20))} is that of its bytes`, async (t) => {
        const { transport, server } = await connect(t, name, echo);
        await transport.post(body);
        // What is no character is sent as the one that stands for such: in UTF-8 there is nothing else for it.
        const sent = Buffer.from(body);
        assert.ok(server.asked[0].body === sent.toString(), 'it came changed');
        assert.match(server.asked[0].head, new RegExp(`^content-length: ${sent.length}$`, 'im'));
        await assertAnswered(transport, 'next');
        assert.equal(server.connections(), 1);
      });
    }

    it('no field of the request holds a line end, whatever the URL is', async (t) => {
      const { server, url } = await connect(t, name, echo);
      const odd = new URL(`http://us%0D%0Aer:pass%0D%0AX-Evil: 1@${url.host}/pa%0D%0Ath?a=%0D%0A b`);
      const transport = transports[name]({ url: odd, connections: 1, timeoutMs: HANG_MS });
      t.after(() => transport.close());
      await assertAnswered(transport, '{}');
      assert.doesNotMatch(server.asked[0].head, /evil/i);
      assert.match(server.asked[0].head, /^POST \/pa%0D%0Ath\?a=%0D%0A%20b HTTP\/1\.1\r\n/);
    });
  });

  describe(`transport ${name}: unexpected answers`, LIMIT, () => {
    it('with others waiting for the connection: each gets its own', async (t) => {
      const { transport } = await connect(t, name, ({ socket, body }) => {
        socket.write(response(`answer to ${body}`) + response('a second answer'));
      });
      await Promise.all(Array.from({ length: 20 }, (_, i) => assertAnswered(transport, String(i))));
    });

    for (const [what, unasked] of [['an answer', response('unexpected')]]) {
      it(`${what} on an idle connection: it is closed, and the next post gets its own`, async (t) => {
        const { transport, server } = await connect(t, name, echo);
        for (let i = 1; i <= 3; i += 1) {
          await assertAnswered(transport, String(i));
          server.asked.at(-1)?.socket.write(unasked);
          await until(() => server.open() === 0);
        }
        assert.equal(server.connections(), 3);
        assert.equal(transport.stats().requests, 3);
      });
    }
  });

  describe(`transport ${name}: broken answers`, LIMIT, () => {
    for (const { name: what, text } of BROKEN.filter(({ onlyTcp }) => name === 'tcp' || !onlyTcp)) {
      it(`${what}: that post fails at once, and the next one works`, async (t) => {
        const { transport } = await connect(t, name, ({ socket, body }) => {
          socket.write(body === 'broken' ? Buffer.from(text, 'latin1') : response(`answer to ${body}`));
        });
        await assertAnswered(transport, 'before');
        const posts = [failure(transport.post('broken')), assertAnswered(transport, 'behind it')];
        const [{ code, message }] = /** @type {[TransportError, void]} */ (await Promise.all(posts));
        if (name === 'tcp') assert.equal(code, 'transport_bad_response');
        assert.doesNotMatch(message, /[\x00-\x1f]/);
        await assertAnswered(transport, 'after');
      });
    }
  });

  describe(`transport ${name}: keeping connections`, LIMIT, () => {
    it('one that the server keeps for 1 s only is not used again: it may be closed just then', async (t) => {
      const { transport, server } = await connect(t, name, ({ socket, body }) => {
        socket.write(response(`answer to ${body}`, 'Connection: keep-alive\r\nKeep-Alive: timeout=1\r\n'));
      });
      for (let i = 1; i <= 3; i += 1) {
        await assertAnswered(transport, String(i));
        await sleep(5);
      }
      assert.equal(server.connections(), 3);
    });

    it('one that it keeps for a minute is', async (t) => {
      const { transport, server } = await connect(t, name, ({ socket, body }) => {
        socket.write(response(`answer to ${body}`, 'Keep-Alive: timeout=60, max=1000\r\n'));
      });
      for (let i = 1; i <= 3; i += 1) {
        await assertAnswered(transport, String(i));
        await sleep(5);
      }
      assert.equal(server.connections(), 1);
    });
  });

  describe(`transport ${name}: many that wait`, LIMIT, () => {
    it('for a server that accepts and never answers: all time out, none is sent later, none is kept', async (t) => {
      let isSilent = true;
      const { transport, server } = await connect(
        ...[t, name],
        (/** @type {Asked} */ asked) => {
          if (!isSilent) echo(asked);
        },
        { timeoutMs: TIMEOUT_MS, connections: 2 },
      );
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
      await assertAnswered(transport, 'works again');
      // Two, and those whose turn comes while the first ones time out: not all were posted within one millisecond.
      assert.ok(sent >= 2 && sent < 100, `${sent} were sent`);
      assert.ok(server.asked.length <= sent + 1, `${server.asked.length} came, ${sent} were sent`);
      // One connection for each that was given up would keep a server busy that has just come back.
      assert.ok(server.connections() <= sent + 5, `${server.connections()} connections, ${sent} were sent`);
      await sleep(10);
      collect();
      const left = kept.filter((ref) => ref.deref() !== undefined).length;
      assert.ok(left <= 10, `${left} of 1000 are still held`);
    });

    it('and are not wanted any more when their turn comes: they fail, however many they are', async (t) => {
      const { transport, server } = await connect(t, name, echo);
      const first = assertAnswered(transport, 'first');
      const unwanted = Array.from({ length: 20_000 }, () => caught(() => transport.post('unwanted', () => false)));
      const last = assertAnswered(transport, 'last');
      await Promise.all([first, last]);
      for (const { code } of await Promise.all(unwanted)) assert.equal(code, 'transport_not_sent');
      assert.deepEqual(
        server.asked.map(({ body }) => body),
        ['first', 'last'],
      );
    });
  });
}
