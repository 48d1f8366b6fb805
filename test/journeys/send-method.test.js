/** --send-method over a proxy that takes transactions by that method only, in the set-up as well. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { anvilFor } from '../helpers/anvil.js';
import { passOn, serve } from '../helpers/endpoint.js';
import { runOf } from '../helpers/run-of.js';

const chain = anvilFor('--accounts 20 --block-time 0.2');

test('each transaction is in the place of {{raw}}, and the audit is exact', async (t) => {
  /** @type {Record<string, number>} */
  const counts = {};
  const proxy = await serve(async (body) => {
    const sent = [JSON.parse(body)].flat();
    const asked = sent.map((request) => {
      counts[request.method] = (counts[request.method] ?? 0) + 1;
      if (request.method !== 'eth_sendPrivateTransaction') return request;
      const [{ tx, preferences }] = request.params;
      assert.deepEqual(preferences, { fast: true });
      return { ...request, method: 'eth_sendRawTransaction', params: [tx] };
    });
    return passOn(chain.url, JSON.stringify(Array.isArray(JSON.parse(body)) ? asked : asked[0]));
  });
  const params = '[{"tx":"{{raw}}","preferences":{"fast":true}}]';
  const words = ['-d', '1s', '--send-method', 'eth_sendPrivateTransaction', '--send-params', params];
  const { run } = await runOf(t, words, { chain, rpc: proxy.url, threads: 4 });
  assert.equal(run.audit.exact, true);
  assert.ok(run.counts.verified > 0);
  assert.equal(counts.eth_sendRawTransaction, undefined);
  assert.equal(counts.eth_sendPrivateTransaction, run.counts.started + 4);
});

test('a method that the node does not have is named', async (t) => {
  const words = ['-d', '1s', '--send-method', 'eth_sendNowhere'];
  const { stderr } = await runOf(t, words, { chain, threads: 2, exit: 69 });
  assert.match(stderr, /^stress: eth_sendNowhere: [^\n]*\n$/);
});
