/** The order of writes that the workload `contention` audits, with faults in 10,000 of them, and its draws of slots. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createKeccak } from 'hash-wasm';
import { drawBits, randomNumbers } from '../../../src/random.js';
import { WriteOrder } from '../../../src/workloads/write-order.js';
import { slotsByWeight } from '../../../src/workloads/zipf.js';

/** @import { ChainReceipt } from '../../../src/contracts/chain.d.ts' */

const WALLETS = Array.from({ length: 20 }, (_, i) => ({ address: `0x${String(i).padStart(40, 'a')}`, nonce: i }));
const WRITES = 10_000;
/** Writes behind a fault, which must not hide it; all in the first run of each kind. */
const BEHIND = 200;
const hasher = await createKeccak(256);
const keccak256 = (/** @type {string} */ hex) => `0x${hasher.init().update(Buffer.from(hex, 'hex')).digest('hex')}`;
const word = (/** @type {string | number} */ value) => BigInt(value).toString(16).padStart(64, '0');

/**
 * What a chain does with the writes of all wallets in turn, as its contract would.
 * @param {number} seed
 * @param {{times?: (index: number) => number, writes?: number}} [options] times: how often a write is executed
 */
function chainWith(seed, { times = () => 1, writes = WRITES } = {}) {
  const draw = slotsByWeight(16, 1);
  const slotOf = (/** @type {number} */ position, /** @type {number} */ nonce) => draw(drawBits(seed, position, nonce));
  /** @type {Map<number, {count: number, chain: string}>} */
  const state = new Map();
  const receipts = Array.from({ length: writes }, (_, index) => {
    const position = index % WALLETS.length;
    const { address, nonce: first } = WALLETS[position];
    const nonce = first + Math.floor(index / WALLETS.length);
    const slot = slotOf(position, nonce);
    let { count, chain } = state.get(slot) ?? { count: 0, chain: `0x${word(0)}` };
    for (let i = 0; i < times(index); i += 1) {
      count += 1;
      chain = keccak256(chain.slice(2) + word(address) + word(nonce));
      state.set(slot, { count, chain });
    }
    const log = { address: '0x', topics: [], data: `0x${word(slot)}${word(count)}${chain.slice(2)}` };
    const transaction = { from: address, hash: `0x${index}`, blockNumber: 1 };
    return /** @type {ChainReceipt} */ (/** @type {unknown} */ ({ ...transaction, isSuccess: true, logs: [log] }));
  });
  return { order: new WriteOrder({ wallets: WALLETS, slotOf }), receipts, state };
}

describe('the order of writes', () => {
  it('serial execution leaves what is computed', () => {
    const { order, receipts, state } = chainWith(1);
    order.add(receipts);
    assert.deepEqual([order.fault, order.writes], [null, WRITES]);
    assert.deepEqual(order.slots, state);
  });

  it('a reverted write leaves nothing, and transactions of others are skipped', () => {
    const { order, receipts, state } = chainWith(2, { times: (index) => (index === 77 ? 0 : 1) });
    order.add([
      /** @type {any} */ ({ from: `0x${'b'.repeat(40)}`, isSuccess: true, logs: [] }),
      ...receipts.map((receipt, i) => (i === 77 ? { ...receipt, isSuccess: false, logs: [] } : receipt)),
    ]);
    assert.deepEqual([order.fault, order.writes, order.reverted[77 % WALLETS.length]], [null, WRITES - 1, 1]);
    assert.deepEqual(order.slots, state);
  });

  for (const [name, times] of /** @type {const} */ ([
    ['lost', 0],
    ['doubled', 2],
    ['swapped', 1],
  ]))
    it(`one ${name} write in 10,000 is found and named, in each of 20 runs`, () => {
      for (let seed = 1; seed <= 20; seed += 1) {
        let at = Math.floor(randomNumbers(seed)() * (WRITES - BEHIND));
        const timesAt = (/** @type {number} */ index) => (index === at ? times : 1);
        const writes = seed === 1 ? WRITES : at + BEHIND;
        const { order, receipts, state } = chainWith(seed, { times: timesAt, writes });
        if (name === 'swapped') {
          // The block lists them in another order than that of the execution: neighbours of one slot and of two wallets.
          const slotAt = (/** @type {number} */ i) => receipts[i].logs?.[0].data.slice(0, 66);
          const first = receipts.findIndex((_, i) => i >= at && slotAt(i) === slotAt(i + 1));
          [receipts[first], receipts[first + 1]] = [receipts[first + 1], receipts[first]];
          at = first + 1;
        }
        order.add(receipts);
        const says = `^transaction \\d+ of 0x\\w{40} \\(0x${at}, block 1\\) left count \\d+ and chain `;
        assert.match(order.fault ?? '', new RegExp(says), `${seed}`);
        assert.notDeepEqual(order.slots, state);
      }
    });
});

it('the slots of contention: are drawn by Zipf, and all alike for theta 0', () => {
  for (const [slots, theta] of [
    [4, 0],
    [16, 1],
    [1024, 0.5],
    [64, 2],
  ]) {
    const draw = slotsByWeight(slots, theta);
    const counts = new Array(slots).fill(0);
    for (let i = 0; i < 100_000; i += 1) counts[draw(drawBits(7, i % 100, i))] += 1;
    const weights = Array.from({ length: slots }, (_, i) => (i + 1) ** -theta);
    const share = 1 / weights.reduce((sum, weight) => sum + weight, 0);
    const error = 5 * Math.sqrt((share * (1 - share)) / 100_000);
    assert.ok(Math.abs(counts[0] / 100_000 - share) < error, `${slots} ${theta}: ${counts[0]}`);
    assert.equal(draw(0), 0);
    assert.equal(draw(2 ** 32 - 1), slots - 1);
  }
});
