/** What keeps the ports from running out: connections that are kept, and a server that closes first. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { test } from 'node:test';
import { startNullChain } from '../../../scripts/bench/null-chain.js';
import { CALLS, PORTS, prepareNamespace, run, timeWaits } from '../namespace.js';

/** @import { AddressInfo } from 'node:net' */

prepareNamespace({ reuse: 0 });

for (const transport of ['undici', 'tcp']) {
  await test(`${transport}, keep-alive: more requests than ports, and next to no TIME_WAIT`, async (t) => {
    const chain = await startNullChain();
    t.after(() => chain.stop());
    const { code, stderr, file } = await run(t, chain.url, [...CALLS, '-d', '5s', '--transport', transport]);
    assert.equal(code, 0, stderr);
    assert.deepEqual(file.failures, {});
    assert.ok(file.counts.verified > PORTS, `${file.counts.verified} verified`);
    const { ours, theirs } = timeWaits(chain.url);
    assert.ok(ours < 100 && theirs < 100, `${ours} are ours, ${theirs} theirs`);
  });
}

await test('no keep-alive, a server that closes first: it holds most, and we go on', async (t) => {
  const server = createServer((request, response) => {
    let body = '';
    request.setEncoding('utf8').on('data', (chunk) => (body += chunk));
    request.on('end', () => {
      const text = JSON.stringify({ jsonrpc: '2.0', id: JSON.parse(body).id, result: '0x7a69' });
      response.writeHead(200, { 'content-type': 'application/json', connection: 'close' }).end(text);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close().closeAllConnections());
  const url = `http://127.0.0.1:${/** @type {AddressInfo} */ (server.address()).port}`;
  const args = [...CALLS, '-d', '8s', '--no-keep-alive'];
  const { code, stderr, file } = await run(t, url, args);
  assert.equal(code, 0, stderr);
  assert.deepEqual(file.failures, {});
  const { ours, theirs } = timeWaits(url);
  // Some of our closes cross the server's, and both sides wait then.
  assert.ok(ours < file.counts.verified / 10, `${ours} are ours, of ${file.counts.verified}`);
  assert.ok(theirs > 1000, `${theirs} are theirs`);
});
