/** Faults that pass, where nothing is measured: in the set-up, in the drain, in the audit; and reorgs that touch much. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { startAnvil } from '../helpers/anvil.js';
import { readJson, runStress, startStress } from '../helpers/cli.js';
import { HANG_UP, passOn, serve } from '../helpers/endpoint.js';
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

/** @typedef {{what: string, of: (body: string) => boolean, spoil: (body: string) => Answer | typeof HANG_UP, times: number}} Fault */

/** @param {string} method @returns {(body: string) => boolean} */
const to = (method) => (body) => body.includes(`"${method}"`);
const isSubmission = to('eth_sendRawTransaction');
/** Only the audit reads as of a block hash. @param {string} body */
const isAudit = (body) => body.includes('blockHash');

/** The faults of each run, which come in this order where they concern the same requests. @type {Fault[][]} */
const RUNS = [
  [
    ...['eth_getBlockByNumber', 'eth_estimateGas', 'eth_call', 'eth_getTransactionReceipt'].map((method) => {
      return { what: `429 to ${method}`, of: to(method), spoil: () => BUSY, times: 1 };
    }),
    { what: '429 to submissions', of: isSubmission, spoil: () => BUSY, times: 3 },
  ],
  [
    { what: 'submissions whose connection is lost', of: isSubmission, spoil: () => HANG_UP, times: 3 },
    { what: '429 to the audit', of: isAudit, spoil: () => BUSY, times: 1 },
  ],
  [
    { what: 'a full pool', of: isSubmission, spoil: (body) => refusal(body, 'txpool is full'), times: 3 },
    { what: 'an audit by a gateway without a node', of: isAudit, spoil: () => ({ status: 503, body: '' }), times: 2 },
  ],
  [
    { what: 'an exceeded limit', of: isSubmission, spoil: (body) => refusal(body, 'limit exceeded', -32005), times: 2 },
    { what: 'lost connections in the audit', of: isAudit, spoil: () => HANG_UP, times: 5 },
  ],
];

describe('set-up and audit outlive', { concurrency: 2 }, () => {
  for (const faults of RUNS)
    test(faults.map(({ what }) => what).join(', '), async (t) => {
      const chain = await startAnvil({ args: ['--block-time', '0.1'] });
      t.after(chain.stop);
      const left = new Map(faults.map((fault) => [fault, fault.times]));
      const { url } = await serve(async (body) => {
        const fault = faults.find((one) => Number(left.get(one)) > 0 && one.of(body));
        if (fault !== undefined) {
          left.set(fault, Number(left.get(fault)) - 1);
          return /** @type {any} */ (fault.spoil(body));
        }
        return passOn(chain.url, body);
      });
      const out = `${temporaryFolder(t)}/run.json`;
      const { code, stderr } = await runStress(['-t', '5', '-o', '0', '-d', '300ms', '--rpc', url, '--out', out]);
      for (const [{ what }, times] of left)
        assert.equal(times, 0, `${what}: ${times} times less than planned; ${stderr}`);
      assert.deepEqual([code, stderr], [0, '']);
      const run = readJson(out);
      assertRunFile(run);
      assert.equal(run.audit.exact, true);
      assert.equal(run.counts.verified, run.counts.started);
    });
});

describe('a reorg', () => {
  test('of blocks that hold hundreds of operations: each is sent again a few times at most, and the run goes on', async (t) => {
    const chain = await startAnvil({ args: ['--block-time', '0.4'] });
    t.after(chain.stop);
    const out = `${temporaryFolder(t)}/run.json`;
    const args = ['-t', '5', '-o', '0', '-d', '5m', '--interval', '500ms', '--in-flight', '40', '--rpc', chain.url];
    const stress = startStress([...args, '--out', out], { timeoutMs: 360_000 });
    const headNumber = async () => Number(await chain.rpc('eth_blockNumber'));
    await stress.waitFor(/^ +\d+\.\d s /m);
    const first = await headNumber();
    await stress.waitFor(/^ +\d+\.\d s +[\d,]+ +\d,\d{3}/m);
    // A reorg that replaced the block at which the load began would end the run.
    while ((await headNumber()) < first + 4) await sleep(50);
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
      const stress = startStress([...args, '--out', out]);
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
