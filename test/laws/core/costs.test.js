import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { parseEther } from 'ethers';
import { createFees } from '../../../src/chain/fees.js';
import {
  checkCost,
  checkRefill,
  costLine,
  estimateCost,
  lastingText,
  secondsPerBlock,
  weiPerSecond,
  withBlobs,
} from '../../../src/core/costs.js';
import { RefusedError, UsageError } from '../../../src/errors.js';
import { fakeRpc } from '../../helpers/fake-rpc.js';

const GWEI = 10n ** 9n;
const ETHER = 10n ** 18n;
/** 2 gwei per gas now, at most 6. */
const FEES = createFees({ baseFeeWei: GWEI, tipWei: GWEI, legacy: false, maxFeeWei: null });
const GAS = Object.freeze({
  perWallet: 250_000n,
  perOperation: 50_000n,
  likely: { perWallet: 150_000n, perOperation: 25_000n },
});
const LOAD = Object.freeze({
  threads: 10,
  inFlight: 1,
  ratePerSecond: null,
  stages: null,
  warmupMs: 0,
  durationMs: 60_000,
});
const PARTS = Object.freeze({ load: LOAD, gas: GAS, fees: FEES, blockSeconds: 2, deployments: 0, paymentGas: 0n });

describe('estimateCost()', () => {
  it('closed loop: all operations in flight in every block', () => {
    const { operations, loadWei, worstWei, setUpWei } = estimateCost(PARTS);
    assert.equal(operations, 310);
    assert.equal(loadWei, 310n * 25_000n * 2n * GWEI);
    assert.equal(worstWei, 310n * 50_000n * 6n * GWEI);
    assert.equal(setUpWei, 0n, 'what is there already costs nothing');
    assert.equal(estimateCost({ ...PARTS, load: { ...LOAD, inFlight: 4 } }).operations, 1240);
    assert.equal(estimateCost({ ...PARTS, load: { ...LOAD, warmupMs: 20_000 } }).operations, 410);
  });

  it('blobs cost their own price, and funds are needed at what is offered for them', async () => {
    const fees = createFees(FEES.state());
    const gas = { ...GAS, blobs: 2 };
    const rpc = fakeRpc({
      eth_getBlockByNumber: () => ({ number: '0x1', hash: `0x${'1'.repeat(64)}`, excessBlobGas: '0x0' }),
      eth_config: () => null,
      eth_blobBaseFee: () => '0x1',
    });
    assert.equal((await withBlobs(rpc, fees, gas)).value?.perOperation, 2n * 131_072n * 5n);
    assert.equal(await withBlobs(rpc, fees, GAS), GAS);
    const { loadWei, worstWei } = estimateCost({ ...PARTS, gas, fees });
    assert.equal(loadWei - estimateCost(PARTS).loadWei, 310n * 2n * 131_072n);
    assert.equal(worstWei - estimateCost(PARTS).worstWei, 310n * 2n * 131_072n * 5n);
  });

  it('open loop: the operations of the schedule', () => {
    assert.equal(estimateCost({ ...PARTS, load: { ...LOAD, ratePerSecond: 7 } }).operations, 420);
    const stages = [{ fromPerSecond: 10, toPerSecond: 20, durationUs: 60e6 }];
    assert.equal(estimateCost({ ...PARTS, load: { ...LOAD, stages } }).operations, 900);
    assert.equal(estimateCost({ ...PARTS, load: { ...LOAD, stages, warmupMs: 1000 } }).operations, 910);
  });

  it('set-up: deployments and payments without the amounts sent to wallets', () => {
    const cost = estimateCost({ ...PARTS, deployments: 10, paymentGas: 8_000_000n });
    assert.equal(cost.setUpWei, (10n * 150_000n + 8_000_000n) * 2n * GWEI);
  });

  it('without a duration: per thousand operations', () => {
    assert.equal(
      costLine(estimateCost({ ...PARTS, load: { ...LOAD, durationMs: null } })),
      'estimated cost at 2 gwei a gas: set-up 0 ether, load 0.05 ether for each 1,000 operations (0.3 ether at most)',
    );
  });
});

describe('checkCost()', () => {
  const cost = estimateCost({ ...PARTS, deployments: 10 }); // 0.003 ether and 0.0155 ether

  it('rejects an estimate above the limit and names both amounts', () => {
    checkCost(cost, null);
    checkCost(cost, parseEther('0.0185'));
    assert.throws(() => checkCost(cost, parseEther('0.0185') - 1n), RefusedError);
    assert.throws(
      () => checkCost(cost, parseEther('0.01')),
      /expected to cost 0\.0185 ether in fees, and --max-spend allows 0\.01 ether: .*--duration.*--rate/,
    );
  });

  it('without a duration only the set-up counts', () => {
    const unbounded = estimateCost({ ...PARTS, deployments: 10, load: { ...LOAD, durationMs: null } });
    checkCost(unbounded, parseEther('0.003'));
    assert.throws(() => checkCost(unbounded, parseEther('0.0029')), RefusedError);
  });
});

