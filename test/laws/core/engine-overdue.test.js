/** Accepted transactions that are not included in time: what an engine sends again, and when. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ProtocolError, RpcError, TransportError } from '../../../src/errors.js';
import { equalBy } from '../../helpers/equal-by.js';
import { fails } from '../../helpers/fake-rpc.js';
import { hash32 } from '../../helpers/samples.js';
import { begun as begin } from './simulation.js';

/** @import { SimulationOptions } from './simulation.js' */

/**
 * Blocks come every 400 ms: an operation is overdue after two seconds.
 * @param {SimulationOptions & {latestIsPending?: boolean}} [options] latestIsPending: the node counts nothing as executable
 */
async function begun({ latestIsPending = false, ...options } = {}) {
  const run = await begin({ inFlight: 1, txTimeoutMs: 600_000, blockMs: 400, ...options });
  const { eth_getTransactionCount: count } = run.handlers;
  if (latestIsPending) run.handlers.eth_getTransactionCount = (address) => count(address, 'latest');
  const again = () =>
    run.rpc.calls
      .filter(({ method, purpose }) => method === 'eth_sendRawTransaction' && purpose === 'resubmit')
      .map(({ params: [raw] }) => JSON.parse(raw));
  /** Blocks of others, without ours. @param {number} seconds @param {number} [perSecond] */
  const othersMine = async (seconds, perSecond = 1) => {
    for (let i = 0; i < seconds; i += 1) {
      for (let n = 0; n < perSecond; n += 1) run.see(run.mine(0));
      await run.advance(1000);
    }
  };
  const resubmissions = async () => {
    const { lostMs, leftOutMs, ...counts } = (await run.count()).resubmissions;
    // An operation that is not counted did not wait.
    assert.equal(lostMs > 0, counts.lost > 0);
    if (counts.leftOut > 0) assert.ok(leftOutMs > 0);
    return counts;
  };
  return { ...run, again, othersMine, resubmissions };
}

const NONE = Object.freeze({ repeated: 0, refused: 0, rebroadcast: 0, lost: 0, replaced: 0, leftOut: 0 });

/** @param {string} words */
const refusal = (words) => new RpcError('eth_sendRawTransaction', -32000, words);

/** @param {number | bigint} number */
const hexOf = (number) => `0x${number.toString(16)}`;

/** Fees that may be raised so many times. @param {{isTooLow?: boolean, mostRaises?: number}} options */
function risingFees({ isTooLow = true, mostRaises = Infinity }) {
  let raises = 0;
  return {
    current: () => ({ gasPriceWei: 1n }),
    isTooLow: () => isTooLow,
    mostWei: () => 100n,
    replacementFee: () => ((raises += 1) > mostRaises ? null : { gasPriceWei: BigInt(1 + raises) }),
  };
}

