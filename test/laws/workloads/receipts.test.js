/** Whether transactions succeeded, by receipts of whole blocks or, where a node has none of these, of single transactions. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ProtocolError, RpcError, TransportError } from '../../../src/errors.js';
import { Receipts, successCheck } from '../../../src/workloads/receipts.js';
import { fakeRpc } from '../../helpers/fake-rpc.js';
import { addressOf, hash32 } from '../../helpers/samples.js';

/** @import { Handlers } from '../../helpers/fake-rpc.js' */

const BLOCK = Object.freeze({ number: 5, hash: hash32('b5') });
const TO = addressOf(1);
const FROM = `0x${'aB'.repeat(20)}`;

/** @param {number} n @param {string} [status] */
const receiptOf = (n, status = '0x1') => {
  return {
    transactionHash: hash32(n),
    blockNumber: '0x5',
    status,
    to: TO,
    contractAddress: null,
    from: FROM,
    gasUsed: '0x5208',
    effectiveGasPrice: '0x1',
  };
};

/** @param {Handlers} handlers */
function reading(handlers) {
  const rpc = fakeRpc(handlers);
  return { rpc, receipts: new Receipts(rpc) };
}

describe('the verdict on a transaction', () => {
  it('one call tells of all transactions of a block', async () => {
    const list = Array.from({ length: 50 }, (_, i) => receiptOf(i, i % 10 === 3 ? '0x0' : '0x1'));
    const { rpc, receipts } = reading({ eth_getBlockReceipts: () => list });
    const verdicts = await Promise.all(list.map((_, i) => receipts.verdict(hash32(i), BLOCK, null)));
    assert.equal(rpc.count(), 1);
    assert.deepEqual(rpc.calls[0], { method: 'eth_getBlockReceipts', params: ['0x5'], purpose: 'readback' });
    assert.deepEqual(verdicts[0], { state: 'ok', effect: hash32(0), target: TO, gasUsed: 21_000 });
    assert.equal(verdicts.filter(({ state }) => state === 'missing').length, 5);
    assert.equal((await receipts.verdict(hash32(13), BLOCK, 'ours')).target, 'ours');
    assert.equal(rpc.count(), 1, 'it is kept');
  });

  it('a workload may name the reason of a revert by the gas that was used', async () => {
    const list = [1, 2].map((n) => ({ ...receiptOf(n, n === 1 ? '0x0' : '0x1'), gasUsed: '0x64' }));
    const { receipts } = reading({ eth_getBlockReceipts: () => list });
    /** @type {(receipt: {gasUsed: string}) => 'slippage' | 'reverted'} */
    const codeOf = ({ gasUsed }) => (Number(gasUsed) < 200 ? 'slippage' : 'reverted');
    const found = await receipts.verdict(hash32(1), BLOCK, null, codeOf);
    assert.deepEqual([found.state, found.code], ['missing', 'slippage']);
    assert.equal((await receipts.verdict(hash32(1), BLOCK, null)).code, undefined);
    assert.equal((await receipts.verdict(hash32(2), BLOCK, null, codeOf)).code, undefined);
  });

  for (const [name, error] of /** @type {Array<[string, Error]>} */ ([
    ['does not exist', new RpcError('eth_getBlockReceipts', -32601, 'the method does not exist')],
    ['is refused with an HTML page', new ProtocolError('no JSON', undefined, 403)],
    ['has an answer that is too large', new TransportError('too large', 'body_too_large')],
  ]))
    it(`where the block's call ${name}, receipts are read one by one from then on`, async () => {
      const { rpc, receipts } = reading({
        eth_getBlockReceipts: () => {
          throw error;
        },
        eth_getTransactionReceipt: (hash) => receiptOf(Number(hash), Number(hash) === 2 ? '0x0' : '0x1'),
      });
      assert.equal((await receipts.verdict(hash32(1), BLOCK, null)).state, 'ok');
      assert.equal((await receipts.verdict(hash32(2), BLOCK, null)).state, 'missing');
      assert.equal(rpc.count('eth_getBlockReceipts'), 1);
    });

  it('an answer that is no list of receipts is not believed', async () => {
    const { receipts } = reading({
      eth_getBlockReceipts: () => ({ 0: receiptOf(1) }),
      eth_getTransactionReceipt: () => receiptOf(1, '0x0'),
    });
    assert.equal((await receipts.verdict(hash32(1), BLOCK, null)).state, 'missing');
  });

  it('a node that does not have the block yet is asked again', async () => {
    /** @type {Array<() => unknown>} */
    const answers = [
      () => null,
      () => [],
      () => {
        throw new RpcError('eth_getBlockReceipts', -32000, 'header not found');
      },
      () => [receiptOf(1)],
    ];
    const { rpc, receipts } = reading({
      eth_getBlockReceipts: () => answers.shift()?.(),
      eth_getTransactionReceipt: () => null,
    });
    for (const state of ['behind', 'behind', 'behind', 'ok'])
      assert.equal((await receipts.verdict(hash32(1), BLOCK, null)).state, state);
    assert.equal(rpc.count('eth_getBlockReceipts'), 4);
  });

  it('a node that is asked too much is not asked for single receipts', async () => {
    const { rpc, receipts } = reading({
      eth_getBlockReceipts: () => {
        throw new RpcError('eth_getBlockReceipts', -32005, 'limit exceeded');
      },
    });
    await assert.rejects(async () => receipts.verdict(hash32(1), BLOCK, null), { rpcMessage: 'limit exceeded' });
    assert.equal(rpc.count(), 1);
  });

  it('a receipt that the answer for the block lacks is read by itself', async () => {
    for (const answer of [null, [], [receiptOf(2)]]) {
      const { rpc, receipts } = reading({
        eth_getBlockReceipts: () => answer,
        eth_getTransactionReceipt: (hash) => receiptOf(Number(hash)),
      });
      assert.equal((await receipts.verdict(hash32(1), BLOCK, null)).state, 'ok');
      assert.equal(rpc.count('eth_getTransactionReceipt'), 1);
    }
  });

  it('another block with the same number is read anew, and a few blocks are kept', async () => {
    const { rpc, receipts } = reading({ eth_getBlockReceipts: (number) => [{ ...receiptOf(1), blockNumber: number }] });
    await receipts.verdict(hash32(1), BLOCK, null);
    await receipts.verdict(hash32(1), { number: 5, hash: hash32('other') }, null);
    assert.equal(rpc.count(), 2);
    for (let number = 6; number < 20; number += 1) await receipts.verdict(hash32(1), { number }, null);
    await receipts.verdict(hash32(1), { number: 19 }, null);
    assert.equal(rpc.count(), 16);
    await receipts.verdict(hash32(1), BLOCK, null);
    assert.equal(rpc.count(), 17, 'it was forgotten');
  });
});