describe('refills', () => {
  const ONE = 25_000n * 2n * GWEI;
  const chain = { gas: GAS, fees: FEES, blockSeconds: 2 };

  it('weiPerSecond(): what operations likely cost, of stages at the highest rate', () => {
    /** @type {Array<[object, number]>} */
    const rows = [
      [{}, 5],
      [{ inFlight: 3 }, 15],
      [{ ratePerSecond: 7 }, 7],
      [{ stages: [{ fromPerSecond: 1, toPerSecond: 9, durationUs: 1 }] }, 9],
    ];
    for (const [load, perSecond] of rows)
      assert.equal(weiPerSecond({ ...LOAD, ...load }, GAS, FEES, 2), perSecond * Number(ONE));
    const value = { perWallet: 0n, perOperation: ONE };
    assert.equal(weiPerSecond(LOAD, { ...GAS, value }, FEES, 2), 10 * Number(ONE));
  });

  it('lastingText(): for a load that is longer than half of it', () => {
    assert.equal(
      lastingText(ETHER, Number(ETHER) / 3600, null),
      'the load can spend 1 ether, which lasts for about 1h00m (an estimate)',
    );
    assert.equal(lastingText(ETHER, Number(ETHER) / 3600, 20 * 60_000), null);
    assert.equal(lastingText(ETHER, 1, null), null);
    assert.equal(lastingText(0n, 0, null), null, 'gas is free');
  });

  it('checkRefill(): the threshold covers what a wallet spends until it is paid, and is below the amount', () => {
    // Three blocks and five seconds, and what is in flight at the highest price.
    const leastWei = (ONE * 1101n) / 200n + 50_000n * 6n * GWEI;
    checkRefill(leastWei, ETHER, LOAD, chain);
    assert.throws(() => checkRefill(leastWei - 1n, ETHER, LOAD, chain), UsageError);
    assert.throws(
      () => checkRefill(1n, ETHER, LOAD, chain),
      /is too low: a wallet may spend \d+ gwei in the 12 s until/,
    );
    assert.throws(
      () => checkRefill(ETHER, ETHER, LOAD, chain),
      /is not less than the 1 ether that wallets are topped up to/,
    );
  });
});

describe('secondsPerBlock()', () => {
  /** @param {number} perBlock @param {number} head */
  const measure = (perBlock, head) => {
    const blockOf = (/** @type {string} */ number) => {
      const timestamp = `0x${Math.floor(1000 + Number(number) * perBlock).toString(16)}`;
      return { number, timestamp, hash: `0x${'1'.repeat(64)}` };
    };
    const timestampS = Math.floor(1000 + head * perBlock);
    return secondsPerBlock(fakeRpc({ eth_getBlockByNumber: blockOf }), { number: head, timestampS });
  };

  it('is measured over many blocks, because timestamps are whole seconds', async () => {
    assert.equal(await measure(12, 5000), 12);
    assert.equal(await measure(0.25, 5000), 0.25);
    assert.equal(await measure(2, 10), 2);
  });

  it('leaves out the pauses of a chain that makes blocks on demand', async () => {
    // A block each 50 ms, but for two pauses of a minute, lately and before.
    const timeS = (/** @type {number} */ number) =>
      Math.floor(1000 + number * 0.05 + (number > 4950 ? 60 : 0) + (number > 4997 ? 60 : 0));
    const blockOf = (/** @type {string} */ number) => {
      return { number, timestamp: `0x${timeS(Number(number)).toString(16)}`, hash: `0x${'1'.repeat(64)}` };
    };
    const rpc = fakeRpc({ eth_getBlockByNumber: blockOf });
    const seconds = (await secondsPerBlock(rpc, { number: 5000, timestampS: timeS(5000) })) ?? Infinity;
    assert.ok(seconds <= 0.25, `${seconds} s`);
  });

  it('is not known of a short chain, with equal timestamps or those in milliseconds, or after pauses', async () => {
    assert.equal(await measure(12, 2), null);
    assert.equal(await measure(0, 5000), null);
    assert.equal(await measure(12_000, 5000), null);
    assert.equal(await measure(3600, 5000), null);
  });
});
