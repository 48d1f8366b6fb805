import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { Wallet } from '../../../src/chain/keys.js';
import { Account, hasUnseenBefore, othersAsOf, sliceIndexes, splitSlice } from '../../../src/core/nonces.js';

/**
 * @import { UnresolvedOperation } from '../../../src/core/ledger.js'
 * @import { NonceState } from '../../../src/core/nonces.js'
 * @import { Operation } from '../../../src/core/operation.js'
 */

const START_NONCE = 7;

function accountOf() {
  const wallet = Wallet.withoutKey(100);
  wallet.nonce = START_NONCE;
  return new Account(0, wallet);
}

/** A live operation. @param {Account} account @param {{sentAtUs?: number | null, block?: number}} [given] */
function begin(account, { sentAtUs = 0, block } = {}) {
  const inclusion = block === undefined ? null : { number: block, hash: '0xb', seenAtUs: 0 };
  const operation = /** @type {Operation} */ (/** @type {unknown} */ ({ sample: { sentAtUs }, inclusion, hashes: [] }));
  operation.nonce = account.take(operation).nonce;
  return operation;
}

/** @param {Account} account @param {Operation} operation @param {NonceState} state */
function stand(account, { nonce }, state) {
  const slot = account.slotOf(nonce) ?? assert.fail('it is settled');
  slot.state = state;
}

const OPEN = /** @type {UnresolvedOperation} */ (/** @type {unknown} */ ({ operation: { hashes: ['0x1'] } }));

describe('Account: nonces', () => {
  it('settled in any order, the wallet advances to the first unsettled nonce', () => {
    const order = fc.shuffledSubarray([0, 1, 2, 3, 4], { minLength: 5 });
    const states = fc.array(fc.constantFrom('executed', /** @type {NonceState} */ ('used')), {
      minLength: 5,
      maxLength: 5,
    });
    fc.assert(
      fc.property(order, states, (places, kinds) => {
        const account = accountOf();
        for (let i = 0; i < 5; i += 1) begin(account);
        /** @type {Set<number>} */
        const done = new Set();
        for (const place of places) {
          account.settle(START_NONCE + place, kinds[place]);
          done.add(place);
          let first = 0;
          while (done.has(first)) first += 1;
          assert.equal(account.wallet.nonce, START_NONCE + first);
          assert.equal(account.executed, kinds.slice(0, first).filter((kind) => kind === 'executed').length);
          assert.equal(account.slots.length, 5 - first);
          assert.equal(account.nextNonce, START_NONCE + 5);
          for (let i = 0; i < first; i += 1) assert.equal(account.slotOf(START_NONCE + i), null);
        }
        account.settle(START_NONCE, 'executed');
        assert.equal(account.wallet.nonce, START_NONCE + 5);
      }),
      { seed: 1 },
    );
  });

  it('has a gap while operations wait behind a free nonce', () => {
    const account = accountOf();
    const [first, second] = [begin(account), begin(account)];
    assert.equal(account.hasGap, false);
    account.settle(second.nonce, 'free');
    assert.equal(account.hasGap, false, 'nothing is behind it');
    account.settle(first.nonce, 'free');
    assert.equal(account.hasGap, false);
    const again = begin(account);
    stand(account, again, 'free');
    begin(account);
    begin(account);
    assert.equal(account.hasGap, false, 'they are used again');
    account.settle(START_NONCE, 'free');
    assert.equal(account.hasGap, true);
    stand(account, second, 'unresolved');
    assert.equal(account.hasGap, true);
  });
});

