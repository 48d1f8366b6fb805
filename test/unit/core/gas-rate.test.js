import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { GasRate } from '../../../src/core/gas-rate.js';
import { changedAt, createPacer } from '../../../src/core/pacer.js';

/** @import { Schedule } from '../../../src/core/pacer.js' */

const WALLET = `0x${'Aa'.repeat(20)}`;

/** @param {Array<{from: string, gasUsed: string}>} [receipts] of each block @param {Array<{name: string, weight: number}>} [members] */
function gasRate(receipts, members) {
  /** @type {unknown[][]} */
  const asked = [];
  const call = async (/** @type {string} */ method, /** @type {unknown[]} */ params) => {
    asked.push([method, ...params]);
    if (receipts === undefined) throw new Error('not served');
    return receipts;
  };
  return { gas: new GasRate(3_000_000, 10, { call }, [{ address: WALLET }], members), asked };
}

describe('the rate of --rate 3Mgas', () => {
  it('is that of the blocks with ours only, after the first operations', async () => {
    const { gas, asked } = gasRate();
    gas.onBlock({ number: 1, transactions: 10, ours: 10, gasUsed: 900_000 });
    gas.begin({});
    gas.onBlock({ number: 2, transactions: 3, ours: 2, gasUsed: 5_000_000 });
    gas.onBlock({ number: 3, transactions: 0, ours: 0, gasUsed: 0 });
    gas.onBlock({ number: 4, transactions: 5, ours: 5, gasUsed: 150_000 });
    gas.onBlock({ number: 5, transactions: 5, ours: 5, gasUsed: 150_000 });
    await gas.measure({});
    assert.deepEqual(gas.facts, { gasPerSecond: 3_000_000, gasPerOperation: 30_000, perSecond: 100 });
    assert.deepEqual([asked, gas.warning], [[], null]);
  });

  it('of a mix is the mean of the members by weight, whatever was drawn', async () => {
    const { gas } = gasRate(undefined, [
      { name: 'a', weight: 3 },
      { name: 'b', weight: 1 },
    ]);
    const groupOf = (/** @type {number} */ operations, /** @type {number} */ used) => ({
      gasOutside: { operations, used },
    });
    gas.begin({ a: groupOf(1, 90_000) });
    gas.onBlock({ number: 1, transactions: 3, ours: 3, gasUsed: 3 });
    await gas.measure({ a: groupOf(3, 110_000), b: groupOf(10, 700_000) });
    assert.equal(gas.facts.gasPerOperation, (3 * 10_000 + 70_000) / 4);
  });

  it('is at most what can be scheduled', async () => {
    const { gas } = gasRate();
    gas.onBlock({ number: 1, transactions: 10, ours: 10, gasUsed: 10 });
    await gas.measure({});
    assert.equal(gas.facts.perSecond, 1_000_000);
  });

  it('is that of our receipts, where all blocks have transactions of others', async () => {
    const { gas, asked } = gasRate([
      { from: WALLET.toLowerCase(), gasUsed: '0xc350' },
      { from: `0x${'bb'.repeat(20)}`, gasUsed: '0xffffff' },
    ]);
    for (let number = 1; number <= 5; number += 1)
      gas.onBlock({ number, transactions: 3, ours: 1, gasUsed: 5_000_000 });
    await gas.measure({});
    assert.deepEqual([gas.facts.gasPerOperation, gas.facts.perSecond], [50_000, 60]);
    assert.deepEqual(asked, [
      ['eth_getBlockReceipts', '0x3'],
      ['eth_getBlockReceipts', '0x4'],
      ['eth_getBlockReceipts', '0x5'],
    ]);
  });

  it('stays estimated, with a warning, if nothing is known', async () => {
    const { gas } = gasRate();
    gas.onBlock({ number: 1, transactions: 3, ours: 1, gasUsed: 5_000_000 });
    await gas.measure({});
    assert.deepEqual(gas.facts, { gasPerSecond: 3_000_000, gasPerOperation: null, perSecond: 10 });
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
