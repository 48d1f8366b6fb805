import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Transaction } from 'ethers';
import fc from 'fast-check';
import { createFees, readFees } from '../../../src/chain/fees.js';
import { Wallet, createSigner } from '../../../src/chain/keys.js';
import { toHex } from '../../../src/chain/answers.js';
import { NonceTakenError, estimateGas, findMinedTransaction, sendAll } from '../../../src/chain/send.js';
import { SetUpCosts } from '../../../src/core/costs.js';
import {
  InterruptedError,
  ProtocolError,
  RefusedError,
  RpcError,
  TransportError,
  UnavailableError,
} from '../../../src/errors.js';
import { caught } from '../../helpers/caught.js';
import { createFakeClock } from '../../helpers/clock.js';
import { equalBy } from '../../helpers/equal-by.js';
import { fails, fakeRpc } from '../../helpers/fake-rpc.js';
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
  it('finds each, wherever it is, in a logarithmic number of calls', async () => {
    const places = fc
      .nat({ max: 5000 })
      .chain((head) => fc.tuple(fc.constant(head), fc.array(fc.nat({ max: head }), { minLength: 2, maxLength: 5 })));
    await fc.assert(
      fc.asyncProperty(places, fc.nat(), async ([head, unsorted], place) => {
        const [fromBlock, ...minedIn] = unsorted.sort((a, b) => a - b);
        const nonce = place % minedIn.length;
        const rpc = chainWith(head, minedIn);
        const found = await findMinedTransaction(rpc, ADDRESS, nonce, fromBlock);
        assert.deepEqual(found, { hash: hash32(nonce), blockNumber: minedIn[nonce] });
        assert.ok(rpc.count() <= 3 + Math.ceil(Math.log2(head + 1)), `${rpc.count()} calls`);
      }),
      { seed: 3 },
    );
  });

  /** The head, the blocks of nonce 0 and so on, the nonce, and the oldest block with a state. @type {Array<[string, number, number[], number, number, number | null]>} */
  const places = [
    ['the nonce is not used yet', 100, [3, 50], 2, 0, null],
    ['there is one block', 0, [], 0, 0, null],
    ['it was mined where there is a state', 100, [90], 0, 80, 90],
    ['it was mined where there is none', 100, [40], 0, 80, null],
    ['there is no state at all', 100, [90], 0, 1000, null],
  ];
  for (const [name, head, minedIn, nonce, prunedBelow, blockNumber] of places)
    it(name, async () => {
      const found = await findMinedTransaction(chainWith(head, minedIn, prunedBelow), ADDRESS, nonce, 0);
      assert.equal(found?.blockNumber ?? null, blockNumber);
    });

  it('is null where the block is not there', async () => {
    const rpc = fakeRpc({
      ...{ eth_blockNumber: () => '0x64', eth_getBlockByNumber: () => null },
      eth_getTransactionCount: (_, block) => (Number(block) < 90 ? '0x0' : '0x1'),
    });
    assert.equal(await findMinedTransaction(rpc, ADDRESS, 0, 0), null);
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
      eth_getTransactionCount: fails(new TransportError('connection refused', 'refused')),
    });
    await assert.rejects(findMinedTransaction(rpc, ADDRESS, 0, 0), TransportError);
  });
});