describe('Account.boundsAsOf()', () => {
  /** @type {Array<[string, Array<number | null>, NonceState[], number, [number, number, number]]>} */
  const table = [
    // Blocks and states of the operations, the one that is asked for, its bounds: least, most, latest.
    ['a single operation', [10], [], 0, [1, 1, 1]],
    ['one more than before', [10, 11], ['executed'], 1, [2, 2, 2]],
    ['operations of the same block count, later ones do not', [10, 10, 11, null], [], 0, [2, 2, 4]],
    ['for a later block they do', [10, 10, 11, null], [], 2, [3, 3, 4]],
    ['after the next one was verified first', [10, 10, 11, null], ['live', 'executed'], 0, [2, 2, 4]],
    ['after both were verified', [10, 10, 11, null], ['executed', 'executed'], 2, [3, 3, 4]],
    ['earlier nonces must be in its block, seen or not', [null, null, 10], [], 2, [3, 3, 3]],
    ['a reverted one does not count', [null, null, 10], ['live', 'used'], 2, [2, 2, 2]],
    ['an unresolved one may count', [null, null, 10], ['unresolved', 'used'], 2, [1, 2, 2]],
    ['two reverted ones do not count', [null, null, 10], ['used', 'used'], 2, [1, 1, 1]],
    ['a later one that is unresolved may be in the block', [10, null], ['live', 'unresolved'], 0, [1, 2, 2]],
    ['a later one with a free nonce may be in the block', [10, null], ['live', 'free'], 0, [1, 2, 2]],
    ['a later one that was executed late may be in the block', [10, null], ['live', 'executed'], 0, [1, 2, 2]],
  ];
  for (const [name, blocks, states, asked, [least, most, latest]] of table) {
    it(name, () => {
      const account = accountOf();
      const operations = blocks.map((block) => begin(account, { block: block ?? undefined }));
      for (const [i, state] of states.entries()) {
        if (state === 'executed' || state === 'used') account.settle(operations[i].nonce, state);
        else stand(account, operations[i], state);
      }
      assert.deepEqual(account.boundsAsOf(operations[asked], Number(blocks[asked])), { least, most, latest });
    });
  }

  it('hasUnseenBefore(): sent before a time and not included', () => {
    const account = accountOf();
    const first = begin(account, { sentAtUs: null });
    assert.equal(hasUnseenBefore(account, 100), false, 'not sent');
    first.sample.sentAtUs = 100;
    assert.equal(hasUnseenBefore(account, 100), false);
    assert.equal(hasUnseenBefore(account, 101), true);
    first.inclusion = { number: 1, hash: '0xb', seenAtUs: 0 };
    assert.equal(hasUnseenBefore(account, 101), false, 'it is in a block');
    const second = begin(account, { sentAtUs: 200 });
    const slot = account.slotOf(second.nonce) ?? assert.fail();
    slot.undecided = OPEN;
    assert.equal(hasUnseenBefore(account, 101), true, 'what was sent with its nonce before may be');
    stand(account, second, 'unresolved');
    assert.equal(hasUnseenBefore(account, 1000), false);
  });

  it('othersAsOf(): others that must be in the block', () => {
    const account = accountOf();
    const [first, second, third, fourth] = [10, 10, 10, 11].map((block) => begin(account, { block }));
    assert.deepEqual(othersAsOf(account, first, 10), [second, third]);
    assert.deepEqual(othersAsOf(account, fourth, 11), [first, second, third]);
    account.settle(second.nonce, 'executed');
    assert.deepEqual(othersAsOf(account, third, 10), [first]);
  });
});

it('sliceIndexes(): those of the slice, in order', () =>
  assert.deepEqual(sliceIndexes({ offset: 40, threads: 3 }), [40, 41, 42]));

it('splitSlice(): parts cover the slice without overlap, are not empty and differ by at most one', () => {
  const slices = fc.integer({ min: 1, max: 100_000 }).chain((threads) =>
    fc.record({
      offset: fc.nat({ max: 2 ** 31 - threads }),
      threads: fc.constant(threads),
      parts: fc.integer({ min: 1, max: Math.min(threads, 64) }),
    }),
  );
  fc.assert(
    fc.property(slices, ({ offset, threads, parts }) => {
      const split = splitSlice({ offset, threads }, parts);
      assert.equal(split.length, parts);
      let next = offset;
      for (const part of split) {
        assert.equal(part.offset, next, 'each begins where the one before it ended');
        next += part.threads;
      }
      assert.equal(next, offset + threads);
      const sizes = split.map((part) => part.threads);
      assert.ok(Math.min(...sizes) >= 1, `an empty part: ${sizes}`);
      assert.ok(Math.max(...sizes) - Math.min(...sizes) <= 1, `uneven parts: ${sizes}`);
    }),
    { seed: 5, numRuns: 1000 },
  );
});
