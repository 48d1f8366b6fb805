/** Who is paid: a function of tag, wallet and nonce, spread evenly, never the payer itself. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createWorkload } from '../../../src/workloads/index.js';
import { equalBy } from '../../helpers/equal-by.js';
import { fakeRpc } from '../../helpers/fake-rpc.js';
import { hostOf } from './host.js';

/** @import { TransactionWorkload } from '../../../src/contracts/load.d.ts' */

const TAG = '9d7f3a15';

/**
 * Payments as in a worker thread.
 * @param {{receivers?: number, tag?: string, first?: number, own?: string[]}} given first: position of its first wallet; own: addresses of the slice
 */
async function payments({ receivers, tag = TAG, first = 0, own = [] }) {
  const settings = receivers === undefined ? {} : { receivers };
  const state = { own, kit: { tag, first, starts: [], gasLimit: 30_000n } };
  const options = /** @type {any} */ ({ rpc: fakeRpc({}), settings, state, addresses: own });
  return /** @type {TransactionWorkload} */ (await createWorkload('transfer', options));
}

/** @param {TransactionWorkload} workload @param {number} position @param {number} nonce */
const receiverOf = (workload, position, nonce) => String(workload.next(position, nonce).to);

/** @param {number} count */
const slice = (count) => payments({ own: Array.from({ length: count }, (_, i) => `wallet ${i}`) });

/** @param {TransactionWorkload} workload @param {number} positions @param {number} nonces @returns {Map<string, number>} payments by receiver */
function drawn(workload, positions, nonces) {
  /** @type {Map<string, number>} */
  const counts = new Map();
  for (let position = 0; position < positions; position += 1)
    for (let nonce = 0; nonce < nonces; nonce += 1) {
      const receiver = receiverOf(workload, position, nonce);
      counts.set(receiver, (counts.get(receiver) ?? 0) + 1);
    }
  return counts;
}

/** Pearson's statistic over its degrees of freedom: about 1 for what is random. @param {number[]} counts */
function unevenness(counts) {
  const expected = counts.reduce((sum, count) => sum + count, 0) / counts.length;
  return counts.reduce((sum, count) => sum + (count - expected) ** 2 / expected, 0) / (counts.length - 1);
}

it('a wallet needs the value of its payments: where gas is free, nothing else covers it', async () => {
  const { gas, next } = await payments({ receivers: 3 });
  assert.deepEqual(gas.value, { perWallet: 0n, perOperation: next(0, 0).value });
});

describe('receivers that are made', () => {
  it('are addresses, all different, the same in every thread, other ones for another tag', async () => {
    const all = [...drawn(await payments({ receivers: 5000 }), 100, 1000).keys()];
    for (const address of all) assert.match(address, /^0x[0-9a-f]{40}$/);
    assert.equal(all.length, 5000);
    const others = drawn(await payments({ receivers: 5000, tag: '9d7f3a16' }), 10, 100);
    assert.ok(all.every((address) => !others.has(address)));
    const [whole, part] = [await payments({ receivers: 5000 }), await payments({ receivers: 5000, first: 10 })];
    for (const nonce of [0, 1, 300]) assert.equal(receiverOf(part, 3, nonce), receiverOf(whole, 13, nonce));
  });

  it('each of them is paid about as often as any other, by all wallets and by a single one', async () => {
    for (const [positions, nonces] of [
      [200, 500],
      [1, 100_000],
      [100_000, 1],
    ]) {
      const counts = [...drawn(await payments({ receivers: 1000 }), positions, nonces).values()];
      const value = unevenness(counts);
      assert.equal(counts.length, 1000);
      assert.ok(value > 0.8 && value < 1.2, `${positions} wallets, ${nonces} nonces: ${value}`);
    }
  });

  it('wallets do not follow each other, nor do tags that differ in one bit', async () => {
    const workload = await payments({ receivers: 1_000_000 });
    const receiversOf = (/** @type {number} */ position) =>
      Array.from({ length: 1000 }, (_, nonce) => receiverOf(workload, position, nonce));
    const first = new Set(receiversOf(0));
    assert.ok(receiversOf(1).filter((one) => first.has(one)).length < 20, 'a thousand of a million');
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
  it('are never the payer, and all others as often as each other', async () => {
    const workload = await slice(11);
    for (let position = 0; position < 11; position += 1) {
      /** @type {Record<string, number>} */
      const counts = {};
      for (let nonce = 0; nonce < 20_000; nonce += 1) {
        const receiver = receiverOf(workload, position, nonce);
        counts[receiver] = (counts[receiver] ?? 0) + 1;
      }
      assert.equal(counts[`wallet ${position}`], undefined);
      assert.equal(Object.keys(counts).length, 10);
      assert.ok(unevenness(Object.values(counts)) < 4, String(unevenness(Object.values(counts))));
    }
  });

  it('two pay each other', async () => {
    const workload = await slice(2);
    equalBy([0, 1], (position) => receiverOf(workload, position, 9), ['wallet 1', 'wallet 0']);
  });
});