describe('a transaction that the node has lost', () => {
  it('is sent again, and soon again while it is unknown', async () => {
    const run = await begun();
    run.handlers.eth_sendRawTransaction = (raw) => JSON.parse(raw).hash;
    run.pool.clear();
    await run.advance(1999);
    assert.equal(run.rpc.count('eth_getTransactionByHash'), 0);
    await run.advance(1);
    assert.equal(run.again().length, 1);
    await run.advance(8000);
    assert.equal(run.again().length, 5, 'every two seconds');
    assert.deepEqual(await run.resubmissions(), { ...NONE, rebroadcast: 5, lost: 5 });
  });

  it('is overdue after five blocks, between one and fifteen seconds', async () => {
    for (const [blockMs, afterMs] of [
      [10, 1000],
      [1000, 5000],
      [3000, 15_000],
      [60_000, 15_000],
    ]) {
      const run = await begun({ blockMs });
      run.pool.clear();
      await run.advance(afterMs - 1);
      assert.equal(run.again().length, 0);
      await run.advance(1);
      assert.equal(run.again().length, 1);
    }
  });

  it('counts for the endpoint that it was sent to last', async () => {
    const run = await begun();
    const { call } = run.rpc;
    run.rpc.call = (method, params, purpose, onSent) => call(method, params, purpose, () => onSent?.(1));
    run.pool.clear();
    await run.advance(2000);
    await run.block();
    assert.equal(run.sampleOf(0, 0)?.endpoint, 1);
  });

  it('at the time limit it is lost; one that the node knows, hides or has not accepted timed out', async () => {
    for (const [what, expected, sendMethod] of /** @type {const} */ ([
      ['drop', 'lost'],
      ['pass', null],
      ['lose', null],
      ['drop', null, 'eth_sendPrivateTransaction'],
    ])) {
      const run = await begun({ txTimeoutMs: 1000, fault: () => what, sendMethod });
      await run.advance(1000);
      const { outcome, code } = run.sampleOf(0, 0) ?? {};
      assert.deepEqual([outcome, code], [expected === null ? 'timed_out' : 'failed', expected], what);
    }
  });

  it('is not counted as lost if the next node knows it', async () => {
    const run = await begun();
    run.handlers.eth_getTransactionByHash = () => null;
    await run.advance(2000);
    run.handlers.eth_sendRawTransaction = fails(new TransportError('no answer', 'timeout'));
    await run.advance(2000);
    assert.deepEqual(await run.resubmissions(), { ...NONE, rebroadcast: 2 });
  });

  it('is replaced if the node says again and again that it has it, and does not show it', async () => {
    const run = await begun({ wallets: 1, fees: risingFees({ isTooLow: false }) });
    run.pool.clear();
    run.handlers.eth_getTransactionByHash = () => null;
    run.handlers.eth_sendRawTransaction = fails(refusal('already known'));
    await run.othersMine(4);
    assert.equal((await run.resubmissions()).replaced, 0);
    await run.othersMine(8);
    assert.ok((await run.resubmissions()).replaced >= 1);
  });

  it('is not counted as lost if the node refused its replacement and knows the first one', async () => {
    let sent = 0;
    const fault = () => ((sent += 1) === 2 ? 'refuse' : 'pass');
    const run = await begun({ wallets: 1, replaceShare: 1, fees: risingFees({ isTooLow: false }), fault });
    await run.advance(2000);
    assert.equal(run.rpc.count('eth_getTransactionByHash'), 2);
    assert.deepEqual(await run.resubmissions(), NONE);
  });

  it('is not counted as lost where a node shows none before its block', async () => {
    const run = await begun({ sendMethod: 'eth_sendPrivateTransaction' });
    run.handlers.eth_getTransactionByHash = () => null;
    run.handlers.eth_sendRawTransaction = (raw) => JSON.parse(raw).hash;
    await run.advance(3000);
    assert.deepEqual(await run.resubmissions(), { ...NONE, rebroadcast: 1 });
  });
});

