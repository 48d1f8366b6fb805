/** The ladder of promises (--ladder): what a chain promised of each operation, when, and what became of it. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { keccak256 } from 'ethers';
import { anvilFor } from '../helpers/anvil.js';
import { passOn, serve } from '../helpers/endpoint.js';
import { runOf } from '../helpers/run-of.js';

const chain = anvilFor('--accounts 60 --block-time 0.3');

/** An endpoint that answers some calls itself. @param {(method: string, params: any[]) => {result?: unknown, error?: object} | null} answerOf */
async function startAnswering(answerOf) {
  const { url } = await serve(async (body) => {
    const request = JSON.parse(body);
    const { id, method, params } = request;
    const own = Array.isArray(request) ? null : answerOf(method, params);
    return own === null ? passOn(chain.url, body) : { body: JSON.stringify({ jsonrpc: '2.0', id, ...own }) };
  });
  return url;
}

const NONE_BROKEN = { lost: 0, replaced: 0, reorged: 0, unknown: 0 };

test("anvil's pending block, of two workers: seen before the block, and kept", async (t) => {
  const words = '-d 3s --workers 2 --ladder auto --threshold broken=0';
  const { run, stdout } = await runOf(t, words, { chain, threads: 10 });
  const { ladder, counts, generator } = run;
  assert.deepEqual(ladder.broken, NONE_BROKEN);
  assert.equal(ladder.restored, 0);
  assert.deepEqual(Object.keys(ladder.rungs), ['accepted', 'pending', 'latest', 'safe', 'finalized']);
  const { accepted, pending, latest, finalized } = ladder.rungs;
  assert.deepEqual([accepted.reached, latest.reached], [counts.verified, counts.verified]);
  assert.ok(pending.reached > counts.verified / 2, `${pending.reached} of ${counts.verified} were seen pending`);
  for (const { reached, notReached } of [accepted, pending, latest, finalized])
    assert.equal(reached + notReached, counts.started);
  assert.ok(pending.latency.p50Us < latest.latency.p50Us);
  assert.equal(finalized.reached, 0, 'it is 64 blocks behind');
  assert.ok(generator.rpcCalls.ladder > 0);
  assert.match(
    stdout,
    /Finality levels +reached +not reached +p50 ms +p99 +max +broken +unknown +restored\n +accepted +\d/,
  );
});

test('a node that accepts a transaction and forgets it breaks its promise: counted, and a threshold fails', async (t) => {
  /** @type {Set<string>} */
  const seen = new Set();
  /** @type {string | undefined} */
  let forgotten;
  const rpc = await startAnswering((method, [raw]) => {
    if (method !== 'eth_sendRawTransaction') return null;
    seen.add(raw);
    // The first ones deploy the contracts.
    if (seen.size === 25) forgotten = raw;
    return raw === forgotten ? { result: keccak256(raw) } : null;
  });
  const words = '-d 3s --tx-timeout 20s --drain-timeout 1s --ladder pending --threshold broken=0';
  const { run, stdout } = await runOf(t, words, { chain, rpc, threads: 10, exit: 99 });
  assert.deepEqual(run.ladder.broken, { ...NONE_BROKEN, lost: 1 });
  assert.equal(run.ladder.rungs.accepted.broken.lost, 1);
  assert.equal(run.ladder.rungs.latest.broken.lost, 0);
  assert.equal(run.audit.result, 'exact', 'the chain has what the run says');
  assert.match(stdout, /broken=0 +FAILED +1/);
});
