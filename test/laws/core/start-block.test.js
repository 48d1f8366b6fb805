import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { assertSameChain, confirmSetUp, foreignSenderOf, startBlockOf } from '../../../src/core/setup.js';
import { ForeignSenderError, RpcError, TransportError, UnavailableError } from '../../../src/errors.js';
import { toHex } from '../../../src/chain/answers.js';
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
    startS: Math.floor(clock.wallMs() / 1000),
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

describe('nonces that the set-up did not use', () => {
  /**
   * On a node that keeps the states of ten blocks, and makes one a second.
   * @param {(block: number) => number} nonceAt of the wallet
   * @param {{isFunder?: boolean, lateS?: number, hash?: string}} [options] hash: of ours; lateS: the endpoint is so far behind
   */
  const judge = async (nonceAt, { isFunder = false, lateS = 0, hash = '0x2' } = {}) => {
    const clock = createFakeClock();
    const startUs = clock.nowUs();
    const startMs = clock.wallMs();
    const head = () => 400 + Math.floor((clock.nowUs() - startUs) / 1e6);
    const rpc = fakeRpc({
      eth_blockNumber: () => toHex(head()),
      eth_getTransactionCount: (_, at) => {
        const block = at === 'latest' ? head() : Number(at);
        if (block > head() - 10) return toHex(nonceAt(block));
        throw new RpcError('eth_getTransactionCount', -32000, 'missing trie node');
      },
      eth_getBlockByNumber: (block) => {
        const number = Number(block);
        const transaction = { from: ADDRESS, nonce: toHex(nonceAt(number) - 1), hash: `0x${'f0'.repeat(32)}` };
        const timestamp = toHex(Math.floor(startMs / 1000) + number - 400 - lateS);
        return { number: toHex(number), hash: hash32(number), timestamp, transactions: [transaction] };
      },
    });
    const wallet = /** @type {any} */ ({ index: isFunder ? -1 : 21, address: ADDRESS, nonce: 28 });
    const { signal } = new AbortController();
    const taken = {
      used: [wallet],
      nonce: 27,
      hashes: hash === undefined ? [] : [hash],
      words: 'the node does not take nonce 27',
    };
    const judging = foreignSenderOf({ rpc, clock, signal }, taken, Math.floor(clock.wallMs() / 1000));
    await clock.advance(16_000);
    return judging;
  };

  it('another sender is proved by its next transaction, if the node has dropped the states of the first', async () => {
    for (const [options, who, place, remedy] of /** @type {const} */ ([
      [{}, 'wallets 21', 'wallet 21, nonce 130', 'wallets (-o)'],
      [{ isFunder: true }, 'the funder', 'nonce 130', 'funder'],
    ])) {
      const error = await judge((block) => block - 270, options);
      assert.ok(error instanceof ForeignSenderError);
      const [start] = error.message.split('; ');
      assert.equal(
        start,
        `${who} sent a transaction that is not of this run: 0x${'f0'.repeat(32)} (${place}) was mined`,
      );
      assert.ok(error.message.endsWith(`: give each run its own ${remedy}`), error.message);
    }
  });

  it('a run that ended before accuses nobody, also if the endpoint lagged for four seconds', async () => {
    for (const nonceAt of [() => 130, (/** @type {number} */ block) => (block < 404 ? 28 : 130)]) {
      const error = await judge(nonceAt, { lateS: 10 });
      assert.ok(error instanceof UnavailableError);
      assert.match(error.message, /^the node does not take nonce 27; .* may have sent it: start the run again$/);
    }
  });

  it('nor one that is still behind after that', async () => {
    assert.ok((await judge((block) => block - 270, { lateS: 30 })) instanceof UnavailableError);
  });

  it('transactions of the set-up that are still to come are no evidence', async () => {
    const hash = `0x${'f0'.repeat(32)}`;
    assert.ok((await judge((block) => Math.min(28, block - 380), { hash })) instanceof UnavailableError);
  });

  it('an interrupt ends the wait for a proof', async () => {
    const { ready, clock } = site({ nonce: 2 });
    const controller = new AbortController();
    ready.sender.signal = controller.signal;
    const starting = assert.rejects(async () => startBlockOf(ready, 0, 0), { name: 'InterruptedError' });
    await clock.advance(1000);
    controller.abort();
    await clock.advance(1000);
    await starting;
  });

  it('are found before the load', async () => {
    const { clock, ready } = site({ nonce: 2 });
    const starting = assert.rejects(async () => startBlockOf(ready, 0, 0), {
      message: /^wallets 7 have sent transactions that are not of this run; .*: start the run again$/,
    });
    await clock.advance(20_000);
    await starting;
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
