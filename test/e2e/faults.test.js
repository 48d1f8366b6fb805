/** An endpoint that is slow, or answers wrongly, between the program and a real chain. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { anvilFor } from '../helpers/anvil.js';
import { passOn, serve } from '../helpers/endpoint.js';
import { killedBy, runOf } from '../helpers/run-of.js';

const chain = anvilFor('--accounts 60 --block-time 0.1');

test('submissions that are under way when the drain ends: exact', async (t) => {
  const { url } = await serve(async (body) => {
    if (body.includes('eth_sendRawTransaction')) await sleep(150);
    return passOn(chain.url, body);
  });
  const own = { chain, rpc: url, threads: 20, exit: 130, during: killedBy('SIGINT') };
  assert.equal((await runOf(t, '--drain-timeout 0s', own)).run.audit.exact, true);
});

test('a node without a latest block in the end: a summary, a run file, and no audit', async (t) => {
  let asked = 0;
  const { url } = await serve((body) => {
    const { id, method, params } = JSON.parse(body);
    // The set-up asks twice: what the chain is, and where the load begins.
    const isGone = method === 'eth_getBlockByNumber' && params[0] === 'latest' && (asked += 1) > 2;
    return isGone ? { body: JSON.stringify({ jsonrpc: '2.0', id, result: null }) } : passOn(chain.url, body);
  });
  const words = '-d 1s --drain-timeout 1s --request-timeout 1s';
  const { run, stdout, stderr } = await runOf(t, words, { chain, rpc: url, threads: 5 });
  assert.match(stderr, /the audit is incomplete: .*has no latest block/);
  assert.match(stdout, /audit +INCOMPLETE: .*has no latest block/);
  assert.equal(run.audit, null);
});
