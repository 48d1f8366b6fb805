/** An endpoint that is slow, or answers wrongly, between the program and a real chain. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { Transaction } from 'ethers';
import { anvilFor } from '../helpers/anvil.js';
import { HANG_UP, passOn, serve } from '../helpers/endpoint.js';
import { killedBy, runOf } from '../helpers/run-of.js';

const chain = anvilFor('--accounts 60 --block-time 0.1');

test('submissions that are late, by more than the time-out, are not foreign: exact', async (t) => {
  let sent = 0;
  const { url } = await serve(async (body) => {
    // The first ten are the deployments; of the load, every fifth is held back for a while.
    if (body.includes('eth_sendRawTransaction') && (sent += 1) > 10 && sent % 5 === 0) await sleep(2000);
    return passOn(chain.url, body);
  });
  const { run } = await runOf(t, '-d 1h --iterations 3 --request-timeout 1s', { chain, rpc: url, threads: 10 });
  assert.ok(run.generator.resubmissions.repeated > 0, 'the fault happened');
  // What is sent again is one operation.
  assert.deepEqual([run.failures, run.audit.foreign, run.audit.exact], [{}, [], true]);
});

test('submissions that are under way when the drain ends: exact', async (t) => {
  const { url } = await serve(async (body) => {
    if (body.includes('eth_sendRawTransaction')) await sleep(150);
    return passOn(chain.url, body);
  });
  const own = { chain, rpc: url, threads: 20, exit: 130, during: killedBy('SIGINT') };
  assert.equal((await runOf(t, '--drain-timeout 0s', own)).run.audit.exact, true);
});

test("a wallet's next transaction that the node keeps queued is replaced, and the wallet goes on", async (t) => {
  let queued = 0;
  const { url } = await serve(async (body) => {
    if (queued > 0 || !body.includes('eth_sendRawTransaction')) return passOn(chain.url, body);
    const { from, nonce } = Transaction.from(JSON.parse(body).params[0]);
    if (nonce !== 4) return passOn(chain.url, body);
    await newBlocks(2); // the pool is done with the previous transaction
    // anvil decides only on arrival whether an earlier nonce is missing.
    await chain.rpc('anvil_setNonce', [from, '0x3']);
    const answer = await passOn(chain.url, body);
    await chain.rpc('anvil_setNonce', [from, '0x4']);
    queued = Number((await chain.rpc('txpool_status')).queued);
    return answer;
  });
  const { run } = await runOf(t, '-d 1h --iterations 10', { chain, rpc: url, threads: 1 });
  assert.equal(queued, 1, 'the fault happened');
  const { generator, counts, audit } = run;
  assert.ok(generator.resubmissions.replaced > 0);
  assert.deepEqual([counts.verified, audit.exact], [10, true]);
});

/** @param {number} count */
async function newBlocks(count) {
  const head = async () => Number(await chain.rpc('eth_blockNumber'));
  const last = (await head()) + count;
  while ((await head()) < last) await sleep(20);
}

test('a connection that is lost in the audit is used again', async (t) => {
  let lost = 0;
  // Only the audit reads as of a block hash.
  const { url } = await serve((body) =>
    body.includes('blockHash') && (lost += 1) === 1 ? HANG_UP : passOn(chain.url, body),
  );
  const { run } = await runOf(t, '-d 1s', { chain, rpc: url, threads: 5 });
  assert.ok(lost > 1, 'the fault happened');
  assert.equal(run.audit.exact, true);
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