describe('a transaction that the node knows', () => {
  it('is sent again less often each time while blocks leave it out', async () => {
    const run = await begun();
    const times = [];
    for (let s = 1; s <= 140; s += 1) {
      const before = run.again().length;
      run.mine(0);
      run.mine(0);
      run.see(run.mine(0));
      await run.advance(1000);
      if (run.again().length > before) times.push(s);
    }
    assert.deepEqual(times, [2, 6, 14, 30, 62, 122]);
  });

  it('is sent again after its operation has timed out, which changes nothing in its sample', async () => {
    const run = await begun({ txTimeoutMs: 1500 });
    const { call } = run.rpc;
    run.rpc.call = (method, params, purpose, onSent) => call(method, params, purpose, () => onSent?.(1));
    const received = [];
    run.handlers.eth_sendRawTransaction = (raw) => received.push(raw);
    await run.othersMine(6);
    assert.equal(received.length, 1);
    const { outcome, endpoint } = run.sampleOf(0, 0) ?? {};
    assert.deepEqual([outcome, endpoint], ['timed_out', null]);
  });

  it('stays as it is while no blocks are made', async () => {
    for (const blockMs of [400, 12_000]) {
      const run = await begun({ blockMs });
      await run.othersMine(2);
      await run.advance(120_000);
      assert.ok(run.rpc.count('eth_getTransactionByHash') >= 5, 'it is asked for');
      assert.deepEqual([run.again(), await run.resubmissions()], [[], NONE]);
    }
  });

  it('is replaced if its fee is below that of the newest block', async () => {
    const run = await begun({ fees: risingFees({}) });
    await run.advance(2000);
    equalBy(run.again(), ({ price }) => price, [2]);
    assert.deepEqual(await run.resubmissions(), { ...NONE, replaced: 1 });
    await run.block();
    assert.equal(run.sampleOf(0, 0)?.hash, run.again()[0].hash, 'one operation with two hashes');
    run.mine();
    assert.equal((await run.end()).exact, true);
  });

  it('stays as it is if the fee cannot be raised', async () => {
    const run = await begun({ fees: risingFees({ mostRaises: 0 }) });
    await run.advance(5000);
    assert.deepEqual([run.again(), await run.resubmissions()], [[], NONE]);
  });

  it('is replaced once if it is next, and the node keeps it queued after it was sent again', async () => {
    const run = await begun({ fees: risingFees({ isTooLow: false }), latestIsPending: true });
    await run.othersMine(2, 3);
    await run.advance(10_000);
    equalBy(run.again(), ({ price }) => price, [1]);
    await run.othersMine(6, 3);
    equalBy(run.again(), ({ price }) => price, [1, 2]);
    await run.othersMine(10, 3);
    equalBy(run.again(), ({ price }) => price, [1, 2, 2]);
    assert.deepEqual(await run.resubmissions(), { ...NONE, rebroadcast: 2, replaced: 1 });
    await run.block();
    assert.equal(run.sampleOf(0, 0)?.hash, run.again()[1].hash);
  });

  it('is sent again if the node does not answer what is pending', async () => {
    const run = await begun({ fees: risingFees({ isTooLow: false }) });
    const { eth_getTransactionCount: count } = run.handlers;
    run.handlers.eth_getTransactionCount = (address, block) => {
      if (block === 'pending') throw new TransportError('no answer', 'timeout');
      return count(address, block);
    };
    await run.othersMine(10, 3);
    equalBy(run.again(), ({ price }) => price, [1, 1]);
  });

  for (const [why, latestIsPending, mostRaises] of /** @type {const} */ ([
    ['keeps it queued and the fee cannot be raised', true, 0],
    ['counts it as executable', false, Infinity],
  ]))
    it(`is sent again unchanged while the node ${why}`, async () => {
      const run = await begun({ fees: risingFees({ isTooLow: false, mostRaises }), latestIsPending });
      await run.othersMine(30, 3);
      equalBy(run.again(), ({ price }) => price, [1, 1, 1, 1]);
    });

  it('is replaced once each time that the node reports a low fee, by at most twenty transactions', async () => {
    const run = await begun({ fees: risingFees({ isTooLow: false }) });
    run.handlers.eth_getTransactionByHash = () => null;
    run.handlers.eth_sendRawTransaction = fails(refusal('gas price too low'));
    await run.advance(2000);
    assert.deepEqual(await run.resubmissions(), { ...NONE, rebroadcast: 1, replaced: 1 });
    await run.advance(120_000);
    assert.equal(new Set(run.again().map(({ hash }) => hash)).size, 20);
  });
});

it('one operation is replaced where no block is made, and no other until one has followed', async () => {
  const run = await begun({ wallets: 3, fees: risingFees({ isTooLow: false }) });
  await run.advance(14_000);
  assert.equal((await run.resubmissions()).replaced, 0);
  await run.advance(60_000);
  assert.deepEqual(await run.resubmissions(), { ...NONE, replaced: 1 });
});

