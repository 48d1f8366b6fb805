/** How transactions are found in blocks: each way by name, and the one that fits what the endpoint can do. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { anvilFor } from '../helpers/anvil.js';
import { exited } from '../helpers/cli.js';
import { passOn, serve } from '../helpers/endpoint.js';
import { runOf } from '../helpers/run-of.js';

/** @import { TestContext } from 'node:test' */

const chain = anvilFor('--accounts 60 --block-time 0.2');
/** Most answers wait for a block here, also those to a busy machine. */
const slow = anvilFor('--accounts 60 --block-time 1');
const instant = anvilFor();

/**
 * An endpoint that lacks some of what `instant` behind it has.
 * @param {{isListing?: boolean, isRefused?: (method: string) => boolean}} lacks isListing: whether blocks list their
 *   transactions; isRefused: methods that it does not know, or not any more
 */
async function startPoorEndpoint({ isListing = true, isRefused = () => false }) {
  const { url } = await serve(async (body) => {
    const { id, method } = JSON.parse(body);
    const refusal = { jsonrpc: '2.0', id, error: { code: -32601, message: 'Method not found' } };
    if (isRefused(method)) return { body: JSON.stringify(refusal) };
    const answer = await passOn(instant.url, body);
    return isListing ? answer : { body: answer.body.replace(/"transactions":\[/, '"others":[') };
  });
  return url;
}

/**
 * @param {TestContext} t
 * @param {{url: string}} of the wallets
 * @param {string} rpc
 * @param {string} words
 * @param {number} threads
 */
async function exactRun(t, of, rpc, words, threads) {
  const length = words.includes('--iterations') ? '1m' : '800ms';
  const { run, stdout, stderr } = await runOf(t, `-d ${length} ${words}`, { chain: of, rpc, threads });
  assert.equal(run.audit.exact, true, stdout);
  assert.ok(run.counts.verified > 0);
  assert.deepEqual([run.counts.failed, run.counts.timedOut], [0, 0], JSON.stringify(run.failures));
  return { run, stderr };
}

test('sync: the submission lasts until the block, over HTTP and a WebSocket', async (t) => {
  for (const url of [slow.url, slow.url.replace('http', 'ws')]) {
    const { run, stderr } = await exactRun(t, slow, url, '--inclusion sync --in-flight 2 --confirmations 1', 10);
    assert.equal(stderr, '');
    const { submit, queued } = run.latency.stages;
    assert.ok(submit.p90Us > 50_000, `${submit.p90Us} us: many answers waited for a block`);
    assert.ok(submit.sumUs > queued.sumUs);
    assert.deepEqual(run.environment.inclusion, { name: 'sync', why: 'asked for with --inclusion' });
    assert.equal(run.generator.resubmissions.repeated, 0);
  }
});

test('several endpoints, one of them over HTTP: heads are not all pushed, and that is what is said', async (t) => {
  const ws = chain.url.replace('http', 'ws');
  for (const [first, second] of [
    [chain.url, ws],
    [ws, chain.url],
  ]) {
    const { run } = await exactRun(t, chain, first, `--rpc ${second}`, 4);
    const { name, why } = run.environment.inclusion;
    assert.deepEqual([name, run.generator.headSource], ['blocks', 'poll']);
    assert.equal(why, `the cheapest that all endpoints support; ${chain.url}: eth_subscribe needs a ws:// URL`);
  }
});

test('a gateway that keeps to itself what is not needed is used; what it refuses later is done without', async (t) => {
  let asked = 0;
  const url = await startPoorEndpoint({
    // What is asked before the load is among them.
    isRefused: (method) => method === 'eth_sendRawTransactionSync' && (asked += 1) > 8,
  });
  const { run, stderr } = await exactRun(t, instant, url, '--workers 2 --inclusion sync --iterations 60', 6);
  const warning = /no longer accepts eth_sendRawTransactionSync \(Method not found\): transactions are sent by/;
  assert.equal(stderr.split('\n').filter((line) => warning.test(line)).length, 1, stderr);
  assert.ok(asked > 8 && run.counts.verified > 8);
  assert.match(run.warnings.join(), warning);
});

test('sync with workers and too few connections: said, and nothing is lost', async (t) => {
  const words = '--workers 2 --connections 20 --inclusion sync';
  const { stderr } = await exactRun(t, chain, chain.url, words, 20);
  const says =
    /^WARN: --inclusion sync: .* 20 operations at once leave none of 20 .*: give more --connections, or a ws:\/\/ URL\n$/;
  assert.match(stderr, says);
});

for (const [asked, lacks, words] of /** @type {Array<[string, Parameters<typeof startPoorEndpoint>[0], RegExp]>} */ ([
  [
    'heads',
    {},
    /^stress: --inclusion heads cannot be used: .*: eth_subscribe needs a ws:\/\/ URL; use --inclusion auto\n$/,
  ],
  [
    'sync',
    { isRefused: (method) => method === 'eth_sendRawTransactionSync' },
    /^stress: --inclusion sync cannot be used: .*: Method not found \(-32601\); use --inclusion auto\n$/,
  ],
  [
    'auto',
    { isListing: false },
    /^stress: .*: eth_getBlockByNumber: transactions is not there; a list of hashes is expected$/m,
  ],
])) {
  test(`--inclusion ${asked}, which the endpoint cannot do: refused in a line, before anything is spent`, async () => {
    const url = await startPoorEndpoint(lacks);
    const nonce = () =>
      instant.rpc('eth_getTransactionCount', ['0x70997970C51812dc3A010C7d01b50e0d17dc79C8', 'pending']);
    const before = await nonce();
    const { stderr } = await exited(69, ['-t', '1', '-o', '1', '-d', '1s', '--rpc', url, '--inclusion', asked]);
    assert.match(stderr, words);
    assert.equal(await nonce(), before);
  });
}
