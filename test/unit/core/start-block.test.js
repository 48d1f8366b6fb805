import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { NonceTakenError } from '../../../src/chain/send.js';
import { assertSameChain, confirmSetUp, proveForeignSender, startBlockOf } from '../../../src/core/setup.js';
import { ForeignSenderError, RpcError, TransportError, UnavailableError } from '../../../src/errors.js';
import { createFakeClock } from '../../helpers/clock.js';
import { fakeRpc } from '../../helpers/fake-rpc.js';
import { addressOf, hash32 } from '../../helpers/samples.js';

const ADDRESS = addressOf(1);

/** A chain with a block per second; the set-up ended at block 100. */
function site({ nonce = 3 } = {}) {
  const clock = createFakeClock();
  const startUs = clock.nowUs();
  const head = () => 100 + Math.floor((clock.nowUs() - startUs) / 1e6);
  /** @param {string} which */
  const block = (which) => {
    const number = which === 'latest' ? head() : Number(which);
    return { number: `0x${number.toString(16)}`, hash: hash32(number), baseFeePerGas: `0x${number.toString(16)}` };
  };
  const rpc = fakeRpc({ eth_getBlockByNumber: block, eth_getTransactionCount: () => '0x3' });
  /** @type {unknown[]} */
  const fees = [];
  const { signal } = new AbortController();
  const ready = /** @type {any} */ ({
    wallets: [{ index: 7, address: ADDRESS, nonce }],
    sender: { rpc, clock, signal, fees: { observe: (/** @type {bigint} */ fee) => fees.push(fee) } },
  });
  return { clock, head, rpc, ready, fees };
}

describe('confirmSetUp() and startBlockOf()', () => {
  it('without confirmations: the latest block, without a wait', async () => {
    const { clock, rpc, ready, fees } = site();
    const confirmations = 0;
    assert.equal(await confirmSetUp(ready, confirmations), 0);
    assert.equal(rpc.count(), 0);
    await clock.advance(30_000);
    const { headAtUs, ...start } = await startBlockOf(ready, confirmations, 0);
    assert.ok(Number(headAtUs) <= clock.nowUs());
    assert.deepEqual(start, { startBlock: 130, startHash: hash32(130), periodUs: null });
    assert.deepEqual(fees, [130n], 'the fees of now');
  });

  it('with confirmations: waits before the common start, not after it', async () => {
    const { clock, head, ready } = site();
    const confirmations = 6;
    let confirmedAt = 0;
    const confirming = confirmSetUp(ready, confirmations).finally(() => (confirmedAt = head()));
    await clock.advance(10_000);
    const setUpBlock = await confirming;
    assert.deepEqual([setUpBlock, confirmedAt], [100, 106]);
    for (const [waitMs, startBlock] of [
      [0, 104],
      [50_000, 154],
    ]) {
      await clock.advance(waitMs);
      const [before, atUs] = [head(), clock.nowUs()];
      const start = await startBlockOf(ready, confirmations, setUpBlock);
      assert.deepEqual([start.startBlock, start.startHash, before - startBlock], [startBlock, hash32(startBlock), 6]);
      assert.equal(clock.nowUs(), atUs);
    }
  });

  it('waits at most 20 s, and takes no block before the set-up', async () => {
    const { clock, ready } = site();
    const confirmations = 1000;
    const confirming = confirmSetUp(ready, confirmations);
    await clock.advance(21_000);
    const start = await startBlockOf(ready, confirmations, await confirming);
    assert.equal(start.startBlock, 100);
  });

  it('a reorg of the set-up ends the run, also before the common start', async () => {
    const { clock, ready } = site({ nonce: 4 });
    const confirming = confirmSetUp(ready, 2);
    const starting = startBlockOf(ready, 0, 0);
    const settled = Promise.allSettled([confirming, starting]);
    await clock.advance(60_000);
    for (const end of await settled) {
      const { reason } = /** @type {PromiseRejectedResult} */ (end);
      assert.ok(reason instanceof UnavailableError);
      assert.match(reason.message, /^what the set-up sent is no longer on the chain of http:\/\/fake: /);
    }
  });
});

