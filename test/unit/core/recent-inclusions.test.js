import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { Wallet } from '../../../src/chain/keys.js';
import { Account } from '../../../src/core/nonces.js';
import { RecentInclusions, recentInclusionOf } from '../../../src/core/ledger.js';

/** @import { Entry } from '../../../src/core/ledger.js' */

/** MAX_RECENT_INCLUSIONS of src/core/ledger.js. */
const REMEMBERED = 16_384;

const accounts = [0, 1].map((position) => new Account(position, Wallet.withoutKey(100 + position)));

/** @param {number} nonce @param {number} blockNumber @param {number} [position] of its wallet @returns {Entry} */
function entryOf(nonce, blockNumber, position = 0) {
  const hashes = [`0x${nonce}`];
  return {
    account: accounts[position],
    nonce,
    hashes,
    raw: `raw ${nonce}`,
    blockNumber,
    outcome: 'verified',
    isExecuted: true,
  };
}

/** @param {Entry[]} entries */
const noncesOf = (entries) => entries.map(({ nonce }) => nonce);

/** One operation per block. @param {number} count */
function pastWith(count) {
  const past = new RecentInclusions();
  for (let i = 0; i < count; i += 1) past.add(entryOf(i, i));
  return past;
}

describe('RecentInclusions.takeFrom()', () => {
  it('takes the entries from that block on, once', () => {
    const past = new RecentInclusions();
    for (const [nonce, block] of [10, 12, 11, 12, 13].entries()) past.add(entryOf(nonce, block));
    const { entries, isComplete } = past.takeFrom(12);
    assert.deepEqual([noncesOf(entries), isComplete], [[1, 3, 4], true]);
    assert.deepEqual(past.takeFrom(12), { entries: [], isComplete: true });
    assert.deepEqual(noncesOf(past.takeFrom(0).entries), [0, 2]);
  });

  it('reports overwritten entries of these blocks', () => {
    const past = pastWith(REMEMBERED);
    assert.equal(past.takeFrom(REMEMBERED).isComplete, true);
    past.add(entryOf(REMEMBERED, REMEMBERED));
    past.add(entryOf(REMEMBERED + 1, REMEMBERED + 1));
    // The entries of blocks 0 and 1 were overwritten.
    assert.equal(past.takeFrom(REMEMBERED).isComplete, true);
    assert.equal(past.takeFrom(2).isComplete, true);
    assert.equal(past.takeFrom(1).isComplete, false);
    assert.equal(past.takeFrom(0).isComplete, false);
  });

  it('overwrites the oldest first', () => {
    const past = pastWith(REMEMBERED + 5000);
    const late = past.takeFrom(REMEMBERED + 4990);
    assert.deepEqual(
      noncesOf(late.entries),
      [4990, 4991, 4992, 4993, 4994, 4995, 4996, 4997, 4998, 4999].map((n) => REMEMBERED + n),
    );
    // Room for ten, then the oldest are overwritten in order.
    for (let i = 0; i < 12; i += 1) past.add(entryOf(i, REMEMBERED + 6000 + i));
    assert.equal(past.takeFrom(5002).isComplete, true);
    assert.equal(past.takeFrom(5001).isComplete, false);
  });

  it('keeps a limited number', () => {
    const { entries } = pastWith(REMEMBERED + 100).takeFrom(0);
    assert.equal(entries.length, REMEMBERED);
    assert.equal(Math.min(...noncesOf(entries)), 100);
  });
});

describe('RecentInclusions.takeOf()', () => {
  it('takes the entries of one wallet from a nonce on', () => {
    const past = new RecentInclusions();
    for (let nonce = 0; nonce < 4; nonce += 1) for (const position of [0, 1]) past.add(entryOf(nonce, 10, position));
    const taken = past.takeOf(accounts[0], 2);
    assert.deepEqual(noncesOf(taken), [2, 3]);
    assert.ok(taken.every(({ account }) => account === accounts[0]));
    assert.deepEqual(past.takeOf(accounts[0], 2), []);
    assert.deepEqual(noncesOf(past.takeFrom(0).entries), [0, 0, 1, 1, 2, 3]);
  });
});

describe('RecentInclusions', () => {
  it('any order of adding and taking: nothing is lost or returned twice', () => {
    const step = fc.oneof(
      fc.record({ add: fc.integer({ min: 1, max: 20 }) }),
      fc.record({ from: fc.nat({ max: 25 }) }),
      fc.record({ of: fc.nat({ max: 1 }), nonce: fc.nat({ max: 40 }) }),
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
        const past = new RecentInclusions();
        /** @type {Entry[]} */
        let model = [];
        let nonce = 0;
        for (const what of steps) {
          if ('add' in what) {
            const entry = entryOf((nonce += 1), what.add, nonce % 2);
            past.add(entry);
            model.push(entry);
            continue;
          }
          const isWanted = (/** @type {Entry} */ entry) =>
            'from' in what
              ? entry.blockNumber >= what.from
              : entry.account === accounts[what.of] && entry.nonce >= what.nonce;
          const taken = 'from' in what ? past.takeFrom(what.from).entries : past.takeOf(accounts[what.of], what.nonce);
          assert.deepEqual(noncesOf(taken), noncesOf(model.filter(isWanted)));
          model = model.filter((entry) => !isWanted(entry));
        }
      }),
      { seed: 4 },
    );
  });
});

describe('recentInclusionOf()', () => {
  it('has what a resubmission needs, and the hash of the last transaction', () => {
    const entry = { ...entryOf(7, 10), hashes: ['0x1', '0x2'], isExecuted: false };
    assert.deepEqual(recentInclusionOf({ ...entry, outcome: 'timed_out' }), {
      operation: { account: accounts[0], nonce: 7, hashes: ['0x1', '0x2'], raw: 'raw 7' },
      sample: { walletIndex: 100, hash: '0x2', outcome: 'timed_out', code: null },
      isExecuted: false,
    });
    assert.equal(recentInclusionOf({ ...entry, hashes: [] }).sample.hash, null);
  });
});
