/** Faults that pass, where nothing is measured: in the set-up, in the drain, in the audit; and reorgs that touch much. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { startAnvil } from '../helpers/anvil.js';
import { readJson, runStress, spawnStress } from '../helpers/cli.js';
import { HANG_UP, serve } from '../helpers/endpoint.js';
import { assertRunFile } from '../helpers/run-file.js';
import { temporaryFolder } from '../helpers/temporary.js';

/**
 * @import { Answer } from '../helpers/endpoint.js'
 * @import { TestContext } from 'node:test'
 */

const BUSY = { status: 429, headers: { 'retry-after': '1' }, body: 'too many requests' };

/** @param {string} body @param {string} message @param {number} code */
function refusal(body, message, code = -32000) {
  const { id } = JSON.parse(body);
  return { body: JSON.stringify({ jsonrpc: '2.0', id, error: { code, message } }) };
}

/**
 * A run before a chain of its own, behind an endpoint that spoils what matches for the first times.
 * @param {TestContext} t
 * @param {(body: string) => boolean} matches
 * @param {(body: string) => Answer | typeof HANG_UP} spoil
 * @param {number} times
 */
async function spoiled(t, matches, spoil, times) {
  const chain = await startAnvil({ args: ['--block-time', '0.1'] });
  t.after(chain.stop);
  let spoilt = 0;
  const { url } = await serve(async (body) => {
    if (spoilt < times && matches(body)) {
      spoilt += 1;
      return /** @type {any} */ (spoil(body));
    }
    const headers = { 'content-type': 'application/json' };
    return { body: await (await fetch(chain.url, { method: 'POST', headers, body })).text() };
  });
  const out = `${temporaryFolder(t)}/run.json`;
  const { code, stderr } = await runStress(['-t', '5', '-o', '0', '-d', '300ms', '--rpc', url, '--out', out]);
  assert.ok(spoilt === times, `the fault happened ${spoilt} times of ${times}: ${stderr}`);
  assert.equal(code, 0, stderr);
  assert.equal(stderr, '');
  const run = readJson(out);
  assertRunFile(run);
  assert.equal(run.audit.exact, true);
  assert.equal(run.counts.verified, run.counts.started);
}

describe('the set-up outlives', { concurrency: 2 }, () => {
  for (const method of ['eth_getBlockByNumber', 'eth_estimateGas', 'eth_call', 'eth_getTransactionReceipt']) {
    test(`a 429 to ${method}`, (t) =>
      spoiled(
        t,
        (body) => body.includes(`"${method}"`),
        () => BUSY,
        1,
      ));
  }
  const isSubmission = (/** @type {string} */ body) => body.includes('"eth_sendRawTransaction"');
  test('a 429 to submissions', (t) => spoiled(t, isSubmission, () => BUSY, 3));
  test('submissions whose connection is lost', (t) => spoiled(t, isSubmission, () => HANG_UP, 3));
  test('a full pool', (t) => spoiled(t, isSubmission, (body) => refusal(body, 'txpool is full'), 3));
  test('a limit that is exceeded', (t) =>
    spoiled(t, isSubmission, (body) => refusal(body, 'limit exceeded', -32005), 2));
});

describe('the audit outlives', { concurrency: 2 }, () => {
  // Only the audit reads as of a block hash.
  const isAudit = (/** @type {string} */ body) => body.includes('blockHash');
  test('a 429', (t) => spoiled(t, isAudit, () => BUSY, 1));
  test('a gateway without a node', (t) => spoiled(t, isAudit, () => ({ status: 503, body: '' }), 2));
  test('lost connections', (t) => spoiled(t, isAudit, () => HANG_UP, 5));
});

describe('a reorg', () => {
  test('of blocks that hold thousands of operations: each is sent again a few times at most, and the run goes on', async (t) => {
    const chain = await startAnvil({ args: ['--block-time', '0.4'] });
    t.after(chain.stop);
    const out = `${temporaryFolder(t)}/run.json`;
    const args = ['-t', '5', '-o', '0', '-d', '100s', '--interval', '500ms', '--in-flight', '100', '--rpc', chain.url];
    const stress = spawnStress([...args, '--out', out]);
    await stress.waitFor(/^ +\d+\.\d s +[\d,]+ +\d,\d{3}/m);
    await chain.rpc('anvil_reorg', [3, []]);
    await stress.waitFor(/reorg/);
    // It goes on: the first of these intervals may have begun before the reorg.
    for (let i = 0; i < 2; i += 1) await stress.waitFor(/^ +\d+\.\d s +[\d,]+ +[\d,]+ +[1-9]/m, 'now');
    stress.child.kill('SIGTERM');
    const { code, stderr } = await stress.done;
    const run = readJson(out);
    assert.equal(code, 143, stderr);
    assertRunFile(run);
    const { count, operations } = run.reorgs;
    assert.ok(count === 1 && operations > 100, `${count} reorgs, ${operations} operations`);
    assert.ok(run.generator.rpcCalls.resubmit < 10 * operations, `${run.generator.rpcCalls.resubmit} resubmissions`);
    assert.equal(run.audit.exact, true);
  });

  for (const workers of ['1', '2']) {
    test(`in the drain, with ${workers} threads: nothing is abandoned, the audit is exact`, async (t) => {
      const chain = await startAnvil({ args: ['--block-time', '0.5'] });
      t.after(chain.stop);
      const out = `${temporaryFolder(t)}/run.json`;
      const args = ['-t', '10', '-o', '0', '-d', '2s', '--interval', '1s', '--workers', workers, '--rpc', chain.url];
      const stress = spawnStress([...args, '--out', out]);
      // The line of the last interval is printed when the drain begins.
      await stress.waitFor(/^ +2\.\d s/m);
      await chain.rpc('anvil_reorg', [2, []]);
      const { code, stderr } = await stress.done;
      const run = readJson(out);
      assert.equal(code, 0, stderr);
      assertRunFile(run);
      assert.equal(run.audit.exact, true);
      assert.equal(run.counts.abandoned, 0);
    });
  }
});
