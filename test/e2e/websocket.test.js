/** A WebSocket endpoint: heads are pushed, and what is lost with a connection is found again. */
import assert from 'node:assert/strict';
import { connect, createServer } from 'node:net';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { startAnvil } from '../helpers/anvil.js';
import { readJson, runStress, startStress } from '../helpers/cli.js';
import { assertRunFile } from '../helpers/run-file.js';
import { temporaryFolder } from '../helpers/temporary.js';

/**
 * @import { AddressInfo, Socket } from 'node:net'
 * @import { TestContext } from 'node:test'
 */

/** @type {Awaited<ReturnType<typeof startAnvil>>} */
let chain;
/** @type {string} */
let url;
before(async () => {
  chain = await startAnvil({ args: ['--accounts', '60', '--block-time', '0.2'] });
  url = chain.url.replace('http', 'ws');
});
after(() => chain.stop());

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
  const out = `${temporaryFolder(t)}/run.json`;
  const args = ['-t', '20', '-o', '0', '-d', '5m', '--iterations', '10', '--rpc', url, '--out', out];
  const { code, stdout, stderr } = await runStress(args);
  assert.equal(code, 0, stdout + stderr);
  assert.equal(stderr, '');
  const run = readJson(out);
  assertRunFile(run);
  const { audit, environment, generator, latency } = run;
  assert.equal(audit.exact, true);
  assert.deepEqual([environment.transport.name, environment.endpoint], ['ws', url]);
  assert.deepEqual([generator.headSource, generator.inclusionResolutionMs], ['subscription', 0]);
  assert.ok(generator.transport.connectionsOpened <= 2, 'one socket carries them all');
  assert.equal(latency.total.count, 200);
});

test('connections that are dropped in mid-run, of two workers: subscribed again, and nothing is lost', async (t) => {
  const out = `${temporaryFolder(t)}/run.json`;
  const proxy = await startTcpProxy(t);
  const args = ['-t', '20', '-o', '30', '-d', '5s', '--interval', '500ms', '--workers', '2', '--out', out];
  const stress = startStress([...args, '--rpc', proxy.url]);
  for (let drops = 0; drops < 3; drops += 1) {
    await stress.waitFor(/^ +\d+\.\d s .*$/m, drops === 0 ? 'start' : 'now');
    const before = proxy.connections();
    proxy.drop();
    while (proxy.connections() === before) await sleep(5);
  }
  const { code, stdout, stderr } = await stress.done;
  assert.equal(code, 0, stdout + stderr);
  const run = readJson(out);
  assertRunFile(run);
  assert.equal(run.audit.exact, true, stdout);
  assert.equal(run.generator.headSource, 'subscription');
  assert.ok(run.generator.transport.connectionsOpened >= 4);
  assert.ok(run.counts.verified > 100);
});
