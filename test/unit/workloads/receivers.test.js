/** Who is paid: a function of seed, wallet and nonce, spread evenly, never the payer itself. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { WorkloadHost } from '../../../src/workloads/kit.js';
import { Payments } from '../../../src/workloads/payments.js';
import { fakeRpc } from '../../helpers/fake-rpc.js';

const SEED = 173_168_713_323_349;

/** @param {{seed: number, made: number | null, wallets: string[]}} state */
function paymentsOf(state) {
  const rpc = fakeRpc({});
  const { kit } = new WorkloadHost(null, rpc);
  return new Payments({ kit, rpc, settings: {} }, { first: 0, value: 1n, ...state });
}

/** @param {number} made @param {number} [seed] */
const making = (made, seed = SEED) => paymentsOf({ seed, made, wallets: [] });

/** @param {number} count */
const slice = (count) =>
  paymentsOf({ seed: SEED, made: null, wallets: Array.from({ length: count }, (_, i) => `wallet ${i}`) });

/** @param {Payments} receivers @param {number} positions @param {number} nonces */
function drawn(receivers, positions, nonces) {
  const counts = new Array(receivers.count).fill(0);
  for (let position = 0; position < positions; position += 1)
    for (let nonce = 0; nonce < nonces; nonce += 1) counts[receivers.indexFor(position, nonce)] += 1;
  return counts;
}

/** Pearson's statistic over its degrees of freedom: about 1 for what is random. @param {number[]} counts */
function unevenness(counts) {
  const expected = counts.reduce((sum, count) => sum + count, 0) / counts.length;
  return counts.reduce((sum, count) => sum + (count - expected) ** 2 / expected, 0) / (counts.length - 1);
}

describe('receivers that are made', () => {
  it('are addresses, all different, the same in every thread, other ones for another seed', () => {
    const one = making(5000);
    const again = making(5000);
    const addresses = Array.from({ length: 5000 }, (_, i) => one.addressOf(i));
    for (const address of addresses) assert.match(address, /^0x[0-9a-f]{40}$/);
    assert.equal(new Set(addresses).size, 5000);
    assert.equal(again.addressOf(77), addresses[77]);
    assert.ok(!addresses.includes(making(5000, SEED + 1).addressOf(77)));
  });

  it('each of them is paid about as often as any other, by all wallets and by a single one', () => {
    for (const [positions, nonces] of [
      [200, 500],
      [1, 100_000],
      [100_000, 1],
    ]) {
      const value = unevenness(drawn(making(1000), positions, nonces));
      assert.ok(value > 0.8 && value < 1.2, `${positions} wallets, ${nonces} nonces: ${value}`);
    }
  });

  it('wallets do not follow each other, nor do seeds that differ in their upper half alone', () => {
    const one = making(1_000_000);
    const other = making(1_000_000, SEED + 2 ** 40);
    const drawnBy = (/** @type {Payments} */ by, /** @type {number} */ position) =>
      Array.from({ length: 1000 }, (_, nonce) => by.indexFor(position, nonce));
    const first = new Set(drawnBy(one, 0));
    for (const indexes of [drawnBy(one, 1), drawnBy(other, 0)])
      assert.ok(indexes.filter((index) => first.has(index)).length < 20, 'a thousand of a million: one meets another');
  });

  it('ten million are all within reach, and none beyond', () => {
    const receivers = making(10_000_000);
    const indexes = Array.from({ length: 100_000 }, (_, nonce) => receivers.indexFor(5, nonce));
    assert.ok(indexes.every((index) => Number.isInteger(index) && index >= 0 && index < 10_000_000));
    assert.ok(Math.max(...indexes) > 9_990_000 && Math.min(...indexes) < 10_000);
  });
});

describe('receivers that are wallets of the slice', () => {
  it('are never the payer, and all others as often as each other', () => {
    const receivers = slice(11);
    for (let position = 0; position < 11; position += 1) {
      const counts = new Array(11).fill(0);
      for (let nonce = 0; nonce < 20_000; nonce += 1) counts[receivers.indexFor(position, nonce)] += 1;
      assert.equal(counts.splice(position, 1)[0], 0);
      assert.ok(unevenness(counts) < 4, String(unevenness(counts)));
    }
    assert.equal(receivers.addressOf(3), 'wallet 3');
  });

  it('two pay each other', () => {
    assert.deepEqual(
      [0, 1].map((position) => slice(2).indexFor(position, 9)),
      [1, 0],
    );
  });
});
