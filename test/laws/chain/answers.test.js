import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ask, pendingNonces, transactionOf } from '../../../src/chain/answers.js';
import { ProtocolError, RpcError } from '../../../src/errors.js';
import { caught } from '../../helpers/caught.js';
import { fails, fakeRpc } from '../../helpers/fake-rpc.js';
import { hash32 } from '../../helpers/samples.js';

describe('transactionOf()', () => {
  const asked = (/** @type {unknown} */ answer) =>
    ask(fakeRpc({ eth_getTransactionByHash: () => answer }), transactionOf(hash32('ours')), 'resolve');

  it('has the hash that was asked for, whatever the node prints', async () => {
    for (const hash of [undefined, null, hash32('ours').toUpperCase(), hash32('other')]) {
      const found = await asked({ hash, blockNumber: '0x5' });
      assert.deepEqual([found?.hash, found?.blockNumber], [hash32('ours'), 5]);
    }
  });

  it('an answer that is no object is no transaction that the node has', async () => {
    assert.equal(await asked(null), null);
    for (const answer of ['0x', 'f'.repeat(1e6), 5, true, []])
      assert.ok((await caught(() => asked(answer))) instanceof ProtocolError);
  });
});

describe('pendingNonces()', () => {
  const addresses = Array.from({ length: 1700 }, (_, i) => `0x${String(i).padStart(40, '0')}`);

  it('of many wallets without transactions the last one is seen as well', async () => {
    const rpc = fakeRpc({ eth_getTransactionCount: (address) => (address === addresses[1650] ? '0x2' : '0x0') });
    const nonces = await pendingNonces(rpc, addresses, 'setup');
    assert.deepEqual([nonces.length, nonces[1650], nonces[1649]], [1700, 2, 0]);
  });

  it('a node without the tag is asked no more than once for each wallet of the first part', async () => {
    const refuse = fails(new RpcError('eth_getTransactionCount', -32602, 'pending is not available'));
    const rpc = fakeRpc({ eth_getTransactionCount: refuse });
    assert.deepEqual(new Set(await pendingNonces(rpc, addresses, 'setup')), new Set([0]));
    assert.equal(rpc.count(), 800);
  });
});
