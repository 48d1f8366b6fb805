import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createFees } from '../../../src/chain/fees.js';
import { toHex } from '../../../src/chain/answers.js';
import { gasOnChain } from '../../../src/core/costs.js';
import { walletNeedWei } from '../../../src/core/setup.js';
import { RpcError } from '../../../src/errors.js';
import { fakeRpc } from '../../helpers/fake-rpc.js';
import { addressOf } from '../../helpers/samples.js';

const GAS = Object.freeze({ perWallet: 100n, perOperation: 10n, likely: { perWallet: 50n, perOperation: 5n } });
const VALUE = Object.freeze({ ...GAS, value: { perWallet: 1000n, perOperation: 7n } });
const GWEI = 10n ** 9n;
const feesOf = (/** @type {bigint} */ tipWei, maxFeeWei = /** @type {bigint | null} */ (null)) =>
  createFees({ baseFeeWei: 0n, tipWei, legacy: false, maxFeeWei });

const FIXED = createFees({ baseFeeWei: null, tipWei: 1n, legacy: true, maxFeeWei: null });

/** @param {number} chainId @param {number} blockSeconds @param {number | null} durationMs @param {{warmupMs?: number, inFlight?: number, fundAmountWei?: bigint | null}} [given] */
function need(chainId, blockSeconds, durationMs, given = {}, gas = GAS, fees = feesOf(GWEI)) {
  const config = { warmupMs: 0, durationMs, inFlight: 1, fundAmountWei: null, ...given };
  return walletNeedWei(config, gas, fees, { chainId, blockSeconds });
}

describe('walletNeedWei()', () => {
  /** @type {Array<[string, bigint, bigint]>} */
  const table = [
    ['a development chain: its pauses are ignored', need(1337, 30, 20_000), (100n + 401n * 10n) * GWEI],
    ['another chain: one operation in each block', need(4242, 12, 60_000), (100n + 11n * 10n) * GWEI],
    ['without a duration: a thousand operations', need(4242, 12, null), (100n + 1000n * 10n) * GWEI],
    ['the warm-up', need(4242, 12, 60_000, { warmupMs: 60_000 }), (100n + 21n * 10n) * GWEI],
    ['operations in flight', need(4242, 12, 60_000, { inFlight: 4 }), (100n + 4n * 11n * 10n) * GWEI],
    ['operations in flight without a duration', need(4242, 12, null, { inFlight: 4 }), (100n + 4000n * 10n) * GWEI],
    ['transferred value', need(4242, 12, 60_000, {}, VALUE), (100n + 11n * 10n) * GWEI + 1000n + 11n * 7n],
    [
      'a fee that has decayed: what is in flight at 1 gwei',
      need(4242, 12, 60_000, { inFlight: 4 }, GAS, feesOf(1n)),
      40n * GWEI,
    ],
    ['the same at a fixed price', need(4242, 12, 60_000, { inFlight: 4 }, GAS, FIXED), 100n + 44n * 10n],
    ['the same under --max-fee', need(4242, 12, 60_000, { inFlight: 4 }, GAS, feesOf(1n, 100n)), 4000n],
    ['--fund-amount if given', need(1337, 1, 20_000, { fundAmountWei: 7n }), 7n],
  ];
  for (const [name, wei, expected] of table) it(name, () => assert.equal(wei, expected));
});

describe('gasOnChain()', () => {
  const own = { perWallet: 0n, perOperation: 25_000n };
  /** @param {bigint} perOperation accounts that an operation creates @param {number | Error} payment gas of one to a new account */
  const gasWith = async (perOperation, payment) => {
    const rpc = fakeRpc({
      eth_estimateGas: () => {
        if (payment instanceof Error) throw payment;
        return toHex(payment);
      },
    });
    const gas = { ...own, likely: { perWallet: 0n, perOperation: 21_000n }, created: { perWallet: 2n, perOperation } };
    const { perWallet, perOperation: most, likely } = await gasOnChain(rpc, { address: addressOf(1) }, gas);
    return [perWallet, most, likely.perOperation].map(Number);
  };

  it('adds what new accounts take on this chain', async () => {
    assert.deepEqual(await gasWith(1n, 21_000), [0, 25_000, 21_000]);
    assert.deepEqual(await gasWith(1n, 207_000), [372_000, 211_000, 207_000]);
    assert.deepEqual(await gasWith(1n, new RpcError('eth_estimateGas', -32601, 'no such method')), [0, 25_000, 21_000]);
  });

  it('asks nothing for operations that create none', async () => {
    const rpc = fakeRpc({});
    const gas = { ...own, likely: own };
    assert.equal(await gasOnChain(rpc, { address: addressOf(1) }, gas), gas);
    assert.equal(rpc.count(), 0);
  });
});
