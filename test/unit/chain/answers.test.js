import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ask, transactionOf } from '../../../src/chain/answers.js';
import { ProtocolError } from '../../../src/errors.js';
import { caught } from '../../helpers/caught.js';
import { fakeRpc } from '../../helpers/fake-rpc.js';
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
