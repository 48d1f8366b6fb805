/** A WebSocket endpoint: heads are pushed, and what is lost with a connection is found again. */
import assert from 'node:assert/strict';
import { connect, createServer } from 'node:net';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { anvilFor } from '../helpers/anvil.js';
import { INTERVAL_LINE, runOf, startOf } from '../helpers/run-of.js';

/**
 * @import { AddressInfo, Socket } from 'node:net'
 * @import { TestContext } from 'node:test'
 */

let url = '';
const chain = anvilFor('--accounts 60 --block-time 0.2', (anvil) => (url = anvil.url.replace('http', 'ws')));

/**
 * Passes bytes on to the chain, until it drops all connections.
 * @param {TestContext} t
 */
async function startTcpProxy(t) {
  /** @type {Set<Socket>} */
  const sockets = new Set();
  let connections = 0;
  const server = createServer((client) => {
    connections += 1;
    const node = connect(Number(new URL(url).port), '127.0.0.1');
    client.pipe(node).pipe(client);
    for (const socket of [client, node]) {
      sockets.add(socket);
      socket
        .on('error', () => {})
        .on('close', () => {
          sockets.delete(socket);
          client.destroy();
          node.destroy();
        });
    }
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(undefined)));
  const drop = () => sockets.forEach((socket) => socket.destroy());
  t.after(() => {
    server.close();
    drop();
  });
  const { port } = /** @type {AddressInfo} */ (server.address());
  return { url: `ws://127.0.0.1:${port}`, drop, connections: () => connections };
}

test('a run over a WebSocket: heads are pushed, and the audit is exact', async (t) => {
  const { run, stderr } = await runOf(t, '-d 1h --iterations 10', { chain, rpc: url, threads: 20 });
  assert.equal(stderr, '');
  const { audit, environment, generator, latency } = run;
  assert.deepEqual([audit.exact, latency.total.count], [true, 200]);
  assert.deepEqual([environment.transport.name, environment.endpoint], ['ws', url]);
  assert.deepEqual([generator.headSource, generator.inclusionResolutionMs], ['subscription', 0]);
  assert.ok(generator.transport.connectionsOpened <= 2, 'one socket carries them all');
});

test('connections that are dropped in mid-run, of two workers: subscribed again, and nothing is lost', async (t) => {
  const proxy = await startTcpProxy(t);
  const stress = startOf(t, '--interval 300ms --workers 2', { chain, rpc: proxy.url, threads: 20 });
  for (let drops = 0; drops < 3; drops += 1) {
    await stress.waitFor(INTERVAL_LINE, drops === 0 ? 'start' : 'now');
    const before = proxy.connections();
    proxy.drop();
    while (proxy.connections() === before) await sleep(5);
  }
  // Until the subscription is there again, heads are polled.
  for (let i = 0; i < 6; i += 1) await stress.waitFor(INTERVAL_LINE, 'now');
  stress.child.kill('SIGINT');
  const { run, stdout } = await stress.end(130);
  assert.equal(run.audit.exact, true, stdout);
  assert.equal(run.generator.headSource, 'subscription');
  assert.ok(run.generator.transport.connectionsOpened >= 4);
});
