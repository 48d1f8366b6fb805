import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { GasRate } from '../../../src/observers/gas.js';
import { changedAt, createPacer } from '../../../src/core/pacer.js';
import { addressOf, hash32 } from '../../helpers/samples.js';

/** @import { Schedule } from '../../../src/contracts/load.d.ts' */

const WALLET = `0x${'Aa'.repeat(20)}`;

/**
 * @param {number[] | null} gasUsed of our receipts in each block, beside one of another sender; null: not served
 * @param {{first?: number, isMix?: boolean}} [load]
 */
function gasRate(gasUsed, { first = 10, isMix = false } = {}) {
  /** @type {number[]} */
  const asked = [];
  const call = async (/** @type {string} */ method, /** @type {any[]} */ [block]) => {
    assert.equal(method, 'eth_getBlockReceipts');
    asked.push(Number(block));
    if (gasUsed === null) throw new Error('not served');
    const receiptOf = (/** @type {string} */ from, /** @type {number} */ gas) => {
      const receipt = { transactionHash: hash32('t'), blockNumber: block, status: '0x1' };
      return { ...receipt, from, gasUsed: `0x${gas.toString(16)}` };
    };
    return [...gasUsed.map((gas) => receiptOf(WALLET.toLowerCase(), gas)), receiptOf(addressOf(0xbb), 0xffffff)];
  };
  const load = { firstOperations: first, isMix, highestPerSecond: 1_000_000 };
  return { gas: new GasRate(3_000_000, 10, { call }, [{ address: WALLET }], load), asked };
}

describe('the rate of --rate 3Mgas', () => {
  it('is that of our receipts, after the first operations of the wallets', async () => {
    const { gas, asked } = gasRate([40_000, 60_000]);
    for (const [number, ours] of [6, 5, 0, 5].entries()) gas.block({ number, ours });
    assert.equal(gas.isEnough, false);
    gas.block({ number: 4, ours: 5 });
    assert.equal(gas.isEnough, true);
    await gas.measure();
    assert.deepEqual(gas.facts, { gasPerSecond: 3_000_000, gasPerOperation: 50_000, perSecond: 60 });
    assert.deepEqual([asked, gas.warning], [[4, 3], null]);
  });

  it('is measured until a mix has made 1,000 operations', async () => {
    const { gas, asked } = gasRate(Array(100).fill(30_000), { isMix: true });
    for (let number = 0; !gas.isEnough; number += 1) gas.block({ number, ours: 100 });
    await gas.measure();
    assert.equal(gas.facts.perSecond, 100);
    assert.equal(asked[0], 10, 'the first block has the first operations');
  });

  it('is measured in 50 small blocks', async () => {
    const { gas, asked } = gasRate([30_000], { isMix: true });
    for (let number = 0; !gas.isEnough; number += 1) gas.block({ number, ours: 1 });
    await gas.measure();
    assert.deepEqual(
      asked,
      Array.from({ length: 50 }, (_, i) => 59 - i),
    );
  });

  it('is at most what can be scheduled', async () => {
    const { gas } = gasRate([1]);
    gas.block({ number: 1, ours: 10 });
    gas.block({ number: 2, ours: 10 });
    await gas.measure();
    assert.equal(gas.facts.perSecond, 1_000_000);
  });

  it('may be too low if the warm-up has first operations only, with a warning', async () => {
    const { gas } = gasRate([50_000]);
    gas.block({ number: 1, ours: 9 });
    await gas.measure();
    assert.equal(gas.facts.perSecond, 60);
    assert.match(String(gas.warning), /^the warm-up ended before each wallet had made two operations: /);
  });

  it('stays estimated, with a warning, if nothing is known', async () => {
    const { gas, asked } = gasRate(null);
    for (const number of [1, 2, 3]) gas.block({ number, ours: 10 });
    await gas.measure();
    assert.deepEqual(gas.facts, { gasPerSecond: 3_000_000, gasPerOperation: null, perSecond: 10 });
    assert.equal(asked.length, 1);
    assert.match(String(gas.warning), /^the gas of an operation could not be measured in the warm-up: /);
  });
});

it('changedAt(): two rates, of which each thread has its share', () => {
  /** @type {Schedule} */
  const before = {
    stages: [{ fromPerSecond: 10, toPerSecond: 10, durationUs: Infinity }],
    arrival: 'uniform',
    seed: 1,
  };
  const schedule = changedAt(before, 1_000_000, 100);
  const dueOf = (/** @type {number[]} */ numbers) => {
    const pacer = createPacer(schedule, { numbers, of: 2 });
    return Array.from({ length: 10 }, (_, i) => pacer.dueUs(i));
  };
  const all = [...dueOf([0]), ...dueOf([1])].sort((a, b) => a - b);
  assert.deepEqual(
    all,
    Array.from({ length: 20 }, (_, n) => (n < 10 ? n * 100_000 : 1_000_000 + (n - 10) * 10_000)),
  );
});
