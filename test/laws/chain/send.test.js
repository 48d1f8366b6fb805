import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { createFees } from '../../../src/chain/fees.js';
import { Wallet, createSigner } from '../../../src/chain/keys.js';
import { toHex } from '../../../src/chain/answers.js';
import { NonceTakenError, estimateGas, findMinedTransaction, sendAll } from '../../../src/chain/send.js';
import { InterruptedError, ProtocolError, RpcError, TransportError, UnavailableError } from '../../../src/errors.js';
import { caught } from '../../helpers/caught.js';
import { createFakeClock } from '../../helpers/clock.js';
import { fakeRpc } from '../../helpers/fake-rpc.js';
import { hash32 } from '../../helpers/samples.js';

/** @import { Handlers } from '../../helpers/fake-rpc.js' */

const ADDRESS = '0xAbCdEf0000000000000000000000000000000001';

/** @returns {never} */
function noState() {
  throw new RpcError('eth_getTransactionCount', -32000, 'missing trie node');
}

/**
 * A chain that holds one wallet's transactions.
 * @param {number} head
 * @param {number[]} minedIn block of nonce 0, of nonce 1 and so on
 * @param {number} [prunedBelow] blocks below have no state any more
 */
function chainWith(head, minedIn, prunedBelow = 0) {
  return fakeRpc({
    eth_blockNumber: () => toHex(head),
    eth_getTransactionCount: (_, block) =>
      Number(block) < prunedBelow ? noState() : toHex(minedIn.filter((number) => number <= Number(block)).length),
    eth_getBlockByNumber: (block) => ({
      hash: hash32(block),
      transactions: [
        { hash: hash32(99), from: '0x0000000000000000000000000000000000000002', nonce: '0x0' },
        ...minedIn.flatMap((number, nonce) =>
          number === Number(block) ? [{ hash: hash32(nonce), from: ADDRESS.toLowerCase(), nonce: toHex(nonce) }] : [],
        ),
      ],
    }),
  });
}

describe('findMinedTransaction()', () => {
  it('finds each transaction after the block it is told', async () => {
    const minedIn = [3, 3, 4, 90, 100];
    for (const [nonce, blockNumber] of minedIn.entries()) {
      const rpc = chainWith(100, minedIn);
      assert.deepEqual(await findMinedTransaction(rpc, ADDRESS, nonce, 2), { hash: hash32(nonce), blockNumber });
      assert.ok(rpc.count() <= 2 + Math.ceil(Math.log2(100)), `${rpc.count()} calls`);
    }
  });

  it('finds it wherever it is, in a logarithmic number of calls', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc
          .nat({ max: 5000 })
          .chain((head) => fc.tuple(fc.constant(head), fc.nat({ max: head }), fc.nat({ max: head }))),
        async ([head, a, b]) => {
          const [fromBlock, blockNumber] = [Math.min(a, b), Math.max(a, b)];
          const rpc = chainWith(head, [blockNumber]);
          assert.deepEqual(await findMinedTransaction(rpc, ADDRESS, 0, fromBlock), { hash: hash32(0), blockNumber });
          assert.ok(rpc.count() <= 3 + Math.ceil(Math.log2(head + 1)));
        },
      ),
      { seed: 3 },
    );
  });

  it('is null when the nonce is not used yet', async () => {
    assert.equal(await findMinedTransaction(chainWith(100, [3, 50]), ADDRESS, 2, 0), null);
    assert.equal(await findMinedTransaction(chainWith(0, []), ADDRESS, 0, 0), null);
  });

  it('goes on where old states are gone', async () => {
    // The node has states for blocks 80 and later only.
    assert.deepEqual(await findMinedTransaction(chainWith(100, [90], 80), ADDRESS, 0, 0), {
      hash: hash32(0),
      blockNumber: 90,
    });
    // It was mined where there is no state: the search ends at the oldest one that there is.
    assert.equal(await findMinedTransaction(chainWith(100, [40], 80), ADDRESS, 0, 0), null);
  });

  it('is null where no state at all is left, or no block', async () => {
    assert.equal(await findMinedTransaction(chainWith(100, [90], 1000), ADDRESS, 0, 0), null);
    const rpc = chainWith(100, [90]);
    const withoutBlocks = fakeRpc({
      eth_blockNumber: () => '0x64',
      eth_getTransactionCount: (address, block) => rpc.call('eth_getTransactionCount', [address, block], 'resolve'),
      eth_getBlockByNumber: () => null,
    });
    assert.equal(await findMinedTransaction(withoutBlocks, ADDRESS, 0, 0), null);
  });

  it('a hash that is none does not get further', async () => {
    const evil = { hash: '\u001b[2J', from: ADDRESS, nonce: '0x0' };
    const rpc = fakeRpc({
      eth_blockNumber: () => '0x1',
      eth_getTransactionCount: () => '0x1',
      eth_getBlockByNumber: () => ({ hash: hash32(1), transactions: [evil] }),
    });
    const { message } = await caught(() => findMinedTransaction(rpc, ADDRESS, 0, 0));
    assert.equal(message, 'http://fake: eth_getBlockByNumber: hash is [2J (a string); a hash is expected');
  });

  it('says when the endpoint is gone', async () => {
    const rpc = fakeRpc({
      eth_blockNumber: () => '0x64',
      eth_getTransactionCount: () => {
        throw new TransportError('connection refused', 'refused');
      },
    });
    await assert.rejects(findMinedTransaction(rpc, ADDRESS, 0, 0), TransportError);
  });
});