it('estimateGas() adds a tenth, rounded up', async () => {
  for (const [estimate, expected] of /** @type {const} */ ([
    ['0x5208', 23_101n],
    ['0xb', 13n],
  ]))
    assert.equal(
      await estimateGas(fakeRpc({ eth_estimateGas: () => estimate }), { from: ADDRESS, data: '0x' }),
      expected,
    );
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

  /** One order, whose submission is answered in turn by an error, or else by its hash. @param {Error[]} errors @param {boolean} [isInPool] */
  function answering(errors, isInPool = false) {
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
      eth_getTransactionByHash: (hash) => (isInPool ? { hash, blockNumber: null } : null),
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
    equalBy(wallets, ({ nonce }) => nonce, [9, 1]);
    assert.deepEqual(progress, [0, 3]);
  });

  /** Answers to one submission after the other, and after how many it is sent. @type {Array<[string, Error[], number]>} */
  const fine = [
    ['nonces that have not arrived', [refused('nonce too high'), refused('nonce too high')], 3],
    ['one that the node has already', [refused('already known')], 1],
    ['nonsense', [new ProtocolError('no JSON')], 2],
    ['a lost answer, then a used nonce: it is ours', [noAnswer(), nonceTooLow(), nonceTooLow()], 2],
    ['a pool without the state of the last block', [refused('insufficient funds'), refused('insufficient funds')], 3],
  ];
  for (const [name, errors, times] of fine)
    it(`is sent: ${name}`, async () => {
      const { clock, sender, orders, sent, wallets } = answering([...errors], name.startsWith('a lost answer'));
      const done = sendAll(sender, orders);
      await clock.advance(1000);
      assert.deepEqual([(await done).length, sent.length, wallets[0].nonce], [1, times, 1]);
      assert.equal(new Set(sent.map(([, raw]) => raw)).size, 1, 'the same bytes');
    });

  /** The answer to every submission, the times of it, and how long it is tried in milliseconds. @type {Array<[string, (words: string) => Error, number, number]>} */
  const hopeless = [
    ['no answer in time', noAnswer, 60, 5000],
    ['insufficient funds', refused, 60, 7000],
    ['intrinsic gas too low', refused, 1, 0],
  ];
  for (const [words, makeError, most, mostMs] of hopeless)
    it(`is given up: ${words}`, async () => {
      const { clock, sender, orders, sent } = answering(Array.from({ length: 99 }, () => makeError(words)));
      const failed = caught(() => sendAll(sender, orders));
      for (let seconds = 0; seconds < 40; seconds += 1) await clock.advance(1000);
      assert.match((await failed).message, new RegExp(words));
      assert.ok(sent.length <= most && (most === 1 || sent.length > 5), String(sent.length));
      assert.ok(sent[sent.length - 1][0] <= mostMs, String(sent[sent.length - 1][0]));
    });

  it('a replacement that --max-spend does not allow leaves the first transaction waiting', async () => {
    const { clock, sender, orders } = setting({
      ...UNMINED,
      eth_getTransactionByHash: (hash) => ({ hash, blockNumber: null }),
    });
    let reserved = 0;
    const reserve = (/** @type {unknown[]} */ { length }) => {
      if ((reserved += 1) > 1) throw new RefusedError('no money');
      return length;
    };
    const costs = { reserve, spend: () => {}, release: () => {} };
    const failed = caught(() => sendAll({ ...sender, timeoutMs: 60_000, costs }, orders.slice(0, 1)));
    await clock.advance(80_000);
    assert.match((await failed).message, /in no block after 60 s/);
    assert.ok(reserved > 1, 'a replacement was tried');
  });

  /** Whether it may have arrived. @type {Array<[string, boolean]>} */
  const unpaid = [
    ['replacement transaction underpriced', false],
    ['transaction gas price below minimum: gas tip cap 1, minimum needed 3000000000000', false],
    ['intrinsic gas too low', true],
  ];
  for (const [words, isReserved] of unpaid)
    it(`the fee of what the node has not taken is not reserved any more: ${words}`, async () => {
      const { clock, sender, orders } = answering(Array.from({ length: 99 }, () => refused(words)));
      const costs = new SetUpCosts(10n ** 18n);
      const failed = caught(() => sendAll({ ...sender, costs }, orders));
      for (let seconds = 0; seconds < 20; seconds += 1) await clock.advance(1000);
      assert.ok((await failed) instanceof Error);
      assert.equal(costs.openWei > 0n, isReserved);
    });

  it('names wallet and nonce if another sender used the nonce', async () => {
    const { clock, sender, orders, wallets } = setting({
      eth_sendRawTransaction: fails(nonceTooLow()),
      eth_getTransactionByHash: () => null,
    });
    const failed = caught(() => sendAll(sender, orders.slice(1)));
    // It may have been passed on all the same.
    await clock.advance(6000);
    const error = await failed;
    assert.ok(error instanceof NonceTakenError);
    assert.equal(error.wallet, wallets[1]);
    assert.equal(error.nonce, 0);
    assert.match(error.message, /^wallet 2 \(0x.*\): the node does not take nonce 0: nonce too low/);
  });

  /** The pool drops a transaction silently, and then refuses its nonce as used: whether its receipt comes. @type {Array<[string, boolean, number]>} */
  const dropped = [
    ['another sender has used the nonce: known at the second look', false, 60_000],
    ['another sender has used the nonce: known at the deadline', false, 1000],
    ['at the first look it may still be ours', true, 60_000],
  ];
  for (const [name, hasReceipt, timeoutMs] of dropped)
    it(name, async () => {
      let sent = 0;
      const { clock, sender, orders, wallets } = setting({
        eth_sendRawTransaction: () => {
          if ((sent += 1) > 1) throw nonceTooLow();
          return '0x';
        },
        eth_getTransactionByHash: () => null,
        eth_getTransactionReceipt: (hash) => (hasReceipt && sent > 1 ? receipt(hash) : null),
      });
      const end = sendAll({ ...sender, timeoutMs }, orders.slice(1)).catch((error) => error);
      await clock.advance(hasReceipt ? 4500 : 8000);
      const found = await end;
      if (hasReceipt) return assert.deepEqual([found.length, sent], [1, 2]);
      assert.ok(found instanceof NonceTakenError, String(found));
      assert.deepEqual([found.wallet, found.nonce], [wallets[1], 0]);
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
    assert.match(error.message, /^2 of 2 transactions in no block after 5 s \(the first: 0x[0-9a-f]{64}\)/);
    assert.ok(rpc.count('eth_getTransactionCount') <= 2 * 20, String(rpc.count('eth_getTransactionCount')));
    assert.equal(rpc.count('eth_getTransactionReceipt'), 0, 'the nonces are not used yet');
  });

  it('the tip of what was refused is raised at the price of --max-fee, where there is no room for an eighth', async () => {
    const { clock, sender, orders, sent } = answering([
      refused('transaction gas price below minimum: gas tip cap 1, minimum needed 3'),
    ]);
    const fees = createFees({ baseFeeWei: 1n, tipWei: 1n, legacy: false, maxFeeWei: 5n });
    const done = sendAll({ ...sender, fees }, orders);
    await clock.advance(1000);
    const offers = sent.map(([, raw]) => Transaction.from(raw));
    equalBy(offers, ({ maxFeePerGas, maxPriorityFeePerGas }) => `${maxFeePerGas}/${maxPriorityFeePerGas}`, [
      '5/1',
      '5/3',
    ]);
    assert.equal((await done).length, 1);
  });

  it('says of blocks that leave it out what would permit a higher price', async () => {
    let head = 0;
    const { clock, sender, orders } = setting({
      ...UNMINED,
      eth_blockNumber: () => toHex((head += 1)),
      eth_getTransactionByHash: (hash) => ({ hash, blockNumber: null }),
      eth_getBalance: () => toHex(10n ** 18n),
      eth_maxPriorityFeePerGas: () => '0x1',
      eth_getBlockByNumber: (number) => ({
        ...{ number, hash: hash32(number), timestamp: '0x1', gasLimit: '0x1c9c380', gasUsed: '0x0' },
        ...{ baseFeePerGas: '0x1', transactions: [] },
      }),
    });
    const rpc = fakeRpc({ eth_gasPrice: () => '0x2' });
    const asked = { gasPriceWei: null, tipWei: 1n, maxFeeWei: null, legacy: false, isGuarded: false };
    const fees = await readFees(rpc, 1n, asked);
    const failed = caught(() => sendAll({ ...sender, fees, timeoutMs: 40_000 }, orders));
    for (let seconds = 0; seconds < 45; seconds += 1) await clock.advance(1000);
    assert.match((await failed).message, /blocks leave it out .*; --tip is never raised by itself: give --tip PRICE/);
  });

  it('ends when it is interrupted', async () => {
    const { clock, controller, sender, orders } = setting(UNMINED);
    const failed = caught(() => sendAll(sender, orders));
    await clock.advance(100);
    controller.abort();
    assert.ok((await failed) instanceof InterruptedError);
    assert.equal(clock.pending(), 0);
  });

  it('nothing is sent again once it is interrupted', async () => {
    const { clock, controller, sender, orders, sent } = answering(Array.from({ length: 9 }, noAnswer));
    const failed = caught(() => sendAll(sender, orders));
    await clock.advance(60);
    assert.equal(sent.length, 2);
    controller.abort();
    await clock.settle();
    assert.ok((await failed) instanceof InterruptedError);
    assert.deepEqual([sent.length, clock.pending()], [2, 0]);
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
