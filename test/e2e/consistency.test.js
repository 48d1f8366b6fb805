/** `--check consistency` of the program itself. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { anvilFor } from '../helpers/anvil.js';
import { passOn, serve } from '../helpers/endpoint.js';
import { runOf } from '../helpers/run-of.js';

const anvil = anvilFor('--block-time 0.1');

test('what the chain does not have is off, and named; each endpoint is asked over several connections', async (t) => {
  const sockets = new Set();
  const { url } = await serve((body, _, { socket }) => {
    const error = { code: -32601, message: 'no such method' };
    // Only the checks ask for it.
    if (body.includes('eth_getLogs')) sockets.add(socket);
    if (!body.includes('eth_getBlockByHash')) return passOn(anvil.url, body);
    return { body: JSON.stringify({ jsonrpc: '2.0', id: JSON.parse(body).id, error }) };
  });
  const words = '--rate 40 -d 3s --check consistency --check-share 50%';
  const { stdout, run } = await runOf(t, words, { chain: anvil, rpc: url, threads: 6 });
  assert.ok(sockets.size > 1, 'connections to a balancer may lead to several nodes');
  assert.match(run.consistency.off.block, /no such method/);
  assert.match(stdout, /not checked: block \(http:.*no such method.*\)/);
  assert.deepEqual(run.consistency.violations, {});
});
