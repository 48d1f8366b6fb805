/** Who is paid: a function of tag, wallet and nonce, spread evenly, never the payer itself. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import createTransfer from '../../../src/workloads/transfer.js';
import { createPayments } from '../../../src/workloads/payments.js';
import { equalBy } from '../../helpers/equal-by.js';
import { hostOf } from './host.js';

const TAG = '9d7f3a15';

/** @param {number} made @param {string} [tag] @param {number} [first] position of the first wallet of the thread */
function making(made, tag = TAG, first = 0) {
  const { kit } = hostOf(tag, { first });
  return createPayments(/** @type {any} */ ({ kit, settings: { receivers: made } }));
}

/** @param {number} count */
function slice(count) {
  const { kit } = hostOf(TAG);
  const wallets = Array.from({ length: count }, (_, i) => `wallet ${i}`);
  return createPayments(/** @type {any} */ ({ kit, settings: {} }), wallets);
}

/** @param {ReturnType<typeof createPayments>} payments @param {number} positions @param {number} nonces */
function drawn({ receiverOf }, positions, nonces) {
  /** @type {Map<string, number>} */
  const counts = new Map();
  for (let position = 0; position < positions; position += 1)
    for (let nonce = 0; nonce < nonces; nonce += 1) {
      const receiver = receiverOf(position, nonce);
      counts.set(receiver, (counts.get(receiver) ?? 0) + 1);
    }
  return [...counts.values()];
}

/** Pearson's statistic over its degrees of freedom: about 1 for what is random. @param {number[]} counts */
function unevenness(counts) {
  const expected = counts.reduce((sum, count) => sum + count, 0) / counts.length;
  return counts.reduce((sum, count) => sum + (count - expected) ** 2 / expected, 0) / (counts.length - 1);
}

it('a wallet needs the value of its payments: where gas is free, nothing else covers it', () => {
  const { kit } = hostOf(TAG);
  const { gas, next } = createTransfer(/** @type {any} */ ({ kit, settings: { receivers: 3 } }));
  assert.deepEqual(gas?.value, { perWallet: 0n, perOperation: next(0, 0).value });
});

describe('receivers that are made', () => {
  it('are addresses, all different, the same in every thread, other ones for another tag', () => {
    const addresses = Array.from({ length: 5000 }, (_, i) => making(5000).addressOf(i));
    for (const address of addresses) assert.match(address, /^0x[0-9a-f]{40}$/);
    assert.equal(new Set(addresses).size, 5000);
    assert.ok(!addresses.includes(making(5000, '9d7f3a16').addressOf(77)));
    for (const nonce of [0, 1, 300])
      assert.equal(making(5000, TAG, 10).receiverOf(3, nonce), making(5000).receiverOf(13, nonce));
  });

  it('each of them is paid about as often as any other, by all wallets and by a single one', () => {
    for (const [positions, nonces] of [
      [200, 500],
      [1, 100_000],
      [100_000, 1],
    ]) {
      const counts = drawn(making(1000), positions, nonces);
      const value = unevenness(counts);
      assert.equal(counts.length, 1000);
      assert.ok(value > 0.8 && value < 1.2, `${positions} wallets, ${nonces} nonces: ${value}`);
    }
  });

  it('wallets do not follow each other, nor do tags that differ in one bit', () => {
    const receiversOf = (/** @type {string} */ tag, /** @type {number} */ position) =>
      Array.from({ length: 1000 }, (_, nonce) => making(1_000_000, tag).receiverOf(position, nonce));
    const first = new Set(receiversOf(TAG, 0));
    assert.ok(receiversOf(TAG, 1).filter((one) => first.has(one)).length < 20, 'a thousand of a million');
    const [one, other] = [hostOf(TAG).kit, hostOf('1d7f3a15').kit];
    for (let nonce = 0; nonce < 1000; nonce += 1) assert.notEqual(one.draw(0, nonce), other.draw(0, nonce));
  });

  it('ten million are all within reach, and none beyond', () => {
    const { kit } = hostOf(TAG);
    const shares = Array.from({ length: 100_000 }, (_, nonce) => kit.draw(5, nonce) / 2 ** 32);
    assert.ok(shares.every((share) => share >= 0 && share < 1));
    assert.ok(Math.max(...shares) > 0.999 && Math.min(...shares) < 0.001);
  });
});

describe('receivers that are wallets of the slice', () => {
  it('are never the payer, and all others as often as each other', () => {
    const { receiverOf, addressOf } = slice(11);
    for (let position = 0; position < 11; position += 1) {
      /** @type {Record<string, number>} */
      const counts = {};
      for (let nonce = 0; nonce < 20_000; nonce += 1)
        counts[receiverOf(position, nonce)] = (counts[receiverOf(position, nonce)] ?? 0) + 1;
      assert.equal(counts[`wallet ${position}`], undefined);
      assert.equal(Object.keys(counts).length, 10);
      assert.ok(unevenness(Object.values(counts)) < 4, String(unevenness(Object.values(counts))));
    }
    assert.equal(addressOf(3), 'wallet 3');
  });

  it('two pay each other', () => {
    equalBy([0, 1], (position) => slice(2).receiverOf(position, 9), ['wallet 1', 'wallet 0']);
  });
});
