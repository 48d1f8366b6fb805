import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { audit } from '../../../src/core/audit.js';
import { auditUnlessAborted } from '../../../src/core/run.js';
import { Stop } from '../../../src/core/stop.js';
import { InternalError, ProtocolError, RpcError, TransportError } from '../../../src/errors.js';
import { begun } from './simulation.js';

/**
 * @import { Check } from '../../../src/contracts/load.d.ts'
 * @import { SimulationOptions } from './simulation.js'
 */

/** Two wallets with one operation each. @param {SimulationOptions} [options] */
async function started(options) {
  const run = await begun({ wallets: 2, inFlight: 1, ...options });
  await run.block();
  assert.equal((await run.count()).counts.verified, 2);
  return run;
}

/** @param {boolean | null} holds @returns {Check} */
const check = (holds) => ({
  name: 'x',
  words: 'what arrived',
  expected: '1',
  found: '2',
  holds,
  why: holds === null ? 'no receipts' : null,
});

describe('the result of an audit', () => {
  const lacking = ['what arrived: no receipts'];
  /** @type {Array<[string, Array<boolean | null>, string, string[]]>} */
  const table = [
    ['exact: all agree and all checks were made', [true], 'exact', []],
    ['incomplete: a check could not be made', [true, null], 'incomplete', lacking],
    ['not exact: a failed check outweighs checks that could not be made', [false, null], 'not_exact', lacking],
  ];
  for (const [name, holds, expected, reasons] of table)
    it(name, async () => {
      const run = await started();
      run.workload.reconcile = async () => holds.map(check);
      const { exact, result, incomplete, mismatchCount } = await run.end();
      assert.deepEqual([exact, result, incomplete, mismatchCount], [expected === 'exact', expected, reasons, 0]);
    });

  for (const error of [
    new RpcError('eth_x', -32000, 'pruned'),
    new TransportError('reset', 'reset'),
    new ProtocolError('?'),
  ])
    it(`incomplete: the workload's comparison ended with ${error.name}`, async () => {
      const run = await started();
      run.workload.reconcile = () => Promise.reject(error);
      const { result, incomplete } = await run.end();
      assert.equal(result, 'incomplete');
      assert.deepEqual(incomplete, [`what the workload compares over all wallets: ${error.message}`]);
    });

  it('incomplete: a pending transaction is no mismatch', async () => {
    const run = await started();
    const { result, incomplete, mismatchCount, pending } = await run.end({ mines: false });
    assert.deepEqual([result, mismatchCount, pending], ['incomplete', 0, 2]);
    assert.match(incomplete?.[0] ?? '', /^the status of 2 operations of wallets 0\.\.1 is unknown: /);
  });

  it('incomplete: a transaction that the node did not know arrives while the chain is read', async () => {
    const run = await begun({
      ...{ wallets: 2, inFlight: 1 },
      fault: (wallet, nonce) => (wallet === 0 && nonce === 1 ? 'lose' : 'pass'),
    });
    await run.block(100);
    const { eth_getBlockByNumber: blockAt } = run.handlers;
    let lateUs = Infinity;
    run.handlers.eth_getBlockByNumber = (block) => {
      if (block === 'latest' && run.clock.nowUs() > lateUs) {
        const { hashes } = /** @type {any} */ (run.accounts[0].slotOf(1)).undecided.operation;
        const from = run.accounts[0].wallet.address;
        run.pool.set('0:1', { hash: hashes[0], from, nonce: 1, price: 1, isReverted: false, blockNumber: null });
        // That of the other wallet stays in the pool.
        const others = [...run.pool].filter(([key]) => key !== '0:1');
        others.forEach(([key]) => run.pool.delete(key));
        run.mine();
        others.forEach(([key, one]) => run.pool.set(key, one));
        lateUs = Infinity;
      }
      return blockAt(block);
    };
    // The time of the audit is over then.
    const drained = async () => void (lateUs = run.clock.nowUs() + 3_000_000);
    const { result, incomplete, mismatchCount, neverSent } = await run.end({ mines: false, drained });
    assert.deepEqual([result, mismatchCount, neverSent], ['incomplete', 0, 1]);
    assert.deepEqual(incomplete?.[1], 'transactions of wallets 0 arrived while the chain was read');
  });

  it('not exact: more was executed than pending transactions explain', async () => {
    const run = await started();
    run.meddle(0);
    run.meddle(0);
    const { result, mismatchCount, mismatches } = await run.end({ mines: false });
    assert.deepEqual([result, mismatchCount, mismatches[0].walletIndex], ['not_exact', 1, 0]);
  });
});

describe('the audit of a workload without a count on the chain', () => {
  it('takes the nonces for effects, less reverted transactions', async () => {
    const run = await started({ fault: (position, nonce) => (position === 0 && nonce === 1 ? 'revert' : 'pass') });
    run.workload.audit = undefined;
    await run.block();
    const { result, effectsOnChain, verified, includedLate, reverted } = await run.end();
    assert.deepEqual([result, reverted], ['exact', 1]);
    assert.equal(effectsOnChain, String(verified + includedLate));
  });

  it('reads them by the number of the block where a node lacks EIP-1898', async () => {
    const run = await started();
    run.workload.audit = undefined;
    const { eth_getTransactionCount: nonceAt } = run.handlers;
    run.handlers.eth_getTransactionCount = (address, block) => {
      if (typeof block === 'object') throw new RpcError('eth_getTransactionCount', -32602, 'invalid argument 1');
      return nonceAt(address, block);
    };
    assert.equal((await run.end()).result, 'exact');
  });
});

describe('an audit that cannot be made', () => {
  /** @param {Error} error of the first thing that is asked */
  async function failing(error) {
    const run = await started();
    const stop = new Stop();
    const rpc = { ...run.rpc, call: () => Promise.reject(error) };
    const { clock, workload, accounts } = run;
    const { ledger } = await run.end();
    const parts = { rpc, clock, workload, accounts, ledger, startBlock: 100, timeoutMs: 1, signal: stop.now };
    const auditing = auditUnlessAborted(() => audit(/** @type {any} */ (parts)), stop);
    await run.advance(1000);
    const audited = await auditing;
    return { ...audited, exitCodes: stop.exitCodes };
  }

  it('pruned state: the reason, and no exit code of its own', async () => {
    for (const error of [
      new RpcError('eth_getBlockByNumber', -32000, 'pruned'),
      new ProtocolError('forbidden', null, 403),
    ])
      assert.deepEqual(await failing(error), { report: null, reason: error.message, exitCodes: [] });
  });

  it('connection lost, or a bug in stress: exit code', async () => {
    assert.deepEqual((await failing(new TransportError('refused', 'refused'))).exitCodes, [69]);
    assert.deepEqual((await failing(new ProtocolError('bad gateway', null, 502))).exitCodes, [69]);
    assert.deepEqual((await failing(new InternalError('a bug'))).exitCodes, [70]);
  });
});