describe('estimateGas()', () => {
  it('adds a tenth, rounded up', async () => {
    assert.equal(
      await estimateGas(fakeRpc({ eth_estimateGas: () => '0x5208' }), { from: ADDRESS, data: '0x' }),
      23_101n,
    );
    assert.equal(await estimateGas(fakeRpc({ eth_estimateGas: () => '0xb' }), { from: ADDRESS, data: '0x' }), 13n);
  });
});

const signer = await createSigner();

describe('sendAll()', () => {
  /** @param {Handlers} handlers */
  function setting(handlers) {
    // The nonces are used, and the receipts decide.
    const rpc = fakeRpc({ eth_getTransactionCount: () => '0x9', eth_blockNumber: () => '0x1', ...handlers });
    const clock = createFakeClock();
    const controller = new AbortController();
    const fees = createFees({ baseFeeWei: 1n, tipWei: 1n, legacy: false, maxFeeWei: null });
    const sender = { rpc, clock, signer, fees, chainId: 1, timeoutMs: 5000, signal: controller.signal };
    const wallets = [1, 2].map((index) => new Wallet(index, `0x${String(index).repeat(64)}`));
    const orders = wallets.map((wallet) => ({
      wallet,
      to: ADDRESS.toLowerCase(),
      data: '0x',
      value: 1n,
      gasLimit: 21_000n,
    }));
    return { rpc, clock, controller, sender, wallets, orders };
  }

  /** @param {string} hash */
  const receipt = (hash) => ({ transactionHash: hash, status: '0x1', blockNumber: '0x1', contractAddress: null });

  const noAnswer = () => new TransportError('no answer in time', 'timeout');
  const refused = (/** @type {string} */ words) => new RpcError('eth_sendRawTransaction', -32000, words);
  const nonceTooLow = () => refused('nonce too low: next nonce 1, tx nonce 0');
  const UNMINED = { eth_sendRawTransaction: () => '0x', eth_getTransactionCount: () => '0x0' };

  /** One order, whose submission is answered in turn by an error, or else by its hash. @param {Error[]} errors */
  function answering(errors) {
    /** @type {Array<[number, string]>} */
    const sent = [];
    const base = setting({
      eth_sendRawTransaction: (raw) => {
        sent.push([(base.clock.nowUs() - startUs) / 1000, raw]);
        const error = errors.shift();
        if (error !== undefined) throw error;
        return '0x';
      },
      eth_getTransactionReceipt: receipt,
    });
    const startUs = base.clock.nowUs();
    return { ...base, sent, orders: base.orders.slice(0, 1) };
  }

  it('sends each with the next nonce of its wallet, and gives the receipts in order', async () => {
    let asked = 0;
    const { clock, sender, wallets, orders } = setting({
      eth_sendRawTransaction: () => '0x',
      eth_getTransactionReceipt: (hash) => ((asked += 1) > 3 ? receipt(hash) : null),
    });
    wallets[0].nonce = 7;
    /** @type {number[]} */
    const progress = [];
    const sent = sendAll(sender, [...orders, orders[0]], (done) => progress.push(done));
    await clock.advance(100);
    const receipts = await sent;
    assert.equal(new Set(receipts.map(({ hash }) => hash)).size, 3);
    assert.deepEqual(
      wallets.map(({ nonce }) => nonce),
      [9, 1],
    );
    assert.deepEqual(progress, [0, 3]);
  });

  it('sends again what a node refuses until an earlier nonce has arrived', async () => {
    const { clock, sender, orders, sent } = answering([refused('nonce too high'), refused('nonce too high')]);
    const all = sendAll(sender, orders);
    await clock.advance(1000);
    assert.equal((await all).length, 1);
    assert.equal(sent.length, 3);
  });

  it('takes a transaction that the node has already as sent', async () => {
    const { sender, orders } = answering([refused('already known')]);
    assert.equal((await sendAll(sender, orders)).length, 1);
  });

  it('names wallet and nonce if another sender used the nonce', async () => {
    const { sender, orders, wallets } = setting({
      eth_sendRawTransaction: () => {
        throw nonceTooLow();
      },
    });
    const error = await caught(() => sendAll(sender, orders.slice(1)));
    assert.ok(error instanceof NonceTakenError);
    assert.equal(error.wallet, wallets[1]);
    assert.equal(error.nonce, 0);
    assert.match(error.message, /^wallet 2 \(0x.*\): the node does not take nonce 0: nonce too low/);
  });

  for (const [when, timeoutMs] of /** @type {const} */ ([
    ['at the second look', 60_000],
    ['at the deadline', 1000],
  ]))
    it(`names it too, ${when}, if the pool has dropped ours silently, because the nonce was used in a block`, async () => {
      let sent = 0;
      const { clock, sender, orders, wallets } = setting({
        eth_sendRawTransaction: () => {
          if ((sent += 1) > 1) throw nonceTooLow();
          return '0x';
        },
        eth_getTransactionByHash: () => null,
        eth_getTransactionReceipt: () => null,
      });
      const failed = caught(() => sendAll({ ...sender, timeoutMs }, orders.slice(1)));
      await clock.advance(8000);
      const error = await failed;
      assert.ok(error instanceof NonceTakenError, String(error));
      assert.deepEqual([error.wallet, error.nonce], [wallets[1], 0]);
    });

  it("a nonce that is used when ours is not known is not another sender's at the first look", async () => {
    let sent = 0;
    const { clock, sender, orders } = setting({
      eth_sendRawTransaction: () => {
        if ((sent += 1) > 1) throw nonceTooLow();
        return '0x';
      },
      eth_getTransactionByHash: () => null,
      eth_getTransactionReceipt: (hash) => (sent > 1 ? receipt(hash) : null),
    });
    const done = sendAll(sender, orders.slice(1));
    await clock.advance(4500);
    assert.equal((await done).length, 1);
    assert.equal(sent, 2);
  });

  it('asks one by one where the node answers with an error for what is in no block yet', async () => {
    let tries = 0;
    const { clock, sender, orders } = setting({
      eth_sendRawTransaction: () => '0x',
      eth_getTransactionReceipt: (hash) => {
        if ((tries += 1) < 5) throw new RpcError('eth_getTransactionReceipt', -32000, 'cannot query unfinalized data');
        return receipt(hash);
      },
    });
    const sent = sendAll(sender, orders);
    await clock.advance(100);
    assert.equal((await sent).length, 2);
  });

  it('gives up after the time-out, says how many are missing, and asks ever less often', async () => {
    const { rpc, clock, sender, orders } = setting(UNMINED);
    const failed = caught(() => sendAll(sender, orders));
    await clock.advance(6000);
    const error = await failed;
    assert.ok(error instanceof UnavailableError);
    assert.match(error.message, /^2 of 2 set-up transactions are in no block after 5 s \(the first: 0x[0-9a-f]{64}\)/);
    assert.ok(rpc.count('eth_getTransactionCount') <= 2 * 20, String(rpc.count('eth_getTransactionCount')));
    assert.equal(rpc.count('eth_getTransactionReceipt'), 0, 'the nonces are not used yet');
  });

  it('ends when it is interrupted', async () => {
    const { clock, controller, sender, orders } = setting(UNMINED);
    const failed = caught(() => sendAll(sender, orders));
    await clock.advance(100);
    controller.abort();
    assert.ok((await failed) instanceof InterruptedError);
    assert.equal(clock.pending(), 0);
  });

  for (const error of [noAnswer(), new ProtocolError('no JSON')]) {
    it(`after a ${error.name} the same bytes are sent again, ever later`, async () => {
      const { clock, sender, wallets, orders, sent } = answering([error, error, error, error]);
      const done = sendAll(sender, orders);
      await clock.advance(2000);
      assert.equal((await done).length, 1);
      assert.equal(sent.length, 5);
      // Twice as long each time, a random half of it.
      for (const [i, mostMs] of [50, 100, 200, 400].entries()) {
        const pauseMs = sent[i + 1][0] - sent[i][0];
        assert.ok(pauseMs >= mostMs / 2 - 1 && pauseMs <= mostMs + 1, `${pauseMs} ms of ${mostMs}`);
      }
      assert.equal(new Set(sent.map(([, raw]) => raw)).size, 1);
      assert.equal(wallets[0].nonce, 1);
    });
  }

  it('not for longer than half a minute', async () => {
    const { clock, sender, orders, sent } = answering(Array.from({ length: 99 }, noAnswer));
    const failed = caught(() => sendAll(sender, orders));
    for (let seconds = 0; seconds < 40; seconds += 1) await clock.advance(1000);
    assert.ok((await failed) instanceof TransportError);
    assert.ok(sent.length > 5 && sent.length < 60, String(sent.length));
    assert.ok(sent[sent.length - 1][0] <= 30_000);
  });

  it('a transaction that the node refuses is not sent again', async () => {
    const { sender, orders, sent } = answering([refused('intrinsic gas too low')]);
    assert.match((await caught(() => sendAll(sender, orders))).message, /intrinsic gas too low/);
    assert.equal(sent.length, 1);
  });

  it('insufficient funds are tried again for five seconds: the pool may not have the state of the last block yet', async () => {
    const soon = answering([refused('insufficient funds'), refused('insufficient funds')]);
    const done = sendAll(soon.sender, soon.orders);
    await soon.clock.advance(1000);
    assert.equal((await done).length, 1);
    const never = answering(Array.from({ length: 99 }, () => refused('insufficient funds')));
    const failed = caught(() => sendAll(never.sender, never.orders));
    for (let seconds = 0; seconds < 10; seconds += 1) await never.clock.advance(1000);
    assert.match((await failed).message, /insufficient funds/);
    assert.ok(never.sent[never.sent.length - 1][0] <= 7000, String(never.sent[never.sent.length - 1][0]));
  });

  it('a nonce that is used after an answer was lost is ours', async () => {
    for (const words of ['nonce too low', 'replacement transaction underpriced', 'already known']) {
      const { clock, sender, orders, sent } = answering([noAnswer(), refused(words), refused(words)]);
      const done = sendAll(sender, orders);
      await clock.advance(100);
      assert.equal((await done).length, 1, words);
      assert.equal(sent.length, 2);
    }
    const { sender, orders } = answering([nonceTooLow()]);
    assert.ok((await caught(() => sendAll(sender, orders))) instanceof NonceTakenError);
  });

  it('nothing is sent again once it is interrupted', async () => {
    const { clock, controller, sender, orders, sent } = answering(Array.from({ length: 9 }, noAnswer));
    const failed = caught(() => sendAll(sender, orders));
    await clock.advance(60);
    assert.equal(sent.length, 2);
    controller.abort();
    await clock.settle();
    assert.ok((await failed) instanceof TransportError);
    assert.deepEqual([sent.length <= 3, clock.pending()], [true, 0]);
  });

  it('what the pool has dropped is sent again every three seconds, and what it still has is not', async () => {
    /** @type {string[]} */
    const sent = [];
    /** @type {Set<string>} */
    const dropped = new Set();
    let isMined = false;
    const { clock, sender, orders } = setting({
      eth_sendRawTransaction: (raw) => {
        sent.push(raw);
        if (sent.length > 2) throw noAnswer();
        return '0x';
      },
      eth_getTransactionByHash: (hash) => {
        if (dropped.size === 0) dropped.add(hash);
        return dropped.has(hash) ? null : {};
      },
      eth_getTransactionReceipt: (hash) => (isMined ? receipt(hash) : null),
    });
    const done = sendAll({ ...sender, timeoutMs: 60_000 }, orders);
    await clock.advance(2900);
    assert.equal(sent.length, 2);
    await clock.advance(1000);
    assert.deepEqual(sent.slice(2), [sent[0]]);
    await clock.advance(3400);
    assert.deepEqual(sent.slice(2), [sent[0], sent[0]]);
    isMined = true;
    await clock.advance(600);
    assert.equal((await done).length, 2);
  });
});
