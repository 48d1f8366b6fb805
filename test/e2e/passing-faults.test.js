/** Faults that pass, where nothing is measured: in the set-up, in the drain, in the audit; and reorgs that touch much. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { pending, startAnvil, startMinedChain } from '../helpers/anvil.js';
import { HANG_UP, passOn, serve } from '../helpers/endpoint.js';
import { runOf, startOf } from '../helpers/run-of.js';

/**
 * @import { Anvil } from '../helpers/anvil.js'
 * @import { Answer } from '../helpers/endpoint.js'
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
      const { run, stderr } = await runOf(t, '-d 300ms', { chain, rpc: url, threads: 5 });
      for (const [{ what }, times] of left)
        assert.equal(times, 0, `${what}: ${times} times less than planned; ${stderr}`);
      assert.equal(stderr, '');
      assert.deepEqual([run.audit.exact, run.counts.verified], [true, run.counts.started]);
    });
});

/**
 * A reorg while the miner is paused, until all transactions of the removed blocks are back in the pool. anvil never
 * includes some of those that come while it makes a block.
 * @param {Pick<Anvil, 'rpc'>} chain
 * @param {number} depth
 */
async function reorg(chain, depth) {
  /** @type {string[]} */
  const accounts = await chain.rpc('eth_accounts');
  const nonces = () =>
    Promise.all(accounts.map((a) => chain.rpc('eth_getTransactionCount', [a, 'latest']).then(Number)));
  const before = await nonces();
  await chain.rpc('anvil_reorg', [depth, []]);
  await chain.rpc('evm_mine');
  const after = await nonces();
  const areBack = (/** @type {Record<'pending' | 'queued', Record<string, object>>} */ { pending, queued }) =>
    accounts.every((account, i) => {
      const inPool = Object.keys({ ...queued[account.toLowerCase()], ...pending[account.toLowerCase()] }).map(Number);
      return inPool.filter((nonce) => nonce >= after[i] && nonce < before[i]).length === before[i] - after[i];
    });
  while (!areBack(await chain.rpc('txpool_inspect'))) await sleep(20);
}

describe('a reorg', () => {
  test('of blocks that hold hundreds of operations: each is sent again a few times at most, and the run goes on', async (t) => {
    const { anvil: chain, miner } = await startMinedChain(t);
    const stress = startOf(t, '--in-flight 40', { chain, threads: 5, timeoutMs: 360_000 });
    await stress.waitFor(/^ +\d+\.\d s +[\d,]+ +[1-9]/m);
    await miner.pause();
    // A reorg that replaced the block at which the load began would end the run.
    for (let block = 0; block < 4; block += 1) {
      await pending(chain, 200);
      await chain.rpc('evm_mine');
    }
    await pending(chain, 200);
    await reorg(chain, 3);
    miner.resume();
    await stress.waitFor(/reorg/);
    // It goes on: the first of these intervals may have begun before the reorg.
    for (let i = 0; i < 2; i += 1) await stress.waitFor(/^ +\d+\.\d s +[\d,]+ +[\d,]+ +[1-9]/m, 'now');
    stress.child.kill('SIGTERM');
    const { run } = await stress.end(143);
    const { count, operations } = run.reorgs;
    assert.ok(count === 1 && operations > 100, `${count} reorgs, ${operations} operations`);
    assert.ok(run.generator.rpcCalls.resubmit < 10 * operations, `${run.generator.rpcCalls.resubmit} resubmissions`);
    assert.equal(run.audit.exact, true);
  });

  test('in the drain, with 2 threads: nothing is abandoned, the audit is exact', async (t) => {
    const { anvil: chain, miner } = await startMinedChain(t);
    const words = '-d 4s --interval 500ms --workers 2 --drain-timeout 5m';
    const stress = startOf(t, words, { chain, threads: 10 });
    await stress.waitFor(/^ +[1-9]\.\d s +[\d,]+ +[1-9]/m);
    // Without blocks there is a drain.
    await miner.pause();
    await stress.waitFor(/^ +[4-9]\.\d s/m);
    await reorg(chain, 2);
    miner.resume();
    const { run } = await stress.end();
    assert.ok(run.reorgs.operations > 0, 'operations of the run were in the blocks that were removed');
    assert.deepEqual([run.audit.exact, run.counts.abandoned], [true, 0]);
  });
});