describe('a transaction that blocks leave out', () => {
  const GWEI = 10n ** 9n;
  /** @param {{gasUsed?: number, tipWei?: bigint, balanceWei?: bigint, isFixed?: boolean, isEmpty?: boolean}} chain */
  const skipped = async ({
    gasUsed = 0,
    tipWei = 2n * GWEI,
    balanceWei = 10n ** 18n,
    isFixed = false,
    isEmpty = false,
  }) => {
    /** @type {bigint[]} */
    const tips = [];
    const fees = {
      isFixed,
      current: () => ({ maxFeePerGasWei: 10n * GWEI, maxPriorityFeePerGasWei: 1n }),
      isTooLow: () => false,
      raiseOffer: () => null,
      mostWei: () => 100n * GWEI,
      learn: () => {},
      replacementFee: (/** @type {unknown} */ _earlier, tip = 0n) => {
        tips.push(tip);
        return { maxFeePerGasWei: 12n * GWEI, maxPriorityFeePerGasWei: tip };
      },
    };
    const run = await begun({ fees });
    const other = { hash: hash32(77), from: `0x${'9'.repeat(40)}`, nonce: '0x0', blockNumber: '0x1' };
    const priced = { maxFeePerGas: hexOf(20n * GWEI), maxPriorityFeePerGas: hexOf(tipWei) };
    Object.assign(run.handlers, {
      eth_getBalance: () => hexOf(balanceWei),
      eth_maxPriorityFeePerGas: () => '0x1',
      eth_getBlockByNumber: (/** @type {string} */ number) => ({
        ...{ number, hash: hash32(Number(number)), parentHash: hash32(0), timestamp: '0x1' },
        ...{ gasUsed: hexOf(isEmpty ? 0 : gasUsed), gasLimit: '0x1c9c380', baseFeePerGas: '0x7' },
        transactions: isEmpty ? [] : [{ ...other, ...priced }],
      }),
    });
    await run.othersMine(60);
    return { tips, counts: await run.resubmissions() };
  };

  it('is replaced with a tip that they have taken; then it waits for its turn, as those with the same tip do', async () => {
    const { tips, counts } = await skipped({});
    assert.deepEqual(tips, [2n * GWEI]);
    assert.deepEqual([counts.leftOut, counts.replaced], [1, 1]);
  });

  it('is replaced three times at most where blocks are empty, the last time with all that is allowed', async () => {
    const { tips, counts } = await skipped({ isEmpty: true });
    assert.deepEqual(tips, [(100n * GWEI) >> 6n, (100n * GWEI) >> 3n, 100n * GWEI]);
    assert.deepEqual([counts.leftOut, counts.replaced], [1, 3]);
  });

  it('is not, without the evidence', async () => {
    for (const chain of [{ gasUsed: 29_999_000 }, { balanceWei: 1n }]) {
      const { tips, counts } = await skipped(chain);
      assert.deepEqual([tips, counts.leftOut, counts.replaced], [[], 0, 0], JSON.stringify(Object.keys(chain)));
    }
  });

  it('is counted and stays where its fee is fixed', async () => {
    const { tips, counts } = await skipped({ isFixed: true });
    assert.deepEqual([tips, counts.leftOut, counts.replaced], [[], 1, 0]);
  });
});

describe('a nonce that is used', () => {
  it('by ours, in a block that the detector has passed: the operation is included', async () => {
    const run = await begun();
    run.mine();
    await run.block(3000);
    assert.deepEqual([run.sampleOf(0, 0)?.outcome, run.sampleOf(0, 0)?.blockNumber], ['verified', 101]);
  });

  it('by another sender: replaced, with proof only', async () => {
    const run = await begun();
    const { address } = run.accounts[0].wallet;
    run.pool.clear();
    run.handlers.eth_getTransactionCount = (_, block) => (block === '0x64' ? '0x0' : '0x1');
    run.mine(0);
    await run.advance(3000);
    assert.equal(run.sampleOf(0, 0), undefined, 'no transaction with the nonce was found');
    const transactions = [{ hash: `0x${'f'.repeat(64)}`, from: address, nonce: '0x0' }];
    run.handlers.eth_getBlockByNumber = (number) => ({ number, hash: hash32(Number(number)), transactions });
    await run.advance(3000);
    assert.equal(run.sampleOf(0, 0)?.code, 'replaced');
    assert.deepEqual(run.stops, [['foreign_sender', undefined]]);
  });
});

describe('the rounds', () => {
  it('go on after errors of the endpoint, and respect Retry-After', async () => {
    const run = await begun();
    run.pool.clear();
    const { eth_getTransactionCount: count } = run.handlers;
    run.handlers.eth_getTransactionCount = fails(new ProtocolError('busy', undefined, 429, 7000));
    await run.advance(2000);
    run.handlers.eth_getTransactionCount = count;
    await run.advance(6999);
    assert.deepEqual(run.again(), []);
    await run.advance(1);
    assert.equal(run.again().length, 1);
    for (const error of [refusal('not today'), new TransportError('no answer', 'timeout')]) {
      run.handlers.eth_sendRawTransaction = fails(error);
      run.pool.clear();
      const before = run.again().length;
      await run.advance(3000);
      assert.ok(run.again().length > before);
    }
    assert.deepEqual(run.stops, []);
  });

  it('end with the drain', async () => {
    const run = await begun();
    run.mine();
    await run.end();
    assert.equal(run.clock.pending(), 0);
  });
});
