import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createFees } from '../../../src/chain/fees.js';
import { walletNeedWei } from '../../../src/core/setup.js';

const GAS = Object.freeze({ perWallet: 100n, perOperation: 10n, likely: { perWallet: 50n, perOperation: 5n } });
/** Gas costs 1 wei, so that amounts are gas. */
const FEES = createFees({ baseFeeWei: null, tipWei: 1n, legacy: true, maxFeeWei: null });

/** @param {number} chainId @param {number} blockSeconds @param {number | null} durationMs @param {{warmupMs?: number, inFlight?: number}} [given] */
function need(chainId, blockSeconds, durationMs, { warmupMs = 0, inFlight = 1 } = {}) {
  const config = { warmupMs, durationMs, inFlight, fundAmountWei: null };
  return walletNeedWei(config, GAS, FEES, { chainId, blockSeconds });
}

describe('walletNeedWei()', () => {
  it('ignores pauses of a development chain', () => {
    for (const chainId of [31337, 1337, 43112]) {
      for (const blockSeconds of [0.1, 1, 30]) {
        assert.equal(need(chainId, blockSeconds, 20_000), 100n + 401n * 10n, `chain ${chainId}, ${blockSeconds} s`);
      }
    }
  });

  it('uses the block time of other chains', () => {
    assert.equal(need(4242, 12, 60_000), 100n + 11n * 10n);
  });

  it('assumes a thousand operations without a duration', () => {
    assert.equal(need(4242, 12, null), 100n + 1000n * 10n);
  });

  it('includes the warm-up and the operations in flight', () => {
    assert.equal(need(4242, 12, 60_000, { warmupMs: 60_000 }), 100n + 21n * 10n);
    assert.equal(need(4242, 12, 60_000, { inFlight: 4 }), 100n + 4n * 11n * 10n);
    assert.equal(need(4242, 12, null, { inFlight: 4 }), 100n + 4000n * 10n);
  });

  it('includes transferred value', () => {
    const gas = { ...GAS, value: { perWallet: 1000n, perOperation: 7n } };
    const config = { warmupMs: 0, durationMs: 60_000, inFlight: 1, fundAmountWei: null };
    const chain = { chainId: 4242, blockSeconds: 12 };
    assert.equal(walletNeedWei(config, gas, FEES, chain), 100n + 11n * 10n + 1000n + 11n * 7n);
  });

  it('is --fund-amount if given', () => {
    const config = { warmupMs: 0, durationMs: 20_000, inFlight: 1, fundAmountWei: 7n };
    assert.equal(walletNeedWei(config, GAS, FEES, { chainId: 1337, blockSeconds: 1 }), 7n);
  });
});
