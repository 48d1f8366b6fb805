/** Pure parts of stress learn: the distance of distributions, groups by gas, the mix of the groups, and its file. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { walletsFor } from '../../src/learn/config.js';
import { distance } from '../../src/learn/distance.js';
import { fit } from '../../src/learn/fit.js';
import { groupsOf } from '../../src/learn/groups.js';
import { intrinsicGas } from '../../src/learn/transactions.js';

/** @import { Seen } from '../../src/learn/transactions.js' */

/** @param {Seen[]} transactions */
const blocksOf = (transactions) => [
  { number: 1, hash: '0x1', timestampS: 1, gasUsed: 1, gasLimit: 1, hasBaseFee: true, senders: 1, transactions },
];

/** @param {number} count @param {string} group @param {number} gas @param {number} [bytes] @param {number} [events] @returns {Seen[]} */
const many = (count, group, gas, bytes = 0, events = 0) =>
  Array.from({ length: count }, () => /** @type {Seen} */ ([group, 2, gas, bytes, events]));

/** @param {Seen[]} transactions */
const membersOf = (transactions) => fit(groupsOf(blocksOf(transactions)).groups).members;

describe('distance()', () => {
  const values = Float64Array.from([10, 20, 30, 40]);

  it('is the largest difference of the cumulative distributions, in both directions', () => {
    assert.equal(
      distance(
        values,
        [10, 20, 30, 40].map((value) => [value, 1]),
        0,
      ),
      0,
    );
    assert.equal(distance(values, [[10, 1]], 0), 0.75);
    assert.equal(distance(values, [[40, 1]], 0), 0.75);
    assert.equal(
      distance(
        values,
        [
          [5, 1],
          [45, 3],
        ],
        0,
      ),
      0.75,
    );
    assert.equal(distance(values, [[100, 2]], 0), 1);
  });

  it('does not count differences within the tolerance', () => {
    const near = [10.4, 19.2, 30, 41].map((value) => /** @type {const} */ ([value, 0.25]));
    assert.equal(distance(values, near, 0), 0.25);
    assert.equal(distance(values, near, 0.05), 0);
    assert.equal(
      distance(
        values,
        [
          [11, 1],
          [20, 1],
          [30, 1],
          [40, 1],
        ],
        0.05,
      ),
      0.25,
    );
  });
});

describe('groups', () => {
  it('of one selector are divided at twice the gas, if both parts are large enough', () => {
    const with2 = (/** @type {number} */ high, /** @type {number} */ count) => {
      const all = [...many(60, 'events 0x1', 50_000), ...many(count, 'events 0x1', high)];
      return groupsOf(blocksOf(all)).groups.map(({ gas, share }) => [gas, share]);
    };
    assert.deepEqual(with2(100_000, 40), [
      [50_000, 0.6],
      [100_000, 0.4],
    ]);
    assert.deepEqual(with2(99_000, 40), [[50_000, 1]]);
    assert.equal(with2(100_000, 2).length, 1, 'a few first operations of wallets');
  });

  it('that are rare are not fitted, unless they use much gas', () => {
    const usual = many(996, 'payment', 21_000);
    const { groups, rest } = groupsOf(blocksOf([...usual, ...many(4, 'quiet 0x1', 30_000)]));
    assert.deepEqual(
      [groups.length, rest],
      [1, [{ words: 'rare: 1 group of less than 0.5 %', count: 4, share: 0.004 }]],
    );
    assert.equal(groupsOf(blocksOf([...usual, ...many(4, 'creation', 3_000_000)])).groups.length, 2);
  });
});

describe('the fitted mix', () => {
  it('has built-in workloads where their gas is near, and calls of Work otherwise', () => {
    const near = membersOf([...many(5, 'token 0xa9059cbb', 36_000, 68, 1), ...many(5, 'payment', 21_000)]);
    assert.deepEqual(
      near.map(({ name }) => name),
      ['transfer', 'erc20'],
    );
    const [far] = membersOf(many(5, 'token 0xa9059cbb', 65_000, 68, 1));
    assert.equal(far.name, 'token_a9059cbb');
    assert.ok(Math.abs(far.operation.gas - 65_000) < 200);
    assert.ok(far.operation.calldata?.startsWith('0xa9059cbb'));
  });

  it('has each built-in workload once: creations together, other storage as calls', () => {
    const creations = membersOf([...many(6, 'creation', 200_000, 616), ...many(2, 'creation', 2_000_000, 8016)]);
    assert.deepEqual(
      creations.map(({ name, operation }) => [name, operation.set]),
      [['deploy', ['deploy.bytes=2450']]],
    );
    const storage = membersOf([
      ...many(6, 'storage 0x8f01d400', 61_000, 132),
      ...many(4, 'storage 0x8f01d400', 365_000, 132),
    ]);
    assert.deepEqual(
      storage.map(({ name }) => name),
      ['storage', 'storage_8f01d400_2'],
    );
  });

  it('pays with data where there are no other payments', () => {
    const gas = intrinsicGas(`0x${'ff'.repeat(100)}`).least;
    const [own] = membersOf(many(5, 'data', gas, 100));
    assert.deepEqual([own.name, own.operation.payload, own.operation.gas], ['transfer', 100, gas]);
    const both = membersOf([...many(5, 'data', gas, 100), ...many(5, 'payment', 21_000)]);
    assert.deepEqual(
      both.map(({ name, operation }) => [name, operation.bytes]),
      [
        ['transfer', 0],
        ['data_plain', 100],
      ],
    );
  });

  it('has payments to accounts only: what receivers with code take is not fitted', () => {
    const all = [...many(6, 'payment', 21_000), ...many(4, 'payment', 65_000)];
    const { members, rest } = fit(groupsOf(blocksOf(all)).groups);
    assert.deepEqual(
      members.map(({ name, share }) => [name, share]),
      [['transfer', 0.6]],
    );
    assert.deepEqual(rest, [{ words: 'payment (2): of 65000 gas, to contracts', count: 4, share: 0.4 }]);
  });

  it('has blobs as many as the transactions, and no set-code, which is no member of a mix', () => {
    const all = [...many(4, 'blobs 2', 21_000), ...many(4, 'setcode', 40_000)];
    const { members, rest } = fit(groupsOf(blocksOf(all)).groups);
    assert.deepEqual(
      members.map(({ name, type, operation }) => [name, type, operation.set]),
      [['blobs', 3, ['blobs.blobs=2']]],
    );
    assert.deepEqual(rest, [{ words: 'set-code: no member of a mix', count: 4, share: 0.5 }]);
  });

  it('has as many wallets as a block has senders, and two blocks of operations in flight', () => {
    assert.deepEqual(walletsFor({ sendersPerBlock: 22.7, transactionsPerBlock: 100 }), { threads: 23, inFlight: 9 });
    assert.deepEqual(walletsFor({ sendersPerBlock: null, transactionsPerBlock: 10 }), { threads: 10, inFlight: 2 });
    assert.deepEqual(walletsFor({ sendersPerBlock: 0.1, transactionsPerBlock: 0.1 }), { threads: 2, inFlight: 1 });
  });
});