describe('what became of all transactions of a run', () => {
  const snapshot = { startBlock: 100, blockNumber: 120, startNonces: [7], nonces: [27] };

  it('nonces follow the order of the blocks, and strangers are left out', async () => {
    const { rpc, receipts } = reading({
      eth_getBlockReceipts: (number) => [
        { ...receiptOf(0), from: addressOf(2) },
        { ...receiptOf(1, Number(number) === 109 ? '0x0' : '0x1'), from: FROM.toLowerCase() },
      ],
    });
    /** @type {number[]} */
    const nonces = [];
    const { signal } = new AbortController();
    const outcomes = await receipts.ofRun([FROM], snapshot, signal, (_, nonce, { status }) => {
      if (status === '0x0') nonces.push(nonce);
    });
    assert.deepEqual(outcomes, { succeeded: [19], reverted: [1] });
    assert.deepEqual(nonces, [15]);
    assert.deepEqual([rpc.count('eth_getBlockReceipts'), rpc.count()], [20, 40], 'receipts and hashes of each block');
  });
});

describe('as many succeeded as the run has counted', () => {
  /** @param {number[]} executed @param {number[]} undecided @param {number[]} succeeded */
  const holds = (executed, undecided, succeeded) =>
    successCheck(['0xa', '0xb'], { executed, undecided }, { succeeded, reverted: [0, 0] }).holds;

  it('wallet by wallet', () => {
    assert.equal(holds([3, 4], [0, 0], [3, 4]), true);
    assert.equal(holds([3, 4], [0, 0], [4, 3]), false, 'although the sums agree');
    const check = successCheck(
      ['0xa', '0xb'],
      { executed: [3, 4], undecided: [0, 0] },
      { succeeded: [3, 5], reverted: [0, 0] },
    );
    assert.equal(check.found, '8 (0xb has 5, not 4)');
  });

  it('what is not decided yet is neither proof nor agreement', () => {
    assert.equal(holds([3, 4], [0, 1], [3, 5]), null);
    assert.equal(holds([3, 4], [0, 1], [3, 4]), null);
    assert.equal(holds([3, 4], [0, 1], [3, 6]), false);
    assert.equal(holds([3, 4], [0, 1], [2, 4]), false);
  });
});