describe('a wallet used since the set-up', () => {
  it('is named with its transaction before the load', async () => {
    const { rpc, ready } = site({ nonce: 2 });
    const transaction = { from: ADDRESS, nonce: '0x2', hash: `0x${'f0'.repeat(32)}` };
    const call = rpc.call;
    rpc.call = async (method, params, ...rest) => {
      if (method === 'eth_blockNumber') return '0x64';
      const answer = await call(method, params, ...rest);
      return params[1] === true ? { ...answer, transactions: [transaction] } : answer;
    };
    await assert.rejects(async () => startBlockOf(ready, 0, 0), {
      name: 'ForeignSenderError',
      message: /^wallets 7 sent a transaction that is not of this run: 0x(f0){32} \(wallet 7, nonce 2\)/,
    });
  });
});

describe('a nonce of the set-up that another sender used, on a node that has dropped the states since', () => {
  /** The node keeps the states of ten blocks. @param {(block: number) => number} nonceAt of the wallet */
  const prove = async (nonceAt) => {
    const clock = createFakeClock();
    const startUs = clock.nowUs();
    const head = () => 400 + Math.floor((clock.nowUs() - startUs) / 1e6);
    const rpc = fakeRpc({
      eth_blockNumber: () => `0x${head().toString(16)}`,
      eth_getTransactionCount: (_, block) => {
        if (Number(block) > head() - 10) return `0x${nonceAt(Number(block)).toString(16)}`;
        throw new RpcError('eth_getTransactionCount', -32000, 'missing trie node');
      },
      eth_getBlockByNumber: (block) => {
        const nonce = nonceAt(Number(block)) - 1;
        const transaction = { from: ADDRESS, nonce: `0x${nonce.toString(16)}`, hash: `0x${'f0'.repeat(32)}` };
        return { hash: hash32(block), transactions: [transaction] };
      },
    });
    const wallet = /** @type {any} */ ({ index: 21, address: ADDRESS, nonce: 28 });
    const { signal } = new AbortController();
    const error = new NonceTakenError(wallet, 27, '0x2', 'nonce too low');
    const proving = proveForeignSender(error, { rpc, clock, signal, timeoutMs: 60_000 }, [wallet], 100);
    await clock.advance(11_000);
    return proving;
  };

  it('the next transaction of that sender is the proof', async () => {
    const error = await prove((block) => block - 270);
    assert.ok(error instanceof ForeignSenderError);
    assert.match(
      error.message,
      /^wallets 21 sent a transaction that is not of this run: 0x(f0){32} \(wallet 21, nonce 130\)/,
    );
  });

  it('no proof: the node may have told an old nonce before, and no transaction follows', async () => {
    assert.equal(await prove(() => 130), null);
  });
});

describe('assertSameChain()', () => {
  const start = { startBlock: 5, startHash: hash32(5) };
  /** @param {Record<number, string | Error | null>} hashes that are not as they were @param {number} [head] */
  const check = (hashes, head = 400) =>
    assertSameChain(
      fakeRpc({
        eth_blockNumber: () => `0x${head.toString(16)}`,
        eth_getBlockByNumber: (/** @type {string} */ which) => {
          const number = Number(which);
          const hash = number in hashes ? hashes[number] : hash32(number);
          if (hash instanceof Error) throw hash;
          return hash === null || number > head ? null : { number: which, hash };
        },
      }),
      start,
    );

  it('accepts the same start block, and a node with pruned blocks', async () => {
    const pruned = new RpcError('eth_getBlockByNumber', 4444, 'pruned history unavailable');
    for (const answer of [hash32(5), null, pruned]) await check({ 5: answer });
  });

  it('rejects another start block or a head below it; an endpoint without a response is no other chain', async () => {
    const words = /^UnavailableError: http:\/\/fake does not have the block 5 at which the load began/;
    await assert.rejects(check({ 5: hash32('other') }), words);
    await assert.rejects(check({}, 4), words);
    await assert.rejects(check({ 5: new TransportError('connection refused', 'refused') }), /connection refused/);
  });
});
